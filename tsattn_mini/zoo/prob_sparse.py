"""ProbSparse attention: every query samples a few keys, few queries ask in earnest, the others take a mean.

Source: H. Zhou et al., "Informer: Beyond Efficient Transformer for Long Sequence Time-Series Forecasting" (AAAI 2021,
arXiv 2012.07436), section 3.1 and algorithm 1. The paper's d is `E` here, its sampling factor c is `factor`. Left out:
dropout. In half precision scores, softmax and means are computed in float32.
"""

from math import ceil, log

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, einsum, nn

from tsattn_mini import checks
from tsattn_mini.attention import by_head
from tsattn_mini.trace import step


def sample_size(factor: int, n: int) -> int:
    """c ⌈ln n⌉, at least 1, at most n: how many of n keys a query samples, and how many of n queries are chosen.

    At n = 1 the formula alone gives 0, and the largest of no scores is undefined.

    Raises:
        ValueError: a factor or a number of keys below 1.

    >>> sample_size(5, 96), sample_size(5, 10)  # 5 ⌈ln 96⌉, and all of them
    (25, 10)
    """
    checks.counts(factor=factor, n=n)
    return max(1, min(factor * ceil(log(n)), n))


def sample_keys(L: int, S: int, U: int, generator: torch.Generator | None = None) -> Int[Tensor, "L U"]:
    """For each of L queries U of the S keys, drawn with replacement; one draw serves all windows and heads.

    Raises:
        ValueError: a number below 1.

    >>> sample_keys(L=4, S=9, U=3).shape
    torch.Size([4, 3])
    """
    checks.counts(L=L, S=S, U=U)
    return torch.randint(S, (L, U), generator=generator)


def sparsity(q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"], index_sample: Int[Tensor, "L U"],
             mask: Bool[Tensor, "L S"] | None = None, *, released_mean: bool = False,
             released_peek: bool = False) -> Float[Tensor, "B H L"]:
    """M_i = max_j q_i·k_j - mean_j q_i·k_j over the sampled keys: 0 for a query that finds all of them alike.

    Sampled keys that `mask` hides do not count; a query that sampled none it may see gets M = -∞. The switches are
    those of `prob_sparse`.

    >>> q = torch.tensor([0.0, 1.0])[None, :, None, None]
    >>> k = torch.tensor([1.0, 2.0, 6.0])[None, :, None, None]
    >>> every = torch.arange(3).expand(2, 3)
    >>> sparsity(q, k, every).flatten().tolist()  # the lazy query 0; the other 6 - 3
    [0.0, 3.0]
    """
    keys = k.transpose(1, 2).index_select(2, index_sample.flatten()).unflatten(2, index_sample.shape)
    QK_sample = step("QK_sample", einsum("bhle,bhlue->bhlu", q.transpose(1, 2), keys), axes="B H L U",
                     eq="q_l · k_j,  j sampled for l", note="Each query meets a few keys, drawn at random.")
    _finite(QK_sample, q=q, k=k)
    hidden = torch.zeros_like(index_sample, dtype=torch.bool)
    if mask is not None and not released_peek:
        hidden = mask.gather(1, index_sample)
    count = k.shape[1] if released_mean else (~hidden).sum(-1).clamp(min=1)
    M = QK_sample.masked_fill(hidden, -torch.inf).amax(-1) - QK_sample.masked_fill(hidden, 0).sum(-1) / count
    return step("M", M, axes="B H L", eq="M = max_j q·k_j - mean_j q·k_j",
                note="How far the best sampled key stands out: 0 where all keys are alike to the query.")


