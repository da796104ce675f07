"""The built book as it lies on the disk: every page read once, its links, its explorers and questions."""

import json
import re
from functools import cache
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

from browsing import BOOK
from bs4 import BeautifulSoup, NavigableString

NO_PROSE = {"script", "style", "pre", "code", "svg", "template", "math"}
COLOURED = re.compile(r"<pre>.*?</pre>", re.S)  # code, with a span for each of its words


@cache
def names(folder=""):
    """The pages in a folder of the book, or all of them, handouts too; none before the book is built."""
    found = [path.relative_to(BOOK).as_posix() for path in sorted(BOOK.rglob("*.html"))]
    return [name for name in found if name.startswith(folder) and not name.startswith("_static/")]


@cache
def soup(name):
    """The elements of a page; those that only colour code are left out."""
    plain = COLOURED.sub(lambda code: re.sub("</?span[^>]*>", "", code[0]), (BOOK / name).read_text("utf8"))
    return BeautifulSoup(plain, "html.parser")


@cache
def ids(name):
    """Every id of a page, as often as it stands there."""
    return [element["id"] for element in soup(name).find_all(id=True)]


@cache
def data(name):
    """What the scripts of a page are told: the JSON of its explorers, its questions, its entries."""
    return [json.loads(script.string) for script in soup(name).find_all("script", type="application/json")]


@cache
def prose(name):
    """The words of a page, without those of code, formulas and pictures."""
    def read(element):
        for inner in element.children:
            if type(inner) is NavigableString:
                yield inner
            elif inner.name and inner.name not in NO_PROSE:
                yield from read(inner)
    return " ".join(read(soup(name)))


def links(name):
    """Every address that leads somewhere from a page: of its elements, and of the HTML inside its data."""
    inside = (BeautifulSoup(text, "html.parser") for text in texts(data(name)) if "href=" in text)
    return {element["href"] for page in (soup(name), *inside) for element in page.find_all(href=True)}


def texts(value):
    """All texts within JSON."""
    match value:
        case str():
            yield value
        case dict() | list():
            for inner in value.values() if isinstance(value, dict) else value:
                yield from texts(inner)


def fault(name, address):
    """Why `address`, as it stands on page `name`, leads nowhere; None when it leads somewhere or out of the book."""
    parts = urlsplit(address)
    if parts.scheme in ("http", "https", "data"):
        return None
    page = normpath(join(dirname(name), unquote(parts.path))) if parts.path else name
    if parts.scheme or parts.netloc or not address or page.startswith("..") or not (BOOK / page).is_file():
        return f"{address!r} is no file of the book"
    if parts.fragment and page.endswith(".html") and unquote(parts.fragment) not in ids(page):
        return f"{address!r}: {page} has no such place"
    talk = [value for key, _, value in (pair.partition("=") for pair in parts.query.split("&")) if key == "talk"]
    if talk and talk[0] not in {"", *slides(page)}:
        return f"{address!r}: {page} has no such slide"
    return None


@cache
def slides(page):
    """What may stand after `?talk=`: numbers of slides and names of cells."""
    marks = soup(page).find_all("template", attrs={"data-cell": True})
    return {mark["data-cell"] for mark in marks} | {mark["data-slide"] for mark in marks if mark.get("data-slide")}


def name_of(element):
    """What a listener hears of a link or a button: its words, its label, its title, or the name of its picture."""
    said = [element.get_text(" "), element.get("aria-label"), element.get("title"),
            *(inner.get("alt") or inner.get("aria-label") or "" for inner in element.find_all(["img", "svg"]))]
    return " ".join(part.strip() for part in said if part and part.strip())
