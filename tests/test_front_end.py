"""What JavaScript draws and says beside what Python draws and says, on a page made for the purpose."""

import math
import re
import struct

import numpy as np
import pytest
import torch
from browsing import specs, watched
from live import Live
from playwright.sync_api import Error

from tsattn_mini import step
from tsattn_mini.explore import Cells, Choice, Explorer, Slider, Toggle
from tsattn_mini.explore.element import front_end, words
from tsattn_mini.figures import number

pytestmark = pytest.mark.browser
SAY = words("explorer")
X = torch.arange(-6.0, 6.0).reshape(3, 4) / 4
REFUSED = [("views", "nope", 1), ("views", "tau", math.nan), ("views", "tau", 0.0009), ("views", "tau", math.inf),
           ("views", "tau", "2"), ("views", "n", 1.5), ("views", "n", 6), ("views", "wild", 1),
           ("same", "sign", "other"), ("views", "x", [[1.0]]),
           ("views", "x", [[9.1] * 4] * 3), ("views", "x", [[math.nan] * 4] * 3)]
DRAWN = """async (el, names) => {
  await el.explorer.ready;
  const seen = () => Object.fromEntries(names.map(name => [name, el.querySelector(`[data-step=${name}]`).innerHTML]));
  const first = seen(), values = JSON.stringify(el.explorer.values().bars);
  const changed = () => ({ values: JSON.stringify(el.explorer.values().bars) !== values,
    pictures: Object.fromEntries(names.map(name => [name, seen()[name] !== first[name]])) });
  el.querySelector("[data-step=bars]").scrollIntoView();
  await new Promise(painted => requestAnimationFrame(() => setTimeout(painted, 50)));
  el.querySelector("[data-input=x] input").dispatchEvent(new KeyboardEvent("keydown", { key: "PageUp" }));
  el.querySelectorAll("[data-input=x] input")[6].dispatchEvent(new KeyboardEvent("keydown", { key: "PageUp" }));
  while (!changed().pictures.bars) await new Promise(later => setTimeout(later));
  const near = changed();
  await new Promise(later => setTimeout(later, 200));
  return [near, changed()];
}"""
WRITE = """([source, list]) => import("data:text/javascript," + encodeURIComponent(source))
  .then(module => list.map(v => module.number(v)))"""


def every_view(x, n, tau, wild):
    """Every picture the front end knows, with what is hard to draw: holes, huge and tiny numbers, flags, one number."""
    x = torch.where(wild, x * tau, x)
    step("grids", torch.stack([x, x * 2, -x, x / 3]).reshape(2, 2, 3, 4), axes="B H L S")
    step("unit", torch.softmax(x, -1), axes="L S")
    step("holes", x.log(), axes="L S")
    step("huge", torch.exp(60 * x), axes="L S")
    step("tiny", x / 1e7, axes="L S")
    step("counts", (x * 40_000).long() * n, axes="L S")
    step("flags", x > 0, axes="L S")
    step("one", x.max(), axes="")
    step("many", torch.arange(40) * x.reshape(-1, 1) * 0.01, axes="M W")
    step("bars", x[1], axes="S")
    step("bar_holes", x[1].log(), axes="S")
    step("twenty", torch.linspace(0, 1, 20) * x.max(), axes="E")
    step("row", x[:1], axes="1 T")
    step("across", x, axes="V T")
    step("down", x.mT * 2, axes="T V")
    step("gaps", x.mT.sqrt(), axes="T V")
    step("still", torch.zeros(3, 4), axes="L S")


def same(y, sign):
    step("y", y if sign == "plus" else -y, axes="L S")


@pytest.fixture(scope="module")
def explorers():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSATTN_BOOK", "1")
        made = [
            Explorer(every_view, id="views", inputs={
                "x": Cells(X, -9, 9, axes="L S"), "n": Slider(1, 0, 5, integer=True),
                "tau": Slider(2.0, 0.001, 1000.0, log=True), "wild": Toggle(False)}),
            Explorer(same, id="same", inputs={
                "y": Cells(X, -9, 9, axes="L S"), "sign": Choice("plus", ["plus", "minus"])})]
    yield {explorer.id: explorer for explorer in made}
    for explorer in made:
        explorer.close()


