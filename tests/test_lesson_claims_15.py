"""Claims of lesson 15: what step 7 does to the gate, how far it reads, and what a gate is worth to a small model.

The numbers in the names are those of the claims about Engram's step 6.
"""

import json

import pytest
import torch
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.engram.gate import OpenGate, rms_norm
from tsattn_mini.engram.memory import EPS, Engram, ShortConvolution
from tsattn_mini.engram.tiling import coverage, tiling
from tsattn_mini.questions.lesson15 import _shut_last
from tsattn_mini.results import engram as lab
from tsattn_mini.results import interval, load

RESULTS = load("engram")
VALUES = rms_norm(torch.randn(1, 32, 1024, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), eps=0.0)


def paths(alpha, size=1.0, conv_gate=None, v=VALUES):
    """Norms of the direct path and of a convolution with torch's usual first weights."""
    M = v.shape[-1]
    conv = ShortConvolution(1, M, K=4, D=3, conv_gate=conv_gate).double().requires_grad_(False)
    torch.nn.init.uniform_(conv.weight, -0.5, 0.5, generator=torch.Generator().manual_seed(0))
    gates = torch.full((*v.shape[:2], 1), alpha, dtype=v.dtype)
    v_gated = gates[..., None] * size * v[:, :, None]
    return torch.stack([v_gated.norm(), conv(v_gated, size * v, gates).norm()])


@pytest.mark.parametrize(("size", "alpha", "percent"), [
    (1.0, 0.1, 99.9), (1.0, 0.01, 94.7), (1.0, 0.0035, 71), (0.1, 0.1, 94.7), (0.1, 0.01, 27), (0.1, 0.0035, 9.8)])
def test_104_the_convolution_keeps_what_the_gate_takes(size, alpha, percent):
    direct, conv = 100 * paths(alpha, size) / paths(1.0, size)
    assert direct.item() == pytest.approx(100 * alpha)
    assert conv.item() == pytest.approx(percent, abs=1.0)


def test_104_at_the_released_floor_the_norms_are_a_factor_sixty_apart():
    direct, conv = paths(0.0035)
    assert direct.item() == pytest.approx(0.63, abs=0.01)
    assert conv.item() == pytest.approx(40.2, rel=0.06)


def test_104_the_norm_divides_alpha_out_and_only_epsilon_remembers_it():
    v = torch.tensor([3.0, 4.0, 0.0, 0.0], dtype=torch.float64)
    assert_close(rms_norm(0.01 * v, eps=0.0), v / 2.5)
    for alpha in (0.1, 0.01, 0.0035):
        left = rms_norm(alpha * VALUES, eps=EPS)[0, 0, 0] / rms_norm(VALUES, eps=EPS)[0, 0, 0]
        assert left.item() == pytest.approx(alpha * ((1 + EPS) / (alpha**2 + EPS))**0.5)


@pytest.mark.parametrize("conv_gate", ["input", "output"])
def test_104_both_remedies_let_the_gate_reach_the_convolution(conv_gate):
    assert (paths(0.0035, conv_gate=conv_gate) / paths(1.0, conv_gate=conv_gate))[1] < 0.004


def test_the_remedies_differ_in_what_a_shut_token_takes_from_open_ones():
    assert [_shut_last(g) for g in (None, "input", "output")] == ["all", "others", "nothing"]


def test_111_ten_positions_and_twelve_tokens_without_gap_or_overlap():
    torch.manual_seed(0)
    layer = lab.memory(gate=OpenGate).requires_grad_(False)
    torch.nn.init.uniform_(layer.convolution.weight, -0.5, 0.5)

    def conv(tokens):
        with record() as trace:
            layer(tokens, torch.zeros(1, 20, 1, layer.M))
        return trace["conv"].tensor[0, -1]

    tokens = torch.randint(100, 700, (1, 20))
    places = torch.arange(20)
    heard = [back for back in range(20)
             if not torch.equal(conv(torch.where(places == 19 - back, 50, tokens)), conv(tokens))]
    assert heard == list(range(12))
    pulse = torch.zeros(1, 20, 2, dtype=torch.float64)
    pulse[0, 3] = 1
    one = ShortConvolution(1, 2, K=4, D=3).double().requires_grad_(False)
    torch.nn.init.ones_(one.weight)
    answer = one(pulse[:, :, None], pulse, torch.ones(1, 20, 1))[0, :, 0, 0]
    assert answer.nonzero().flatten().tolist() == [3, 6, 9, 12]


@pytest.mark.parametrize(("D", "expected"), [(2, [9, 0, 3]), (3, [12, 0, 0]), (4, [12, 3, 0])])
def test_111_only_a_dilation_as_long_as_the_n_gram_tiles(D, expected):
    assert coverage(tiling(4, D, 3, tokens=20)).tolist() == expected
    loops = torch.zeros(4, 20, dtype=torch.bool)
    for tap in range(4):
        for n in range(3):
            loops[tap, tap * D + n] = True
    assert torch.equal(tiling(4, D, 3, tokens=20), loops)


