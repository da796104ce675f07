"""The built book on a phone: nothing lies over what is looked at, and nothing that is to be read is cut off."""

import pytest
from browsing import pages
from live import ask

PHONES = [(320, 568), (390, 740)]
SIDEWAYS = (844, 390)
LESSON = "lessons/09_knowledge_guided_conditioning.html"
over_http = pytest.mark.parametrize("site", ["http"], indirect=True)
pytestmark = [pytest.mark.browser, over_http]
FOCUSED = """async back => {
  const found = [...document.querySelectorAll(".ts-explorer :is(.ts-plot[tabindex], .ts-inputs input)")];
  const covered = [];
  document.activeElement.blur();
  scrollTo({ top: back ? 1e6 : 0, behavior: "instant" });
  for (const one of back ? found.reverse() : found) {
    one.focus();
    await new Promise(requestAnimationFrame);
    const box = one.getBoundingClientRect(), el = one.closest(".ts-explorer");
    const [guide, dock] = [".ts-guide", ".ts-dock"].map(part => el.querySelector(part).getBoundingClientRect());
    const header = document.querySelector(".bd-header-article").getBoundingClientRect();
    const clear = box.bottom <= guide.top + 1 || box.top >= guide.bottom - 1;
    if (!clear || box.bottom > dock.top + 1 || box.top < header.bottom - 1) covered.push(one.outerHTML.slice(0, 80));
  }
  return [found.length, covered];
}"""
RESTS = """el => {
  const [dock, line] = [".ts-dock", ".ts-sway"].map(part => el.querySelector(part).getBoundingClientRect());
  const [{ lineHeight }, { left, right }] = [getComputedStyle(el.querySelector(".ts-sway p")), line];
  return { dock: dock.height, line: line.height, one: parseFloat(lineHeight), page: document.body.scrollHeight,
    touched: !document.elementFromPoint((left + right) / 2, dock.top + 2).closest(".ts-dock") };
}"""
SCROLLS = """el => { const { tabIndex, scrollHeight, clientHeight } = el; el.scrollTop = 1e4;
  return [tabIndex, scrollHeight > clientHeight, el.scrollTop + clientHeight >= scrollHeight - 1]; }"""


def phone(visit, name, size):
    page = visit(name, *size, has_touch=True, is_mobile=True)
    page.evaluate("() => Promise.all([...document.querySelectorAll('[data-explorer]')].map(el => el.explorer.ready))")
    return page


@pytest.mark.parametrize("size", [*PHONES, SIDEWAYS])
def test_what_has_the_focus_stands_clear_of_header_guide_and_dock(visit, size):
    page = phone(visit, LESSON, size)
    for back in (False, True):
        count, covered = page.evaluate(FOCUSED, back)
        assert count > 20
        assert covered == []


@pytest.mark.parametrize("size", PHONES)
def test_with_nothing_chosen_the_dock_is_as_small_as_its_words_and_nothing_jumps_later(visit, size):
    page = phone(visit, LESSON, size)
    one = page.locator("[data-explorer=kgc]")
    plot = one.locator("[data-step=S] .ts-plot")
    plot.focus()
    before = ask(one, RESTS)
    assert before["line"] < 4.5 * before["one"]
    assert before["line"] < before["dock"] - 20
    assert before["touched"]
    plot.press("Enter")
    one.locator("[data-sway]:not([aria-busy=true]) li").first.wait_for()
    after = ask(one, RESTS)
    assert (after["dock"], after["page"]) == (before["dock"], before["page"])
    assert after["line"] == pytest.approx(after["dock"], abs=1)
    plot.press("Escape")
    assert ask(one, RESTS) == before


@pytest.mark.parametrize("name", pages("data-explorer="))
def test_what_is_said_of_a_step_stands_whole_and_takes_a_third_of_a_phone_at_most(visit, name):
    guides = phone(visit, name, PHONES[1]).locator(".ts-guide").evaluate_all("""all => all.map(el => {
      const caption = el.querySelector(".ts-caption");
      return [caption.scrollHeight - caption.clientHeight, el.getBoundingClientRect().height];
    })""")
    assert guides
    assert all(hidden <= 1 and height <= PHONES[1][1] / 3 for hidden, height in guides), guides


