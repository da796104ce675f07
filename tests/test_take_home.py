"""What a reader takes home: numbers as JSON and CSV, the picture as SVG, and three lines of Python."""

import csv
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from browsing import quiet_server
from live import ask, marks
from staged import opened, page_of

from tsattn_mini import step
from tsattn_mini.explore import Cells, Choice, Explorer, Slider, Toggle
from tsattn_mini.explore.element import words

pytestmark = pytest.mark.browser
SAY = words("take")
TURN = "(el, name, value) => el.explorer.set(name, value).then(() => 1)"
BIG = 2**60 + 1
DYES = """el => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  return [...el.querySelectorAll("[data-step=y] .ts-cell rect")].map(rect => {
    pen.fillStyle = getComputedStyle(rect).fill;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  });
}"""


def odd(x, tau, on, how):
    y = step("y", torch.softmax(tau * x, -1), axes="L S", eq="softmax(τ x)")
    step("log y", torch.where(on, y.log(), -y.log() * torch.inf), axes="L S")
    step("big", torch.full((2,), BIG) + (x[:, 0] > 9).long(), axes="L")
    step('a,"b"', x.sum(-1) * {"plus": 1.0, "it's \"minus\"": -1.0}[how], axes="L")
    step("holes", (x - 0.5).log(), axes="V T")
    step("one", tau * 0.1, axes="")


def explorers():
    return [Explorer(odd, id="odd", title="Odd <numbers> & more", inputs={
        "x": Cells(torch.tensor([[0.1, 0.2, 0.3], [0.7, -0.6, 0.9]]), -1, 1, axes="L S"), "tau": Slider(1.0, 0.0, 4.0),
        "on": Toggle(True), "how": Choice("plus", ["plus", "it's \"minus\""])})]


@pytest.fixture(scope="module")
def folder(book, tmp_path_factory):
    with page_of(explorers, tmp_path_factory.mktemp("take")) as made:
        yield made


@pytest.fixture(params=["http", "file"])
def live(request, browser, folder):
    with quiet_server(folder) as address:
        site = address if request.param == "http" else None
        with opened(browser, folder, site, accept_downloads=True, viewport={"width": 1280, "height": 900}) as found:
            one = found["odd"]
            ask(one.at, TURN, "tau", 3.3)
            ask(one.at, TURN, "how", "it's \"minus\"")
            one.at.locator("summary").click()
            yield one


def taken(live, kind):
    with live.page.expect_download() as download:
        live.at.get_by_role("button", name=SAY[kind]).click()
    assert download.value.suggested_filename == f"odd.{kind}"
    return download.value.path().read_text("utf8")


def shown(live):
    values = ask(live.at, "el => el.explorer.values()")
    return {name: np.array([float(x) for x in v["data"]]).reshape(v["dims"]) for name, v in values.items()}


def test_json_holds_inputs_and_numbers_as_the_page_shows_them(live):
    found = json.loads(taken(live, "json"))
    assert (found["explorer"], found["title"]) == ("odd", "Odd <numbers> & more")
    assert found["inputs"]["tau"] == 3.3
    assert found["inputs"]["how"] == "it's \"minus\""
    assert found["steps"]["big"]["data"] == [BIG, BIG]
    assert found["steps"]["y"]["axes"] == "L S"
    assert found["steps"]["y"]["dims"] == [2, 3]
    for name, want in shown(live).items():
        np.testing.assert_array_equal(np.array(found["steps"][name]["data"], np.float32), want.astype(np.float32))


def test_csv_is_one_row_a_number(live):
    rows = list(csv.DictReader(taken(live, "csv").splitlines()))
    wanted = shown(live)
    assert len(rows) == sum(x.size for x in wanted.values())
    for row in rows:
        at = tuple(map(int, row["index"].split()))
        np.testing.assert_equal(np.float32(row["value"]), np.float32(wanted[row["step"]][at]))
    assert {row["step"]: row["axes"] for row in rows} == {s["name"]: s["axes"] for s in live.spec["steps"]}
    assert [row["value"] for row in rows if row["step"] == "big"] == [str(BIG)] * 2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_svg_needs_no_style_sheet_and_says_what_the_page_says(live, theme):
    live.page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    text = taken(live, "svg")
    sheet = ElementTree.fromstring(text)
    inner = [part for part in sheet.iter() if part.tag.endswith("}svg")][1:]
    assert len(inner) == live.at.locator(".ts-plot svg").count()
    assert not re.findall(r"(class|style|data-\w+)=|var\(|oklab|color\(|url\(", text)
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', text)) <= {"none", *re.findall("#[0-9a-f]{6}", text)}
    on_page = [marks(plot.inner_html())[0] for plot in live.at.locator(".ts-plot").all()]
    in_file = [part.text or "" for svg in inner for part in svg.iter() if part.tag.endswith("}text")]
    assert in_file == [text for texts in on_page for text in texts]
    dyes = [part.get("fill") for part in inner[0].iter() if part.tag.endswith("}rect")]
    assert dyes == [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in ask(live.at, DYES)]
    assert len(set(dyes)) > 3
    for spec in live.spec["steps"]:
        assert spec["label"] in "".join(sheet.itertext())
    assert "softmax(τ x)" in "".join(sheet.itertext())
    width, height = map(float, (sheet.get("width"), sheet.get("height")))
    for svg in inner:
        assert float(svg.get("x")) + float(svg.get("width")) <= width
        assert float(svg.get("y")) + float(svg.get("height")) <= height


def test_three_lines_of_python_bring_the_state_back(live):
    live.at.locator("[data-python]").get_by_text("ex.set(").wait_for()
    lines = live.at.locator("[data-python]").inner_text()
    assert len(lines.strip().splitlines()) == 3
    here = Explorer.called("odd")
    exec(lines, {})
    for name, want in shown(live).items():
        np.testing.assert_allclose(here.values[name].numpy().astype(float), want, rtol=1e-5)
    assert here._now["how"] == "it's \"minus\""
    live.page.evaluate("() => { self.copied = []; navigator.clipboard.writeText = async x => { copied.push(x); }; }")
    live.at.get_by_role("button", name=SAY["copyLines"]).press("Enter")
    live.at.get_by_text(SAY["copied"]).wait_for()
    assert live.page.evaluate("copied[0]").strip() == lines.strip()


def test_without_a_clipboard_the_older_way_is_taken(live):
    live.page.evaluate("""() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed"));
      document.execCommand = () => { self.copied = document.activeElement.value; return true; }; }""")
    live.at.get_by_role("button", name=SAY["copyLines"]).press("Enter")
    live.page.wait_for_function("() => self.copied?.includes('ex.set(')")
    assert live.page.locator("body > textarea").count() == 0


@pytest.mark.bad_input
def test_an_explorer_that_was_not_made_cannot_be_called():
    with pytest.raises(ValueError, match=r"id: expected one that was made in this kernel .* got 'nowhere'"):
        Explorer.called("nowhere")