def test_step_8_adds_and_a_fresh_layer_adds_the_gated_value_alone():
    torch.manual_seed(0)
    layer = Engram(lab.memory().hashing, M=8, C=2, E=4).double().requires_grad_(False)
    tokens, h = torch.randint(100, 700, (1, 9)), torch.randn(1, 9, 2, 8, dtype=torch.float64)
    with record() as trace:
        out = layer(tokens, h)
    assert_close(out, h + trace["v_gated"].tensor)
    assert trace["conv"].tensor.abs().max() == 0


def test_the_table_holds_every_model_and_seed_and_was_computed_by_this_code():
    trained = [(r["model"], r["seed"]) for r in RESULTS.rows if r["seed"] is not None]
    assert trained == [(model, seed) for model in lab.MODELS for seed in lab.SEEDS]
    assert len(lab.SEEDS) >= 5
    now = json.loads(json.dumps(lab.about()))
    assert {key: RESULTS.about[key] for key in now} == now


def test_the_rival_of_the_table_is_reproduced():
    for column, value in lab.baseline().items():
        if isinstance(value, float):
            assert RESULTS["text", "counts", column].mean == pytest.approx(value, abs=1e-4)


def test_a_memory_is_worth_most_of_the_loss_on_fixed_tokens():
    bare, with_memory = RESULTS["text", "no memory", "fixed"], RESULTS["text", "Engram", "fixed"]
    assert with_memory.high < 0.1 * bare.low
    assert RESULTS["text", "counts", "fixed"].mean < with_memory.low


def test_100_the_hidden_state_in_front_of_layer_two_knows_the_context_and_the_lookup_does_not():
    torch.manual_seed(0)
    model = lab.LanguageModel(len(lab.tokenizer()), 40, memory=lab.memory()).eval()

    def last(place):
        with torch.no_grad(), record() as trace:
            model(torch.tensor([lab.tokenizer().encode(f"Near the {place} Ada says the old bank")]))
        return {name: trace[name].tensor[0, -1] for name in ("x", "e", "v", "h", "alpha")}

    river, market = last("river"), last("market")
    assert [name for name in river if not torch.equal(river[name], market[name])] == ["h", "alpha"]


def paired(column, a, b):
    """a minus b, seed by seed."""
    pairs = zip(RESULTS.values("text", a, column), RESULTS.values("text", b, column), strict=True)
    return interval([x - y for x, y in pairs])


def test_108_a_gate_is_not_what_makes_this_memory_useful():
    engram = RESULTS["text", "Engram", "fixed"]
    for rival in ("α = 1", "α from h alone"):
        assert RESULTS["text", rival, "fixed"].high < engram.low
        assert RESULTS["text", rival, "unusual"].overlaps(RESULTS["text", "Engram", "unusual"])
    gaps = [paired("unusual", "Engram", rival) for rival in ("α = 1", "α from h alone", "α constant")]
    assert all(-0.025 < gap.mean < -0.01 for gap in gaps)
    assert [gap.high < 0 for gap in gaps] == [True, False, True]


def test_92_the_trained_gate_shuts_on_what_is_ambiguous_whichever_sense_is_meant():
    assert RESULTS["text", "Engram", "α fixed"].low > 0.8
    usual, unusual = RESULTS["text", "Engram", "α usual"], RESULTS["text", "Engram", "α unusual"]
    assert max(usual.high, unusual.high) < 0.2
    assert usual.overlaps(unusual)


def test_109_the_loss_is_highest_where_the_gate_is_widest_open_and_lowest_in_the_middle():
    buckets = [RESULTS["text", "Engram", f"loss {i}"] for i in range(5)]
    assert buckets[4].low > buckets[0].high > buckets[0].low > buckets[2].mean
    assert sum(RESULTS["text", "Engram", f"share {i}"].mean for i in range(5)) == pytest.approx(1, abs=1e-3)


def test_104_in_the_trained_model_a_tenth_of_a_nat_passes_by_the_shut_gate():
    assert RESULTS["text", "Engram", "conv kept"].low > 0.94
    gaps = {name: [s - r for s, r in zip(RESULTS.values("text", name, "shut"),
                                         RESULTS.values("text", name, "removed"), strict=True)]
            for name in ("Engram", "remedy: input", "remedy: output")}
    assert interval(gaps["Engram"]).mean == pytest.approx(-0.278, abs=0.001)
    for remedy in ("remedy: input", "remedy: output"):
        assert RESULTS["text", remedy, "conv kept"].high < 0.02
        assert interval(gaps["Engram"]).high < interval(gaps[remedy]).low


def test_104_the_leak_is_small_against_what_the_same_model_loses_without_its_memory():
    kept, lost = (RESULTS["text", "Engram", column].mean for column in ("fixed", "removed"))
    assert round(lost - kept, 1) == 4.2


@pytest.mark.parametrize(("taps", "D", "N", "expected"), [(4, 3, 2, [8, 3, 0]), (4, 2, 2, [8, 0, 0]),
                                                          (4, 1, 3, [6, 0, 4]), (1, 3, 3, [3, 0, 0])])
def test_111_the_presets_of_the_reach(taps, D, N, expected):
    assert coverage(tiling(taps, D, N, taps=5, tokens=24)).tolist() == expected
