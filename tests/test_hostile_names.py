"""Whatever somebody calls a thing, the page around it is built of the same elements and attributes, and no other."""

import json
import re
from collections import Counter
from html.parser import HTMLParser

import pytest
import torch
from browsing import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tsattn_mini import record, step
from tsattn_mini.cli import terminal
from tsattn_mini.explore import Cells, Choice, Explorer, Preset, Slider, Toggle
from tsattn_mini.explore.element import embedded
from tsattn_mini.explore.question import Option, Pair, Slip, choice, match, number, order, render, several, written
from tsattn_mini.figures import Table, bars, heat, lines
from tsattn_mini.visible import visible

PARTS = ["</script>", "<!--", "<script>", "]]>", '"><img src=x onerror=a()>', "'><svg onload=a()>", "' onfocus=a() x='",
         '"', "'", "`", "&", "&lt;", "${a}", "{a}", "\\", "\u2028", "\u202e", "\0", "\ud800", "\x1b[31m", "\n", "\t",
         "=1", "👩\u200d💻", "τ Xᵀ/√E", "$x$", "\\(y\\)", "**a**", "javascript:a()", "</style>", "<b>"]
HOSTILE = st.lists(st.sampled_from(PARTS) | st.characters(), min_size=1, max_size=6).map("".join)
FEW = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
INLINE = {"code", "em", "strong", "wbr"}  # what the marks of a text may add
DATA = "application/json"


class Elements(HTMLParser):
    """How often each element with its attributes stands in a page; comments, and data that is no JSON, are faults."""

    def __init__(self, html):
        super().__init__()
        self.found, self.data = Counter(), None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        names = tuple(sorted(name for name, _ in attrs))
        if tag not in INLINE:
            self.found[tag, names] += 1
        assert not [name for name in names if name.startswith("on")]
        if tag == "script":
            assert dict(attrs)["type"] == DATA
            self.data = ""

    def handle_data(self, data):
        if self.data is not None:
            self.data += data

    def handle_endtag(self, tag):
        if tag == "script":
            json.loads(self.data)
            self.data = None

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")


def figures(name):
    """Pictures, tables and flow diagrams of what is called `name`."""
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
    with record() as trace:
        step(name, x * 2, axes="L S", note=name)
    yield from (heat(x, "L S", title=name), bars(x[0], "V", title=name), lines(x, "V T", title=name))
    yield from (Table([name, "b"], [[name, 1]]), trace.table(), trace.flow())


def questions(name):
    """A question of each kind, every text of which is `name`, or holds it where texts must differ."""
    a, b = Option(f"a {name}", name), Option(f"b {name}", name)
    common = {"text": name, "hint": name}
    yield choice(id="97-a", options={"a": a, "b": b}, answer=lambda: "a", **common)
    yield several(id="97-b", options={"a": a, "b": b}, answer=lambda: {"a"}, **common)
    yield order(id="97-c", items={"a": a, "b": b}, answer=["b", "a"], right=name, pairs=[Pair("a", "b", name)],
                **common)
    yield match(id="97-d", left={"a": a, "b": b}, right={"c": f"c {name}", "d": f"d {name}"},
                answer={"a": "d", "b": "c"}, **common)
    yield number(id="97-e", answer=lambda: 1.0, tolerance=0.1, right=name, wrong=name, unit=name,
                 slips={name: Slip(2.0, name)}, **common)
    yield written(id="97-f", model_answer=name, rubric=[name, f"b {name}"], **common)


def explorer(name):
    """An explorer whose title, steps, notes, inputs, options, labels and presets are called `name`."""
    seen = visible(name)
    word = " ".join(seen.replace("|", "").split())  # what an option may be

    def fn(**given):
        x = given[f"x{seen}"] * given[f"t{seen}"] * torch.where(given[f"o{seen}"], 1.0, 2.0)
        step(f"s{seen}", x * (1 + (given[f"c{seen}"] == f"b{word}")), axes="V", note=name)

    return Explorer(fn, {f"x{seen}": Cells(torch.ones(2), 0, 2, axes="V"), f"t{seen}": Slider(1.0, 0, 2),
                         f"o{seen}": Toggle(True), f"c{seen}": Choice(f"a{word}", [f"a{word}", f"b{word}"])},
                    id="hostile", title=f"t {name}", labels={"V": [f"a{name}", f"b{name}"]},
                    presets={f"p {name}": Preset({f"t{seen}": 2.0}, question=f"q {name}", answer=f"a {name}")})


@FEW
@given(HOSTILE)
def test_pictures_tables_and_flows(name):
    for hostile, plain in zip(figures(name), figures("plain"), strict=True):
        assert Elements(hostile.html).found == Elements(plain.html).found


@FEW
@given(HOSTILE.filter(str.strip))  # a question without words is refused
def test_questions(name):
    for hostile, plain in zip(questions(name), questions("plain"), strict=True):
        assert Elements(render(hostile)).found == Elements(render(plain)).found


@FEW
@given(HOSTILE)
def test_explorers(no_graphs, name):
    found = []
    for text in (name, "plain"):
        made = explorer(text)
        found.append(Elements(made.html).found)
        made.close()
    assert found[0] == found[1]


@given(HOSTILE)
def test_data_in_a_script_is_read_as_it_was(name):
    text = embedded({"a": name})
    assert "<" not in text
    assert json.loads(text) == {"a": name}


@given(HOSTILE)
def test_a_terminal_is_told_nothing_but_letters(name):
    with pytest.MonkeyPatch.context() as patch:
        told = []
        patch.setattr(terminal, "print", lambda text, **how: told.append(text), raising=False)
        terminal.say(name)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u202e\ud800]", told[0])


def test_no_script_of_the_front_end_makes_code_of_text():
    web = ROOT / "tsattn_mini/explore/web"
    sources = [path for path in web.rglob("*.js") if "dist" not in path.parts]
    assert len(sources) > 60
    for path in sources:
        bad = r"\beval\(|new Function|document\.write|insertAdjacentHTML|outerHTML\s*=|srcdoc|setAttribute\(\"on"
        assert not re.search(bad, path.read_text("utf8")), path
