"""The book's record of its runs notices what changed, and nbval compares with such a run as with a kernel's."""

import as_run
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbval.plugin import IPyNbFile, NbCellError
from tsbook.execute import stale
from tsbook.runs import Runs, sources

LATER = float("inf")
PAGES = {"lessons/01_one": ["package/both.py", "package/one.py"], "lessons/02_two": ["package/both.py"]}
QUESTION = "<fieldset class='ts-question' id='question-01-x'></fieldset>"


def notebook(*sources, said="1.000"):
    outputs = [new_output("execute_result", {"text/plain": said, "text/html": f"<b>{said}</b>"}, execution_count=1)]
    cells = [new_code_cell(source, outputs=outputs, execution_count=1) for source in sources]
    return new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "", "language": ""}})


@pytest.fixture
def root(tmp_path):
    """A repository of two lessons and two modules, and a record of a run of each lesson."""
    for name in ("package/one.py", "package/both.py", "requirements.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "lessons").mkdir()
    runs = Runs(tmp_path, tmp_path / "cache")
    for page, read in PAGES.items():
        nbformat.write(notebook(page), tmp_path / f"{page}.ipynb")
        runs.keep(page, notebook(page), tmp_path / f"{page}.ipynb", [tmp_path / name for name in read], LATER, 1.0)
    return tmp_path


def changed(root):
    """Page → what makes its run stale, as the next build reads the record."""
    runs = Runs(root, root / "cache")
    return {page: runs.changed(page, nbformat.read(root / f"{page}.ipynb", 4)) for page in PAGES}


def test_a_changed_module_makes_stale_the_lessons_that_import_it_and_no_other(root):
    assert changed(root) == {page: [] for page in PAGES}
    (root / "package/one.py").write_text("another")
    assert changed(root) == {"lessons/01_one": ["package/one.py"], "lessons/02_two": []}
    (root / "package/both.py").unlink()
    assert changed(root) == {"lessons/01_one": ["package/both.py", "package/one.py"],
                             "lessons/02_two": ["package/both.py"]}


def test_other_packages_another_cell_or_another_tag_make_a_run_stale(root):
    path, (one, two) = root / "lessons/02_two.ipynb", PAGES
    nbformat.write(notebook("print(2)"), path)
    assert changed(root) == {one: [], two: ["its code"]}
    tagged = notebook(two)
    tagged.cells[0].metadata["tags"] = ["nbval-ignore-output"]
    nbformat.write(tagged, path)
    assert changed(root) == {one: [], two: ["its code"]}
    (root / "requirements.txt").write_text("torch==0")
    assert changed(root) == {one: ["requirements.txt"], two: ["its code", "requirements.txt"]}


def test_a_lesson_that_never_ran_or_whose_run_was_lost_is_stale(root):
    (root / "cache/lessons.json").unlink()
    assert set(map(tuple, changed(root).values())) == {("it never ran",)}


def test_a_file_that_was_written_during_the_run_makes_it_stale(root):
    assert sources([root / "package/one.py"], root, before=0)["package/one.py"] is None


@pytest.fixture
def cells(root, request):
    """`cells(stored, ran)`: nbval's cells of the notebook `stored`, beside the book's run of the notebook `ran`."""
    def opened(stored, ran):
        page, path = "lessons/01_one", root / "lessons/01_one.ipynb"
        nbformat.write(stored, path)
        runs = Runs(root, root / "cache")
        runs.keep(page, ran, path, [], LATER, 1.0)
        lesson = IPyNbFile.from_parent(request.session, path=path)
        found = list(lesson.collect())
        as_run.open_run(lesson, runs)
        return found
    return opened


def test_a_run_that_says_what_is_stored_passes_also_when_some_cells_are_left_out(cells):
    same = notebook("a", "b", "c")
    for cell in cells(same, same)[::2]:
        cell.runtest()


def test_another_number_fails(cells):
    with pytest.raises(NbCellError, match="Cell outputs differ"):
        cells(notebook("a"), notebook("a", said="1.001"))[0].runtest()


def test_only_an_explorer_or_a_question_may_have_html_that_is_not_stored(cells):
    stored, ran = notebook("ask"), notebook("ask")
    del stored.cells[0].outputs[0].data["text/html"]
    with pytest.raises(NbCellError, match="Cell outputs differ"):
        cells(stored, ran)[0].runtest()
    ran.cells[0].outputs[0].data["text/html"] = QUESTION
    cells(stored, ran)[0].runtest()


def test_a_cell_that_raised_fails(cells):
    failed = notebook("a")
    failed.cells[0].outputs = [new_output("error", ename="ValueError", evalue="no", traceback=["no"])]
    with pytest.raises(NbCellError, match="Cell execution caused an exception"):
        cells(notebook("a"), failed)[0].runtest()


def test_a_run_of_other_code_is_refused_with_what_to_do(cells):
    with pytest.raises(pytest.fail.Exception, match=r"01_one has changed .*\(its code\): run `make book`"):
        cells(notebook("a"), notebook("b"))


def test_the_build_runs_stale_lessons_alone_those_that_take_longest_first(root):
    one, two = PAGES
    pages = {page: (root / f"{page}.ipynb", notebook(page)) for page in [*PAGES, "lessons/03_new"]}
    assert stale(Runs(root, root / "cache"), pages) == ["lessons/03_new"]
    runs = Runs(root, root / "cache")
    runs.keep(two, notebook(two), pages[two][0], [root / "package/both.py"], LATER, 9.0)
    (root / "package/both.py").write_text("another")
    assert stale(Runs(root, root / "cache"), pages) == ["lessons/03_new", two, one]
