"""A state dict that a model of this package saved is recognised, needs what settings says, and computes the same."""

import pytest
import torch
from explained import series, variables

from tsattn_mini import explain
from tsattn_mini.engram.hashing import ngram_hashes
from tsattn_mini.engram.memory import Engram
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.explain.parts import weights_of
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.nonstationary import NonstationaryTransformer
from tsattn_mini.official import load_checkpoint, settings
from tsattn_mini.official.recognising import OURS
from tsattn_mini.zoo.autoformer import Autoformer
from tsattn_mini.zoo.duet.forecaster import DUET
from tsattn_mini.zoo.fedformer import FEDformer
from tsattn_mini.zoo.informer import Informer
from tsattn_mini.zoo.itransformer import ITransformer
from tsattn_mini.zoo.timexer import TimeXer

WINDOW = {"seq_len": 12, "label_len": 6, "pred_len": 5}
SIZES = {"V": 3, "M": 8, "H": 2, "d_ff": 7, "e_layers": 2}
LATER = {name: n for name, n in WINDOW.items() if name != "label_len"}
VOCAB = [[piece, piece] for piece in ("_", "a", "b", "A", "c", "d")]
MEMORY = {"layers": [1, 3], "layer": 3, "sizes": [11, 13], "H": 2, "pad": 0}


def memory():
    compression = Compression(*zip(*VOCAB, strict=True))
    return Engram(ngram_hashes(compression, MEMORY["layers"], MEMORY["sizes"], 2, 0, 0)[3], M=6, C=2, E=3)


CASES = {  # the class with its arguments, and those of them that no weight tells
    "nonstationary": (lambda: NonstationaryTransformer(**WINDOW, **SIZES, p_hidden=(5,)),
                      {"label_len": 6, "pred_len": 5, "n_heads": 2}),
    "informer": (lambda: Informer(**WINDOW, **SIZES, factor=1, seed=4), {**WINDOW, "n_heads": 2, "factor": 1}),
    "autoformer": (lambda: Autoformer(**WINDOW, **SIZES, kernel=3),
                   {**WINDOW, "n_heads": 2, "moving_avg": 3, "factor": 1}),
    "fedformer": (lambda: FEDformer(**WINDOW, **SIZES, kernel=3, modes=2, seed=4), {**WINDOW, "moving_avg": 3}),
    "itransformer": (lambda: ITransformer(**LATER, **SIZES), {"enc_in": 3, "n_heads": 2}),
    "timexer": (lambda: TimeXer(**LATER, **SIZES, patch_len=5), {"n_heads": 2}),
    "duet": (lambda: DUET(**LATER, **SIZES, hidden=4, kernel=3), {"n_heads": 2, "k": 2, "moving_avg": 3}),
    "kite": (lambda: KITE(12, 5, 2, M=8, H=2, source={"rank": 3}), {"n_heads": 2}),
    "engram": (memory, {"vocab": VOCAB, "layer_ids": [1, 3], "layer_id": 3, "engram_vocab_size": [11, 13],
                        "n_head_per_ngram": 2, "pad_id": 0}),
}


def made(name):
    with torch.random.fork_rng():
        torch.manual_seed(7)
        net = CASES[name][0]()
        for weight in net.parameters():
            torch.nn.init.normal_(weight, std=0.3)
    return net.eval()


def steps(net):
    source = {"text": "abAcd"} if isinstance(net, Engram) else {"series": series(variables(net))}
    return {name: step.tensor for name, step in explain.trace(net, **source).items()}


def test_every_model_of_the_package_has_names_of_its_own():
    assert set(CASES) == set(OURS)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("front", ["", "module.", "model.net."])
def test_what_the_class_saves_is_the_same_model_when_loaded(name, front, tmp_path):
    net, given = made(name), CASES[name][1]
    torch.save({front + key: t for key, t in net.state_dict().items()}, tmp_path / "my_model.pth")
    found = settings(tmp_path / "my_model.pth")
    assert (found.model, found.ours, set(found.missing)) == (name, True, set(given))
    assert ("weights", f"{weights_of(net)} numbers, float32", "in the file") in found.table.rows
    assert settings(tmp_path / "my_model.pth", **given).missing == {}
    again = load_checkpoint(tmp_path / "my_model.pth", **given)
    assert [key for key, t in net.state_dict().items() if not torch.equal(again.state_dict()[key], t)] == []
    want, got = steps(net), steps(again)
    assert list(got) == list(want)
    assert [key for key in want if not torch.equal(got[key].nan_to_num(), want[key].nan_to_num())] == []


@pytest.mark.parametrize("calendar", ["fixed", "learned"])
def test_tables_of_the_calendar_are_read_as_what_they_are(calendar):
    net = NonstationaryTransformer(**WINDOW, **SIZES, p_hidden=(5,), calendar=calendar)
    again = load_checkpoint(net.state_dict(), **CASES["nonstationary"][1])
    table = again.transformer.enc_embedding.time.tables["hour"].weight
    assert table.requires_grad is (calendar == "learned")


def test_our_names_stand_for_the_defaults_of_the_class_without_a_departure():
    net, given = ITransformer(**LATER, **SIZES, released_statistics=True), CASES["itransformer"][1]
    assert load_checkpoint(net.state_dict(), **given).released_statistics is False
    assert load_checkpoint(net.state_dict(), **given, released_statistics=True).released_statistics is True


def test_settings_of_a_class_that_no_released_model_has_are_taken():
    net = KITE(12, 5, 2, M=8, H=2, norm="softmax", source={"rank": 3, "form": "paper"})
    again = load_checkpoint(net.state_dict(), n_heads=2, norm="softmax", form="paper")
    assert (again.norm, again.source.form) == ("softmax", "paper")


@pytest.mark.bad_input
def test_what_does_not_fit_is_refused_under_our_names():
    state = made("nonstationary").state_dict()
    given = CASES["nonstationary"][1]
    with pytest.raises(ValueError, match=r"^state dict: unknown key 'extra\.weight'$"):
        load_checkpoint({**state, "extra.weight": torch.ones(1)}, **given)
    del state["transformer.projection.bias"]
    with pytest.raises(ValueError, match=r"^state dict: missing key 'transformer.projection\.bias'$"):
        load_checkpoint(state, **given)
    with pytest.raises(ValueError, match=r"^d_model: the weights say 8, got 9$"):
        settings(state, d_model=9)
    with pytest.raises(ValueError, match=r"^model: these weights look like 'nonstationary', got 'duet'$"):
        load_checkpoint(state, "duet")


@pytest.mark.bad_input
def test_a_memory_with_the_settings_of_another_is_refused():
    state, given = made("engram").state_dict(), CASES["engram"][1]
    with pytest.raises(ValueError, match=r"'hashing.*' holds other numbers than these settings give"):
        load_checkpoint(state, **{**given, "seed": 1})
