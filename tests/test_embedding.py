"""The embedding: a circular convolution, marks or calendar tables, sinusoids; each beside plain loops."""

import math

import pytest
import torch
from forecasters import draw
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.embedding import CalendarEmbedding, DataEmbedding, sinusoids

B, L, V, M, K = 2, 5, 3, 7, 4


def build(*args, **kwargs):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return DataEmbedding(*args, **kwargs).double().requires_grad_(False)


def steps(module, *inputs):
    with record() as trace:
        module(*inputs)
    return {name: trace[name].tensor for name in trace}


# Token


def test_the_token_is_a_convolution_over_three_steps_in_a_circle():
    module, x = build(V, M), draw(B, L, V)
    W = module.token.weight
    want = torch.zeros(B, L, M, dtype=torch.float64)
    for b in range(B):
        for t in range(L):
            for m in range(M):
                want[b, t, m] = sum(float(W[m, v, j] * x[b, (t + j - 1) % L, v]) for v in range(V) for j in range(3))
    assert_close(steps(module, x)["token"], want)


def test_the_first_step_sees_the_last_one_and_not_the_middle():
    module, x = build(V, M), draw(B, L, V)
    moved = x.clone()
    moved[:, -1] += 1
    change = (steps(module, moved)["token"] - steps(module, x)["token"]).abs().amax((0, 2))
    assert change[0] > 0.01
    assert change[1:L - 2].tolist() == [0, 0]


def test_turning_the_window_round_turns_the_token_but_not_the_position():
    module, x = build(V, M), draw(B, L, V)
    here, there = steps(module, x), steps(module, x.roll(2, dims=1))
    assert_close(there["token"], here["token"].roll(2, dims=1))
    assert torch.equal(there["position"], here["position"])


# Time


def test_real_marks_go_through_one_matrix_without_bias():
    module, marks = build(V, M, marks=K), draw(B, L, K)
    assert module.time.bias is None
    want = torch.zeros(B, L, M, dtype=torch.float64)
    for b in range(B):
        for t in range(L):
            for m in range(M):
                want[b, t, m] = sum(float(module.time.weight[m, k] * marks[b, t, k]) for k in range(K))
    assert_close(steps(module, draw(B, L, V), marks)["time"], want)


@pytest.mark.parametrize("calendar", ["fixed", "learned"])
@pytest.mark.parametrize("columns", [4, 5])
def test_calendar_marks_are_looked_up_and_added(calendar, columns):
    module = build(V, M, marks=columns, calendar=calendar)
    marks = torch.tensor([[1, 1, 0, 0, 0], [12, 31, 6, 23, 3], [2, 29, 4, 11, 2]])[:, :columns].expand(B, 3, columns)
    month, day, weekday, hour = (module.time.tables[name].weight for name in ("month", "day", "weekday", "hour"))
    want = month[12] + day[31] + weekday[6] + hour[23] + (module.time.tables["minute"].weight[3] if columns == 5 else 0)
    assert_close(steps(module, draw(B, 3, V), marks)["time"][1, 1], want)
    assert torch.equal(module(draw(B, 3, V), marks.double()), module(draw(B, 3, V), marks))


def test_fixed_tables_are_sinusoids_and_do_not_train_learned_ones_do():
    fixed, learned = CalendarEmbedding(M, 5), CalendarEmbedding(M, 5, learned=True)
    assert torch.equal(fixed.tables["hour"].weight, sinusoids(24, M))
    assert [p.requires_grad for p in fixed.parameters()] == [False] * 5
    assert [tuple(p.shape) for p in learned.parameters() if p.requires_grad] == [(n, M) for n in (13, 32, 7, 24, 4)]


# Position


