"""How often n-grams share a row: counted on random n-grams, beside what chance predicts.

n-grams that fall on p rows at random: each has (n - 1) / p others in its row on average, and is alone with
probability e^{-n/p}. In two heads with different primes a pair agrees by chance once in p · p' pairs.
"""

import torch
from jaxtyping import Int64
from torch import Tensor

from tsattn_mini import checks


def distinct_ngrams(count: int, N: int, size: int, seed: int = 0) -> Int64[Tensor, "B 1 N"]:
    """`count` different random n-grams of N ids below `size`, each a batch of its own for `xor_mix`.

    Raises:
        ValueError: more than half of all the n-grams there are, which would take long to draw; more n-grams than
            int64 can number; a seed that is no whole number.
    """
    checks.counts(N=N, size=size)
    checks.counts(0, count=count)
    if size**N > torch.iinfo(torch.int64).max:
        raise ValueError(f"size, N: expected at most 2**63 - 1 n-grams in all, got {size}**{N}")
    if not 0 < count <= size**N // 2:
        raise ValueError(f"count: expected 1 to {size**N // 2} of the {size**N} n-grams, got {count}")
    draw, codes = torch.Generator().manual_seed(checks.seeded(seed)), torch.zeros(0, dtype=torch.int64)
    while len(codes) < count:
        codes = torch.cat([codes, torch.randint(size**N, (2 * count,), generator=draw)]).unique()
    codes = codes[torch.randperm(len(codes), generator=draw)[:count], None]
    return codes[..., None] // size ** torch.arange(N) % size


def partners(rows: Int64[Tensor, "B H"]) -> Int64[Tensor, " B"]:
    """How many others agree with each entry in all the heads given.

    Raises:
        ValueError: no entry or no head, rows that are no whole numbers of at least 0.

    >>> partners(torch.tensor([[1, 4], [1, 4], [1, 5]])).tolist()  # only the first two agree in both heads
    [1, 1, 0]
    """
    checks.shapes(rows=(rows, "B H"))
    if rows.is_floating_point() or int(rows.min()) < 0:
        raise ValueError(f"rows: expected whole numbers of at least 0, got {rows.min().item()} and more")
    group, *others = rows.unbind(1)
    for head in others:
        group = (group * (int(head.max()) + 1) + head).unique(return_inverse=True)[1]
    return group.bincount()[group] - 1


def expected_share(n: int, p: int) -> float:
    """The share of n entries that have a partner, if they fall on p rows at random.

    Raises:
        ValueError: no entry or no row.

    >>> round(expected_share(1000, 1009), 3), round(expected_share(1000, 1009**2), 3)  # one head, two heads
    (0.629, 0.001)
    """
    checks.number(n=n, p=p)
    if n < 1 or p < 1:
        raise ValueError(f"n, p: expected at least 1 entry and 1 row, got {n}, {p}")
    return 1 - (1 - 1 / p) ** (n - 1)
