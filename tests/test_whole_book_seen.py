"""Every page with all of it open, in one visit: what axe finds in both themes and as narrow as a phone, and whether it
reads in the same order, with the same words, when its style sheets are gone."""

import pytest
from axe import BY_COLOUR, BY_WIDTH, violations
from browsing import BOOK, pages
from live import ask
from whole_book import names

pytestmark = pytest.mark.browser
TALK = "lessons/05_destationary_attention.html?talk"
CODE = "lessons/02_handles.html"  # the colours of code are the same everywhere, and most of what axe would look at
READY = """() => Promise.all([document.fonts.ready, self.MathJax?.startup?.promise,
  ...[...document.querySelectorAll("[data-explorer]")].map(el => el.explorer.ready)])"""
UNFOLD = "() => { for (const fold of document.querySelectorAll('main details')) fold.open = true; }"
OPEN = """async el => {
  el.querySelector("[data-pin]").click();
  el.querySelector("[data-walk='1']").click();
  el.querySelector("[data-preset]:has([aria-hidden])")?.click();
  const cell = el.querySelector(".ts-cell, .ts-bar"), box = cell?.getBoundingClientRect();
  cell?.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + 1 }));
  while (cell && el.dataset.sways !== "shown") await new Promise(later => setTimeout(later, 10));
  return true;
}"""
ANSWER = """question => {
  const box = question.querySelector("input:is([type=radio], [type=checkbox])");
  if (box && !box.checked) box.click();
  question.querySelector(".ts-q-row button").click();
  return question.querySelector(".ts-q-feedback").textContent;
}"""
# Text that only a style sheet says; a number beside an item of a list is the list's own.
PAINTED = """() => {
  const found = [];
  for (const el of document.querySelectorAll("body *:not(mjx-container *)")) {
    for (const part of ["::before", "::after"]) {
      const said = getComputedStyle(el, part).content, words = said.startsWith('"') ? said.slice(1, -1) : "";
      if (!/[\\p{L}\\p{N}]/u.test(words)) continue;
      const name = [el.textContent, el.ariaLabel, el.title, el.querySelector("title")?.textContent].join(" ");
      if (!name.includes(words)) found.push([el.outerHTML.slice(0, 80), words]);
    }
  }
  return found;
}"""
# Text that only a style sheet hides: without one it is there, twice or too early.
COVERED = """() => {
  const found = [], part = document.querySelector("article") ?? document.querySelector("main");
  const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const el = texts.currentNode.parentElement, range = document.createRange();
    if (!texts.currentNode.data.trim() || el.closest(`script, style, template, noscript, [hidden], dialog, title,
        option, datalist, textarea, mjx-container, LATER`)) continue;
    range.selectNode(texts.currentNode);
    if (range.getClientRects().length && getComputedStyle(el).visibility !== "hidden") continue;
    found.push(el.outerHTML.slice(0, 80));
  }
  return found;
}"""
# Selector and text of what shows on a pointer and step by step: said once, and no more.
LATER = {".headerlink": 'class="headerlink"', "[data-about]": "data-about="}
# Pairs of neighbours of which the later one stands above the earlier, and not in a column to its right.
ORDER = """() => {
  const parts = "h1, h2, h3, p, li, pre, table, figure, label, fieldset, [data-explorer], [data-question], .ts-shown";
  const flow = [...document.querySelectorAll("main")].flatMap(main => [...main.querySelectorAll(parts)]).filter(el =>
    el.getClientRects().length && !el.closest("[data-about], [aria-live], .bd-sidebar-secondary")
    && getComputedStyle(el).visibility !== "hidden" && getComputedStyle(el).position === "static");
  return flow.slice(1).map((el, i) => [flow[i], el]).filter(([before, el]) => {
    const [a, b] = [before, el].map(one => one.getBoundingClientRect());
    return !before.contains(el) && b.bottom <= a.top + 1 && b.left < a.right - 1;
  }).map(pair => pair.map(el => el.textContent.trim().slice(0, 60)));
}"""
# The theme lets Tab stop at a table once it scrolls, a moment after the window has changed.
TABS = """() => [...document.querySelectorAll(".pst-scrollable-table-container")]
  .every(({ scrollWidth, clientWidth, tabIndex }) => scrollWidth <= clientWidth || tabIndex === 0)"""
UNLABELLED = """() => [...document.querySelectorAll("label[for]")].filter(label =>
  !(label.compareDocumentPosition(document.getElementById(label.htmlFor)) & Node.DOCUMENT_POSITION_FOLLOWING))
  .map(label => label.outerHTML)"""
FIRST = """() => {
  for (const sheet of document.querySelectorAll("link[rel=stylesheet], style")) sheet.remove();
  return document.body.innerText.trim();
}"""


@pytest.mark.parametrize("name", pages())
def test_a_page_with_all_of_it_open_can_be_used_by_everybody(browser, served, name):
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
    page.goto(served + name)
    if name == "index.html":
        page.wait_for_url("**/book/index.html")
    page.evaluate(READY)
    page.evaluate(UNFOLD)
    assert page.evaluate(ORDER) == []
    for explorer in page.locator("[data-explorer]").all():
        ask(explorer, OPEN)
    for question in page.locator("[data-question]").all()[:3]:
        assert ask(question, ANSWER)
    skip = () if name == CODE else ("pre",)
    assert violations(page, skip=skip) == []
    assert page.evaluate(PAINTED) == []
    assert page.evaluate(COVERED.replace("LATER", ", ".join(LATER))) == []
    assert page.evaluate(UNLABELLED) == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.set_viewport_size({"width": 390, "height": 800})
    page.evaluate("scrollTo(0, 0)")  # what sticks to an edge of the window lies over nothing that can be reached there
    page.wait_for_function(TABS)
    assert violations(page, *BY_COLOUR, *BY_WIDTH, skip=skip) == []
    assert page.evaluate(FIRST).startswith("Skip to main content")
    page.close()


def test_slides_can_be_used_by_everybody(browser, served):
    page = browser.new_page(viewport={"width": 1280, "height": 720}, color_scheme="light")
    page.goto(served + TALK)
    page.wait_for_selector(".ts-talk .slides > .present")
    page.evaluate(READY)
    assert violations(page) == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert violations(page, *BY_COLOUR) == []
    page.close()


@pytest.mark.parametrize("mark", LATER.values())
def test_what_a_style_sheet_holds_back_is_there_to_be_held_back(book, mark):
    assert any(mark in (BOOK / name).read_text("utf8") for name in names("lessons/"))
