"""What moves a number: chosen on a page, measured by its graph, beside the gradients of torch."""

import re

import numpy as np
import pytest
import torch
from browsing import specs
from live import MARKS, Live, ask
from staged import made_by, opened, page_of

from tsattn_mini import step
from tsattn_mini.engram.tokenizer import Tokenizer
from tsattn_mini.explore import Cells, Choice, Explorer, Slider, Toggle, Tokens, Window
from tsattn_mini.explore.element import words
from tsattn_mini.trace import record

pytestmark = pytest.mark.browser
SAY = words("influence")
LIMIT = 300  # milliseconds for 128 cells
LETTERS, TEXT = Tokenizer(), "Apple sold"
SERIES = torch.tensor([1.0, 5.0, 2.0, 8.0, 3.0, 9.0])
Q = torch.tensor([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]])


def soften(q, tau, n, masked):
    S = step("S", q @ q.mT, axes="L S")
    step("A", torch.softmax(torch.where(masked, torch.tril(S), S) * tau, -1), axes="L S")
    step("top", (S.amax(-1, keepdim=True) == S).long() * n, axes="L S")
    step("still", torch.ones(2) * 3 + 0 * n, axes="E")


def jumpy(x, n, how):
    best = torch.topk(x + 1e-4 * torch.arange(4), 2).indices
    kept = torch.where((torch.arange(4)[:, None] == best).any(-1), x, torch.zeros(()))
    step("kept", kept * {"once": 1.0, "twice": 2.0}[how], axes="S")
    step("hash", torch.stack([(x * 1000).long().sum() * 31 % 97, n]), axes="K")
    step("bend", torch.stack([x[0].abs(), x[1] ** 2, x[2] / x[2].abs()]), axes="M")
    step("steep", (x.abs() + 1e-6).log(), axes="S")


def discrete(how, text, w, small, tiny):
    ids = text * {"once": 1, "twice": 2, "doubly": 2}[how]
    step("ids", ids, axes="L")
    step("sum", w.sum() * small + tiny + 0 * ids[:2], axes="E")
    step("p", torch.softmax(torch.stack([small, tiny * 10]) * {"once": 1.0, "twice": 2.0, "doubly": 2.0}[how], -1),
         axes="S")


def many(x, y):
    step("out", torch.tanh(x @ y / 8), axes="N N2")


def crowd(x):
    step("out", torch.tanh(x).sum(-1)[:3], axes="N")


def explorers():
    return [
        Explorer(crowd, id="crowd", inputs={"x": Cells(torch.zeros(100, 3), -1, 1, axes="R E")}),
        Explorer(soften, id="soft", labels={"S": ["red", "green", "blue"]}, inputs={
            "q": Cells(Q, -3, 3, axes="L E"), "tau": Slider(1.0, 0.01, 16.0, log=True),
            "n": Slider(5, 0, 5, integer=True), "masked": Toggle(False)}),
        Explorer(jumpy, id="jumpy", inputs={
            "x": Cells(torch.tensor([0.0, 0.0, 0.01, 0.5]), -1, 1, axes="S"), "n": Slider(3, 0, 9, integer=True),
            "how": Choice("once", ["once", "twice"])}),
        Explorer(discrete, id="discrete", inputs={
            "how": Choice("once", ["once", "twice", "doubly"]), "text": Tokens(LETTERS, TEXT, 6),
            "w": Window(SERIES, 3, 2), "small": Slider(0.5, 0.0, 1.0), "tiny": Slider(0.02, 0.0, 0.04)}),
        Explorer(many, id="many", inputs={
            "x": Cells(torch.linspace(-1, 1, 64).reshape(8, 8), -1, 1, axes="N M"),
            "y": Cells(torch.linspace(1, -1, 64).reshape(8, 8), -1, 1, axes="M N2")}),
    ]


@pytest.fixture(scope="module")
def folder(book, tmp_path_factory):
    with page_of(explorers, tmp_path_factory.mktemp("influence")) as made:
        yield made


@pytest.fixture
def live(browser, folder):
    with opened(browser, folder, viewport={"width": 1280, "height": 900}) as found:
        yield found


def gradient(fn, inputs, step, i):
    """Derivatives of entry `i` of a step by every float input, in double precision where `fn` allows it."""
    leaves = {name: x.clone().requires_grad_(x.is_floating_point()) for name, x in inputs.items()}
    with record() as trace:
        fn(**leaves)
    floats = {name: x for name, x in leaves.items() if x.requires_grad}
    found = torch.autograd.grad(trace[step].tensor.flatten()[i], list(floats.values()), allow_unused=True)
    return {name: torch.zeros_like(x) if g is None else g for (name, x), g in zip(floats.items(), found, strict=True)}


