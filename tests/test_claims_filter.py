"""The form above the ledger of claims: by verdict, by words, by number; without a script every row shows."""

import pytest

from tsattn_mini.explore.element import words

pytestmark = pytest.mark.browser
PAGE, SAY = "book/claims.html", words("claims")


def shown(page):
    """The verdicts of the rows to be seen, by number; the line below the form says how many they are."""
    rows = dict(page.locator(".ts-claim:visible").evaluate_all("rows => rows.map(el => [el.id, el.dataset.verdict])"))
    total = page.locator(".ts-claim").count()
    assert page.get_by_role("status").inner_text() == SAY["found"].format(shown=len(rows), total=total)
    return rows


def test_rows_are_found_by_verdict_by_words_and_by_number_with_the_keyboard(visit):
    page = visit(PAGE)
    everything = shown(page)
    page.get_by_label(SAY["verdict"]).focus()
    page.keyboard.type("wrong")
    assert shown(page) == {id: verdict for id, verdict in everything.items() if verdict == "wrong"} != {}
    page.keyboard.press("Tab")
    page.keyboard.type("batch NORM")
    assert list(shown(page)) == ["claim-12"]
    for typed in (" 18 ", "#18", "Claim 18", "018", "１８"):
        page.get_by_label(SAY["words"]).fill(typed)
        assert list(shown(page)) == ["claim-18"]
    page.keyboard.press("Enter")  # sends nothing away
    page.get_by_label(SAY["words"]).fill("no such words")
    assert shown(page) == {}
    assert page.locator("h2:visible").count() == 0
    page.evaluate("location.hash = '#claim-4'")
    page.locator("#claim-4").wait_for()
    assert shown(page) == everything


def test_without_a_script_every_row_shows_and_no_control(visit):
    page = visit(PAGE, java_script_enabled=False)
    assert page.locator(".ts-claim:visible").count() == page.locator(".ts-claim").count() > 50
    assert page.locator(".ts-claims :is(select, input):visible").count() == 0
