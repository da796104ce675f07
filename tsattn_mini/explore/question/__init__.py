"""Check questions: the right answer is computed by a callable, and every wrong answer says why it is wrong.

A further kind of question is one more module here, with a subclass of `Question`, and one more in `web/kinds/`.
"""

from tsattn_mini.explore.question.base import Question, render
from tsattn_mini.explore.question.choice import ChoiceQuestion, Option, choice
from tsattn_mini.explore.question.element import QuestionElement
from tsattn_mini.explore.question.number import NumberQuestion, Slip, number
from tsattn_mini.explore.question.text import inline

__all__ = ["ChoiceQuestion", "NumberQuestion", "Option", "Question", "QuestionElement", "Slip", "choice", "inline",
           "number", "render"]
