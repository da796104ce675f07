"""Which model a state dict belongs to, what its weights tell, and what a released run says of itself."""

import json
from argparse import Namespace
from keyword import iskeyword

import pytest
import released
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from test_checkpoint_round_trip import KINDS, golden

from tsattn_mini.official import configuration, load_checkpoint, settings
from tsattn_mini.official.recognising import MARKS, RELEASED, recognise

STATES = {name: golden(name)[0] for name in KINDS}
SIZES = {"label_len": 3, "pred_len": 5, "n_heads": 2}
NAME = "long_term_forecast_ETTh1_96_96_Informer_ETTh1_ftM_sl96_ll48_pl96_dm512_nh8_el2_dl1_df2048"
INFORMER = {"task_name": "long_term_forecast", "features": "M", "seq_len": 96, "label_len": 48, "pred_len": 96,
            "d_model": 512, "n_heads": 8, "e_layers": 2, "d_layers": 1, "d_ff": 2048, "model": "Informer"}


# Which model


@hypothesis_settings(deadline=None, max_examples=150)
@given(name=st.sampled_from(sorted(KINDS)), words=st.lists(st.sampled_from(["module.", "model.", "_orig_mod.", "net."]),
                                                            max_size=3), more=st.booleans())
def test_a_model_is_known_by_its_names_whatever_stands_in_front_of_them(name, words, more):
    front = "".join(words)
    state = {front + key: t for key, t in STATES[name].items()}
    if more and front.replace("_orig_mod.", ""):
        state["criterion.weight"] = torch.ones(1)
    model, own, left = recognise(state, None, None)
    assert model == KINDS[name][0]
    assert own == {key: state[front + key] for key in STATES[name]}
    assert left == (("criterion.weight",) if "criterion.weight" in state else ())


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("model", MARKS)
def test_a_wrong_name_says_what_the_weights_look_like(name, model):
    right = KINDS[name][0]
    if model == right:
        assert recognise(STATES[name], model, None)[0] == right
    else:
        with pytest.raises(ValueError, match=f"^model: these weights look like '{right}', got '{model}'$"):
            settings(STATES[name], model)


def test_released_names_of_models_are_understood():
    for called, ours in RELEASED.items():
        state = next(STATES[name] for name, (model, _) in KINDS.items() if model == ours)
        assert recognise(state, called, None)[0] == recognise(state, None, called)[0] == ours


def one_layer_informer():
    return {key: t for key, t in STATES["informer_forecast_long"].items() if ".conv_layers." not in key}


@pytest.mark.bad_input
def test_weights_that_several_models_share_ask_for_the_name():
    state = one_layer_informer()
    with pytest.raises(ValueError, match="an Informer without distilling shares with others; pass model='informer'"):
        load_checkpoint(state)
    assert settings(state, "informer").read["distil"] is False
    assert recognise(state, None, "Informer")[0] == "informer"
    with pytest.raises(ValueError, match="the settings beside the weights say Transformer, which is not one of"):
        recognise(state, None, "Transformer")


@pytest.mark.bad_input
@pytest.mark.parametrize(("state", "message"), [
    ({"conv1.weight": torch.ones(1), "fc.bias": torch.ones(1)}, r"\(conv1\.weight, fc\.bias, …\) are those of no"),
    ({**{f"model.{k}": t for k, t in STATES["duet_forecast"].items()},
      **{f"ema_model.{k}": t for k, t in STATES["duet_forecast"].items()}}, r"several models, under 'ema_model\.', "),
    ({f"layers.{i}.engram.{k}": t for i in (1, 3) for k, t in STATES["engram_forward_layer1"].items()},
     r"several models, under 'layers\.1\.engram\.', 'layers\.3\.engram\.'; pass one of them"),
    ({"encoder.norm.layernorm.bias": torch.ones(1), "encoder.attn_layers.0.attention.inner_correlation.Lk0.weight":
      torch.ones(1)}, "look like FEDformer's wavelet version, which is not here"),
])
def test_weights_of_no_model_or_of_several_are_refused(state, message):
    with pytest.raises(ValueError, match=message):
        load_checkpoint(state)


@pytest.mark.bad_input
def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"model: expected one of \['nonstationary', .*'informer'\], got 'patchtst'"):
        settings(STATES["duet_forecast"], "patchtst")


MANGLED = {"gone": None, "flat": torch.Tensor.flatten, "one axis more": lambda t: t[None],
           "whole numbers": torch.Tensor.long, "empty": lambda t: t.new_zeros(0),
           "a lone number": lambda t: t.new_zeros(())}


