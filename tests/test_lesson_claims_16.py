"""What lesson 16 says of Informer, claim by claim, with the numbers it prints."""

import pytest
import torch
from forecasters import traced

from tsattn_mini.attention import causal, scaled_dot_product
from tsattn_mini.zoo.informer import Distilling, Informer, ProbSparse, prob_sparse, sample_keys, sample_size, sparsity
from tsattn_mini.zoo.prob_sparse import lazy_values, view_without_transpose

SIZES = {"seq_len": 12, "label_len": 6, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16}


def keys(L, S, U, seed=0):
    return sample_keys(L, S, U, torch.Generator().manual_seed(seed))


@pytest.fixture
def long():
    """Queries, keys and values of 96 steps, as the lesson draws them."""
    torch.manual_seed(16)
    torch.randn(3, 8, 2, dtype=torch.float64)
    return torch.randn(3, 2, 96, 4, 8, dtype=torch.float64)


@pytest.fixture
def window():
    """The lesson's window with its marks; the lesson computes in float64 throughout."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    Informer(**SIZES, factor=1)
    x, marks, later = (torch.randn(2, *shape) for shape in ((12, 5), (12, 4), (10, 4)))
    yield 2 * x + 3, marks, later
    torch.set_default_dtype(torch.float32)


def net(**switches):
    torch.manual_seed(0)
    return Informer(**SIZES, **switches).eval()


def test_claim_38_at_toy_size_prob_sparse_is_full_attention_and_at_96_steps_74_per_cent_are_the_mean(long):
    q, k, v = long
    assert [sample_size(5, L) for L in (12, 24, 96, 720)] == [12, 20, 25, 35]
    toy = [x[:, :12] for x in long]
    assert torch.equal(prob_sparse(*toy, keys(12, 12, 12), u=sample_size(5, 12)), scaled_dot_product(*toy))
    out = prob_sparse(q, k, v, keys(96, 96, 25), u=25)
    lazy = (out == v.mean(1, keepdim=True)).all(-1).double().mean()
    assert lazy == 71 / 96
    assert f"{lazy:.3f}" == "0.740"


def test_claim_38_the_problem_is_quadratic_cost():
    def products(L):
        return 2 * sample_size(5, L) * L

    assert (products(720), 720**2) == (50_400, 518_400)
    assert (products(12), 12**2) == (288, 144)
    assert (products(96), 96**2) == (4800, 9216)
    assert max(L for L in range(1, 1000) if products(L) >= L**2) == 40


def test_claim_39_the_paper_does_not_normalise_and_the_short_term_port_does(window):
    x, marks, later = window

    def error(**switches):
        model = net(**switches)
        with torch.no_grad():
            want = 3 * model(x, marks, None, later) + 7
            return float((model(3 * x + 7, marks, None, later) - want).abs().max() / want.std())

    assert round(error(), 3) == 4.605
    assert error(normalise=True) < 1e-4
    assert round(error(normalise=True, released_start=True), 3) == 1.866
    names = [[n for n in traced(net(normalise=flag), x, marks, None, later) if n in ("mu", "sigma")]
             for flag in (False, True)]
    assert names == [[], ["mu", "sigma"]]


def test_claim_40_nothing_is_taken_off_so_nothing_is_lost(window):
    """A normalising model cannot tell x from 3x + 7 inside; this one can."""
    x, marks, later = window
    for normalise in (False, True):
        a, b = (traced(net(normalise=normalise), y, marks, None, later)["enc_out"].tensor for y in (x, 3 * x + 7))
        assert ((a - b).abs().max() > 0.1) == (not normalise)


def test_claim_41_three_new_parts(window):
    model = net(factor=1)
    parts = [type(module).__name__ for module in model.modules()]
    assert [parts.count(name) for name in ("ProbSparse", "Distilling", "Decoder")] == [3, 1, 1]
    calls = []
    model.transformer.decoder.register_forward_hook(lambda *_: calls.append(1))
    x, marks, later = window
    assert model(x, marks, None, later).shape == (2, 4, 5)
    assert calls == [1]


def test_a_token_is_a_time_step_whatever_the_number_of_variables(window):
    x, marks, later = window
    trace = traced(net(factor=1), x, marks, None, later)
    shapes = {name: trace[name].shape for name in ("x", "enc_embedding/h", "enc0/M_top", "enc_out", "forecast")}
    assert shapes == {"x": (2, 12, 5), "enc_embedding/h": (2, 12, 8), "enc0/M_top": (2, 4, 3), "enc_out": (2, 6, 8),
                      "forecast": (2, 4, 5)}


def test_the_first_numbers_of_the_lesson():
    scores = torch.tensor([[0.0, 0, 4, 0, 0], [1.0, 1, 1.2, 1, 1]], dtype=torch.float64)
    values = torch.tensor([1.0, 2, 3, 4, 10], dtype=torch.float64)
    assert (scores.max(-1).values - scores.mean(-1)).round(decimals=3).tolist() == [3.2, 0.16]
    assert round((scores.softmax(-1) @ values)[1].item(), 3) == 3.958
    assert values.mean() == 4
    measured = sparsity(torch.ones(1, 1, 1, 1).double(), scores[1].reshape(1, 5, 1, 1), torch.arange(5)[None])
    torch.testing.assert_close(measured, torch.full((1, 1, 1), 0.16, dtype=torch.float64))


def test_the_sample_finds_some_of_the_peaked_rows_and_another_draw_others(long):
    """Random also in evaluation mode, where the released code draws anew."""
    q, k, v = long
    best = sparsity(q, k, torch.arange(96).expand(96, 96)).topk(25).indices
    found = sparsity(q, k, keys(96, 96, 25)).topk(25).indices
    hits = (best[..., None] == found[..., None, :]).any(-1).double().mean()
    assert round(hits.item(), 3) == 0.590
    one, two = (prob_sparse(q, k, v, keys(96, 96, 25, seed), u=25) for seed in (0, 1))
    assert round((one != two).any(-1).double().mean().item(), 3) == 0.221
    gaps = [(one - two).abs().max()]
    one, two = (prob_sparse(5 * q, k, v, keys(96, 96, 25, seed), u=25) for seed in (0, 1))
    gaps.append((one - two).abs().max())
    assert [round(float(gap), 3) for gap in gaps] == [1.119, 2.535]
    assert torch.equal(sparsity(5 * q, k, keys(96, 96, 25)).topk(25).indices, found)


def test_masked_lazy_rows_get_a_sum_that_grows_with_the_root_of_the_position(long):
    """The ledger's draw grows from 3.1 to 25.1; the lesson's from 2.439 to 26.650."""
    v = long[2]
    summed, mean = (lazy_values(v, 96, causal(96), released_sum=flag).norm(dim=-1).mean((0, 1))
                    for flag in (True, False))
    assert (round(summed[0].item(), 3), round(summed[95].item(), 3)) == (2.439, 26.650)
    torch.testing.assert_close(summed, mean * torch.arange(1, 97))
    assert mean[95] < 0.3
    chosen = scaled_dot_product(*long, causal(96)).norm(dim=-1).mean((0, 2))
    assert chosen[[0, 95]].tolist() == pytest.approx([2.439, 0.583], abs=6e-4)
    many = lazy_values(torch.randn(400, 96, 1, 8, dtype=torch.float64), 96, causal(96), released_sum=True)
    growth = many.norm(dim=-1).mean((0, 1))[95] / many.norm(dim=-1).mean((0, 1))[0]
    assert abs(growth / 96**0.5 - 1) < 0.1


def test_a_later_row_pushes_earlier_ones_out_unless_all_are_chosen(long):
    q, k, v = long
    louder = q.clone()
    louder[:, -1] *= 100
    moved = []
    for u in (25, 96):
        a, b = (prob_sparse(x, k, v, keys(96, 96, 25), u=u, mask=causal(96)) for x in (q, louder))
        moved.append(int((a[:, :-1] != b[:, :-1]).any(-1).sum()))
    assert moved == [5, 0]


def test_the_view_lets_position_0_see_inputs_0_to_3_and_position_1_see_0_to_7():
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 12, 4, 2, dtype=torch.float64)
    newest = {}
    for released in (False, True):
        x = v.clone().requires_grad_()
        out = prob_sparse(q, k, x, keys(12, 12, 12), u=12, mask=causal(12), released_view=released)
        reach = [torch.autograd.grad(out[:, t].sum(), x, retain_graph=True)[0].abs().sum((0, 2, 3)) for t in range(3)]
        newest[released] = [int(g.nonzero().max()) for g in reach]
        assert torch.equal(out.detach(), scaled_dot_product(q, k, v, causal(12))) != released
    assert newest == {False: [0, 1, 2], True: [3, 7, 11]}
    context = torch.tensor([[1.0, 2, 3], [10, 20, 30]]).reshape(1, 2, 3, 1)
    assert view_without_transpose(context).reshape(3, 2).tolist() == [[1, 2], [3, 10], [20, 30]]


def test_distilling_halves_the_length_between_the_layers():
    ours, released = Distilling(2), Distilling(2, released_padding=True)
    assert [ours.length(ours.length(L)) for L in (12, 96, 720)] == [3, 24, 180]
    assert [released.length(L) for L in (12, 96)] == [7, 49]
    assert [m.index_sample.shape[0] for m in net(factor=1).modules() if isinstance(m, ProbSparse)] == [12, 6, 10]