@pytest.mark.parametrize("size", PHONES)
def test_the_list_of_influences_is_scrolled_and_reached_by_tab(visit, size):
    page = phone(visit, LESSON, size)
    one = page.locator("[data-explorer=price]")
    one.locator("[data-step=price] .ts-plot").press("Enter")
    line = one.locator("[data-sway]:not([aria-busy=true])")
    line.locator("li").first.wait_for()
    page.wait_for_function("el => el.tabIndex === 0", arg=line.element_handle())
    assert line.evaluate(SCROLLS) == [0, True, True]
    for _ in range(5):
        page.keyboard.press("Tab")
        if line.evaluate("el => el === document.activeElement"):
            break
    else:
        pytest.fail("Tab does not reach the list")


@pytest.mark.parametrize("width", [320, 390, 768])
def test_nothing_lies_over_the_text_on_the_way_back_up(visit, width):
    page = visit(LESSON, width, 700)
    page.evaluate("scrollTo(0, 3000)")
    page.mouse.wheel(0, -600)
    page.wait_for_function("() => scrollY < 2900")
    assert page.locator("#pst-back-to-top").evaluate("el => getComputedStyle(el).display") == "none"


@pytest.mark.parametrize("width", [320, 390])
@pytest.mark.parametrize("name", pages("data-explorer="))
def test_the_arrows_to_the_pages_before_and_after_are_on_the_screen(visit, name, width):
    page = visit(name, width, 700)
    sides = "found => found.map(el => el.getBoundingClientRect()).map(({ left, right }) => [left, right])"
    found = page.locator(".prev-next-area i").evaluate_all(sides)
    assert found
    assert all(0 <= left < right <= width for left, right in found)


def test_a_question_in_the_address_is_answered_on_the_search_page_alone(visit):
    assert not any(file.endswith("searchindex.js") for file in visit(f"{LESSON}?q=tau").asked)
    page = visit("search.html?q=tau")
    page.locator("#search-results li").first.wait_for()


def test_a_search_finds_the_page_about_a_word_first_and_names_its_sections(visit):
    page = visit("search.html?q=the+gate")
    page.get_by_text("Search finished").wait_for()
    first = page.locator("ul.search > li").first
    assert first.locator("> a").inner_text() == "14 · The gate"
    sections = first.locator("li a")
    assert all("gate" in title.lower() for title in sections.all_inner_texts())
    sections.first.click()
    page.wait_for_url("**/lessons/14_gate.html#*")
    assert page.locator(":target").count() == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_what_is_searched_for_begins_after_the_magnifier(visit, width):
    page = visit("search.html?q=tau", width)
    field = page.locator(".bd-search:visible")
    icon = field.locator("i").bounding_box()
    begins = field.locator("input").evaluate(
        "el => el.getBoundingClientRect().left + parseFloat(getComputedStyle(el).paddingLeft)")
    assert begins >= icon["x"] + icon["width"] + 2


SHADOWS = """all => all.map(el => [el.scrollWidth > el.clientWidth,
  getComputedStyle(el).backgroundAttachment.startsWith("local, scroll")])"""
BROKEN = """all => all.filter(el => {
  const texts = document.createTreeWalker(el, NodeFilter.SHOW_TEXT), range = document.createRange();
  const tops = new Set();
  while (texts.nextNode()) {
    range.selectNodeContents(texts.currentNode);
    for (const { top, width } of range.getClientRects()) if (width) tops.add(Math.round(top));
  }
  return tops.size > el.textContent.trim().split(/\\s+/).length;
}).map(el => el.textContent)"""


def test_code_that_is_wider_than_a_phone_has_a_shadow_at_its_edge(visit):
    found = visit(LESSON, 390, 740).locator(".bd-article pre").evaluate_all(SHADOWS)
    assert [shadow for wide, shadow in found if wide] == [True] * sum(wide for wide, _ in found)
    assert any(wide for wide, _ in found)


def test_the_heads_of_tables_break_between_words_alone(visit):
    assert visit("book/notation.html", 320, 568).locator("th").evaluate_all(BROKEN) == []
