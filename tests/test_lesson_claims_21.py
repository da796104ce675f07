"""What lesson 21 says: the table of the models cell by cell, who follows the units, what was trained, what it costs."""

import json
import re
from pathlib import Path

import pytest
import torch
from comparison import CELLS, GROUPS, MODELS, ROWS, markdown

from tsattn_mini import record
from tsattn_mini.nonstationary import Projector
from tsattn_mini.questions.lesson21 import misses
from tsattn_mini.results import cost, load
from tsattn_mini.results.nonstationary import task
from tsattn_mini.results.zoo import ENCODER_ONLY, build
from tsattn_mini.results.zoo import MODELS as FORECASTERS

ROOT = Path(__file__).parent.parent
RESULTS, COSTS = load("zoo"), load("cost")
FITS = {(f["grows"], f["operator"]): f for f in cost.fits(COSTS)}


def markdown_cells(path):
    return ["".join(c["source"]) for c in json.loads(path.read_text("utf8"))["cells"] if c["cell_type"] == "markdown"]


ANCHORS = [anchor for path in sorted((ROOT / "lessons").glob("[0-9][0-9]_*.ipynb")) for cell in markdown_cells(path)
           for anchor in re.findall(r"^\(([\w-]+)\)=$", cell, flags=re.M)]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("row", ROWS)
def test_every_cell_of_the_table_leads_to_a_number_that_a_test_guards(row, model):
    assert ANCHORS.count(f"{row}-{model}") == 1, "one lesson shows it, with the target before the heading or paragraph"
    file, _, name = CELLS[row][model].test.partition("::")
    source = (ROOT / "tests" / f"{file}.py").read_text("utf8")
    assert re.search(rf"^def {name}\(", source, flags=re.M), f"{file}.py has no {name}"


def test_the_lesson_shows_the_table_as_it_stands():
    assert set(CELLS) == set(ROWS) == {row for group in GROUPS for row in group}
    assert all(list(CELLS[row]) == list(MODELS) for row in ROWS)
    shown = [cell for cell in markdown_cells(ROOT / "lessons/21_compare.ipynb") if cell.startswith("| model |")]
    assert shown == [markdown(*group) for group in GROUPS]


def test_four_ways_to_treat_the_units():
    level, scale, both = misses(1, 7), misses(3, 0), misses(3, 7)
    assert {name for name, gap in both.items() if gap < 1e-3} == {"iTransformer", "TimeXer"}
    assert {name for name, gap in level.items() if gap < 1e-9} == {"Autoformer", "FEDformer", "iTransformer", "TimeXer"}
    assert both["Autoformer"] == pytest.approx(3.840, abs=2e-3)
    assert both["FEDformer"] == pytest.approx(6.062, abs=2e-3)
    assert min(both["Transformer"], both["Informer"]) > 9
    assert (level["Non-stationary"], scale["Non-stationary"]) == pytest.approx((0.030, 0.017), abs=2e-3)
    assert (level["DUET"], scale["DUET"]) == pytest.approx((1.297, 1.414), abs=2e-3)


@pytest.mark.parametrize(("name", "kept"), [("Transformer", False), ("Informer", False), ("Autoformer", True),
                                            ("FEDformer", True)])
def test_a_window_raised_by_1000_raises_the_forecast_where_the_trend_is_added_and_hardly_elsewhere(name, kept):
    past, marks, _, decoder_marks = (part.double() for part in tuple(task("bikes").test[[12]]))
    torch.manual_seed(21)
    model = build("bikes", name).double().eval()
    with torch.no_grad():
        rise = (model(past + 1000, marks, None, decoder_marks) - model(past, marks, None, decoder_marks)).mean()
    assert (abs(rise - 1000) < 1e-6) if kept else (abs(rise) < 1)


def test_what_each_model_relates_on_the_window():
    past, marks, _, decoder_marks = task("bikes").test[[12]]
    shapes = {"Informer": ("enc0/A_top", (1, 4, 20, 48)), "Autoformer": ("enc0/A", (1, 3)),
              "FEDformer": ("enc0/X_re", (1, 24, 4, 8)), "Non-stationary": ("enc0/A", (1, 4, 48, 48)),
              "iTransformer": ("enc0/A", (1, 4, 8, 8)), "TimeXer": ("enc0/self/A", (4, 4, 5, 5)),
              "DUET": ("links/keep", (1, 4, 4))}
    for name, (step, shape) in shapes.items():
        with torch.no_grad(), record() as trace:
            build("bikes", name).eval()(past, marks, None, decoder_marks)
        assert trace[step].shape == shape


def test_new_in_the_non_stationary_transformer_are_the_boxes_that_save_and_that_make_tau_and_delta():
    past, marks, _, decoder_marks = task("bikes").test[[12]]
    boxes = {}
    for name in ("Transformer", "Non-stationary"):
        with torch.no_grad(), record() as trace:
            build("bikes", name).eval()(past, marks, None, decoder_marks)
        boxes[name] = {one.meaning for one in trace.values()} - {None}
    assert boxes["Non-stationary"] - boxes["Transformer"] == {"save statistics", "make τ and δ"}


