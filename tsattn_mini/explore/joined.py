"""Past and forecast as one tensor, for one picture: an entry of an explorer's `show`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tsattn_mini.explore.element import words
from tsattn_mini.trace import Step, step

PARTS = ("future", "truth", "band", "particles")


class Misjoined(ValueError):
    """The steps that a `Joined` names do not fit each other."""


@dataclass(frozen=True)
class Joined:
    """Past and forecast in one picture, with a line where the forecast begins; several variables get one plot each.

    Every argument but the last names a step of `fn`; axes of size 1 do not count.

    Args:
        past: axes T, or T and another axis (variables) in either order.
        future: the same with F in place of T, and the same variables.
        truth: what came instead, like `future`.
        band: as `future` behind an axis of two places: the lower and the upper edge.
        particles: as `future` behind an axis of any size: a thin curve for each place, called by the axis and its
            `labels` where that is not P.
        name: of the joined step, which holds every curve along T+F, each with the whole past before it.
    """

    past: str
    future: str
    truth: str | None = None
    band: str | None = None
    particles: str | None = None
    name: str = "joined"

    def __post_init__(self) -> None:
        for field in ("past", *PARTS, "name"):
            given = getattr(self, field)
            left_out = given is None and field in PARTS[1:]
            if not (left_out or (isinstance(given, str) and given)):
                raise ValueError(f"{field}: expected the name of a step, got {given!r}")

    def describe(self, steps: Mapping[str, Step]) -> dict:
        """What each curve is (`"future"`, `"truth"`, `"low"`, `"high"`, `"particle"`, in the order of the tensor), the
        places of the past and of the whole, the word of the variables, and what one of the particles is called."""
        curves = ["future"] + ["truth"] * bool(self.truth) + ["low", "high"] * bool(self.band)
        curves += ["particle"] * (len(self._read(steps, "particles")[0]) if self.particles else 0)
        past, variables = self._read(steps, "past")
        each = self._each(steps)
        return {"curves": curves, "past": past.shape[1], "variables": "".join(variables),
                "length": past.shape[1] + self._read(steps, "future")[0].shape[1],
                "each": words("joined")["particle"] if each == "P" else each}

    def join(self, steps: Mapping[str, Step]) -> Tensor:
        """Name the joined step. Raises Misjoined where a step is missing or has other axes or sizes."""
        past, variables = self._read(steps, "past")
        size = (self._read(steps, "future")[0].shape[1], past.shape[2], len(variables))
        parts = {part: self._read(steps, part) for part in PARTS if getattr(self, part)}
        for part, (x, named) in parts.items():
            if (*x.shape[1:], len(named)) != size:
                one = steps[getattr(self, part)]
                raise Misjoined(f"show: {self.name!r} joins {past.shape[2]} variables along T = {past.shape[1]} and "
                                f"F = {size[0]}, but step {one.name!r} has {one.axes} {one.shape}")
        ahead = torch.cat([x for x, _ in parts.values()])
        shape = [len(ahead)] * (len(ahead) > 1) + [past.shape[1] + size[0]] + [past.shape[2]] * len(variables)
        axes = ["+".join(parts)] * (len(ahead) > 1) + ["T+F", *variables]
        both = torch.cat([past.expand(len(ahead), -1, -1), ahead], dim=1).reshape(shape)
        return step(self.name, both, axes=" ".join(axes), note=words("joined")["note"])

    def labels(self, steps: Mapping[str, Step], labels: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The names of the curves, as `labels` of their axis; particles are called by the `labels` of their own."""
        found = self.describe(steps)
        kinds = found["curves"]
        own = labels.get(self._each(steps), [f"{found['each']} {i}" for i in range(kinds.count("particle"))])
        names = [words("joined")[kind] for kind in kinds if kind != "particle"] + list(own) * ("particle" in kinds)
        return {steps[self.name].axes.split()[0]: names} if len(kinds) > 1 else {}

    def _each(self, steps: Mapping[str, Step]) -> str:
        """The axis of the particles."""
        one = steps[self.particles] if self.particles else None
        return next((word for word, n in zip(one.axes.split(), one.shape, strict=True) if n > 1), "") if one else ""

    def _read(self, steps: Mapping[str, Step], part: str) -> tuple[Tensor, list[str]]:
        """A step as curves × time × variables, and the word of its variables where it has one."""
        name, time = getattr(self, part), "T" if part == "past" else "F"
        if name not in steps:
            raise Misjoined(f"show: {self.name!r} needs a step {name!r}; fn names {', '.join(steps)}")
        one = steps[name]
        kept = [(word, n) for word, n in zip(one.axes.split(), one.shape, strict=True) if n > 1 or word == time]
        named, x = [word for word, _ in kept], one.tensor.reshape([n for _, n in kept])
        many = part in ("band", "particles")
        if named.count(time) != 1 or not 1 <= len(named) - many <= 2 or (many and named.index(time) == 0) \
                or (part == "band" and len(x) != 2):
            raise Misjoined(f"show: {self.name!r} takes as {part} a step of axes {_takes(part, time)}, got {name!r} "
                            f"with {one.axes} {one.shape}")
        x = x if many else x[None]
        variables = [word for word in named[many:] if word != time]
        x = x[..., None] if not variables else x.mT if named.index(time) > named.index(variables[0]) else x
        return x, variables


def _takes(part: str, time: str) -> str:
    front = {"band": "2 ", "particles": "P "}.get(part, "")
    return f"{front}{time} or {front}{time} V"
