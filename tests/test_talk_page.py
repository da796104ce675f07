"""The talk of each lesson in the built book: every slide fits, every explorer answers, and the way out leads back."""

import json
import sys

import pytest
from browsing import ROOT, pages, watched

sys.path.append(str(ROOT / "book/_ext"))
from tsbook.talk import plan

pytestmark = pytest.mark.browser
LESSONS = pages("<template data-cell=")
SIZES = [(1920, 1080), (1280, 720), (1024, 768)]
KGC = "lessons/09_knowledge_guided_conditioning.html"
OPEN = "document.querySelector('.ts-talk.ts-ready')"

FAULTS = """async () => {
  const { deck, slides } = document.querySelector(".ts-talk").talk, faults = [];
  const most = (found) => found.slice(0, 3).map((el) => `${el.tagName}.${el.className?.baseVal ?? el.className}`);
  dispatchEvent(new Event("resize"));
  for (const { number, section, room, body } of slides) {
    deck.slide(number - 1, 0, -1);
    const say = (what, els = []) => faults.push([number, what, ...most(els)].join(" "));
    const parts = [body, room, document.querySelector(".ts-talk-bar")];
    const [inner, outer, bar] = parts.map((el) => el.getBoundingClientRect());
    if (inner.height > outer.height + 1) say(`is ${Math.round(inner.height - outer.height)} pixels too high`);
    if (outer.bottom > bar.top + 1 || outer.top < 0 || bar.bottom > innerHeight) say("leaves the window");
    if (!inner.height || !section.textContent.trim()) say("is empty");
    const all = [...body.querySelectorAll(":not(mjx-container, mjx-container *)")];
    const seen = all.filter((el) => el.checkVisibility());
    const cut = (el) => el.scrollWidth > el.clientWidth + 1 || el.scrollHeight > el.clientHeight + 1;
    const scrolls = seen.filter((el) => /auto|scroll/.test(getComputedStyle(el).overflow) && cut(el));
    if (scrolls.length) say("scrolls", scrolls);
    const wide = seen.filter((el) => el.getBoundingClientRect().right > innerWidth + 1);
    if (wide.length) say("is too wide", wide);
  }
  const { scrollWidth, scrollHeight } = document.scrollingElement;
  if (scrollWidth > innerWidth || scrollHeight > innerHeight) faults.push("the page scrolls");
  return faults;
}"""

MOVE = """async () => {
  const { deck, slides } = document.querySelector(".ts-talk").talk, still = [];
  const plain = (_, v) => typeof v === "bigint" ? String(v) : v;
  const nested = (now, to) => Array.isArray(now) ? now.map((inner) => nested(inner, to)) : to;
  const others = {
    slider: ({ min, max }, now) => [now === max ? min : max], window: ({ max }, now) => [now ? 0 : max],
    choice: ({ options }, now) => options.filter((option) => option !== now), toggle: (input, now) => [!now],
    cells: ({ min, max }, now) => [nested(now, max), nested(now, min)], tokens: () => [],
  };
  for (const { number, section } of slides) {
    for (const el of section.querySelectorAll("[data-explorer]")) {
      deck.slide(number - 1);
      await el.explorer.ready;
      const first = JSON.stringify(el.explorer.values(), plain);
      const { inputs } = JSON.parse(el.querySelector("[data-spec]").textContent);
      let moved = false;
      for (const input of inputs) {
        for (const value of others[input.kind](input, el.explorer.inputs()[input.name])) {
          moved ||= JSON.stringify(await el.explorer.set(input.name, value), plain) !== first;
        }
      }
      if (!moved) still.push(el.dataset.explorer);
    }
  }
  return still;
}"""


def notebook(page):
    return json.loads((ROOT / page.replace(".html", ".ipynb")).read_text("utf8"))


@pytest.fixture
def present(browser, served):
    """`present(page)` opens the talk of a lesson; what goes wrong on any page fails the test."""
    contexts, problems = [], []

    def open_talk(name, query="?talk", site=served, size=SIZES[1], **context):
        contexts.append(browser.new_context(viewport=dict(zip(("width", "height"), size, strict=True)), **context))
        page = watched(contexts[-1], site, problems)
        page.goto(site + name + query)
        if "talk" in query:
            page.wait_for_function(f"() => {OPEN}")
        return page

    yield open_talk
    for context in contexts:
        context.close()
    assert problems == []


@pytest.mark.parametrize("name", LESSONS)
def test_every_slide_fits_and_every_explorer_on_one_answers(present, name):
    page = present(name)
    slides = plan(notebook(name))
    assert page.evaluate(f"{OPEN}.talk.slides.map(({{ kind }}) => kind)") == [slide.kind for slide in slides]
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(f"() => innerWidth === {width} && innerHeight === {height}")
        assert page.evaluate(FAULTS) == [], (width, height)
    assert page.evaluate(MOVE) == []


