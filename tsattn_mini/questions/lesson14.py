"""Check questions of lesson 14, the gate of Engram."""

from math import cos, pi

import torch
from torch import Tensor

from tsattn_mini import record
from tsattn_mini.attention import AttentionLayer, scaled_dot_product
from tsattn_mini.engram.gate import ConstantGate, HiddenGate, angle_gate, context_gate
from tsattn_mini.engram.hashing import ngram_hashes
from tsattn_mini.engram.memory import Engram
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number, several
from tsattn_mini.lesson import weights
from tsattn_mini.trace import scope, step

LESSON = "14_gate"


def _alpha(cosine: float, M: int, root: str | None = None) -> float:
    """How far the gate opens for two vectors of width `M` with this cosine."""
    return angle_gate(torch.tensor(cosine, dtype=torch.float64), M, root).item()


def _pair(*vectors: list[float]) -> list[torch.Tensor]:
    return [torch.tensor(v, dtype=torch.float64).reshape(1, 1, 1, -1) for v in vectors]


def _unrelated() -> float:
    g = torch.Generator().manual_seed(0)
    h, k = torch.randn(2, 1, 4000, 1, 64, generator=g, dtype=torch.float64)
    return context_gate(h, k).mean().item()


def _by_hand(h: Tensor, k: Tensor) -> Tensor:
    """The paper's gate; no vector of zeros is drawn."""
    dot = step("dot", (h * k).sum(), axes="")
    sizes = step("sizes", torch.stack([h.square().sum(), k.square().sum()]), axes="i")
    cosine = step("cosine", dot / sizes.prod() ** 0.5, axes="")
    step("s", 2 * cosine, axes="")
    step("without width", angle_gate(cosine, 1), axes="")
    step("without norms", angle_gate(dot / 4, 4), axes="")
    for root, name in ((None, "paper"), ("sign", "rooted")):
        with scope(name):
            alpha = context_gate(h[None, None, None], k[None, None, None], root=root)[0, 0, 0]
        step(f"{name} gate", alpha, axes="")
        if root is None:
            answer = torch.where(sizes.prod() > 0, alpha, torch.nan)
    return answer


def _predict(M: Tensor, cosine: Tensor) -> Tensor:
    step("root", M**0.5, axes="")
    step("s", cosine * M**0.5, axes="")
    step("no width", angle_gate(cosine, 1), axes="")
    step("divided", angle_gate(cosine / M, M), axes="")
    step("rooted", angle_gate(cosine, M, "sign"), axes="")
    return angle_gate(cosine, M)


def _moves() -> set[str]:
    """Which changes move α of the first of two tokens?"""
    h = torch.cat(_pair([3, 0, 4, 0], [1, 2, 0, 1]), dim=1)
    k = torch.cat(_pair([1, 1, 1, 1], [0, 1, 2, 3]), dim=1)
    gain, others = torch.full((1, 4), 3.0, dtype=torch.float64), torch.cat([k[:, :1], -k[:, 1:]], dim=1)
    changed = {"longer": context_gate(h, 100 * k), "fainter": context_gate(h / 10, k), "opposite": context_gate(h, -k),
               "gain": context_gate(h, k, k_gain=gain), "neighbours": context_gate(h, others)}
    before = context_gate(h, k)[0, 0]
    return {name for name, alpha in changed.items() if not torch.allclose(alpha[0, 0], before, atol=1e-3)}


def _closes() -> str:
    """Which memory leaves the gate of width 1024 below 0.05?"""
    memories = {"zero": 0.0, "unrelated": cos(pi / 2), "hundred": cos(100 * pi / 180)}
    shut = [name for name, cosine in memories.items() if _alpha(cosine, 1024) < 0.05]
    return shut[0] if len(shut) == 1 else "none"


def _narrow() -> str:
    """The least the released gate of width 64 lets through without gains."""
    least = _alpha(-1.0, 64, "sign")
    return "nothing" if least < 1e-3 else "twentieth" if 0.05 < least < 0.06 else "half"


