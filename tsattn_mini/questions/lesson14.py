"""Check questions of lesson 14, the gate of Engram."""

from math import cos, pi

import torch

from tsattn_mini.engram.gate import HiddenGate, angle_gate, context_gate
from tsattn_mini.explore.question import Option, Slip, choice, number

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


def _by_hand() -> float:
    return context_gate(*_pair([3, 0, 4, 0], [1, 1, 1, 1])).item()


def _longer() -> str:
    h, k = _pair([3, 0, 4, 0], [1, 1, 1, 1])
    before, after = context_gate(h, k), context_gate(h, 100 * k)
    return "same" if torch.allclose(before, after) else "opens" if after > before else "closes"


def _closes() -> str:
    """Which memory leaves the gate of width 1024 below 0.05?"""
    memories = {"zero": 0.0, "unrelated": cos(pi / 2), "hundred": cos(100 * pi / 180)}
    shut = [name for name, cosine in memories.items() if _alpha(cosine, 1024) < 0.05]
    return shut[0] if len(shut) == 1 else "none"


def _narrow() -> str:
    """The least the released gate of width 64 lets through without gains."""
    least = _alpha(-1.0, 64, "sign")
    return "nothing" if least < 1e-3 else "twentieth" if 0.05 < least < 0.06 else "half"


def _softmax() -> str:
    one = torch.softmax(torch.tensor([[-30.0], [0.0], [30.0]]), dim=-1)
    return "always" if bool((one == 1).all()) else "follows"


def _notices() -> str:
    """Does a gate from h alone, or the context gate, notice that the memory was exchanged for its opposite?"""
    h, k = _pair([3, 0, 4, 0], [1, 1, 1, 1])
    notices = [not torch.allclose(gate(h, k), gate(h, -k)) for gate in (HiddenGate(1, 4).double(), context_gate)]
    return {(False, True): "context", (True, False): "hidden", (True, True): "both"}[tuple(notices)]


QUESTIONS = [
    number(
        id="14-unrelated", lesson=LESSON, answer=_unrelated, tolerance=0.05,
        text="A hidden state and a looked-up memory have nothing to do with each other: two random vectors of width "
             "64. How far does the gate open, on average? (0 is shut, 1 is open.)",
        right="0.5. Their scores scatter around 0, and the sigmoid of 0 is one half.",
        wrong="Two random vectors stand at right angles, so the score is about 0. What is the sigmoid of 0?",
        slips={"shut": Slip(0.0, "That is what the notes say, and what one would wish. But unrelated means a score "
                                 "near 0, not near −∞."),
               "open": Slip(1.0, "A sigmoid near 1 takes a large positive score; unrelated vectors have one near 0.")}),
    number(
        id="14-by-hand", lesson=LESSON, answer=_by_hand, tolerance=0.004,
        text="h = (3, 0, 4, 0) and k = (1, 1, 1, 1), gains 1. What is α by the paper's formula?",
        hint="The cosine is 7 / (5 · 2) = 0.7. The width is 4.",
        right="The score is √4 · 0.7 = 1.4, and σ(1.4) = 0.802.",
        wrong="Both are divided by their root mean square; what is left is √4 · cos θ. Then the sigmoid.",
        slips={"cosine": Slip(lambda: _alpha(0.7, 1),
                              "That is σ(cos θ). The norms leave a product of 4 cos θ, and √4 divides it: 2 cos θ."),
               "raw": Slip(lambda: _alpha(7 / 4, 4),
                           "That is σ(7 / √4), without the norms."),
               "root": Slip(lambda: _alpha(0.7, 4, "sign"),
                            "That is the released gate, with a root in front of the sigmoid.")}),
    choice(
        id="14-longer", lesson=LESSON, answer=_longer,
        text="The memory's key becomes 100 times as long. What does the gate do?",
        options={
            "opens": Option("It opens further.", "A dot product would grow. Here the key is normalised first."),
            "same": Option("Nothing changes.", "RMSNorm divides the length out. Only the direction counts."),
            "closes": Option("It closes.", "A longer key is neither more nor less aligned.")}),
    number(
        id="14-predict", lesson=LESSON, answer=lambda: _alpha(0.1, 1024), tolerance=0.006,
        text="Width 1024, cosine 0.1 (an angle of about 84°), no gains. What is α by the paper's formula?",
        hint="√1024 = 32.",
        right="s = 32 · 0.1 = 3.2, and σ(3.2) = 0.961. Six degrees off the right angle are enough.",
        wrong="s = √M cos θ, and α is its sigmoid.",
        slips={"no width": Slip(lambda: _alpha(0.1, 1), "That is σ(0.1): the factor √1024 = 32 is missing."),
               "divided": Slip(lambda: _alpha(0.1 / 1024, 1024),
                               "That divides the cosine by 32. The norms leave M cos θ, so that √M is left over."),
               "root": Slip(lambda: _alpha(0.1, 1024, "sign"),
                            "That is the released gate: σ(√3.2).")}),
    choice(
        id="14-closes", lesson=LESSON, answer=_closes,
        text="Width 1024, the paper's gate, no gains. Which memory leaves α below 0.05?",
        options={
            "zero": Option("One that is all zeros.", "Its score is 0, so α is 0.5. An empty key does not close."),
            "unrelated": Option("One at a right angle to the hidden state.", "Score 0, α = 0.5: half open."),
            "hundred": Option("One at 100° to the hidden state.",
                              "cos 100° = −0.174, s = −5.6, α = 0.004. It leans against the state, and that closes."),
            "none": Option("None of these.", "One of them has a clearly negative score: find its cosine.")}),
    choice(
        id="14-narrow", lesson=LESSON, answer=_narrow,
        text="The released gate, width 64, no gains. A memory points exactly the other way. How much of it passes?",
        hint="s = −√64, then its signed root, then the sigmoid.",
        options={
            "nothing": Option("Less than a thousandth.", "That is the paper's gate: σ(−8) = 0.0003."),
            "twentieth": Option("About a twentieth.", "σ(−√8) = 0.056. The root lifts the floor, and without larger "
                                                      "gains it cannot be left."),
            "half": Option("About half.", "That is a memory at a right angle.")}),
    choice(
        id="14-softmax", lesson=LESSON, answer=_softmax,
        text="Replace the sigmoid by a softmax over the keys that step 6 compares. What does the weight do?",
        hint="How many keys does one token compare?",
        options={
            "follows": Option("It follows the score, as the sigmoid does.",
                              "A softmax needs a rival. Over a single key it is e^s / e^s."),
            "always": Option("It is always 1.",
                             "There is one key, and it takes the whole unit. A softmax cannot refuse, a sigmoid can."),
            "thirds": Option("It is shared with the neighbouring tokens.",
                             "Step 6 compares a token with its own memory only.")}),
    choice(
        id="14-rivals", lesson=LESSON, answer=_notices,
        text="The hidden state stays, the memory is exchanged for its opposite. Which gate notices?",
        options={
            "hidden": Option("A gate computed from the hidden state alone.", "It gives both memories the same share."),
            "context": Option("The gate of step 6.", "It compares the state with this memory: α becomes 1 − α."),
            "both": Option("Both.", "One of them never looks at the memory.")}),
]
