"""Every page of the built book, read without a browser: what it links, names, holds and weighs."""

import gzip
import re
from collections import Counter
from urllib.parse import urlsplit

import pytest
from browsing import BOOK
from whole_book import data, fault, ids, links, name_of, names, prose, soup, texts

KB = 1000
FRONT_DOOR = "index.html"  # leads on to the first page, and has no heading of its own
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src",
         "embed": "src", "object": "data", "link": "href", "use": "href", "image": "href"}
HEADINGS = re.compile("^h[1-6]$")
CLOSING = ["Recap", "Exercises", "Where it lives", "References"]
FILE_NAME = re.compile(r"\w+\.(png|svg|jpe?g|webp|gif)$")

pytestmark = pytest.mark.usefixtures("book")


def every(find, folder=""):
    """What `find` says of each page of a folder, with the page's name before it."""
    return [(name, *found) for name in names(folder) for found in find(name)]


def test_every_link_and_anchor_leads_somewhere():
    assert every(lambda name: [(why,) for link in links(name) if (why := fault(name, link))]) == []
    assert sum(len(links(name)) for name in names()) > 2000


def test_nothing_stands_for_what_was_to_come():
    left = re.compile("Project name not set|TODO|FIXME|lorem ipsum|<unknown>", re.IGNORECASE)
    assert every(lambda name: [(found,) for found in left.findall(prose(name))]) == []


def test_ids_are_unique_on_their_page():
    twice = lambda name: [(id, count) for id, count in Counter(ids(name)).items() if count > 1]  # noqa: E731
    assert every(twice) == []


def test_what_points_at_an_id_finds_it():
    def lost(name):
        known = set(ids(name))
        for key in ("for", "aria-labelledby", "aria-describedby", "aria-controls", "list", "headers"):
            for element in soup(name).find_all(attrs={key: True}):
                value = element[key]
                for id in value if isinstance(value, list) else value.split():
                    if id not in known:
                        yield key, id
    assert every(lost) == []


def test_the_folded_cells_of_a_page_have_names_of_their_own():
    alike = lambda name: [(said, count) for said, count in Counter(  # noqa: E731
        " ".join(fold.get_text().split()) for fold in soup(name).select("details.hide > summary")).items() if count > 1]
    assert every(alike, "lessons/") == []


def test_no_page_loads_anything_from_another_host():
    def foreign(name):
        for element in soup(name).find_all(list(LOADS)):
            if urlsplit(element.get(LOADS[element.name], "")).netloc or element.get("srcset"):
                yield (str(element)[:100],)
        for style in [*soup(name).find_all("style"), *soup(name).find_all(style=True)]:
            yield from outside(style.get("style") or style.string or "")
    sheets = [(path.name, *found) for path in BOOK.rglob("*.css") for found in outside(path.read_text("utf8"))]
    assert every(foreign) + sheets == []


