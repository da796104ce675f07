"""One step at many states at once, answered by the exported graph: what influences are measured with in Jupyter."""

from collections.abc import Mapping

from onnxruntime import InferenceSession
from torch import Tensor

from tsattn_mini.explore.export import one_thread


class Many:
    """Sessions of an explorer's graphs, each started when it is first asked."""

    def __init__(self, graphs: Mapping[str, bytes]) -> None:
        self._graphs, self._sessions = graphs, {}

    def __call__(self, key: str, tensors: Mapping[str, Tensor], step: str) -> bytes:
        """The numbers of `step` where the inputs are `tensors`, as bytes."""
        if key not in self._sessions:
            self._sessions[key] = InferenceSession(self._graphs[key], one_thread(), providers=["CPUExecutionProvider"])
        session = self._sessions[key]
        feeds = {i.name: tensors[i.name.removeprefix("in/")].numpy() for i in session.get_inputs()}
        return session.run([step], feeds)[0].tobytes()
