"""The velocity network: which way, and how fast, a half-finished forecast moves at one moment of the flow.

The state Y_s becomes one token. At every depth it asks the exogenous pasts, then the exogenous futures, through
knowledge-guided attention; the moment s enters by shifting and scaling what each layer reads (adaLN).

Source: KITE and the released code; adaLN from W. Peebles and S. Xie, "Scalable Diffusion Models with Transformers"
(ICCV 2023). Left out: the released `res_blocks` and `prior_bias`, which are stored and counted but never used.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.kite.conditioning import KnowledgeGuidedAttention
from tsattn_mini.kite.gate import DELTA, check_prior
from tsattn_mini.trace import meaning, scope, step

SINUSOIDS = 256
OMEGA = [10000 ** (-2 * i / SINUSOIDS) for i in range(SINUSOIDS // 2)]
CONDITIONING = ("kgc", "plain", "concat", "none")
# As δ: beside it every prior is rounded away, so log(S̃ + δ) is the same for all and cancels; float16 has no such
# number. A gate weight of 0 rounds the logits otherwise, which 40 epochs turn into other networks than those stored in
# `results/kite.csv`.
NO_GATE = 1e9


class TimeEmbedding(nn.Module):
    """W₂ silu(W₁ [cos(t ω) ; sin(t ω)]): 128 cosines, then 128 sines, ω falling from 1 towards 1/10000."""

    def __init__(self, M: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(SINUSOIDS, M), nn.SiLU(), nn.Linear(M, M))

    def forward(self, t: Float[Tensor, " B"]) -> Float[Tensor, "B M"]:
        """The moments `t`, 0 to 1, as vectors."""
        checks.real(self.mlp[0].weight.dtype, t=(t, "B"))
        angles = t[:, None] * torch.tensor(OMEGA, dtype=t.dtype, device=t.device)
        waves = step("waves", torch.cat([angles.cos(), angles.sin()], dim=-1), axes=f"B {SINUSOIDS}",
                     eq="[cos(t ω) ; sin(t ω)]", note="The moment, as fast and slow clock hands.")
        return step("time", self.mlp(waves), axes="B M", eq="W₂ silu(W₁ waves + b₁) + b₂",
                    note="What every layer is told about the moment.")


def modulate(x: Float[Tensor, "B M"], shift: Float[Tensor, "B M"], scale: Float[Tensor, "B M"]) -> Float[Tensor, "B M"]:
    """LN(x) (1 + scale) + shift, with a norm that has no weights of its own."""
    return nn.functional.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale) + shift


class Modulation(nn.Module):
    """`parts` vectors of width M from the time embedding: W silu(time) + b. All are 0 before training."""

    def __init__(self, M: int, parts: int) -> None:
        super().__init__()
        self.parts, self.linear = parts, nn.Linear(M, parts * M)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, time: Float[Tensor, "B M"]) -> tuple[Float[Tensor, "B M"], ...]:
        """Shifts, scales and gates for this moment, each (B, M)."""
        adaln = step("adaln", self.linear(nn.functional.silu(time)), axes=f"B {self.parts}M", eq="W silu(time) + b",
                     note="Shifts, scales and gates; all 0 before training, so a new block changes nothing.")
        return adaln.chunk(self.parts, dim=-1)


class Block(nn.Module):
    """x ← x + g₁ · KGA(modulated x, exogenous tokens), then x ← x + g₂ · MLP(modulated x).

    Without attention (`D` = 0) it is the second half alone.
    """

    def __init__(self, M: int, H: int, D: int, mlp_ratio: float, delta: float) -> None:
        super().__init__()
        wide = round(M * mlp_ratio)
        self.attention = KnowledgeGuidedAttention(M, H, D, delta) if D else None
        self.modulation = Modulation(M, 6)
        self.mlp = nn.Sequential(nn.Linear(M, wide), nn.GELU(approximate="tanh"), nn.Linear(wide, M))

    def forward(self, x: Float[Tensor, "B M"], time: Float[Tensor, "B M"], exo: Float[Tensor, "B D M"],
                w: Float[Tensor, "B 1 D"]) -> Float[Tensor, "B M"]:
        """The state `x` after one layer; `exo` holds the covariates, `w` the prior.

        Raises:
            ValueError: what the attention refuses, and a state that leaves the number range.
        """
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = self.modulation(time)
        if self.attention is not None:
            asks = step("asks", modulate(x, shift_a, scale_a)[:, None], axes="B 1 M", eq="LN(x) (1 + scale₁) + shift₁",
                        note="The state, as this layer reads it at this moment.")
            with scope("kgc"):
                told = self.attention(asks, exo, w)
            told = step("told", told, axes="B 1 M", eq="KGA(asks, exo, S̃)", note="What the exogenous series answered.")
            x = step("x_told", x + gate_a * told[:, 0], axes="B M", eq="x + g₁ · told")
            checks.squares("y, x_exo, y_exo", x)
        mlp = step("mlp", self.mlp(modulate(x, shift_m, scale_m)), axes="B M",
                   eq="W₂ gelu(W₁ (LN(x) (1 + scale₂) + shift₂))", note="The state thinks it over.")
        return step("x", x + gate_m * mlp, axes="B M", eq="x + g₂ · mlp", note="The state after this block.")


class Head(nn.Module):
    """From the state to a velocity: W (LN(x) (1 + scale) + shift) + b.

    With `door`, the released code's second way in: state and embedded exogenous futures lie side by side as 1 + D
    tokens, and Linear–ReLU–Linear over that axis mixes them into one. No prior guards it.
    """

    def __init__(self, M: int, F: int, D: int, door: int) -> None:
        super().__init__()
        self.door = nn.Sequential(nn.Linear(1 + D, door), nn.ReLU(), nn.Linear(door, 1)) if door else None
        self.modulation = Modulation(M, 2)
        self.out = nn.Linear(M, F)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Float[Tensor, "B M"], time: Float[Tensor, "B M"],
                future: Float[Tensor, "B D M"] | None) -> Float[Tensor, "B F"]:
        """The velocity at every step of the horizon; `future` is what the second door lets in."""
        if self.door is not None:
            tokens = torch.cat([x[:, None], future], dim=1)
            x = step("mixed", self.door(tokens.mT)[..., 0], axes="B M", eq="W₂ relu(W₁ [x ; futures] + b₁) + b₂",
                     note="The second door: exogenous futures, past the prior.")
        shift, scale = self.modulation(time)
        read = step("read", modulate(x, shift, scale), axes="B M", eq="LN(x) (1 + scale) + shift")
        return step("v", self.out(read), axes="B F", eq="W read + b", note="The velocity of the state.")


class VectorField(nn.Module):
    """v(Y_s, s, condition): history block, then future block, once per depth, then the head.

    Args:
        T: past steps; F: future steps; D: exogenous variables; M: model width; H: heads; depth: how often.
        future: build the blocks that read exogenous futures. With or without is two models, not an option at run time.
        conditioning: "kgc" asks the exogenous tokens with the prior; "plain" with no prior, which is cross-attention;
            "concat" is plain too, with the prior as one more number of every exogenous series; "none" has no
            exogenous input at all.
        gate: False leaves out log(S̃ + δ) and keeps S̃ ⊙ A_g.
        second_door: let the exogenous futures into the head as well, as the released code does, where no prior
            guards them. By default they come in through the attention alone.
        door_width: hidden width of that door, 2 (1 + D) when left out.
    Raises:
        ValueError: an unknown conditioning, a second door without exogenous futures, a size or width below 1.
    """

    def __init__(self, T: int, F: int, D: int, *, M: int = 64, H: int = 4, depth: int = 2, future: bool = True,
                 mlp_ratio: float = 4.0, conditioning: str = "kgc", gate: bool = True, second_door: bool = False,
                 door_width: int | None = None) -> None:
        super().__init__()
        if conditioning not in CONDITIONING:
            raise ValueError(f"conditioning: expected one of {CONDITIONING}, got {conditioning!r}")
        checks.counts(T=T, F=F, D=D, M=M, H=H, depth=depth)
        checks.number(mlp_ratio=mlp_ratio)
        if round(M * mlp_ratio) < 1:
            raise ValueError(f"mlp_ratio: expected at least one hidden unit for M={M}, got {mlp_ratio}")
        if door_width is not None:
            checks.counts(door_width=door_width)
        if second_door and (not future or conditioning == "none"):
            raise ValueError("second_door: expected future=True and a conditioning, as the door lets in the exogenous "
                             f"futures; got future={future}, conditioning={conditioning!r}")
        self.T, self.F, self.D, self.conditioning = T, F, D, conditioning
        self.future, self.second_door = future, second_door
        asked, delta = D if conditioning != "none" else 0, DELTA if gate else NO_GATE
        self.time, self.state = TimeEmbedding(M), nn.Linear(F, M)
        more = 1 if conditioning == "concat" else 0
        self.x_exo, self.y_exo = nn.Linear(T + more, M), nn.Linear(F + more, M) if future else None
        self.history = nn.ModuleList(Block(M, H, asked, mlp_ratio, delta) for _ in range(depth))
        self.ahead = nn.ModuleList(Block(M, H, asked, mlp_ratio, delta) for _ in range(depth if future else 0))
        self.head = Head(M, F, D, (door_width or 2 * (1 + D)) if second_door else 0)

    @meaning("velocity")
    def forward(self, y: Float[Tensor, "B F"], t: Float[Tensor, " B"], x_exo: Float[Tensor, "B D T"],
                w: Float[Tensor, "B 1 D"], y_exo: Float[Tensor, "B D F"] | None = None) -> Float[Tensor, "B F"]:
        """The velocity of every row.

        Args:
            y: states Y_s; t: network time, 1000 s; x_exo, y_exo: standardised exogenous pasts and futures.
            w: the prior S̃, already normalised. Zeros make every row plain attention: the gate cancels.
        Raises:
            ValueError: shapes that do not fit, another dtype than that of the weights, `y_exo` missing where it is
                needed or given where it is not, a prior outside 0 … 1, entries that are not finite or whose squares
                leave the number range.
        """
        checks.required(y=y, t=t, x_exo=x_exo, w=w)
        checks.shapes(y=(y, f"B {self.F}"), t=(t, "B"), x_exo=(x_exo, f"B {self.D} {self.T}"), w=(w, f"B 1 {self.D}"),
                      y_exo=(y_exo, f"B {self.D} {self.F}"))
        self.check_future(y_exo)
        checks.floating(self.state.weight.dtype, y=y, t=t, x_exo=x_exo, w=w, y_exo=y_exo)
        checks.finite(y=y, t=t, x_exo=x_exo, y_exo=y_exo)
        check_prior(w, w)
        if self.conditioning == "concat":
            x_exo, y_exo = (None if x is None else torch.cat([x, w.mT], dim=-1) for x in (x_exo, y_exo))
        w = step("S", w if self.conditioning == "kgc" else torch.zeros_like(w), axes="B 1 D", eq="S̃",
                 note="The prior as the attention sees it.")
        with scope("moment"):
            time = self.time(t)
        x = step("x", self.state(y), axes="B M", eq="Y_s W + b", note="The state as one token.")
        checks.squares("y", x)
        past = step("x_exo", self.x_exo(x_exo), axes="B D M", eq="X_exo W + b", note="One token per exogenous past.")
        ahead = None
        if self.future:
            ahead = step("y_exo", self.y_exo(y_exo), axes="B D M", eq="Y_exo W + b",
                         note="One token per exogenous future.")
        for i, block in enumerate(self.history):
            with scope(f"past{i}"):
                x = block(x, time, past, w)
            if self.future:
                with scope(f"ahead{i}"):
                    x = self.ahead[i](x, time, ahead, w)
        with scope("head"):
            v = self.head(x, time, ahead)
        checks.overflow("y, x_exo, y_exo", v)
        return v

    def check_future(self, y_exo: Tensor | None) -> None:
        """Check that exogenous futures come exactly when the model was built to read them.

        Raises:
            ValueError: they are missing, or nobody reads them.
        """
        if (y_exo is None) is self.future:
            says = "needs exogenous futures, got None" if self.future else "reads no exogenous futures, got some"
            raise ValueError(f"y_exo: a model built with future={self.future} {says}")
