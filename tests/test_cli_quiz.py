"""`tsattn-mini quiz`: every kind asked, judged and told; the order, the score, the file of progress."""

import json
from io import StringIO
from string import ascii_lowercase

import pytest
from answering import answers
from asked import in_page
from sample_questions import CHAIN, KEPT, ROW_SUM, SAMPLES, SCORE, SHAPES, SHIFT, WHY

from tsattn_mini.cli import main, quiz
from tsattn_mini.cli.asking import Refused, asks, offers, read
from tsattn_mini.cli.judging import judge
from tsattn_mini.explore.element import words
from tsattn_mini.explore.question import Draw, number
from tsattn_mini.questions import lesson05

SAY = words("question")
DRAWN = number(id="97-drawn", lesson="97_samples", text="What is {a} + {b}?", answer=lambda a, b: a + b,
               draws={"a": Draw((), 1, 9, whole=True), "b": Draw((), 1, 9, whole=True)}, first={"a": 2, "b": 3},
               right="{answer}.", wrong="Add.")
FORMAT = {"format": "tsattn-mini progress", "version": 1}


def typed(question, answer):
    """An answer as one types it."""
    match question.kind:
        case "choice":
            return str(list(question.options).index(answer) + 1)
        case "several":
            return " ".join(str(list(question.options).index(key) + 1) for key in answer)
        case "number":
            return repr(answer)
        case "order":
            return ", ".join(str(list(question.items).index(key) + 1) for key in answer)
        case "match":
            return " ".join(f"{i}{ascii_lowercase[list(question.right).index(answer[key])]}"
                            for i, key in enumerate(question.left, 1))


@pytest.fixture
def ask(monkeypatch, capsys):
    """`ask(questions, *lines, …)` runs the quiz with these lines typed; returns what is said."""
    def run(questions, *lines, arguments=()):
        monkeypatch.setattr(quiz, "_questions", lambda name: list(questions))
        monkeypatch.setattr("sys.stdin", StringIO("".join(f"{line}\n" for line in lines)))
        assert main(["quiz", "5", *arguments]) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("question", [q for q in [*SAMPLES, *lesson05.QUESTIONS] if q.kind != "written"],
                         ids=lambda q: q.id)
def test_every_answer_that_has_words_is_typed_read_and_judged(question):
    data = in_page(question)
    *wrong, right = [judge(question, read(question, typed(question, answer)).value) for answer in answers(data)]
    assert right.right
    assert not any(verdict.right for verdict in wrong)
    assert len({repr(verdict) for verdict in [*wrong, right]}) == len(wrong) + 1
    assert bool(offers(question)) == (question.kind != "number")
    assert asks(question)


@pytest.mark.parametrize(("question", "line", "why"), [
    (ROW_SUM, "", SAY["chooseOne"]), (ROW_SUM, "1 2", SAY["chooseOne"]), (ROW_SUM, "4", "Type numbers from 1 to 3"),
    (ROW_SUM, "0", "Type numbers"), (ROW_SUM, "one", "Type numbers"), (ROW_SUM, "-1", "Type numbers"),
    (KEPT, "", SAY["tickOne"]), (KEPT, "1 1", "each at most once"), (KEPT, "5", "from 1 to 4"),
    (SCORE, "", SAY["empty"]), (SCORE, "thirty", SAY["notNumber"].format(typed="thirty")),
    (SCORE, "1,000", SAY["thousands"].format(typed="1,000")), (SCORE, "1/0", "could not be read as a number"),
    (CHAIN, "1 2 3", "Type each number from 1 to 4 once"), (CHAIN, "1 2 3 3", "each at most once"),
    (SHAPES, "a b", "Type one letter from a to c"), (SHAPES, "a b d", "one letter"), (SHAPES, "1a 1b 2c", "one letter"),
    (SHAPES, "1a 2b 3c 4a", "one letter"), (SHAPES, "a b ?", "one letter"), (SHAPES, "", "one letter"),
])
def test_what_is_no_answer_is_refused_with_what_one_is(question, line, why):
    with pytest.raises(Refused) as refused:
        read(question, line)
    assert why in str(refused.value)


@pytest.mark.parametrize("line", ["bab", "b a b", "1b 2a 3b", "3b,2a,1b", "1→b 2→a 3→b", "1=B 2=A 3=B"])
def test_pairs_may_be_typed_in_many_ways(line):
    assert judge(SHAPES, read(SHAPES, line).value).right


