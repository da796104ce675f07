"""What can be chosen, and what is said to the reader who chose it."""

import re
from dataclasses import dataclass

from tsattn_mini.explore.question.text import inline


@dataclass(frozen=True)
class Option:
    """One answer or one item, and what to say about it.

    `slip` names where the mistake of this option was seen: "claim 18", "defects: …" or "released …".
    """

    text: str
    feedback: str
    slip: str | None = None


@dataclass(frozen=True)
class Pair:
    """Two keys that a known mistake joins, and what to say to the reader who joined them.

    In `match` the item `first` gets the partner `second`; in `order` `first` comes before `second`.
    """

    first: str
    second: str
    feedback: str
    slip: str | None = None

    def data(self) -> dict[str, str]:
        """What the page's script judges by."""
        return {"first": self.first, "second": self.second, "feedback": inline(self.feedback)}


def seen_somewhere(slip: str, claims: range) -> bool:
    """Is this "claim N" with a number of the ledger, "defects: …" or "released …"?"""
    claim = re.fullmatch(r"claim (\d+)", slip)
    return int(claim[1]) in claims if claim else bool(re.fullmatch(r"(defects: |released )\S.*", slip))