def test_the_sinusoids_by_the_formula():
    rows = [[(math.sin, math.cos)[m % 2](t / 10000 ** (2 * (m // 2) / M)) for m in range(M)] for t in range(L)]
    assert_close(sinusoids(L, M, torch.float64), torch.tensor(rows, dtype=torch.float64))
    assert sinusoids(1, 4).tolist() == [[0, 1, 0, 1]]


def test_the_product_of_two_positions_depends_on_their_distance_alone():
    table = sinusoids(11, 6, torch.float64)
    products = table @ table.T
    for distance in range(5):
        diagonal = products.diagonal(distance)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal))
    assert products[0, 0] > products[0, 1] + 0.1


# The sum


def test_the_embedding_is_token_plus_time_plus_position():  # claim 19
    module = build(V, M)
    parts = steps(module, draw(B, L, V), draw(B, L, K))
    assert_close(parts["h"], parts["token"] + parts["time"] + parts["position"], rtol=0, atol=1e-14)


def test_marks_that_only_later_layers_cannot_hold_are_refused_as_marks():
    module = build(V, M, marks=K).float()
    with pytest.raises(ValueError, match=r"^marks: expected numbers that stay within the range of float32, got an ov"):
        module(draw(B, L, V).float(), torch.full((B, L, K), 1e19))
    assert torch.isfinite(module(draw(B, L, V).float(), torch.full((B, L, K), 1e9))).all()


def test_without_marks_two_terms_are_left():  # claim 19
    for module in (build(V, M), build(V, M, marks=0)):
        parts = steps(module, draw(B, L, V))
        assert list(parts) == ["token", "position", "h"]
        assert_close(parts["h"], parts["token"] + parts["position"], rtol=0, atol=1e-14)
    assert [name for name, _ in build(V, M, marks=0).named_parameters()] == ["token.weight"]


def test_position_false_leaves_the_sinusoids_out():
    assert list(steps(build(V, M, position=False), draw(B, L, V), draw(B, L, K))) == ["token", "time", "h"]


def test_one_step_meets_itself_three_times():
    module, x = build(V, M), draw(B, 1, V)
    assert_close(steps(module, x)["token"], x @ module.token.weight.sum(-1).T)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_sum_keeps_the_dtype_of_the_window(dtype):
    module, x, marks = build(V, M), draw(B, L, V), draw(B, L, K)
    want = module(x, marks)
    got = module.to(dtype)(x.to(dtype), marks.float())
    assert got.dtype == dtype
    assert_close(got.double(), want, rtol=0, atol=16 * torch.finfo(dtype).eps)


# What is refused


@pytest.mark.bad_input
@pytest.mark.parametrize(("x", "marks", "message"), [
    ((B, L, V + 1), None, r"x: expected axes 'B L 3', got shape \(2, 5, 4\)"),
    ((B, L), None, r"x: expected axes 'B L 3', got shape \(2, 5\)"),
    ((B, 0, V), None, "x: expected at least one entry along every axis"),
    ((B, L, V), (B, L, K + 1), r"marks: expected axes 'B L 4' with B=2, L=5, got shape \(2, 5, 5\)"),
    ((B, L, V), (B, L - 1, K), r"marks: expected axes 'B L 4' with B=2, L=5, got shape \(2, 4, 4\)"),
])
def test_shapes_that_do_not_fit_are_refused(x, marks, message):
    with pytest.raises(ValueError, match=message):
        build(V, M)(draw(*x), None if marks is None else draw(*marks))


@pytest.mark.bad_input
def test_marks_for_a_module_without_marks_are_refused():
    with pytest.raises(ValueError, match=r"marks: expected None, .* built with marks=0, got shape \(2, 5, 4\)"):
        build(V, M, marks=0)(draw(B, L, V), draw(B, L, K))


@pytest.mark.bad_input
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_an_entry_that_is_not_finite_is_named_by_row_and_column(bad):
    x, marks = draw(B, L, V), draw(B, L, K)
    x[1, 3, 2] = bad
    with pytest.raises(ValueError, match=rf"x: expected finite .*, got {bad} at row 3, column 2 of window 1 \(1 of 30"):
        build(V, M)(x, marks)
    marks[0, 4, 1] = bad
    with pytest.raises(ValueError, match=rf"marks: expected finite numbers, got {bad} at row 4, column 1 of window 0"):
        build(V, M)(draw(B, L, V), marks)


@pytest.mark.bad_input
@pytest.mark.parametrize(("column", "value", "message"), [
    (0, 0, "from 1 to 12 in column 'month', got 0.0 at row 2 of window 1"),
    (0, 13, "column 'month', got 13.0"), (1, 32, "from 1 to 31 in column 'day', got 32.0"),
    (2, 7, "from 0 to 6 in column 'weekday', got 7.0"), (3, -1, "from 0 to 23 in column 'hour', got -1.0"),
    (3, 0.5, "whole numbers from 0 to 23 in column 'hour', got 0.5"),
])
def test_a_number_that_no_calendar_knows_is_named(column, value, message):
    marks = torch.ones(B, L, K)
    marks[1, 2, column] = value
    with pytest.raises(ValueError, match=message):
        build(V, M, calendar="fixed")(draw(B, L, V), marks)


@pytest.mark.bad_input
def test_settings_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="calendar: expected None, 'fixed' or 'learned', got 'timeF'"):
        DataEmbedding(V, M, calendar="timeF")
    with pytest.raises(ValueError, match=r"marks: expected 4 calendar columns .* or 5 \(minute\), got 3"):
        DataEmbedding(V, M, marks=3, calendar="fixed")
