import pytest
import torch
from torch import nn

from tsattn_mini.datasets import load_bikes, load_macro
from tsattn_mini.training import Cut, make_task, naive, predict, score, train

MACRO = {"columns": ["realgdp", "m1"], "seq_len": 12, "label_len": 4, "pred_len": 3, "period": 4}


@pytest.fixture(scope="module")
def macro():
    return make_task(load_macro(), **MACRO)


class LastValue(nn.Module):
    """The last value of the past plus one learned shift per variable: as little as training can act on."""

    def __init__(self, V=2, F=3):
        super().__init__()
        self.shift, self.F = nn.Parameter(torch.randn(V)), F

    def forward(self, x_enc, x_mark_enc, x_dec, x_mark_dec):
        assert x_dec is None
        assert x_mark_enc.shape[1:] == (12, 1)
        assert x_mark_dec.shape[1:] == (7, 1)
        return x_enc[:, -1:].expand(-1, self.F, -1) + self.shift


def test_every_future_lies_inside_its_part_and_no_part_sees_another_future(macro):
    n = len(macro.x)
    a, b = round(0.7 * n), round(0.8 * n)
    assert [len(c.past) for c in (macro.train, macro.validation, macro.test)] == [a - 14, b - a - 2, n - b - 2]
    torch.testing.assert_close(macro.train.future[-1, -1], macro.x[a - 1])
    torch.testing.assert_close(macro.validation.future[0, 0], macro.x[a])
    torch.testing.assert_close(macro.validation.future[-1, -1], macro.x[b - 1])
    torch.testing.assert_close(macro.test.future[0, 0], macro.x[b])
    torch.testing.assert_close(macro.test.past[0], macro.x[b - 12:b])


