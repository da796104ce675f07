"""`tsattn-mini trace`: every named tensor of one window on its way through a model of one's own."""

import argparse
import csv
import io
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tsattn_mini.cli.given import a_path, add_checkpoint, add_data, checkpoint, source, writable
from tsattn_mini.cli.terminal import columns, say, table, waiting

if TYPE_CHECKING:
    from tsattn_mini.figures import Figure
    from tsattn_mini.trace import Trace

EPILOG = """
examples:
  tsattn-mini trace my_model.pth --data my.csv --target load --set n_heads=8 label_len=48 pred_len=96
  tsattn-mini trace my_model.pth --data my.csv --config args.json --start 2016-07-01 --steps 'enc0/*' tau delta
  tsattn-mini trace my_model.pth --data my.csv --config args.json --flow flow.svg --csv steps.csv
  tsattn-mini trace memory.pth --text "Alexander the Great" --config args.json

Behind --set, or in args.json, stands what `tsattn-mini settings my_model.pth` says the weights do not tell.
The table goes to the standard output, what was found on the way to the standard error.
"""
STYLE = ("text{font:12px ui-sans-serif,system-ui,sans-serif;text-anchor:middle;fill:#1f2328}.ts-step{font-weight:600}"
         ".ts-size{font-size:10.5px;fill:#59636e}.ts-box{fill:#f8f9fa;stroke:#aaa}.ts-edge{fill:none;stroke:#777}"
         ".ts-arrow{fill:#777}")


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("trace", parents=[shared], help="print the tensor-transform table of one window",
                                 description="Run one window through a checkpoint, and print every named step with its "
                                 "operation, axes and shape.",
                                 epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_checkpoint(parser)
    add_data(parser)
    part = parser.add_argument_group("what to print")
    part.add_argument("--steps", nargs="+", metavar="PATTERN", help="only these steps, such as 'enc0/*' or tau")
    part.add_argument("--flow", type=a_path, metavar="FILE.svg", help="draw what was computed from what")
    part.add_argument("--csv", type=a_path, metavar="FILE.csv", help="write the table as CSV too")
    parser.set_defaults(run=run, stages=3)


def run(asked: argparse.Namespace) -> None:
    """Print the table, and write the files that were asked for.

    Raises:
        ValueError: whatever is wrong with the checkpoint, the data, the start, a pattern or a file to write.
    """
    writable(asked.flow, "flow", ".svg", asked)
    writable(asked.csv, "csv", ".csv", asked)
    found = _picked(_trace(asked), asked.steps)
    steps = found.table()
    print(table(steps.header, steps.rows, columns()))
    if asked.csv:
        asked.csv.write_text(_csv(steps.header, steps.rows), "utf8", newline="")
        say(f"wrote {asked.csv}")
    if asked.flow:
        asked.flow.write_text(_alone(found.flow()), "utf8", newline="\n")
        say(f"wrote {asked.flow}")


def _trace(asked: argparse.Namespace) -> "Trace":
    """The steps of one window, or of a text."""
    model, read = checkpoint(asked), source(asked)
    from tsattn_mini import explain
    with waiting("running it once", 3, asked.stages):
        return explain.trace(model, **read)


def _picked(found: "Trace", patterns: list[str] | None) -> "Trace":
    """The steps that one of the patterns meets."""
    if not patterns:
        return found
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in found):
            some = ", ".join(list(found)[:6])
            raise ValueError(f"steps: {pattern!r} meets none of the {len(found)} steps, which are {some}, …")
    return found.pick(*(name for name in found if any(fnmatchcase(name, pattern) for pattern in patterns)))


def _csv(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows([header, *rows])
    return lines.getvalue()


def _alone(flow: "Figure") -> str:
    """A drawing of a page as a file by itself."""
    svg = re.search(r"<svg .*</svg>", flow.html, re.DOTALL)[0]
    head, inside = svg.split(">", 1)
    return f"{head} xmlns='http://www.w3.org/2000/svg'><style>{STYLE}</style>{inside}\n"
