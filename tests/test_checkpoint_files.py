"""Files as people save them are read; what is no checkpoint, or holds code, is refused in one line and never run."""

import io
import pickle
import zipfile
from argparse import Namespace
from collections import OrderedDict
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
import released
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch import nn

from tsattn_mini.official import load_checkpoint
from tsattn_mini.official.reading import read

W = {"layer.weight": torch.arange(6.0).reshape(2, 3), "layer.bias": torch.ones(2)}
SIZES = {"label_len": 3, "pred_len": 5, "n_heads": 2}
TOUCHED = []


class Code:
    """Unpickling it would leave a trace in `TOUCHED`."""

    def __reduce__(self):
        return TOUCHED.append, ("ran",)


class Touch:
    """Unpickling it would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


class Plain:
    """An object of a class that only its author has."""


def saved(folder, thing, **how):
    torch.save(thing, folder / "checkpoint.pth", **how)
    return folder / "checkpoint.pth"


def equal(state, want=W):
    return list(state) == list(want) and all(torch.equal(state[name], want[name]) for name in want)


def refused(path, *words):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the words are compared below
        read(path)
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 400
    for word in words:
        assert word in text
    return text


# What is read


@pytest.mark.parametrize(("wrap", "place"), [
    (dict, ""), (OrderedDict, ""),
    (lambda w: {"state_dict": w, "epoch": 3}, "state_dict"),
    (lambda w: {"model": w, "optimizer": {"state": {0: {"exp_avg": torch.ones(2)}}, "param_groups": []}}, "model"),
    (lambda w: {"model_state_dict": w, "mean": torch.zeros(3), "ema": dict(w)}, "model_state_dict"),
    (lambda w: {"epoch": 1, "pytorch-lightning_version": "2.4", "callbacks": {"c": {"best": torch.ones(1)}},
                "loops": {"fit": {"x": torch.ones(1)}}, "state_dict": w, "hyper_parameters": {"lr": 1}}, "state_dict"),
    (lambda w: {"net": {"deep": w}}, "net.deep"),
    (lambda w: {"mine": w}, "mine"),
    (lambda w: {name: nn.Parameter(t) for name, t in w.items()}, ""),
    (lambda w: {**w, "epoch": 4, "layer.total_ops": torch.zeros(1).double()}, ""),
    (lambda w: {name: t.numpy() for name, t in w.items()}, ""),
])
@pytest.mark.parametrize("zipped", [True, False])
def test_weights_are_found_wherever_people_put_them(wrap, place, zipped, tmp_path):
    path = saved(tmp_path, wrap(W), _use_new_zipfile_serialization=zipped)
    found = read(path)
    assert equal(found.state)
    assert found.place == place


def test_settings_beside_the_weights_are_read_and_the_rest_is_named(tmp_path):
    args = Namespace(d_model=8, freq="h", mean=torch.ones(2), more=[torch.ones(2)], none=None,
                     root=PurePosixPath("/data/ETT"), lr=np.float64(0.5), sizes=[1, 2])
    found = read(saved(tmp_path, {"model": W, "args": args}))
    assert found.settings["d_model"] == 8
    assert found.settings["lr"] == 0.5
    assert set(found.settings) == {"d_model", "freq", "root", "lr", "sizes"}
    assert read({**W, "epoch": 3}).left == ("epoch",)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(array=arrays.arrays(st.sampled_from(["f4", ">f8", "i8", ">i2", "u1", "b1", "f2"]),
                           arrays.array_shapes(min_dims=0, max_dims=3, max_side=4)))
def test_arrays_and_numbers_of_numpy_are_read_as_they_are(array, tmp_path):
    number = array.reshape(-1)[0]
    found = read(saved(tmp_path, {"args": {"loss": number}, "state_dict": {"w": torch.ones(1), "x": array}}))
    assert np.array_equal(found.state["x"].numpy(), array, equal_nan=array.dtype.kind == "f")
    loss = found.settings["loss"]
    assert type(loss) in (int, float, bool)
    assert loss == number or np.isnan(number)


def test_half_precision_stays_alone_and_becomes_float32_beside_it(tmp_path):
    half = {name: t.half() for name, t in W.items()}
    assert {t.dtype for t in read(saved(tmp_path, half)).state.values()} == {torch.float16}
    mixed = read(saved(tmp_path, {**half, "layer.bias": W["layer.bias"], "steps": torch.tensor(3)})).state
    assert [t.dtype for t in mixed.values()] == [torch.float32, torch.float32, torch.int64]
    assert torch.equal(mixed["layer.weight"], W["layer.weight"])


# What is refused


@pytest.mark.bad_input
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("wrap", [lambda bad: bad, lambda bad: {"model": W, "x": bad}, lambda bad: {**W, "x": [bad]}])
def test_code_in_a_file_is_refused_and_not_run(wrap, zipped, tmp_path):
    mark = tmp_path / "ran"
    path = saved(tmp_path, wrap(Touch(mark)), _use_new_zipfile_serialization=zipped)
    text = refused(path, "holds code", "is not run", "torch.save(model.state_dict(), 'weights.pth')")
    assert "weights_only=False" not in text
    assert "add_safe_globals" not in text
    assert not mark.exists()


@pytest.mark.bad_input
def test_a_whole_module_is_refused_and_named(tmp_path):
    refused(saved(tmp_path, nn.Linear(2, 3)), "holds a whole model, which is code and is not run",
            "save the weights: torch.save(model.state_dict(), 'weights.pth')")
    net = nn.Sequential(nn.Linear(2, 3))
    net.about = Plain()
    refused(saved(tmp_path, {"model": net}), "holds a whole model (test_checkpoint_files.Plain)")


@pytest.mark.bad_input
@pytest.mark.parametrize("bad", [Plain(), Code(), np.array([1, "a", None], dtype=object), np.datetime64("2020-01-01"),
                                 np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])])
def test_objects_that_are_no_plain_values_are_refused(bad, tmp_path):
    refused(saved(tmp_path, {"model": W, "more": bad}), "where it was made, save the weights alone")
    assert TOUCHED == []


class Forged:
    """Asks for `make(*args)`, then for `state` to be set on it: how a crafted file would speak to NumPy."""

    def __init__(self, make, args, state=None):
        self.made = (make, args) if state is None else (make, args, state)

    def __reduce__(self):
        return self.made


SCALAR, ARRAY = np._core.multiarray.scalar, np._core.multiarray._reconstruct


@pytest.mark.bad_input
@pytest.mark.parametrize("forged", [
    Forged(SCALAR, (Forged(np.dtype, ("O8", False, True)), b"\x01" * 8)),
    Forged(SCALAR, (Forged(np.dtype, ("f8", False, True), (3, "|", None, None, None, 8, 8, 0)), b"\x01" * 4)),
    Forged(SCALAR, (Forged(np.dtype, ("f8", False, True), (3, "O", None, None, None, -1, -1, 63)), b"\x01" * 8)),
    Forged(SCALAR, ("f8", b"\x01" * 8)),
    Forged(SCALAR, (Forged(np.dtype, ("f8", False, True)), "text")),
    Forged(ARRAY, (np.ndarray, (0,), b"b"), (1, (10**12,), Forged(np.dtype, ("f8", False, True)), False, b"\x01" * 8)),
    Forged(ARRAY, (np.ndarray, (0,), b"b"), (1, (-1, -1), Forged(np.dtype, ("f8", False, True)), False, b"\x01" * 8)),
    Forged(ARRAY, (np.ndarray, (0,), b"b"), (1, (1,), Forged(np.dtype, ("O8", False, True)), False, [1])),
    Forged(ARRAY, (np.ndarray, (0,), b"b"), (1, (1,), "f8", False, b"\x01" * 8)),
])
def test_forged_numbers_reach_no_code_of_numpy(forged, tmp_path):
    refused(saved(tmp_path, {"model": W, "loss": forged}), "holds more than weights and plain values")


@pytest.mark.bad_input
@pytest.mark.parametrize("zipped", [True, False])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short_anywhere_is_one_line(zipped, share, tmp_path):
    whole = saved(tmp_path, {"model": W}, _use_new_zipfile_serialization=zipped).read_bytes()
    path = tmp_path / "cut.pth"
    path.write_bytes(whole[:int(share * len(whole))])
    text = refused(path)
    assert "again" in text or "not a file that torch.save wrote" in text


@pytest.mark.bad_input
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(places=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_damaged_file_is_one_line_or_still_weights(places, tmp_path):
    path = saved(tmp_path, {"model": W})
    damaged = bytearray(path.read_bytes())
    for share, byte in places:
        damaged[int(share * len(damaged))] = byte
    path.write_bytes(damaged)
    try:
        state = read(path).state
    except ValueError:
        refused(path)
    else:
        assert all(isinstance(t, torch.Tensor) for t in state.values())


def archive(name, text="1"):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr(name, text)
    return held.getvalue()


def numpy_file():
    held = io.BytesIO()
    np.savez(held, a=np.ones(2))
    return held.getvalue()


@pytest.mark.bad_input
@pytest.mark.parametrize(("content", "words"), [
    (b"", "is empty"), (b"hello", "is not a file that torch.save wrote"), (b"\n\n<!DOCTYPE html><p>", "is a web page"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
    (b"\x1f\x8b\x08\x00", "unpack it first"),
    (b"\x89HDF\r\n", "HDF5"), (pickle.dumps(W), "is a pickle that torch.save did not write"),
    (pickle.dumps({"a": 1}, protocol=2) + b" " * 64, "is a pickle that torch.save did not write"),
    ((9).to_bytes(8, "little") + b'{"a": {}}', "safetensors.torch.load_file"), (numpy_file(), "is a file of NumPy"),
    (archive("text.txt"), "is a zip archive, but not one that torch.save wrote"),
    (archive("model/code/m.py"), "is TorchScript, which is code"),
])
def test_what_is_no_checkpoint_says_what_it_is(content, words, tmp_path):
    (tmp_path / "x.pth").write_bytes(content)
    refused(tmp_path / "x.pth", words)


@pytest.mark.bad_input
def test_a_folder_names_the_files_in_it_and_a_missing_file_is_said(tmp_path):
    refused(tmp_path / "no.pth", "no.pth' does not exist")
    refused(tmp_path, "is a folder; pass a file in it")
    saved(tmp_path, W)
    refused(tmp_path, "is a folder; pass a file in it: checkpoint.pth")
    refused(tmp_path / "a\nb.pth", "a\\nb.pth' does not exist")


@pytest.mark.bad_input
@pytest.mark.parametrize(("thing", "words"), [
    ({"mine": W, "yours": dict(W)}, "the file holds several, 'mine', 'yours'"),
    ({"epoch": 3}, "expected names with tensors, got int under 'epoch'"), (torch.ones(2), "got Tensor"),
    ([W], "got list"), ({}, "got dict without entries"), ({0: torch.ones(2)}, "got tensors without names"),
    (nn.Linear(2, 2), "got a module; pass its weights, model.state_dict()"),
    ({"w": np.array(["a"])}, "got ndarray under 'w'"),
])
def test_what_holds_no_weights_is_refused(thing, words):
    refused(thing, words)


@pytest.mark.bad_input
@pytest.mark.parametrize("make", [lambda t: t.to_sparse(), lambda t: t.to("meta")])
def test_weights_that_are_no_plain_numbers_are_named(make):
    state = released.random_state()
    state["decoder.projection.weight"] = make(state["decoder.projection.weight"])
    with pytest.raises(ValueError, match=r"expected plain numbers under 'decoder\.proj"):
        load_checkpoint(state, **SIZES)


@pytest.mark.bad_input
def test_many_problems_are_told_in_few_words():
    state = {name: t for name, t in released.random_state().items() if not name.startswith("decoder.layers.1")}
    state["decoder.layers.1.norm1.weight"] = torch.ones(10)
    with pytest.raises(ValueError, match=r"missing key .*; and \d+ more like these$") as error:
        load_checkpoint(state, **SIZES)
    assert str(error.value).count("missing key") == 6
