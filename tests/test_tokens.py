"""`Tokens`, a handle that takes a sentence: what `fn` gets, what is refused, and the splitting in the page."""

import random
import re

import numpy as np
import pytest
import torch
from browsing import specs, watched
from live import Live, ask
from playwright.sync_api import Error

from tsattn_mini import record, step
from tsattn_mini.engram.hashing import ngram_hashes
from tsattn_mini.engram.tokenizer import Tokenizer
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.explore import Explorer, Tokens
from tsattn_mini.explore.element import front_end, words
from tsattn_mini.explore.export import difference

LETTERS = Tokenizer()
HASHES = ngram_hashes(Compression(LETTERS.pieces), [1], [97, 97], H=2, pad=0)[1]
SAY = words("explorer")
CUT = """([source, input, texts]) => import("data:text/javascript," + encodeURIComponent(source))
  .then(({ cut, padded }) => texts.map(text => [cut(input, text), padded(input, text)]))"""
OFFERS = """([source, input, texts]) => import("data:text/javascript," + encodeURIComponent(source))
  .then(({ offers }) => texts.map(text => offers(input, text)))"""


def mixes(text):
    """The 63-bit numbers of a sentence of eight pieces, one after the other."""
    with record() as trace:
        HASHES(Tokens(LETTERS, text, 8).tensor(text)[None])
    return trace["mix"].tensor.flatten().tolist()


def hashed(text):
    step("twice", 2 * text, axes="L")
    HASHES(text[None])


@pytest.fixture(scope="module")
def explorer():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSATTN_BOOK", "1")
        made = Explorer(hashed, {"text": Tokens(LETTERS, "Apple sold the apple.", 8)}, id="hashed",
                        presets={"Empty": {"text": ""}})
    yield made
    made.close()


def texts(count=1000):
    """Words, letters and characters beyond 16 bits in any order; a few that the pieces cannot spell."""
    draw = random.Random(13)
    parts = [*LETTERS.pieces[1:], *"áé☃😀", "e\u0301", "<pad>", "naïveté", "  "]
    return ["", *("".join(draw.choices(parts, k=draw.randint(1, 12))) for _ in range(count - 1))]


def test_a_kernel_is_asked_for_a_text_without_one_of_its_pieces(explorer):
    sent, text = [], "Apple sold the apple."
    ids = LETTERS.encode(text)
    explorer.send = lambda content, buffers=None: sent.append((content, buffers))
    for place in (0, 2, 8):
        moves = [{"text": {"text": text, "without": place}}]
        explorer._handle_custom_msg({"turn": place, "base": {"text": text}, "moves": moves, "step": "twice"}, [])
    for place, (_, buffers) in zip((0, 2), sent, strict=False):
        want = [*ids[:place], LETTERS.pad_id, *ids[place + 1:]]
        assert (np.frombuffer(buffers[0], np.int64) // 2).tolist() == want + [LETTERS.pad_id] * (8 - len(ids))
    assert sent[2] == ({"turn": 8, "error": "place: expected 0 to 7, got 8"}, None)


def test_fn_gets_the_ids_filled_up_with_padding(explorer):
    explorer.set(text=" apple")
    assert explorer.values["tokens"].tolist() == [[*LETTERS.encode(" apple"), *[0] * 7]]
    assert explorer.values["twice"].dtype == torch.int64
    explorer.set(text="")
    assert explorer.values["tokens"].tolist() == [[0] * 8]


def test_whole_numbers_are_compared_to_the_last_digit():
    large = torch.tensor([2**62])
    assert difference(large, large + 1) == torch.inf
    assert difference(large, large.clone()) == 0


def test_a_stored_lesson_keeps_the_sentence(explorer):
    explorer.set(text=" apple")
    assert repr(explorer).startswith("Explorer hashed: text= apple\n")


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "message"), [
    (lambda: Tokens(LETTERS, "snow ☃", 8), "value: text: expected characters the pieces can spell, got '☃' at place 5"),
    (lambda: Tokens(LETTERS, "the the the", 2), "value: expected at most 2 pieces, got 3 in 'the the the'"),
    (lambda: Tokens(LETTERS, 3, 2), "value: expected a text, got 3"),
    (lambda: Tokens(LETTERS, "", 0), "length: expected a whole number of ids, at least 1, got 0"),
    (lambda: Tokens(["a"], "a", 1), "vocabulary: expected a tokenizer .* without pieces"),
])
def test_what_is_no_sentence_of_the_vocabulary_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.bad_input
def test_a_refused_sentence_leaves_the_explorer_where_it_was(explorer):
    explorer.set(text=" apple")
    with pytest.raises(ValueError, match="text: expected at most 8 pieces, got 9"):
        explorer.set(text=" apple" * 9)
    assert explorer.values["tokens"][0, 0] == LETTERS.encode(" apple")[0]


