"""Which tokens the convolution of step 7 reads: a tap every D places, and an n-gram of N tokens behind each tap.

Source: arXiv 2601.07372, section 2.4: four taps whose distance is the longest n-gram, so that the n-grams tile.
"""

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from tsattn_mini import checks


def tiling(K: int | Int64[Tensor, ""], D: int | Int64[Tensor, ""], N: int | Int64[Tensor, ""], taps: int = 4,
           tokens: int = 12) -> Bool[Tensor, "taps tokens"]:
    """True where tap i reads the token `back` places before the newest: i D ≤ back < i D + N, for i < K.

    Args:
        K: taps; D: distance between two taps; N: tokens of the longest n-gram.
        taps, tokens: how large a map to draw.

    >>> tiling(K=2, D=3, N=2, taps=2, tokens=6).int().tolist()
    [[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]]
    """
    checks.counts(taps=taps, tokens=tokens)
    checks.number(K=K, D=D, N=N)
    tap, back = torch.arange(taps)[:, None], torch.arange(tokens)
    return (tap < K) & (back >= tap * D) & (back < tap * D + N)


def coverage(reads: Bool[Tensor, "taps tokens"]) -> Int64[Tensor, "3"]:
    """How many tokens are read, how many before the last one read are not, and how many more than once.

    Raises:
        ValueError: `reads` that is no table, or an empty one.

    >>> coverage(tiling(K=2, D=3, N=2)).tolist()  # 4 tokens read, 1 left out, none twice
    [4, 1, 0]
    """
    checks.shapes(reads=(reads, "taps tokens"))
    checks.required(reads=reads)
    readers = reads.sum(0)
    far = torch.where(readers > 0, torch.arange(1, reads.shape[1] + 1), 0).max()
    read = (readers > 0).sum()
    return torch.stack([read, far - read, (readers > 1).sum()])
