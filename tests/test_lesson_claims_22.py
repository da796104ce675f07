"""What lesson 22 says: names change nothing, hooks hear doors only, weights tell sizes, and nothing is left behind."""

import json
import tempfile
from pathlib import Path

import nbformat
import pytest
import torch
from browsing import ROOT
from staged import made_by
from torch import nn, softmax

from tsattn_mini import Watched, record, watch
from tsattn_mini.attention import scaled_dot_product
from tsattn_mini.questions import lesson22

LESSON = "22_your_own_model"
CELLS = {cell.id: cell for cell in nbformat.read(ROOT / "lessons" / f"{LESSON}.ipynb", as_version=4).cells}
PRICE = "a-price-on-distance"


def printed(cell):
    """What the cell `c22-…` stored, its streams and the text of its result."""
    outputs = CELLS[f"c22-{cell}"].outputs
    return "".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The lesson's explorers by id, run in one go, and the files that it left in an empty folder for temporary ones."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        with made_by(LESSON) as made:
            yield made, list(folder.iterdir())


@pytest.fixture
def price(ran):
    return ran[0][PRICE]


# A module of the reader's


def test_row_0_can_be_checked_on_paper():
    x = torch.tensor([[2.0, 0], [0, 2], [0, 0], [2, 0], [0, 2]], dtype=torch.float64)
    places = torch.arange(5)
    A = softmax(x @ x.mT / 2**0.5 - 0.5 * (places[:, None] - places).abs(), -1)
    assert float(A[0, 0] / A[0, 3]) == pytest.approx(torch.e**1.5)
    assert f"odds of position 0 against its twin: {A[0, 0] / A[0, 3]:.2f}" in printed("module-number")
    assert f"{A[0, 0]:.3f}" in printed("module-number")


def test_each_slip_is_answered():
    said = printed("module-slips").splitlines()
    assert [line.partition(":")[0] for line in said] == ["words", "in_place", "loop"]
    assert ["axes 'L S' name 2 axes" in said[0], "changed in place" in said[1], "scope" in said[2]] == [True] * 3


def test_presets_do_what_is_answered(price):
    price.set(**price._presets["Dear"])
    A = price.values["A"][0]
    assert float(A[2, 2]) == pytest.approx(0.96, abs=5e-3)
    assert A.argmax(-1).tolist() == [0, 1, 2, 3, 4]
    price.set(**price._presets["No price"])
    torch.testing.assert_close(price.values["A"][0, 2], torch.full((5,), 0.2, dtype=torch.float32))
    torch.testing.assert_close(price.values["A"][0, 0, 0], price.values["A"][0, 0, 3])
    price.set(**price._presets["Far is better"])
    A = price.values["A"][0]
    assert A[0, 3] > A[0, 0], "the twin at the other end"
    assert int(A[2].argmax()) in (0, 4)


def test_exercise_1_draws_level_at_distance_5():
    near, far = softmax(torch.tensor([0 - 0.5 * 1, 2 - 0.5 * 5]), -1)
    assert float(near) == pytest.approx(float(far))


# Linked


def test_the_slider_the_list_and_the_explorer_move_one_another():
    moved, listed, told = printed("linked-move").splitlines()
    assert moved.startswith("the slider moved")
    assert listed.startswith("the list moved")
    assert told.endswith("1.0")


def test_the_book_shows_no_widget_that_needs_a_kernel():
    shows = [id for id, cell in CELLS.items() if cell.cell_type == "code"
             and ("display(" in cell.source or "Box(" in cell.source)]
    assert shows == ["c22-linked-show"]
    assert "remove-output" in CELLS["c22-linked-show"].metadata.tags


# Watched


@pytest.fixture
def layer():
    torch.manual_seed(5)
    layer = nn.TransformerEncoderLayer(6, 3, 10, batch_first=True, dtype=torch.float64)
    return layer.eval().requires_grad_(False), torch.randn(2, 7, 6, dtype=torch.float64)


def test_no_hook_hears_scores_or_weights_and_inputs_of_norms_are_heard():
    assert lesson22._heard() == {"y", "sum", "hidden"}


def test_one_hook_opens_the_fused_layer():
    net, x = lesson22._layer()
    with lesson22._Operations() as alone:
        want = net(x)
    with watch(net, {"norm1": "norm1"}), lesson22._Operations() as watched:
        got = net(x)
    assert (alone.count, watched.count) == (1, 14)
    torch.testing.assert_close(got, want, atol=1e-12, rtol=0)
    said = printed("watch-way").splitlines()
    assert [line.split()[0] for line in said[:2]] == ["1", "14"]


def test_weights_that_are_computed_onward_are_those_of_the_layer(layer):
    """The lesson's way, at other sizes: attention itself, asked for its weights, has the same."""
    net, x = layer
    names = {"self_attn": [Watched("x", of="input", pick=0), Watched("y", pick=0)]}
    with watch(net, names), record() as trace:
        net(x)
    inside = net.self_attn
    qkv = trace["x"].tensor @ inside.in_proj_weight.mT + inside.in_proj_bias
    with record() as onward:
        mixed = scaled_dot_product(*qkv.unflatten(-1, (3, 3, 2)).unbind(2))
    torch.testing.assert_close(inside.out_proj(mixed.flatten(-2)), trace["y"].tensor, atol=1e-12, rtol=0)
    want = inside(x, x, x, average_attn_weights=False)[1]
    torch.testing.assert_close(onward["A"].tensor, want, atol=1e-12, rtol=0)


# Files


def test_what_must_be_asked_of_the_sender_is_asked():
    asked = "label_len, pred_len, n_heads"
    assert f"to be asked of the sender: {asked}" in printed("file-settings")
    assert printed("file-load").count("no weight tells it") == 3
    assert "bit by bit, the forecast of its sender: True" in printed("file-load")
    assert "(1, 4, 24, 24)" in printed("file-table")


def test_the_gift_was_refused_and_did_not_run():
    said = printed("trap-open")
    assert "holds code (os.makedirs), which is not run" in said
    assert "did it run? False" in said


def test_a_rule_is_a_guess():
    said = [line.split() for line in printed("data-read").splitlines()[-2:]]
    measured, filled = (list(map(int, line[1:])) for line in said)
    assert (measured[0], measured[-1]) == (filled[0], filled[-1])
    assert all(abs(a - b) > 20 for a, b in zip(measured[1:-1], filled[1:-1], strict=True))
    assert "my bikes.csv: row 102: 3 times" in printed("data-refuse")


def test_the_page_is_one_file_that_asks_nobody():
    assert "one file, below 6 MB: True" in printed("page-write")
    assert "addresses it would ask for: 0" in printed("page-write")


def test_nothing_is_left_behind(ran):
    assert ran[1] == []
    assert "left behind: False" in printed("clean")


def test_the_lesson_stores_no_folder_of_this_machine():
    text = json.dumps([cell.get("outputs", []) for cell in CELLS.values()])
    assert tempfile.gettempdir() not in text
    assert str(Path.home()) not in text
