"""The command line: the lessons, their questions, and what there is to say of a model of one's own.

Each command is a module here, which adds its arguments to the parser and imports what it needs when it runs: torch
takes seconds to load, and `--help` needs none of it. Answers go to the standard output, all else to the standard
error. Exit codes: 0 good, 1 the input is at fault, 2 the command was not understood, 130 interrupted.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from tsattn_mini.cli import lessons, page, quiz, settings, trace
from tsattn_mini.cli.given import spoken
from tsattn_mini.cli.terminal import prepare, say

BAD_INPUT, INTERRUPTED = 1, 130
EPILOG = """
examples:
  %(prog)s lessons                          what there is to read
  %(prog)s lessons open 05                  open lesson 05
  %(prog)s quiz 05                          its check questions, here in the terminal
  %(prog)s settings my_model.pth            what a checkpoint tells about itself
  %(prog)s trace my_model.pth --data my.csv --target load --set n_heads=8 label_len=48 pred_len=96
  %(prog)s page my_model.pth --data my.csv --out my_model.html --set n_heads=8 label_len=48 pred_len=96

Behind --set stands what `settings` says the weights do not tell; here it is that of a Non-stationary Transformer.

'%(prog)s COMMAND --help' says more of each. Nothing here asks the network for anything.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    Raises:
        SystemExit: from argparse, for `--help`, `--version` (0) and a command that is not understood (2).
    """
    prepare()
    asked = _parser().parse_args(argv)
    try:
        code = asked.run(asked) or 0
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads, as `head` does, has read enough; nothing is left to flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError) as error:
        return _refused(asked, spoken(_told(error)))
    except Exception as error:
        return _refused(asked, f"{type(error).__name__}: {error} (not foreseen; --debug shows where it came from)")


def _refused(asked: argparse.Namespace, why: str) -> int:
    """One line on what is at fault; the traceback only for who asks for it."""
    if asked.debug:
        raise
    say(f"error: {' '.join(why.split())}")
    return BAD_INPUT


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'file'}: {error.strerror}"
    return str(error) or type(error).__name__


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show where an error came from")
    parser = argparse.ArgumentParser(
        prog="tsattn-mini", epilog=EPILOG,
        description="Lessons on how modern sequence models modulate attention, and a look into models of your own.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('tsattn-mini')}")
    parser.set_defaults(debug=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (lessons, quiz, settings, trace, page):
        command.add(commands, shared)
    return parser
