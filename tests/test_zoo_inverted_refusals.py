"""What iTransformer and TimeXer refuse, before anything is computed."""

import math

import pytest
import torch
from forecasters import build, draw
from test_zoo_itransformer import inputs

from tsattn_mini.zoo.itransformer import InvertedEmbedding, ITransformer, normalise
from tsattn_mini.zoo.timexer import PatchEmbedding, TimeXer

TOY = {"seq_len": 12, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16}
MODELS = [(ITransformer, {}), (TimeXer, {"patch_len": 4})]
pytestmark = pytest.mark.bad_input


def with_nan(row, column):
    x = draw(2, 12, 5)
    x[1, row, column] = math.nan
    return x


@pytest.mark.parametrize(("cls", "own"), MODELS)
@pytest.mark.parametrize(("sizes", "message"), [
    ({"seq_len": 0}, "seq_len: expected at least 1, got 0"), ({"pred_len": 0}, "pred_len: expected at least 1, got 0"),
    ({"V": 0}, "V: expected at least 1"), ({"e_layers": 0}, "e_layers: expected at least 1"),
    ({"H": 3}, "H: expected a divisor of the model width M=8, got 3"),
    ({"calendar": "fixed"}, "calendar: expected None.*got 'fixed'"),
    ({"activation": "tanh"}, "activation: expected one of")])
def test_sizes_that_do_not_fit(cls, own, sizes, message):
    with pytest.raises(ValueError, match=message):
        cls(**TOY | own | sizes)


@pytest.mark.parametrize(("sizes", "message"), [
    ({"patch_len": 13}, "patch_len: expected 1 <= patch_len <= seq_len=12, got 13"),
    ({}, "patch_len: expected 1 <= patch_len <= seq_len=12, got 16"),
    ({"patch_len": 0}, "patch_len: expected 1 <= patch_len <= seq_len=12, got 0"),
    ({"patch_len": 4, "features": ["S"]}, r"features: expected one of .* got \['S'\]"),
    ({"patch_len": 4, "features": "SM"}, r"features: expected one of \['M', 'MS', 'S'\], got 'SM'"),
    ({"patch_len": 4, "features": "S", "V": 3}, 'V: expected 1 with features="S".* take "MS".*got 3')])
def test_defects_27_and_28_patches_and_features_that_do_not_fit(sizes, message):
    with pytest.raises(ValueError, match=message):
        TimeXer(**TOY | sizes)


@pytest.mark.parametrize(("cls", "own"), MODELS)
@pytest.mark.parametrize(("change", "message"), [
    ({"x_enc": draw(2, 11, 5)}, r"x_enc: expected axes 'B 12 5', got shape \(2, 11, 5\)"),
    ({"x_enc": draw(2, 12, 4)}, r"x_enc: expected axes 'B 12 5', got shape \(2, 12, 4\)"),
    ({"x_enc": draw(0, 12, 5)}, "x_enc: expected at least one entry"),
    ({"x_enc": None}, "x_enc: expected a tensor, got NoneType"),
    ({"x_mark_enc": draw(2, 12, 3)}, r"x_mark_enc: expected axes 'B 12 4' with B=2, got shape \(2, 12, 3\)"),
    ({"x_mark_enc": draw(2, 11, 4)}, r"x_mark_enc: expected axes 'B 12 4' with B=2, got shape \(2, 11, 4\)"),
    ({"x_mark_enc": None, "x_mark_dec": draw(2, 10, 4)}, "x_mark_enc: expected marks of the past"),
    ({"x_dec": draw(2, 10, 3)}, r"x_dec: expected axes 'B L 5' with B=2, got shape \(2, 10, 3\)"),
    ({"x_dec": draw(2, 3, 5)}, "x_dec: expected at least pred_len=4 rows, got 3"),
    ({"x_mark_dec": draw(3, 10, 4)}, "x_mark_dec: expected axes 'B L 4' with B=2"),
    ({"x_enc": with_nan(3, 2)}, "x_enc: expected finite numbers, got nan at row 3, column 2 of window 1"),
    ({"x_mark_enc": draw(2, 12, 4) * math.inf}, "x_mark_enc: expected finite numbers, got -?inf at row 0, column 0")])
def test_a_window_that_does_not_fit(cls, own, change, message):
    x, marks = inputs()
    with pytest.raises(ValueError, match=message):
        build(cls, **TOY | own)(**{"x_enc": x, "x_mark_enc": marks, **change})


@pytest.mark.parametrize(("cls", "own"), MODELS)
def test_marks_for_a_model_without_any(cls, own):
    with pytest.raises(ValueError, match="x_mark_enc: expected None, as the model was built with marks=0"):
        build(cls, **TOY | own, marks=0)(*inputs())


@pytest.mark.parametrize("released_statistics", [False, True])
def test_numbers_whose_squares_overflow_and_whole_numbers(released_statistics):
    with pytest.raises(ValueError, match="x: expected numbers"):
        normalise(torch.tensor([[[1e30], [-1e30]]]), released_statistics)
    with pytest.raises(ValueError, match="x: expected floating-point numbers, got int64"):
        normalise(torch.ones(1, 3, 1, dtype=torch.int64), released_statistics)


def test_the_embeddings_by_themselves():
    with pytest.raises(ValueError, match=r"x: expected axes 'B 7 V', got shape \(2, 6, 3\)"):
        InvertedEmbedding(7, 4)(torch.ones(2, 6, 3))
    with pytest.raises(ValueError, match=r"marks: expected axes 'B 7 K' with B=2, got shape \(3, 7, 1\)"):
        InvertedEmbedding(7, 4)(torch.ones(2, 7, 3), torch.ones(3, 7, 1))
    with pytest.raises(ValueError, match=r"x: expected axes 'B 2 7', got shape \(2, 2, 6\)"):
        PatchEmbedding(7, 3, 4, N=2)(torch.ones(2, 2, 6))
    with pytest.raises(ValueError, match="x: expected finite numbers, got nan at row 3, column 2 of window 1"):
        InvertedEmbedding(12, 4)(with_nan(3, 2).float())


@pytest.mark.parametrize("size", [1e25, 1e38, 1e300])
def test_marks_that_are_all_a_timexer_may_ask_are_named_where_no_norm_can_be_taken(size):
    net = TimeXer(12, 4, V=1, M=8, H=2, d_ff=8, patch_len=4, features="S")
    with pytest.raises(ValueError, match=r"^x_mark_enc: expected numbers that stay within the range of float32"):
        net(torch.zeros(1, 12, 1), torch.full((1, 12, 4), size, dtype=torch.float64))
