"""A question as a page and a stored notebook hold it."""

from tsattn_mini.explore.element import Element


class QuestionElement(Element):
    """A question on a page; the controls stay out of reach until `question.js` brings them to life."""

    def __init__(self, text: str, html: str) -> None:
        self._text = text
        super().__init__(kind="question", html=html)

    def __repr__(self) -> str:
        return self._text