@pytest.fixture
def folder(explorers, book, tmp_path):
    (tmp_path / "ts").symlink_to(book / "ts")
    (tmp_path / "page.html").write_text(
        "<!doctype html><html lang='en'><meta charset='utf8'><title>Views</title>"
        "<link rel='stylesheet' href='ts/style.css'><script defer src='ts/book.js'></script>"
        + "".join(explorer.html for explorer in explorers.values()), "utf8")
    return tmp_path


@pytest.fixture
def page(browser, folder):
    context, problems = browser.new_context(), []
    page = watched(context, folder.as_uri(), problems)
    page.goto((folder / "page.html").as_uri())
    yield page
    context.close()
    assert problems == []


@pytest.fixture
def live(page, folder):
    return {id: Live(page, spec) for id, spec in specs("page.html", folder).items()}


def put(live, **inputs):
    for name, value in inputs.items():
        live.at.evaluate("(el, [name, value]) => el.explorer.set(name, value)", [name, value])
    return live.settled("set", **inputs)


def test_every_picture_is_drawn_as_python_draws_it(live):
    views = live["views"]
    first = views.state()
    assert not views.faults(first, {})
    draw = torch.Generator().manual_seed(1)
    for i in range(8):
        size = 10.0 ** (i - 6)
        x = (torch.rand(3, 4, generator=draw, dtype=torch.float64) * 2 - 1) * min(size, 9)
        put(views, x=x.round(decimals=3).tolist(), n=i % 6, wild=i % 2 == 0)
    put(views, x=torch.zeros(3, 4).tolist(), tau=1000.0)
    put(views, x=torch.full((3, 4), 9.0).tolist(), tau=0.001)
    back = put(views, **first["inputs"])
    assert back["plots"].keys() == first["plots"].keys()
    views.hears(first["spoken"])


def test_numbers_are_written_as_python_writes_them(page):
    draw = np.random.default_rng(3)
    ties = [1.125, 0.0625, 0.0005, 2.675, 9.995, 99.95, 0.9995, 125000.0, 135000.0, 999500.0, 0.00095, 5e-5]
    edges = [0.0, 1.0, 1e-3, 1e5, 99999.0, 99999.5, 999.5, 9.999, 0.9999, 9.5e5, 9.96e5, 9.5e-4, 5e-324, 2.2e-308,
             1.8e308, np.inf]
    bits = [struct.unpack("d", draw.bytes(8))[0] for _ in range(1000)]
    plain = (draw.choice([-1, 1], 1000) * 10.0 ** draw.uniform(-6, 8, 1000)).astype(np.float32).tolist()
    floats = [sign * v for v in ties + edges for sign in (1, -1)] + [np.nan] + bits + plain
    ints = [0, 1, -1, 99_999, 100_000, -123_456, 125_000, 2**53 + 1, -2**63, 2**63 - 1]
    source = front_end("number.js")
    assert page.evaluate(WRITE, [source, floats]) == [number(v) for v in floats]
    whole = WRITE.replace("(v)", "(BigInt(v))")
    assert page.evaluate(whole, [source, list(map(str, ints))]) == [number(v) for v in ints]


def test_the_last_of_many_quick_moves_is_the_one_that_stays(live):
    views = live["views"]
    views.box("n").locator("input[type=range]").evaluate("""range => {
      for (const n of [2, 5, 3, 4]) {
        range.value = n;
        range.dispatchEvent(new Event("input"));
      }
    }""")
    views.settled("four moves at once", n=4)


def test_a_drag_draws_what_is_in_sight_and_the_rest_follows_when_the_hand_rests(live):
    live["views"].page.set_viewport_size({"width": 500, "height": 250})
    near, far = live["views"].at.evaluate(DRAWN, ["bars", "still", "grids"])
    assert near["values"]
    assert near["pictures"] == {"bars": True, "still": False, "grids": False}
    assert far["pictures"] == {"bars": True, "still": False, "grids": True}
    live["views"].settled("a drag")


def test_a_program_that_sets_an_input_finds_every_picture_drawn(live):
    changed = live["views"].at.evaluate("""async el => {
      await el.explorer.ready;
      const drawn = () => [...el.querySelectorAll("[data-step]")].map(figure => figure.innerHTML);
      const before = drawn();
      await el.explorer.set("x", el.explorer.inputs().x.flat().map(v => 1 - v));
      return drawn().map((now, i) => now !== before[i]);
    }""")
    assert changed == [step["name"] != "still" for step in live["views"].spec["steps"]]


