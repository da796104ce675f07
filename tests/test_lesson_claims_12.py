"""Claims of lesson 12: what costs training is read from the stored table of five seeds, the rest is recomputed."""

import json
from itertools import pairwise
from math import log

import pytest
import scoringrules
import torch

from tsattn_mini.kite.gate import DELTA
from tsattn_mini.kite.prior import pearson
from tsattn_mini.results import kite as bikes
from tsattn_mini.results import load
from tsattn_mini.training import predict, squared_error, validation_error

STORED = load("kite")


def of(training, model, column):
    return STORED[training, model, column]


# The table itself


def test_the_stored_table_holds_every_run_and_was_computed_by_this_code():
    trained = [(r["series"], r["model"], r["seed"]) for r in STORED.rows
               if r["seed"] is not None and "ω" not in r["model"]]
    assert trained == [(t, m, seed) for t, models in bikes.RUNS.items() for m in models for seed in bikes.SEEDS]
    assert len(bikes.SEEDS) >= 5
    now = json.loads(json.dumps(bikes.about()))
    assert {k: STORED.about[k] for k in now} == now


def test_the_rivals_of_the_stored_table_are_reproduced():
    for row in bikes.rivals():
        for column in ("crps", "mae", "in 50%", "in 90%"):
            assert of("none", row["model"], column).mean == pytest.approx(row[column], abs=1e-3)


def test_the_fair_crps_by_loops():
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(4, 7, generator=g, dtype=torch.float64), torch.randn(4, generator=g, dtype=torch.float64)
    for b in range(4):
        miss = sum(abs(float(a - y[b])) for a in x[b]) / 7
        pairs = [abs(float(a - c)) for i, a in enumerate(x[b]) for j, c in enumerate(x[b]) if i != j]
        got = float(scoringrules.crps_ensemble(y[b], x[b], estimator="fair", backend="torch"))
        assert got == pytest.approx(miss - sum(pairs) / len(pairs) / 2)


def test_coverage_by_loops():
    cut = bikes.windows("none")[:5]
    samples = cut.future[None, ..., 0].permute(1, 0, 2) + torch.linspace(-1, 4, 20)[None, :, None]
    scores = bikes.judge(samples, cut)
    assert scores["in 90%"] == 100, "the truth is a fifth up the fan"
    assert scores["in 50%"] == 0
    assert scores["mae"] == pytest.approx(1.5 * float(bikes.task("none").scaler.std[0]), rel=1e-4)


def test_training_takes_a_loss_of_the_models_own_and_keeps_its_default():
    t = bikes.task("none")
    mirror = torch.nn.Module()
    mirror.forward = lambda past, *_: past[:, -24:]
    cut = t.validation[:9]
    assert float(squared_error(mirror, cut)) == pytest.approx(validation_error(mirror, cut), rel=1e-5)
    assert torch.equal(predict(mirror, cut), cut.past[:, -24:])


# The decoy


def test_the_decoy_is_the_same_until_the_test_part_and_then_does_what_it_says():
    kept, noise, rhythm = (bikes.task("true", test) for test in bikes.TESTS)
    cut = round(0.8 * 8760)
    assert torch.equal(kept.x[:cut], noise.x[:cut])
    assert torch.equal(kept.x[:cut], rhythm.x[:cut])
    assert torch.equal(kept.x[:, :-1], noise.x[:, :-1])
    after = [t.x[cut:, -1] for t in (kept, noise, rhythm)]
    r = [float(torch.corrcoef(torch.stack([kept.x[cut:, 0], a]))[0, 1]) for a in after]
    assert r[0] > 0.95
    assert abs(r[1]) < 0.05
    assert 0.6 < r[2] < 0.8


def test_the_prior_sees_noise_but_not_rhythm():
    """Mean |r| of the decoy 0.97, 0.04 and 0.72; the strongest honest driver has 0.36."""
    S = {}
    for test in bikes.TESTS:
        x_endo, x_exo, *_ = bikes.parts(bikes.windows("true", test)[30:])
        S[test] = pearson(x_endo, x_exo).mean((0, 1))
    assert float(S["kept"][-1]) == pytest.approx(0.97, abs=0.005)
    assert float(S["noise"][-1]) == pytest.approx(0.04, abs=0.01)
    assert float(S["rhythm"][-1]) == pytest.approx(0.72, abs=0.01)
    assert float(S["kept"][:-1].max()) == pytest.approx(0.36, abs=0.01)
    assert log(0.97 + DELTA) - log(0.04 + DELTA) == pytest.approx(3.19, abs=0.005)


# What the table says


def test_kite_beats_the_rivals_and_is_overconfident():
    assert of("none", "KGC", "crps").high < of("none", "last week", "crps").mean
    for model in bikes.RUNS["none"]:
        assert of("none", model, "in 90%").high < 65, model
    assert of("none", "KGC", "in 90%").mean == pytest.approx(55, abs=2)
    assert of("none", "last week", "in 90%").mean == pytest.approx(90, abs=2)


def test_claim_56_every_network_learns_the_spurious_relation_and_the_prior_does_not_save_the_forecast():
    """In noise all are worse than no drivers at all; KGC and no prior overlap; attention fell by two thirds."""
    for model in bikes.RUNS["true"]:
        assert of("true", model, "noise").low > of("none", "no drivers", "crps").high
    assert of("true", "KGC", "noise").overlaps(of("true", "no prior", "noise"))
    before, after = of("true", "KGC", "weight"), of("true", "KGC", "weight in noise")
    assert after.mean < before.mean / 3
    assert of("true", "no prior", "weight in noise").mean > 0.8 * of("true", "no prior", "weight").mean


def test_cutting_the_decoy_off_by_hand_is_worse_than_listening_to_noise():
    cut, listening, deaf = of("true", "KGC", "cut off"), of("true", "KGC", "noise"), of("true", "KGC, ω = 0", "noise")
    assert deaf.high < listening.low
    assert listening.high < cut.low


def test_claim_55_the_second_door_is_better_for_truth_and_worse_for_lies():
    one, two = ({c: of("true", m, c) for c in ("crps", "noise", "weight in noise")} for m in ("KGC", "second door"))
    assert two["crps"].high < one["crps"].low
    assert two["noise"].low > one["noise"].high
    assert two["weight in noise"].high < one["weight in noise"].low


def test_trained_on_lies_the_prior_pays_while_the_driver_is_true():
    assert of("patchy", "KGC", "crps").high < of("patchy", "no prior", "crps").low
    assert of("patchy", "KGC", "noise").overlaps(of("patchy", "no prior", "noise"))
    for model in bikes.RUNS["patchy"]:
        assert of("patchy", model, "noise").high < 0.7 * of("true", "no prior", "noise").low
    assert of("patchy", "KGC", "weight in noise").mean < of("patchy", "KGC", "weight").mean / 5


def test_claims_84_85_86_guidance_refuses_what_the_prior_could_not():
    names = ["KGC, ω = 0", "KGC, ω = 0.5", "KGC", "KGC, ω = 1.5", "KGC, ω = 2.4"]
    kept, noise = ([of("true", n, c) for n in names] for c in ("crps", "noise"))
    assert min(range(5), key=lambda i: kept[i].mean) == 2
    assert all(a.high < b.low for a, b in pairwise(noise)), "each step of ω makes it worse"
    assert of("true", "KGC, ω = 2.4", "in 90%").high < of("true", "KGC", "in 90%").low, "the spread collapses"
