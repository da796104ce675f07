"""Compute the stored tables anew: `python -m tsattn_mini.results`, or some of them by name."""

import csv
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import torch

from tsattn_mini.results import Results, cost, duet, engram, kite, nonstationary, zoo

TABLES = {"nonstationary": nonstationary, "kite": kite, "engram": engram, "zoo": zoo,
          "cost": cost, "duet": duet}  # name → module with about() and rows()
FOLDER = Path(__file__).parent


def commit() -> str:
    """The commit of the code that runs, with `+` if files of the package differ from it; "unknown" without git."""
    git = ["git", "-C", str(FOLDER)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        return "unknown"
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", ".."], capture_output=True)
    return head.stdout.strip() + ("+" if changed.returncode else "")


def machine() -> str:
    """The processor and its cores, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.+)", info.read_text(encoding="utf8")) if info.exists() else None
    return f"{named[1] if named else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def write(name: str, results: Results, folder: Path = FOLDER) -> None:
    """Store `results` as `name.csv` and `name.json`; four decimals, while seeds differ in the second.

    A column for every number that any row has; where a row lacks it, the field is empty.
    """
    rows = sorted(results.rows, key=len, reverse=True)  # a baseline has fewer columns; the fullest row orders them
    fields = list(dict.fromkeys(key for row in rows for key in row))
    with (folder / f"{name}.csv").open("w", encoding="utf8", newline="") as out:
        table = csv.DictWriter(out, fields, lineterminator="\n")
        table.writeheader()
        table.writerows({k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()} for row in results.rows)
    about = json.dumps(results.about, indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(about + "\n", encoding="utf8")


def main(names: list[str]) -> None:
    """Compute and store these tables; all of them when none is named.

    Raises:
        SystemExit: a name that no table has.
    """
    unknown = sorted(set(names) - set(TABLES))
    if unknown:
        raise SystemExit(f"no table {', '.join(unknown)}; the tables are {', '.join(TABLES)}")
    for name in names or TABLES:
        about = {"commit": commit(), "torch": torch.__version__.partition("+")[0],
                 "machine": machine(), **TABLES[name].about()}
        rows = []
        for row in TABLES[name].rows():
            rows.append(row)
            print("  ".join(f"{k} {v:.4f}" if isinstance(v, float) else f"{v}" for k, v in row.items()), flush=True)
        write(name, Results(tuple(rows), about))


if __name__ == "__main__":
    main(sys.argv[1:])
