"""Check questions of lesson 16, Informer."""

from math import log

import torch
from torch import Tensor

from tsattn_mini.attention import causal, scaled_dot_product
from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.zoo.informer import Distilling, Informer, prob_sparse, sample_keys, sample_size

LESSON = "16_informer"


def _heads(L: int, H: int = 4, E: int = 2) -> list[Tensor]:
    g = torch.Generator().manual_seed(16)
    return [torch.randn(1, L, H, E, generator=g, dtype=torch.float64) for _ in range(3)]


def _keys(L: int, U: int, seed: int = 0) -> Tensor:
    return sample_keys(L, L, U, torch.Generator().manual_seed(seed))


def _lazy_share(L: int = 96, factor: int = 5) -> float:
    """Per cent of the rows that are exactly the mean of V."""
    q, k, v = _heads(L)
    u = sample_size(factor, L)
    lazy = prob_sparse(q, k, v, _keys(L, u), u=u) == v.mean(1, keepdim=True)
    return 100 * float(lazy.all(-1).double().mean())


def _toy() -> str:
    q, k, v = _heads(12)
    u = sample_size(5, 12)
    if torch.equal(prob_sparse(q, k, v, _keys(12, u), u=u), scaled_dot_product(q, k, v)):
        return "same"
    return "draw" if u == 12 else "lazy"


def _draws() -> str:
    q, k, v = _heads(96)
    one, two = (prob_sparse(q, k, v, _keys(96, 25, seed), u=25) for seed in (1, 2))
    gap = float((one - two).abs().max())
    return "same" if gap == 0 else "rounding" if gap < 1e-6 else "differ"


def _masked_lazy() -> str:
    """What row 5 gets when row 11 alone is chosen."""
    q, k, v = _heads(12, H=1)
    q[:, :11] = 0
    out = prob_sparse(q, k, v, _keys(12, 12), u=1, mask=causal(12), released_sum=True)[0, 5, 0]
    beliefs = {"mean": v[0, :, 0].mean(0), "running": v[0, :6, 0].mean(0), "sum": v[0, :6, 0].sum(0),
               "zero": torch.zeros(2).double()}
    return next(name for name, belief in beliefs.items() if torch.allclose(out, belief))


def _reach() -> str:
    """The input steps that move output step 0 of 12, with 4 heads read as the released port reads them."""
    q, k, v = _heads(12)
    out = prob_sparse(q, k, v.requires_grad_(), _keys(12, 12), u=12, mask=causal(12), released_view=True)
    gradient, = torch.autograd.grad(out[:, 0].sum(), v)
    last = int(gradient.abs().sum((0, 2, 3)).nonzero().max())
    return {0: "own", 2: "three", 3: "four", 11: "all"}[last]


def _distilled(L: int = 96, layers: int = 3, between: int = 1, released: bool = False) -> int:
    """Steps that reach the decoder when the length is halved `layers` - `between` times."""
    for _ in range(layers - between):
        L = Distilling(2, released_padding=released).length(L)
    return L


def _lost() -> str:
    """Does the long-term model undo a shift of its input, and does it take anything off it?"""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = Informer(12, 6, 4, 2, M=8, H=2, d_ff=16).double().eval()
        x = torch.randn(1, 12, 2, dtype=torch.float64)
    with torch.no_grad():
        copies = torch.allclose(net(x + 7), net(x) + 7) or torch.allclose(net(x + 7), net(x))
    return "kept" if net.normalise is False and not copies else "lost"


