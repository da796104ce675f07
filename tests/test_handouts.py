"""A handout says what its lesson says, is one page of A4 on paper, and can be read on a phone."""

import re
import sys

import pytest
import small_book
from axe import BY_COLOUR, violations
from browsing import BOOK, ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from sphinx.errors import ExtensionError

sys.path.append(str(ROOT / "book/_ext"))
from tsbook import handout, notebooks, talk_entries

LESSONS = talk_entries.lessons(ROOT / "lessons")
HANDOUTS = sorted(path.stem for path in (BOOK / "handouts").glob("*.html")) or ["none"]
WIDTH, HEIGHT = (round(mm / 25.4 * 96) for mm in (186, 275))  # of A4 without its margins, in pixels
SPARE = 0.96  # of the height: other machines have other fonts
CLIPPED = """() => [...document.querySelectorAll("body *")].filter(el => {
  const { right, width } = el.getBoundingClientRect();
  const scrolls = el.matches("section > div") && el.clientWidth && el.scrollWidth > el.clientWidth + 1;
  return scrolls || width && right > innerWidth + 1;
}).map(el => `${el.tagName} ${el.textContent.slice(0, 40)}`)"""
TABLE = ("<table class='ts-table'><thead><tr><th scope='col'>step</th><th scope='col'>operation</th>"
         "<th scope='col'>axes</th><th scope='col'>shape</th></tr></thead>"
         "<tbody><tr><td>A</td><td>softmax(Q\N{NO-BREAK SPACE}Kᵀ)</td><td>L S</td><td>(2, 3)</td></tr></tbody></table>")
ENTRY = """needs: Nothing.
questions:
{questions}
drop: [numbers]
equations: {equations}
table: {table}
"""


