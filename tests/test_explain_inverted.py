"""Pages on iTransformer and TimeXer show the models' own numbers, under the reader's names."""

import pytest
import released_inverted as released
import torch
from explained import agree, explorers_of, own, series

from tsattn_mini.datasets import Scaler, time_features
from tsattn_mini.explain import explorers, itransformer, timexer
from tsattn_mini.official import load_checkpoint

pytestmark = pytest.mark.usefixtures("no_graphs")

T, F, V = 7, 5, 3
ITRANSFORMER = {"enc_in": V, "n_heads": 2}


def inverted(**more):
    return load_checkpoint(released.itransformer_state(T, F), "itransformer", **ITRANSFORMER, **more)


def exogenous(features="MS", **more):
    state = released.timexer_state(T, F, N=V if features == "M" else 1)
    return load_checkpoint(state, "timexer", n_heads=2, features=features, enc_in=1 if features == "S" else V, **more)


def window(net, data, start):
    columns = [*data.drivers, data.target][-net.V:]
    values = data.tensor(columns, torch.float64)
    scale = Scaler.fit(values[:42])
    x = scale.transform(values).float()
    times = time_features(data.frame.index, "h") if net.marks else None
    return own(net, x[None, start:start + T], None if times is None else times[None, start:start + T]), scale


@pytest.mark.parametrize("marks", [4, 0])
def test_an_itransformer_shows_who_asks_whom(marks):
    net, data = inverted(marks=marks), series(V)
    blocks = explorers(net, data, start=9)
    ex, = explorers_of(blocks)
    for start, layer, head in ((9, 0, 1), (48, 1, 0)):
        want, scale = window(net, data, start)
        ex.set(window=start, layer=layer, head=head)
        for name in ("QK", "A"):
            agree(ex.values[f"between/{name}"], want[f"enc{layer}/{name}"][0, head])
        forecast = scale.inverse(want["forecast"][0].double()).float()
        agree(ex.values["past and forecast"][0, T:], forecast[:, [2, 0, 1]])
    assert ("mark hour" in ex.html) is bool(marks)
    ex.close()


@pytest.mark.parametrize(("features", "marks"), [("MS", 4), ("M", 0), ("S", 0), ("S", 4)])
def test_a_timexer_shows_what_the_global_token_takes(features, marks):
    net, data = exogenous(features, marks=marks), series(V)
    ex, = explorers_of(explorers(net, data))
    many = features == "M"
    for start, layer, head in ((48, 0, 1), (3, 1, 0)):
        want, scale = window(net, data, start)
        ex.set(window=start, layer=layer, head=head, **({"target": 2} if many else {}))
        agree(ex.values["own/A"], want[f"enc{layer}/self/A"][-1, head])
        assert ("exogenous/A" in ex.values) is (features != "S" or marks > 0)
        if "exogenous/A" in ex.values:
            agree(ex.values["exogenous/A"], want[f"enc{layer}/cross/A"][0, head])
        one = want["forecast"][0, :, -1].double() * scale.std[-1] + scale.mean[-1]
        found = ex.values["past and forecast"][0, T:]
        agree(found[:, 0] if many else found, one.float())
    ex.close()


@pytest.mark.parametrize("part", [itransformer, timexer])
def test_large_ones_live_on_from_their_attentions(part, monkeypatch):
    monkeypatch.setattr(part, "WHOLE", 0)
    net, data = inverted() if part is itransformer else exogenous(), series(V)
    found = explorers_of(explorers(net, data))
    want, _ = window(net, data, 0)
    for ex, place in zip(found, ["enc1"] if part is itransformer else ["enc1/cross", "enc1/self"], strict=True):
        ex.set(window=0, head=1)
        agree(ex.values["A"], want[f"{place}/A"][0, 1])
        agree(ex.values["v"], want[f"{place}/v"][0, :, 1])
        ex.close()
