"""Check questions: the right answer is computed by a callable, and every wrong answer says why it is wrong.

A further kind of question is one more module here, with a subclass of `Question`, and one more in `web/kinds/`.
"""

from tsattn_mini.explore.question.base import Question
from tsattn_mini.explore.question.choice import ChoiceQuestion, choice
from tsattn_mini.explore.question.draw import Draw
from tsattn_mini.explore.question.element import QuestionElement
from tsattn_mini.explore.question.match import MatchQuestion, match
from tsattn_mini.explore.question.number import NumberQuestion, Slip, number
from tsattn_mini.explore.question.option import Option, Pair
from tsattn_mini.explore.question.order import OrderQuestion, order
from tsattn_mini.explore.question.page import render
from tsattn_mini.explore.question.several import SeveralQuestion, several
from tsattn_mini.explore.question.show import Show
from tsattn_mini.explore.question.text import inline
from tsattn_mini.explore.question.written import WrittenQuestion, written

__all__ = ["ChoiceQuestion", "Draw", "MatchQuestion", "NumberQuestion", "Option", "OrderQuestion", "Pair", "Question",
           "QuestionElement", "SeveralQuestion", "Show", "Slip", "WrittenQuestion", "choice", "inline", "match",
           "number", "order", "render", "several", "written"]
