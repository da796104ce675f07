"""A table without a network: what followed the last one, two and three tokens, counted. The rival of every memory.

Source: I. Witten, T. Bell, "The Zero-Frequency Problem" (1991), method C: an order that knows U different
continuations, seen C times in all, gives the share U / (C + U) of its word to the next shorter order.
"""

from collections import Counter, defaultdict

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tsattn_mini import checks


class Counts:
    """Continuations of the last 0 to `N` ids, counted over the rows of a text.

    Args:
        contexts: ids to look back at, which may be compressed; targets: the token that follows each of them, -1 where
            none does.
        P: how many tokens there are; the shortest order spreads its last share evenly over them.

    Raises:
        ValueError: shapes that do not fit, a target outside -1 … P - 1, an N below 0.
    """

    def __init__(self, contexts: Int64[Tensor, "B L"], targets: Int64[Tensor, "B L"], P: int, N: int = 3) -> None:
        checks.counts(0, N=N)
        checks.counts(P=P)
        self.P, self.N = P, N
        self._check(contexts, targets)
        self.seen: list[dict[tuple[int, ...], Counter]] = [defaultdict(Counter) for _ in range(N + 1)]
        for past, follows in zip(contexts.tolist(), targets.tolist(), strict=True):
            for at, target in enumerate(follows):
                for n in range(min(N, at + 1) + 1) if target >= 0 else ():
                    self.seen[n][tuple(past[at + 1 - n:at + 1])][target] += 1
        self.totals = [{key: after.total() for key, after in order.items()} for order in self.seen]

    def share(self, context: tuple[int, ...], target: int) -> float:
        """The probability that `target` follows `context`, at most `N` ids."""
        p = 1 / self.P
        for n in range(len(context) + 1):
            key = context[len(context) - n:]
            if key not in self.totals[n]:
                break
            after, total = self.seen[n][key], self.totals[n][key]
            p = (after[target] + len(after) * p) / (total + len(after))
        return p

    def losses(self, contexts: Int64[Tensor, "B L"], targets: Int64[Tensor, "B L"]) -> Float[Tensor, "B L"]:
        """-log of the share of every target; 0 where there is none. Raises as the class does."""
        self._check(contexts, targets)
        shares = [[1.0 if target < 0 else self.share(tuple(past[max(0, at + 1 - self.N):at + 1]), target)
                   for at, target in enumerate(follows)]
                  for past, follows in zip(contexts.tolist(), targets.tolist(), strict=True)]
        return -torch.tensor(shares).log()

    def _check(self, contexts: Tensor, targets: Tensor) -> None:
        checks.shapes(contexts=(contexts, "B L"), targets=(targets, "B L"))
        checks.required(contexts=contexts, targets=targets)
        for name, ids in (("contexts", contexts), ("targets", targets)):
            if ids.dtype != torch.int64:
                raise ValueError(f"{name}: expected int64 ids, got {checks.dtype_name(ids.dtype)}")
        if not -1 <= int(targets.min()) <= int(targets.max()) < self.P:
            raise ValueError(f"targets: expected ids from 0 to {self.P - 1}, or -1, got {int(targets.min())} to "
                             f"{int(targets.max())}")