def test_slopes_are_the_gradients_of_torch(live):
    inputs = {"q": Q.double(), "tau": torch.tensor(1.0).double(), "n": torch.tensor(5), "masked": torch.tensor(False)}
    for i in (0, 4, 7):
        marks = live["soft"].chosen("A", i)["marks"]
        want = gradient(soften, inputs, "A", i)
        np.testing.assert_allclose([m["slope"] for m in marks["q"]], want["q"].flatten(), rtol=2e-2, atol=2e-3)
        per_doubling = float(want["tau"]) * np.log(2)
        np.testing.assert_allclose(marks["tau"][0]["slope"], per_doubling, rtol=2e-2, atol=1e-4)


def test_slopes_are_central_differences_of_one_hundredth_of_the_range(live):
    h = 0.06
    marks = live["soft"].chosen("A", 4)["marks"]["q"]
    for k, mark in enumerate(marks):
        ends = []
        for by in (h, -h):
            q = Q.double().flatten().clone()
            ends.append((min(3.0, max(-3.0, q[k] + by)), by))
        at = [torch.softmax((moved := Q.double().flatten().index_fill(0, torch.tensor([k]), v).reshape(3, 2))
                            @ moved.mT, -1)[1, 1] for v, _ in ends]
        want = float((at[0] - at[1]) / (ends[0][0] - ends[1][0]))
        assert mark["slope"] == pytest.approx(want, rel=1e-3, abs=1e-5), k


@pytest.mark.parametrize(("lesson", "id", "step", "i"), [
    ("01_attention_by_hand", "attention-four-by-four", "A", 5), ("01_attention_by_hand", "five-scores-compete", "A", 1),
    ("09_knowledge_guided_conditioning", "kgc", "A", 4), ("09_knowledge_guided_conditioning", "kgc", "Y_tilde", 2),
    ("05_destationary_attention", "tau-delta-width", "A", 3)])
def test_influences_in_a_lesson_are_those_of_its_torch_function(browser, served, lesson, id, step, i):
    name = f"lessons/{lesson}.html"
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(served + name)
    live = Live(page, specs(name)[id])
    if step == "Y_tilde":
        live.at.evaluate("el => el.explorer.ready")
        live.at.locator("[data-step=Y_tilde] .ts-plot").focus()
        for _ in range(i):
            live.at.locator("[data-step=Y_tilde] .ts-plot").press("ArrowRight")
        live.at.locator("[data-sway] p").get_by_text(re.compile("F 2] = .* by:")).wait_for()
        marks = ask(live.at, MARKS)
    else:
        marks = live.chosen(step, i)["marks"]
    first = {input["name"]: input["value"] for input in live.spec["inputs"]}
    with made_by(lesson, {id}) as made:
        for input in live.spec["inputs"]:
            if input["kind"] == "choice":
                by = [chosen_by(made[id], first, input, option, step, i) for option in input["options"]]
                assert marks[input["name"]][0]["kind"] == ("jump" if any(by) else "none")
                assert marks[input["name"]][0]["slope"] == pytest.approx(max(by, key=abs), rel=1e-4)
                continue
            for k, mark in enumerate(marks[input["name"]]):
                want, size = difference(made[id], first, input, k, step, i)
                noise = 4e-7 * size / span(input)
                assert mark["slope"] == pytest.approx(want, rel=5e-3, abs=2e-4 * size + noise), (input["name"], k)
                assert (mark["kind"] == "none") <= (abs(want) <= noise), (input["name"], k)
    page.close()


def chosen_by(explorer, first, input, option, step, i):
    """How far entry `i` of a step moves when another option is chosen."""
    found = []
    for value in (first[input["name"]], option):
        explorer.set(**{**first, input["name"]: value})
        found.append(float(explorer.values[step].flatten()[i]))
    return found[1] - found[0]


def span(input):
    """Twice the step at which a handle is tried, in its own units."""
    if input["kind"] == "toggle":
        return 1
    low, high = (np.log2([input["min"], input["max"]]) if input.get("log") else (input["min"], input["max"]))
    return 2 if input.get("integer") else 0.02 * (high - low)


