"""Steps 2 and 3: the n-grams that end at each token, and the rows their hashes point to.

    g_{t,n} = (x'_{t-n+1}, …, x'_t)                       n = 2 … N
    mix_{t,n} = x'_t m_0 xor x'_{t-1} m_1 xor … xor x'_{t-n+1} m_{n-1}
    z_{t,n,h} = mix_{t,n} mod p_{n,h}                     one prime per order and head

Source: arXiv 2601.07372, section 2.3; multipliers and primes as in the released demonstration. Everything is exact in
64-bit integers: a multiplier times an id stays below 2⁶³, so no product wraps around.
"""

from collections.abc import Sequence
from itertools import count as integers
from itertools import islice

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.trace import meaning, step

LARGEST = torch.iinfo(torch.int64).max


def odd_multipliers(layer: int, N: int, size: int, seed: int = 0) -> Int64[Tensor, " N"]:
    """The N random odd multipliers of one layer, each small enough for `size` compressed ids.

    Odd, because an odd number has an inverse modulo 2⁶⁴: the product of an id forgets none of its bits.

    Raises:
        ValueError: so many ids that no multiplier is small enough, or none; a negative seed.

    >>> (odd_multipliers(layer=0, N=3, size=100) % 2).tolist()
    [1, 1, 1]
    """
    checks.counts(N=N)
    checks.counts(0, LARGEST, layer=layer)
    checks.counts(1, LARGEST // 2, size=size)
    if not checks.whole(seed) or seed < 0:
        raise ValueError(f"seed: expected a whole number of at least 0, got {seed!r}")
    seed = int(seed)
    half = LARGEST // size // 2
    return torch.from_numpy(np.random.default_rng(seed + 10007 * layer).integers(0, half, N) * 2 + 1)


def is_prime(n: int) -> bool:
    """Whether `n` has no divisor but 1 and itself; by division up to its root, which is enough for table sizes.

    >>> [n for n in range(20) if is_prime(n)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    checks.counts(-LARGEST, LARGEST, n=n)
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def next_primes(start: int, count: int, used: set[int]) -> list[int]:
    """The first `count` primes from `start` on that are not in `used`; they are added to it.

    >>> next_primes(10, 2, used={11})
    [13, 17]
    """
    checks.counts(0, start=start, count=count)
    fresh = list(islice((n for n in integers(start) if n not in used and is_prime(n)), count))
    used.update(fresh)
    return fresh


def suffix_ngrams(ids: Int64[Tensor, "B L"], N: int, pad: Int64[Tensor, ""]) -> Int64[Tensor, "B L N"]:
    """Token t, then the one before it, and so on for N tokens; `pad` stands in front of the sentence.

    >>> suffix_ngrams(torch.tensor([[5, 6, 7]]), N=2, pad=torch.tensor(0)).tolist()  # each token, and the one before
    [[[5, 0], [6, 5], [7, 6]]]
    """
    front = pad.expand(len(ids), N - 1)
    padded = torch.cat([front, ids], dim=1)
    L = ids.shape[1]
    return torch.stack([padded[:, N - 1 - back:N - 1 - back + L] for back in range(N)], dim=-1)


def xor_mix(ngrams: Int64[Tensor, "B L N"], multipliers: Int64[Tensor, " N"]) -> Int64[Tensor, "B L G"]:
    """One 63-bit number per order 2 … N: the products of ids and multipliers, combined bit by bit.

    >>> xor_mix(torch.tensor([[[5, 6]]]), torch.tensor([3, 9])).item(), (5 * 3) ^ (6 * 9)
    (57, 57)
    """
    products = ngrams * multipliers
    mixed, orders = products[..., 0], []
    for back in range(1, ngrams.shape[-1]):
        mixed = torch.bitwise_xor(mixed, products[..., back])
        orders.append(mixed)
    return torch.stack(orders, dim=-1)


class NgramHash(nn.Module):
    """From token ids to one table row per n-gram order and head: steps 1 to 3 of one layer.

    Multipliers, primes, padding id and the map of the compression are buffers: they are saved with the weights,
    because a table is worthless under another hash.

    Args:
        compression: the map of step 1, shared by all layers.
        multipliers: one odd number per token of the longest n-gram.
        primes: how many rows each order and head has.
        pad: the token that stands in front of a sentence; see `Compression.pad_id`.
    Raises:
        ValueError: multipliers that are even, too large or no int64; sizes that are not different primes; a
            shape that does not fit.
    """

    def __init__(self, compression: Compression, multipliers: Int64[Tensor, " N"], primes: Int64[Tensor, "G H"],
                 pad: int | None = None) -> None:
        super().__init__()
        checks.shapes(multipliers=(multipliers, "N"), primes=(primes, "G H"))
        for name, numbers in (("multipliers", multipliers), ("primes", primes)):
            if numbers.dtype != torch.int64:
                raise ValueError(f"{name}: expected int64, got {checks.dtype_name(numbers.dtype)}")
        N = len(multipliers)
        if N < 2 or len(primes) != N - 1:
            raise ValueError(f"primes: expected one row per order 2 … {N} and one column per head, as there are {N} "
                             f"multipliers, got shape {tuple(primes.shape)}")
        pad_id = compression.pad_id(pad)
        most = LARGEST // max(compression.size - 1, pad_id, 1)
        for m in multipliers.tolist():
            if m % 2 == 0 or not 0 < m <= most:
                raise ValueError(f"multipliers: expected odd numbers from 1 to {most}, so that no product with an id "
                                 f"leaves 64 bits, got {m}")
        sizes = primes.flatten().tolist()
        if len(set(sizes)) < len(sizes) or not all(map(is_prime, sizes)):
            raise ValueError(f"primes: expected different prime numbers, got {sizes}")
        self.compression = compression
        self.register_buffer("multipliers", multipliers)
        self.register_buffer("primes", primes)
        self.register_buffer("pad", torch.tensor(pad_id))

    def forward(self, tokens: Int64[Tensor, "B L"]) -> Int64[Tensor, "B L G H"]:
        """The row of every order and head, counted from 0 in each head. Raises as `Compression` does."""
        ids = self.compression(tokens)
        with meaning("2 n-grams"):
            ngrams = step("ngrams", suffix_ngrams(ids, len(self.multipliers), self.pad), axes="B L N",
                          eq="g = (x'_t, x'_{t-1}, …)", note="The newest token first; pad in front of the sentence.")
        with meaning("3 hash"):
            mix = step("mix", xor_mix(ngrams, self.multipliers), axes="B L G", eq="xor_i x'_{t-i} m_i",
                       note="One 63-bit number per order; all heads share it.")
            return step("hash", mix[..., None] % self.primes, axes="B L G H", eq="z = mix mod p",
                        note="Every head has its own prime, so its own collisions.")


def ngram_hashes(compression: Compression, layers: Sequence[int], sizes: Sequence[int], H: int,
                 pad: int | None = None, seed: int = 0) -> dict[int, NgramHash]:
    """One `NgramHash` per layer: other multipliers in each, and no prime twice among all layers, orders and heads.

    Args:
        layers: the numbers of the layers that get a memory; they seed the multipliers.
        sizes: the least number of rows a head has, for each order 2, 3, …; the next unused primes are taken.
        H: heads per order.

    Raises:
        ValueError: no layer or one named twice, no order, no head, a table of fewer than 2 rows, where every
            n-gram would share the one row, or any of these that is no whole number.
    """
    _check_whole(layers=layers, sizes=sizes, H=[H])
    if not layers or len(set(layers)) < len(layers) or min(layers) < 0:
        raise ValueError(f"layers: expected different numbers from 0 on, got {list(layers)}")
    if not sizes or min(sizes) < 2:
        raise ValueError(f"sizes: expected at least 2 rows for each order 2, 3, …, got {list(sizes)}")
    if H < 1:
        raise ValueError(f"H: expected at least 1 head, got {H}")
    N, used, hashes = len(sizes) + 1, set(), {}
    for layer in layers:
        primes = [next_primes(size, H, used) for size in sizes]
        hashes[layer] = NgramHash(compression, odd_multipliers(layer, N, compression.size, seed),
                                  torch.tensor(primes), pad)
    return hashes


def _check_whole(**arguments: Sequence[int]) -> None:
    for name, numbers in arguments.items():
        if not isinstance(numbers, Sequence) or not all(map(checks.whole, numbers)):
            raise ValueError(f"{name}: expected whole numbers, got {numbers!r}")