def _softmax(h: Tensor, k: Tensor) -> Tensor:
    """The weight of the one key of a token, by softmax."""
    return weights(scaled_dot_product, h[0, 0], k[0, 0])


def _asks() -> dict[str, str]:
    """Which gate notices that the state was exchanged for its opposite, and which that the memory was?"""
    h, k = _pair([3, 0, 4, 0], [1, 1, 1, 1])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        gates = {"hidden": HiddenGate(1, 4).double(), "softmax": _softmax, "context": context_gate,
                 "constant": ConstantGate(1).double()}
    found = {name: tuple(not torch.allclose(gate(h, k), gate(*other)) for other in ((-h, k), (h, -k)))
             for name, gate in gates.items()}
    return {name: {(True, True): "both", (True, False): "state", (False, False): "nothing"}[notices]
            for name, notices in found.items()}


def _rows() -> dict[str, str]:
    """Which lines hold for attention, which for the gate of step 6: tried on one query and three keys."""
    q = torch.tensor([[2, 1, 0, 0]]).double()
    k = torch.tensor([[2, 1, 0, 0], [1, -2, 0, 1], [-2, 0, -1, 0]]).double()
    rivals, against = torch.cat([k[:1], 9 * k[1:].abs()]), -3 * q.expand(3, 4)

    def attention(q: Tensor, k: Tensor) -> Tensor:
        return weights(scaled_dot_product, q, k)[0]

    def gate(q: Tensor, k: Tensor) -> Tensor:
        return context_gate(q.expand(1, 1, 3, 4), k[None, None], torch.full((3, 4), 3.0).double())[0, 0]

    holds = {"sum": [abs(float(A(q, k).sum()) - 1) < 1e-9 for A in (attention, gate)],
             "score": [not torch.allclose(A(q, k), A(-q, k)) for A in (attention, gate)],
             "alone": [torch.allclose(A(q, k)[0], A(q, rivals)[0]) for A in (attention, gate)],
             "refuse": [float(A(q, against).sum()) < 0.1 for A in (attention, gate)],
             "table": _keys_stay()}
    return {name: {(True, False): "attention", (False, True): "gate", (True, True): "both"}[tuple(found)]
            for name, found in holds.items()}


def _keys_stay() -> list[bool]:
    """Do the keys of attention, and those of a memory, stay when the hidden state becomes its opposite?"""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        memory = Engram(ngram_hashes(Compression(list("abc")), [1], [11, 11], 2)[1], M=4, E=2)
        layer = AttentionLayer(scaled_dot_product, 4, 1)
    h, tokens, stays = torch.arange(12.0).sin().reshape(1, 3, 4), torch.tensor([[0, 1, 2]]), []
    for run in (lambda x: layer(x, x), lambda x: memory(tokens, x[:, :, None])):
        keys = []
        for x in (h, -h):
            with torch.no_grad(), record() as trace:
                run(x)
            keys.append(trace["k"].tensor)
        stays.append(torch.equal(*keys))
    return stays


