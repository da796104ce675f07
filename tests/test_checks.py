import pytest
import torch

from tsattn_mini import checks

INF, NAN, LARGE = torch.inf, torch.nan, 3e38


@pytest.mark.parametrize(("entries", "finite"), [
    ([1.0, 2.0], True), ([LARGE, LARGE], True), ([-LARGE, -LARGE], True), ([1.0, NAN], False), ([1.0, INF], False),
    ([INF, -INF], False), ([LARGE, LARGE, NAN], False), ([LARGE, LARGE, -INF], False)])
def test_one_entry_that_is_not_finite_shows_and_sums_that_overflow_do_not_mislead(entries, finite):
    assert checks.all_finite(torch.tensor(entries)) is finite


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool])
def test_every_dtype_is_checked(dtype):
    assert checks.all_finite(torch.ones(7, dtype=dtype))
    assert checks.all_finite(torch.full((70_000,), 60, dtype=torch.float16))
    if dtype.is_floating_point:
        assert not checks.all_finite(torch.tensor([1.0, INF], dtype=dtype))
