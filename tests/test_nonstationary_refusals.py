"""What the Non-stationary Transformer refuses, and how it says so."""

import math

import pytest
import torch
from forecasters import TOY, build, draw, inputs

from tsattn_mini.blocks import Transformer
from tsattn_mini.nonstationary import (
    NonstationaryTransformer,
    StationarizedTransformer,
    destationary_attention,
    stationarize,
    temperature,
)

pytestmark = pytest.mark.bad_input


def refuse(message, call, *args, **kwargs):
    with pytest.raises(ValueError, match=message):
        call(*args, **kwargs)


@pytest.mark.parametrize(("sizes", "message"), [
    ({"label_len": 13}, "label_len: expected 0 <= label_len <= seq_len=12, .* got 13"),
    ({"label_len": -1}, "label_len: expected 0 <= label_len <= seq_len=12, .* got -1"),
    ({"pred_len": 0}, "pred_len: expected at least 1, got 0"), ({"seq_len": 0}, "seq_len: expected at least 1, got 0"),
    ({"V": 0}, "V: expected at least 1, got 0"), ({"e_layers": 0}, "e_layers: expected at least 1, got 0"),
    ({"d_layers": 0}, "d_layers: expected at least 1, got 0"), ({"H": 3}, "H: expected a divisor of .* M=8, got 3"),
    ({"p_hidden": ()}, r"hidden: expected at least one width, .* got \[\]"),
    ({"p_hidden": (5, 0)}, r"hidden: .* got \[5, 0\]"), ({"activation": "tanh"}, r"activation: .* got 'tanh'"),
    ({"activation": ["gelu"]}, r"activation: expected one of .* got \['gelu'\]"),
])
def test_sizes_that_do_not_fit_are_refused_in_the_constructor(sizes, message):
    refuse(message, NonstationaryTransformer, **{**TOY, **sizes})


@pytest.mark.parametrize(("position", "shape", "message"), [
    (0, (2, 11, 5), r"x_enc: expected axes 'B 12 5', got shape \(2, 11, 5\)"),
    (0, (2, 12, 4), r"x_enc: expected axes 'B 12 5', got shape \(2, 12, 4\)"),
    (0, (12, 5), r"x_enc: expected axes 'B 12 5', got shape \(12, 5\)"),
    (0, (0, 12, 5), r"x_enc: expected at least one entry along every axis"),
    (1, (2, 12, 3), r"x_mark_enc: expected axes 'B 12 4' with B=2, got shape \(2, 12, 3\)"),
    (1, (3, 12, 4), r"x_mark_enc: expected axes 'B 12 4' with B=2, got shape \(3, 12, 4\)"),
    (2, (2, 4, 5), r"x_dec: expected axes 'B 10 5' with B=2, got shape \(2, 4, 5\)"),
    (3, (2, 4, 4), r"x_mark_dec: expected axes 'B 10 4' with B=2, got shape \(2, 4, 4\)"),
])
@pytest.mark.parametrize("cls", [NonstationaryTransformer, StationarizedTransformer, Transformer])
def test_a_wrong_shape_names_its_argument(cls, position, shape, message):
    args = list(inputs())
    args[position] = draw(*shape)
    refuse(message, build(cls, **TOY), *args)


def test_marks_for_one_side_only_or_for_a_model_without_marks_are_refused():
    x, marks, x_dec, future = inputs()
    refuse("x_mark_dec: expected marks for both past and decoder", build(**TOY), x, marks, x_dec)
    refuse("x_mark_enc: expected marks for both past and decoder", build(**TOY), x, None, x_dec, future)
    refuse("x_mark_enc: expected None, as the model was built with marks=0", build(**TOY, marks=0),
           x, marks, x_dec, future)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(("position", "name"), [(0, "x_enc"), (1, "x_mark_enc"), (3, "x_mark_dec")])
def test_one_entry_that_is_not_finite_is_named_by_row_and_column(bad, position, name):
    args = inputs()
    args[position][1, 7, 2] = bad
    refuse(rf"{name}: expected finite numbers, got {bad} at row 7, column 2 of window 1 \(1 of", build(**TOY), *args)


def test_numbers_whose_squares_or_products_leave_the_range_are_refused():
    refuse(r"x: expected numbers with squares in torch\.float32, got 1\.0e\+25", stationarize,
           torch.tensor([[[1e25], [0]]]))
    big, one = torch.full((1, 2, 1, 3), 1e20), torch.ones(1, 2, 1, 3)
    refuse("q, k: expected dot products within the range of torch.float32", destationary_attention, big, big, one)
    refuse(r"delta: expected sizes up to 8\.5e\+37, got 1\.0e\+38", destationary_attention, one, one, one,
           delta=torch.full((1, 2), 1e38))
    refuse("q: expected finite numbers, got nan", destationary_attention, one * math.nan, one, one)
    refuse("k: expected finite numbers, got inf", destationary_attention, one, one * math.inf, one)
    refuse("v: expected finite numbers, got nan", destationary_attention, one, one, one * math.nan)


def test_whole_numbers_are_refused_because_they_would_round_the_window():
    refuse("x: expected floating-point numbers, got int64", stationarize, torch.arange(6).reshape(1, 3, 2))


@pytest.mark.parametrize("length", [1, 10, 13])
def test_a_delta_of_another_length_than_the_keys_is_refused(length):
    q = draw(2, 12, 4, 2)
    refuse(rf"delta: expected axes 'B S' with B=2, S=12, got shape \(2, {length}\)", destationary_attention, q, q, q,
           delta=draw(2, length))


@pytest.mark.parametrize("bounds", [
    (math.nan, 1), (0, math.nan), (5, -5), "ab", ("0", "1"), (1,), (0, 1, 2), 3, (False, True)])
def test_bounds_are_two_numbers_the_lower_first(bounds):
    refuse(r"^bounds: expected two numbers, the lower first, got [^\n]+$", temperature, torch.zeros(1, 1), bounds)


def test_a_bound_may_be_infinite():
    assert temperature(torch.zeros(1, 1), (-math.inf, 80)).item() == 1