@pytest.fixture
def page(browser, explorer, book, tmp_path):
    (tmp_path / "ts").symlink_to(book / "ts")
    (tmp_path / "page.html").write_text(
        "<!doctype html><html lang='en'><meta charset='utf8'><title>Tokens</title><meta name='viewport' "
        "content='width=device-width'><link rel='stylesheet' href='ts/style.css'><script defer src='ts/book.js'>"
        f"</script>{explorer.html}", "utf8")
    context, problems = browser.new_context(viewport={"width": 390, "height": 844}), []
    page = watched(context, tmp_path.as_uri(), problems)
    page.goto((tmp_path / "page.html").as_uri())
    page.spec = specs("page.html", tmp_path)["hashed"]
    yield page
    context.close()
    assert problems == []


@pytest.fixture
def live(page):
    return Live(page, page.spec)


@pytest.mark.browser
def test_the_page_cuts_a_thousand_texts_as_python_does(browser):
    page = browser.new_page()
    input = Tokens(LETTERS, "", 16).describe()
    found = page.evaluate(CUT, [front_end("pieces.js"), input, texts()])
    refused = 0
    for text, (got, ids) in zip(texts(), found, strict=True):
        if "unknown" in got:
            refused += 1
            assert got["ids"] == LETTERS.encode("".join(got["texts"]))
            with pytest.raises(ValueError, match=re.escape(
                    f"got {got['unknown']!r} at place {len(''.join(got['texts']))}")):
                LETTERS.encode(text)
        else:
            want = LETTERS.encode(text)
            assert got == {"ids": want, "texts": [LETTERS.pieces[id] for id in want]}
            assert ids == (want + [0] * 16)[:16]
    assert 20 < refused < 400
    page.close()


@pytest.mark.browser
def test_the_last_word_is_offered_finished_and_padding_never(browser):
    page = browser.new_page()
    offered = page.evaluate(OFFERS, [front_end("pieces.js"), Tokens(LETTERS, "", 4).describe(),
                                     ["the ri", "", "the ", "<p", "☃"]])
    assert "the river" in offered[0]
    assert all(text.startswith("the ri") for text in offered[0])
    assert offered[1:] == [[], [], [], []]
    page.close()


@pytest.mark.browser
def test_typing_moves_the_hash_exactly_and_the_field_fits_a_phone(live):
    field = live.box("text").locator("input")
    assert live.box("text").get_by_label("text", exact=True).count() == 1
    field.fill("Near the river")
    state = live.settled("typed", text="Near the river")
    mix = [int(v) for v in state["values"]["mix"]["data"]]
    assert max(mix) > 2**53
    assert str(mix[0]) in state["plots"]["mix"][0]
    assert mix == mixes("Near the river")
    assert field.get_attribute("list") == live.box("text").locator("datalist").get_attribute("id")
    field.press_sequentially(" ba")
    assert live.box("text").locator("option[value='Near the river bank']").count() == 1
    assert live.page.evaluate("document.scrollingElement.scrollWidth") <= 390


@pytest.mark.browser
def test_a_character_without_a_piece_is_named_and_changes_nothing(live):
    field = live.box("text").locator("input")
    field.fill("the ☃")
    said = SAY["unknown"].format(name="text", which="“☃”")
    live.at.locator("[data-say]").get_by_text(said).wait_for()
    assert live.box("text").locator(".ts-note").inner_text() == said
    assert field.get_attribute("aria-invalid") == "true"
    assert live.state()["inputs"] == {"text": "Apple sold the apple."}
    field.press("Enter")
    assert field.get_attribute("aria-invalid") is None
    live.settled("Enter", text="Apple sold the apple.")
    field.fill("the apple")
    live.settled("spelled", text="the apple")
    assert live.box("text").locator(".ts-note").text_content() == ""
    with pytest.raises(Error, match="RangeError: text: a text of the vocabulary's pieces; got ☃"):
        live.at.evaluate("el => el.explorer.set('text', '☃')")


@pytest.mark.browser
def test_a_text_that_is_too_long_is_cut_and_the_rest_is_named(live):
    field = live.box("text").locator("input")
    field.fill("the" + " apple" * 9)
    said = SAY["cut"].format(name="text", length=8, rest=" apple apple")
    live.at.locator("[data-say]").get_by_text(said).wait_for()
    assert live.box("text").locator(".ts-note").text_content() == said
    assert field.input_value().endswith(" apple" * 9)  # still being typed
    field.press("Enter")
    state = live.settled("Enter", text="the" + " apple" * 7)
    assert np.array(state["values"]["tokens"]["data"]).min() > 0
    assert ask(live.at, "el => el.explorer.set('text', 'the'.repeat(9)).then(() => el.explorer.inputs())") == {
        "text": "the" * 8}
