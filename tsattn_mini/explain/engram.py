"""Engram: which rows a text looks up, and how far the gate opens for them as the stream agrees with the memory.

A checkpoint of one memory layer holds no backbone. So the hidden state is made here: it points at a chosen angle to the
key of what was looked up, which is all that a gate without gains can see of it.
"""



from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from tsattn_mini.engram.memory import Engram
from tsattn_mini.engram.tokenizer import Tokenizer
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.explain.parts import WHOLE, Block, again, drawn, over_tokens, run, settings, transforms, weights_of
from tsattn_mini.explain.rows import distinct
from tsattn_mini.explore import Explorer, Slider, Tokens
from tsattn_mini.explore.ids import unused
from tsattn_mini.trace import Trace, record, scope, step

LEAD = ("Engram. Every token looks up rows of a table by hashes of the last few tokens, and a gate α decides how much "
        "of that memory is added to the stream: it compares the hidden state with the memory's key.")
STREAM = ("The checkpoint holds the memory and not the network around it, so there is no true hidden state here. The "
          "handle “agreement” is the cosine between the hidden state and the memory's key, the same for every token; "
          "what else the state holds is drawn at random, once.")
HALF = torch.tensor(0.5)
AGREEMENT = {"agreement": Slider(float(HALF), -1, 1)}
PRESETS = {"against the memory": {"agreement": -1}, "unrelated": {"agreement": 0},
           "as the memory says": {"agreement": 1}}
STEPS = {"α": "alpha", "convolved": "conv", "added": "y"}
ROOM = 4  # tokens behind the text that a reader may add


class Vocabulary(Tokenizer):
    """The tokens of a checkpoint's tokenizer, split by the longest piece that fits.

    Of tokens that look alike the first is found; the others, and one for the padding, come from no text.
    """

    def __init__(self, compression: Compression, pad: int) -> None:
        seen: dict[str, int] = {}
        for id, text in enumerate(compression.texts):
            if text:
                seen.setdefault(text, id)
        hidden = [id for id, text in enumerate(compression.texts) if seen.get(text) != id]
        padding = [id for id, to in enumerate(compression.table.tolist()) if to == pad]
        self.pad_id = next(iter([*padding, *hidden, len(compression.texts) - 1]))
        unheard = {*hidden, self.pad_id}
        super().__init__([f"\ufffd{id}" if id in unheard else text for id, text in enumerate(compression.texts)])


@dataclass(frozen=True)
class Spelled:
    """A text, and what it is in the tokens of a checkpoint."""

    text: str
    vocabulary: Vocabulary
    ids: list[int]

    def first_window(self) -> Int64[Tensor, "1 L"]:
        """The ids of the text, as the one row that a model reads."""
        return torch.tensor([self.ids])


def spell(model: Engram, text: str) -> Spelled:
    """Raises ValueError for a text that the checkpoint's tokens cannot spell, or an empty one."""
    vocabulary = Vocabulary(model.hashing.compression, int(model.hashing.pad))
    ids = vocabulary.encode(text)
    if not ids:
        raise ValueError("text: expected at least one token, got an empty text")
    return Spelled(text, vocabulary, ids)


def blocks(model: Engram, read: Spelled) -> list[Block]:
    """What the page shows of `model` on the text it `read`."""
    text, vocabulary, ids, tokens = read.text, read.vocabulary, read.ids, read.first_window()
    N, H = len(model.hashing.multipliers), model.hashing.primes.shape[1]
    sizes = {"width M": model.M, "branches C": model.C, "n-grams": f"of 2 to {N} tokens", "heads per order": H,
             "rows": f"{len(model.table.rows):,} of width {model.table.rows.shape[1]}",
             "tokens": f"{len(vocabulary):,}, {model.hashing.compression.size:,} spellings"}
    live = whole(model, read) if weights_of(model) <= WHOLE else stored(model, read)
    names = distinct(vocabulary.pieces[id].replace(" ", "␣") for id in ids)
    alpha = torch.stack([run(lambda a=a: forward(model, read, tokens, torch.tensor(a)))["alpha"].tensor[0].mean(-1)
                         for a in (-1.0, 0.0, 1.0)])
    return [LEAD, STREAM, settings(model, sizes), *live,
            f"The gate of every token of “{text}” at an agreement of -1, 0 and 1: the mean over branches.",
            over_tokens(alpha, names, ["-1", "0", "1"]),
            *transforms(run(lambda: forward(model, read, tokens)))]


def stream(k: Float[Tensor, "B L C M"], agreement: Tensor) -> Float[Tensor, "B L C M"]:
    """Hidden states of size √M at the angle arccos(agreement) to the keys."""
    key = F.normalize(k, dim=-1)
    more = drawn(*k.shape)
    other = F.normalize(more - (more * key).sum(-1, keepdim=True) * key, dim=-1)
    return k.shape[-1] ** 0.5 * (agreement * key + (1 - agreement.square()).clamp(min=0).sqrt() * other)


def forward(model: Engram, read: Spelled, tokens: Tensor, agreement: Tensor = HALF) -> Tensor:
    """The layer's output for `tokens`; `agreement` is the cosine between the made hidden state and the key."""
    with scope("look"):
        k, _ = model.project(model.table(model.hashing(tokens)))
    h = step("stream", stream(k, agreement), axes="B L C M", note="Made at a chosen angle to the key.")
    return model(tokens, h)


def whole(model: Engram, read: Spelled) -> list[Block]:
    """Any text of about the same length."""
    def fn(text: Tensor, agreement: Tensor) -> None:
        with record(follow=False) as trace:
            forward(model, read, text[None], agreement)
        again(trace, "compressed", trace["ids"].tensor[0], "L", "ids")
        again(trace, "rows looked up", trace["rows"].tensor[0].flatten(1), "L GH", "rows")
        _name(trace)

    spelled = Tokens(read.vocabulary, read.text, len(read.ids) + ROOM)
    return [Explorer(fn, {"text": spelled, **AGREEMENT}, presets=PRESETS,
                     show=["compressed", "rows looked up", *STEPS], title="A text through the memory",
                     id=unused("memory"))]


def stored(model: Engram, read: Spelled) -> list[Block]:
    """What the text looked up is fixed; the gate and what follows it are live."""
    found = run(lambda: forward(model, read, read.first_window()))
    k, v = found["k"].tensor.clone(), found["v"].tensor.clone()

    def fn(agreement: Tensor) -> None:
        h = stream(k, agreement)
        with scope("all"), record(follow=False) as trace:
            alpha = model.gate(h, k)
            gated = alpha[..., None] * v[:, :, None]
            step("y", model.convolution(gated, v, alpha) + gated, axes="B L C M", eq="Y = conv + ṽ")
        _name(trace, "all/")

    said = (f"The table has too many rows for a page: keys and values of “{read.text}” were looked up in Python and "
            "are fixed. The gate and what follows are live.")
    return [said, Explorer(fn, dict(AGREEMENT), presets=PRESETS, show=list(STEPS), title="The gate over a text",
                           id=unused("memory"))]


def _name(trace: Trace, prefix: str = "") -> None:
    """The gate, and how large what is added is: one number for each token and branch."""
    again(trace, "α", trace[f"{prefix}alpha"].tensor[0], "L C", f"{prefix}alpha")
    for name in ("convolved", "added"):
        source = prefix + STEPS[name]
        step(name, trace[source].tensor[0].square().mean(-1).sqrt(), axes="L C", eq=f"|{trace[source].eq}|",
             note="Root mean square over the channels.")
