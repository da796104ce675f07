"""Short forms that the KITE lessons ask with drawn numbers agree with the functions of the lessons."""

import pytest
import scoringrules
import torch
from torch.testing import assert_close

from tsattn_mini.kite.exact import guided_gaussian
from tsattn_mini.kite.source import coverage
from tsattn_mini.questions import lesson10, lesson11, lesson12

QUESTIONS = {q.id: q for lesson in (lesson10, lesson11, lesson12) for q in lesson.QUESTIONS}
SEEDS = pytest.mark.parametrize("seed", range(6))


def drawn(id, seed):
    return QUESTIONS[id].drawing.tensors(seed), QUESTIONS[id].at(seed).answer()


@SEEDS
def test_the_coverage_loss_is_smallest_at_the_root_mean_square_of_the_misses(seed):
    numbers, answer = drawn("10-sigma", seed)
    y = numbers["miss"][:, None]
    widths = answer * torch.tensor([0.98, 0.99, 1, 1.01, 1.02], dtype=torch.float64)
    losses = torch.stack([coverage(y, 0 * y, w.expand(2, 1)).mean() for w in widths])
    assert losses.argmin() == 2


@SEEDS
def test_guidance_leaves_the_geometric_mixture_of_the_widths(seed):
    numbers, answer = drawn("11-width", seed)
    _, std = guided_gaussian(numbers["omega"], (1.0, numbers["sigma_c"]), (0.0, numbers["sigma_u"]))
    assert_close(std.item(), answer)


@SEEDS
def test_the_crps_of_three_trajectories_is_the_library_s_and_the_slip_is_its_other_estimate(seed):
    numbers, answer = drawn("12-crps", seed)
    x, y = numbers["x"], numbers["y"].item()
    slip = QUESTIONS["12-crps"].at(seed).slips["all pairs"].number()
    for estimator, ours in (("fair", answer), ("nrg", slip)):
        library = scoringrules.crps_ensemble(y, x, estimator=estimator, backend="torch")
        assert_close(float(library), ours, rtol=0, atol=1e-12)
