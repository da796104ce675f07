"""`Explorer`: a function of named steps, with handles. In Jupyter the kernel answers; in the book its graph does."""

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import product
from math import prod
from typing import Any

import torch
import traitlets
from torch import Tensor

from tsattn_mini import checks
from tsattn_mini.explore import html
from tsattn_mini.explore.element import Element, needs_graphs, standing_alone
from tsattn_mini.explore.export import compare, export, presentable
from tsattn_mini.explore.ids import called, claim, free
from tsattn_mini.explore.inputs import Choice, Input, Window, plain
from tsattn_mini.explore.joined import Joined, Misjoined
from tsattn_mini.explore.many import Many
from tsattn_mini.explore.presets import Preset
from tsattn_mini.explore.refusals import check_kinds, check_labels, check_shown, check_signature, failure
from tsattn_mini.explore.stepbar import GIVEN, alphabet, sources
from tsattn_mini.figures import needs_digits, view_of
from tsattn_mini.scales import meaning_of, number
from tsattn_mini.trace import Trace, record
from tsattn_mini.visible import visible

MOST_GRAPHS = 8


class Explorer(Element):
    """Handles on a function: move an input, see every named step follow.

    Args:
        fn: ordinary torch code that calls `step`; takes the inputs by name. It runs in float32.
        inputs: name → `Slider`, `Cells`, `Choice`, `Toggle`, `Tokens` or `Window`.
        show: the steps to draw, in order; all of them when left out. A `Joined` draws past and forecast in one picture.
        presets: label → the inputs to set; the others go back to their first values. A `Preset` asks first.
        title: what the reader sees above it.
        id: unique on a page; the title in lower case with hyphens when left out.
        labels: axis → the names of its places, such as `{"V": ["temperature", "load"]}`, shown instead of 0, 1.

    `values` holds the shown tensors at the current inputs, `set(tau=2.0)` moves inputs, and `observe(callback)`
    calls back after every answer with a change whose `new` is `values`, until `unobserve(callback)`.

    Raises:
        ValueError: when an argument is of another kind, `fn` takes other inputs, fails, calls no `step`, names no
            step of `show`, computes in float64, cannot be exported, or differs from its exported graph at an end of
            a handle or at a preset.
    """

    values = traitlets.Dict(read_only=True, help="shown step → torch tensor at the current inputs")
    state = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, fn: Callable, inputs: Mapping[str, Input], show: Sequence[str | Joined] | None = None,
                 presets: Mapping[str, Mapping[str, Any] | Preset] | None = None, title: str = "",
                 id: str | None = None, labels: Mapping[str, Sequence[str]] | None = None) -> None:
        check_kinds(fn, inputs, show, presets)
        self._inputs = dict(inputs)
        self.id = id or re.sub(r"[^\w]+", "-", title.lower()).strip("-")
        if not re.fullmatch(r"[\w-]+", self.id):
            raise ValueError("id: expected letters, digits and hyphens (or a title to take them from), "
                             f"got {self.id!r}")
        check_signature(fn, self._inputs)
        self._joined = {entry.name: entry for entry in show or () if isinstance(entry, Joined)}
        self._fn = partial(_whole, fn, self._inputs, self._joined.values())
        self._now = {name: plain(kind.value) for name, kind in self._inputs.items()}
        asked = {label: p if isinstance(p, Preset) else Preset(p) for label, p in (presets or {}).items()}
        self._presets = {label: self._merge(p.values, self._now, f"presets[{label!r}]") for label, p in asked.items()}
        try:
            trace = self._run(self._now, follow=True)
        except Misjoined:
            raise
        except Exception as error:
            raise failure("the first values", error) from error
        self._show = check_shown(trace, show)
        self._steps = {name: trace[name] for name in self._show}
        self._labels = check_labels(labels, self._steps.values(), self._inputs.values())
        for entry in self._joined.values():
            self._labels |= entry.labels(trace, self._labels)
        self._graphs = self._export()
        self._many = Many(self._graphs)
        self._claim = claim(self.id, self)
        self._title, self._asked_for, self._letters = visible(title), asked, alphabet(trace, fn)
        first = self._read(trace)
        super().__init__(kind="explorer", html=self._drawn(trace), state={"inputs": self._now},
                         answer=_answer(first, None))
        self.set_trait("values", first)
        self.observe(self._moved, "state")
        self.on_msg(self._asked)

    @classmethod
    def called(cls, id: str) -> "Explorer":
        """The explorer with this id. Raises ValueError when the cell that makes it has not run in this kernel."""
        return called(id)

    def set(self, **moved: Any) -> None:
        """Move inputs. Raises ValueError for a name that is no input, and for a value its handle cannot take."""
        self._answer(self._merge(moved, self._now))

    def observe(self, handler: Callable, names: Any = "values", type: str = "change") -> None:
        """Call `handler` with every change of `names`: with a dict whose "new" is the new value.

        Raises:
            ValueError: a handler that is no function.
        """
        if not callable(handler):
            raise ValueError(f"handler: expected a function of one change, got {handler!r}")
        super().observe(handler, names, type)

    def unobserve(self, handler: Callable, names: Any = "values", type: str = "change") -> None:
        """No longer call `handler`."""
        super().unobserve(handler, names, type)

    def alone(self) -> str:
        """The explorer as HTML for a page without a kernel: its graphs inside, and its inputs where they stand now."""
        with standing_alone():
            return self._drawn(self._run(self._now, follow=True))

    def close(self) -> None:
        """Stop talking to the front end and give the id free."""
        if "_claim" in self.__dict__:
            free(self.id, self._claim)
        super().close()

    def __repr__(self) -> str:
        """What a stored notebook keeps: the handles and the shown numbers, to three decimals."""
        handles = ", ".join(f"{name}={number(v) if 0 < abs(v) < 1e-3 else _short(v)}" if isinstance(v, float)
                            else f"{name}={_short(v)}" for name, v in self._now.items())
        shown = [f"  {name} [{self._steps[name].axes}] {tuple(x.shape)}: {_short(x.tolist())}"
                 for name, x in self.values.items()]
        return "\n".join([f"Explorer {self.id}: {handles}", *shown])

    def _merge(self, moved: Mapping[str, Any], start: Mapping[str, Any], preset: str = "") -> dict[str, Any]:
        state = dict(start)
        for name, value in moved.items():
            if name not in self._inputs:
                raise ValueError(f"{preset or 'set'}: expected one of the inputs {', '.join(self._inputs)}, "
                                 f"got {name!r}")
            state[name] = self._inputs[name].check(value, f"{preset}: {name}" if preset else name)
        return state

    def _tensors(self, state: Mapping[str, Any]) -> tuple[dict[str, Tensor], dict[str, str]]:
        options = {name: state[name] for name, kind in self._inputs.items() if isinstance(kind, Choice)}
        return {n: k.tensor(state[n]) for n, k in self._inputs.items() if n not in options}, options

    def _run(self, state: Mapping[str, Any], follow: bool = False) -> Trace:
        tensors, options = self._tensors(state)
        with torch.no_grad(), warnings.catch_warnings(), record(follow) as trace:
            warnings.simplefilter("ignore")  # a NaN or an empty row is seen, and said, on the picture
            for name, tensor in tensors.items():
                trace.follow(GIVEN + name, tensor)
            self._fn(**tensors, **options)
        return trace

    def _read(self, trace: Trace) -> dict[str, Tensor]:
        return _Values({name: presentable(trace[name].tensor).detach().clone() for name in self._show})

    def _answer(self, state: dict[str, Any], turn: int | None = None) -> None:
        values = self._read(self._run(state))
        self._now = state
        with self.hold_sync():
            self.state = {"inputs": state}
            self.answer = _answer(values, turn)
        self.set_trait("values", values)

    def _moved(self, change) -> None:
        """The front end moved something: `state` came with a turn number, and the answer carries it back."""
        turn = change.new.get("turn")
        if turn is None:
            return
        try:
            self._answer(self._merge(change.new["inputs"], self._now), turn)
        except Exception as error:  # it has to reach the reader, not the server's log
            self.answer = {"turn": turn, "error": str(error)}

    def _asked(self, _: Any, question: dict, buffers: list) -> None:
        """The front end asks for one step at many states; the current state stays. The turn number goes back."""
        try:
            base = self._merge(question["base"], self._now)
            found = [self._many("|".join(options.values()), tensors, question["step"])
                     for tensors, options in (self._probe(base, moved) for moved in question["moves"])]
        except Exception as error:  # as in `_moved`
            self.send({"turn": question.get("turn"), "error": str(error)})
        else:
            self.send({"turn": question["turn"]}, found)

    def _probe(self, base: Mapping[str, Any], moved: Mapping[str, Any]) -> tuple[dict[str, Tensor], dict[str, str]]:
        """`_tensors` where some inputs moved; a text with one place emptied is no state that a handle can have."""
        texts = {name: value for name, value in moved.items() if isinstance(value, dict)}
        tensors, options = self._tensors(self._merge({n: v for n, v in moved.items() if n not in texts}, base))
        return tensors | {n: self._inputs[n].without(v["text"], v["without"]) for n, v in texts.items()}, options

    def _export(self) -> dict[str, bytes]:
        """One graph per combination of options, each compared with `fn` at every end of every handle."""
        choices = {name: kind.options for name, kind in self._inputs.items() if isinstance(kind, Choice)}
        count = prod(map(len, choices.values()))
        if count > MOST_GRAPHS:
            make = "make" if len(choices) > 1 else "makes"
            raise ValueError(f"inputs: {', '.join(choices)} {make} {count} graphs, the most is {MOST_GRAPHS}; "
                             "give fn an integer Slider and switch with torch.where instead")
        graphs = {}
        for options in product(*choices.values()):
            state = {**self._now, **dict(zip(choices, options, strict=True))}
            graph = export(self._fn, *self._tensors(state), self._show)
            compare(graph, self._probes(state))
            graphs["|".join(options)] = graph
        return graphs

    def _probes(self, state: dict[str, Any]) -> Iterator[tuple[str, dict[str, Tensor], dict[str, Tensor]]]:
        moves = [("the first values", {})]
        moves += [(f"{n} = {_short(v)}", {n: v}) for n, kind in self._inputs.items() for v in kind.probes()]
        fixed = {n for n, kind in self._inputs.items() if isinstance(kind, Choice)}
        moves += [(f"preset {label!r}", {n: v for n, v in moved.items() if n not in fixed})
                  for label, moved in self._presets.items()]
        for where, moved in moves:
            probe = {**state, **moved}
            try:
                values = self._read(self._run(probe))
            except Exception as error:
                raise failure(where, error) from error
            for name, x in values.items():
                if x.shape != self._steps[name].tensor.shape:
                    raise ValueError(
                        f"fn: step {name!r} has shape {tuple(x.shape)} at {_short(probe)}, but "
                        f"{self._steps[name].shape} at the first values; compute it at its largest size and "
                        "mask the rest")
            yield where, self._tensors(probe)[0], values

    def _drawn(self, trace: Trace) -> str:
        first = self._read(trace)
        return html.explorer(self._spec(first, trace), self._inputs, self._now, first, trace, self._letters)

    def _spec(self, first: dict[str, Tensor], trace: Trace) -> dict:
        steps, seen = [], [first, *(self._read(self._run(moved)) for moved in self._presets.values())]
        for name, s in self._steps.items():
            states = [values[name] for values in seen]
            made_from, handles = sources(trace, self._show, name)
            view = "digits" if any(map(needs_digits, states)) else view_of(s.axes, s.shape)
            steps.append({"name": name, "label": html.pretty(name), "axes": s.axes, "dims": list(s.shape), "eq": s.eq,
                          "note": s.note, "type": checks.dtype_name(first[name].dtype), "view": view,
                          "scale": "fit" if view == "bars" else meaning_of(states), "sources": made_from,
                          "handles": handles})
            if name in self._joined:
                steps[-1] |= {"view": "joined", "joined": self._joined[name].describe(trace)}
        return {
            "id": self.id, "title": self._title or self.id, "steps": steps, "first": html.pack(first),
            "inputs": [{"name": n, "label": html.pretty(n), "kind": k.kind, "value": self._now[n], **k.describe()}
                       for n, k in self._inputs.items()],
            "presets": [{"label": visible(label), "values": self._presets[label], **p.asks()}
                        for label, p in self._asked_for.items()],
            "labels": self._labels,
            "graphs": {key: html.zipped(g) for key, g in self._graphs.items()} if needs_graphs() else {},
        }