def test_a_number_that_was_read_freely_says_how():
    assert read(SHIFT, " −12,5 % ").note == SAY["readAs"].format(typed="−12,5 %", value="-12.5")
    assert read(SHIFT, "-12.5").note == ""


def test_a_round_tells_counts_and_says_what_to_read_again(ask):
    said = ask([ROW_SUM, KEPT, SCORE], "2", "r", "1", "1", "", "s")
    assert "97-row-sum · Level 2 of 3: apply" in said
    assert "  What do the weights of one row of A sum to? </script>" in said
    assert "   2  the number of keys" in said
    assert "Not yet. That would be weights of 1 each; they share 1." in said
    assert "Right. The row is divided by its own sum." in said
    assert f"Not yet. {SAY['found'].format(hit=1, all=2)}" in said
    assert "• Missed: what a shift of all scores leaves\n    A common factor cancels." in said
    assert said.endswith("Score: 1 of 3 solved, 0 at the first try, 1 left out\n"), said


def test_the_lesson_of_a_wrong_answer_is_named(ask):
    said = ask(lesson05.QUESTIONS[:1], "1", "")
    assert said.endswith("Read again: 05 · De-stationary attention   (tsattn-mini lessons open 05)\n")


def test_hint_answer_and_end_can_be_asked_for(ask):
    said = ask([ROW_SUM, CHAIN, SCORE], "?", "2", "a", "?", "q")
    assert "  Write the denominator down." in said
    assert "  1\n  The row is divided by its own sum." in said
    assert "There is no hint" in said
    assert "Score: 0 of 2 solved, 0 at the first try, 1 left out" in said


def test_an_end_of_the_input_ends_with_the_score(ask):
    assert "Score: 1 of 2 solved, 1 at the first try, 1 left out" in ask([ROW_SUM, SCORE], "1")


def test_words_are_compared_with_a_model_answer(ask):
    said = ask([WHY], "", "Because the", "variance grows.", "", "9", "1", "r", "Again", "", "1 2")
    assert said.count(SAY["writeFirst"]) == 1
    assert f"{SAY['model']}: The variance of a sum of d_k products grows with d_k" in said
    assert "Type numbers from 1 to 2" in said
    assert f"{SAY['points'].format(hit=1, all=2)} {SAY['missing']}" in said
    assert "• Large scores make softmax hard." in said
    assert "Score: 1 of 1 solved, 0 at the first try" in said


def test_new_numbers_are_those_of_the_page(ask, tmp_path):
    file = tmp_path / "mine.json"
    right = DRAWN.at(3).answer()
    said = ask([DRAWN, ROW_SUM], f"{right:g}", "1", arguments=["--new-numbers", "--seed", "3", "--progress", str(file)])
    assert DRAWN.at(3).text in said
    assert "numbers 3" in said
    assert "Score: 2 of 2 solved, 2 at the first try" in said
    assert json.loads(file.read_text())["questions"]["97-drawn"]["last"] == f"{right:g} #3"


def test_a_number_of_questions_is_drawn_by_the_seed(ask):
    def drawn(seed):
        said = ask(SAMPLES, *"s" * 9, arguments=["--number", "4", "--seed", seed])
        return [line.split(" · ")[1] for line in said.splitlines() if line.startswith("Question")]

    ids = [drawn(seed) for seed in ("1", "1", "2")]
    assert ids[0] == ids[1] != ids[2]
    assert len(set(ids[0])) == 4


def test_the_whole_book_is_asked_lesson_by_lesson(monkeypatch, capsys):
    made = []
    monkeypatch.setattr(quiz, "_questions", lambda name: made.append(name) or [ROW_SUM] * (name != "03"))
    monkeypatch.setattr("sys.stdin", StringIO("s\n" * 50))
    assert main(["quiz", "--number", "5", "--seed", "1"]) == 0
    assert capsys.readouterr().out.count("97-row-sum") == 5
    assert len(made) == len(set(made)) in (5, 6), "only the lessons that are asked are made"
    monkeypatch.setattr("sys.stdin", StringIO("s\n" * 50))
    assert main(["quiz"]) == 0
    said = capsys.readouterr().out
    assert said.count("97-row-sum") == quiz.DEFAULT
    assert "asks the same again" in said


