"""The page that stands alone: one file, opened from the disk, live, quiet, and closed to whatever is typed into it."""

import csv
import re

import pytest
import torch
from axe import violations
from browsing import quiet_server
from saved import FILE, REFUSED, opened

from tsattn_mini import step
from tsattn_mini.explore import Cells, Choice, Explorer, Slider, page
from tsattn_mini.explore.element import words
from tsattn_mini.explore.question import Draw, Option, choice, number
from tsattn_mini.figures import Table, heat
from tsattn_mini.visible import visible

pytestmark = pytest.mark.browser
W = torch.rand(300, 50, generator=torch.Generator().manual_seed(4))
TYPED = ["</script><script>window.__hit = 1</script>", "<!--<script>", "]]><img src=x onerror='window.__hit = 1'>",
         "\"'><svg onload=window.__hit=1>", "' autofocus onfocus=window.__hit=1 x='", "javascript:window.__hit=1",
         "&lt;b&gt; &#39;", "👩\u200d💻 \u200fעברית", "\u202eright to left", "two\nlines\r\nand\ttabs",
         "$x$ \\(y\\) {name} {0} ${z}", "nul\0 \x1b[31m", "half \ud800 and \udc00", "=cmd(' /C calc')!A0", "a: b: c",
         "constructor"]
HEARD = """([el, { name, label }, first]) => {
  const said = el.querySelector(`[data-step="${CSS.escape(name)}"] svg`).getAttribute("aria-label");
  return said !== first && said.startsWith(`${label} along V: `);
}"""
FIT = "[document.documentElement.scrollWidth, innerWidth]"


def soften(x, tau, how):
    step("S", x * tau, axes="L S", eq="τ X")
    step("A", torch.softmax(x * tau, -1) if how == "softmax" else x / 4, axes="L S", eq="softmax(τ X)")


def wide(x):
    step("y", (x * W).sum(0), axes="E")


def dot(q):
    return step("dot", (q * q).sum(), axes="")


def asked():
    whole = Draw((3,), 1, 9, whole=True)
    return number(id="97-dot", text="q = {q}: what is q·q?", answer=dot, draws={"q": whole}, first={"q": (1, 2, 3)},
                  right="{answer:2}.", wrong="Multiply, add.")


@pytest.fixture(scope="module")
def explorers():
    """One with a graph for each of two words, one with a large graph."""
    made = [Explorer(soften, {"x": Cells(torch.eye(3), -3, 3, axes="L S"), "tau": Slider(1.0, 0.1, 8.0, log=True),
                              "how": Choice("softmax", ["softmax", "a fourth"])},
                     presets={"τ = 8": {"tau": 8.0}}, title="One handle", id="soft"),
            Explorer(wide, {"x": Slider(1.0, -2, 2)}, id="wide")]
    yield made
    for explorer in made:
        explorer.close()


@pytest.fixture(scope="module")
def saved(explorers, tmp_path_factory):
    one, two = explorers
    path = tmp_path_factory.mktemp("saved") / "one page.html"
    page.write(path, [page.Heading("What it is"), "Two paragraphs.\n\nOf text.", one, asked(), two,
                      Table(["name", *map(str, range(60))], [["a value", *range(60)]]),
                      heat(torch.eye(3), "L S", title="A picture")], title="My model", lead="What it does.")
    return path


def test_one_file_from_the_disk_is_live_and_asks_for_nothing(browser, saved):
    with opened(browser, saved) as (window, live):
        live["soft"].box("tau").locator("input[type=range]").press("End")
        live["soft"].settled("moved", tau=8)
        live["soft"].box("how").locator("select").select_option("a fourth")
        live["soft"].settled("another graph", how="a fourth")
        live["wide"].box("x").locator("input[type=range]").press("Home")
        live["wide"].settled("a large graph", x=-2)
        assert live["soft"].chosen("S", 0)["list"]
        window.locator("[data-draw=new]").click()
        window.locator("[data-drawn]").filter(has_text=words("draw")["seed"].format(seed=1)).wait_for()


def test_the_large_graph_stands_outside_the_description_and_the_runtime_comes_last(saved):
    text = saved.read_text("utf8")
    (name,) = re.findall(r'"graphs":{"":"(graph-[0-9a-f]{16}\.js)"}', text)
    assert [name for name, _ in FILE.findall(text)] == ["ort.wasm.gz", name]
    assert text.index("<footer>") < text.index(FILE.search(text)[0])
    assert len(text) < 5_600_000


def test_the_policy_lets_no_other_script_run_and_nothing_be_asked_for(browser, saved):
    with quiet_server(saved.parent) as site:
        window, failed = browser.new_page(), []
        window.add_init_script(REFUSED)
        window.on("requestfailed", lambda request: failed.append((request.url, request.failure)))
        window.goto(saved.as_uri())
        window.evaluate("""site => {
          const near = document.createElement("script"), far = document.createElement("script");
          near.text = "window.__hit = 1";
          far.src = `${site}x.js`;
          document.body.append(near, far);
          document.body.insertAdjacentHTML("beforeend", "<b onclick='window.__hit = 1'>b</b>");
          document.querySelector("b[onclick]").click();
          new Image().src = `${site}x.png`;
          fetch(site).catch(() => {});
        }""", site)
        window.wait_for_function("() => window.__refused?.length >= 5")
        assert window.evaluate("window.__hit") is None
        assert {url for url, why in failed if why == "csp"} >= {f"{site}x.js", f"{site}x.png"}
        window.close()