def difference(explorer, first, input, k, step, i):
    """The central difference of torch's own function over the same stretch, and how large the number is."""
    name, value = input["name"], first[input["name"]]
    if input["kind"] == "toggle":
        ends, by = (False, True), 1
    else:
        x = np.array(value, np.float64).flatten()
        to, back = (np.log2, np.exp2) if input.get("log") else (np.asarray, np.asarray)
        at = [np.clip(back(to(x[k]) + sign * span(input) / 2), input["min"], input["max"]) for sign in (-1, 1)]
        moved = [np.concatenate([x[:k], [v], x[k + 1:]]).reshape(np.shape(value)).tolist() for v in at]
        ends, by = moved, float(to(at[1]) - to(at[0]))
    found = []
    for end in ends:
        explorer.set(**{**first, name: end})
        found.append(float(explorer.values[step].flatten()[i]))
    return (found[1] - found[0]) / by, max(map(abs, found))


def test_what_moves_nothing_is_exactly_none_and_a_lonely_row_says_so(live):
    found = live["soft"].chosen("still", 0)
    assert {m["kind"] for marks in found["marks"].values() for m in marks} == {"none"}
    assert {m["text"] for marks in found["marks"].values() for m in marks} == {SAY["markNone"]}
    assert SAY["noneAll"] in found["said"]
    found = live["soft"].chosen("S", 0)
    assert [m["kind"] for m in found["marks"]["q"]] == ["slope"] * 2 + ["none"] * 4
    assert SAY["noneCount"].format(count=7, all=9) in found["said"]


def test_the_top_three_come_with_sign_and_number_and_the_row_shares_a_sum(live):
    found = live["soft"].chosen("A", 4)
    value = float(torch.softmax(Q @ Q.mT, -1)[1, 1])
    assert found["said"].startswith(SAY["value"].format(place="A[L 1, S green]", value=f"{value:.6g}"))
    assert len(found["list"]) == 3
    assert all(re.match(r"[+-]\d", text) for text in found["list"])
    assert "share a sum of 1" in found["said"]
    assert len(found["titles"]) == 9


def test_a_list_says_that_ranges_rank_it_and_what_a_switch_is_compared_with(live):
    found = live["soft"].chosen("S", 4)
    assert SAY["most"] not in found["said"]  # two handles move it: nothing is left out
    said = live["soft"].chosen("A", 4)["said"]
    assert f"{SAY['most']}:" in said
    assert "whole range" in said
    found = live["soft"].chosen("A", 1)
    assert SAY["on"].format(by=found["marks"]["masked"][0]["text"], handle="masked") in found["titles"][-1]


def test_nothing_below_moves_when_a_number_is_chosen_and_dropped(browser, folder):
    for width in (1280, 390):
        with opened(browser, folder, viewport={"width": width, "height": 900}) as live:
            one = live["soft"]
            heights = {one.at.evaluate("el => el.offsetHeight")}
            for name, i in (("A", 4), ("still", 0), ("top", 1)):
                one.chosen(name, i)
                heights.add(one.at.evaluate("el => el.offsetHeight"))
            one.at.locator("[data-step=top] .ts-plot").press("Escape")
            heights.add(one.at.evaluate("el => el.offsetHeight"))
            assert len(heights) == 1, width


SHAPES = """el => {
  const style = (node, pseudo) => getComputedStyle(node, pseudo);
  const frames = [...el.querySelectorAll("[data-input] .ts-sways span, [data-input] > .ts-sway-dial")];
  const sides = ({ borderTopStyle, borderBottomStyle, borderRightWidth }) =>
    [borderTopStyle, borderBottomStyle, borderRightWidth];
  return {
    read: [...el.querySelectorAll(".ts-from")].map(node => sides(style(node, "::before"))),
    rings: [...el.querySelectorAll(".ts-from")].map(node => [style(node).outlineStyle, style(node).borderTopStyle]),
    frames: Object.fromEntries(frames.map(f => [`${f.dataset.kind} ${f.dataset.sign}`, style(f).borderBottomStyle])),
    keys: Object.fromEntries([...el.querySelectorAll("[data-key]")].map(key => [key.dataset.key, sides(style(key))])),
    said: el.querySelector(".ts-legend").innerText,
  };
}"""


