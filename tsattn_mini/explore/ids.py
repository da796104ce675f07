"""An explorer's id is unique on its page, so two of one id are an error where the second is made."""

from dataclasses import dataclass

from IPython import get_ipython

from tsattn_mini.explore.element import in_book

_taken: dict[str, "Claim"] = {}


@dataclass(frozen=True, eq=False)
class Claim:
    """Who holds an id: the notebook cell (where the front end names it) and the run that made the element."""

    cell: str | None
    run: int


def claim(id: str) -> Claim:
    """Take an id for the element that is being made. Running a notebook cell again takes it over.

    Raises:
        ValueError: when another element of this kernel has the id, and in the book whenever it is taken.
    """
    shell, holder = get_ipython(), _taken.get(id)
    cell = shell.get_parent().get("metadata", {}).get("cellId") if hasattr(shell, "get_parent") else None
    mine = Claim(cell, shell.execution_count if shell else 0)
    again = holder and shell and not in_book() and holder.cell == mine.cell and holder.run != mine.run
    if holder and not again:
        raise ValueError(f"id: expected one that is free, got {id!r}, which another element of this page has; "
                         "give one of them another title or id=")
    _taken[id] = mine
    return mine


def free(id: str, claim: Claim) -> None:
    """Give `id` back, unless another element has taken it over."""
    if _taken.get(id) is claim:
        del _taken[id]