def test_the_scale_comes_from_the_training_part_alone(macro):
    train_part = macro.x[:round(0.7 * len(macro.x))]
    torch.testing.assert_close(train_part.mean(0), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(train_part.std(0, correction=0), torch.ones(2))
    assert float(macro.x.max()) > float(train_part.max())


def test_decoder_marks_are_the_label_steps_and_the_future(macro):
    cut = macro.at([0, 10])
    torch.testing.assert_close(cut.decoder_marks[1], macro.marks[18:25])
    torch.testing.assert_close(cut.past_marks[1], macro.marks[10:22])
    torch.testing.assert_close(cut.future[1], macro.x[22:25])


def test_a_stride_thins_the_training_windows_only():
    whole, thin = (make_task(load_macro(), **MACRO, stride=s) for s in (1, 5))
    torch.testing.assert_close(thin.train.past, whole.train.past[::5])
    assert len(thin.validation.past) == len(whole.validation.past)


@pytest.mark.bad_input
@pytest.mark.parametrize(("period", "expected"), [(0, "at least 1"), (13, "1 to seq_len=12")])
def test_a_period_that_the_past_does_not_hold_is_refused(period, expected):
    with pytest.raises(ValueError, match=f"period: expected {expected}, got {period}"):
        make_task(load_macro(), **{**MACRO, "period": period})


@pytest.mark.bad_input
@pytest.mark.parametrize("starts", [
    [-1], [0, 0.5], [True], [186], [10**30], ["0"], "01", 3, None, torch.tensor([1.0]), torch.tensor([True]),
    torch.tensor([[1]]), torch.tensor(1)])
def test_a_window_that_the_series_does_not_hold_is_refused(macro, starts):
    with pytest.raises(ValueError, match=r"^starts: expected whole numbers from 0 to \d+, got [^\n]+$"):
        macro.at([len(macro.x) - 14] if starts == [186] else starts)


def test_starts_may_be_a_list_a_range_or_a_tensor(macro):
    last = len(macro.x) - 15
    for starts in ([0, last], range(0, last + 1, last), torch.tensor([0, last]), torch.tensor([0, last]).numpy()):
        torch.testing.assert_close(macro.at(starts).past[1], macro.x[last:last + 12])
    assert len(macro.at([]).past) == 0


@pytest.mark.bad_input
@pytest.mark.parametrize("columns", ["realgdp", None, 3, ["m1", "m1"]])
def test_columns_are_a_list_of_different_names(columns):
    with pytest.raises(ValueError, match=r"^columns: expected a list of different names, got .+$"):
        make_task(load_macro(), **{**MACRO, "columns": columns})


@pytest.mark.bad_input
@pytest.mark.parametrize("changes", [
    {"epochs": 0}, {"epochs": 1.5}, {"patience": 0}, {"patience": None}, {"batch": 0}, {"batch": 2.0},
    {"seed": -2**63 - 1}, {"seed": 2**64}, {"seed": 0.5}, {"seed": True},
    {"lr": 0.0}, {"lr": -1e-3}, {"lr": float("nan")}, {"lr": "0.1"}])
def test_how_to_train_is_checked_before_anything_is_built(macro, changes):
    def build():
        raise AssertionError("built")

    (name, _), = changes.items()
    with pytest.raises(ValueError, match=rf"^{name}: expected [^\n]+, got [^\n]+$"):
        train(build, macro, **{"seed": 0, **changes})


def test_a_window_without_label_steps_has_marks_for_the_future_alone():
    task = make_task(load_macro(), **{**MACRO, "label_len": 0})
    assert task.test.decoder_marks.shape[1] == 3


def test_naive_repeats_the_last_value_and_the_seasonal_one_the_last_cycle():
    past = torch.tensor([[[1.0], [2.0], [3.0], [4.0]]])
    cut = Cut(past, past, torch.zeros(1, 5, 1), past)
    assert naive(cut)[0, :, 0].tolist() == [4, 4, 4, 4, 4]
    assert naive(cut, 3)[0, :, 0].tolist() == [2, 3, 4, 2, 3]


def test_score_by_hand():
    assert score(torch.tensor([[[1.0], [2.0]]]), torch.tensor([[[3.0], [3.0]]])) == {"mse": 2.5, "mae": 1.5}


def test_a_score_is_finite_or_refused():
    far = torch.full((1, 1, 1), 3e38)
    assert score(far, -far)["mae"] == pytest.approx(6e38)
    with pytest.raises(ValueError, match=r"^forecast, future: expected numbers that stay within"):
        score(far.double() * 1e200, -far.double())


def test_the_same_seed_gives_the_same_model_and_another_seed_another(macro):
    first, again, other = (train(LastValue, macro, seed, epochs=2) for seed in (1, 1, 2))
    assert first.model.shift.tolist() == again.model.shift.tolist()
    assert first.model.shift.tolist() != other.model.shift.tolist()


def test_training_lowers_the_error(macro):
    torch.manual_seed(0)
    before = score(predict(LastValue(), macro.validation), macro.validation.future)["mse"]
    assert train(LastValue, macro, 0, epochs=20, lr=0.05).validation < before / 2


def test_the_kept_weights_are_those_of_the_best_epoch(macro):
    run = train(LastValue, macro, 0, epochs=60, patience=3, lr=0.5)
    assert run.epochs == min(60, run.epoch + 3)
    assert score(predict(run.model, macro.validation), macro.validation.future)["mse"] == pytest.approx(run.validation)
    assert not run.model.training


def test_training_gives_the_threads_back_and_prints_nothing(macro, capfd):
    threads = torch.get_num_threads()
    train(LastValue, macro, 0, epochs=1)
    assert torch.get_num_threads() == threads
    assert capfd.readouterr() == ("", "")


def test_hourly_windows_begin_at_every_hour():
    task = make_task(load_bikes(), ["rentals"], seq_len=24, label_len=12, pred_len=6, period=24, stride=5)
    assert len(task.train.past_marks[:, 0, 0].unique()) == 24
