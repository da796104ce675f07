"""Every control of every explorer of the built book, moved as a reader moves it: by keyboard, by pointer, by typing.

After each move the numbers must be those of the page's own graph, and the picture the one Python draws of them.
"""

import re
from math import floor, log10

import numpy as np
import pytest
from browsing import of_every_kind, pages, specs
from live import Live, ask, marks, shown_arrays

from tsattn_mini.explore.element import words
from tsattn_mini.figures import number

pytestmark = pytest.mark.browser
WITH_EXPLORERS = pages("data-explorer=")
# Every page comes one way, in turn; by both those that have, together, every kind of handle.
WAYS = sorted({*((("http", "file")[i % 2], name) for i, name in enumerate(WITH_EXPLORERS)),
               *((way, name) for way in ("http", "file") for name in of_every_kind())})
NOT_NUMBERS = ["", "--", "9e", "abc", "1e400"]
DRAG = 60  # pixels
MOST = 12  # cells of a field that are moved by an arrow key; of a larger one these, from its first to its last
SHOWN_STEP = """el => [[...el.querySelectorAll("[data-go][aria-pressed=true]")].map(button => button.dataset.go),
  [...el.querySelectorAll(".ts-now")].map(panel => panel.dataset.step), el.querySelector("[data-caption]").innerText,
  [...el.querySelectorAll(".ts-panel.ts-from")].map(panel => panel.dataset.step),
  [...el.querySelectorAll("[data-input].ts-from")].map(box => box.dataset.input)]"""


@pytest.mark.parametrize(("site", "name"), WAYS, indirect=["site"])
def test_every_control_moves_the_picture(visit, name):
    page = visit(name)
    explorers = [Live(page, spec) for spec in specs(name).values()]
    assert explorers
    assert not [url for url in page.asked if "ort.wasm" in url], "the runtime came before it was needed"
    for live in explorers:
        first = live.state()
        still = [input for input in live.spec["inputs"] if not moved(live, move(live, input))]
        still = presets(live, still)
        assert not still, f"{live.spec['id']}: {[input['name'] for input in still]} move no number"
        steps(live)
        reset(live, first)
    for kind in ("slider", "cells"):
        fields = [(live, input) for live in explorers for input in live.spec["inputs"] if input["kind"] == kind]
        for live, input in fields[:1]:
            refuses(live, live.box(input["name"]).locator(".ts-number").first, input)
    assert len([url for url in page.asked if "ort.wasm" in url]) == 1


def move(live, input):
    """Move one control through its positions; returns the states seen on the way."""
    how = {"slider": slider, "cells": cells, "choice": choice, "toggle": toggle, "tokens": tokens,
           "window": slider}
    return how[input["kind"]](live, input)


def moved(live, states):
    """Whether a shown number differs between two of the states."""
    first, *others = [shown_arrays(state["values"], live.spec) for state in states]
    return any(not np.array_equal(first[name], other[name], equal_nan=True) for other in others for name in first)


def slider(live, input):
    place, exact = live.box(input["name"]).locator("input").all()
    seen = [live.state()]
    for key, end in (("Home", "min"), ("End", "max")):
        place.press(key)
        seen.append(live.settled(f"{key} on {input['name']}", **{input["name"]: input[end]}))
    before = live.state()["inputs"][input["name"]]
    drag(live, place, -0.3 * place.bounding_box()["width"], 0, at=0.98)
    seen.append(live.settled(f"a drag of {input['name']}"))
    assert seen[-1]["inputs"][input["name"]] < before
    value = between(input, 0.4)
    type_into(exact, value)
    seen.append(live.settled(f"{value} typed for {input['name']}", **{input["name"]: float(value)}))
    return seen


