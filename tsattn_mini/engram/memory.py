"""Steps 4 to 8: look the rows up, project them, gate them, mix them along the sentence, write them back.

    e = [E_{n,h}[z_{n,h}]]_{n,h}                      4  one row per order and head, side by side
    k_c = W_c e + b_c,  v = W e + b                   5  a key per branch, one value for all
    ṽ_c = α_c v                                       6  the gate (`gate`)
    Y = SiLU(DWConv(RMSNorm(Ṽ))) + Ṽ                  7  a depthwise causal convolution, beside a direct path
    H ← H + Y                                         8

Source: arXiv 2601.07372, sections 2.3 to 2.5, equations 2 to 6. The paper's d is `M` here, its number of branches
`C`. Left out: what the model does between two such layers (attention, experts, hyper-connections).
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.engram.gate import ContextGate, rms_norm
from tsattn_mini.engram.hashing import NgramHash
from tsattn_mini.trace import meaning, step

EPS = 1e-5  # of the norm in front of the convolution
CONV_GATES = (None, "input", "output")


class MultiHeadTable(nn.Module):
    """The tables of all orders and heads as one, each head beginning where the one before it ends.

    Args:
        primes: how many rows each order and head has.
        E: width of a row.
    Raises:
        ValueError: rows less than 1 wide.

    >>> table = MultiHeadTable(torch.tensor([[5, 7], [11, 13]]), E=4)
    >>> table.rows.shape  # all heads in one table: 5 + 7 + 11 + 13 rows
    torch.Size([36, 4])
    """

    def __init__(self, primes: Int64[Tensor, "G H"], E: int) -> None:
        super().__init__()
        checks.counts(E=E)
        ends = primes.flatten().cumsum(0)
        self.register_buffer("offsets", (ends - primes.flatten()).reshape(primes.shape))
        self.rows = nn.Parameter(torch.randn(int(ends[-1]), E))

    @meaning("4 look up")
    def forward(self, hashes: Int64[Tensor, "B L G H"]) -> Float[Tensor, "B L R"]:
        """The rows that the hashes point to, side by side: order by order, head by head.

        Raises:
            ValueError: another number of orders or heads, or a row that the head does not have.
        """
        checks.shapes(hashes=(hashes, "B L {} {}".format(*self.offsets.shape)))
        checks.required(hashes=hashes)
        if hashes.dtype != torch.int64:
            raise ValueError(f"hashes: expected int64, got {checks.dtype_name(hashes.dtype)}")
        self._check_rows(hashes)
        rows = step("rows", hashes + self.offsets, axes="B L G H", eq="z + offset",
                    note="Where each head's row lies in the one table.")
        return step("e", F.embedding(rows, self.rows).flatten(2), axes="B L R", eq="e = [E[z]] over orders and heads",
                    note="What the last tokens usually go with; the sentence plays no part yet.")


    def _check_rows(self, hashes: Tensor) -> None:
        if torch.compiler.is_compiling():
            return
        starts = self.offsets.flatten()
        sizes = torch.cat([starts[1:], starts.new_tensor([len(self.rows)])]).sub(starts).reshape(self.offsets.shape)
        outside = (hashes < 0) | (hashes >= sizes)
        if bool(outside.any()):
            at = tuple(outside.nonzero()[0].tolist())
            raise ValueError(f"hashes: expected rows from 0 to {int(sizes[at[2:]]) - 1}, got {int(hashes[at])} at "
                             f"index {at}")


class ShortConvolution(nn.Module):
    """SiLU(DWConv(RMSNorm(ṽ))): each channel by itself, over t, t - D, …, t - (K - 1) D.

    The norm divides by the size of its input, and so by α: RMSNorm(α v) = RMSNorm(v) up to ε. What the gate has
    turned down comes through here at full strength. `conv_gate` is the remedy.

    Args:
        K: taps; D: distance between them (dilation). With D the longest n-gram the taps' n-grams lie side by side.
        conv_gate: None as in the paper and the released code; "input" convolves α RMSNorm(v) instead, so that every
            tap is gated by its own α; "output" multiplies the result by the α of the position it is written to.
    Raises:
        ValueError: no tap, a dilation below 1, or a `conv_gate` that is not known.
    """

    def __init__(self, C: int, M: int, K: int, D: int, conv_gate: str | None = None) -> None:
        super().__init__()
        checks.counts(C=C, M=M, K=K, D=D)
        if conv_gate not in CONV_GATES:
            raise ValueError(f"conv_gate: expected one of {CONV_GATES}, got {conv_gate!r}")
        self.weight = nn.Parameter(torch.zeros(C * M, 1, K))  # starts as if it were not there
        self.gain = nn.Parameter(torch.ones(C, M))
        self.D, self.conv_gate = D, conv_gate

    @meaning("7 convolve")
    def forward(self, v_gated: Float[Tensor, "B L C M"], v: Float[Tensor, "B L M"],
                alpha: Float[Tensor, "B L C"]) -> Float[Tensor, "B L C M"]:
        """What the convolution adds to the gated value.

        Raises:
            ValueError: shapes that do not fit.
        """
        C, M, K = *self.gain.shape, self.weight.shape[-1]
        checks.shapes(v_gated=(v_gated, f"B L {C} {M}"), v=(v, f"B L {M}"), alpha=(alpha, f"B L {C}"))
        if self.conv_gate == "input":
            normed = rms_norm(v, eps=EPS)[:, :, None] * self.gain
            x = step("v_norm", alpha[..., None] * normed, axes="B L C M", eq="α RMSNorm(v)",
                     note="Its size is α, its direction that of v.")
        else:
            x = step("v_norm", rms_norm(v_gated, self.gain, EPS), axes="B L C M", eq="RMSNorm(ṽ)",
                     note="The size of ṽ is divided out, and α with it.")
        past = F.pad(x.flatten(2).mT, ((K - 1) * self.D, 0))
        raw = F.conv1d(past, self.weight, dilation=self.D, groups=C * M).mT.unflatten(-1, (C, M))
        raw = step("conv_raw", raw, axes="B L C M", eq="DWConv(v_norm)", note="Each channel looks back by itself.")
        conv = F.silu(raw) * alpha[..., None] if self.conv_gate == "output" else F.silu(raw)
        return step("conv", conv, axes="B L C M", eq="α SiLU(conv_raw)" if self.conv_gate == "output" else
                    "SiLU(conv_raw)", note="What the convolution adds beside the direct path.")


class Engram(nn.Module):
    """The whole layer: tokens and hidden state in, hidden state out.

    Args:
        hashing: steps 1 to 3 of this layer, with the map of tokens, multipliers, primes and padding id.
        M: width of the hidden state; C: its branches; E: width of a table row.
        K: taps of the convolution, which are as far apart as the longest n-gram is long.
        root: the paper's gate (None) or a signed root in front of its sigmoid; see `gate.signed_root`.
        conv_gate: None, or how the gate reaches the convolution as well; see `ShortConvolution`.
        gate: another gate in place of `ContextGate(C, M, root)`, such as `gate.OpenGate()`; `root` is not used then.
    Raises:
        ValueError: a width or a number of branches below 1.
    """

    def __init__(self, hashing: NgramHash, M: int, C: int = 1, E: int = 8, K: int = 4, root: str | None = None,
                 conv_gate: str | None = None, gate: nn.Module | None = None) -> None:
        super().__init__()
        checks.counts(M=M, C=C)
        self.hashing, self.M, self.C = hashing, M, C
        self.table = MultiHeadTable(hashing.primes, E)
        R = hashing.primes.numel() * E
        self.key = nn.ModuleList(nn.Linear(R, M) for _ in range(C))
        self.value = nn.Linear(R, M)
        self.gate = ContextGate(C, M, root) if gate is None else gate
        self.convolution = ShortConvolution(C, M, K, len(hashing.multipliers), conv_gate)

    def forward(self, tokens: Int64[Tensor, "B L"], h: Float[Tensor, "B L C M"]) -> Float[Tensor, "B L C M"]:
        """H + Y.

        Raises:
            ValueError: an empty sentence, ids outside the vocabulary, a hidden state of another shape or dtype or
                with entries that are not finite.
        """
        checks.required(tokens=tokens, h=h)
        checks.shapes(tokens=(tokens, "B L"), h=(h, f"B L {self.C} {self.M}"))
        checks.finite(h=h)
        if h.dtype != self.value.weight.dtype:
            raise ValueError(f"h: expected {self.value.weight.dtype} like the weights, got {h.dtype}")
        e = self.table(self.hashing(tokens))
        k, v = self.project(e)
        h = step("h", h, axes="B L C M", note="The hidden state of every branch.")
        alpha = self.gate(h, k)
        with meaning("6 gate"):
            v_gated = step("v_gated", alpha[..., None] * v[:, :, None], axes="B L C M", eq="ṽ = α v",
                           note="The value is shared; each branch lets its own share through.")
        conv = self.convolution(v_gated, v, alpha)
        with meaning("7 convolve"):
            y = step("y", conv + v_gated, axes="B L C M", eq="Y = conv + ṽ", note="Two paths; α governs this one.")
        with meaning("8 write back"):
            h_out = step("h_out", h + y, axes="B L C M", eq="H + Y", note="The memory is added to the stream.")
        checks.overflow("h, or the weights", h_out)
        return h_out

    @meaning("5 project")
    def project(self, e: Float[Tensor, "B L R"]) -> tuple[Float[Tensor, "B L C M"], Float[Tensor, "B L M"]]:
        """A key per branch and one value."""
        k = step("k", torch.stack([key(e) for key in self.key], dim=2), axes="B L C M", eq="k_c = W_c e + b_c",
                 note="What the gate asks about, one per branch.")
        return k, step("v", self.value(e), axes="B L M", eq="v = W e + b", note="What would be added, once for all.")
