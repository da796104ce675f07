"""Compute the stored tables anew: `python -m tsattn_mini.results`."""

import csv
import json
import subprocess
from pathlib import Path

import torch

from tsattn_mini.results import FIELDS, Results, nonstationary

FOLDER = Path(__file__).parent


def commit() -> str:
    """The commit of the code that runs, with `+` if files of the package differ from it; "unknown" without git."""
    git = ["git", "-C", str(FOLDER)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        return "unknown"
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", ".."], capture_output=True)
    return head.stdout.strip() + ("+" if changed.returncode else "")


def write(name: str, results: Results, folder: Path = FOLDER) -> None:
    """Store `results` as `name.csv` and `name.json`; four decimals, while seeds differ in the second."""
    with (folder / f"{name}.csv").open("w", encoding="utf8", newline="") as out:
        table = csv.DictWriter(out, FIELDS, lineterminator="\n")
        table.writeheader()
        table.writerows({k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()} for row in results.rows)
    about = json.dumps(results.about, indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(about + "\n", encoding="utf8")


def main() -> None:
    about = {"commit": commit(), "torch": torch.__version__.partition("+")[0], **nonstationary.about()}
    rows = []
    for row in nonstationary.rows():
        rows.append(row)
        print("  ".join(f"{k} {v:.4f}" if isinstance(v, float) else f"{v}" for k, v in row.items()), flush=True)
    write("nonstationary", Results(tuple(rows), about))


if __name__ == "__main__":
    main()
