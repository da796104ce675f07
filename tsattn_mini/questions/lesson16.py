"""Check questions of lesson 16, Informer."""

import torch
from torch import Tensor

from tsattn_mini import record
from tsattn_mini.attention import causal, scaled_dot_product
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number, order
from tsattn_mini.trace import step
from tsattn_mini.zoo.informer import Distilling, Informer, prob_sparse, sample_keys, sample_size

LESSON = "16_informer"


def _heads(L: int, H: int = 4, E: int = 2) -> list[Tensor]:
    g = torch.Generator().manual_seed(16)
    return [torch.randn(1, L, H, E, generator=g, dtype=torch.float64) for _ in range(3)]


def _keys(L: int, U: int, seed: int = 0) -> Tensor:
    return sample_keys(L, L, U, torch.Generator().manual_seed(seed))


def _lazy_share(c: Tensor, L: Tensor) -> Tensor:
    """Per cent of the rows that are exactly the mean of V."""
    up = step("up", L.log().ceil(), axes="")
    chosen = step("chosen", torch.minimum(c * up, L), axes="")
    lazy = step("lazy", L - chosen, axes="")
    step("asking", 100 * chosen / L, axes="")
    step("late", (c * L.log()).ceil(), axes="")
    step("no ceiling", 100 - 100 * (c * L.log()).ceil() / L, axes="")
    return 100 * lazy / L


def _order() -> list[str]:
    """The steps of ProbSparse attention in the order in which it makes them."""
    with record() as trace:
        prob_sparse(*_heads(12), _keys(12, 5), u=5)
    return [name for name in trace if name in ("QK_sample", "M", "M_top", "QK_top", "A_top", "context")]


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


def _lazy_rows() -> dict[str, str]:
    """What row 5 gets when row 11 alone is chosen."""
    q, k, v = _heads(12, H=1)
    q[:, :11] = 0
    beliefs = {"mean": v[0, :, 0].mean(0), "running": v[0, :6, 0].mean(0), "sum": v[0, :6, 0].sum(0)}
    found = {}
    for name, handles in {"free": {}, "masked": {"mask": causal(12)},
                          "released": {"mask": causal(12), "released_sum": True}}.items():
        out = prob_sparse(q, k, v, _keys(12, 12), u=1, **handles)[0, 5, 0]
        found[name] = next(belief for belief, value in beliefs.items() if torch.allclose(out, value))
    return found


def _reach() -> str:
    """The input steps that move output step 0 of 12, with 4 heads read as the released port reads them."""
    q, k, v = _heads(12)
    out = prob_sparse(q, k, v.requires_grad_(), _keys(12, 12), u=12, mask=causal(12), released_view=True)
    gradient, = torch.autograd.grad(out[:, 0].sum(), v)
    last = int(gradient.abs().sum((0, 2, 3)).nonzero().max())
    return {0: "own", 2: "three", 3: "four", 11: "all"}[last]


