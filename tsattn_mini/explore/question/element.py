"""A question as a page and a stored notebook hold it."""

from collections.abc import Callable

import traitlets

from tsattn_mini.explore.element import Element


class QuestionElement(Element):
    """A question on a page; the controls stay out of reach until `question.js` brings them to life.

    `kernel` computes what the script asks for in a notebook: inputs by name → steps by name, as bytes.
    """

    state = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, text: str, html: str, kernel: Callable[[dict], dict[str, bytes]] | None = None) -> None:
        self._text, self._kernel = text, kernel
        super().__init__(kind="question", html=html)
        self.observe(self._asked, "state")

    def __repr__(self) -> str:
        return self._text

    def _asked(self, change) -> None:
        """The script asks: `state` came with a turn number, and the answer carries it back."""
        turn = change.new["turn"]
        try:
            self.answer = {"turn": turn, "steps": self._kernel(change.new["inputs"])}
        except Exception as error:  # it has to reach the reader, not the server's log
            self.answer = {"turn": turn, "error": str(error)}
