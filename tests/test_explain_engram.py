"""A page on Engram: rows of any text, and the gate where the stream agrees with the memory as much as is chosen."""

import math

import pytest
import torch
from explained import agree, explorers_of, golden, own, series

from tsattn_mini.explain import engram, explorers

pytestmark = pytest.mark.usefixtures("no_graphs")


@pytest.fixture(scope="module")
def net():
    return golden("engram_forward_layer1", "engram")


@pytest.fixture(scope="module")
def text(net):
    """A few of the tokens, spelled."""
    pieces = [piece for piece in net.hashing.compression.texts if piece.isalpha() and piece.isascii()]
    return "".join(pieces[:6])


def test_a_page_looks_up_what_the_memory_looks_up(net, text):
    ex, = explorers_of(explorers(net, text=text))
    ids = engram.Vocabulary(net.hashing.compression, int(net.hashing.pad)).encode(text)
    assert "".join(net.hashing.compression.texts[i] for i in ids) == text
    for agreement in (0.5, -1, 1):
        ex.set(agreement=agreement)
        want = own(lambda a=agreement: engram.forward(net, None, torch.tensor([ids]), torch.tensor(float(a))))
        count = len(ids)
        assert torch.equal(ex.values["compressed"][:count], want["ids"][0])
        assert torch.equal(ex.values["rows looked up"][:count], want["rows"][0].flatten(1))
        agree(ex.values["α"][:count], want["alpha"][0])
        agree(ex.values["added"][:count], want["y"][0].square().mean(-1).sqrt())
    ex.close()


@pytest.mark.parametrize("cosine", [-1.0, -0.3, 0.0, 0.8, 1.0])
def test_the_stream_stands_at_the_chosen_angle(cosine):
    k = torch.randn(2, 5, 3, 16, generator=torch.Generator().manual_seed(1))
    h = engram.stream(k, torch.tensor(cosine))
    torch.testing.assert_close(torch.cosine_similarity(h, k, dim=-1), torch.full((2, 5, 3), cosine), atol=1e-6, rtol=0)
    torch.testing.assert_close(h.norm(dim=-1), torch.full((2, 5, 3), math.sqrt(16)))


def test_a_large_table_stays_in_python_and_the_gate_lives(net, text, monkeypatch):
    monkeypatch.setattr(engram, "WHOLE", 0)
    blocks = explorers(net, text=text)
    ex, = explorers_of(blocks)
    assert any("too many rows for a page" in block for block in blocks if isinstance(block, str))
    ids = engram.Vocabulary(net.hashing.compression, int(net.hashing.pad)).encode(text)
    ex.set(agreement=-0.5)
    want = own(lambda: engram.forward(net, None, torch.tensor([ids]), torch.tensor(-0.5)))
    agree(ex.values["α"], want["alpha"][0])
    agree(ex.values["added"], want["y"][0].square().mean(-1).sqrt())
    ex.close()


@pytest.mark.bad_input
def test_what_does_not_fit_is_one_line(net):
    for call, message in (
            (lambda: explorers(net, text=""), "^text: expected at least one token, got an empty text$"),
            (lambda: explorers(net, text="\u2603 \U0001f600"), "^text: expected characters the pieces can spell"),
            (lambda: explorers(net), '^text: Engram reads a text and no series, so pass text="…", got NoneType$'),
            (lambda: explorers(net, series(3)), "^text: Engram reads a text and no series.* got Series$")):
        with pytest.raises(ValueError, match=message) as error:
            call()
        assert "\n" not in str(error.value)