def _distilled(L: Tensor, layers: Tensor) -> Tensor:
    """Steps that reach the decoder: the length is halved between the layers, so once less than there are layers."""
    def left(halvings: Tensor, released: bool = False) -> Tensor:
        block, lengths = Distilling(2, released_padding=released), [L]
        for _ in range(4):
            lengths.append(block.length(lengths[-1]))
        return torch.stack(lengths)[halvings.long()]

    step("halvings", layers - 1, axes="")
    step("once more", left(layers), axes="")
    step("once less", left(layers - 2), axes="")
    step("released", left(layers - 1, released=True), axes="")
    return left(layers - 1)


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
        id="16-kept", lesson=LESSON, answer=_lazy_share, tolerance=0.5, unit="%", claims=(38,),
        draws={"c": Draw(low=3, high=7, whole=True), "L": Draw(values=(48, 72, 96, 120, 144, 168, 192, 336))},
        first={"c": 5, "L": 96},
        text="A window of {L} steps, sampling factor c = {c}, no mask. What share of the output rows of a head is "
             "exactly the mean of V?",
        hint="u = c ⌈ln L⌉ rows are chosen, and ⌈ln {L}⌉ = {up}.",
        right="{c} · {up} = {chosen} rows are chosen, {lazy} of {L} are not: {answer:1} %.",
        wrong="Rows that are not chosen all get the mean. Count them: {L} less {c} · {up}.",
        slips={
            "chosen": Slip("asking", "That is the share of rows that do ask. The others, {lazy} of {L}, take the "
                                     "mean."),
            "no ceiling": Slip("no ceiling", "That chooses ⌈{c} · ln {L}⌉ = {late} rows. The logarithm is rounded up "
                                             "first, then multiplied: {chosen}."),
        }),
    choice(
        id="16-toy", lesson=LESSON, answer=_toy, claims=(38,), show=Show("who-asks", preset="All rows"),
        text="A toy window has 12 steps. With c = 5, what does ProbSparse attention change?",
        hint="5 · ⌈ln 12⌉ = 15.",
        options={
            "lazy": Option("Most rows become the mean of V.",
                "At 96 steps, yes. Here c ⌈ln L⌉ = 15 is more than there are rows.", slip="claim 38"),
            "same": Option("Nothing: it is full attention, to the last bit.",
                "15 is cut to 12, so every row is chosen. The toy cannot show what the method does."),
            "draw": Option("It depends on the keys that are drawn.",
                "The draw decides who is chosen. When everyone is, it decides nothing."),
        }),
    choice(
        id="16-draw", lesson=LESSON, answer=_draws, show=Show("who-asks", preset="Another draw"),
        text="The released Informer is in evaluation mode. The same window goes through it twice. The two forecasts …",
        options={
            "same": Option("are the same.",
                "They would be, had the keys been stored. The released code draws them anew at every call."),
            "rounding": Option("differ by rounding.",
                "Other keys can choose other rows, and a row that is not chosen jumps to the mean: that is visible."),
            "differ": Option("differ visibly.",
                "Other keys, other rows. This book's Informer draws the keys once and saves them with the weights."),
        }),
    order(
        id="16-order", lesson=LESSON, answer=_order, claims=(38,),
        text="ProbSparse attention, from queries and keys to the output. Bring its steps in order.",
        items={
            "A_top": Option("Softmax over all keys, for the chosen rows",
                            "It needs the scores of these rows with all keys."),
            "M": Option("Take the largest less the mean of each query's scores",
                        "This is M, how far the best sampled key stands out. It decides who is chosen."),
            "context": Option("Fill all other rows with the mean of V", "Last: the rows are put together."),
            "QK_sample": Option("Let each query meet a few keys drawn at random",
                                "First: M is estimated from them, not from all."),
            "QK_top": Option("Let the chosen queries meet every key", "The dear part, for u rows alone."),
            "M_top": Option("Choose the u queries that stand out most", "A ranking, so all M have to be known."),
        },
        pairs=[Pair("QK_top", "M_top", "All queries against all keys is what was to be saved. Only the chosen meet "
                                       "every key."),
               Pair("M", "QK_sample", "M is taken from scores with sampled keys: there are none yet.")],
        right="Sample, M, choose, score, softmax, fill. Only the chosen ask in earnest."),
    match(
        id="16-lazy", lesson=LESSON, answer=_lazy_rows, show=Show("who-asks", preset="Masked"),
        text="Row 5 of ProbSparse attention, counted from 0 of 12, is not chosen. What does it get?",
        left={
            "free": Option("without a mask", "The mean of all twelve values, what equal weights would give."),
            "masked": Option("with a causal mask",
                             "Equal weights over the values it may see: the running mean."),
            "released": Option("with a causal mask, in the released code",
                               "A cumulative sum whose division was left out: six times too large here, 96 times at "
                               "step 95."),
        },
        right={"running": "the mean of v₀ … v₅", "sum": "the sum of v₀ … v₅", "mean": "the mean of all values"},
        pairs=[Pair("masked", "mean", "That would show it the future: v₆ to v₁₁ lie behind the mask."),
               Pair("masked", "sum", "A row of equal weights sums to 1: the sum has to be divided by 6. The released "
                                     "code leaves that out.", slip="released Informer"),
               Pair("released", "running", "This is what equal weights would give. The released code leaves out the "
                                           "division.")]),
    choice(
        id="16-view", lesson=LESSON, answer=_reach, difficulty=3, show=Show("heads-as-time", preset="Released"),
        text="12 steps, 4 heads, a causal mask, every row chosen. The heads are read as if time came first. Which "
             "input steps can move output step 0?",
        hint="Laid end to end, the four heads make 48 rows; output step 0 takes the first 4.",
        options={
            "own": Option("Step 0 alone, as the mask says.",
                "The mask did its work before the mix-up. Read wrongly, output step 0 holds head 0 at times 0 to 3."),
            "three": Option("Steps 0 to 2.",
                "12 / 4 = 3, but it is the number of heads that counts: each output step takes 4 rows."),
            "four": Option("Steps 0 to 3.",
                "The first four rows are head 0 at times 0, 1, 2, 3. Step 0 now knows three steps of its future."),
            "all": Option("All of them.",
                "Output step 2 sees all, as it holds head 0 at times 8 to 11. Step 0 is not that far."),
        }),
    number(
        id="16-distil", lesson=LESSON, answer=_distilled, tolerance=0.5, claims=(41,),
        draws={"L": Draw(values=(64, 80, 96, 128, 160, 192, 240)), "layers": Draw(low=2, high=4, whole=True)},
        first={"L": 96, "layers": 3},
        text="{L} steps enter an encoder of {layers} layers with distilling. How many steps does the decoder get to "
             "read?",
        right="The length is halved between the layers. {layers} layers make {halvings} of it, and {L} steps become "
              "{answer}.",
        wrong="Each distilling halves the length. It stands between the layers, so there is one less than layers.",
        slips={
            "after the last": Slip("once more", "That halves after the last layer too. Distilling stands between the "
                                                "layers."),
            "one less": Slip("once less", "That is one halving less than there is: between {layers} layers stand "
                                          "{halvings}."),
            "released": Slip("released", "That is what the released padding gives, which reads both ends twice and "
                                         "lets one step more out each time.", slip="released Informer"),
        }),
    choice(
        id="16-lost", lesson=LESSON, answer=_lost, claims=(39, 40),
        text="The notes' table says that Informer loses (丢失) what is non-stationary in a window. What happens to the "
             "window's level?",
        options={
            "lost": Option("It is lost.",
                "Only what is taken off can be lost. The model of the paper takes nothing off.",
                slip="claim 40"),
            "kept": Option("It stays in the numbers, and nothing handles it.",
                "A shifted window is another window to the network, at a level it may never have seen in training."),
            "restored": Option("It is taken off and put back at the end.",
                "That is the short-term port of a library. The model of the paper leaves the level where it is.",
                slip="claim 39"),
        }),
]