def cells(live, input):
    fields = live.box(input["name"]).locator("input").all()
    seen = [live.state()]
    for i in sorted({round(at) for at in np.linspace(0, len(fields) - 1, min(MOST, len(fields)))}):
        before, field = seen[-1], fields[i]
        up = flat(before, input)[i] < input["max"]
        field.press("ArrowUp" if up else "ArrowDown")
        seen.append(live.settled(f"an arrow key in cell {i} of {input['name']}"))
        assert (flat(seen[-1], input)[i] > flat(before, input)[i]) == up
    middle, before = len(fields) // 2, seen[-1]
    down = flat(before, input)[middle] > (input["min"] + input["max"]) / 2
    drag(live, fields[middle], 0, DRAG if down else -DRAG)
    after = live.settled(f"a drag in cell {middle} of {input['name']}")
    assert (flat(after, input)[middle] < flat(before, input)[middle]) == down
    for field, place in ((fields[0], 0.3), (fields[-1], 0.6)):
        before, value = live.state(), between(input, place)
        type_into(field, value)
        want = flat(before, input)
        want[fields.index(field)] = float(value)
        live.settled(f"{value} typed into {input['name']}", **{input["name"]: nested(want, input)})
    return seen


def choice(live, input):
    select, seen = live.box(input["name"]).locator("select"), [live.state()]
    for option in [*input["options"], input["value"]]:
        select.select_option(option)
        seen.append(live.settled(f"{input['name']} = {option}", **{input["name"]: option}))
    return seen


def toggle(live, input):
    tick, seen = live.box(input["name"]).locator("input"), [live.state()]
    for _ in range(2):
        tick.press("Space")
        want = not seen[-1]["inputs"][input["name"]]
        seen.append(live.settled(f"{input['name']} toggled", **{input["name"]: want}))
    return seen


def tokens(live, input):
    """Type a sentence of two pieces, then one too many pieces, then a character without a piece."""
    field, name, say = live.box(input["name"]).locator("input"), input["name"], words("explorer")
    piece = max(input["pieces"][1:], key=len)
    seen = [live.state()]
    cut = say["cut"].format(name=input["label"], length=input["length"], rest=piece)
    unknown = say["unknown"].format(name=input["label"], which="“☃”")
    for text, kept, sentence in ((piece * 2, piece * 2, None), (f"{piece}☃", piece, unknown),
                                 (piece * (input["length"] + 1), piece * input["length"], cut)):
        type_into(field, text)
        seen.append(live.settled(f"{text!r} typed for {name}", **{name: kept}))
        chips = live.box(name).locator("li b").all_inner_texts()
        assert chips == [piece.replace(" ", "␣")] * (len(kept) // len(piece))
        if sentence:
            live.at.locator("[data-say]").get_by_text(sentence).wait_for()
    return seen


def presets(live, still):
    """Press every preset; returns those inputs of `still` that move no number after any of them either."""
    seen = [live.state()]
    for preset in live.spec["presets"]:
        live.at.get_by_role("button", name=preset["label"], exact=True).press("Enter")
        if "question" in preset:
            live.at.get_by_role("button", name=words("ask")["move"]).press("Enter")
        seen.append(live.settled(preset["label"], **preset["values"]))
        still = [input for input in still if not moved(live, move(live, input))]
    assert len(seen) == 1 or moved(live, seen), f"{live.spec['id']}: no preset moves a number"
    return still


def steps(live):
    """The step bar: one step at a time is pressed, framed and explained; buttons and arrow keys go round."""
    last, bar = len(live.spec["steps"]) - 1, live.at.locator("[data-go]")
    previous, following = live.at.locator("[data-walk]").all()
    for i in range(last + 1):
        bar.nth(i).press("Enter")
        shows_step(live, i)
    for move, key, at in ((following, "Enter", 0), (previous, "Enter", last), (bar.nth(last), "ArrowRight", 0),
                          (bar.first, "ArrowDown", min(1, last)), (bar.nth(min(1, last)), "ArrowUp", 0),
                          (bar.first, "ArrowLeft", last)):
        move.press(key)
        shows_step(live, at)


def shows_step(live, i):
    step, (pressed, framed, said, made_from, handles) = live.spec["steps"][i], ask(live.at, SHOWN_STEP)
    assert (pressed, framed) == ([step["name"]], [step["name"]])
    assert (sorted(made_from), sorted(handles)) == (sorted(step["sources"]), sorted(step["handles"]))
    for part in (step["label"], step["note"], *step["axes"].split(), *map(str, step["dims"])):
        assert (part or "") in said
    for word in re.findall("[a-z]{3,}", step["eq"] or ""):
        assert word in said or word == "sqrt"


def reset(live, first):
    """Back to the first state exactly: inputs, numbers, and letter by letter the picture and what it says."""
    live.at.locator("[data-reset]").press("Enter")
    after = live.returned("Reset", first)
    for name, (svg, top) in first["plots"].items():
        assert marks(after["plots"][name][0])[0] == marks(svg)[0]
        assert after["plots"][name][1] == top
    live.hears(first["spoken"])


def refuses(live, field, input):
    """What is no number of the range changes nothing, gives way to the last value, and a sentence says the range."""
    span = input["max"] - input["min"]
    kind = "refusedWhole" if input.get("integer") else "refused"
    sentence = words("explorer")[kind].format(name=input["label"], min=number(input["min"]), max=number(input["max"]))
    for typed in [*NOT_NUMBERS, f"{input['max'] + span:.6g}", f"{input['min'] - span:.6g}"]:
        before = live.state()
        type_into(field, typed)
        after = live.state()
        where = f"{live.spec['id']}: {typed!r} typed for {input['name']}"
        assert (after["inputs"], after["values"]) == (before["inputs"], before["values"]), where
        assert after["message"] == sentence, where
        assert after["controls"] == before["controls"], where
    middle = between(input, 0.5)
    type_into(field, middle.replace(".", ","))  # a comma is a decimal point too
    wanted = {} if input["kind"] == "cells" else {input["name"]: float(middle)}
    live.settled(f"a number typed for {input['name']} after a refused one", **wanted)


def type_into(field, text):
    field.press("ControlOrMeta+a")
    field.press("Delete")
    field.press_sequentially(text)
    field.press("Enter")


def drag(live, target, by_x, by_y, at=0.5):
    """Press the main button on `target` at a share of its width, move, let go."""
    target.scroll_into_view_if_needed()
    box, mouse = target.bounding_box(), live.page.mouse
    x, y = box["x"] + at * box["width"], box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + by_x, y + by_y, steps=4)
    mouse.up()


