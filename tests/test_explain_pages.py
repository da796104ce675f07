"""Every released model becomes one page: its graphs agree with the module at every end of every handle."""

import pytest
from explained import explorers_of, golden, series, variables

from tsattn_mini.explain import explorers
from tsattn_mini.explore.page import write

FORECASTERS = {
    "ns_forecast_long": ("nonstationary", {}), "informer_forecast_long": ("informer", {}),
    "autoformer_forecast_long": ("autoformer", {}), "fedformer_forecast_long": ("fedformer", {}),
    "itransformer_forecast_long": ("itransformer", {}), "timexer_forecast_MS": ("timexer", {}),
    "duet_forecast": ("duet", {}), "kite_inference_future": ("kite", {})}


@pytest.mark.parametrize("name", FORECASTERS)
def test_a_forecaster_becomes_a_page(name, tmp_path):
    kind, more = FORECASTERS[name]
    net = golden(name, kind, **more)
    blocks = explorers(net, series(variables(net), rows=200))
    written(blocks, tmp_path)


def test_a_memory_becomes_a_page(tmp_path):
    net = golden("engram_forward_layer1", "engram")
    pieces = [piece for piece in net.hashing.compression.texts if piece.isalpha() and piece.isascii()]
    written(explorers(net, text="".join(pieces[:4])), tmp_path)


def written(blocks, folder):
    write(folder / "page.html", blocks, title="A model")
    html = (folder / "page.html").read_text("utf8")
    for ex in explorers_of(blocks):
        assert f"id='explorer-{ex.id}'" in html
        ex.close()
    assert "<b>'0'" not in html
    assert len(html) < 12e6