def outside(css):
    """Addresses of other hosts that a style sheet would ask for."""
    found = re.findall(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""", css)
    return [(address,) for address in found]


def test_every_picture_says_what_is_on_it():
    def mute(name):
        for picture in soup(name).find_all("img"):
            alt = picture.get("alt")
            if alt is None or FILE_NAME.search(alt) or (alt and len(alt.split()) < 2):
                yield (str(picture)[:100],)
        for drawing in soup(name).find_all("svg"):
            hidden = any(one.get("aria-hidden") == "true" for one in (drawing, *drawing.parents))
            within = drawing.find_parent(["button", "a"])
            named = drawing.get("aria-label") or drawing.find("title") or (within and name_of(within))
            if not hidden and not named:
                yield (str(drawing)[:100],)
    assert every(mute) == []


def test_headings_are_one_title_and_steps_of_one_below_it():
    def astray(name):
        found = [(int(one.name[1]), one.get_text(" ", strip=True)) for one in soup(name).find_all(HEADINGS)]
        levels = [1 * (name == FRONT_DOOR), *(level for level, _ in found)]
        if levels.count(1) != 1:
            yield ("titles", levels.count(1))
        yield from ((text, "is", level, "after", before)
                    for before, (level, text) in zip(levels, found, strict=False) if level > before + 1 or not text)
    assert every(astray) == []


def test_every_page_is_a_whole_document_with_a_language_and_a_title_of_its_own():
    titles = Counter(soup(name).title.get_text(" ", strip=True) for name in names() if soup(name).title)
    def lacks(name):
        page = soup(name)
        if not (BOOK / name).read_text("utf8").lstrip()[:15].lower().startswith("<!doctype html>"):
            yield ("doctype",)
        if page.html.get("lang") != "en":
            yield ("lang", page.html.get("lang"))
        if not page.find("meta", charset=re.compile("^utf-8$", re.I)):
            yield ("charset",)
        title = page.title.get_text(" ", strip=True) if page.title else ""
        if not title or (titles[title] > 1 and name != FRONT_DOOR):
            yield ("title", title)
    assert every(lacks) == []


def test_tables_say_what_their_columns_are():
    def headless(name):
        for table in soup(name).find_all("table"):
            head = table.find_all("th")
            if not head or not any(cell.get_text(strip=True) for cell in head):
                yield (table.get_text(" ", strip=True)[:80],)
            yield from ((str(cell.parent)[:90],) for cell in head if not cell.get_text(strip=True))
    assert every(headless) == []


def test_every_link_button_and_field_has_a_name():
    def nameless(name):
        labels = {label["for"] for label in soup(name).find_all("label", attrs={"for": True})}
        for element in soup(name).find_all(["a", "button", "summary"]):
            if not name_of(element) and element.get("aria-hidden") != "true":
                yield (str(element)[:100],)
        for field in soup(name).find_all(["input", "select", "textarea"]):
            said = field.get("aria-label") or field.get("aria-labelledby") or field.find_parent("label")
            if not said and field.get("id") not in labels and field.get("type") != "hidden":
                yield (str(field)[:100],)
    assert every(nameless) == []


def test_nothing_on_a_page_is_a_script_in_an_attribute():
    handlers = lambda name: [(key,) for element in soup(name).find_all(True)  # noqa: E731
                             for key in element.attrs if key.startswith("on")]
    assert every(handlers) == []


def test_a_lesson_has_every_part_that_readers_rely_on():
    def missing(name):
        page, number = soup(name), name.removeprefix("lessons/")[:2]
        article = page.find("article")
        headings = [one.get_text(strip=True).rstrip("#") for one in article.find_all("h2")]
        buttons = page.find(class_="article-header-buttons")
        parts = {
            "its goal below the title": article.h1.find_next("p").get_text(strip=True).count(" ") >= 20,
            "an explorer": article.find(attrs={"data-explorer": True}),
            "four questions": len(article.find_all(attrs={"data-question": True})) >= 4,
            "a table": article.find("table") or number == "01",
            "speaker notes": article.find("details", class_="ts-notes"),
            "the closing sections": headings[-4:] == CLOSING,
            "three answers to exercises": len(closing(page, "Exercises").find_all("details")) >= 3,
            "three lines of recap": len(closing(page, "Recap").find_all("li")) == 3,
            "files it lives in": closing(page, "Where it lives").find("code"),
            "a source": closing(page, "References").find(["li", "p"]),
            "a talk of 20 slides": len({one.get("data-slide") for one in page.find_all("template")} - {None}) >= 20,
            "what brings it to life": page.find("script", src="../ts/book.js"),
            "its handout": buttons.find("a", href=f"../handouts/{number}.html"),
            "its notebook": buttons.find("a", href=re.compile(r"_sources/lessons/\w+\.ipynb$")),
        }
        yield from ((part,) for part, there in parts.items() if not there)
    assert every(missing, "lessons/") == []


def closing(page, title):
    """One of the last sections of a lesson."""
    return page.find(id=title.lower().replace(" ", "-"))


def test_an_explorer_shows_its_picture_its_numbers_and_its_controls_before_any_script_runs():
    def bare(name):
        specs = {spec["id"]: spec for spec in data(name) if isinstance(spec, dict) and "steps" in spec}
        for element in soup(name).find_all(attrs={"data-explorer": True}):
            spec = specs.pop(element["data-explorer"])
            for step in spec["steps"]:
                figure = element.find(attrs={"data-step": step["name"]})
                spoken = figure.find("svg").get("aria-label", "")
                if not spoken.startswith(f"{step['label']}") or not re.search(r"[\d∞]|NaN", spoken):
                    yield spec["id"], step["name"], spoken
            for input in spec["inputs"]:
                if not element.find(attrs={"data-input": input["name"]}).find(["input", "select"]):
                    yield spec["id"], input["name"]
            if not element.get("aria-label") or not element.find(class_="ts-still"):
                yield spec["id"], "title or sentence"
        yield from ((id, "data without an explorer") for id in specs)
    assert every(bare) == []


def test_pages_keep_to_their_budgets():
    def heavy(name):
        packed = len(gzip.compress((BOOK / name).read_bytes(), 9)) / KB
        if packed > 150:
            yield ("gzipped", packed)
        for text in (text for one in data(name) for text in texts(one) if len(text) > 80 * KB):
            yield ("a graph of the page", len(text) / KB)  # 60 KB are 80 in base64
    assert every(heavy) == []
    assert (BOOK / "ts/ort.wasm.gz").stat().st_size < 5e6
    assert len(gzip.compress((BOOK / "ts/book.js").read_bytes())) < 75 * KB
