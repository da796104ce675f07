"""What the explorers of the lessons answer after a guess is what their functions compute."""

from functools import partial

import pytest
import torch
from staged import made_by

from tsattn_mini.predictions import ASKED

CHECKS = {}
near = partial(pytest.approx, abs=6e-3)  # of numbers said with two digits


def of(lesson, id):
    """The decorated function checks the answers of the explorer `id`. `see(label)` are its numbers at a preset."""
    def keep(check):
        CHECKS[id] = lesson, check
        return check
    return keep


@pytest.fixture(scope="module")
def made(request):
    """The explorers of a lesson that are checked; its cells run once for all of them."""
    with made_by(request.param, {id for id, (lesson, _) in CHECKS.items() if lesson == request.param}) as made:
        yield made


def test_every_explorer_that_asks_is_checked():
    assert CHECKS.keys() == ASKED.keys() - {"tau-delta-width", "kgc"}


@of("01_attention_by_hand", "five-scores-compete")
def compete(see):
    assert float(see("One leads by 1")["A"][0]) == near(0.40)
    torch.testing.assert_close(see("Everyone plus 5")["A"], see()["A"])
    assert float(see()["A"].max()) == near(0.56)


@of("01_attention_by_hand", "attention-four-by-four")
def attend(see):
    assert see("Nobody asks")["A"][0].tolist() == [0.25] * 4
    assert float(see()["A"][0, 0]) == near(0.70)
    assert see("Twin keys")["A"][0, :2].tolist() == near([0.46, 0.46])
    assert see("Causal")["A"][0].tolist() == [1, 0, 0, 0]


@of("02_handles", "six-handles-twelve-scores")
def handles(see):
    for label in ("No prior at all in row 2", "τ = 3"):
        assert see(label)["A"][2].tolist() == near([0.25] * 4)


@of("03_stationarize", "what-a-window-remembers")
def remembers(see):
    whole, thousand = see()["x_norm"][0], see("A thousand times")["x_norm"]
    torch.testing.assert_close(thousand[1], thousand[0], atol=1e-5, rtol=0)
    outlier = see("One outlier")
    others = torch.cat([outlier["x_norm"][1, :3], outlier["x_norm"][1, 4:]])
    assert [float(others.min()), float(others.max())] == near([-0.43, -0.10])
    assert float(outlier["x"][1, 3]) == pytest.approx(161, abs=0.5)
    assert float(outlier["sigma"][1] / see()["sigma"][1]) == pytest.approx(10, abs=0.5)
    torch.testing.assert_close(see("Tiny: ε shows")["x_norm"][1], 0.67 * whole, atol=6e-3, rtol=0)


@of("04_projector", "five-columns-one-temperature")
def project(see):
    assert [float(see(label)["tau"]) for label in (None, "Swapped")] == pytest.approx([1.004, 1.048], abs=6e-4)
    flat, key = see("Times 100"), see("Collapse: one key")
    assert [float(flat["tau"]), float(flat["log_tau"])] == [pytest.approx(0.004, abs=5e-4),
                                                            pytest.approx(-5.5, abs=0.05)]
    assert flat["A"].tolist() == near([1 / 12] * 12)
    assert float(key["A"].max()) == 1
    assert [float(x["log_tau"]) for x in (key, see("Collapse: the mean"))] == pytest.approx([526, -565], abs=0.6)


@of("06_forecast_chain", "forecast-chain")
def chain(see):
    first, ten, five = see(), see("Ten times"), see("Level 5")
    torch.testing.assert_close(ten["x_norm"], first["x_norm"], atol=1e-3, rtol=0)
    assert not torch.equal(ten["tau"], first["tau"])
    assert float(ten["y"].std() / first["y"].std()) == pytest.approx(10, rel=0.2)
    torch.testing.assert_close(five["sigma"], first["sigma"], atol=1e-5, rtol=0)
    assert abs(float(five["tau"] - first["tau"])) > 1e-3


@of("08_prior", "a-driver-and-a-stranger")
def driver(see):
    late = see("One hour late")
    assert [float(see()["r"][0]), float(late["r"][0])] == near([0.87, 0.02])
    assert float(late["r"][0]) < float(late["r"][1])
    assert float(late["F"][0]) == pytest.approx(119, abs=0.6)
    r = [float(see(label)["r"][1]) for label in ("Common trend", "Common clock", "Clocks six hours apart")]
    assert r == near([0.70, 0.58, 0.01])


@of("08_prior", "four-readings-of-norm")
def norm(see):
    assert see("One perfect")["A"][:2].tolist() == near([0.48, 0.17])
    assert float(see("Only noise")["S_norm"].max()) == 1


@of("10_flow_and_source", "mean-or-median")
def median(see):
    assert see("Median, .7")["arrivals"].tolist() == near([0.7, 0.9])
    assert see("One step, mean")["particles"][:, -1].tolist() == near([0.4] * 20)


