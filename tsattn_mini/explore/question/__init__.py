"""Check questions: the right answer is computed by a callable, and every wrong answer says why it is wrong.

A further kind of question is one more module here, with a subclass of `Question`, and one more in `web/kinds/`.
"""

from tsattn_mini.explore.question.base import Question
from tsattn_mini.explore.question.choice import ChoiceQuestion, choice
from tsattn_mini.explore.question.element import QuestionElement
from tsattn_mini.explore.question.number import NumberQuestion, Slip, number
from tsattn_mini.explore.question.option import Option, Pair
from tsattn_mini.explore.question.page import render
from tsattn_mini.explore.question.show import Show
from tsattn_mini.explore.question.text import inline

__all__ = ["ChoiceQuestion", "NumberQuestion", "Option", "Pair", "Question", "QuestionElement", "Show",
           "Slip", "choice", "inline", "number", "render"]