def lazy_values(v: Float[Tensor, "B S H W"], L: int, mask: Bool[Tensor, "L S"] | None = None, *,
                released_sum: bool = False) -> Float[Tensor, "B H L W"]:
    """What a query takes home that was not chosen: the mean of the values it may see, as equal weights would give.

    Under a causal mask that is a running mean; `released_sum` leaves the division out.

    >>> v = torch.tensor([1.0, 3.0, 8.0])[None, :, None, None]
    >>> lazy_values(v, 2).flatten().tolist()  # everybody's mean
    [4.0, 4.0]
    """
    values = v.transpose(1, 2)
    if mask is None:
        lazy, eq = values.mean(2, keepdim=True).expand(-1, -1, L, -1), "mean(V)"
    else:
        seen = (~mask).sum(-1)
        lazy, eq = values.cumsum(2)[:, :, seen - 1], "v_0 + … + v_l"
        if not released_sum:
            lazy, eq = lazy / seen[:, None], "(v_0 + … + v_l) / (l + 1)"
    return step("lazy", lazy, axes="B H L W", eq=eq, note="No score is computed for it: this costs next to nothing.")


def view_without_transpose(context: Float[Tensor, "B H L W"]) -> Float[Tensor, "B L H W"]:
    """The released mistake: heads come first in memory, and are read as if time did.

    Row l of the result holds rows l H … l H + H - 1 of the heads laid end to end: other times, other heads.

    >>> heads_first = torch.tensor([[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]])[None, :, :, None]
    >>> view_without_transpose(heads_first)[0, :, :, 0].tolist()  # should be [0, 10], [1, 11], [2, 12]
    [[0.0, 1.0], [2.0, 10.0], [11.0, 12.0]]
    """
    B, H, L, W = context.shape
    return context.reshape(B, L, H, W)


def prob_sparse(q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"], v: Float[Tensor, "B S H W"],
                index_sample: Int[Tensor, "L U"], *, u: int, mask: Bool[Tensor, "L S"] | None = None,
                released_view: bool = False, released_squeeze: bool = False, released_mean: bool = False,
                released_peek: bool = False, released_sum: bool = False) -> Float[Tensor, "B L H W"]:
    """Attention for the `u` queries of largest `sparsity`, the mean of the values for all others (algorithm 1).

    With u = L it is full attention, to the last bit. Under a mask no *value* of a hidden key gets through; but which
    rows are chosen is a contest among all of them, so below u = L a later row can push an earlier one out.

    Args:
        index_sample: for every query the keys it samples, see `sample_keys`.
        u: queries to choose in every head, 1 to L.
        mask: True where a query must not see a key; every query has to see the first keys up to some position, as
            `causal` makes it.
        released_view: heads are mixed up with time, see `view_without_transpose`; with one head nothing happens.
        released_squeeze: with one head, rows chosen in any window of the batch are chosen in all.
        released_mean: M subtracts the sum over the sampled keys divided by S, not by their number.
        released_peek: M also looks at sampled keys that the mask hides.
        released_sum: masked rows that are not chosen get the sum of the values so far instead of their mean.
    Raises:
        ValueError: shapes that do not fit, numbers that are not finite or become so, indices beyond the keys, a `u`
            outside 1 to L, or a mask of another form.
    """
    checks.shapes(q=(q, "B L H E"), k=(k, "B S H E"), v=(v, "B S H W"), index_sample=(index_sample, "L U"),
                  mask=(mask, "L S"))
    checks.required(q=q, k=k, v=v, index_sample=index_sample)
    checks.floating(q=q, k=k, v=v)
    _check_choice(index_sample, u, mask, L=q.shape[1], S=k.shape[1])
    dtype = torch.promote_types(q.dtype, torch.float32)
    q, k, wide = q.to(dtype), k.to(dtype), v.to(dtype)
    M = sparsity(q, k, index_sample, mask, released_mean=released_mean, released_peek=released_peek)
    M_top = M.sort(dim=-1, descending=True).indices[..., :u]
    if released_squeeze and q.shape[2] == 1:
        M_top = M_top.reshape(1, 1, -1).expand(len(q), -1, -1)
    M_top = step("M_top", M_top.sort(dim=-1).values, axes="B H u", eq="the u largest M",
                 note="The queries worth asking; of equals the earlier.")

    window, head = (torch.arange(n, device=q.device) for n in (len(q), q.shape[2]))
    q_top = q.transpose(1, 2)[window[:, None, None], head[:, None], M_top]
    QK_top = step("QK_top", einsum("bhue,bshe->bhus", q_top, by_head(k)), axes="B H u S", eq="q_i · k_j,  i chosen",
                  note="The chosen queries meet every key.")
    _finite(QK_top, q=q, k=k)
    logits = QK_top / q.shape[-1] ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask[M_top], -torch.inf)
    A_top = step("A_top", torch.softmax(logits, dim=-1), axes="B H u S", eq="softmax(QK_top / √E)",
                 note="Full attention, for these rows alone.")
    rows = einsum("bhus,bshw->bhuw", A_top, wide)

    lazy = lazy_values(wide, q.shape[1], mask, released_sum=released_sum)
    context = step("context", lazy.scatter(2, M_top[..., None].expand_as(rows), rows), axes="B H L W",
                   eq="A_top V in the chosen rows, lazy in the others", note="Both kinds of rows, back in order.")
    out = (view_without_transpose(context) if released_view else context.transpose(1, 2)).to(v.dtype)
    _finite(out, v=v)
    return step("out", out, axes="B L H W", eq="read with heads as time" if released_view else "heads behind time",
                note="What each position takes home.")


