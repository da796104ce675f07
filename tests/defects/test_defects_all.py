"""Every entry of the list of defects that were seen in public code has its test under this roof."""

import re
from pathlib import Path

import pytest

ENTRIES = {1, 2, 3, 4, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 20, 21, 23, 24, 27, 28, 29, 31, 33, 34, 35, 38, 39, 40}
TEST = re.compile(r'^def test_defect_(\d\d)_\w+\([^)]*\):\n    """(.*?)"""', re.M | re.S)
FOUND = [(int(number), said) for path in sorted(Path(__file__).parent.glob("test_defects_*.py"))
         for number, said in TEST.findall(path.read_text(encoding="utf8"))]


def test_every_entry_has_one_test_and_no_test_is_without_an_entry():
    assert sorted(number for number, _ in FOUND) == sorted(ENTRIES)


@pytest.mark.parametrize(("number", "said"), [pytest.param(*found, id=f"{found[0]:02}") for found in FOUND])
def test_it_says_where_the_defect_was_reported(number, said):
    assert re.match(r"[\w.\- ]+#\d+|Found in |Advised in |Autoformer#", said)