@pytest.mark.parametrize("context", [{}, {"forced_colors": "active"}])
def test_what_a_step_reads_and_what_lowers_a_number_have_shapes_of_their_own(browser, folder, context):
    with opened(browser, folder, viewport={"width": 1280, "height": 900}, **context) as live:
        for media in ("screen", "print"):
            live["soft"].page.emulate_media(media=media, **context)
            live["soft"].at.locator("[data-go=S]").evaluate("button => button.click()")
            live["soft"].chosen("A", 4 if media == "screen" else 5)
            live["soft"].at.locator("[data-go=S]").evaluate("button => button.click()")
            found = ask(live["soft"].at, SHAPES)
            assert found["read"], media
            assert {tuple(sides) for sides in found["read"]} == {("solid", "solid", "0px")}  # open to the right
            assert not any("dashed" in ring for ring in found["rings"])
            assert (found["frames"]["slope 1"], found["frames"]["slope -1"]) == ("solid", "dashed")
            assert {key: sides[0] for key, sides in found["keys"].items()} == {
                "from": "solid", "up": "solid", "down": "dashed", "jump": "double"}
            assert found["keys"]["from"][2] == "0px"
            assert all(text in found["said"] for text in words("legend").values())


def test_the_step_bar_shows_the_step_of_a_chosen_number_and_nothing_moves(browser, folder):
    where = """el => [...el.querySelectorAll(".ts-panel, .ts-guide, .ts-caption, .ts-dock, .ts-steps button")]
      .map(part => part.getBoundingClientRect()).map(({ y, width, height }) => [y, width, height])
      .concat([[scrollX, scrollY, 0]])"""
    for width in (1280, 390):
        with opened(browser, folder, viewport={"width": width, "height": 900}) as live:
            one = live["soft"]
            one.at.locator("[data-step=still] .ts-plot").scroll_into_view_if_needed()
            before = one.at.evaluate(where)
            for name, i in (("A", 4), ("still", 1), ("top", 0)):
                one.chosen(name, i)
                assert one.at.locator("[data-go][aria-pressed=true]").get_attribute("data-go") == name
                assert one.at.locator(".ts-here").get_attribute("data-about") == name
                assert one.at.evaluate(where) == before, (width, name)


def test_of_very_many_cells_those_that_come_into_sight_are_measured_then(live):
    one = live["crowd"]
    one.page.set_viewport_size({"width": 900, "height": 500})
    one.at.locator("[data-step=out] .ts-plot").press("Enter")
    marks = one.box("x")
    marks.locator("input").first.scroll_into_view_if_needed()
    marks.locator(".ts-sways span:first-child[data-kind=slope]").wait_for()
    kinds = marks.locator(".ts-sways span").evaluate_all("marks => marks.map(mark => mark.dataset.kind)")
    assert kinds[-1] == "skipped"
    said = one.at.locator("[data-sway]").inner_text()
    assert SAY["block"].format(count=300 - kinds.count("skipped"), all=300) in said
    marks.locator("input").last.scroll_into_view_if_needed()
    marks.locator(".ts-sways span:last-child[data-kind=none]").wait_for()
    assert marks.locator(".ts-sways span").first.get_attribute("data-kind") == "skipped"


def test_whole_numbers_and_top_k_jump_and_bends_do_not(live):
    live["jumpy"].at.evaluate("el => el.explorer.set('x', [0.49, 0, 0.0, 0.5])")
    found = live["jumpy"].chosen("hash", 1)
    assert found["marks"]["n"][0]["kind"] == "jump"
    assert SAY["whole"] in found["said"]
    live["jumpy"].at.evaluate("el => el.explorer.set('x', [0.49, 0.4899, 0.005, 0.7])")
    assert live["jumpy"].chosen("kept", 1)["marks"]["x"][1]["kind"] == "jump"
    assert [m["kind"] for m in live["jumpy"].chosen("kept", 3)["marks"]["x"]] == ["none", "none", "none", "slope"]
    live["jumpy"].at.evaluate("el => el.explorer.set('x', [0, 0, 0.005, 0.5])")
    assert live["jumpy"].chosen("bend", 0)["marks"]["x"][0]["kind"] == "slope"
    assert live["jumpy"].chosen("bend", 1)["marks"]["x"][1]["slope"] == 0
    found = live["jumpy"].chosen("bend", 2)
    assert found["marks"]["x"][2]["kind"] == "jump"
    assert "jumps from 1 to -1 as x[S 2] goes down" in found["said"]


@pytest.mark.parametrize("step", ["S", "A", "still"])
def test_the_sign_with_a_number_covers_no_formula(live, step):
    live["soft"].at.evaluate("el => el.explorer.ready")
    panel = live["soft"].at.locator(f"[data-step={step}]")
    for one in panel.locator(".ts-cell, .ts-bar").all():
        one.hover(force=True)
        sign, head = (part.bounding_box() for part in (live["soft"].at.locator(".ts-tip"), panel.locator("figcaption")))
        assert sign["y"] >= head["y"] + head["height"] - 1


