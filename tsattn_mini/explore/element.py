"""What explorers and questions share: one piece of HTML, shown as a widget in Jupyter and as itself in the book."""

import json
import os
from functools import cache
from pathlib import Path

import anywidget
import traitlets

WEB = Path(__file__).parent / "web"


@cache
def front_end(name: str) -> str:
    """The text of a front-end file below `web/`.

    Raises:
        FileNotFoundError: when the bundle was not built yet.
    """
    path = WEB / name
    if not path.exists():
        raise FileNotFoundError(f"{name} is missing: build the front end once with `make web`")
    return path.read_text(encoding="utf8")


@cache
def words(part: str) -> dict[str, str]:
    """The strings shown by one part of the front end, `"explorer"` or `"question"`."""
    return json.loads(front_end("en.json"))[part]


def embedded(data: dict) -> str:
    """JSON that may stand inside a `<script>`: nothing in it ends the element."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def in_book() -> bool:
    """Is this kernel run by the book build?"""
    return bool(os.environ.get("TSATTN_BOOK"))


class Element(anywidget.AnyWidget):
    """A widget whose first picture is HTML made in Python; `web/widget.js` brings it to life.

    While the book is built (`TSATTN_BOOK=1`) it shows that HTML alone, and the page's script takes over.
    Subclasses call `__init__` with a kind and the HTML; their `__repr__` is what a stored notebook keeps.
    """

    kind = traitlets.Unicode().tag(sync=True)
    html = traitlets.Unicode().tag(sync=True)

    @property
    def _esm(self) -> str:
        return front_end("dist/widget.js")

    @property
    def _css(self) -> str:
        return front_end("dist/style.css")

    def open(self) -> None:
        """Talk to the front end; in the book nobody listens, and no state is left in the notebook."""
        if not in_book():
            super().open()

    def _repr_mimebundle_(self, **kwargs):
        if in_book():
            return {"text/html": self.html, "text/plain": repr(self)}
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        data["text/plain"] = repr(self)
        return bundle
