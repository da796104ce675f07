"""The glossary and the symbols of the book: each entry is whole, names what exists, and no shown step is left out."""

import json
import re
import sys
from collections import Counter

import pytest
import yaml
from browsing import BOOK, ROOT, pages

sys.path.append(str(ROOT / "book/_ext"))
from tsbook import lexicon
from tsbook.symbols import steps_of

TERMS, SYMBOLS = lexicon.terms(ROOT / "book"), lexicon.symbols(ROOT / "book")
AXES = yaml.safe_load((ROOT / "book/axes.yaml").read_text("utf8"))
LESSONS = {lexicon.lesson_of(f"lessons/{path.stem}") for path in (ROOT / "lessons").glob("*.ipynb")}
CHINESE = re.compile("[\u4e00-\u9fff]")


def code():
    """The package and the code cells of the lessons, as one text."""
    texts = [path.read_text("utf8") for path in sorted((ROOT / "tsattn_mini").rglob("*.py"))]
    for path in sorted((ROOT / "lessons").glob("*.ipynb")):
        cells = json.loads(path.read_text("utf8"))["cells"]
        texts += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return "\n".join(texts)


def shown():
    """Lesson → (name, axes) of every step that its built page shows; handles have no axes."""
    found = {}
    for page in pages("ts-"):
        number = lexicon.lesson_of(page)
        if number:
            found[number] = [(name, axes) for name, axes, _ in steps_of((BOOK / page).read_text("utf8"))]
    return found


def test_there_are_words_for_every_lesson():
    assert len(TERMS) >= 130
    bare = sorted(LESSONS - {2, 9} - {term.lesson for term in TERMS})
    assert not bare, f"lessons {bare} own no word: give each an entry with lesson: in book/glossary/*.yaml"
    assert all(CHINESE.search(term.zh) and term.means.endswith(".") for term in TERMS)


def test_anchors_are_unique():
    keys = Counter(entry.key for entry in (*TERMS, *SYMBOLS))
    assert [key for key, count in keys.items() if count > 1] == []


def test_the_notation_page_has_every_table():
    page = (ROOT / "book/notation.md").read_text("utf8")
    papers = {axis["of"] if axis["of"] in ("any", "kite", "engram") else "zoo" for axis in AXES}
    assert set(re.findall(r"^```{axes} (\w+)$", page, re.M)) == papers
    assert set(re.findall(r"^```{symbols} (\w+)$", page, re.M)) == {symbol.part for symbol in SYMBOLS}


def test_a_spelling_means_one_word():
    spelled = Counter(name.lower() for term in TERMS for name in (term.term, *term.also, *term.forms))
    twice = [name for name, count in spelled.items() if count > 1]
    assert not twice, f"{twice} stand twice in book/glossary/*.yaml: keep each spelling with one word"


def test_lessons_exist():
    for entry in (*TERMS, *SYMBOLS):
        assert {entry.lesson, *entry.only} <= LESSONS, entry
    assert {axis["lesson"] for axis in AXES} <= LESSONS


def test_the_symbols_of_a_word_exist_in_its_lesson():
    missing = [(term.term, name) for term in TERMS for name in term.symbols
               if lexicon.meant(SYMBOLS, name, term.lesson) is None]
    assert not missing, "; ".join(f"the word {term!r} names the symbol {name!r}, which its lesson lacks: give it an "
                                  "entry in book/symbols/*.yaml, or take it out of `symbols`" for term, name in missing)


def test_the_names_of_symbols_exist_in_code():
    text = code()
    names = set(re.findall(r"\w+", text))
    filled = re.compile("|".join(re.sub("{[^}]*}", r"\\w+", name) for name in re.findall(r'step\(f"([\w{}]+)"', text)))
    unknown = [f"{symbol.key}: no code names {name!r}; correct `code` in book/symbols/{symbol.part}.yaml"
               for symbol in SYMBOLS for name in symbol.code if name not in names and not filled.fullmatch(name)]
    assert not unknown, "; ".join(unknown)


def test_axes_are_in_the_alphabet_or_stand_in_a_picture():
    letters = {letter for axis in AXES for letter in axis["letters"]}
    for symbol in SYMBOLS:
        if symbol.part != "pictures" and "`" not in symbol.axes and symbol.axes != "one number":
            words = set(re.findall(r"[A-Za-z]+", symbol.axes.replace("P1", "").replace("P2", "")))
            assert words <= letters, symbol


def test_every_step_that_is_shown_has_an_entry(book):
    missing = [(number, name) for number, steps in shown().items() for name, axes in steps
               if axes is not None and lexicon.meant(SYMBOLS, lexicon.basename(name), number, axes) is None]
    assert not missing, "; ".join(f"lesson {number} shows the step {name!r}: give it an entry in book/symbols/*.yaml"
                                  for number, name in missing)


def test_a_symbol_of_a_picture_is_shown_there(book):
    steps = {number: {lexicon.basename(name) for name, _ in steps} for number, steps in shown().items()}
    missing = [(symbol.key, name) for symbol in SYMBOLS if symbol.part == "pictures" for name in symbol.code
               if not any(name in steps.get(number, ()) for number in symbol.lessons)]
    assert not missing, "; ".join(f"no lesson of {key} shows a step {name!r}: take it out of book/symbols/pictures.yaml"
                                  for key, name in missing)


@pytest.mark.parametrize(("name", "lesson", "axes", "key"), [
    ("delta", 5, "B S", "symbol-05-delta"), ("delta", 9, None, "symbol-09-delta"),
    ("A", 17, "B D", "symbol-17-A"), ("A", 9, "B N D", "symbol-09-A"), ("A", 1, "B H L S", "symbol-01-A"),
    ("y", 5, "B L M", "symbol-01-y"), ("y", 6, "B L V", "symbol-03-y"), ("scores", 20, "B V N", "symbol-20-scores"),
    ("scores", 20, "B H L S", "symbol-05-scores"),
])
def test_one_name_means_several_things(name, lesson, axes, key):
    assert lexicon.meant(SYMBOLS, name, lesson, axes).key == key