def test_it_stands_as_the_explorer_stood_and_reset_leads_there(browser, saved, explorers, tmp_path):
    explorers[0].set(tau=4.0, how="a fourth")
    page.write(tmp_path / "moved.html", explorers[:1], title="Moved")
    with opened(browser, tmp_path / "moved.html") as (_, live):
        first = live["soft"].settled("as written", tau=4, how="a fourth")
        live["soft"].at.locator("[data-preset]").click()
        live["soft"].settled("preset", tau=8, how="softmax")
        live["soft"].at.locator("[data-reset]").click()
        live["soft"].returned("reset", first)


def in_lines(text):
    """A text whose lines stay lines."""
    return "".join(c if c in "\n\t" else visible(c) for c in text.replace("\r\n", "\n"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Everything a reader can name, named by every odd text at once."""
    options = [text for text in TYPED if visible(text) == text and "|" not in text]

    def fn(v, **more):
        option = next(iter(more.values()))
        for i, text in enumerate(options):
            step(text, v * (i + 1 + options.index(option)), axes="V", note=TYPED[0])
        step("lines", v[:, None] * torch.arange(5), axes="V T")

    labels = {"V": TYPED}
    explorer = Explorer(fn, {"v": Cells(torch.linspace(-1, 1, len(TYPED)), -1, 1, axes="V"),
                             "</script>'\"": Choice(options[0], options[:3])}, id="hostile", labels=labels,
                        title=" ".join(TYPED), presets={text: {"v": torch.zeros(len(TYPED))} for text in TYPED})
    questions = [choice(id="97-odd", text=TYPED[0], answer=lambda: "b", hint=TYPED[2], options={
        "a": Option(TYPED[0], TYPED[2]), "b": Option(TYPED[3], TYPED[11])})]
    path = tmp_path_factory.mktemp("hostile") / "page.html"
    page.write(path, [explorer, *questions, page.Heading(TYPED[0]), *TYPED, Table(TYPED, [TYPED])],
               title=" ".join(TYPED), lead="\n\n".join(TYPED))
    explorer.close()
    return path


def test_odd_texts_are_shown_as_typed_and_none_of_them_runs(browser, hostile):
    shown = [visible(text) for text in TYPED]
    with opened(browser, hostile) as (window, live):
        whole = re.sub(r"\s+", " ", " ".join(shown))
        assert window.title() == whole
        texts = lambda where: [" ".join(t.split()) for t in window.locator(where).all_text_contents()]  # noqa: E731
        spoken = [" ".join(text.split()) for text in shown]
        assert texts("h1") == [" ".join(spoken)]
        assert texts("th") == texts("td") == spoken
        assert texts("[data-preset]") == spoken
        assert texts("main > p") == texts("header > p") == [" ".join(in_lines(t).split()) for t in TYPED]
        one = live["hostile"]
        one.at.locator("select").select_option(index=1)
        one.settled("moved")
        before = one.state()["spoken"]
        one.at.locator(".ts-cells input").nth(2).fill("0.5")
        one.at.locator(".ts-cells input").nth(2).press("Enter")
        one.settled("typed")
        for said, about in zip(before, one.spec["steps"][:-1], strict=False):  # names with colons too
            window.wait_for_function(HEARD, arg=[one.at.element_handle(), about, said])
        places = one.at.locator(".ts-cells input").evaluate_all("all => all.map(field => field.ariaLabel)")
        assert places == [f"v, V {name}" for name in shown]
        one.chosen(one.spec["steps"][0]["name"], 1)
        question = window.locator("[data-question]")
        question.locator("input").first.check()
        question.get_by_role("button", name=words("question")["check"], exact=True).click()
        assert visible(TYPED[2]) in question.locator(".ts-q-feedback").inner_text()


def test_a_table_program_gets_no_formula(browser, hostile):
    with opened(browser, hostile) as (window, live):
        live["hostile"].at.locator("[data-take] summary").click()
        with window.expect_download() as download:
            live["hostile"].at.locator("[data-save=csv]").click()
        with open(download.value.path(), newline="", encoding="utf8") as file:
            rows = list(csv.reader(file))
        names = list(dict.fromkeys(row[0] for row in rows[1:]))
        steps = [one["name"] for one in live["hostile"].spec["steps"]]
        assert names == [f"'{name}" if name.startswith("=") else name for name in steps]
        assert any(name.startswith("'=") for name in names)
        assert {len(row) for row in rows} == {4}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_its_window_in_either_theme_and_has_no_serious_violation(browser, saved, scheme, width):
    with opened(browser, saved, color_scheme=scheme, viewport={"width": width, "height": 800}) as (window, _):
        theme = lambda: window.locator("html").get_attribute("data-theme")  # noqa: E731
        assert theme() == scheme
        across, inner = window.evaluate(FIT)
        assert across <= inner
        assert window.locator(".ts-block").first.get_attribute("tabindex") == "0"  # a wide table is scrolled by keys
        button = window.get_by_role("button", name=words("page")["dark"])
        assert button.get_attribute("aria-pressed") == str(scheme == "dark").lower()
        window.keyboard.press("Tab")
        window.keyboard.press("Enter")
        assert theme() != scheme
        assert violations(window) == []


def test_without_scripts_it_is_a_page_to_read(browser, saved):
    with opened(browser, saved, java_script_enabled=False) as (window, _):
        assert window.locator(".ts-still:visible").all_inner_texts() == [words("explorer")["still"]] * 2
        assert window.locator(":is(input, select, button):visible:enabled").count() == 0
        assert window.locator("svg[role=img]:visible").count() >= 4
