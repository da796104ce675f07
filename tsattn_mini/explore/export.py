"""From a function that calls `step` to an ONNX graph with the same names, compared number by number.

One graph per combination of the `Choice` options. Graph inputs are called `in/<name>`, because an input and
a step of one name would make a file that no runtime loads; the outputs are the shown steps.
"""

import contextlib
import io
import logging
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import onnx
import onnxruntime
import torch
from torch import Tensor, nn

from tsattn_mini.explore.exporting import exactly, once
from tsattn_mini.trace import record

PARITY = 1e-5  # largest difference between graph and module, as a share of the array's largest number

ADVICE = [
    (r"complex", "index or write the real and imaginary parts (torch.view_as_real), or use real cos/sin matrices"),
    (r"roll", "gather with computed indices: x.gather(dim, (arange(n) + shift) % n)"),
    (r"\.numpy\(\)", "compute with torch: what NumPy gives is no part of a graph"),
    (r"data-dependent|item|_local_scalar_dense|nonzero",
     "Python cannot branch on, index by or loop over a tensor's value in a graph: use torch.where, gather or a mask, "
     "and the tensor itself where float(…) of it stands"),
    (r"linalg|svd|eig|cholesky|inverse",
     "write it with products and sums, or compute it outside fn and pass the result in"),
    (r"aten\.(amax|amin)", "give amax and amin a dimension, or write x.max() and x.min()"),
]


class _Graph(nn.Module):
    """`fn` with its shown steps as outputs, in order."""

    def __init__(self, fn: Callable, names: Sequence[str], options: Mapping[str, str], shown: Sequence[str]) -> None:
        super().__init__()
        self.fn, self.names, self.options, self.shown = fn, names, dict(options), shown

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        with record() as trace:
            self.fn(**dict(zip(self.names, tensors, strict=True)), **self.options)
        return tuple(presentable(trace[name].tensor).clone() for name in self.shown)


def presentable(x: Tensor) -> Tensor:
    """What leaves a graph is float32 or int64; a bool becomes 0 or 1."""
    return x.long() if x.dtype in (torch.bool, torch.uint8, torch.int32, torch.int16, torch.int8) else x


def export(fn: Callable, tensors: Mapping[str, Tensor], options: Mapping[str, str], shown: Sequence[str]) -> bytes:
    """The ONNX file of `fn` at these options, without names of machines or folders in it.

    Raises:
        ValueError: when an operation of `fn` has no counterpart in a graph; says which, and what to write instead.
    """
    graph = _Graph(fn, list(tensors), options, shown)
    try:
        with _quiet(), once(), exactly():
            program = torch.onnx.export(graph, tuple(tensors.values()), dynamo=True, verbose=False, optimize=True,
                                        input_names=[f"in/{name}" for name in tensors], output_names=list(shown))
    except torch.onnx.OnnxExporterError as error:
        raise ValueError(_explain(error)) from error
    model = program.model_proto
    _strip(model)
    outputs = [o.name for o in model.graph.output]
    if outputs != list(shown):
        raise ValueError(f"fn: the graph names its outputs {outputs} instead of {list(shown)}")
    return model.SerializeToString()


def compare(graph: bytes, states: Iterator[tuple[str, dict[str, Tensor], dict[str, Tensor]]]) -> None:
    """Run `graph` on each state (a word for it, its inputs, the module's answer) and compare.

    Raises:
        ValueError: where they differ by more than `PARITY` of the array's largest number.
    """
    session = onnxruntime.InferenceSession(graph, one_thread(), providers=["CPUExecutionProvider"])
    wanted = {i.name for i in session.get_inputs()}
    for where, inputs, expected in states:
        feeds = {f"in/{name}": t.numpy() for name, t in inputs.items() if f"in/{name}" in wanted}
        for (name, want), got in zip(expected.items(), session.run(list(expected), feeds), strict=True):
            off = difference(want, torch.from_numpy(got))
            if not off <= PARITY:
                raise ValueError(
                    f"fn: at {where} the exported graph gives another {name!r} than the function (off by {off:.1e} "
                    "of its largest number). Something inside left torch and was frozen: NumPy, float(), .item(), "
                    "a random draw, or a Python branch on a tensor")


def difference(want: Tensor, got: Tensor) -> float:
    """The largest difference as a share of the largest number of `want`; infinite where NaN or ±∞ do not agree.

    Whole numbers agree to the last of their 64 bits, or not at all.
    """
    if want.dtype == got.dtype == torch.int64:
        return 0.0 if torch.equal(want, got) else torch.inf
    want, got = want.double(), got.double()
    finite = torch.isfinite(want)
    if want.shape != got.shape or not torch.equal(finite, torch.isfinite(got)):
        return torch.inf
    if not torch.equal(want[~finite].nan_to_num(0.5), got[~finite].nan_to_num(0.5)):
        return torch.inf
    if not bool(finite.any()):
        return 0.0
    size = float(want[finite].abs().max())
    return float((want[finite] - got[finite]).abs().max()) / (size or 1.0)


def _explain(error: Exception) -> str:
    chain = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    text = "\n".join(map(str, chain))
    advice = next((a for pattern, a in ADVICE if re.search(pattern, text)), "use an operation that torch.onnx exports")
    found = re.search(r"OpOverload\(op='([\w.]+)'", text) or re.search(r"torch\.ops\.([\w.]+?)\.\w+\]", text)
    line = re.search(r'File "[^"]*", line (\d+), in (\S+)\n\s*(.+)', text)
    number, name, code = line.groups() if line else _line(chain[-1])
    where = f" (line {number} of {name}: {code.strip()})" if number else ""
    what = f"operation {found[1]}" if found else "an operation"
    if "data-dependent" in text:
        what = "a Python decision on a tensor's value, or float(…) of one,"
    elif ".numpy()" in text:
        what = "a step through NumPy"
    return f"fn: {what} has no counterpart in the page's graph{where}. Instead: {advice}"


def _line(error: Exception) -> tuple[int | None, str, str]:
    """The last line that ran outside torch and this module when it failed: its number, its function, its code."""
    ours = (__file__, str(Path(torch.__file__).parent), str(Path(contextlib.__file__).parent))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(ours)]
    return (frames[-1].lineno, frames[-1].name, frames[-1].line or "") if frames else (None, "", "")


def _strip(model: onnx.ModelProto) -> None:
    """Clear what the exporter notes about its source: paths, stack traces, docstrings."""
    def clear(message) -> None:
        for field, value in message.ListFields():
            if field.name in ("metadata_props", "doc_string", "value_info"):
                message.ClearField(field.name)
            elif field.type == field.TYPE_MESSAGE:
                for part in value if field.is_repeated else [value]:
                    clear(part)
    clear(model)


def one_thread() -> onnxruntime.SessionOptions:
    """Options of a session that is asked small questions."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The exporter prints, logs and warns about itself; none of that belongs in a lesson."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), \
                warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