class _Values(dict):
    """The shown tensors by name; a name that is not shown is answered with those that are."""

    def __missing__(self, name: str) -> Tensor:
        raise KeyError(f"no shown step {name!r}; shown: {', '.join(self)}")


def _whole(fn: Callable, inputs: Mapping[str, Input], joined: Collection[Joined], **given: Any) -> None:
    """`fn` with the stretch of the series where a `Window` says only where it starts, and what is joined after it."""
    with record(follow=False) if joined else nullcontext() as steps:
        fn(**{name: inputs[name].cut(x) if isinstance(inputs[name], Window) else x for name, x in given.items()})
    for entry in joined:
        entry.join(steps)


def _answer(values: dict[str, Tensor], turn: int | None) -> dict:
    return {"turn": turn, "steps": {name: x.contiguous().numpy().tobytes() for name, x in values.items()}}


def _short(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{k}={_short(v)}" for k, v in value.items())
        case list():
            flat = [v for part in value for v in part] if value and isinstance(value[0], list) else value
            if flat and isinstance(flat[0], list):
                return _short(flat)
            return "[" + " ".join(_short(v) for v in flat[:12]) + (" …]" if len(flat) > 12 else "]")
        case float():
            return f"{round(value, 3) + 0:.3f}"
    return str(value)