@of("10_flow_and_source", "particles-on-their-way")
def fly(see):
    assert [float(see(label)["end"][0]) for label in ("Error, narrow", "Error, wide")] == near([2.56, 0.26])
    assert float(see("One step")["end"][1]) == pytest.approx(0, abs=1e-6)


@of("11_guidance", "turn-omega")
def guide(see):
    lean = see("γ = 1.4")
    assert lean["end"].tolist() == near([1.37, 0.14])
    assert float(lean["score"][0]) > float(see()["score"][0])
    assert [float(see(label)["score"][0]) for label in ("Dirt, ω = 1", "Dirt, ω = .4")] == near([0.78, 0.30])
    assert see("Below zero")["end"].tolist() == near([-1.01, 1.55])


@of("13_lookup", "from-a-sentence-to-rows")
def look_up(see):
    assert see("Polish, polish")["ids"][1, :4].tolist() == [154] * 4
    assert see("Three rows a head")["pairs"][0].tolist() == [13, 9, 3]
    assert see("Three rows a head")["primes"][0].tolist() == [3, 5]


@of("14_gate", "angle-gate")
def swing(see):
    labels = ("Unrelated", "3° off, wide", "Opposite, width 4")
    assert [float(see(label)["gate"][0]) for label in labels] == near([0.50, 0.84, 0.12])
    assert float(see("Opposite, width 4")["score"]) == -2


@of("15_write_back", "which-tokens-the-convolution-reads")
def reach(see):
    assert see()["coverage"].tolist() == [12, 0, 0]
    assert see("Dilation 4: gaps")["coverage"].tolist() == [12, 3, 0]
    assert see("Dilation 2: overlaps")["coverage"].tolist() == [9, 0, 3]


@of("15_write_back", "what-a-small-α-leaves-of-both-paths")
def both(see):
    assert see("The released floor")["kept"].tolist() == near([0.0035, 0.72])
    assert float(see("Remedy at the output")["kept"][1]) == pytest.approx(0.009, abs=6e-4)


@of("16_informer", "who-asks")
def choose(see):
    asks = lambda label=None: see(label)["chosen"].nonzero().flatten().tolist()  # noqa: E731
    assert (asks(), asks("Another draw"), asks("All alike")) == ([0, 2, 5], [0, 1, 5], [0, 1, 2])
    torch.testing.assert_close(see("All alike")["A"], torch.full((8, 8), 1 / 8), check_dtype=False)


@of("16_informer", "heads-as-time")
def heads(see):
    assert (see("Released")["reach"][0] > 0).tolist() == [True] * 4 + [False] * 4
    assert (see()["reach"][0] > 0).tolist() == [True] + [False] * 7


@of("18_fedformer", "one-wave-three-kept-bins")
def wave(see):
    assert see("As released")["loudest"].tolist() == [9, 1]
    assert float(see("Not kept")["waves"][1].abs().max()) < 1e-5


@of("18_fedformer", "what-a-few-bins-keep-of-a-week")
def week(see):
    labels = ("Lowest 8", "Lowest 7", "Random 64", "Lowest 22")
    assert [float(see(label)["share"]) for label in labels] == near([0.57, 0.03, 0.78, 0.86])


@of("19_inverted", "variables-ask")
def variables(see):
    A, turned = see()["enc0/A"], [3, 1, 2, 0, 4, 5, 6, 7]
    torch.testing.assert_close(see("Rentals × 3 + 2")["enc0/A"], A, atol=1e-3, rtol=0)
    torch.testing.assert_close(see("Swap")["enc0/A"], A[:, turned][..., turned], atol=1e-5, rtol=0)


@of("19_inverted", "who-hears")
def hear(see):
    up, start, traded = see("Row 0 up by 2"), see("The start"), see("Drivers traded")
    assert float(up["moved_enc0"].max()) == float(up["moved_enc1"].max()) == 0
    torch.testing.assert_close(traded["forecast"], start["forecast"])
    torch.testing.assert_close(traded["enc0/cross/A"], start["enc0/cross/A"].flip(0))


@of("21_compare", "who-follows")
def follow(see):
    assert (see("Ten times")["gap"] < 1e-3).nonzero().flatten().tolist() == [5, 6]
    assert float(see("DUET")["gap"][7]) > 0.01


@pytest.mark.parametrize(("made", "id"), [(lesson, id) for id, (lesson, _) in CHECKS.items()], indirect=["made"],
                         scope="module")
def test_what_is_answered_is_computed(made, id):
    ex = made[id]
    first, seen = dict(ex._now), set()

    def see(label=None):
        seen.add(label)
        ex.set(**(ex._presets[label] if label else first))
        return {name: x.squeeze() for name, x in ex.values.items()}

    CHECKS[id][1](see)
    assert seen >= ASKED[id].keys()
