"""Graphs for the browser: what goes wrong between torch and a page, with the input that shows it."""

import json
import re
import warnings
from base64 import b64decode
from gzip import decompress
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from forecasters import build, draw, graph_gap

from tsattn_mini import step
from tsattn_mini.attention import causal, scaled_dot_product
from tsattn_mini.explore import Cells, Explorer, Slider
from tsattn_mini.explore.export import difference, export
from tsattn_mini.zoo.autoformer import auto_correlation
from tsattn_mini.zoo.fourier import FourierBlock

WEB = Path(__file__).parents[2] / "tsattn_mini/explore/web"
PARITY = 1e-5


def run(graph, **given):
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return session.run(None, {f"in/{name}": x.numpy() for name, x in given.items()})


def test_defect_38_frequencies_leave_as_real_matrices():
    """pytorch#107588, #112382, #44822, onnxruntime#27028, #20997, #29454: transforms in a graph are young and patchy.

    FEDformer's blocks multiply by thin matrices of cosines and sines, so their graph has no transform at all.
    Autoformer's correlation does transform, and its graph gives the numbers of torch at an odd length as well.
    """
    block = build(FourierBlock, dtype=torch.float32, M=4, H=2, L=7)
    q = draw(2, 7, 2, 2, dtype=torch.float32)
    graph = export(lambda q: block(q), {"q": q}, {}, ["out"])
    assert {node.op_type for node in onnx.load_from_string(graph).graph.node} & {"DFT", "STFT"} == set()
    assert difference(block(2 * q).detach(), torch.from_numpy(run(graph, q=2 * q)[0])) <= PARITY
    k = draw(2, 7, 2, 2, seed=1, dtype=torch.float32)
    assert graph_gap(lambda q, k: auto_correlation(q, k, k), {"q": q, "k": k}) <= PARITY


def test_defect_39_a_masked_softmax_is_the_same_everywhere_and_the_page_knows_wasm_alone():
    """onnxruntime#24070, #26670: WebGPU gives other numbers, and a softmax masked by the lowest float is wrong there.

    The page asks for wasm and for nothing else. A masked graph, a row without any key included, is that of torch.
    """
    asked = [found for path in WEB.rglob("*.js") if "dist" not in path.parts
             for found in re.findall(r"executionProviders:\s*(\[[^\]]*\])", path.read_text(encoding="utf8"))]
    assert asked == ['["wasm"]']
    assert not any("webgpu" in path.read_text(encoding="utf8").lower() for path in WEB.rglob("*.js")
                   if "dist" not in path.parts)
    mask = causal(5)
    mask[3] = True
    q = draw(1, 5, 2, 3, dtype=torch.float32)
    attend = lambda q: scaled_dot_product(q, q, q, mask)  # noqa: E731
    graph = export(lambda q: step("o", attend(q), axes="B L H W"), {"q": q}, {}, ["o", "A"])
    for size in (1.0, 300.0):
        out, A = run(graph, q=size * q)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            want = attend(size * q)
        assert difference(want, torch.from_numpy(out)) <= PARITY
        assert not A[..., mask.numpy()].any()
        assert not A[:, :, 3].any()


def test_defect_40_a_graph_ships_with_inputs_and_outputs():
    """onnxruntime#13670, #11095: most reports of "the web differs from Python" were other layouts or random inputs.

    Every explorer carries its inputs with their axes and the numbers that torch gave for them; the graph beside them
    gives the same. `test_parity` asks all explorers of the book, in the browser too.
    """
    ex = Explorer(lambda x, tau: step("A", torch.softmax(tau * x, -1), axes="L S"), id="ships-with-numbers",
                  inputs={"x": Cells(draw(2, 3, dtype=torch.float32), -4, 4, axes="L S"), "tau": Slider(2.0, 0, 5)})
    spec = json.loads(re.search(r"data-spec>(.*?)</script>", ex.alone(), re.S)[1])
    given = {i["name"]: torch.tensor(i["value"]) for i in spec["inputs"]}
    (graph,) = spec["graphs"].values()
    (got,) = run(decompress(b64decode(graph)), **given)
    assert [i.get("axes") for i in spec["inputs"]] == ["L S", None]
    first = np.frombuffer(decompress(b64decode(spec["first"])), dtype="<f4").reshape(2, 3)
    assert difference(ex.values["A"], torch.from_numpy(got)) <= PARITY
    assert np.array_equal(first, ex.values["A"].numpy())
    ex.close()
