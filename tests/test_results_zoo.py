import json
from math import log

import pytest
import torch

from tsattn_mini.results import Results, cost, load, zoo
from tsattn_mini.results.__main__ import machine
from tsattn_mini.results.nonstationary import CUTS, baselines

STORED, COST = load("zoo"), load("cost")


def test_the_stored_table_holds_every_model_series_and_seed():
    trained = [(r["series"], r["model"], r["seed"]) for r in STORED.rows if r["seed"] is not None]
    assert trained == [(s, m, seed) for s in CUTS for m in zoo.MODELS for seed in zoo.SEEDS]
    assert len(zoo.SEEDS) >= 3
    assert STORED.pairs() == [(s, m) for s in CUTS for m in ("last value", "seasonal naive", *zoo.MODELS)]


@pytest.mark.parametrize(("stored", "module"), [(STORED, zoo), (COST, cost)])
def test_the_stored_tables_were_computed_by_this_code_from_a_clean_commit(stored, module):
    now = json.loads(json.dumps(module.about()))
    assert {k: stored.about[k] for k in now} == now
    assert stored.about["torch"] == torch.__version__.partition("+")[0]
    assert len(stored.about["commit"]) == 40, "a + says that files of the package differed from the commit"
    assert stored.about["machine"].endswith("cores")
    assert machine().endswith("cores")


@pytest.mark.parametrize("series", CUTS)
def test_the_baselines_of_the_stored_table_are_reproduced(series):
    for row in baselines(series):
        for column in ("mse", "mae"):
            assert STORED[series, row["model"], column].mean == pytest.approx(row[column], abs=1e-4)


@pytest.mark.parametrize("series", CUTS)
@pytest.mark.parametrize("model", zoo.MODELS)
def test_every_model_is_built_in_its_stored_size(series, model):
    assert sum(p.numel() for p in zoo.build(series, model).parameters()) == STORED.values(
        series, model, "parameters")[0]


def test_the_stored_costs_hold_every_operator_and_size():
    wanted = [(grows, name, size) for grows in cost.FIXED for name, one in cost.OPERATORS.items()
              if grows in one.grows for size in cost.SIZES]
    assert [(r["series"], r["model"], r["size"]) for r in COST.rows] == wanted


def test_exponents_of_powers_are_the_powers():
    sizes = [48, 96, 192]
    assert cost.exponent(sizes, [size**2 for size in sizes]) == pytest.approx(2)
    assert cost.exponent(sizes, [5 * size for size in sizes]) == pytest.approx(1)
    assert 1 < cost.exponent(sizes, [size * log(size) for size in sizes]) < 1.3


def test_fits_put_the_formula_beside_what_was_measured():
    rows = tuple({"series": "L", "model": "full attention", "size": size, "ms": size**2 / 10, "mib": 3.0 * size}
                 for size in cost.SIZES)
    fit, = cost.fits(Results(rows, {}))
    assert fit["promise"] == "L²"
    assert [fit[k] for k in ("time", "memory", "formula")] == pytest.approx([2, 1, 2])


def test_peak_memory_counts_what_a_call_holds_at_once():
    x = torch.zeros(2**18)                                              # 1 MiB
    assert cost.peak_mib(lambda: x + 1) == pytest.approx(1, abs=0.01)
    assert cost.peak_mib(lambda: (x + 1) + (x + 2)) == pytest.approx(3, abs=0.01)


@pytest.mark.parametrize("operator", cost.OPERATORS)
def test_every_operator_can_be_called_at_the_smallest_size(operator):
    with torch.no_grad():
        assert torch.isfinite(cost.OPERATORS[operator].prepare(48, 7)()).all()
