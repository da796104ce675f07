"""The state in the address: written when a hand rests, read when a page opens, refused kindly when it does not fit."""

import base64
import json
from contextlib import ExitStack
from time import monotonic

import pytest
import torch
from browsing import quiet_server
from live import ask
from staged import opened, page_of

from tsattn_mini import step
from tsattn_mini.engram.tokenizer import Tokenizer
from tsattn_mini.explore import Cells, Choice, Explorer, Slider, Toggle, Tokens
from tsattn_mini.explore.element import words

pytestmark = pytest.mark.browser
SAY = words("link")
PIECES = ["<pad>", "ab", "a", "b", "ü", " "]
MOVED = {"x": [0.1, -0.3, 1 / 3], "tau": 1 / 3, "n": 4, "on": True, "how": "ünd & so", "text": "ab ü"}
COPIED = """() => { self.copied = []; navigator.clipboard.writeText = async text => { copied.push(text); }; }"""


def every_kind(x, tau, n, on, how, text):
    y = torch.where(on, -x, x) * tau * {"once": 1.0, "ünd & so": 2.0}[how] + n
    step("y", y, axes="S")
    step("ids", text, axes="L")


def other(x):
    step("z", x * 2, axes="")


def explorers():
    return [
        Explorer(every_kind, id="all", inputs={
            "x": Cells(torch.tensor([0.5, 0.25, 0.125]), -1, 1, axes="S"), "tau": Slider(1.0, 1 / 3, 9.0, log=True),
            "n": Slider(2, 0, 5, integer=True), "on": Toggle(False), "how": Choice("once", ["once", "ünd & so"]),
            "text": Tokens(Tokenizer(PIECES), "b", 4)}),
        Explorer(other, id="other", inputs={"x": Slider(0.0, -2, 2)})]


@pytest.fixture(scope="module")
def folder(book, tmp_path_factory):
    with page_of(explorers, tmp_path_factory.mktemp("link")) as made:
        yield made


@pytest.fixture
def visit(browser, folder, request):
    """`visit(query)` opens the page from the disk, or from a server where the test asks for "http"."""
    with quiet_server(folder) as address, ExitStack() as windows:
        site = address if getattr(request, "param", "file") == "http" else None
        yield lambda query="": windows.enter_context(opened(browser, folder, site, query))


both_ways = pytest.mark.parametrize("visit", ["http", "file"], indirect=True)


WRITTEN = """([id, moved]) => {
  const near = (a, b) => Array.isArray(a) ? a.every((v, i) => near(v, b[i]))
    : typeof a === "number" ? Math.abs(a - b) < 1e-6 : a === b;
  try {
    const letters = atob(new URLSearchParams(location.search).get("s").replaceAll("-", "+").replaceAll("_", "/"));
    const states = JSON.parse(new TextDecoder().decode(Uint8Array.from(letters, c => c.charCodeAt(0))));
    return Object.entries(moved).every(([name, value]) => near(value, states[id][name]));
  } catch {
    return false;
  }
}"""


def linked(states):
    text = states if isinstance(states, str) else json.dumps(states)
    return "?s=" + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def move(live, moved):
    """Set inputs to what they did not hold at first, and wait until the address says so."""
    for name, value in moved.items():
        ask(live.at, "(el, name, value) => el.explorer.set(name, value).then(() => 1)", name, value)
    live.page.wait_for_function(WRITTEN, arg=[live.spec["id"], moved])


def inputs(live):
    return ask(live.at, "async el => (await el.explorer.ready, el.explorer.inputs())")


def single(value):
    """A value with its numbers as float32, which is what graphs compute in."""
    return value if isinstance(value, str) else torch.tensor(value).float().tolist()


def settle(live, wanted, said=""):
    """Wait until the inputs are `wanted`, to the last digit of float32, and the message begins with `said`."""
    end = monotonic() + 8
    while True:
        now, message = inputs(live), live.at.locator("[data-say]").inner_text()
        if {name: single(now[name]) for name in wanted} == {name: single(wanted[name]) for name in wanted} \
                and message.startswith(said):
            return message
        assert monotonic() < end, (now, message)