def test_progress_is_counted_and_kept_after_every_answer(ask, tmp_path):
    file = tmp_path / "mine.json"
    ask([ROW_SUM, CHAIN, SHAPES, WHY, KEPT, SCORE], "1", "2 3 4 1", "", "bab", "Words", "", "0", "", "1 4", "s",
        arguments=["--progress", str(file)])
    stored = json.loads(file.read_text())
    assert stored == {**FORMAT, "questions": {
        "97-row-sum": {"tries": 1, "right": True, "last": "one"},
        "97-chain": {"tries": 1, "right": False, "last": ["score", "scale", "project", "softmax"]},
        "97-shapes": {"tries": 1, "right": True, "last": {"scores": "map", "out": "row", "again": "map"}},
        "97-why": {"tries": 1, "right": False, "last": {"text": "Words", "points": []}},
        "97-kept": {"tries": 1, "right": True, "last": ["order", "shift"]}}}
    said = ask([ROW_SUM], "2", "", arguments=["--progress", str(file)])
    assert "Solved before." in said
    assert json.loads(file.read_text())["questions"]["97-row-sum"] == {"tries": 2, "right": True, "last": "keys"}


def test_entries_of_others_stay_and_what_cannot_be_read_is_told(ask, tmp_path, monkeypatch, capsys):
    file = tmp_path / "mine.json"
    kept = {"98-other": {"tries": 3, "right": True},
            "97-why": {"tries": 1, "right": False, "last": {"text": "a", "points": [1]}}}
    bad = {"98-none": {"tries": 0, "right": True}, "no id": {"tries": 1, "right": True},
           "98-yes": {"tries": 1, "right": "yes"}, "98-last": {"tries": 1, "right": True, "last": 5},
           "98-true": {"tries": True, "right": True}}
    file.write_text(json.dumps({**FORMAT, "questions": kept | bad}))
    monkeypatch.setattr(quiz, "_questions", lambda name: [ROW_SUM])
    monkeypatch.setattr("sys.stdin", StringIO("1\n"))
    assert main(["quiz", "5", "--progress", str(file)]) == 0
    assert capsys.readouterr().err == \
        f"tsattn-mini: left out of {file}, because they could not be read: {', '.join(bad)}\n"
    assert set(json.loads(file.read_text())["questions"]) == {*kept, "97-row-sum"}


@pytest.mark.parametrize(("text", "why"), [
    ("{", "is no JSON"), ("[]", "is no progress file"), ('{"format": "x"}', "is no progress file"), ("", "is no JSON"),
    ('{"format": "tsattn-mini progress", "questions": []}', "is no progress file"), ("\udcff", "is no JSON"),
    ('{"format": "tsattn-mini progress", "version": 2, "questions": {}}', "expected format 1, got 2"),
    (" " * 1_000_001, "at most 1000 KB"), ("[" * 100_000, "is no JSON")])
def test_what_is_no_progress_file_is_refused_and_left_alone(text, why, tmp_path, capsys):
    file = tmp_path / "mine.json"
    file.write_bytes(text.encode("utf8", "surrogateescape"))
    assert main(["quiz", "5", "--progress", str(file)]) == 1
    assert why in capsys.readouterr().err
    assert file.read_bytes() == text.encode("utf8", "surrogateescape")


def test_a_folder_that_is_not_there_is_named_before_anything_is_asked(tmp_path, capsys):
    assert main(["quiz", "5", "--progress", str(tmp_path / "gone/mine.json")]) == 1
    said = capsys.readouterr()
    assert "gone" in said.err
    assert "Question" not in said.out


def test_a_name_that_no_file_can_have_is_not_understood(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["quiz", "5", "--progress", "a\0b"])
    assert ended.value.code == 2
    assert "argument --progress: expected the name of a file, got 'a\\x00b'" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "why"), [
    (["99"], "lesson: expected a number"), (["5", "--number", "0"], "number: expected 1 or more, got 0"),
    (["--seed", "-1"], "seed: expected 0 or more, got -1")])
def test_bad_arguments_are_told_in_one_line(arguments, why, capsys):
    assert main(["quiz", *arguments]) == 1
    assert why in capsys.readouterr().err
