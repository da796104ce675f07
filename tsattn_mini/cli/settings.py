"""`tsattn-mini settings`: what a checkpoint tells about itself, and what must be said besides."""

import argparse

from tsattn_mini.cli.given import add_checkpoint, described
from tsattn_mini.cli.terminal import columns, say, table, waiting

EPILOG = """
examples:
  tsattn-mini settings my_model.pth
  tsattn-mini settings my_model.pth --config args.json
  tsattn-mini settings my_model.pth --set n_heads=8 label_len=48 pred_len=96

Nothing in a checkpoint is run: a file that holds code is refused.
"""


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("settings", parents=[shared], help="what a checkpoint tells about itself",
                                 description="Say what the weights of a checkpoint tell, and what they do not.",
                                 epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_checkpoint(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> None:
    """Print the settings as a table.

    Raises:
        ValueError: a file that is no checkpoint, or a setting that contradicts the weights.
    """
    with waiting(f"reading {asked.checkpoint}"):
        found, _, _ = described(asked)
    print(table(found.table.header, found.table.rows, columns()))
    if found.left:
        say(f"passed over in the file: {', '.join(found.left[:8])}" + (" …" if len(found.left) > 8 else ""))
    if found.missing:
        say(f"to load it, add --set {' '.join(f'{name}=…' for name in found.missing)}")