QUESTIONS = [
    number(
        id="16-kept", lesson=LESSON, answer=_lazy_share, tolerance=0.5, unit="%",
        text="A window of 96 steps, sampling factor c = 5, no mask. What share of the output rows of a head is exactly "
             "the mean of V?",
        hint="u = c ⌈ln L⌉ rows are chosen, and ln 96 = 4.56.",
        right="25 rows are chosen, 71 of 96 are not: 74.0 %.",
        wrong="Rows that are not chosen all get the mean. Count them: 96 less 5 · ⌈4.56⌉.",
        slips={
            "chosen": Slip(lambda: 100 - _lazy_share(), "That is the share of rows that do ask."),
            "no ceiling": Slip(lambda: 100 * (1 - round(5 * log(96)) / 96),
                               "That rounds 5 · 4.56. The logarithm is rounded up first, then multiplied."),
        }),
    choice(
        id="16-toy", lesson=LESSON, answer=_toy,
        text="The toy window of these lessons has 12 steps. With c = 5, what does ProbSparse attention change?",
        hint="5 · ⌈ln 12⌉ = 15.",
        options={
            "lazy": Option("Most rows become the mean of V.",
                "At 96 steps, yes. Here c ⌈ln L⌉ = 15 is more than there are rows."),
            "same": Option("Nothing: it is full attention, to the last bit.",
                "15 is cut to 12, so every row is chosen. The toy cannot show what the method does."),
            "draw": Option("It depends on the keys that are drawn.",
                "The draw decides who is chosen. When everyone is, it decides nothing."),
        }),
    choice(
        id="16-draw", lesson=LESSON, answer=_draws,
        text="The released model is in evaluation mode. The same window goes through it twice. The two forecasts …",
        options={
            "same": Option("are the same.",
                "They would be, had the keys been stored. The released code draws them anew at every call."),
            "rounding": Option("differ by rounding.",
                "Other keys can choose other rows, and a row that is not chosen jumps to the mean."),
            "differ": Option("differ visibly.",
                "Other keys, other rows. Here the keys are drawn once and saved with the weights."),
        }),
    choice(
        id="16-masked-lazy", lesson=LESSON, answer=_masked_lazy,
        text="Masked attention in the released code: row 5 is not chosen. What does it get?",
        options={
            "mean": Option("The mean of all values.",
                "That would show it the future. It is what happens without a mask."),
            "running": Option("The mean of v₀ … v₅.",
                "This is what equal weights would give, and what this package does. The released code leaves out the "
                "division."),
            "sum": Option("The sum of v₀ … v₅.",
                "A cumulative sum: six times too large here, 96 times at step 95."),
            "zero": Option("Nothing, a row of zeros.",
                "No row goes empty: each takes something from the values it may see."),
        }),
    choice(
        id="16-view", lesson=LESSON, answer=_reach,
        text="12 steps, 4 heads, a causal mask, every row chosen. The heads are read as if time came first. Which "
             "input steps can move output step 0?",
        hint="Laid end to end, the four heads make 48 rows; output step 0 takes the first 4.",
        options={
            "own": Option("Step 0 alone, as the mask says.",
                "The mask did its work before the mix-up: it was applied to the right rows."),
            "three": Option("Steps 0 to 2.",
                "12 / 4 = 3, but it is the number of heads that counts: each output step takes 4 rows."),
            "four": Option("Steps 0 to 3.",
                "The first four rows are head 0 at times 0, 1, 2, 3. Step 0 now knows three steps of its future."),
            "all": Option("All of them.",
                "Output step 2 sees all, as it holds head 0 at times 8 to 11. Step 0 is not that far."),
        }),
    number(
        id="16-distil", lesson=LESSON, answer=_distilled, tolerance=0.5,
        text="96 steps enter an encoder of three layers with distilling. How many steps does the decoder get to read?",
        right="96 → 48 → 24: the length is halved between the layers, so twice.",
        wrong="Each distilling halves the length. Where do they stand?",
        slips={
            "three": Slip(lambda: _distilled(between=0), "That halves after the last layer too."),
            "one": Slip(lambda: _distilled(layers=2), "That is after the first halving. There is one more."),
            "released": Slip(lambda: _distilled(released=True),
                             "That is what the released padding gives: 96 → 49 → 26."),
        }),
    choice(
        id="16-lost", lesson=LESSON, answer=_lost,
        text="The notes' table says that Informer loses (丢失) what is non-stationary in a window. What happens to the "
             "window's level?",
        options={
            "lost": Option("It is lost.",
                "Only what is taken off can be lost. The model of the paper takes nothing off."),
            "kept": Option("It stays in the numbers, and nothing handles it.",
                "A shifted window is another window to the network, at a level it may never have seen in training."),
            "restored": Option("It is taken off and put back at the end.",
                "That is the short-term port of a library, not the model of the paper."),
        }),
]
