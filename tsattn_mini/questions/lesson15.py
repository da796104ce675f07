"""Check questions of lesson 15, Engram's convolution and write-back."""

from itertools import pairwise

import torch
from torch import Tensor

from tsattn_mini import record
from tsattn_mini.engram.gate import rms_norm
from tsattn_mini.engram.hashing import ngram_hashes
from tsattn_mini.engram.memory import EPS, Engram, ShortConvolution
from tsattn_mini.engram.tiling import coverage, tiling
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number, order
from tsattn_mini.results import load
from tsattn_mini.trace import step

LESSON = "15_write_back"
REACH, PATHS = "which-tokens-the-convolution-reads", "what-a-small-α-leaves-of-both-paths"


def _kept(alpha: Tensor) -> Tensor:
    """Percent of RMSNorm(v) that RMSNorm(αv) keeps, for rms(v) = 1."""
    step("direct", 100 * alpha, axes="")
    step("root", 100 * alpha**0.5, axes="")
    v = alpha.new_ones(4)
    share = step("share", (rms_norm(alpha * v, eps=EPS) / rms_norm(v, eps=EPS))[0], axes="")
    return 100 * share


def _read(K: Tensor, D: Tensor, N: Tensor) -> Tensor:
    return coverage(tiling(K, D, N, taps=5, tokens=30))[0].to(K)


def _tokens(K: Tensor, D: Tensor, N: Tensor) -> Tensor:
    """How many tokens K taps read, D apart, each with an N-gram behind it."""
    last = step("last", (K - 1) * D, axes="")
    step("positions", last + 1, axes="")
    step("closer", D - 1, axes="")
    step("read closer", _read(K, D - 1, N), axes="")
    return _read(K, D, N)


def _tile(N: Tensor) -> Tensor:
    """The dilation with which four taps read N-grams without a gap and without reading a token twice."""
    step("tokens", 4 * N, axes="")
    step("nearer", N - 1, axes="")
    step("farther", N + 1, axes="")
    tiles = [(coverage(tiling(4, D, N, tokens=60))[1:] == 0).all() for D in range(1, 9)]
    return torch.stack(tiles).to(N).argmax().to(N) + 1


def _chain() -> list[str]:
    """The steps of the whole layer in the order in which it makes them."""
    hashing = ngram_hashes(Compression(list("abc")), [1], [11, 11], 2)[1]
    with torch.no_grad(), record() as trace:
        Engram(hashing, M=4, E=2)(torch.tensor([[0, 1, 2]]), torch.zeros(1, 3, 1, 4))
    return list(dict.fromkeys(one.meaning.split(" ", 1)[1] for one in trace.values() if one.meaning))


