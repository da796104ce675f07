"""Large graphs, taken out of the description of their explorer: a page reads one when it is first needed."""

import hashlib
import json
import re
from collections.abc import Callable

from tsattn_mini.explore.element import embedded

LARGE = 60_000  # characters of a graph, gzipped and in base64
SPEC = re.compile(r"(?<=<script type='application/json' data-spec>).*?(?=</script>)", re.S)


def lift(html: str, keep: Callable[[str, str], None]) -> str:
    """`html` with a name in the place of every graph of more than `LARGE` characters; `keep(name, graph)` stores it.

    One graph has one name, however many explorers have it.
    """
    def lifted(found: re.Match) -> str:
        spec = json.loads(found[0])
        for key, graph in spec["graphs"].items():
            if len(graph) > LARGE:
                spec["graphs"][key] = name = f"graph-{hashlib.sha256(graph.encode()).hexdigest()[:16]}.js"
                keep(name, graph)
        return embedded(spec)
    return SPEC.sub(lifted, html)