@pytest.mark.bad_input
@hypothesis_settings(deadline=None, max_examples=60)
@given(name=st.sampled_from(sorted(KINDS)), how=st.sampled_from(sorted(MANGLED)), data=st.data())
def test_weights_that_were_mangled_are_refused_in_one_line_or_still_fit(name, how, data):
    state, (_, params, _, _) = dict(STATES[name]), golden(name)
    key = data.draw(st.sampled_from(sorted(state)))
    mangled = state.pop(key)
    if MANGLED[how]:
        state[key] = MANGLED[how](mangled)
    try:
        load_checkpoint(state, **params)
    except ValueError as error:
        said = str(error)
    else:
        said = ""
    assert "\n" not in said


# What the weights tell


def rows(found):
    return {line.split("  ")[0]: line for line in found.table.text.splitlines()[2:]}


def test_settings_say_of_each_where_it_comes_from_and_what_to_pass():
    found = settings(released.random_state(), n_heads=2)
    assert found.model == "nonstationary"
    assert (found.read["M"], found.read["seq_len"], found.read["p_hidden"]) == (10, 11, [5, 13])
    assert found.given == {"H": 2}
    assert list(found.missing) == ["label_len", "pred_len"]
    said = rows(found)
    assert said["d_model"].split()[1:] == ["10", "read", "from", "the", "weights"]
    assert said["n_heads"].split()[1:] == ["2", "given"]
    assert "? " in said["label_len"]
    assert "the weights do not tell: pass label_len=…" in said["label_len"]
    assert said["label_len"].endswith("(released default: 48)")
    assert "gelu" in said["activation"]
    assert "taken unless you pass activation=…" in said["activation"]
    assert repr(found) == found.table.text
    assert "<table" in found._repr_html_()


def test_a_released_default_is_named_and_never_taken():
    with pytest.raises(ValueError, match=r"label_len: no weight tells it.*; pred_len: no weight.*; H: no weight"):
        load_checkpoint(released.random_state())


def test_the_head_of_an_itransformer_has_two_names():
    state = STATES["itransformer_forecast_long"]
    other = {key.replace("projection.", "projector.") if key.startswith("projection.") else key: t
             for key, t in state.items()}
    assert "projector.weight" in other
    assert settings(other).read == settings(state).read
    nets = [load_checkpoint(s, enc_in=5, n_heads=4) for s in (state, other)]
    assert torch.equal(nets[0].projection.weight, nets[1].projection.weight)


def test_timexer_tells_its_targets_where_there_is_more_than_one():
    assert settings(STATES["timexer_forecast_M"]).read["V"] == 5
    assert set(settings(STATES["timexer_forecast_MS"]).missing) == {"n_heads", "features", "enc_in"}


def test_fedformer_asks_for_its_bins_once_the_lengths_are_known():
    state = STATES["fedformer_forecast_long"]
    sizes = {"seq_len": 12, "label_len": 6, "pred_len": 4, "moving_avg": 5}
    assert set(settings(state).missing) == set(sizes)
    found = settings(state, **sizes)
    assert found.missing["modes_enc"] == "which 4 of 6 bins were drawn, a list; or mode_select='low'"
    assert settings(state, **sizes, mode_select="low").missing == {}


