"""What is written about the talks: entries that hold, numbers that are printed, paths that fit into their time."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from browsing import ROOT
from quoted import agrees, numbers, quoted, unprinted

sys.path.append(str(ROOT / "book/_ext"))
from tsbook import notebooks, talk_entries, talk_paths
from tsbook.talk import plan

LESSONS = talk_entries.lessons(ROOT / "lessons")
TOC = re.findall(r"lessons/(\d\d)_", (ROOT / "_toc.yml").read_text())
ENTRY = {"needs": "Nothing.", "questions": [{"ask": "Why?", "answer": "So.", "at": "here"}] * 5, "drop": ["there"],
         "equations": ["A"], "table": "t"}
PATHS = [{"minutes": 3, "title": "Short", "about": "All.",
          "steps": [{"lesson": "01", "at": "guess-first", "slides": n, "say": "Look."} for n in (1, 2)]}]


def entry(number):
    return talk_entries.entry_of(ROOT, number)


def lesson(number):
    return notebooks.read(LESSONS[number])


@pytest.mark.parametrize("number", TOC)
def test_the_answers_quote_numbers_that_the_lesson_prints(number):
    for one in entry(number).questions:
        assert unprinted(one.answer, lesson(number), one.at) == [], one.ask


@pytest.mark.parametrize("number", TOC)
def test_an_entry_names_sections_tables_and_formulas_of_its_lesson(number):
    slides, about = plan(lesson(number)), entry(number)
    sections = {slide.section for slide in slides}
    where = f"book/talks/{number}.yaml"
    unknown = sorted(({one.at for one in about.questions} | set(about.drop)) - sections)
    assert not unknown, f"{where}: {unknown} have no slide; at and drop take {sorted(sections - {''})}"
    assert len({one.ask for one in about.questions}) == len(about.questions), f"{where}: a question is asked twice"
    left = [slide for slide in slides if slide.section not in about.drop]
    assert {"title", "recap"} <= {slide.kind for slide in left}, f"{where}: drop leaves out the title or the Recap"
    assert len(left) < len(slides), f"{where}: drop leaves out nothing"


def test_every_lesson_of_the_book_has_an_entry():
    assert sorted(LESSONS) == TOC
    assert {*TOC} <= {path.stem for path in Path(ROOT, talk_entries.FOLDER).glob("[0-9]*.yaml")}


def test_a_lesson_without_an_entry_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"book/talks: expected 07\.yaml, as the book has a lesson 07, got none"):
        talk_entries.entry_of(tmp_path, "07")


@pytest.mark.parametrize(("change", "said"), [
    ({"needs": " "}, "words for needs"), ({"drop": "there"}, "a list for drop"), ({"table": None}, "words for table"),
    ({"questions": ENTRY["questions"][:4]}, "5 questions"), ({"more": 1}, "the fields"),
    ({"questions": [{"ask": "Why?", "answer": "So."}] * 5}, "a question with ask, answer and at"),
])
def test_an_entry_that_lacks_something_says_what(tmp_path, change, said):
    path = tmp_path / "09.yaml"
    path.write_text(yaml.safe_dump(ENTRY))
    assert talk_entries.read(path).drop == ("there",)
    path.write_text(yaml.safe_dump(ENTRY | change))
    with pytest.raises(ValueError, match=rf"09\.yaml: expected {said}"):
        talk_entries.read(path)


def test_all_faults_of_an_entry_are_said_at_once(tmp_path):
    path = tmp_path / "09.yaml"
    path.write_text(yaml.safe_dump(ENTRY | {"needs": "", "equations": "A", "questions": []}))
    with pytest.raises(ValueError, match=r"09\.yaml: .* words for needs.*; 09\.yaml: .* equations.*; .* 5 questions"):
        talk_entries.read(path)


def test_a_file_that_is_no_yaml_is_named(tmp_path):
    path = tmp_path / "09.yaml"
    path.write_text("needs: [")
    with pytest.raises(ValueError, match=r"09\.yaml: expected YAML, got "):
        talk_entries.read(path)


def test_a_place_that_is_no_section_with_slides_is_named_with_those_that_would_do(tmp_path):
    path = tmp_path / "09.yaml"
    path.write_text(yaml.safe_dump(ENTRY | {"drop": ["exercises", "here"]}))
    found = talk_entries.read(path)
    talk_entries.check_places("09.yaml", found, ["exercises", "here"])
    with pytest.raises(ValueError, match=r"^09\.yaml: expected in drop sections with slides, out of \['here'\], "
                                         r"got 'exercises'$"):
        talk_entries.check_places("09.yaml", found, ["here"])
    with pytest.raises(ValueError, match=r"in drop .* got 'here'; 09\.yaml: expected in questions .* got 'here'"):
        talk_entries.check_places("09.yaml", found, ["exercises"])


@pytest.mark.parametrize("route", talk_paths.read(ROOT / talk_paths.FILE), ids=lambda route: str(route.minutes))
def test_the_slides_of_a_path_exist_add_up_and_come_in_order(route):
    shown = [(step.lesson, number) for step in route.steps for number in talk_paths.numbers(lesson(step.lesson), step)]
    assert len(shown) == route.minutes
    assert shown == sorted(set(shown))


def test_there_is_a_path_of_half_an_hour_and_one_of_an_hour_through_all_lessons():
    short, long = talk_paths.read(ROOT / talk_paths.FILE)
    assert (short.minutes, long.minutes) == (30, 60)
    assert {step.lesson for step in long.steps} == {*TOC}


def test_a_path_names_questions_explorers_places_and_sections():
    found = {at: talk_paths.numbers(lesson("09"), talk_paths.Step("09", at, slides, "Look.")) for at, slides in
             [("question-09-zero", 1), ("explorer-kgc", 1), ("additive-content", 1), ("a-row-of-zeros", 2)]}
    slides = plan(lesson("09"))
    kinds = {at: slides[shown[0] - 1].kind for at, shown in found.items()}
    assert kinds == {"question-09-zero": "predict", "explorer-kgc": "explorer", "additive-content": "idea",
                     "a-row-of-zeros": slides[found["a-row-of-zeros"][0] - 1].kind}
    assert found["a-row-of-zeros"][1] == found["a-row-of-zeros"][0] + 1


@pytest.mark.parametrize(("slides", "at", "said"), [(1, "no-such-place", "1 slides at 'no-such-place', got 0"),
                                                    (2, "explorer-kgc", "2 slides at 'explorer-kgc', got 1")])
def test_a_step_without_enough_slides_says_so(slides, at, said):
    with pytest.raises(ValueError, match=f"lesson 09: expected {said}"):
        talk_paths.numbers(lesson("09"), talk_paths.Step("09", at, slides, "Look."))


def test_minutes_that_do_not_add_up_are_an_error(tmp_path):
    path = tmp_path / "paths.yaml"
    path.write_text(yaml.safe_dump(PATHS))
    assert [step.slides for step in talk_paths.read(path)[0].steps] == [1, 2]
    path.write_text(yaml.safe_dump([PATHS[0] | {"minutes": 4}]))
    with pytest.raises(ValueError, match=r"paths\.yaml, Short: expected steps of 4 minutes in all, got 3"):
        talk_paths.read(path)


def test_numbers_are_read_as_they_are_written():
    assert [str(n) for n in numbers("−0.5 of 1,024, x2 or W1q, .77 and 6.7e-07, 8-12, 100 %, 10⁻⁶")] == [
        "-0.5", "1024", "0.77", "6.7E-7", "8", "100"]
    assert quoted("see lesson 12, `x[:, 0:3]`, $s_{12}$ and 4.5") == numbers("4.5")


def test_a_quotation_may_round_and_may_not_invent():
    assert agrees(*numbers("0.77 0.766"))
    assert not agrees(*numbers("0.76 0.766"))
    assert agrees(*numbers("13.8 13.816"))
    assert not agrees(*numbers("14 13.816"))
    assert not agrees(*numbers("0.5 -0.5"))
    assert not agrees(*numbers("1.1 1.04"))
