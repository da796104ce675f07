"""A number question that can be asked with other numbers: which ones, and what its answer and its slips then are.

`answer` is torch code. It takes the drawn tensors by name, returns a scalar tensor, and names with `step` what slips
and texts refer to. It is the only formula: the book runs its exported graph, a notebook and the tests run the code.

>>> from tsattn_mini import step
>>> from tsattn_mini.explore.question import Draw, Slip, number
>>> def score(q, k):
...     dot = step("dot", (q * k).sum(), axes="")
...     return dot / 3**0.5
>>> whole = Draw((3,), 1, 9, whole=True)
>>> asked = number(
...     id="97-score", text="q = {q}, k = {k}: what is q·k/√3?", answer=score,
...     draws={"q": whole, "k": whole}, first={"q": (1, 2, 3), "k": (5, 7, 11)},
...     right="{dot}/√3 = {answer:2}.", wrong="Multiply entry by entry, add, divide by √3.",
...     slips={"forgot": Slip("dot", "That is q·k = {dot}, before the division by √3.")})
>>> asked.text, asked.right
('q = (1, 2, 3), k = (5, 7, 11): what is q·k/√3?', '52/√3 = 30.02.')
>>> asked.at(3).text, asked.at(3).right  # what the third press of the button shows
('q = (4, 3, 1), k = (5, 3, 4): what is q·k/√3?', '33/√3 = 19.05.')

- Holes of text, hint, right, wrong and feedback: `{q}` a drawn tensor, `{dot}` a step, `{answer}` what is returned,
  `{q[0]}` an entry or a row, `{k[1,2]}` an entry, `{answer:2}` at most two decimals (else four digits).
- A `Slip` names the step or the drawn number that is its value, or holds a number that no draw changes.
- A function of the library that is called twice names its steps twice: put each call into a `with scope("…")`.
- Numbers are drawn again until all are finite, and answer and slips are further apart than the tolerance. Refuse
  numbers by returning NaN: `torch.where(q[0] == q[1], torch.nan, dot)`.
- The page computes in float32: no `.item()`, no NumPy, no Python branch on a tensor; constants are made with
  `q.new_tensor(…)`; sizes (a width, a number of keys) are those of `shape` and cannot be drawn.
- Draw numbers a reader can work with, and write feedback that is true whatever was drawn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from tsattn_mini.explore.element import needs_graphs
from tsattn_mini.explore.export import compare, export
from tsattn_mini.explore.html import zipped
from tsattn_mini.explore.question.draw import Draw, draw
from tsattn_mini.explore.question.template import fill, names_in
from tsattn_mini.explore.question.text import inline
from tsattn_mini.trace import record, step

ANSWER = "answer"  # the step that holds what `answer` returns
TRIES = 100  # how often numbers are drawn again whose slips come too near
GAP = 1.001  # of the tolerance; the rounding of a graph in float32 must not decide what is drawn again
COMPARED = range(1, 4)  # the seeds at which a graph is compared with its function, beside the first numbers


@dataclass(frozen=True)
class Drawing:
    """`answer` as torch code, what its arguments are drawn from, and the texts with holes for them.

    `texts` are those of the question by their names; `slips` have feedback with holes, and as value a number or the
    name of a step.

    Raises:
        ValueError: when first numbers are missing or do not fit, `answer` returns no single number, or a hole or a
            slip names nothing that is there.
    """

    answer: Callable[..., Tensor]
    draws: Mapping[str, Draw]
    first: Mapping[str, Any]
    texts: Mapping[str, str]
    slips: Mapping[str, Any]
    tolerance: float

    def __post_init__(self) -> None:
        if set(self.first) != set(self.draws):
            raise ValueError(f"first: expected numbers for {', '.join(self.draws)}, "
                             f"got {', '.join(self.first) or 'none'}")
        for name, x in self._first().items():
            if not self.draws[name].fits(x):
                raise ValueError(f"first[{name!r}]: expected shape {self.draws[name].shape} and at most "
                                 f"{self.draws[name].places} decimals, got {self.first[name]}")
        if unseen := set(self.draws) - names_in([self.texts["text"]]):
            raise ValueError(f"text: expected a hole for each of {', '.join(self.draws)}, got none for "
                             f"{', '.join(sorted(unseen))}")
        there = {**self._first(), **self._run(self._first())}
        for name in self._computed():
            if name not in there:
                raise ValueError(f"texts, slips: expected names among {', '.join(there)}, got {name!r}")
        for name, slip in self.slips.items():
            if isinstance(slip.value, str) and there[slip.value].ndim:
                raise ValueError(f"slips[{name!r}].value: expected the name of a single number, got {slip.value!r} "
                                 f"of shape {tuple(there[slip.value].shape)}")

    def tensors(self, seed: int) -> dict[str, Tensor]:
        """The drawn numbers of a seed, float64; seed 0 stands for the first ones.

        Raises:
            ValueError: when each of a hundred tries has a slip within the tolerance of the answer or of another.
        """
        if seed == 0:
            return self._first()
        for attempt in range(TRIES):
            tensors = draw(dict(self.draws), seed, attempt)
            if self._tells_apart({**tensors, **self.steps(tensors)}):
                return tensors
        raise ValueError(f"draws: expected numbers that tell the slips apart, found none at seed {seed} "
                         f"in {TRIES} tries")

    def steps(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The answer, the slips and what the texts show, computed from drawn numbers."""
        found = self._run(tensors)
        return {name: found[name] for name in self._computed()}

    def asked(self, seed: int) -> dict[str, Any]:
        """Texts, answer and slips of a number question with the numbers of `seed`."""
        tensors = self.tensors(seed)
        found = {**tensors, **self.steps(tensors)}
        say = partial(fill, tensors=found, places={name: d.places for name, d in self.draws.items()})
        slips = {name: replace(slip, value=value, feedback=say(slip.feedback))
                 for (name, slip), value in zip(self.slips.items(), self._wrong(found), strict=True)}
        return {**{name: say(text) for name, text in self.texts.items()}, "slips": slips,
                "compute": lambda: self.steps(tensors)[ANSWER].item()}

    def data(self) -> dict[str, Any]:
        """What `web/kinds/drawn.js` draws, asks and fills; the graph itself only for a page without a kernel."""
        first = self._first()
        return {
            "inputs": [{"name": name, "kind": "cells", "dims": list(d.shape), "choices": d.choices, "places": d.places}
                       for name, d in self.draws.items()],
            "steps": [{"name": name, "type": "float32", "dims": list(x.shape)}
                      for name, x in self.steps(first).items()],
            "texts": {name: inline(text) for name, text in self.texts.items()},
            "slips": [{"value": slip.value if isinstance(slip.value, str) else slip.number(),
                       "feedback": inline(slip.feedback)} for slip in self.slips.values()],
            "graphs": {"": zipped(self._export())} if needs_graphs() else {},
        }

    def answered(self, numbers: Mapping[str, list[float]]) -> dict[str, bytes]:
        """The kernel's answer to drawn numbers that come as flat lists: every computed step as float32."""
        tensors = {name: torch.tensor(numbers[name], dtype=torch.float64).reshape(d.shape)
                   for name, d in self.draws.items()}
        return {name: x.float().contiguous().numpy().tobytes() for name, x in self.steps(tensors).items()}

    def _first(self) -> dict[str, Tensor]:
        return {name: torch.tensor(self.first[name], dtype=torch.float64) for name in self.draws}

    def _computed(self) -> list[str]:
        texts = [*self.texts.values(), *(slip.feedback for slip in self.slips.values())]
        slips = {slip.value for slip in self.slips.values() if isinstance(slip.value, str)}
        return sorted({ANSWER} | (slips | names_in(texts)) - set(self.draws))

    def _named(self, **tensors: Tensor) -> None:
        step(ANSWER, self.answer(**tensors), axes="")

    def _run(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        with torch.no_grad(), record() as trace:
            self._named(**tensors)
        return {name: s.tensor for name, s in trace.items()}

    def _wrong(self, found: Mapping[str, Tensor]) -> list[float]:
        """The numbers the slips lead to."""
        return [found[slip.value].item() if isinstance(slip.value, str) else slip.number()
                for slip in self.slips.values()]

    def _tells_apart(self, found: Mapping[str, Tensor]) -> bool:
        """Are all numbers finite, and is each of answer and slips the only one within the tolerance?"""
        pairs = combinations([found[ANSWER].item(), *self._wrong(found)], 2)
        return (all(bool(x.isfinite().all()) for x in found.values())
                and all(abs(a - b) > GAP * self.tolerance for a, b in pairs))

    def _export(self) -> bytes:
        single = {seed: {name: x.float() for name, x in self.tensors(seed).items()} for seed in (0, *COMPARED)}
        graph = export(self._named, single[0], {}, self._computed())
        compare(graph, ((f"seed {seed}", tensors, self.steps(tensors)) for seed, tensors in single.items()))
        return graph
