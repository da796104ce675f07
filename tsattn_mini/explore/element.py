"""What explorers and questions share: one piece of HTML, shown as a widget in Jupyter and as itself in the book."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

import anywidget
import traitlets

WEB = Path(__file__).parent / "web"
NO_TEXT = re.compile("[<\ud800-\udfff]")  # what ends a script, and halves of characters, which no file can hold

_alone = ContextVar("alone", default=False)


def front_end_file(name: str) -> Path:
    """Where a front-end file below `web/` lies.

    Raises:
        FileNotFoundError: when the bundle was not built yet.
    """
    path = WEB / name
    if not path.exists():
        raise FileNotFoundError(f"{name} is missing: build the front end once with `make web`")
    return path


@cache
def front_end(name: str) -> str:
    """The text of `front_end_file(name)`."""
    return front_end_file(name).read_text(encoding="utf8")


@cache
def words(part: str) -> dict[str, str]:
    """The strings shown by one part of the front end, `"explorer"` or `"question"`."""
    return json.loads(front_end("en.json"))[part]


def embedded(data: dict) -> str:
    """JSON that may stand inside a `<script>`: nothing in it ends the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return NO_TEXT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_book() -> bool:
    """Is this kernel run by the book build, and for a page of the book?"""
    return bool(os.environ.get("TSATTN_BOOK")) and not _alone.get()


@contextmanager
def standing_alone() -> Iterator[None]:
    """What is rendered inside is for a page of its own: no kernel answers it, and no other page lies beside it."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def needs_graphs() -> bool:
    """Is what is rendered now for a page where no kernel answers?"""
    return in_book() or _alone.get()


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