def between(input, share):
    """A typed number at a share of the range, with few digits."""
    low, high = input["min"], input["max"]
    if input.get("log"):
        return f"{low * (high / low) ** share:.2g}"
    if input.get("integer"):
        return str(round(low + share * (high - low)))
    return f"{low + share * (high - low):.{max(0, 2 - floor(log10(high - low)))}f}"


def flat(state, input):
    value = state["inputs"][input["name"]]
    return [v for row in value for v in row] if len(input["dims"]) == 2 else list(value)


def nested(numbers, input):
    columns = input["dims"][-1]
    return [numbers[i:i + columns] for i in range(0, len(numbers), columns)] if len(input["dims"]) == 2 else numbers



def test_a_cell_is_dragged_by_a_finger_and_the_page_still_scrolls_over_it(visit):
    name, spec = next((name, spec) for name in WITH_EXPLORERS for spec in specs(name).values() if cells_of(spec))
    page = visit(name, 390, 844, has_touch=True, is_mobile=True)
    live, input = Live(page, spec), cells_of(spec)[0]
    field = live.box(input["name"]).locator("input").first
    before = live.state()["inputs"]
    swipe(page, field)
    assert live.state()["inputs"] == before
    field.tap()
    at = page.evaluate("scrollY")
    swipe(page, field)
    after = live.settled(f"a finger on {input['name']}")
    assert after["inputs"] != before
    assert page.evaluate("scrollY") == at


def cells_of(spec):
    return [input for input in spec["inputs"] if input["kind"] == "cells"]


def swipe(page, target):
    """One finger down on the middle of `target`, up by `DRAG` pixels in four moves, off."""
    target.scroll_into_view_if_needed()
    box, touch = target.bounding_box(), page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for i in range(5):
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove" if i else "touchStart",
                                                "touchPoints": [{"x": x, "y": y - i * DRAG / 4}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
