"""The numbers that a sentence quotes, and whether a lesson prints them."""

import re
import sys
from decimal import Decimal

from browsing import ROOT

sys.path.append(str(ROOT / "book/_ext"))
from tsbook import notebooks

NUMBER = re.compile(r"([-−]?)(\d{1,3}(?:,\d{3})+|\d*\.\d+|\d+)(e[-+]?\d+)?(?![\w⁻])")
SKIPPED = re.compile(r"`[^`]*`|\$[^$]*\$|lessons? \d+(?:,? (?:and|to)? ?\d\d?)*", re.I)  # code, formulas, other lessons


def numbers(text):
    """The numerals in `text`, each a Decimal that knows with how many decimals it is written."""
    found = []
    for match in NUMBER.finditer(text):
        sign, digits, power = match.groups()
        before = text[:match.start()][-1:]
        if before.isalnum() or before == "." or (sign and before.isdigit()):
            continue  # part of a name, or a range such as 8-12
        value = Decimal(digits.replace(",", "") + (power or ""))
        found.append(-value if sign else value)
    return found


def quoted(text):
    return numbers(SKIPPED.sub(" ", text))


def agrees(quote, number):
    """Whether `number`, rounded as the quotation is, gives the quotation; whole numbers are quoted as they are."""
    places = -quote.as_tuple().exponent
    if places <= 0:
        return quote == number
    return -number.as_tuple().exponent >= places - 3 and round(number, places) == quote


def unprinted(text, notebook, at):
    """The numbers of `text` that neither an output of the lesson nor a sentence of its section `at` shows."""
    outputs = [out for cell in notebook["cells"] if not notebooks.asked(cell) for out in notebooks.printed(cell)]
    words = [notebooks.source(cell) for cell in notebooks.section(notebook, at) if cell["cell_type"] == "markdown"]
    known = [number for shown in [*outputs, *words] for number in numbers(shown)]
    return [str(quote) for quote in quoted(text) if not any(agrees(quote, number) for number in known)]