def test_quick_colours_of_a_drag_are_those_of_the_style_sheet(live):
    views = live["views"]
    quick, exact = views.at.evaluate("""async el => {
      await el.explorer.ready;
      const rects = [...el.querySelectorAll("[data-step=grids] rect")];
      const shown = () => rects.map(rect => getComputedStyle(rect).fill);
      el.querySelector("[data-step=grids]").scrollIntoView();
      await new Promise(painted => requestAnimationFrame(() => setTimeout(painted)));
      const tick = el.querySelector("[data-input=wild] input");
      tick.click();
      while (!rects[0].style.fill) await new Promise(later => setTimeout(later));
      const quick = shown();
      while (rects[0].style.fill) await new Promise(later => setTimeout(later));
      return [quick, shown()];
    }""")
    numbers = [[float(v) for text in side for v in re.findall(r"[-\d.]+(?=[ )])", text)] for side in (quick, exact)]
    assert len(quick) == 48
    np.testing.assert_allclose(*numbers, atol=2e-3)


def test_after_a_move_a_sentence_says_what_moved_most(live):
    y = X.tolist()
    y[1][2] = 7.5
    put(live["same"], y=y)
    said = SAY["changed"].format(step="y", at="[1,2]", before=number(float(X[1, 2])), after="7.50")
    live["same"].page.get_by_text(said).wait_for()


def test_numbers_that_are_written_alike_get_more_digits_in_that_sentence(live):
    y = X.tolist()
    y[2][3] += 0.0004
    put(live["same"], y=y)
    said = SAY["changed"].format(step="y", at="[2,3]", before="1.2500", after="1.2504")
    live["same"].page.get_by_text(said).wait_for()


def test_a_refusal_outlasts_the_sentence_about_the_move_before(live):
    y = live["same"]
    field = y.box("y").locator("input").first
    field.press("ArrowUp")
    y.settled("an arrow key")
    field.fill("99")
    field.press("Enter")
    y.page.wait_for_timeout(600)
    assert y.state()["message"] == SAY["refused"].format(name="y", min="-9", max="9")


def test_a_value_that_is_none_is_refused_by_name_and_changes_nothing(live):
    for id, name, value in REFUSED:
        before = live[id].state()
        with pytest.raises(Error, match=f"RangeError: (inputs: .* got {name}|{name}: )"):
            live[id].at.evaluate("(el, [name, value]) => el.explorer.set(name, value)", [name, value])
        assert live[id].state() == before


def test_an_explorer_whose_runtime_is_missing_says_so_stays_where_it_was_and_tries_again(browser, folder, book):
    (folder / "ts").unlink()
    (folder / "ts").mkdir()
    (folder / "ts/book.js").symlink_to(book / "ts/book.js")
    page = browser.new_context().new_page()
    page.goto((folder / "page.html").as_uri())
    faults = []
    page.on("pageerror", lambda error: faults.append(error))
    explorer = page.locator("[data-explorer=same]")
    first = explorer.evaluate("el => el.explorer.ready.then(() => [el.explorer.inputs(), el.explorer.values()])")
    explorer.locator("[data-input] input").first.press("ArrowUp")
    page.get_by_text(SAY["failed"].split("{")[0]).filter(has_text="ort.wasm.gz.js").wait_for()
    assert explorer.evaluate("el => [el.explorer.inputs(), el.explorer.values()]") == first
    (folder / "ts/ort.wasm.gz.js").symlink_to(book / "ts/ort.wasm.gz.js")
    explorer.locator("[data-input] input").first.press("ArrowUp")
    page.get_by_text(SAY["changed"].split("{at}")[1].split("{")[0]).first.wait_for()
    assert explorer.evaluate("el => el.explorer.values()") != first[1]
    assert faults == []
    page.context.close()


def test_coming_back_to_a_page_finds_controls_and_picture_agreed(live, browser, folder):
    page = browser.new_context().new_page()
    address = (folder / "page.html").as_uri()
    page.goto(address)
    tau = page.locator("[data-explorer=views] [data-input=tau] .ts-number")
    page.locator("[data-explorer=views]").evaluate("el => el.explorer.ready")
    came, moved = tau.input_value(), "0.5"
    assert came != moved
    tau.fill(moved)
    tau.press("Enter")
    page.goto("about:blank")
    page.go_back()
    page.locator("[data-explorer=views]").evaluate("el => el.explorer.ready")
    now = page.locator("[data-explorer=views]").evaluate("el => el.explorer.inputs().tau")
    assert float(tau.input_value()) == pytest.approx(now, rel=1e-3)
    page.context.close()
