"""Words and symbols of a small book: which places of a text are marked, and what the glossary and the notation say."""

import re

import pytest
from small_book import build
from small_glossary import TERMS, explorer, lay_out, printed
from sphinx.errors import SphinxError

LINK = re.compile(r'<a class="ts-term" href="[^"#]*#([^"]+)"( tabindex="-1")?>(.*?)</a>', re.S)


def found_in(text):
    """(entry, text) of every marked place of a page or a part of it, in order."""
    return [(key, re.sub("<[^>]+>", "", inside)) for key, _, inside in LINK.findall(text)]


def marks(html, page):
    return found_in((html / page).read_text("utf8"))


CASES = {
    "A query and a query.": ["query"],
    "Queries ask.": ["Queries"],
    "By self-attention: self-attention.": ["self-attention"],
    "Flow\nmatching, by FM or matched flows.": ["Flow matching"],
    "Some *query* and a **mode**.": ["query", "mode"],
    "- a query\n\n:::{note}\nFlow matching\n:::": ["query", "Flow matching"],
    "co-query, query-like, QUERY, fm, subqueries": [],
    "[query](05_one.md) and `query` and $query$ and\n\n```\nquery\n```\n\n### Query": [],
    "| query |\n|---|\n| query |": [],
    "`A`, `enc0/A`, `delta`, `B`": ["A", "delta"],
    "A query.\n\n### Below\n\nA query.": ["query"],
    "Attention.": ["Attention"],
    "Attention, again.": [],
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Case → (entry, text) of what is marked in it; every case is a section of lesson 09."""
    folder = tmp_path_factory.mktemp("cases")
    lay_out(folder, first="# Title\n\n`delta`, mode\n",
            second="# Title\n\n" + "\n\n".join(f"## Case {i}\n\n{case}" for i, case in enumerate(CASES)))
    html = build(folder)
    sections = re.split("<h2>", (html / "lessons/09_two.html").read_text("utf8"))[1:]
    return html, dict(zip(CASES, map(found_in, sections), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_running_text_is_marked_once_a_section_and_the_longest_word_wins(cases, case):
    assert [" ".join(text.split()) for _, text in cases[1][case]] == CASES[case]


def test_a_name_means_what_it_means_in_the_lesson(cases):
    html, in_09 = cases
    assert marks(html, "lessons/05_one.html") == [("symbol-05-delta", "delta")]
    assert in_09["`A`, `enc0/A`, `delta`, `B`"][1] == ("symbol-09-delta", "delta")


def test_the_tab_key_stops_once_at_an_entry_and_once_in_what_is_folded(tmp_path):
    fold = "```{speaker-notes}\nA query.\n```"
    lay_out(tmp_path, first=f"# T\n\n{fold}\n\nA query.\n\n## One\n\nA query.\n\n{fold}\n")
    text = (build(tmp_path) / "lessons/05_one.html").read_text("utf8")
    assert [skipped == "" for _, skipped, _ in LINK.findall(text)] == [True, True, False, False]


def test_the_cards_of_the_marked_words_lie_in_the_page(tmp_path):
    lay_out(tmp_path, first="# T\n\nFlow matching, `A`.\n")
    html = build(tmp_path)
    (cards,) = re.findall("<template data-terms>(.*)</template>", (html / "lessons/05_one.html").read_text("utf8"))
    assert re.findall("data-term='([^']+)'", cards) == ["term-flow-matching", "symbol-05-A"]
    assert "<b>flow matching</b> <span lang='zh'>流匹配</span>" in cards
    assert "x &lt; y, <code>A</code> and <math" in cards
    assert "<template" not in (html / "lessons/09_two.html").read_text("utf8")


def test_a_page_that_is_no_lesson_has_words_but_no_names(tmp_path):
    lay_out(tmp_path, about="# A book\n\nA query, a mode, `A`.\n")
    assert marks(build(tmp_path), "index.html") == [("term-query", "query")]


def test_the_glossary_lists_every_word_with_its_chinese_symbols_and_lesson(tmp_path):
    lay_out(tmp_path)
    text = (build(tmp_path) / "book/glossary.html").read_text("utf8")
    words = re.findall(r'<dt id="([^"]+)"><strong>(.*?)</strong> <span class="ts-zh">(.*?)</span>', text)
    assert [word for _, word, _ in words] == ["attention", "flow matching", "mode", "query", "self-attention"]
    assert words[1] == ("term-flow-matching", "flow matching", "流匹配")
    assert 'href="notation.html#symbol-09-delta"' in text
    assert re.search(r'ts-lesson">Lesson <a [^>]*href="../lessons/09_two.html"><span class="doc">09', text)


def row(html, key):
    """The text and the links of the last cell of a symbol's row."""
    text = (html / "book/notation.html").read_text("utf8")
    (found,) = re.findall(rf'<tr[^>]*>(?:(?!</tr>).)*id="{key}".*?</tr>', text, re.S)
    cell = found.split("<td")[-1]
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", "<td" + cell)).strip(), re.findall('href="([^"]+)"', cell)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_notation_says_where_a_symbol_appears(tmp_path, jobs):
    shown = explorer(("dec/A", "B L S"), ("A", "L S"), handles=["delta"])
    lay_out(tmp_path, outputs=[printed(("enc0/A", "B L S")), shown])
    for i in range(4):  # Sphinx reads fewer pages one after the other
        (tmp_path / f"book/more{i}.md").write_text("# More\n", "utf8")
    html = build(tmp_path, jobs)
    dots = "../lessons/09_two.html#explorer-dots"
    assert row(html, "symbol-05-A") == ("05, 09 enc0/A dec/A", ["../lessons/05_one.html", dots])
    assert row(html, "symbol-09-delta") == ("09", [dots])
    assert row(html, "symbol-05-delta") == row(html, "symbol-05-unused") == ("05", ["../lessons/05_one.html"])
    text = (html / "book/notation.html").read_text("utf8")
    assert "weights |A| (权重)" in text
    assert "windows (批)" in text
    assert "drivers" not in text


def test_what_changes_reaches_the_pages_that_show_it(tmp_path):
    lay_out(tmp_path, first="# T\n\nA query.\n", outputs=[explorer(("A", "L S"))])
    assert row(build(tmp_path), "symbol-05-A")[0] == "05, 09"
    lay_out(tmp_path, first="# T\n\nA query.\n", outputs=[explorer(("enc0/A", "L S"))])
    assert row(build(tmp_path), "symbol-05-A")[0] == "05, 09 enc0/A"
    (tmp_path / "book/glossary/words.yaml").write_text(TERMS.replace("What is asked", "A question"), "utf8")
    html = build(tmp_path)
    for page in ("lessons/05_one.html", "book/glossary.html"):
        assert "A question." in (html / page).read_text("utf8")


@pytest.mark.bad_input
@pytest.mark.parametrize(("entry", "fault"), [
    ("- {term: w, zh: 词, lesson: 5, means: m, colour: red}", "words.yaml: .*colour"),
    ("- {term: w, lesson: 5, means: m}", "words.yaml: .*zh"),
    ("- {term: w, zh: 词, lesson: 5, means: m, symbols: [nope]}", "w: no symbol 'nope' in lesson 5"),
])
def test_a_fault_in_a_file_is_named(tmp_path, entry, fault):
    lay_out(tmp_path)
    (tmp_path / "book/glossary/words.yaml").write_text(entry, "utf8")
    with pytest.raises(SphinxError, match=fault):
        build(tmp_path)
