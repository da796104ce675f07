"""A talk on paper: a PDF of Chromium's has a page for each slide, whole, with the explorers as they stand."""

import json
import re
import sys
from io import BytesIO
from unicodedata import normalize

import pytest
from browsing import ROOT, pages
from pypdf import PdfReader

sys.path.append(str(ROOT / "book/_ext"))
from tsbook.talk import plan

pytestmark = pytest.mark.browser
LESSONS = pages("<template data-cell=")
KGC = "lessons/09_knowledge_guided_conditioning.html"
READY = "document.querySelector('.ts-talk.ts-ready')"
IN_DECK = "document.querySelectorAll('main > .reveal > .slides > section').length"

# A letter that comes late makes a text longer, and its slide smaller in the next picture.
DRAWN = "() => document.fonts.ready.then(() => new Promise(drawn => setTimeout(() => requestAnimationFrame(drawn))))"

# Slides that do not fit their leaf, or show less than their room would let them.
CLIPPED = """() => {
  const { slides } = document.querySelector(".ts-talk").talk, faults = [];
  for (const { number, section, room, body } of slides) {
    const [leaf, outer, inner] = [section.closest(".ts-leaf"), room, body].map((el) => el.getBoundingClientRect());
    if (leaf.width !== 1280 || leaf.height !== 720) faults.push(`${number}: a leaf of ${leaf.width} × ${leaf.height}`);
    if (!inner.height || inner.height > outer.height + 1) faults.push(`${number}: ${inner.height} in ${outer.height}`);
    if (outer.bottom > leaf.bottom) faults.push(`${number}: ends below its leaf`);
    const wide = [...body.querySelectorAll(":not(mjx-container *)")].filter((el) => el.checkVisibility() &&
      el.getBoundingClientRect().right > leaf.right + 1);
    if (wide.length) faults.push(`${number}: ${wide[0].tagName}.${wide[0].className} is too wide`);
    const hidden = [...body.querySelectorAll(".fragment")].filter((el) => getComputedStyle(el).opacity !== "1");
    if (hidden.length) faults.push(`${number}: a step is not shown`);
  }
  return faults;
}"""


def slides(name):
    return plan(json.loads((ROOT / name.replace(".html", ".ipynb")).read_text("utf8")))


from_the_disk = pytest.mark.parametrize("site", ["file"], indirect=True)


def opened(visit, query, **context):
    page = visit(f"{KGC}?{query}", **context)
    page.wait_for_function(f"() => {READY}")
    return page


def printed(page, **options):
    return PdfReader(BytesIO(page.pdf(prefer_css_page_size=True, print_background=True, **options)))


@pytest.mark.parametrize("name", LESSONS)
def test_a_talk_has_as_many_pages_as_slides(browser, served, name):
    page = browser.new_page()
    page.goto(f"{served}{name}?talk&print")
    page.locator(".ts-leaves").wait_for()
    page.emulate_media(media="print")
    page.evaluate(DRAWN)
    assert page.evaluate(CLIPPED) == []
    page.emulate_media(media=None)
    planned, paper = slides(name), printed(page)
    page.close()
    assert len(paper.pages) == len(planned)
    assert {(sheet.mediabox.width, sheet.mediabox.height) for sheet in paper.pages} == {(960, 540)}  # points
    for sheet, slide in zip(paper.pages, planned, strict=True):
        text = normalize("NFKC", sheet.extract_text())
        missing = [word for word in re.findall("[A-Za-z]{3,}", slide.title) if word not in text]
        assert not missing, (slide.id, text)


@from_the_disk
def test_an_explorer_is_printed_as_it_stands_and_lives_on(visit):
    page = opened(visit, "talk=1")
    count = len(slides(KGC))
    page.evaluate("() => document.querySelector('[data-explorer]').explorer.ready")
    before = printed(page)
    moved = page.evaluate("""async () => {
      const { slides, deck } = document.querySelector(".ts-talk").talk;
      const { number, section } = slides.find(({ kind }) => kind === "explorer");
      const { explorer } = section.querySelector("[data-explorer]");
      deck.slide(number - 1);
      await explorer.set("delta", 0.0625);
      return number;
    }""")
    paper = printed(page)
    assert len(before.pages) == len(paper.pages) == count
    value = "0.0625"
    assert value not in before.pages[moved - 1].extract_text()
    assert value in paper.pages[moved - 1].extract_text()
    assert page.evaluate(IN_DECK) == count
    assert page.evaluate(f"{READY}.talk.deck.getIndices().h") == moved - 1
    live = "document.querySelector('section.present [data-explorer]')"
    assert page.evaluate(f"{live}.checkVisibility() && {live}.explorer.set('delta', 1e-6).then(() => true)")


def test_the_address_opens_the_pages_and_escape_leads_back_to_the_slides(visit):
    page = opened(visit, "talk=3&print")
    page.locator(".ts-leaves nav").wait_for()
    assert page.locator(".ts-leaf > .slides > section").count() == len(slides(KGC))
    page.evaluate(f"{READY}.talk.deck.layout()")  # as reveal.js does at times
    page.keyboard.press("ArrowRight")  # scrolls at most: no slide is at hand
    page.keyboard.press("Escape")
    page.locator(".ts-leaves").wait_for(state="detached")
    assert page.evaluate(IN_DECK) == len(slides(KGC))
    assert page.locator("section.present").is_visible()
    assert page.evaluate("location.search") == "?talk=3"


@from_the_disk
def test_paper_is_light_and_the_screen_stays_dark(visit):
    page = opened(visit, "talk=2", color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(theme) == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(theme) == "dark"
    assert page.evaluate(IN_DECK) == len(slides(KGC))
