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
SMALLEST = 8.5  # pixels of the smallest type in a window 720 pixels high: as on a page that is read from near

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
            page.wait_for_function(OPEN)
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
        page.wait_for_function(f"innerWidth === {width} && innerHeight === {height}")
        assert page.evaluate(FAULTS) == [], (width, height)
    assert page.evaluate(MOVE) == []