def test_what_is_passed_over_is_said(tmp_path):
    state = {f"model.{key}": t for key, t in released.random_state().items()}
    torch.save({"state_dict": {**state, "loss.weight": torch.ones(1), "model.total_ops": torch.ones(1).double()}},
               tmp_path / "last.ckpt")
    found = settings(tmp_path / "last.ckpt")
    assert set(found.left) == {"loss.weight", "model.total_ops"}
    assert "loss.weight" in rows(found)["passed over"]
    assert "in the file under 'state_dict'" in rows(found)["weights"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_loaded_as_it_is_and_runs_in_float32(dtype):
    state = released.random_state()
    half = {key: t.to(dtype) for key, t in state.items()}
    net = load_checkpoint(half, **SIZES)
    assert {p.dtype for p in net.parameters()} == {dtype}
    assert f"{str(dtype)[6:]}" in rows(settings(half))["weights"]
    x = torch.randn(2, 11, 3)
    with torch.no_grad():
        want = load_checkpoint({key: t.to(dtype).float() for key, t in state.items() if ".pe" not in key}, **SIZES)(x)
        assert torch.equal(net.float()(x), want)


# What the run says


@pytest.mark.parametrize(("tail", "more"), [
    ("_expand2_dc4_fc3_ebtimeF_dtTrue_Exp_0", {"factor": 3, "distil": True}),
    ("_fc1_ebfixed_dtFalse_test_1", {"factor": 1, "distil": False}), ("", {}), ("_something_else", {})])
def test_a_folder_of_the_library_says_its_settings(tail, more, tmp_path):
    assert configuration(NAME + tail) == INFORMER | more
    assert configuration(f"checkpoints/{NAME}{tail}/") == INFORMER | more
    assert configuration(tmp_path / (NAME + tail)) == INFORMER | more


@pytest.mark.parametrize(("name", "said"), [
    ("ETTh1_96_96_Nonstationary_Transformer_ETTh1", {"model": "Nonstationary_Transformer"}),
    ("Informer_try_iTransformer_custom", {"model": "iTransformer"}), ("my_try_PatchTST_custom", {}),
    ("ETTm1_FEDformer_random_modes64_ETTm1", {"model": "FEDformer", "mode_select": "random", "modes": 64})])
def test_the_model_and_the_draw_are_read_where_they_are_certain(name, said):
    tail = "_ftMS_sl36_ll18_pl24_dm16_nh4_el1_dl1_df32"
    found = configuration(name + tail)
    assert {key: found[key] for key in ("model", "mode_select", "modes") if key in found} == said
    assert (found["features"], found["seq_len"], found["d_ff"]) == ("MS", 36, 32)


@given(args=st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda w: not iskeyword(w)),
                            st.none() | st.booleans() | st.integers() | st.text(max_size=5)
                            | st.lists(st.integers(), max_size=3), min_size=1, max_size=6))
def test_args_come_back_from_a_dict_a_namespace_its_print_and_json(args):
    for source in (args, Namespace(**args), json.dumps(args), repr(Namespace(**args))):
        assert configuration(source) == args


def test_args_come_from_a_file_and_load_a_checkpoint(tmp_path):
    args = {"model": "Nonstationary_Transformer", "learning_rate": 1e-4, **SIZES}
    (tmp_path / "args.json").write_text(json.dumps(args), encoding="utf-8")
    net = load_checkpoint(released.random_state(), **configuration(tmp_path / "args.json"))
    assert net.transformer.label_len == 3


@pytest.mark.bad_input
@pytest.mark.parametrize(("source", "message"), [
    ("results", "expected JSON, a printed Namespace, or a folder's name.*got 'results'"), ("", "got ''"),
    ('{"a": }', "expected JSON, got an error in line 1"),
    ("Namespace(a=print('x'))", r"expected a printed Namespace\(…\)"),
    ("Namespace(", r"expected a printed Namespace\(…\)"), (3, "got int")])
def test_what_is_no_configuration_is_refused(source, message):
    with pytest.raises(ValueError, match=message):
        configuration(source)


def test_what_is_given_wins_over_the_file_and_the_file_over_the_folder(tmp_path):
    folder = tmp_path / "a_Nonstationary_Transformer_d_ftM_sl11_ll2_pl5_dm10_nh5_el1_dl2_df7_fc1_ebtimeF_dtTrue_Exp_0"
    folder.mkdir()
    torch.save({"model": released.random_state(), "args": {"label_len": 3}}, folder / "checkpoint.pth")
    found = settings(folder / "checkpoint.pth", H=2)
    assert found.given == {"label_len": 3, "pred_len": 5, "H": 2}
    assert [rows(found)[name].split("  ")[-1].strip() for name in ("pred_len", "label_len", "H")] == \
        ["in the folder's name", "in the file", "given"]
    assert load_checkpoint(folder / "checkpoint.pth", H=2).transformer.label_len == 3


@pytest.mark.bad_input
def test_settings_of_another_run_are_refused_rather_than_believed(tmp_path):
    folder = tmp_path / "a_Nonstationary_Transformer_d_ftM_sl96_ll2_pl5_dm10_nh5_el1_dl2_df7_fc1_ebtimeF_dtTrue_Exp_0"
    folder.mkdir()
    torch.save(released.random_state(), folder / "checkpoint.pth")
    with pytest.raises(ValueError, match="seq_len: the weights say 11, but in the folder's name it says 96, so"):
        load_checkpoint(folder / "checkpoint.pth")
    assert load_checkpoint(folder / "checkpoint.pth", seq_len=11, **SIZES).transformer.label_len == 3
