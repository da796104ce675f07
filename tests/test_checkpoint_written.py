"""A Non-stationary Transformer of this package, saved as the released code would save it."""

import pytest
import torch
from released import random_state

from tsattn_mini.nonstationary import NonstationaryTransformer
from tsattn_mini.official import load_checkpoint
from tsattn_mini.official.nonstationary import released

SIZES = {"label_len": 3, "pred_len": 5, "n_heads": 2}


@pytest.mark.parametrize("sizes", [{}, {"e_layers": 3, "d_layers": 1, "hidden": (17,)}, {"marks": 1, "V": 1, "M": 6}])
def test_what_was_loaded_is_written_under_the_same_names_bit_by_bit(sizes):
    want = random_state(rows=5000, **sizes)
    got = released(load_checkpoint(want, **SIZES))
    assert {name: t.shape for name, t in got.items()} == {name: t.shape for name, t in want.items()}
    assert [name for name in want if not name.endswith(".pe") and not torch.equal(got[name], want[name])] == []
    for name in want:
        torch.testing.assert_close(got[name], want[name], atol=1e-3, rtol=0)


def test_a_new_model_forecasts_the_same_after_a_file_in_between(tmp_path):
    torch.manual_seed(5)
    net = NonstationaryTransformer(11, 3, 5, 2, M=6, H=2, d_ff=7, e_layers=1, d_layers=2, p_hidden=(5,)).eval()
    torch.save(released(net), tmp_path / "checkpoint.pth")
    again = load_checkpoint(tmp_path / "checkpoint.pth", "nonstationary", **SIZES)
    x = torch.randn(2, 11, 2)
    with torch.no_grad():
        assert torch.equal(again(x), net(x))


def test_the_copy_does_not_follow_the_model():
    net = load_checkpoint(random_state(), **SIZES)
    copy = released(net)
    with torch.no_grad():
        net.transformer.projection.bias += 1
    assert not torch.equal(copy["decoder.projection.bias"], net.transformer.projection.bias)


@pytest.mark.bad_input
def test_calendar_tables_are_refused():
    with pytest.raises(ValueError, match="net: expected time features or no marks, got a model with calendar tables"):
        released(load_checkpoint(random_state(calendar="fixed"), **SIZES))
