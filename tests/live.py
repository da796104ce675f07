"""An explorer on an open page: what it shows, beside what its own graph and `figures` say it should show."""

import json
import re
from base64 import b64decode
from gzip import decompress
from math import prod
from time import monotonic

import numpy as np
import onnxruntime
import torch

from tsattn_mini.engram.tokenizer import Tokenizer
from tsattn_mini.explore.html import picture_of
from tsattn_mini.figures import number, spread

PARITY = 1e-5  # of the largest finite number of an array
PATIENCE = 10  # seconds until an answer that does not come is a failure

STATE = """el => ({
  inputs: el.explorer.inputs(),
  values: el.explorer.values(),
  spoken: [...el.querySelectorAll(".ts-plot svg")].map(svg => svg.getAttribute("aria-label")),
  message: el.querySelector("[data-say]").textContent,
  plots: Object.fromEntries([...el.querySelectorAll("[data-step]")].map(figure => [figure.dataset.step,
    [figure.querySelector(".ts-plot").innerHTML, figure.querySelector("[data-top]")?.textContent]])),
  controls: Object.fromEntries([...el.querySelectorAll("[data-input]")].map(box => [box.dataset.input,
    [...box.querySelectorAll("input, select")].map(c => c.type === "checkbox" ? c.checked : c.value)])),
})"""

MARKS = """el => Object.fromEntries([...el.querySelectorAll("[data-input]")].map(box => [box.dataset.input,
  [...box.querySelectorAll(".ts-sways span, .ts-sway-dial")].map(({ dataset, textContent }) =>
    ({ kind: dataset.kind, sign: dataset.sign, slope: Number(dataset.slope), text: textContent }))]))"""
CHOOSE = """async (el, step, i) => {
  await el.explorer.ready;
  const cell = el.querySelectorAll(`[data-step="${step}"] :is(.ts-cell, .ts-bar)`)[i];
  const box = cell.getBoundingClientRect();
  delete el.dataset.sways;
  const start = performance.now();
  cell.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + 1 }));
  while (el.dataset.sways !== "shown") {
    if (performance.now() - start > 9000) throw new Error(el.querySelector("[data-sway]").textContent);
    await new Promise(later => setTimeout(later));
  }
  const took = performance.now() - start;
  while (el.querySelector("[data-sway]").ariaBusy === "true") {
    if (performance.now() - start > 18000) throw new Error("the influences are still being measured");
    await new Promise(later => setTimeout(later));
  }
  const all = (where, what) => [...el.querySelectorAll(where)].map(what);
  return { took, marks: (MARKS)(el), said: el.querySelector("[data-sway]").innerText,
    list: all("[data-sway] li", item => item.textContent), titles: all("[data-input] [title]", field => field.title) };
}""".replace("MARKS", MARKS)

PLAIN = "(_, v) => typeof v === 'bigint' || (typeof v === 'number' && !Number.isFinite(v)) ? String(v) : v"


def ask(element, question, *about):
    """What the JavaScript function `question` of an element answers. JSON is quicker than Playwright's own form."""
    script = f"async (el, about) => JSON.stringify(await ({question})(el, ...about), {PLAIN})"
    return json.loads(element.evaluate(script, about))


class Graph:
    """The graphs a page carries, run by ONNX Runtime in Python."""

    def __init__(self, spec):
        self.spec, self.sessions = spec, {}

    def __call__(self, inputs):
        """Shown step → array at `inputs`."""
        key = "|".join(inputs[i["name"]] for i in self.spec["inputs"] if i["kind"] == "choice")
        if key not in self.sessions:
            graph = decompress(b64decode(self.spec["graphs"][key]))
            self.sessions[key] = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        feeds = {f"in/{i['name']}": entering(i, inputs[i["name"]])
                 for i in self.spec["inputs"] if i["kind"] != "choice"}
        wanted = {i.name for i in self.sessions[key].get_inputs()}
        shown = [step["name"] for step in self.spec["steps"]]
        return dict(zip(shown, self.sessions[key].run(
            shown, {name: value for name, value in feeds.items() if name in wanted}), strict=True))


def entering(input, value):
    """The array that an input's value enters the graph as."""
    if input["kind"] == "tokens":
        ids = Tokenizer(input["pieces"]).encode(value)
        return np.array(ids + [input["pad"]] * (input["length"] - len(ids)), np.int64)
    kind = bool if input["kind"] == "toggle" else np.int64 if input.get("integer") else np.float32
    return np.asarray(value, kind)


