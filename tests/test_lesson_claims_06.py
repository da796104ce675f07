"""Claims of lesson 06 about the whole chain: sentences of the notes, each true or false by a number."""

import pytest
import torch

from tsattn_mini import record
from tsattn_mini.blocks import Transformer
from tsattn_mini.embedding import CalendarEmbedding, DataEmbedding
from tsattn_mini.nonstationary import NonstationaryTransformer, StationarizedTransformer, destationarize

SIZES = {"M": 8, "H": 4, "d_ff": 16, "p_hidden": (16, 16)}
X = (torch.arange(120, dtype=torch.float64).reshape(2, 12, 5) * 0.7).sin()
MARKS = torch.linspace(-0.5, 0.5, 96, dtype=torch.float64).reshape(2, 12, 4)
DEC_MARKS = torch.linspace(-0.5, 0.5, 80, dtype=torch.float64).reshape(2, 10, 4)


def forecaster(label_len=6, pred_len=4, **more):
    torch.manual_seed(0)
    return NonstationaryTransformer(12, label_len, pred_len, 5, **SIZES, **more).double()


def traced(model, *inputs):
    with torch.no_grad(), record() as trace:
        model(*inputs)
    return trace


CHAIN = {
    "x": (2, 12, 5), "x_raw": (2, 12, 5), "mu": (2, 1, 5), "x_centred": (2, 12, 5), "sigma": (2, 1, 5),
    "x_norm": (2, 12, 5), "log_tau": (2, 1), "tau": (2, 1), "delta": (2, 12), "x_dec": (2, 10, 5),
    "enc_embedding/h": (2, 12, 8), "enc_out": (2, 12, 8), "dec_embedding/h": (2, 10, 8), "dec0/norm1": (2, 10, 8),
    "dec0/norm2": (2, 10, 8), "dec0/norm3": (2, 10, 8), "dec_out": (2, 10, 5), "y": (2, 10, 5), "forecast": (2, 4, 5)}


def test_the_nineteen_steps_have_the_shapes_of_the_notes_in_their_order():
    picked = traced(forecaster(), X, MARKS, None, DEC_MARKS).pick(*CHAIN)
    assert {name: s.shape for name, s in picked.items()} == CHAIN


def test_of_x_dec_only_the_shape_is_used():
    model, noise = forecaster(), 100 * torch.randn(2, 10, 5, dtype=torch.float64)
    quiet, loud, none = (model(X, MARKS, x_dec, DEC_MARKS) for x_dec in (torch.zeros_like(noise), noise, None))
    assert (loud - quiet).abs().max() == 0
    assert (none - quiet).abs().max() == 0


def test_the_decoder_starts_from_the_normalised_input_not_from_refined_states():
    trace = traced(forecaster(), X, MARKS, None, DEC_MARKS)
    start = trace["x_dec"].tensor
    assert torch.equal(start[:, :6], trace["x_norm"].tensor[:, -6:])
    assert bool((start[:, 6:] == 0).all())
    assert "enc_out" not in trace["x_dec"].sources


def test_no_label_means_a_decoder_of_placeholders_where_the_released_slice_takes_everything():
    assert X[:, -0:].shape[1] + 4 == 16
    assert traced(forecaster(label_len=0, marks=0), X)["x_dec"].shape == (2, 4, 5)


def test_the_middle_term_of_the_embedding_is_a_matrix_unless_the_marks_are_calendar_numbers():
    plain = DataEmbedding(5, 8)
    assert isinstance(plain.time, torch.nn.Linear)
    assert plain.time.bias is None
    assert isinstance(DataEmbedding(5, 8, calendar="fixed").time, CalendarEmbedding)
    names = traced(forecaster(marks=0), X)
    assert "enc_embedding/time" not in names
    assert "enc_embedding/token" in names


def test_both_encoder_layers_get_the_same_tau_and_delta():
    trace = traced(forecaster(), X, MARKS, None, DEC_MARKS)
    for layer in ("enc0", "enc1", "dec0/cross"):
        assert torch.equal(trace[f"{layer}/delta_4d"].tensor[:, 0, 0], trace["delta"].tensor)
        assert torch.equal(trace[f"{layer}/tau_4d"].tensor[:, 0, 0], trace["tau"].tensor)


@pytest.mark.parametrize("pred_len", [4, 6])
def test_decoder_self_attention_gets_tau_and_no_delta_even_where_the_shapes_agree(pred_len):
    trace = traced(forecaster(pred_len=pred_len, marks=0), X)
    assert trace["dec0/self/A"].shape == (2, 4, 6 + pred_len, 6 + pred_len)
    assert not trace["dec0/self/delta_4d"].tensor.any()
    assert torch.equal(trace["dec0/self/tau_4d"].tensor[:, 0, 0], trace["tau"].tensor)


def test_a_layer_norm_hides_the_scale_of_the_prefix_from_cross_attention():
    torch.manual_seed(0)
    model = Transformer(12, 6, 4, 5, M=8, H=4, d_ff=16, marks=0).double()
    for x in (X, 5000 + 300 * X):
        trace = traced(model, x)
        for name in ("dec0/norm1", "enc_out"):
            assert trace[name].tensor.square().mean().sqrt() == pytest.approx(1, abs=1e-3)


def test_all_rows_are_restored_and_the_loss_sees_the_last_ones():
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    assert destationarize(0.8 * one, 5 * one, 3 * one).item() == pytest.approx(7.4)
    probe = torch.zeros(2, 10, 5, dtype=torch.float64, requires_grad=True)
    mu, sigma = X.mean(1, keepdim=True), X.std(1, keepdim=True)
    forecaster().transformer.future(destationarize(probe, mu, sigma)).sum().backward()
    assert probe.grad.abs().sum((0, 2)).ne(0).int().tolist() == [0] * 6 + [1] * 4


def test_without_tau_and_delta_the_forecast_follows_the_units_and_with_them_it_does_not():
    steered = forecaster(marks=0)
    plain = StationarizedTransformer(12, 6, 4, 5, marks=0, **{k: SIZES[k] for k in ("M", "H", "d_ff")}).double()
    plain.transformer.load_state_dict(steered.transformer.state_dict())
    gaps = [(f(3 * X + 7) - (3 * f(X) + 7)).abs().max().item() for f in (plain, steered)]
    assert gaps[0] < 1e-3 < 1e-2 < gaps[1]
