"""A language model small enough to train in a lesson, with room for one memory in front of its second layer.

The place is that of arXiv 2601.07372, whose sweep over the layers favours the second: one round of attention is enough
for a gate that knows the context. Layers as in `blocks`, with a causal mask; a learned position per place; no dropout.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.attention import AttentionLayer, causal, scaled_dot_product
from tsattn_mini.blocks import EncoderLayer
from tsattn_mini.engram.memory import Engram
from tsattn_mini.engram.text import Text
from tsattn_mini.engram.vocabulary import check_tokens
from tsattn_mini.trace import meaning, scope, step
from tsattn_mini.training import one_thread, progress


class LanguageModel(nn.Module):
    """Tokens in, scores of the next token out.

    Args:
        P: pieces of the vocabulary; L: the longest sentence; M: model width; H: heads, a divisor of M; d_ff: inner
            width of the feed-forward part.
        memory: an `Engram` with one branch, or None.
    Raises:
        ValueError: no piece, or no place.
    """

    def __init__(self, P: int, L: int, M: int = 32, H: int = 4, d_ff: int = 64, memory: Engram | None = None) -> None:
        super().__init__()
        checks.counts(P=P, L=L, M=M, H=H, d_ff=d_ff)
        self.token, self.position = nn.Embedding(P, M), nn.Embedding(L, M)
        self.layer1, self.layer2 = (EncoderLayer(AttentionLayer(scaled_dot_product, M, H), M, d_ff) for _ in range(2))
        self.memory = memory
        self.unembed = nn.Linear(M, P, bias=False)

    def forward(self, tokens: Int64[Tensor, "B L"]) -> Float[Tensor, "B L P"]:
        """What stands at place t of the result was computed from the tokens up to t.

        Raises:
            ValueError: an empty sentence or one that is too long, tokens that are not int64 ids of the vocabulary.
        """
        P, longest = len(self.token.weight), len(self.position.weight)
        if not torch.compiler.is_compiling():
            check_tokens(tokens, 0, P - 1)
            if longest < tokens.shape[1]:
                raise ValueError(f"tokens: expected at most {longest} places, got {tokens.shape[1]}")
        L = tokens.shape[1]
        mask = causal(L).to(tokens.device)
        with meaning("embed"):
            x = step("x", self.token(tokens) + self.position.weight[:L], axes="B L M", eq="E[token] + position",
                     note="Each token by itself.")
        with scope("layer1"), meaning("layer 1"):
            x = self.layer1(x, mask=mask)
        if self.memory is not None:
            x = self.memory(tokens, x[:, :, None])[:, :, 0]
        with scope("layer2"), meaning("layer 2"):
            x = self.layer2(x, mask=mask)
        with meaning("predict"):
            return step("scores", self.unembed(x), axes="B L P", eq="W x",
                        note="One score per piece of the vocabulary, for the token to come.")


def shifted(text: Text) -> tuple[Int64[Tensor, "B L"], Int64[Tensor, "B L"], Int64[Tensor, "B L"]]:
    """What the model reads, what follows it (-1 where nothing does), and the kind of what follows."""
    kinds = text.kinds[:, 1:]
    return text.ids[:, :-1], text.ids[:, 1:].where(kinds >= 0, -1), kinds


def train(build: Callable[[], nn.Module], text: Text, seed: int, *, rounds: int = 20, batch: int = 64,
          lr: float = 3e-3, table_lr: float = 5.0, label: str = "") -> nn.Module:
    """Build a model and show it every row of `text` once, in `rounds` rounds; Adam on the mean loss per token.

    The rows of a table learn `table_lr` times as fast, since each is seen only now and then. `seed`
    fixes the first weights and the order of the rows of the text.

    Raises:
        ValueError: rounds or a batch below 1, a seed that is no whole number, or a learning rate that is not above 0.
    """
    checks.counts(rounds=rounds, batch=batch)
    seed = checks.seeded(seed)
    checks.number(lr=lr, table_lr=table_lr)
    if not (lr > 0 and table_lr > 0):
        raise ValueError(f"lr, table_lr: expected numbers above 0, got {lr}, {table_lr}")
    with one_thread():
        torch.manual_seed(seed)
        model = build()
        order = torch.randperm(len(text.ids), generator=torch.Generator().manual_seed(seed)).chunk(rounds)
        tables = [p for name, p in model.named_parameters() if name.endswith("table.rows")]
        others = [p for name, p in model.named_parameters() if not name.endswith("table.rows")]
        optimiser = torch.optim.Adam([{"params": others}, {"params": tables, "lr": lr * table_lr}], lr=lr)
        for part in progress(rounds, f"{label or type(model).__name__}, seed {seed}"):
            for rows in order[part - 1].split(batch):
                tokens, targets, _ = shifted(text[rows])
                loss = F.cross_entropy(model(tokens).mT, targets, ignore_index=-1)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    return model.eval()


def losses(model: nn.Module, text: Text, batch: int = 500) -> Float[Tensor, "B L"]:
    """-log of the probability of every token that follows, in nats; 0 where none does."""
    def of(part: Text) -> Tensor:
        tokens, targets, _ = shifted(part)
        return F.cross_entropy(model(tokens).mT, targets, ignore_index=-1, reduction="none")

    with torch.no_grad(), one_thread():
        return torch.cat([of(text[i:i + batch]) for i in range(0, len(text.ids), batch)])
