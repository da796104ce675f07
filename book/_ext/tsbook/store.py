"""Run notebooks and store their text outputs: `python -m tsbook.store lessons/*.ipynb`.

What differs between machines and runs is left out: widget views and state, timing, the interpreter's version.
"""

import sys
from pathlib import Path

import nbformat

from tsbook.run import NotebookFailed, run, run_each

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


async def store(path):
    """Run the notebook at `path` as Jupyter would and write it back."""
    notebook = nbformat.read(path, as_version=4)
    await run(notebook, path, book=False)
    clean(notebook)
    nbformat.write(notebook, path)
    print(f"  stored {path.name}", flush=True)


def main(names):
    paths = [Path(name).resolve() for name in names]
    try:
        run_each([lambda path=path: store(path) for path in paths])
    except NotebookFailed as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main(sys.argv[1:])
