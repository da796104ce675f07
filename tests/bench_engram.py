"""What a lookup costs as its table grows from a thousand to ten million rows: `python tests/bench_engram.py`.

Three things a token pays for: the hash (steps 1 to 3), the rows of a plain table in memory and of a file mapped into
memory, and the projections behind them. Every row is written before the clock starts; the mapped file is read from the
system's cache, as it would be in use. Times are medians, in nanoseconds a token; compare processor-bound numbers only
on a quiet machine.
"""

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter_ns

import numpy as np
import torch
from torch import nn
from torch.nn.functional import embedding

from tsattn_mini.engram.hashing import ngram_hashes
from tsattn_mini.engram.vocabulary import Compression

E, HEADS, TOKENS, ROUNDS, VOCABULARY, M = 16, 4, 4096, 30, 10_000, 256
SIZES = [10**k for k in range(3, 8)]


def nanoseconds(work, inputs):
    """Median time of `work` on each of `inputs`, a token."""
    times = []
    for one in inputs:
        start = perf_counter_ns()
        work(one)
        times.append(perf_counter_ns() - start)
    return median(times) / TOKENS


def lookups(rows, folder):
    """Time in a plain table and in a memory-mapped one, and their size in MB."""
    at = torch.randint(rows, (ROUNDS, TOKENS, HEADS))
    plain = torch.empty(rows, E).uniform_()
    file = np.memmap(Path(folder) / f"{rows}.f32", np.float32, "w+", shape=(rows, E))
    file[:] = plain.numpy()
    mapped = torch.from_numpy(file)
    times = [nanoseconds(lambda one, table=table: embedding(one, table), at) for table in (plain, mapped)]
    return *times, plain.nbytes / 1e6


def hashing(rows):
    """Time of compression, n-grams and hash for tables of `rows` rows."""
    hashes = ngram_hashes(Compression([str(i) for i in range(VOCABULARY)]), [1], [rows, rows], HEADS // 2)[1]
    return nanoseconds(hashes, torch.randint(VOCABULARY, (ROUNDS, 8, TOKENS // 8)))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with torch.no_grad(), TemporaryDirectory() as folder:
        print(f"{HEADS} rows of {E} numbers a token, {TOKENS} tokens at a time, one thread; nanoseconds a token")
        print(f"{'rows':>12} {'MB':>9} {'plain':>8} {'mapped':>8} {'hash':>8}")
        for rows in SIZES:
            plain, mapped, size = lookups(rows, folder)
            print(f"{rows:12,} {size:9.2f} {plain:8.0f} {mapped:8.0f} {hashing(rows):8.0f}", flush=True)
        for length in (16, 256, 4096):
            table = torch.empty(SIZES[2], E).uniform_()
            at = torch.randint(SIZES[2], (ROUNDS, TOKENS // length, length, HEADS))
            time = nanoseconds(lambda x, table=table: embedding(x, table), at)
            print(f"sentences of {length:4} tokens, {SIZES[2]:,} rows: {time:.0f}")
        for width in (M, 2 * M, 4 * M):
            project = nn.Linear(width, width)
            print(f"one projection {width} × {width}: {nanoseconds(project, torch.randn(5, TOKENS, width)):.0f}")


if __name__ == "__main__":
    main()
