"""Every question that can be drawn anew, on the page that asks them all: the page answers as Python does."""

from html import unescape

import pytest

from tsattn_mini.explore.question import inline
from tsattn_mini.questions import all_questions

pytestmark = pytest.mark.browser
DRAWN = [q for q in all_questions() if getattr(q, "drawing", None)]
SEEDS = (1, 2, 3)
ASKED = """async ([ids, seeds]) => {
  const found = {};
  for (const id of ids) {
    const el = document.querySelector(`[data-question="${id}"]`);
    found[id] = [];
    for (const seed of seeds) {
      const { answer, right, slips } = await el.question.draw(seed);
      found[id].push({ answer, right, slips, text: el.querySelector("legend").innerHTML });
    }
  }
  return found;
}"""


def test_new_numbers_of_every_question_are_answered_in_the_page_as_in_python(visit):
    page = visit("book/self_test.html")
    page.set_default_timeout(120_000)
    found = page.evaluate(ASKED, [[q.id for q in DRAWN], SEEDS])
    for question in DRAWN:
        for seed, seen in zip(SEEDS, found[question.id], strict=True):
            one = question.at(seed)
            assert unescape(inline(one.text)) in unescape(seen["text"])
            assert seen["right"] == inline(one.right)
            assert [slip["feedback"] for slip in seen["slips"]] == [inline(s.feedback) for s in one.slips.values()]
            got, want = ([first, *others] for first, others in (
                (seen["answer"], [slip["value"] for slip in seen["slips"]]),
                (one.answer(), [slip.number() for slip in one.slips.values()])))
            assert got == pytest.approx(want, rel=1e-5, abs=1e-5)