COVERED = """(el) => [...el.querySelectorAll(".ts-presets button, .ts-controls input")].filter((handle) => {
  const { left, top, width, height } = handle.getBoundingClientRect();
  return !handle.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}).map((handle) => handle.textContent || handle.ariaLabel || handle.type)"""


def test_the_first_slide_shown_lies_above_the_bar_and_a_preset_that_asks_covers_no_handle(present):
    explorer = next(i for i, slide in enumerate(plan(notebook(KGC)), 1) if slide.kind == "explorer")
    page = present(KGC, f"?talk={explorer}")
    slide, bar = (page.locator(part).bounding_box() for part in ("section.present", ".ts-talk-bar"))
    assert slide["y"] >= 0
    assert slide["y"] + slide["height"] <= bar["y"] + 1
    kgc = page.locator("section.present [data-explorer]")
    kgc.evaluate("el => el.explorer.ready")
    kgc.locator("[data-preset]").first.click()
    kgc.locator("[data-guess]:visible").wait_for()
    assert kgc.evaluate(COVERED) == []


PLACE = "[...document.querySelectorAll('article p, article h2')].findIndex((el) => el.getBoundingClientRect().top > 0)"
LEFT = "!document.querySelector('.ts-talk')"
NOW = f"{OPEN}.talk.deck.getIndices().h + 1"


def go(page, key, number):
    """Press a key of the talk and wait for the slide that it leads to."""
    page.keyboard.press(key)
    there = f"{NOW} === {number} && new URLSearchParams(location.search).get('talk') === '{number}'"
    page.wait_for_function(f"() => {there}")


@pytest.mark.parametrize("protocol", ["http", "file"])
def test_escape_leads_back_to_the_very_place_and_nothing_of_the_page_is_changed(present, served, book, protocol):
    page = present(KGC, "", site=served if protocol == "http" else book.as_uri() + "/")
    page.evaluate("Promise.all([...document.querySelectorAll('[data-explorer]')].map((el) => el.explorer.ready))")
    page.locator("#a-row-of-zeros > p").last.evaluate("el => el.scrollIntoView({ behavior: 'instant' })")
    assert page.evaluate("scrollY") > 1000
    before = page.evaluate(f"[{PLACE}, scrollY, document.querySelector('article').textContent]")
    page.keyboard.press("t")
    page.wait_for_function(f"() => {OPEN}")
    number = page.evaluate(NOW)
    assert plan(notebook(KGC))[number - 1].section == "a-row-of-zeros"
    go(page, "PageDown", number + 1)
    page.keyboard.press("Escape")
    page.wait_for_function(f"() => {LEFT}")
    assert page.evaluate(f"[{PLACE}, scrollY, document.querySelector('article').textContent]") == before
    assert "talk=" not in page.url


def test_reload_back_and_forward_find_the_slide_and_the_page(present):
    page = present(KGC, "?talk=1")  # a title has no answer that would come before the next slide
    go(page, "PageDown", 2)
    page.reload()
    page.wait_for_function(f"() => {OPEN} && {NOW} === 2")
    page.keyboard.press("Escape")
    page.wait_for_function(f"() => {LEFT}")
    page.get_by_role("button", name="Present").click()
    page.wait_for_function(f"() => {OPEN}")
    number = page.evaluate(NOW)
    page.go_back()
    page.wait_for_function(f"() => {LEFT}")
    page.go_forward()
    page.wait_for_function(f"() => {OPEN} && {NOW} === {number}")


@pytest.mark.parametrize(("query", "cell"), [
    ("?talk=c09-play", "c09-play-explore"), ("?talk#what-a-zero-costs", "c09-price"), ("?talk=99", "c09-references"),
    ("?talk=nothing", "c09-title")])
def test_an_address_leads_to_a_slide_by_cell_section_or_number(present, query, cell):
    slides = plan(notebook(KGC))
    page = present(KGC, query)
    assert slides[page.evaluate(NOW) - 1].id == cell


def test_a_state_in_the_address_survives_the_talk_and_shows_on_its_slide(present):
    page = present(KGC, "")
    explorer = page.locator("[data-explorer=kgc]")
    explorer.evaluate("async (el) => { await el.explorer.ready; await el.explorer.set('delta', 0.001); }")
    page.wait_for_function("() => location.search.includes('s=')")
    page.keyboard.press("t")
    page.wait_for_function(f"() => {OPEN}")
    page.reload()
    page.wait_for_function(f"() => {OPEN}")
    kgc = "document.querySelector('.ts-talk [data-explorer=kgc]')"
    page.wait_for_function(f"() => {kgc}.explorer.inputs().delta === 0.001")
    page.keyboard.press("Escape")
    page.wait_for_function(f"() => {LEFT}")
    assert "s=" in page.url


