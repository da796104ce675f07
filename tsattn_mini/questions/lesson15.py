"""Check questions of lesson 15, Engram's convolution and write-back."""

from itertools import pairwise

import torch

from tsattn_mini.engram.gate import rms_norm
from tsattn_mini.engram.memory import EPS, ShortConvolution
from tsattn_mini.engram.tiling import coverage, tiling
from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.results import load

LESSON = "15_write_back"


def _kept(alpha: float) -> float:
    """Percent of RMSNorm(v) that RMSNorm(αv) keeps, for rms(v) = 1."""
    v = torch.ones(4, dtype=torch.float64)
    return 100 * (rms_norm(alpha * v, eps=EPS) / rms_norm(v, eps=EPS))[0].item()


def _tokens(K: int, D: int, N: int) -> int:
    return coverage(tiling(K, D, N, taps=K, tokens=40))[0].item()


def _tile(N: int) -> int:
    """The dilation with which four taps read N-grams without a gap and without reading a token twice."""
    return next(D for D in range(1, 9) if coverage(tiling(4, D, N, tokens=40))[1:].tolist() == [0, 0])


def _shut_last(conv_gate: str | None) -> str:
    """What the last of seven tokens writes through the convolution when its gate is shut and the others are open."""
    def written(alpha: float, own: bool, others: bool) -> float:
        v = torch.ones(1, 7, 2, dtype=torch.float64) * others
        v[0, 6] = float(own)
        gates = torch.ones(1, 7, 1, dtype=torch.float64)
        gates[0, 6] = alpha
        conv = ShortConvolution(1, 2, K=4, D=3, conv_gate=conv_gate).double()
        torch.nn.init.ones_(conv.weight)
        return conv(gates[..., None] * v[:, :, None], v, gates)[0, 6].norm().item()

    own, others = (written(0.0035, *who) > 0.5 * written(1, *who) for who in ((True, False), (False, True)))
    return "all" if own else "others" if others else "nothing"


def _winner() -> str:
    results = load("engram")
    return min(("no memory", "Engram", "α = 1", "counts"), key=lambda model: results["text", model, "fixed"].mean)


def _buckets() -> str:
    """How the mean loss goes from the lowest bucket of α to the highest."""
    results = load("engram")
    losses = [results["text", "Engram", f"loss {i}"].mean for i in range(results.about["buckets"])]
    steps = [b - a for a, b in pairwise(losses)]
    return "falls" if max(steps) < 0 else "rises" if min(steps) > 0 else "neither"


QUESTIONS = [
    number(
        id="15-kept", lesson=LESSON, answer=lambda: _kept(0.1), tolerance=0.2, unit="%",
        text="A value with rms 1, a gate of α = 0.1, ε = 10⁻⁵. How much of RMSNorm(v) is left in RMSNorm(αv)?",
        right="0.1/√(0.01 + 10⁻⁵) = 0.9995. The norm divides by the size of αv, and so by α.",
        wrong="RMSNorm(x) = x / √(mean(x²) + ε), with x = αv.",
        slips={"gate": Slip(10, "That is what the direct path keeps. The norm brings αv back to size 1."),
               "root": Slip(31.6, "√0.1 would be left if the norm divided by the root of the size.")}),
    number(
        id="15-tokens", lesson=LESSON, answer=lambda: _tokens(4, 3, 3), tolerance=0.1,
        text="Four taps, 3 apart, and behind each tap the memory of a 3-gram. On how many tokens can the result "
             "depend?",
        right="Positions 0, 3, 6, 9 back, three tokens each: 12, every one of them once.",
        wrong="Write down the positions of the taps, then the tokens of the n-gram that ends at each.",
        slips={"positions": Slip(10, "Ten positions from first to last tap. The last one's 3-gram reaches two tokens "
                                     "further."),
               "taps": Slip(4, "Four memories are read. Each was looked up by three tokens."),
               "dilation": Slip(9, "With dilation 2 it would be nine.")}),
    number(
        id="15-fourgrams", lesson=LESSON, answer=lambda: _tile(4), tolerance=0.1,
        text="Another layer looks up n-grams of up to four tokens. Which dilation lets its four taps tile the "
             "sentence?",
        right="4, the length of the longest n-gram: 16 tokens, no gap, none twice.",
        wrong="The next tap should begin where the n-gram of this one ends.",
        slips={"three": Slip(3, "With dilation 3 neighbouring 4-grams share a token: 13 tokens instead of 16."),
               "five": Slip(5, "With dilation 5 every fifth token is read by no tap.")}),
    choice(
        id="15-remedy", lesson=LESSON, answer=lambda: _shut_last("input"),
        text="The remedy `input`: the convolution takes α RMSNorm(v). The last token's gate is shut, the gates before "
             "it are open. What does the convolution write at the last token?",
        options={
            "nothing": Option("Nothing: its gate is shut.",
                "That is the other remedy, which multiplies the result by the α of the place it is written to."),
            "others": Option("What the open tokens before it remember.",
                "Every tap carries the α of its own place. The token's own memory is silenced, those before it are "
                "not."),
            "all": Option("Everything, as if its gate were open.",
                "So it is in the paper's form, where the norm comes after the gate."),
        }),
    choice(
        id="15-winner", lesson=LESSON, answer=_winner,
        text="The surname after two first names: which of these has the smallest loss on such fixed tokens?",
        options={
            "no memory": Option("The network without a memory.",
                "576 pairs of names are too much for it in 500 steps: it is last."),
            "Engram": Option("The network with Engram.",
                "Far better than without, and still something simpler is ahead."),
            "α = 1": Option("The network with the same memory and no gate.",
                "A little better than with the gate on these tokens, and still something simpler is ahead."),
            "counts": Option("Counting what followed.",
                "A table that is filled by counting knows a name as soon as it has seen it. A learned one needs "
                "many small steps, and shares its rows."),
        }),
    choice(
        id="15-bucket", lesson=LESSON, answer=_buckets,
        text="Sort the test tokens into five buckets by α, from shut to open. How does the loss of the trained Engram "
             "go from the lowest bucket to the highest?",
        options={
            "falls": Option("It falls: an open gate means a memory that helps.",
                "It does help there, compared with no memory. But the tokens in the buckets are different ones."),
            "rises": Option("It rises, as Engram-Nine warns.", "It would, if the gate opened for hard tokens alone."),
            "neither": Option("Neither: first down, then up.",
                "Each bucket holds other tokens. α says how much of the memory is used, not how certain the answer "
                "is."),
        }),
]
