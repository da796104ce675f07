"""A page on a Non-stationary Transformer shows what the model itself computes, and its handles act on attention."""

import pytest
import released
import torch
from explained import agree, explorers_of, own, series

from tsattn_mini.datasets import Scaler, time_features
from tsattn_mini.explain import explorers, nonstationary, stored
from tsattn_mini.figures import Figure, Table
from tsattn_mini.official import load_checkpoint

pytestmark = pytest.mark.usefixtures("no_graphs")

T, V, F, LABEL = 11, 3, 5, 3
SIZES = {"label_len": LABEL, "pred_len": F, "n_heads": 2}


def model(**more):
    return load_checkpoint(released.random_state(**{"e_layers": 2, **more}), **SIZES)


def window(net, data, start):
    """The model's own steps on the window that begins at row `start`, by the long way round."""
    columns = [*data.drivers, data.target]
    values = data.tensor(columns, torch.float64)
    x = Scaler.fit(values[:42]).transform(values).float()
    times = time_features(data.frame.index, "h")
    a, b = start + T, start + T + F
    return own(net, x[None, start:a], times[None, start:a], None, times[None, a - LABEL:b])


@pytest.fixture(scope="module")
def made(no_graphs):
    net, data = model(), series(V)
    blocks = explorers(net, data, start=7)
    yield net, data, blocks
    for ex in explorers_of(blocks):
        ex.close()


def test_a_page_has_words_settings_handles_curves_and_the_table_of_transforms(made):
    _, _, blocks = made
    tables = [block for block in blocks if isinstance(block, Table)]
    assert "past steps" in repr(tables[0])
    assert "dec0/cross/A" in repr(tables[-1])
    assert len(explorers_of(blocks)) == 1
    assert sum(isinstance(block, Figure) and not isinstance(block, Table) for block in blocks) == 2
    said = " ".join(block for block in blocks if isinstance(block, str))
    assert "rows 0 to 59 of 60" in said
    assert "first 70%" in said
    assert "4 time marks" in said
    assert all(f"“{name}” " in said for name in ("window", "layer", "head", "τ power", "δ times"))


def test_parts_say_which_step_of_the_table_they_are_and_columns_have_their_names(made):
    _, data, blocks = made
    ex = explorers_of(blocks)[0]
    columns = [*data.drivers, data.target]
    assert "Part of enc0/QK or enc1/QK in the table below." in ex.html
    assert ex._labels["2V"] == [f"{part} {name}" for part in "cs" for name in columns]
    assert ex.html.count("d='M0 2h18'") == len(columns)


@pytest.mark.parametrize("start", [7, 0, 44])
def test_every_shown_number_is_the_models_own(made, start):
    net, data, blocks = made
    ex = explorers_of(blocks)[0]
    want = window(net, data, start)
    for layer, head in ((0, 1), (1, 0)):
        ex.set(window=start, layer=layer, head=head, tau_power=1, delta_times=1)
        agree(ex.values["τ"], want["tau"][0, 0])
        agree(ex.values["δ"], want["delta"][0])
        for name in ("QK", "logits", "A"):
            agree(ex.values[f"encoder/{name}"], want[f"enc{layer}/{name}"][0, head])
        agree(ex.values["cross/A"], want["dec1/cross/A"][0, head])
        agree(ex.values["self/A"], want["dec1/self/A"][0, head])
        agree(ex.values["tau_projector/z"], want["tau_projector/z"])
    scale = Scaler.fit(data.tensor([*data.drivers, data.target], torch.float64)[:42])
    forecast = scale.inverse(want["forecast"][0].double()).float()
    agree(ex.values["past and forecast"][0, T:], forecast[:, [2, 0, 1]])
    agree(ex.values["past and forecast"][1], data.tensor()[start:start + T + F])


def test_without_handles_attention_is_plain(made):
    ex = explorers_of(made[2])[0]
    ex.set(window=7, layer=0, head=0, tau_power=0, delta_times=0)
    E = made[0].transformer.encoder.layers[0].attention.query.out_features // 2
    agree(ex.values["encoder/logits"], ex.values["encoder/QK"] / E**0.5)
    assert float(ex.values["τ"]) == 1
    assert not ex.values["δ"].any()


def test_columns_keep_their_names_and_harm_nothing(made):
    ex = explorers_of(made[2])[0]
    assert "<b>'" not in ex.html
    assert "&lt;b&gt;&#x27;2&#x27; &amp; &quot;more&quot;" in ex.html
    assert "2024-02-27 07:00 … 2024-02-27 22:00" in ex.html


def test_a_large_model_lives_on_from_its_attentions(monkeypatch):
    monkeypatch.setattr(nonstationary, "WHOLE", 0)
    monkeypatch.setattr(stored, "MOST_BYTES", 9000)
    net, data = model(), series(V)
    blocks = explorers(net, data)
    first, cross = explorers_of(blocks)
    assert any("upstream of an attention is fixed" in block for block in blocks if isinstance(block, str))
    for place, start in enumerate([0, 22, 44]):
        want = window(net, data, start)
        for ex, scope in ((first, "enc1"), (cross, "dec1/cross")):
            ex.set(window=place, head=1, tau_power=1, delta_times=1)
            agree(ex.values["q"], want[f"{scope}/q"][0, :, 1])
            agree(ex.values["A"], want[f"{scope}/A"][0, 1])
            agree(ex.values["out"], want[f"{scope}/out"][0, :, 1])
            agree(ex.values["past and forecast"][1], data.tensor()[start:start + T + F])
    first.set(tau_power=0, delta_times=0)
    assert float((first.values["A"] - want["enc1/A"][0, 1]).abs().max()) > 1e-4
    for ex in (first, cross):
        ex.close()


@pytest.mark.parametrize(("calendar", "freq"), [("fixed", "h"), (None, "D")])
def test_marks_come_from_dates_whatever_the_weights_read(calendar, freq):
    net = model(calendar=calendar) if calendar else model(marks=3)
    blocks = explorers(net, series(V, freq=freq))
    assert f"{net.transformer.enc_embedding.marks} time marks" in " ".join(b for b in blocks if isinstance(b, str))
    explorers_of(blocks)[0].close()


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "message"), [
    (lambda: explorers(torch.nn.Linear(2, 2), series(V)), "^model: expected one of Nonstationary.*, got Linear$"),
    (lambda: explorers(model(), series(V).frame), "^series: expected a Series, as read_csv .* got DataFrame$"),
    (lambda: explorers(model(), series(5)), r"^series: the weights take 3 variables, got 5 columns: .*; choose 2 "
                                            r"beside the target with columns=\[…\] of read_csv, .* --columns$"),
    (lambda: explorers(model(), series(2)), "^series: the weights take 3 variables, got 2 columns"),
    (lambda: explorers(model(), series(V, rows=16)), "^series: expected at least 17 rows for windows of 11 past and 5 "
                                                     "future steps, got 16$"),
    (lambda: explorers(model(), series(V), start=45), "^start: expected a row from 0 to 44 .* got 45$"),
    (lambda: explorers(model(), series(V), start="2024-02-27 00:30"), "^start: expected a date of the series"),
    (lambda: explorers(model(), series(V), start="soon"), "^start: expected a row or a date such as "
                                                          "2024-02-27 00:00:00, got 'soon'$"),
    (lambda: explorers(model(marks=7), series(V)), "^model: its weights read 7 time marks, but dates give"),
])
def test_what_does_not_fit_is_one_line_that_says_what_would(make, message):
    with pytest.raises(ValueError, match=message) as error:
        make()
    assert "\n" not in str(error.value)