def test_a_remote_control_steps_whatever_has_the_focus(present):
    page = present(KGC, "?talk=c09-play")
    number = page.evaluate(NOW)
    slider = page.locator("[data-explorer=kgc] input[type=range]").first
    slider.click()
    value = slider.input_value()
    for key, to in (("PageDown", number + 1), ("PageUp", number), ("ArrowRight", number + 1), ("ArrowLeft", number),
                    ("Space", number + 1), ("Shift+Space", number), ("End", len(plan(notebook(KGC)))), ("Home", 1)):
        go(page, key, to)
    assert slider.input_value() == value
    go(page, "End", len(plan(notebook(KGC))))
    for key in (".", "b"):
        page.keyboard.press(key)
        assert page.evaluate(f"{OPEN}.talk.deck.isPaused()")
        page.keyboard.press("Escape")
        assert not page.evaluate(f"{OPEN}.talk.deck.isPaused()")
    page.keyboard.press("o")
    assert page.evaluate(f"{OPEN}.talk.deck.isOverview()")
    page.keyboard.press("Escape")
    assert not page.evaluate(f"{OPEN}.talk.deck.isOverview()")
    page.keyboard.press("Escape")
    page.wait_for_function(f"() => {LEFT}")


def test_a_control_reached_by_keyboard_keeps_its_arrow_keys(present):
    page = present(KGC, "?talk=c09-play")
    number = page.evaluate(NOW)
    slider = page.locator("[data-explorer=kgc] input[type=range]").first
    page.keyboard.press("Tab")
    slider.focus()
    value = slider.input_value()
    page.keyboard.press("ArrowRight")
    assert slider.input_value() != value
    assert page.evaluate(NOW) == number


def test_the_answer_to_a_prediction_is_the_next_step(present):
    page = present(KGC, "?talk=c09-ask-zero")
    number = page.evaluate(NOW)
    answer = page.locator(".slides > .present .ts-reveal")
    assert not answer.is_visible()
    page.keyboard.press("PageDown")
    answer.wait_for(state="visible")
    assert page.evaluate(NOW) == number
    assert "13.8" in answer.inner_text()
    go(page, "PageDown", number + 1)


def test_a_drag_on_a_zoomed_slide_moves_the_cell_under_the_pointer(present):
    page = present(KGC, "?talk=c09-play")
    explorer = page.locator("[data-explorer=kgc]")
    explorer.evaluate("el => el.explorer.ready")
    before = explorer.evaluate("el => el.explorer.inputs().prior")
    box = explorer.locator("[data-input=prior] input").nth(4).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 30, steps=3)
    page.mouse.up()
    moved = explorer.evaluate("el => el.explorer.inputs().prior")
    assert moved[1][1] > before[1][1]
    moved[1][1] = before[1][1]
    assert moved == before


def test_every_section_of_the_plan_is_an_anchor_of_the_page(book):
    for name in LESSONS:
        text = (book / name).read_text("utf8")
        assert all(f'id="{slide.section}"' in text for slide in plan(notebook(name))), name


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_line_below_the_slides_is_whole_and_large_enough(visit, width):
    page = visit(f"{KGC}?talk", width, 740)
    page.wait_for_function(OPEN)
    found = page.locator(".ts-talk-bar > *").evaluate_all(
        "all => all.map(el => [...Object.values(el.getBoundingClientRect().toJSON()), getComputedStyle(el).fontSize])")
    assert len(found) == 8
    assert all(x >= 0 and right <= width and bottom <= 740 for x, _, _, _, _, right, bottom, *_ in found)
    assert {size for *_, size in found} == {"16px"}


def test_the_overview_shows_all_slides_above_the_bar(visit):
    page = visit(f"{LESSONS[0]}?talk", 1280, 900)
    page.wait_for_function(OPEN)
    page.keyboard.press("o")
    page.locator(".reveal.overview").wait_for()
    last, bar = (page.locator(part).last.bounding_box() for part in (".slides > section", ".ts-talk-bar"))
    assert last["y"] + last["height"] <= bar["y"]


def test_the_title_is_larger_than_the_text_on_a_phone(visit):
    page = visit(f"{LESSONS[0]}?talk", 390, 844)
    page.wait_for_function(OPEN)
    size = "el => parseFloat(getComputedStyle(el).fontSize) * (el.currentCSSZoom ?? 1)"
    title, text = (page.locator(f".present {part}").first.evaluate(size) for part in (".ts-head h1", ".ts-body p"))
    assert title > 1.2 * text
