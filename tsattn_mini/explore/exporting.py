"""torch's exporter learns anew, for every graph, what is the same for all of them; here it learns that once.

A small graph then takes a third of the time, one of a thousand operations half; the files are the same to the byte.
And it leaves out no addition of 1e-9 and no factor of 1.000001, which its rules take for 0 and 1.
What is replaced meanwhile is not public, so torch and onnxscript stay at the releases that pyproject.toml names.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import SimpleNamespace
from unittest.mock import patch

from onnxscript.rewriter import MatchResult, _matcher
from torch._export import utils
from torch.onnx._internal.exporter import _registration


def _sooner(match: Callable) -> Callable:
    """`match` of a pattern; some list all nodes of the graph before they look at the operator of the one in hand."""
    def matched(self, model, graph, node, **options) -> MatchResult:
        operator = self.pattern.output_nodes[0].op_identifier()
        if operator not in (None, node.op_identifier()):
            return MatchResult().fail("another operator")
        return match(self, model, graph, node, **options)
    return matched


_translations = staticmethod(cache(_registration.ONNXRegistry.from_torchlib))  # of 500 operators, from their sources
_match = _sooner(_matcher.SimplePatternMatcher.match)


@contextmanager
def once() -> Iterator[None]:
    """Meanwhile the exporter makes its tables once, not for every graph, family of operators, or node."""
    with ExitStack() as stack:
        for owner, name, quick in ((_registration.ONNXRegistry, "from_torchlib", _translations),
                                   (utils, "_materialize_cpp_cia_ops", cache(utils._materialize_cpp_cia_ops)),
                                   (_matcher.SimplePatternMatcher, "match", _match)):
            stack.enter_context(patch.object(owner, name, quick))
        yield


@contextmanager
def exactly() -> Iterator[None]:
    """Meanwhile the exporter takes a constant for 0 or 1, and leaves it out, only where it is 0 or 1."""
    with patch.object(_matcher, "math", SimpleNamespace(isclose=lambda found, wanted, **nearly: found == wanted)):
        yield
