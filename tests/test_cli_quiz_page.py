"""The terminal judges as the page does: same verdicts, same words, same numbers read."""

import json
import shutil
import subprocess
from itertools import product

import pytest
from answering import answers, give
from asked import asking, field, in_page
from browsing import ROOT
from sample_questions import SAMPLES

from tsattn_mini.cli.judging import SAY, judge
from tsattn_mini.cli.typed import Unread, read_number

READ = """import {{ readFileSync }} from "node:fs";
import {{ readNumber }} from {module};
const asked = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.map(([typed, unit]) => readNumber(typed, unit))));"""
TYPED = ["0.5", "0,5", " .5 ", "5e-1", "1/2", "50 %", "50%", "−0.5", "1 000", "1 000,5", "1,000", "1.000",
         "12,345,678", "0,500", "", "  ", "abc", "1/0", "0/0", "1e999", "1e400/1e400", "３．５", "5%", "-5 %/h",
         "5 %/h", "+ 3", "--3", "1 2", "1\u00a0000", "1\u202f000", "‑3", "3⁄4", "1.2.3", "0x10", "1_000", "NaN",
         "inf", "١٢", "1e5", "1E+5", "1e", "\u200b7\u200b", "7\ufeff", "1,5/2,5", "2/3/4", "01,234", "1,2345",
         "1234,567", "½", "10 000 000", "10 00", "5 % %", "1 / 3", "- 4", "3e-2%"]


@pytest.fixture
def page(browser, tmp_path):
    with asking(browser, tmp_path) as page:
        yield page


@pytest.mark.browser
@pytest.mark.parametrize("question", SAMPLES, ids=lambda q: q.id)
def test_the_page_says_the_same(page, question):
    page.show(question)
    data = in_page(question)
    for answer in answers(data):
        verdict, said = give(field(page, question.id), data, answer)
        here = judge(question, answer)
        assert (verdict == "right") == here.right
        lines = [" ".join(filter(None, [SAY["right" if here.right else "wrong"], here.said])),
                 *(part for remark in here.remarks for part in remark if part)]
        assert lowered(said) == lowered(" ".join(lines)), answer


def lowered(text):
    """The words of a text without the signs of indices, which a page sets below the line."""
    return text.replace("_", "").split()


@pytest.mark.skipif(not shutil.which("node"), reason="no Node.js on this machine")
def test_numbers_are_read_as_the_page_reads_them(tmp_path):
    copy = tmp_path / "read_number.mjs"
    shutil.copyfile(ROOT / "tsattn_mini/explore/web/read_number.js", copy)
    (tmp_path / "ask.mjs").write_text(READ.format(module=json.dumps(f"./{copy.name}")), "utf8")
    cases = list(product(TYPED, ("", "%", "%/h")))
    found = subprocess.run(["node", tmp_path / "ask.mjs"], input=json.dumps(cases), capture_output=True, text=True,
                           encoding="utf8", check=True)
    for (typed, unit), page in zip(cases, json.loads(found.stdout), strict=True):
        try:
            value, plain = read_number(typed, unit)
            here = {"value": value, "plain": plain}
        except Unread as problem:
            here = {"problem": str(problem)}
        assert here == page, (typed, unit)