QUESTIONS = [
    number(
        id="14-unrelated", lesson=LESSON, answer=_unrelated, tolerance=0.05, difficulty=1, claims=(92,),
        show=Show("angle-gate", preset="Unrelated"),
        text="A hidden state and a looked-up memory have nothing to do with each other: two random vectors of width "
             "64. How far does the gate open, on average? (0 is shut, 1 is open.)",
        right="0.5. Their scores scatter around 0, and the sigmoid of 0 is one half.",
        wrong="Two random vectors stand at right angles, so the score is about 0. What is the sigmoid of 0?",
        slips={"shut": Slip(0.0, "That is what the notes say, and what one would wish. But unrelated means a score "
                                 "near 0, not near −∞.", slip="claim 92"),
               "open": Slip(1.0, "A sigmoid near 1 takes a large positive score; unrelated vectors have one near 0.")}),
    number(
        id="14-by-hand", lesson=LESSON, answer=_by_hand, tolerance=0.004, claims=(103, 106),
        draws={"h": Draw((4,), -4, 4, whole=True), "k": Draw((4,), -3, 3, whole=True)},
        first={"h": (3, 0, 4, 0), "k": (1, 1, 1, 1)},
        text="h = {h} and k = {k}, gains 1. What is α by the paper's formula?",
        hint="The cosine is {dot} / (√{sizes[0]} · √{sizes[1]}) = {cosine:3}. The width is 4.",
        right="The score is √4 · cos θ = {s:3}, with cos θ = {cosine:3}, and σ({s:3}) = {answer:3}.",
        wrong="Both are divided by their root mean square; what is left is √4 · cos θ, with cos θ = {cosine:3}. "
              "Then the sigmoid.",
        slips={"cosine": Slip("without width",
                              "That is σ(cos θ). The norms leave a product of 4 cos θ, and √4 divides it: 2 cos θ = "
                              "{s:3}."),
               "raw": Slip("without norms", "That is σ({dot} / √4), without the norms. They bring both vectors to "
                                            "length √4 first: the score is {s:3}."),
               "root": Slip("rooted gate", "That is the released gate, with a signed root of {s:3} in front of the "
                                           "sigmoid. The paper has no root.", slip="claim 106")}),
    several(
        id="14-moves", lesson=LESSON, answer=_moves, difficulty=2, claims=(94, 103),
        text="One token's state h and key k, neither zero, and the paper's gate with gains 1. Which of these changes "
             "move its α? Tick all.",
        options={
            "longer": Option("k becomes 100 times as long.",
                             "A dot product would grow, but k is normalised first: its length is divided out."),
            "fainter": Option("h becomes ten times fainter.", "RMSNorm divides this length out as well."),
            "opposite": Option("k becomes −k.", "It moves: cos θ changes its sign, and α becomes 1 − α. Only cos θ = 0 "
                                                "would stay at one half."),
            "gain": Option("The gain of k's norm becomes 3.",
                           "It moves: the gain comes behind the norm, and the score is three times as large."),
            "neighbours": Option("The memories of all other tokens become their opposites.",
                                 "They do not compete. A softmax over places would feel them, a sigmoid asks each "
                                 "memory by itself."),
        }),
    number(
        id="14-predict", lesson=LESSON, answer=_predict, tolerance=0.006, claims=(95, 106),
        draws={"M": Draw(values=(64, 144, 256, 400, 1024)), "cosine": Draw(low=-0.2, high=0.2, step=0.05)},
        first={"M": 1024, "cosine": 0.1},
        text="Width {M}, cosine {cosine} between state and key, no gains. What is α by the paper's formula?",
        hint="√{M} = {root}.",
        right="s = √M cos θ = {s:2}, with √M = {root}, and σ({s:2}) = {answer:3}. The wider the space, the more a "
              "degree off the right angle counts.",
        wrong="s = √M cos θ, here with √M = {root} and cos θ = {cosine}, and α is its sigmoid.",
        slips={"no width": Slip("no width", "That is σ({cosine}): the factor √{M} = {root} is missing."),
               "divided": Slip("divided", "That divides the cosine by {root}. The norms leave M cos θ, and √M "
                                          "divides that, so that √M cos θ is left."),
               "root": Slip("rooted", "That is the released gate: the sigmoid of the signed root of {s:2}.",
                            slip="claim 106")}),
    choice(
        id="14-closes", lesson=LESSON, answer=_closes, difficulty=3, claims=(92,),
        show=Show("angle-gate", angle=100.0, width=1024.0),
        text="Width 1024, the paper's gate, no gains. Which memory leaves α below 0.05?",
        options={
            "zero": Option("One that is all zeros.", "Its score is 0, so α is 0.5. An empty key does not close. A "
                                                 "score has to be clearly negative for that."),
            "unrelated": Option("One at a right angle to the hidden state.",
                                "Score 0, α = 0.5: half open. The notes let it shut; that would have to be learned.",
                                slip="claim 92"),
            "hundred": Option("One at 100° to the hidden state.",
                              "cos 100° = −0.174, s = −5.6, α = 0.004. It leans against the state, and that closes."),
            "none": Option("None of these.", "The one at 100° closes: cos 100° = −0.174, s = −5.6, α = 0.004.")}),
    choice(
        id="14-narrow", lesson=LESSON, answer=_narrow, claims=(95, 106),
        show=Show("angle-gate", angle=180.0, width=64.0, released=True),
        text="The released gate, width 64, no gains. A memory points exactly the other way. How much of it passes?",
        hint="s = −√64, then its signed root, then the sigmoid.",
        options={
            "nothing": Option("Less than a thousandth.", "That is the paper's gate: σ(−8) = 0.0003. The released one "
                                                        "has a root in front of the sigmoid, which is no detail.",
                              slip="claim 106"),
            "twentieth": Option("About a twentieth.", "σ(−√8) = 0.056. The root lifts the floor, and without larger "
                                                      "gains it cannot be left."),
            "half": Option("About half.", "That is a memory at a right angle, with a score of 0. Here s = −8.")}),
    match(
        id="14-asks", lesson=LESSON, answer=_asks, difficulty=3, claims=(93, 94, 110),
        text="Four gates for a looked-up memory. What does the share that passes depend on?",
        left={
            "context": Option("The gate of step 6, σ of RMSNorm(h) · RMSNorm(k)/√M",
                              "It compares this state with this memory: turn either round, and α becomes 1 − α."),
            "hidden": Option("A sigmoid of the hidden state alone",
                             "It gives every memory the same share in this state, right or wrong."),
            "constant": Option("A learned constant, as in LayerScale",
                               "The same share for every memory in every sentence: it was learned once."),
            "softmax": Option("A softmax over the one key of the token",
                              "e^s / e^s = 1: a softmax needs a rival. It cannot refuse, a sigmoid can."),
        },
        right={"nothing": "neither", "state": "the state, not the memory", "both": "state and memory"},
        pairs=[Pair("softmax", "both", "The score does depend on both. But the softmax of one score is e^s / e^s = 1, "
                                       "whatever it is."),
               Pair("constant", "state", "LayerScale scales by a learned number. It is looked up nowhere and asks "
                                         "nobody."),
               Pair("context", "state", "Then an exchanged memory would pass as before. The key k is made of the "
                                        "memory: α depends on both.")]),
    match(
        id="14-rows", lesson=LESSON, answer=_rows, difficulty=2, claims=(94,),
        show=Show("gate-softmax", preset="All contradict"),
        text="Attention over three keys, or the gate of step 6 on three memories: for which does the line hold?",
        left={
            "score": Option("Scaled products of a query and a key decide.",
                            "Both begin with q · k over a root of the width. They part behind it."),
            "sum": Option("The weights sum to 1.", "A softmax has one unit to share. α is any number from 0 to 1, for "
                                                   "each memory."),
            "alone": Option("A weight stays when the other keys change.",
                            "Only a sigmoid looks at its own score alone. Under a softmax a better rival takes weight "
                            "away."),
            "refuse": Option("Keys that all contradict the query pass almost nothing.",
                             "The gate may refuse all. A softmax must spend its unit: the least bad key gets most."),
            "table": Option("Keys and values stay when the hidden state changes.",
                            "Those of the gate come from looked-up rows. Attention projects them from the state."),
        },
        right={"attention": "attention", "gate": "the gate of step 6", "both": "both"},
        pairs=[Pair("refuse", "attention", "Small scores make small exponentials, and a small sum: divided by it, the "
                                           "row is 1 again."),
               Pair("score", "gate", "It is the scoring of attention, with a single key. What differs is the sigmoid "
                                     "in place of the softmax.")]),
]
