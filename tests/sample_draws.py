"""A small question for the tests that can be asked with new numbers."""

import torch
from torch import Tensor

from tsattn_mini import step
from tsattn_mini.explore.question import Draw, Slip, number


def logit(q: Tensor, k: Tensor, tau: Tensor) -> Tensor:
    """The logit of one query and the second of two keys, where that is the larger one."""
    scores = step("scores", k @ q, axes="S")
    step("unscaled", tau * scores[1], axes="")
    step("first key", tau * scores[0] / 3**0.5, axes="")
    return torch.where(scores[1] > scores[0], tau * scores[1] / 3**0.5, torch.nan)


LOGIT = number(
    id="97-logit", answer=logit, tolerance=0.05,
    draws={"q": Draw((3,), -3, 3, whole=True), "k": Draw((2, 3), -2, 2, step=0.5), "tau": Draw(values=(0.25, 1, 4))},
    first={"q": (1, 2, 3), "k": ((1, 0, 0), (0.5, 0, 2)), "tau": 1},
    text="q = {q}, `k` = {k}, τ = {tau}: what is the logit of the *second* key, {k[1]}?",
    hint="{k[1,2]} · {q[2]} is part of it.",
    right="{tau} · {scores[1]}/√3 = {answer:2}; the first key gets {scores[0]}.", wrong="Divide by √3.",
    slips={"root": Slip("unscaled", "{unscaled} is still to be divided by √3."),
           "row": Slip("first key", "That is the logit of {k[0]}."),
           "never": Slip(-7.0, "No draw changes this number.")})