def _shut() -> dict[str, str]:
    return {"paper": _shut_last(None), "input": _shut_last("input"), "output": _shut_last("output")}


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
        id="15-kept", lesson=LESSON, answer=_kept, tolerance=0.2, unit="%", claims=(104,),
        draws={"alpha": Draw(values=(0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002))}, first={"alpha": 0.1},
        text="A value with rms 1, a gate of α = {alpha}, ε = 10⁻⁵. How much of RMSNorm(v) is left in RMSNorm(αv)?",
        right="{alpha}/√({alpha}² + 10⁻⁵) = {share}. The norm divides by the size of αv, and so by α.",
        wrong="RMSNorm(x) = x / √(mean(x²) + ε), with x = αv: {alpha}/√({alpha}² + 10⁻⁵).",
        show=Show(PATHS, preset="α = 0.1"),
        slips={"gate": Slip("direct", "That is what the direct path keeps. The norm divides by the size of αv, and "
                                      "brings it back to almost 1.", slip="claim 104"),
               "root": Slip("root", "√{alpha} would be left if the norm divided by the root of the size. It divides "
                                    "by the size.")}),
    number(
        id="15-tokens", lesson=LESSON, answer=_tokens, tolerance=0.1, claims=(111,),
        draws={"K": Draw(low=2, high=5, whole=True), "D": Draw(low=2, high=5, whole=True),
               "N": Draw(low=2, high=4, whole=True)},
        first={"K": 4, "D": 3, "N": 3},
        text="{K} taps, {D} apart, and behind each tap the memory of a {N}-gram. On how many tokens can the result "
             "depend?",
        right="The taps lie from 0 to {last} places back, {D} apart, and each brings the {N} tokens that end there: "
              "{answer} different ones.",
        wrong="Write down the positions of the taps, from 0 to {last} back, then the {N} tokens of the n-gram that "
              "ends at each. Count every token once.",
        show=Show(REACH, preset="As released"),
        slips={"positions": Slip("positions", "From first to last tap there are {positions} positions. What counts is "
                                              "the tokens of the {N}-grams that end at the {K} taps."),
               "taps": Slip("K", "{K} memories are read. Each was looked up by {N} tokens."),
               "dilation": Slip("read closer", "With taps {closer} apart it would be so. Here they are {D} apart.")}),
    number(
        id="15-fourgrams", lesson=LESSON, answer=_tile, tolerance=0.1, difficulty=3, claims=(111,),
        draws={"N": Draw(low=2, high=7, whole=True)}, first={"N": 4},
        text="Another layer looks up n-grams of up to {N} tokens. Which dilation lets its four taps tile the "
             "sentence?",
        right="{N}, the length of the longest n-gram: {tokens} tokens, no gap, none twice.",
        wrong="The next tap should begin where the n-gram of this one ends, {N} places on.",
        show=Show(REACH, dilation=4, ngram=4),
        slips={"nearer": Slip("nearer", "With dilation {nearer} neighbouring {N}-grams share a token."),
               "farther": Slip("farther", "With dilation {farther} a token between two n-grams is read by no tap.")}),
    order(
        id="15-order", lesson=LESSON, answer=_chain, difficulty=1, claims=(90, 104),
        text="A layer of Engram, from tokens to the hidden state it returns. Bring its steps in order.",
        items={
            "gate": Option("Compare key and hidden state, let a share of the value pass",
                             "It needs the key, so a projection, and what is mixed along the sentence is what it lets "
                             "pass."),
            "hash": Option("Make row numbers of the n-grams", "Rows can be looked up when their numbers are known."),
            "convolve": Option("Mix along the sentence", "Behind the gate. It begins with a norm, which divides α "
                                                           "out again."),
            "compress": Option("Give spellings of a word one id", "First, for n-grams are made of these ids."),
            "project": Option("Make a key and a value of the memory", "Two matrices for what was looked up."),
            "write back": Option("Add to the hidden state", "Last: what is added has been gated and mixed."),
            "n-grams": Option("Take the last two and three ids", "They are what is hashed."),
            "look up": Option("Fetch the rows, side by side", "The memory e. Up to here no sentence plays a part."),
        },
        pairs=[Pair("convolve", "gate", "Then the convolution would read what nobody has gated. That is not its "
                                            "place, though its norm undoes much of the gate."),
               Pair("gate", "project", "The gate compares the hidden state with a key, and the key is made by "
                                           "projecting.")],
        right="Compress, n-grams, hash, look up, project, gate, convolve, write back. The sentence enters at the "
              "gate."),
    match(
        id="15-remedy", lesson=LESSON, answer=_shut, claims=(104,), show=Show(PATHS, preset="The released floor"),
        text="The last token's gate is almost shut, the gates before it are open. What does the convolution write at "
             "the last token?",
        left={
            "paper": Option("RMSNorm(αv) goes in (the paper)",
                            "The norm comes after the gate and divides α out: the shut memory is written too."),
            "output": Option("α multiplies what comes out",
                             "It is the α of the place that is written to: all is silent there."),
            "input": Option("α RMSNorm(v) goes in",
                            "Every tap carries the α of its own place. The token's own memory is silenced, those "
                            "before it are not."),
        },
        right={"nothing": "almost nothing", "others": "the memories of the open tokens before it",
               "all": "these, and its own memory"},
        pairs=[Pair("paper", "nothing", "The gate silences the direct path. RMSNorm(αv) is RMSNorm(v) but for ε, so "
                                        "the convolution hardly notices.", slip="claim 104"),
               Pair("input", "nothing", "Shut is only the last token's own gate. The taps before it carry open "
                                        "ones.")]),
    choice(
        id="15-winner", lesson=LESSON, answer=_winner, difficulty=3, claims=(108,),
        text="In a small text a surname always follows the same two first names. After training, which of these "
             "predicts such surnames with the smallest loss?",
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
        id="15-bucket", lesson=LESSON, answer=_buckets, difficulty=3, claims=(109,),
        text="Sort the test tokens of a small trained model with Engram into five buckets by α, from shut to open. How "
             "does its loss go from the lowest bucket to the highest?",
        options={
            "falls": Option("It falls: an open gate means a memory that helps.",
                "It does help there, compared with no memory. But the tokens in the buckets are different ones."),
            "rises": Option("It rises, as Engram-Nine warns.", "It would, if the gate opened for hard tokens alone. It "
                                                             "opens for sure surnames too."),
            "neither": Option("Neither: first down, then up.",
                "Each bucket holds other tokens. α says how much of the memory is used, not how certain the answer "
                "is."),
        }),
]
