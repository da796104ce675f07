"""One formula, three runs: torch in the lesson, the page's graph in Python, and the same graph in the browser."""

import json

import numpy as np
import pytest
import torch
from browsing import pages, specs, watched
from live import PARITY, Graph, Live, apart, ask, shown_arrays
from staged import made_by

from tsattn_mini.engram.tokenizer import Tokenizer

pytestmark = pytest.mark.browser
RANDOM = 20
SENT = {"lessons/22_your_own_model.html": {"whole"}}  # what a lesson makes for a file to send, not for its page
RUN = """async (el, states) => {
  const found = [];
  for (const state of states) {
    await Promise.all(Object.entries(state).map(([name, value]) => el.explorer.set(name, value)));
    found.push(el.explorer.values());
  }
  return found;
}"""


@pytest.fixture(scope="module", params=pages("data-explorer="))
def lesson(request, browser, served):
    """A lesson's name, its page freshly opened, and by id the explorers its cells make."""
    name, problems = request.param, []
    needed = {*specs(name), *SENT.get(name, ())}
    with made_by(name.removeprefix("lessons/").removesuffix(".html"), needed) as made:
        context = browser.new_context()
        page = watched(context, served, problems)
        page.goto(served + name)
        yield name, page, made
        context.close()
    assert problems == []


def states(spec):
    """Every end of every handle with the others at their first values, then random states, the same every time."""
    first = {input["name"]: input["value"] for input in spec["inputs"]}
    draw = torch.Generator().manual_seed(5)
    found = [{**first, input["name"]: value} for input in spec["inputs"] for value in ends(input)]
    return found + [{i["name"]: anywhere(i, draw) for i in spec["inputs"]} for _ in range(RANDOM)]


def ends(input):
    match input["kind"]:
        case "tokens":
            return ["", input["pieces"][-1]]
        case "slider" | "window":
            return [input["min"], input["max"]]
        case "cells":
            return [np.full(input["dims"], float(end)).tolist() for end in (input["min"], input["max"])]
    return input.get("options", [True, False])


def anywhere(input, draw):
    """A random value that the handle can take; evenly on the logarithm for a log slider."""
    u = torch.rand(input.get("dims", ()), generator=draw, dtype=torch.float64)
    match input["kind"]:
        case "choice":
            return input["options"][int(u * len(input["options"]))]
        case "toggle":
            return bool(u < 0.5)
        case "tokens":
            return sentence(input, draw)
    low, high = input["min"], input["max"]
    if input.get("log"):
        return min(high, max(low, float(low * (high / low) ** u)))
    if input.get("integer"):
        return low + int(u * (high - low + 1))
    return (low + u * (high - low)).tolist()


def sentence(input, draw):
    """A text of random pieces, as many as surely fit."""
    letters = Tokenizer(input["pieces"])
    while True:
        ids = torch.randint(1, len(letters), (input["length"] // 2 + 1,), generator=draw)
        if len(letters.encode(text := letters.decode(ids))) <= input["length"]:
            return text


def test_the_numbers_of_a_fresh_page_are_those_of_torch(lesson):
    name, page, made = lesson
    for id, spec in specs(name).items():
        made[id].set(**{input["name"]: input["value"] for input in spec["inputs"]})
        live = Live(page, spec)
        for step, got in shown_arrays(live.state()["values"], spec).items():
            assert apart(made[id].values[step], got) <= PARITY, f"{id}: {step}"
        assert not live.faults(live.state(), {})


def test_torch_graph_and_browser_agree_at_the_ends_and_anywhere(lesson):
    name, page, made = lesson
    known = specs(name)
    assert made.keys() - known.keys() == SENT.get(name, set())
    assert known.keys() <= made.keys()
    for id, spec in known.items():
        places = states(spec)
        graph = Graph(spec)
        for state, found in zip(places, ask(Live(page, spec).at, RUN, places), strict=True):
            made[id].set(**state)
            shown = shown_arrays(found, spec)
            runs = {"graph": graph(state), "browser": shown}
            assert list(made[id].values) == list(shown)
            for step, want in made[id].values.items():
                for run, got in runs.items():
                    assert apart(want, got[step]) <= PARITY, f"{id}: {step} of the {run} at {json.dumps(state)}"
