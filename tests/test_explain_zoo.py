"""Pages on Informer, Autoformer, FEDformer and DUET show the models' own numbers."""

import pytest
import released_autoformer
import released_duet
import released_fedformer
import released_informer
import torch
from explained import agree, explorers_of, own, series

from tsattn_mini.datasets import Scaler, time_features
from tsattn_mini.explain import autoformer, duet, explorers, fedformer, informer
from tsattn_mini.official import load_checkpoint

pytestmark = pytest.mark.usefixtures("no_graphs")

T, LABEL, F, V = 12, 4, 6, 3
SIZES = {"seq_len": T, "label_len": LABEL, "pred_len": F, "n_heads": 2}
MODES = {"modes_enc": [0, 2, 5], "modes_dec_self": [0, 1, 3], "modes_cross_q": [0, 1, 4], "modes_cross_kv": [1, 3]}


def make(name):
    match name:
        case "informer":
            state = released_informer.random_state(V, 8, 7, e_layers=2, d_layers=1)
            return load_checkpoint(state, name, **SIZES, factor=2)
        case "autoformer":
            return load_checkpoint(released_autoformer.random_state(V, M=8, e_layers=2), name, **SIZES, moving_avg=5,
                                   factor=2)
        case "fedformer":
            modes = {place.removeprefix("modes_"): bins for place, bins in MODES.items()}
            state = released_fedformer.random_state(modes, 2, M=8, e_layers=2, V=V)
            return load_checkpoint(state, name, **SIZES, moving_avg=5, **MODES)
        case "duet":
            return load_checkpoint(released_duet.random_state(V, T=T, F=F), name, n_heads=2, k=2, moving_avg=5)


PARTS = {"informer": informer, "autoformer": autoformer, "fedformer": fedformer, "duet": duet}


def window(name, net, data, start):
    values = data.tensor([*data.drivers, data.target], torch.float64)
    scale = Scaler.fit(values[:42])
    x, times = scale.transform(values).float()[None], time_features(data.frame.index, "h")[None]
    a, b = start + T, start + T + F
    if name == "duet":
        want = own(net, x[:, start:a], u=torch.full((1, V, V), 0.5))
    else:
        want = own(net, x[:, start:a], times[:, start:a], None, times[:, a - LABEL:b])
    return want, scale.inverse(want["forecast"][0].double()).float()[:, [2, 0, 1]]


def inner(name, want, layer, head):
    """Shown step → the model's own numbers."""
    match name:
        case "informer":
            return {f"first/{s}": want[f"enc0/{s}"][0, head] for s in ("M", "M_top", "A_top")}
        case "autoformer":
            return {f"encoder/{s}": want[f"enc{layer}/{s}"][0] for s in ("R", "delays", "A")}
        case "fedformer":
            X, Y = (torch.complex(want[f"enc{layer}/{s}_re"], want[f"enc{layer}/{s}_im"]) for s in "XY")
            last = "dec1/cross"
            return {"encoder/loudness": X[0, :, head].abs().square().mean(-1).sqrt(),
                    "encoder/answer": Y[0, :, head].abs().square().mean(-1).sqrt(),
                    "cross/A_re": want[f"{last}/A_re"][0, head]}
        case "duet":
            return {"gates": want["router/gates"][0], "p": want["links/p"][0], "keep": want["links/keep"][0],
                    "A": want[f"enc{layer}/A"][0, head]}


@pytest.mark.parametrize("name", PARTS)
def test_a_page_shows_the_models_own_numbers(name):
    net, data = make(name), series(V)
    blocks = explorers(net, data)
    ex, = explorers_of(blocks)
    for start, layer, head in ((42, 1, 0), (5, 0, 1)):
        want, forecast = window(name, net, data, start)
        places = {"informer": {"head": head}, "autoformer": {"layer": layer}}.get(name, {"layer": layer, "head": head})
        ex.set(window=start, **places)
        for step, numbers in inner(name, want, layer, head).items():
            if numbers.dtype == torch.int64:
                assert torch.equal(ex.values[step], numbers)
            else:
                agree(ex.values[step], numbers)
        agree(ex.values["past and forecast"][0, T:], forecast)
    if name == "informer":
        assert ex.values["first/asked"].nonzero()[:, 0].tolist() == ex.values["first/M_top"].tolist()
    ex.close()


@pytest.mark.parametrize("name", PARTS)
def test_a_large_one_lives_on_from_an_attention(name, monkeypatch):
    monkeypatch.setattr(PARTS[name], "WHOLE", 0)
    net, data = make(name), series(V)
    ex, = explorers_of(explorers(net, data))
    want, forecast = window(name, net, data, 0)
    ex.set(window=0, **({"head": 1} if name in ("informer", "duet") else {}))
    place, step, numbers = {
        "informer": ("enc0", "A_top", lambda: want["enc0/A_top"][0, 1]),
        "autoformer": ("enc1", "R", lambda: want["enc1/R"][0]),
        "fedformer": ("dec1/cross", "A_re", lambda: want["dec1/cross/A_re"][0, 0]),
        "duet": ("enc1", "A", lambda: want["enc1/A"][0, 1])}[name]
    agree(ex.values["q"], want[f"{place}/q"][0, :, 1 if name in ("informer", "duet") else 0])
    agree(ex.values[step], numbers())
    agree(ex.values["past and forecast"][0, T:], forecast)
    ex.close()
