"""`tsattn-mini page`: one HTML file that explains a model of one's own, to be opened offline or sent to somebody."""

import argparse

from tsattn_mini.cli.given import a_path, add_checkpoint, add_data, checkpoint, source, writable
from tsattn_mini.cli.terminal import say, waiting

EPILOG = """
examples:
  tsattn-mini page my_model.pth --data my.csv --target load --set n_heads=8 label_len=48 pred_len=96 --out my_model.html
  tsattn-mini page my_model.pth --data my.csv --config args.json --start 2016-07-01 --title "Load, July" --out july.html
  tsattn-mini page memory.pth --text "Alexander the Great" --config args.json --out memory.html

Behind --set, or in args.json, stands what `tsattn-mini settings my_model.pth` says the weights do not tell.
The file holds everything it needs, the numbers of your series among it: whoever gets it can read them.
"""


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("page", parents=[shared], help="write one HTML file that explains a model",
                                 description="Write ONE HTML file with live explorers of a checkpoint on your data; it "
                                 "opens offline, and you can send it.",
                                 epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_checkpoint(parser)
    add_data(parser)
    part = parser.add_argument_group("the page")
    part.add_argument("--out", type=a_path, required=True, metavar="FILE.html", help="the file to write")
    part.add_argument("--title", help="above the page; left out, the names of the checkpoint and of the data")
    part.add_argument("--lead", default="", help="a paragraph below the title")
    parser.set_defaults(run=run, stages=4)


def run(asked: argparse.Namespace) -> None:
    """Write the page.

    Raises:
        ValueError: whatever is wrong with the checkpoint, the data, the start or the file to write.
    """
    writable(asked.out, "out", ".html", asked)
    model, read = checkpoint(asked), source(asked)
    from tsattn_mini import explain
    from tsattn_mini.explore.page import write
    say("exporting the explorers, about a minute")
    with waiting("exporting the explorers", 3, asked.stages):
        blocks = explain.explorers(model, **read)
    with waiting(f"writing {asked.out}", 4, asked.stages):
        title = f"{asked.checkpoint.name} on {asked.data.name if asked.data else 'a text'}"
        write(asked.out, blocks, title=title if asked.title is None else asked.title, lead=asked.lead)
    size = asked.out.stat().st_size / 1e6
    print(asked.out)
    say(f"wrote {size:.1f} MB: open it in a browser, or send it; it holds your numbers and needs no internet")
