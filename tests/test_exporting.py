"""An export that learns the exporter's tables once writes the file that torch's own would write."""

from contextlib import nullcontext

import onnxruntime
import torch

from tsattn_mini import step
from tsattn_mini.explore import export as exporting
from tsattn_mini.explore.exporting import once


def halves(x, t):
    """Two slices of one tensor, for which the exporter has a rule of its own, and what other rules rewrite."""
    front, back = x[:, :2], x[:, 2:]
    step("A", torch.softmax(front @ back.mT * t, -1), axes="L S")
    step("far", (x.mT.mT * t).clamp(min=0).clamp(max=1).reshape(4, 4).unsqueeze(0).squeeze(0), axes="L S")


def test_graphs_are_the_same_to_the_byte_with_the_exporters_tables_kept_and_without(monkeypatch):
    def graph():
        return exporting.export(halves, {"x": torch.eye(4), "t": torch.tensor(2.0)}, {}, ["A", "far"])

    quick = graph()
    assert graph() == quick
    monkeypatch.setattr(exporting, "once", nullcontext)
    assert graph() == quick


def test_constants_near_zero_and_one_stay_in_the_graph():
    def near(x):
        step("log", (x + 1e-9).log(), axes="N")
        step("grown", x * (1 + 1e-6), axes="N")

    x = torch.tensor([0.0, 1.0])
    session = onnxruntime.InferenceSession(exporting.export(near, {"x": x}, {}, ["log", "grown"]))
    log, grown = session.run(None, {"in/x": x.numpy()})
    assert log.tolist() == (x + 1e-9).log().tolist()
    assert grown.tolist() == (x * (1 + 1e-6)).tolist()


def test_the_exporter_is_left_as_it_was():
    from torch.onnx._internal.exporter._registration import ONNXRegistry
    before = ONNXRegistry.__dict__["from_torchlib"]
    with once():
        assert ONNXRegistry.__dict__["from_torchlib"] is not before
    assert ONNXRegistry.__dict__["from_torchlib"] is before