def _check_choice(index_sample: Tensor, u: int, mask: Tensor | None, L: int, S: int) -> None:
    checks.counts(0, u=u)
    if not 1 <= u <= L:
        raise ValueError(f"u: expected 1 to L={L} chosen queries, got {u}")
    if torch.compiler.is_compiling():
        return
    if index_sample.dtype != torch.int64 or index_sample.min() < 0 or index_sample.max() >= S:
        raise ValueError(f"index_sample: expected int64 from 0 to S-1={S - 1}, got "
                         f"{checks.dtype_name(index_sample.dtype)} from {index_sample.min()} to {index_sample.max()}")
    if mask is not None and (bool(mask[:, 0].any()) or bool((mask[:, :-1] & ~mask[:, 1:]).any())):
        raise ValueError("mask: expected every query to see the first key and all others up to some position, "
                         "as causal(L) makes it")


def _finite(computed: Tensor, **arguments: Tensor) -> None:
    """Find NaN and infinities of the arguments in what was computed from all of them, and overflow as well."""
    if not torch.compiler.is_compiling() and not all(map(torch.isfinite, torch.aminmax(computed))):
        checks.finite(**arguments)
        checks.overflow(", ".join(arguments), computed)


class ProbSparse(nn.Module):
    """`prob_sparse` whose keys were drawn once: the buffer `index_sample` is saved with the weights.

    Args:
        L, S: numbers of queries and of keys; factor: c in c ⌈ln n⌉, see `sample_size`.
        generator: where the draw comes from; released: the switches of `prob_sparse`.
    """

    def __init__(self, L: int, S: int, factor: int = 5, *, generator: torch.Generator | None = None,
                 **released: bool) -> None:
        super().__init__()
        self.u, self.S, self.released = sample_size(factor, L), S, released
        self.register_buffer("index_sample", sample_keys(L, S, sample_size(factor, S), generator))

    def draw(self, generator: torch.Generator) -> Int[Tensor, "L U"]:
        """Other keys, as many as there are."""
        return sample_keys(len(self.index_sample), self.S, self.index_sample.shape[1], generator)

    def forward(self, q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"], v: Float[Tensor, "B S H W"],
                mask: Bool[Tensor, "L S"] | None = None) -> Float[Tensor, "B L H W"]:
        """As `prob_sparse`, with the keys that were drawn when it was made."""
        return prob_sparse(q, k, v, self.index_sample, u=self.u, mask=mask, **self.released)
