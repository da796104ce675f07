"""Run notebooks and store their text outputs: `python -m tsbook.store lessons/*.ipynb`.

What differs between machines and runs is left out: widget views and state, timing, the interpreter's version.
"""

import sys
from pathlib import Path

import nbformat

from tsbook.run import NotebookFailed, counted, run, run_each

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def clean(notebook):
    """Keep of an executed notebook what a reader may compare."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data.pop(WIDGET_VIEW, None)


async def store(path, place):
    """Run the notebook at `path` as Jupyter would and write it back; `place()` says how many are, of how many."""
    notebook = nbformat.read(path, as_version=4)
    await run(notebook, path, book=False)
    clean(notebook)
    nbformat.write(notebook, path)
    print(f"  {place()}: stored {path.name}", flush=True)


def main(names):
    paths = [Path(name).resolve() for name in names]
    if missing := [name for name, path in zip(names, paths, strict=True) if not path.is_file()]:
        sys.exit(f"LESSONS: expected notebooks such as lessons/01_attention_by_hand.ipynb, got {', '.join(missing)}, "
                 "where there is no file")
    place = counted(len(paths))
    try:
        run_each([lambda path=path: store(path, place) for path in paths])
    except NotebookFailed as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main(sys.argv[1:])
