"""Run a notebook from top to bottom in a fresh kernel, and learn which files of the repository it read."""

import ast
import asyncio
import os
import re
import subprocess
import traceback
from itertools import count

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

AT_ONCE = 2
CELL_SECONDS = 900  # the largest explorer needs minutes on a busy machine
ANSI = re.compile(r"\x1b\[[0-9;]*m")

# Runs in the kernel before the first cell: from then on every file that is opened leaves its path.
WATCH = """
import sys as _ts_sys
_ts_opened = set()
_ts_sys.addaudithook(lambda event, args: event == "open" and isinstance(args[0], str) and _ts_opened.add(args[0]))
"""
# Modules may come from compiled copies, so their sources are listed by name.
READ = """'\\n'.join(sorted(_ts_opened | {
    module.__file__ for name, module in tuple(_ts_sys.modules.items())
    if name.partition(".")[0] == "tsattn_mini" and getattr(module, "__file__", None)}))"""


class NotebookFailed(Exception):
    """A cell raised, ran too long, or took the kernel with it; the message carries the traceback."""


async def run(notebook, path, book):
    """Fill `notebook` (read from `path`) with the outputs of a fresh kernel; return the paths the kernel read.

    `book` says whether explorers and questions render as plain HTML for the built book (True) or as widgets.
    Raises NotebookFailed.
    """
    environment = {"OMP_NUM_THREADS": "1", **os.environ}  # lessons side by side would fight over the cores
    if book:
        environment["TSATTN_BOOK"] = "1"
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        async with client.async_setup_kernel(env=environment, stderr=subprocess.DEVNULL):
            await client.kc.execute(WATCH, silent=True, reply=True)
            for index, cell in enumerate(notebook.cells):
                await client.async_execute_cell(cell, index, execution_count=client.code_cells_executed + 1)
            reply = await client.kc.execute("", silent=True, user_expressions={"read": READ}, reply=True)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise NotebookFailed(f"{path.name} stopped.\n{ANSI.sub('', str(error))}") from error
    return ast.literal_eval(reply["content"]["user_expressions"]["read"]["data"]["text/plain"]).splitlines()


def counted(total):
    """A function that says "1 of `total`", and the next number with every call."""
    numbers = count(1)
    return lambda: f"{next(numbers)} of {total}"


async def _run_each(jobs):
    gate = asyncio.Semaphore(AT_ONCE)

    async def gated(job):
        async with gate:
            return await job()

    return await asyncio.gather(*(gated(job) for job in jobs), return_exceptions=True)


def run_each(jobs):
    """Await the coroutine functions `jobs`, two at a time; raise NotebookFailed with every failure once all ended."""
    errors = [result for result in asyncio.run(_run_each(jobs)) if isinstance(result, BaseException)]
    if errors:
        raise NotebookFailed("\n\n".join(
            str(error) if isinstance(error, NotebookFailed) else "".join(traceback.format_exception(error))
            for error in errors
        ))
