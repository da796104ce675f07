"""Claims of lesson 20 about DUET: sentences of the notes and of the lesson, each with its number."""

import json
import math

import pytest
import torch
from forecasters import draw
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.nonstationary import NonstationaryTransformer, StationarizedTransformer
from tsattn_mini.results import duet as bench
from tsattn_mini.results import load
from tsattn_mini.zoo.duet import DUET
from tsattn_mini.zoo.duet.channels import PRICE, ChannelMask, channel_attention
from tsattn_mini.zoo.duet.extractor import TemporalClusters
from tsattn_mini.zoo.duet.router import Router, first, squared_variation

STORED = load("duet")


@pytest.fixture
def in_float64():
    """The default of the lesson, so that the same seeds draw the same weights."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def one_of_four(E):
    """The weights of a row with one of four keys shown, all scores 0, under the soft mask in a head of width E."""
    zero = torch.zeros(1, 4, 1, E, dtype=torch.float64)
    with record() as trace:
        channel_attention(zero, zero, zero, torch.eye(4)[None], soft=True)
    return trace["A"].tensor[0, 0, 0]


@pytest.mark.parametrize(("E", "odds", "row"), [(2, 8.5e-8, (1.0, 0.0)), (8, 0.00029, (0.999, 0.0003)),
                                                (64, 0.056, (0.856, 0.048)), (512, 0.361, (0.480, 0.173))])
def test_claim_three_masks_a_hidden_variable_keeps_odds_that_grow_with_the_head(E, odds, row):
    A = one_of_four(E)
    assert (A[1] / A[0]).item() == pytest.approx(odds, rel=0.01)
    assert (A[1] / A[0]).item() == pytest.approx(math.exp(PRICE / math.sqrt(E)), rel=1e-6)
    assert A.tolist() == pytest.approx([row[0], *[row[1]] * 3], abs=6e-4)


def test_a_quarter_of_a_row_of_eight_and_nearly_all_of_one_of_321_goes_to_masked_variables():
    odds = math.exp(PRICE / 8)
    assert 7 * odds / (1 + 7 * odds) == pytest.approx(0.28, abs=5e-3)
    assert 320 * odds / (1 + 320 * odds) == pytest.approx(0.95, abs=5e-3)


def test_claim_two_calls_of_the_released_evaluation_differ_by_042():
    """Mean absolute difference at the released size (96 steps, 7 variables, width 512), two sets of weights."""
    gaps = []
    for seed in range(2):
        torch.manual_seed(seed)
        net, x = DUET(96, 96, 7, 512, 8, 512, 2, k=1, **bench.RELEASED).eval(), torch.randn(8, 96, 7)
        with torch.no_grad():
            gaps.append((net(x) - net(x)).abs().mean().item())
            net.sample_in_eval = False
            assert torch.equal(net(x), net(x))
    assert all(0.03 < gap < 0.05 for gap in gaps)


def test_claim_every_channel_has_one_partner_at_99_percent_even_if_all_are_unrelated():
    torch.manual_seed(0)
    with record() as trace:
        ChannelMask(24)(torch.randn(50, 6, 24))
    p = trace["p"].tensor
    partners = (p - 0.99 * torch.eye(6)).amax(-1)
    assert_close(partners, torch.full((50, 6), 0.99))
    assert (p[0] - p[0].T).abs().max() > 0.3


@pytest.mark.parametrize(("p", "kept"), [(0.1, 0.0122), (0.3, 0.1552), (0.5, 0.5), (0.9, 0.9878), (0.99, 0.9999)])
def test_the_released_draw_squares_the_odds_so_a_link_to_itself_is_cut_once_in_ten_thousand(p, kept):
    g, n = torch.Generator().manual_seed(0), 400_000
    e = torch.empty(n, 2, dtype=torch.float64).exponential_(generator=g)
    logit = math.log(p / (1 - p))
    share = ((logit - e[:, 0].log()) > (-logit - e[:, 1].log())).double().mean().item()
    assert share == pytest.approx(kept, abs=4 * math.sqrt(kept * (1 - kept) / n) + 5e-5)
    mask = ChannelMask(4, sharpened=True)
    with record() as trace:
        mask.links(torch.full((1, 2, 2), p, dtype=torch.float64))
    assert trace["chance"].tensor[0, 0, 0].item() == pytest.approx(kept, abs=6e-5)


def changed(x, moved, k=2):
    shares = []
    for seed in range(10):
        torch.manual_seed(seed)
        net = Router(x.shape[-1], N=4, k=k)
        shares.append((first(net.scores(x), k) != first(net.scores(moved), k)).any(-1).double().mean().item())
    return sum(shares) / 10


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize(("series", "both", "level"), [("macro", 0.05, 0.05), ("planted", 0.597, 0.575),
                                                      ("bikes", 0.648, 0.638)])
def test_claim_rows_that_change_experts_under_3x_plus_7_depend_on_the_series_and_3x_changes_none(series, both, level):
    x = bench.task(series).test.past.mT[::17].double()
    assert changed(x, 3 * x) == 0
    assert [changed(x, 3 * x + 7), changed(x, x + 2)] == pytest.approx([both, level], abs=6e-4)


def test_the_router_by_hand():
    router = Router(T=3, N=3, k=2, hidden=2).double().requires_grad_(False)
    router.scores.up.weight.copy_(torch.tensor([[1.0, 1, 1], [-1, 0, 1]]))
    router.scores.down.weight.copy_(torch.tensor([[0.5, 0.0], [0.0, 1.0], [-0.25, 1.5]]))
    x = torch.tensor([1.0, 2, 3], dtype=torch.float64)
    for window, scores, gates in ((x, (3, 2, 1.5), (0.731, 0.269, 0)), (3 * x, (9, 6, 4.5), (0.953, 0.047, 0)),
                                  (x - 4, (0, 2, 3), (0, 0.269, 0.731)), (3 * x + 7, (19.5, 6, -0.75), (1, 0, 0))):
        with record() as trace:
            got, _ = router(window[None, None])
        assert trace["scores"].tensor[0, 0].tolist() == pytest.approx(scores)
        assert got[0, 0].tolist() == pytest.approx(gates, abs=6e-4)


def test_one_expert_teaches_the_router_nothing_and_favourites_cost():
    x, found = draw(1, 12, 6), []
    for k in (1, 2):
        torch.manual_seed(0)
        net = TemporalClusters(12, 6, 8, N=4, k=k, hidden=8, kernel=3).double()
        net(x)[0].square().sum().backward()
        found.append(net.router.scores.up.weight.grad.abs().max().item())
    assert found[0] < 1e-12
    assert found[1] > 0.1
    prices = [squared_variation(torch.tensor(s)).item() for s in ([2.0, 2, 2, 2], [4.0, 2, 1, 1], [8.0, 0, 0, 0])]
    assert prices == pytest.approx([0, 0.5, 4])


@pytest.mark.usefixtures("in_float64")
def test_leaving_out_a_learned_matrix_changes_the_experts_of_a_fifth_of_the_windows():
    torch.manual_seed(20)
    scores = Router(T=12, N=4, k=2, hidden=8).requires_grad_(False).scores
    torch.manual_seed(1)
    W_h, x = torch.eye(4) + 0.3 * torch.randn(4, 4), torch.randn(200, 6, 12)
    lost = (first(scores(x), 2) != first(scores(x) @ W_h, 2)).any(-1).double().mean().item()
    assert lost == pytest.approx(0.188, abs=1e-3)


@pytest.mark.usefixtures("in_float64")
def test_a_token_is_a_variable_and_experts_see_no_level_and_no_scale():
    torch.manual_seed(20)
    net = TemporalClusters(12, 5, 8, N=4, k=2, hidden=8, kernel=5)
    x = torch.randn(2, 12, 5) + 3
    with record() as a:
        features, *_ = net(x)
    with record() as b:
        net(3 * x + 7)
    assert features.shape == (2, 5, 8)
    assert (a["x_affine"].tensor - b["x_affine"].tensor).abs().max() < 1e-4
    assert (a["router/gates"].tensor - b["router/gates"].tensor).abs().max().item() == pytest.approx(0.308, abs=6e-4)


@pytest.mark.usefixtures("in_float64")
def test_the_load_of_the_lesson_is_what_drawing_again_gives_and_the_released_one_is_not():
    torch.manual_seed(20)
    router = Router(T=12, N=4, k=2, hidden=8)
    x, noise = torch.randn(1, 6, 12), torch.randn(1, 6, 4)
    with record() as trace:
        router(x, noise)
    spread, noisy = trace["spread"].tensor, trace["noisy"].tensor
    often = torch.zeros(4)
    for n in range(4):
        again = noisy.expand(20_000, 6, 4).clone()
        again[..., n] = trace["scores"].tensor[..., n] + torch.randn(20_000, 6) * spread[..., n]
        often[n] = first(again, 2)[..., n].double().mean(0).sum()
    old = Router(T=12, N=4, k=2, hidden=8, one_scale=False)
    old.load_state_dict(router.state_dict())
    with record() as released:
        old(x, noise)
    assert (trace["load"].tensor - often).abs().max() < 0.03
    assert (released["load"].tensor - often).abs().max() > 0.3


def test_spectra_by_hand_forget_when_and_remember_the_level():
    series = torch.tensor([[1.0, 0, 0, 0], [0, 0, 1, 0], [1, 0, -1, 0], [3, 2, 2, 2]], dtype=torch.float64)
    mask = ChannelMask(4).double().requires_grad_(False)
    mask.A.copy_(torch.eye(3))
    with record() as trace:
        mask(series[None])
    assert_close(trace["distance"].tensor[0], torch.tensor(
        [[0.0, 0, 3, 64], [0, 0, 3, 64], [3, 3, 0, 83], [64, 64, 83, 0]], dtype=torch.float64))


def test_parts_and_their_parameters():
    net = DUET(12, 4, 5, 8, 4, 16, 2, hidden=8, kernel=5)
    parts = (net.clusters.router, net.clusters.experts, net.clusters.revin, net.mask, net.encoder, net.head)
    assert [sum(p.numel() for p in part.parameters()) for part in parts] == [272, 832, 10, 49, 1216, 36]


def test_the_gradient_through_the_statistics_is_worth_nothing():
    grads = []
    for detach in (False, True):
        torch.manual_seed(0)
        net = DUET(12, 4, 5, 8, 2, 16, 1, hidden=8, kernel=5, detach=detach).double().eval()
        net(draw(2, 12, 5)).square().sum().backward()
        grads.append(torch.cat([p.grad.flatten() for p in net.parameters() if p.grad is not None]))
    assert torch.equal(*grads)


@pytest.mark.usefixtures("in_float64")
def test_claim_x_to_3x_plus_7_moves_the_stationarized_forecast_along_and_duets_not():
    task = bench.task("planted")
    x = task.test.past[::11].double()
    sizes = {**task.sizes, "marks": 0, "M": 32, "H": 4, "d_ff": 64}
    inverted = {name: n for name, n in sizes.items() if name != "label_len"}
    off = []
    for build in (lambda: StationarizedTransformer(**sizes), lambda: NonstationaryTransformer(
            **sizes, p_hidden=(32, 32)), lambda: DUET(**inverted, hidden=32)):
        torch.manual_seed(0)
        net = build().double().eval()
        with torch.no_grad():
            off.append((net(3 * x + 7) - 3 * net(x) - 7).abs().max().item() / 3)
    assert off[0] < 1e-4
    assert off[1:] == pytest.approx([0.079, 1.843], abs=1e-3)
    net.clusters.routed = lambda x: ((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)).mT  # exercise 2
    with torch.no_grad():
        scale, both = ((net(3 * x + b) - 3 * net(x) - b).abs().max().item() / 3 for b in (0, 7))
    assert scale < 1e-4
    assert both == pytest.approx(0.468, abs=1e-3)


def test_the_levels_and_scales_of_the_bikes_differ_from_window_to_window():
    rentals = bench.task("bikes").x[:, 0].double().unfold(0, 48, 24)
    level, scale = rentals.mean(1), rentals.std(1)
    assert [level.min().item(), level.max().item()] == pytest.approx([-0.888, 0.742], abs=1e-3)
    assert [scale.min().item(), scale.max().item()] == pytest.approx([0.201, 1.389], abs=1e-3)


def test_the_stored_table_holds_every_kind_series_and_seed_and_was_computed_by_this_code():
    assert [(r["series"], r["model"], r["seed"]) for r in STORED.rows] == [
        (s, k, seed) for s in bench.CUTS for k in bench.KINDS for seed in bench.SEEDS]
    now = json.loads(json.dumps(bench.about()))
    assert {name: STORED.about[name] for name in now} == now


def test_links_of_an_untrained_mask_already_prefer_the_planted_group():
    torch.manual_seed(0)
    share = bench.kept(bench.build("planted", "links").eval(), bench.task("planted").test)
    groups = torch.block_diag(torch.ones(3, 3), torch.ones(3, 3))
    inside, between = share[(groups - torch.eye(6)) == 1].mean(), share[groups == 0].mean()
    assert inside > 2 * between
    assert bench.kept(bench.build("planted", "own"), bench.task("planted").test).sum() == 6