def lesson(title="01 · One", recap="- Three **lines**, of $x^2$.\n- [Two](01_one.ipynb)\n  more."):
    """A notebook with a section, a question, a table of steps and a recap."""
    question = small_book.asked("01-how-many")
    asked = new_output("display_data", {"text/html": question.element().html, "text/plain": repr(question)})
    steps = new_output("display_data", {"text/html": TABLE, "text/plain": "step"})
    cells = [new_markdown_cell(f"# {title}"), new_markdown_cell("## Numbers\n\n$$y = \\frac{1}{2}$$"),
             new_code_cell("ask()", outputs=[asked]), new_code_cell("trace.table()", outputs=[steps], id="steps"),
             new_markdown_cell(f"## Recap\n\n{recap}")]
    return {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def lay_out(folder, notebook, equations="[A, '#numbers']", table="steps"):
    """A small book of one lesson with its entry and no paths."""
    small_book.lay_out(folder, {})
    with (folder / "conf.py").open("a", encoding="utf8") as conf:
        conf.write(f'extensions += ["tsbook.handouts"]\ntemplates_path = [{str(ROOT / "book/_templates")!r}]\n')
    write(folder, notebook)
    (folder / talk_entries.FOLDER).mkdir()
    one = "  - {ask: 'Why?', answer: 'So.', at: numbers}\n"
    (folder / talk_entries.FOLDER / "01.yaml").write_text(
        ENTRY.format(questions=(one * 5).rstrip(), equations=equations, table=table), "utf8")


def write(folder, notebook):
    small_book.nbformat.write(small_book.nbformat.from_dict(notebook), folder / "lessons/01_one.ipynb")


def test_a_handout_is_made_of_the_lesson_and_holds_no_answer(tmp_path):
    lay_out(tmp_path, lesson())
    page = (small_book.build(tmp_path) / "handouts/01.html").read_text("utf8")
    assert "<h1>01 · One</h1>" in page
    assert "<a href='../lessons/01_one.html'>lessons/01_one.html</a>" in page
    assert '<li>Three <strong>lines</strong>, of <span class="math inline"><math' in page
    assert "<li>Two more.</li>" in page
    assert re.search(r"<li><code>A</code><span>.*?softmax.*?</span><i>L S</i></li>", page)
    assert "<mfrac>" in page
    assert "<td><code>A</code></td><td><math>" in page
    assert "<td>L S</td>" in page
    assert "Which number has 01-how-many?<hr>" in page
    assert "One." not in page
    assert "<script" not in page
    assert "$" not in page


def test_a_handout_follows_its_lesson(tmp_path):
    lay_out(tmp_path, lesson())
    small_book.build(tmp_path)
    write(tmp_path, lesson(recap="- Another end."))
    assert "<li>Another end.</li>" in (small_book.build(tmp_path) / "handouts/01.html").read_text("utf8")


@pytest.mark.parametrize(("about", "said"), [
    ({"equations": "[B]"}, "handout 01: equations: expected a step with a formula out of .'A'., got 'B'"),
    ({"equations": "['#recap']"}, "handout 01: expected a displayed formula in the section 'recap', got none"),
    ({"table": "recap"}, "handout 01: expected a table in the section 'recap', got none"),
    ({"table": "nowhere"}, "handout 01: expected the anchor of a section out of .*, got 'nowhere'"),
])
def test_what_a_handout_names_and_the_lesson_lacks_stops_the_build(tmp_path, about, said):
    lay_out(tmp_path, lesson(), **about)
    with pytest.raises(ExtensionError, match=said):
        small_book.build(tmp_path)


def test_a_lesson_without_an_entry_stops_the_build(tmp_path):
    lay_out(tmp_path, lesson())
    (tmp_path / talk_entries.FOLDER / "01.yaml").unlink()
    with pytest.raises(ExtensionError, match=r"expected 01\.yaml, as the book has a lesson 01, got none"):
        small_book.build(tmp_path)


@pytest.mark.parametrize(("printed", "text", "choices"), [
    ("Question 01-a: How `many`?\n  a number in %", "How <code>many</code>?", ()),
    ("Question 01-a: Which?\n  ( ) One & all.\n  ( ) Two.", "Which?", ("○ One &amp; all.", "○ Two.")),
    ("Question 01-a: Which?\n  [ ] *One*.", "Which?", ("□ <em>One</em>.",)),
    ("Question 01-a: Sort.\n  ↕ one\n  ↕ two", "Sort.", ("↕ one", "↕ two")),
    ("Question 01-a: Match.\n  this → ?\n  ? = that", "Match.", ("this → …", "· that")),
])
def test_every_kind_of_question_has_its_form_on_paper(printed, text, choices):
    assert handout.question(printed) == (text, choices)


@pytest.mark.parametrize("number", HANDOUTS)
def test_a_handout_has_every_question_and_line_of_its_lesson(book, number):
    page, notebook = (book / f"handouts/{number}.html").read_text("utf8"), notebooks.read(LESSONS[number])
    asked = sum(notebooks.asked(cell) is not None for cell in notebook["cells"])
    assert asked == len(handout.questions(notebook)) > 3
    parts = dict(re.findall(r"<section class='(\w+)'(.*?)</section>", page, re.S))
    assert set(parts) == {"takeaways", "equations", "table", "questions"}
    assert parts["questions"].count("<li>") == asked
    assert parts["takeaways"].count("<li>") == 3
    assert len(re.findall("<li>", parts["equations"])) == len(talk_entries.entry_of(ROOT, number).equations) > 0


@pytest.mark.browser
@pytest.mark.parametrize("number", HANDOUTS)
def test_a_handout_fits_one_page_of_a4(visit, number):
    page = visit(f"handouts/{number}.html")
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    box = [float(side) for side in re.search(rb"/MediaBox\s*\[([\d. ]+)\]", printed)[1].split()]
    assert box == pytest.approx([0, 0, 595.3, 841.9], abs=1)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    assert page.evaluate("document.body.getBoundingClientRect().height") <= SPARE * HEIGHT
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 11  # pixels: 8.25 points


@pytest.mark.browser
@pytest.mark.parametrize("number", HANDOUTS)
def test_a_handout_can_be_read_on_every_screen(visit, number):
    page = visit(f"handouts/{number}.html")
    for width in (1280, 390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, *BY_COLOUR) == []


@pytest.mark.browser
def test_a_lesson_leads_to_its_handout_and_back(visit):
    page = visit("lessons/09_knowledge_guided_conditioning.html")
    with page.expect_popup() as opened:
        page.locator(".article-header-buttons a[href$='handouts/09.html']").click()
    paper = opened.value
    assert paper.locator("h1").inner_text() == "09 · Knowledge-guided conditioning"
    paper.locator("header a").click()
    paper.wait_for_url("**/lessons/09_knowledge_guided_conditioning.html")