def test_weights_run_from_18216_to_80004():
    weights = [w for s, m in RESULTS.pairs() if m in FORECASTERS for w in RESULTS.values(s, m, "parameters")]
    assert (min(weights), max(weights)) == (18216, 80004)


def best(series, column):
    names = [m for s, m in RESULTS.pairs() if s == series]
    first = min(names, key=lambda m: RESULTS[series, m, column].mean)
    return first, [m for m in names
                   if m != first and RESULTS[series, m, column].overlaps(RESULTS[series, first, column])]


def test_on_macro_two_models_have_no_level_and_the_others_are_near_the_last_value():
    naive = RESULTS["macro", "last value", "mse"].mean
    for name in ("Transformer", "Informer"):
        assert RESULTS["macro", name, "mse"].low > 40 * naive
    for name in ("Autoformer", "FEDformer", "Non-stationary", "iTransformer", "TimeXer", "DUET"):
        assert RESULTS["macro", name, "mse"].mean < 2.1 * naive
        assert RESULTS["macro", "Transformer", "mse"].mean > 25 * RESULTS["macro", name, "mse"].mean
    assert best("macro", "mse") == ("last value", ["iTransformer"])
    assert best("macro", "mae") == ("iTransformer", ["DUET"])
    assert not RESULTS["macro", "iTransformer", "mae"].overlaps(RESULTS["macro", "last value", "mae"])


def test_on_bikes_series_and_patches_as_tokens_lead_in_less_than_half_the_time():
    ranked = sorted((m for s, m in RESULTS.pairs() if s == "bikes"), key=lambda m: RESULTS["bikes", m, "mse"].mean)
    assert ranked[:3] == ["TimeXer", "DUET", "iTransformer"]
    assert set(ranked[:3]) == ENCODER_ONLY, "they are also the three without a decoder"
    assert best("bikes", "mse") == best("bikes", "mae") == ("TimeXer", [])
    slowest = max(RESULTS["bikes", m, "seconds"].mean for m in ranked[:3])
    others = [m for m in ranked[3:] if m not in ("last value", "seasonal naive")]
    assert 2 * slowest < min(RESULTS["bikes", m, "seconds"].mean for m in others)


def test_memory_grows_as_promised():
    wanted = {("L", "full attention"): 2, ("L", "de-stationary"): 2, ("L", "ProbSparse"): 1.16,
              ("L", "Auto-Correlation"): 1.16, ("V", "inverted"): 1.91, ("V", "links"): 2}
    for key, exponent in wanted.items():
        assert FITS[key]["memory"] == pytest.approx(exponent, abs=0.05), key
        assert FITS[key]["formula"] == pytest.approx(exponent, abs=0.01), key
    assert max(FITS["L", name]["memory"] for name in ("Fourier block", "Fourier cross")) < 1


def test_prob_sparse_holds_more_up_to_384_steps_and_is_slower_up_to_768():
    of = {(name, k): COSTS.values("L", name, k) for name in ("full attention", "ProbSparse") for k in ("ms", "mib")}
    more = [a > b for a, b in zip(of["ProbSparse", "mib"], of["full attention", "mib"], strict=True)]
    slower = [a > b for a, b in zip(of["ProbSparse", "ms"], of["full attention", "ms"], strict=True)]
    assert more == [True] * 4 + [False] * 2
    assert slower == [True] * 5 + [False]
    assert of["ProbSparse", "ms"][1] > 2 * of["full attention", "ms"][1]
    assert 2 * of["ProbSparse", "ms"][5] < of["full attention", "ms"][5]


def test_memory_of_one_call_is_the_same_today():
    row = cost.measure("L", "Fourier block", 192)
    stored = COSTS.values("L", "Fourier block", "mib")[cost.SIZES.index(192)]
    assert row["mib"] == pytest.approx(stored, rel=0.02)


def test_inside_tau_moves_and_most_columns_get_other_experts():
    past, marks, _, decoder_marks = (part.double()[::24] for part in tuple(task("bikes").test))
    tau, gates = [], []
    for name, step, found in (("Non-stationary", "tau", tau), ("DUET", "router/gates", gates)):
        torch.manual_seed(21)
        model = build("bikes", name).double().eval()
        for x in (past, 3 * past + 7):
            with torch.no_grad(), record() as trace:
                model(x, marks, None, decoder_marks)
            found.append(trace[step].tensor)
    assert [t.mean().item() for t in tau] == pytest.approx([0.937, 0.731], abs=1e-3)
    assert ((gates[0] > 0) != (gates[1] > 0)).any(-1).double().mean() == pytest.approx(0.822, abs=1e-3)


def test_closing_questions_numbers_of_tau_delta_and_the_projector():
    scores, delta = torch.tensor([3.0, 1.0, 0.0]), torch.tensor([0.0, 0.0, 4.0])
    assert torch.softmax(scores / 2, 0).tolist() == pytest.approx([0.629, 0.231, 0.140], abs=1e-3)
    assert torch.softmax(scores + delta, 0).tolist() == pytest.approx([0.259, 0.035, 0.705], abs=1e-3)
    assert Projector(12, 5, (16,), O=1).conv.weight.numel() == 36
    assert torch.nn.Linear(12, 1, bias=False).weight.numel() == 12


def test_no_model_follows_a_change_of_sign():
    assert min(misses(-1, 0).values()) > 0.1
