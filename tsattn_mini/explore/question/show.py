"""The "Show me" of a question: the state of an explorer that proves the answer."""

import json
from base64 import urlsafe_b64encode
from typing import Any


class Show:
    """A state of the explorer `explorer` of the question's lesson: some inputs by name, or a preset by its label.

    Inputs that are not named stand as they do when the page opens.

    Raises:
        ValueError: when there is no explorer, no state, or a preset beside inputs.

    >>> Show("one-handle", tau=0.5).state
    {'tau': 0.5}
    """

    def __init__(self, explorer: str, /, *, preset: str | None = None, **inputs: Any) -> None:
        if not isinstance(explorer, str) or not explorer:
            raise ValueError(f"explorer: expected the id of an explorer, got {explorer!r}")
        if (preset is None) == (not inputs):
            raise ValueError(f"{explorer}: expected either a preset or inputs, got preset={preset!r} and {inputs}")
        self.explorer, self.preset, self.inputs = explorer, preset, inputs

    @property
    def state(self) -> str | dict[str, Any]:
        """What `web/link.js` takes: the label of the preset, or the inputs."""
        return self.inputs if self.preset is None else self.preset

    def address(self, lesson: str) -> str:
        """The address of this state, seen from another page of the book."""
        text = json.dumps({self.explorer: self.state}, ensure_ascii=False, separators=(",", ":"))
        packed = urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return f"../lessons/{lesson}.html?s={packed}#explorer-{self.explorer}"

    def __repr__(self) -> str:
        given = {"preset": self.preset} if self.preset is not None else self.inputs
        return f"Show({', '.join([repr(self.explorer), *(f'{name}={value!r}' for name, value in given.items())])})"