def apart(want, got):
    """How far `got` is from `want`, as a share of the largest finite number; infinite where NaN or ±∞ differ.

    Whole numbers agree to the last digit, or not at all.
    """
    if np.asarray(want).dtype == np.asarray(got).dtype == np.int64:
        return 0.0 if np.array_equal(want, got) else np.inf
    want, got = np.asarray(want, float), np.asarray(got, float)
    finite = np.isfinite(want)
    if want.shape != got.shape or not np.array_equal(want[~finite], got[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    want, got = want[finite], got[finite]
    return float(np.abs(want - got).max() / (np.abs(want).max() or 1))


def shown_arrays(values, spec):
    """`el.explorer.values()`, as `ask` brings it, as arrays: step → int64 or float64."""
    kinds = {step["name"]: np.int64 if step["type"] == "int64" else float for step in spec["steps"]}
    plain = {name: [int(x) for x in v["data"]] if kinds[name] is np.int64 else v["data"] for name, v in values.items()}
    return {name: np.array(plain[name], kinds[name]).reshape(v["dims"]) for name, v in values.items()}


def first_values(spec):
    """The arrays a page came with: step → array."""
    data, at, found = decompress(b64decode(spec["first"])), 0, {}
    for step in spec["steps"]:
        count = prod(step["dims"])
        found[step["name"]] = np.frombuffer(data, step["type"], count, at).reshape(step["dims"])
        at += found[step["name"]].nbytes
    return found


def marks(svg):
    """What can be seen of a picture: its texts, and the numbers by which its parts are coloured and placed."""
    texts = re.findall(r"<text[^>]*>([^<]*)", svg)
    numbers = [float(v) for v in re.findall(r"--v: ?([-+.\de]+)", svg)]
    for bar in re.findall(r"<rect class=.ts-bar.[^>]*", svg):
        numbers += [float(v) for v in re.findall(r" (?:y|height)=.([-+.\de]+)", bar)]
    for points in re.findall(r" points=.([^'\"]*)", svg):
        numbers += [float(v) for v in re.split("[ ,]", points) if v]
    return texts, numbers


class Live:
    """One explorer of an open page. `state()` is all that a reader or a program can see of it."""

    def __init__(self, page, spec):
        self.page, self.spec, self.graph = page, spec, Graph(spec)
        self.at = page.locator(f"[data-explorer='{spec['id']}']")
        self.at.evaluate("el => el.explorer.ready")

    def state(self):
        return ask(self.at, STATE)

    def box(self, name):
        """The part of the page that holds the controls of one input."""
        return self.at.locator(f"[data-input='{name}']")

    def settled(self, where, **inputs):
        """Wait until numbers, pictures and controls all follow the inputs, which must be `inputs` where named."""
        end = monotonic() + PATIENCE
        while True:
            state = self.state()
            faults = self.faults(state, inputs)
            if not faults:
                return state
            if monotonic() > end:
                raise AssertionError(f"{self.spec['id']}, {where}: " + "; ".join(faults))

    def returned(self, where, first):
        """Wait until the whole of `first`, an earlier state, stands there again: inputs, numbers and controls."""
        parts, end = ("inputs", "values", "controls"), monotonic() + PATIENCE
        while any((state := self.state())[part] != first[part] for part in parts):
            assert monotonic() < end, f"{self.spec['id']}, {where}: {state}, not {first}"
        return self.settled(where)

    def chosen(self, step, i):
        """Click entry `i` of a heat map or bar chart: what marks, words and titles then say moves it, and how soon."""
        return ask(self.at, CHOOSE, step, i)

    def hears(self, spoken):
        """Wait until the pictures say `spoken` to a listener; they speak once the hand rests."""
        end = monotonic() + PATIENCE
        while (said := self.state()["spoken"]) != spoken:
            assert monotonic() < end, f"{self.spec['id']} says {said}, not {spoken}"

    def faults(self, state, inputs):
        """What of a state does not fit together."""
        faults = [f"{name} is {state['inputs'][name]}, not {value}" for name, value in inputs.items()
                  if not same(state["inputs"][name], value)]
        shown, want = shown_arrays(state["values"], self.spec), self.graph(state["inputs"])
        for step in self.spec["steps"]:
            name = step["name"]
            if not (off := apart(want[name], shown[name])) <= PARITY:
                faults.append(f"{name} is off by {off:.1e}: {shown[name].tolist()}, not {want[name].tolist()}")
            elif why := picture_fault(step, shown[name], *state["plots"][name], self.spec["labels"]):
                faults.append(f"the picture of {name} {why}")
        for input in self.spec["inputs"]:
            if not reads(input, state["inputs"][input["name"]], state["controls"][input["name"]]):
                faults.append(f"the control of {input['name']} shows {state['controls'][input['name']]}")
        return faults


def picture_fault(step, values, svg, top, labels=None):
    """None when the front end drew what Python draws for these values, else what differs."""
    x = torch.tensor(values, dtype=getattr(torch, step["type"]))
    texts, numbers = marks(picture_of(step, x, labels or {}))
    drawn_texts, drawn = marks(svg)
    if texts != drawn_texts:
        return f"says {drawn_texts}, not {texts}"
    if len(numbers) != len(drawn) or not np.allclose(numbers, drawn, atol=2e-3):
        return f"is drawn at {drawn}, not {numbers}"
    if top not in (None, f"± {number(spread(x))}"):
        return f"reaches to {top}, not {spread(x)}"


def same(now, value):
    """Equal inputs: words exactly, numbers up to the four places a slider shows."""
    if isinstance(value, (str, bool)):
        return now is value or now == value
    return bool(np.allclose(now, value, rtol=1e-3, atol=1e-9))


def reads(input, value, controls):
    """Whether the native controls of an input read `value`."""
    if input["kind"] in ("choice", "toggle", "tokens"):
        return controls == [value]
    if input["kind"] == "cells":
        return bool(np.allclose(np.array(controls, float), np.ravel(value), rtol=1e-2, atol=1e-9))
    place, exact = map(float, controls)
    return same(exact, value) and bool(np.isclose(place, np.log10(value) if input["log"] else value, atol=1e-6))
