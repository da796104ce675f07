import json
from math import sqrt

import pytest
import torch

from tsattn_mini.nonstationary import NonstationaryTransformer, StationarizedTransformer
from tsattn_mini.results import Interval, Results, interval, load
from tsattn_mini.results.__main__ import main, write
from tsattn_mini.results.maps import affine, between, distance, encoder_maps, spaced
from tsattn_mini.results.nonstationary import CUTS, MODELS, SEEDS, about, baselines, task

STORED = load("nonstationary")


def test_the_stored_table_holds_every_model_series_and_seed():
    trained = [(r["series"], r["model"], r["seed"]) for r in STORED.rows if r["seed"] is not None]
    assert trained == [(s, m, seed) for s in CUTS for m in MODELS for seed in SEEDS]
    assert len(SEEDS) >= 5
    assert STORED.pairs() == [(s, m) for s in CUTS for m in ("last value", "seasonal naive", *MODELS)]


def test_the_stored_table_was_computed_by_this_code():
    now = json.loads(json.dumps(about()))
    assert {k: STORED.about[k] for k in now} == now
    assert STORED.about["torch"] == torch.__version__.partition("+")[0]


@pytest.mark.parametrize("series", CUTS)
def test_the_baselines_of_the_stored_table_are_reproduced(series):
    for row in baselines(series):
        for column in ("mse", "mae"):
            assert STORED[series, row["model"], column].mean == pytest.approx(row[column], abs=1e-4)


def test_a_confidence_interval_by_hand():
    of_three = interval([1.0, 2.0, 3.0])
    assert of_three.mean == 2
    assert of_three.half == pytest.approx(4.302653 * 1 / sqrt(3))
    assert str(of_three) == "2.000 ± 2.484"
    assert interval([2.5]) == Interval(2.5, 0.0)
    assert str(interval([2.5])) == "2.500"


@pytest.mark.parametrize(("a", "b", "overlap"), [
    (Interval(1.0, 0.5), Interval(2.0, 0.4), False), (Interval(1.0, 0.5), Interval(2.0, 0.5), True),
    (Interval(2.0, 0.4), Interval(1.0, 0.5), False), (Interval(1.0, 2.0), Interval(1.5, 0.0), True)])
def test_intervals_overlap_when_they_share_a_point(a, b, overlap):
    assert a.overlaps(b) is overlap


@pytest.mark.bad_input
def test_an_interval_needs_a_number():
    with pytest.raises(ValueError, match="values: expected at least one number, got none"):
        interval([])


@pytest.mark.bad_input
def test_an_unknown_row_says_what_there_is():
    with pytest.raises(KeyError, match="no 'mse' of 'raw' on 'moon'; the table holds last value on macro"):
        STORED["moon", "raw", "mse"]


def test_the_table_shows_a_dash_where_a_baseline_has_no_number():
    lines = repr(STORED.table("mse", "copies")).splitlines()
    assert lines[2].split() == ["macro", "last", "value", f"{STORED['macro', 'last value', 'mse'].mean:.3f}", "–"]
    assert "±" in lines[4]


def test_what_is_written_is_read_back(tmp_path, monkeypatch):
    rows = ({"series": "s", "model": "b", "seed": None, "mse": 0.5},
            {"series": "s", "model": "m", "seed": 3, "mse": 0.12345678, "crps": 2.0})
    write("nonstationary", Results(rows, {"seeds": [3]}), tmp_path)
    monkeypatch.setattr("tsattn_mini.results.files", lambda _: tmp_path)
    assert load("nonstationary") == Results(({**rows[0], "crps": None}, {**rows[1], "mse": 0.1235}), {"seeds": [3]})


def test_distance_is_the_share_of_attention_on_other_keys():
    A, B = torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([[0.0, 1.0], [0.5, 0.5]])
    assert distance(A, A) == 0
    assert distance(A, B) == 0.5
    assert between(torch.stack([A, A, B])[:, None]) == pytest.approx(0.5 * 4 / 6)


def test_spaced_windows_share_a_phase():
    cut = spaced(task("bikes"))
    assert len(cut.past) == 8
    assert len(cut.past_marks[:, 0, 0].unique()) == 1, "all begin at the same hour"


def test_copies_of_a_window_are_one_window_for_stationarized_attention_alone():
    torch.manual_seed(0)
    sizes = {**task("bikes").sizes, "M": 8, "H": 2, "d_ff": 8}
    cut = spaced(task("bikes"))
    for model, limit in ((StationarizedTransformer(**sizes), True), (NonstationaryTransformer(**sizes), False)):
        A, B = encoder_maps(model, cut), encoder_maps(model, affine(cut))
        assert A.shape == (8, 4, 48, 48)
        assert (float(distance(A, B).mean()) < 1e-4) is limit


@pytest.mark.bad_input
def test_an_unknown_table_is_named_before_anything_is_trained():
    with pytest.raises(SystemExit, match="no table moon; the tables are nonstationary"):
        main(["moon"])
