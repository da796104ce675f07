"""One HTML file that explains something to somebody else: explorers, questions, tables and words, all it needs inside.

It opens from the disk, asks for nothing, and may be sent as it is. Its policy lets no script run but its own two.
"""

import os
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from tsattn_mini.explore.element import front_end, front_end_file, standing_alone, words
from tsattn_mini.explore.explorer import Explorer
from tsattn_mini.explore.graphs import lift
from tsattn_mini.explore.question import Question, render
from tsattn_mini.figures import Figure
from tsattn_mini.visible import escape, visible
from tsattn_mini.whole import write_whole

RUNTIME = "ort.wasm.gz"
POLICY = ("default-src 'none'; script-src {scripts} 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data:; "
          "base-uri 'none'; form-action 'none'")
LICENCES = ("tsattn-mini: MIT licence. ONNX Runtime Web: Copyright (c) Microsoft Corporation, MIT licence, "
            "https://github.com/microsoft/onnxruntime/blob/main/LICENSE")


class Heading(str):
    """A line of words that stands above the blocks after it."""


Block = Explorer | Question | Figure | Heading | str


def write(path: str | os.PathLike, blocks: Iterable[Block], *, title: str, lead: str = "") -> None:
    """Write `blocks` one below the other as a page that stands alone; an older file of that name is replaced.

    Args:
        path: of the file, such as `"my_model.html"`; its folder exists.
        blocks: an `Explorer` goes along as it stands now, with its graphs; a `Question`; a `Table` or `Figure`; a
            `Heading`; or text, whose paragraphs are parted by empty lines. Text is shown as typed, never as HTML.
        title: of the window and above all else.
        lead: a paragraph below the title.

    Raises:
        ValueError: when `path` names no file, a block is of another kind, an explorer or a question comes twice, or
            the title is empty.
        FileNotFoundError: when the folder is missing, or the front end was not built.
    """
    blocks, path = _checked(blocks, title, lead), _path(path)
    files: dict[str, str] = {}
    with standing_alone():
        body = "\n".join(lift(_block(block), files.__setitem__) for block in blocks)
    write_whole(path, _page(body, visible(title), lead, files))


def _path(path: str | os.PathLike) -> Path:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ValueError(f"path: expected the name of a file, got {path!r}")
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"path: expected a file, got the folder {str(path)!r}")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"path: expected a file in a folder that exists, got {str(path)!r}")
    return path


def _checked(blocks: Iterable[Block], title: str, lead: str) -> Sequence[Block]:
    for name, text in (("title", title), ("lead", lead)):
        if not isinstance(text, str):
            raise ValueError(f"{name}: expected a text, got {type(text).__name__}")
    if not title.strip():
        raise ValueError(f"title: expected a few words, got {title!r}")
    if isinstance(blocks, Block) or not isinstance(blocks, Iterable):
        raise ValueError(f"blocks: expected a list, got {type(blocks).__name__}")
    ids, blocks = set(), list(blocks)
    for i, block in enumerate(blocks):
        if not isinstance(block, Block):
            raise ValueError(f"blocks[{i}]: expected an Explorer, a Question, a Table or Figure, or text, "
                             f"got {type(block).__name__}")
        own = (type(block), block.id) if isinstance(block, Explorer | Question) else i
        if own in ids:
            raise ValueError(f"blocks[{i}]: expected every explorer and question once, got {block.id!r} again")
        ids.add(own)
    return blocks


def _block(block: Block) -> str:
    match block:
        case Explorer():
            return block.alone()
        case Question():
            return render(block)
        case Figure():
            return f"<div class='ts-block'>{block.html}</div>"
        case Heading():
            return f"<h2 dir='auto'>{escape(visible(block))}</h2>"
        case _:
            return _paragraphs(block)


def _paragraphs(text: str) -> str:
    parts = text.replace("\r\n", "\n").split("\n\n")
    return "".join(f"<p dir='auto'>{escape(part.strip())}</p>" for part in parts if part.strip())


def _page(body: str, title: str, lead: str, files: dict[str, str]) -> str:
    say = {key: escape(text) for key, text in words("page").items()}
    theme, book = front_end("theme.js"), front_end("dist/book.js")
    policy = POLICY.format(scripts=" ".join(map(_hash, (theme, book))))
    packed = {RUNTIME: b64encode(front_end_file(f"dist/{RUNTIME}").read_bytes()).decode(), **files}
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{front_end("dist/style.css")}</style>
<script>{theme}</script>
</head>
<body class="ts-alone">
<header>
<button type="button" data-dark aria-pressed="false" hidden>{say["dark"]}</button>
<h1 dir="auto">{escape(title)}</h1>
{_paragraphs(lead)}
</header>
<main>
{body}
</main>
<footer><p>{say["made"].format(version=version("tsattn-mini"))}</p></footer>
{"".join(_file(*file) for file in packed.items())}<script>{book}</script>
<!-- {LICENCES} -->
</body>
</html>
"""


def _file(name: str, packed: str) -> str:
    """A file inside the page, gzipped and in base64; a script of this type does not run."""
    return f'<script type="application/gzip" data-file="{name}">{packed}</script>\n'


def _hash(script: str) -> str:
    """A script as the policy names it."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