def test_what_climbs_steeply_from_its_lowest_place_does_not_jump(live):
    live["jumpy"].at.evaluate("el => el.explorer.set('x', [0, 0, 0.005, 0.5])")
    found = live["jumpy"].chosen("steep", 0)
    assert found["marks"]["x"][0]["kind"] == "slope"
    assert "jump" not in found["said"]


def test_every_other_option_of_a_choice_is_a_jump_of_its_own_size(live):
    found = live["discrete"].chosen("p", 0)
    now, other = (torch.softmax(torch.tensor([0.5, 0.2]) * by, -1)[0].item() for by in (1, 2))
    mark = found["marks"]["how"][0]
    assert (mark["kind"], mark["text"]) == ("jump", f"↕+{other - now:.3f}")
    assert mark["slope"] == pytest.approx(other - now, rel=1e-4)
    leap = SAY["leapBy"].format(by=f"+{other - now:.3f}", to=f"{other:.6g}", where="{where}")
    wheres = [SAY["option"].format(handle="how", option=option) for option in ("twice", "doubly")]
    sentence = SAY["leaps"].format(leaps=", ".join(leap.format(where=where) for where in wheres))
    assert sentence in found["list"]
    assert any(title.endswith(sentence) for title in found["titles"])
    line = live["discrete"].box("how").locator(".ts-sway-dial").evaluate(
        "mark => [getComputedStyle(mark).borderBottomStyle, parseFloat(getComputedStyle(mark).borderBottomWidth)]")
    assert line[0] == "double"
    assert line[1] >= 3  # thinner, two lines look like one


def test_a_piece_is_taken_out_of_its_place_and_the_others_stay(live):
    ids = LETTERS.encode(TEXT)
    found = live["discrete"].chosen("ids", 1)
    marks = found["marks"]["text"]
    assert [mark["kind"] for mark in marks] == ["none", "jump", *["none"] * (len(ids) - 2)]
    assert marks[1]["slope"] == LETTERS.pad_id - ids[1]
    assert marks[1]["text"] == f"→ {LETTERS.pad_id}"
    piece = SAY["piece"].format(name="text", i=1, text=LETTERS.pieces[ids[1]].replace(" ", "␣"))
    where = SAY["without"].format(handle=piece)
    assert SAY["leaps"].format(leaps=SAY["leapTo"].format(to=LETTERS.pad_id, where=where)) in found["list"]
    assert SAY["emptied"] in found["said"]
    live["discrete"].at.evaluate("el => el.explorer.set('text', '')")
    assert live["discrete"].chosen("ids", 2)["marks"]["text"] == []


def test_a_window_is_tried_one_place_on_and_at_its_end_one_back(live):
    for i, start, to, where in ((0, 2, 3, "onward"), (1, 3, 2, "back")):
        live["discrete"].at.evaluate("(el, start) => el.explorer.set('w', start)", start)
        found = live["discrete"].chosen("sum", i)
        assert found["marks"]["w"][0]["kind"] == "jump"
        by = SERIES[to:to + 3].sum() - SERIES[start:start + 3].sum()
        assert found["marks"]["w"][0]["slope"] == pytest.approx(by.item() / 2, rel=1e-4)
        assert any(SAY[where].format(handle="w") in text for text in found["titles"])


def test_a_slope_is_told_for_a_step_that_the_range_holds(live):
    found = live["discrete"].chosen("sum", 0)
    small, tiny = found["marks"]["small"][0], found["marks"]["tiny"][0]
    assert small["slope"] == pytest.approx(13, rel=1e-3)
    assert small["text"] == "+1.30"
    assert any(SAY["one"].format(by="+1.30", unit=0.1, handle="small") in text for text in found["titles"])
    assert tiny["slope"] == pytest.approx(1, rel=1e-2)
    assert any(SAY["one"].format(by=tiny["text"], unit=0.001, handle="tiny") in text for text in found["titles"])
    assert "gains by small, others lose" in live["discrete"].chosen("p", 0)["said"]


def test_128_cells_take_less_than_the_limit(live):
    live["many"].chosen("out", 0)
    took = []
    for i in (9, 18, 27):
        live["many"].at.evaluate("el => el.explorer.set('x', el.explorer.inputs().x.flat().map(v => v * 0.99))")
        found = live["many"].chosen("out", i)
        took.append(found["took"])
        assert sum(len(marks) for marks in found["marks"].values()) == 128
        assert sum(m["kind"] == "slope" for marks in found["marks"].values() for m in marks) == 16
    assert min(took) < LIMIT