@both_ways
def test_a_link_brings_every_input_back(visit):
    first = visit()
    assert "?" not in first["all"].page.url
    move(first["all"], MOVED)
    move(first["other"], {"x": -1.5})
    url = first["all"].page.url
    assert set(url.partition("?s=")[2]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    again = visit("?" + url.partition("?")[2])
    settle(again["all"], MOVED)
    settle(again["other"], {"x": -1.5})
    again["all"].settled("a link")
    again["all"].page.reload()
    settle(again["all"], MOVED)


@both_ways
def test_reset_takes_the_state_out_of_the_address_and_leaves_the_rest(visit):
    live = visit("?talk&x=1#here")
    move(live["all"], {"n": 3})
    move(live["other"], {"x": 1.0})
    assert "s=" in live["all"].page.url
    for one in live.values():
        one.at.locator("[data-reset]").press("Enter")
    live["all"].page.wait_for_function("() => !location.search.includes('s=')")
    url = live["all"].page.url
    assert "s=" not in url
    assert "talk" in url
    assert "x=1" in url
    assert url.endswith("#here")


@pytest.mark.parametrize("query", ["?s=", "?s=%%%", "?s=abc", "?s=_-_-",
                                   *map(linked, ("[1]", "no json", '{"all": 3}'))])
def test_a_link_that_cannot_be_read_is_said_once(visit, query):
    live = visit(query)
    settle(live["all"], {"n": 2, "tau": 1.0}, SAY["broken"])
    assert live["other"].state()["message"] == ""
    move(live["other"], {"x": 1.0})
    assert live["all"].page.url.endswith(linked('{"other":{"x":1}}'))


@pytest.mark.parametrize("mine", [{"old": 1}, {"n": 9}, {"n": 2.5}, {"tau": "1"}, {"x": [1, 2]}, {"how": "never"},
                                  {"text": "zebra"}, {"on": 1}, {"x": [0, 0, 5]}, {"__proto__": 1}, {"n": None},
                                  {"how": "x" * 3000}])
def test_a_link_that_does_not_fit_is_refused_as_a_whole(visit, mine):
    live = visit(linked(json.dumps({"all": {"on": True, **mine} if "on" not in mine else mine, "other": {"x": 1.0}})))
    settle(live["other"], {"x": 1.0})
    settle(live["all"], {"n": 2, "on": False, "tau": 1.0, "how": "once", "text": "b"}, SAY["outdated"].split("{")[0])
    assert live["all"].page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_link_to_an_explorer_that_is_gone_still_brings_the_others_back(visit):
    live = visit(linked({"gone": {"x": 1}, "other": {"x": 1.0}}))
    settle(live["all"], {"n": 2}, SAY["gone"])
    settle(live["other"], {"x": 1.0})
    move(live["other"], {"x": 0.5})
    settle(visit("?" + live["all"].page.url.partition("?")[2])["other"], {"x": 0.5})


@both_ways
def test_going_back_and_forward_keeps_picture_and_address_together(visit):
    live = visit()
    page, one = live["all"].page, live["all"]
    move(one, {"n": 3})
    page.evaluate("location.hash = 'there'")
    move(one, {"n": 4})
    page.go_back()
    settle(one, {"n": 4})
    assert not page.url.endswith("#there")
    there = page.url
    page.goto("about:blank")
    page.go_back()
    settle(one, {"n": 4})
    assert page.url == there


@both_ways
def test_the_button_copies_the_address_with_the_place_of_the_explorer(visit):
    live = visit()
    one = live["other"]
    one.page.evaluate(COPIED)
    move(one, {"x": 1.25})
    one.at.locator("summary").press("Enter")
    one.at.get_by_role("button", name=SAY["copy"]).press("Enter")
    one.at.get_by_text(SAY["copied"]).wait_for()
    assert one.page.evaluate("copied") == [f"{one.page.url}#explorer-other"]
    again = visit(one.page.evaluate("copied")[0].partition("page.html")[2])
    settle(again["other"], {"x": 1.25})
    assert again["other"].at.evaluate("el => el.getBoundingClientRect().top") < 300


def test_a_value_at_the_end_of_a_range_is_taken_back(visit):
    live = visit()
    move(live["all"], {"tau": 1 / 3, "x": [1, -1, 0]})
    settle(visit("?" + live["all"].page.url.partition("?")[2])["all"], {"tau": 1 / 3, "x": [1.0, -1.0, 0.0]})
