import numpy as np
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


@pytest.mark.parametrize("seed", [0, -1, np.int64(7), np.uint8(7), -2**63, 2**64 - 1])
def test_a_seed_is_a_whole_number_that_torch_takes(seed):
    assert type(checks.seeded(seed)) is int
    torch.Generator().manual_seed(checks.seeded(seed))


@pytest.mark.parametrize("seed", [None, True, 1.0, "1", torch.tensor(1), 2**64, -2**63 - 1])
def test_another_seed_is_refused(seed):
    with pytest.raises(ValueError, match=r"^seed: expected a whole number( from -2\*\*63 to 2\*\*64 - 1)?, got "):
        checks.seeded(seed)


@pytest.mark.parametrize("size", [10**12, 10**20, 10**400])
def test_a_size_that_no_memory_holds_is_refused_before_it_is_tried(size):
    with pytest.raises(ValueError, match=r"^M: expected at most 1000000000, got 1000"):
        checks.counts(M=size)


def test_a_number_beyond_int64_is_refused_and_as_a_float_taken():
    checks.number(tau=1e20)
    for x in (10**20, 10**400):
        with pytest.raises(ValueError, match=r"^tau: expected a float, or a whole number within int64, got 1000"):
            checks.number(tau=x)


def test_a_tensor_without_numbers_is_refused():
    x = torch.ones(2, device="meta")
    for check in (lambda: checks.shapes(x=(x, "B")), lambda: checks.required(x=x)):
        with pytest.raises(ValueError, match=r"^x: expected numbers, got a tensor on the device 'meta'"):
            check()
