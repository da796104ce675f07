"""An explorer's id is unique on its page, so two of one id are an error where the second is made."""

from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import ref

from IPython import get_ipython

from tsattn_mini.explore.element import in_book

_taken: dict[str, "Claim"] = {}


@dataclass(frozen=True, eq=False)
class Claim:
    """Who holds an id: the element, the notebook cell (where the front end names it) and the run that made it."""

    holder: ref
    cell: str | None
    run: int


def claim(id: str, element: Any) -> Claim:
    """Take an id for the element that is being made. Running a notebook cell again takes it over.

    Raises:
        ValueError: when another element of this kernel has the id, and in the book whenever it is taken.
    """
    shell, holder = get_ipython(), _taken.get(id)
    cell = shell.get_parent().get("metadata", {}).get("cellId") if hasattr(shell, "get_parent") else None
    mine = Claim(ref(element), cell, shell.execution_count if shell else 0)
    again = holder and shell and not in_book() and holder.cell == mine.cell and holder.run != mine.run
    if holder and not again:
        raise ValueError(f"id: expected one that is free, got {id!r}, which another element of this page has; "
                         "give one of them another title or id=")
    _taken[id] = mine
    return mine


def unused(id: str) -> str:
    """`id`, or the first of `id-2`, `id-3`, … that no element of this kernel has."""
    names = (f"{id}-{n}" if n > 1 else id for n in count(1))
    return next(name for name in names if name not in _taken)


def called(id: str) -> Any:
    """The element that has an id.

    Raises:
        ValueError: when this kernel has made none, or it is gone.
    """
    here = {name: holder for name, one in _taken.items() if (holder := one.holder()) is not None}
    if id not in here:
        raise ValueError(f"id: expected one that was made in this kernel ({', '.join(here) or 'none so far'}), "
                         f"got {id!r}; run the cell that makes it first")
    return here[id]


def free(id: str, claim: Claim) -> None:
    """Give `id` back, unless another element has taken it over."""
    if _taken.get(id) is claim:
        del _taken[id]
