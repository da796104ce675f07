"""A page on KITE shows the prior, the terms of the scores and the particles as the model makes them."""

import pytest
import torch
from explained import agree, explorers_of, own, series
from released_kite import field_state, source_state

from tsattn_mini.datasets import Scaler
from tsattn_mini.explain import explorers, kite
from tsattn_mini.official import load_checkpoint
from tsattn_mini.trace import record

pytestmark = pytest.mark.usefixtures("no_graphs")

T, F, D = 9, 5, 2


def model(future=True):
    g = torch.Generator().manual_seed(3)
    draw = lambda *shape: 0.4 * torch.randn(*shape, generator=g)  # noqa: E731
    state = {**field_state(draw, T=T, F=F, D=D, M=8, depth=2, ratio=2, future=future, prefix="net."),
             **source_state(draw, T=T, F=F, rank=3, mlp=True)}
    return load_checkpoint({name: torch.as_tensor(t) for name, t in state.items()}, "kite", n_heads=2)


def window(net, data, start, omega):
    values = data.tensor([*data.drivers, data.target], torch.float64)
    scale = Scaler.fit(values[:42])
    x = scale.transform(values).float()[None]
    past, ahead = x[:, start:start + T], x[:, start + T:start + T + F]
    want = own(lambda: net.sample(past[..., -1:], past[..., :-1], ahead[..., :-1] if net.field.future else None,
                                  n_samples=kite.PARTICLES, steps=kite.ROUNDS, omega=torch.tensor(omega),
                                  **kite.draws(net)))
    units = want["samples"][0, :, :, 0].double() * scale.std[-1] + scale.mean[-1]
    return want, units.float()


@pytest.mark.parametrize("future", [True, False])
def test_every_shown_number_is_the_models_own(future):
    net, data = model(future), series(D + 1)
    ex, = explorers_of(explorers(net, data))
    for start, round, layer, head, omega in ((46, 0, 0, 1, 1.0), (4, 3, 1, 0, 2.5)):
        want, samples = window(net, data, start, omega)
        ex.set(window=start, round=round, layer=layer, head=head, omega=omega)
        agree(ex.values["S"], want["prior/S"][0, 0])
        place, told = f"ode{round}/net/past{layer}/kgc", kite.PARTICLES
        agree(ex.values["A_b"], want[f"{place}/A_b"][told, head, 0])
        agree(ex.values["A"], want[f"{place}/A"][told, head, 0])
        agree(ex.values["gate"], want[f"{place}/gate"][told, 0, 0])
        agree(ex.values["v_c"], want[f"ode{round}/v_c"][0])
        joined = ex.values["past and forecast"]
        agree(joined[0, T:], samples.mean(0))
        agree(joined[2:, T:], samples)
    ex.close()


def test_the_prior_over_time_is_that_of_every_window():
    net, data = model(), series(D + 1)
    rows = kite.rows(net, data, None, True)
    want = torch.stack([window(net, data, start, 1.0)[0]["prior/S"][0, 0] for start in (0, 23, 46)])
    with torch.no_grad(), record() as trace:
        past = rows.many(3)[0][:, :T]
        net.prepare(past[..., -1:], past[..., :-1], rows.many(3)[0][:, T:, :-1])
    agree(trace["prior/S"].tensor[:, 0], want)


def test_a_large_one_lives_on_from_its_scores(monkeypatch):
    monkeypatch.setattr(kite, "WHOLE", 0)
    net, data = model(), series(D + 1)
    ex, = explorers_of(explorers(net, data))
    want, samples = window(net, data, 0, 1.0)
    ex.set(window=0, head=1)
    agree(ex.values["A"], want["ode0/net/past1/kgc/A"][kite.PARTICLES, 1, 0])
    agree(ex.values["past and forecast"][2:, T:], samples)
    ex.set(gate_weight=0, prior_times=0)
    agree(ex.values["A"], want["ode0/net/past1/kgc/A_b"][kite.PARTICLES, 1, 0].softmax(-1))
    ex.close()
