"""One good call of every public function and module, with what each argument is for: what the tests spoil in turn."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from forecasters import draw
from torch import Tensor

from tsattn_mini import attention, embedding, handles, lesson, nonstationary, training
from tsattn_mini.blocks import FeedForward, Transformer
from tsattn_mini.datasets import cutting
from tsattn_mini.engram import collisions, gate, hashing, language, memory, tiling, tokenizer, vocabulary
from tsattn_mini.engram.counts import Counts
from tsattn_mini.kite import conditioning, exact, flow, network, prior, source, window
from tsattn_mini.kite import gate as kite_gate
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.zoo import autoformer, decomposition, fourier, itransformer, prob_sparse, timexer
from tsattn_mini.zoo.duet import DUET, channels, extractor, router
from tsattn_mini.zoo.fedformer import FEDformer
from tsattn_mini.zoo.informer import Distilling, Informer


class Call(NamedTuple):
    """A function and arguments that it takes. `free` are those in which one kind of spoiling is no mistake."""

    function: Callable
    given: dict[str, Any]
    free: tuple[str, ...] = ()

    def __call__(self, **spoilt: Any) -> Any:
        return self.function(**{**self.given, **spoilt})


def real(*shape: int, seed: int = 0) -> Tensor:
    return draw(*shape, seed=seed)


def share(*shape: int) -> Tensor:
    return torch.sigmoid(draw(*shape, 1, seed=9)[..., 0])


def module(cls: Callable, **sizes: Any) -> torch.nn.Module:
    """A module in float64, its weights moved off their start, in evaluation."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = cls(**sizes).double().eval()
        with torch.no_grad():
            for p in net.parameters():
                p.add_(0.1 * torch.randn_like(p))
    return net


def forward(cls: Callable, *args: str, sizes: dict[str, Any], **given: Any) -> Call:
    return Call(module(cls, **sizes).forward, given)


SIZES = {"seq_len": 6, "label_len": 3, "pred_len": 4, "V": 2, "M": 4, "H": 2, "d_ff": 5, "e_layers": 1}
INVERTED = {name: size for name, size in SIZES.items() if name != "label_len"}
WINDOWS = {"x_enc": real(2, 6, 2), "x_mark_enc": real(2, 6, 4, seed=1), "x_dec": real(2, 7, 2, seed=2),
           "x_mark_dec": real(2, 7, 4, seed=3)}
HEADS = {"q": real(2, 5, 2, 3), "k": real(2, 7, 2, 3, seed=1), "v": real(2, 7, 2, 4, seed=2)}
SPECTRA = {"q": real(2, 7, 2, 3), "k": real(2, 6, 2, 3, seed=1), "v": real(2, 6, 2, 3, seed=2)}
SERIES = {"x_endo": real(2, 23, 3), "x_exo": real(2, 23, 4, seed=1)}
STATES = {"Y_s": real(2, 3, 5), "X_exo": real(2, 4, 7, seed=1), "S": share(2, 3, 4)}
COMPRESSION = vocabulary.Compression([f"w{i}" for i in range(20)])
HASH = hashing.ngram_hashes(COMPRESSION, [1], [11, 13], 2, pad=0)[1]
TOKENS = torch.randint(0, 20, (2, 5), generator=torch.Generator().manual_seed(0))
CUT = training.Cut(real(3, 6, 2), real(3, 6, 4), real(3, 4, 2), real(3, 7, 4))
FIELD = {"y": real(2, 3), "t": 1000 * share(2), "x_exo": real(2, 4, 5), "w": share(2, 1, 4), "y_exo": real(2, 4, 3)}
TIMES = {"y": real(3), "s": torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)}

CALLS: dict[str, Call] = {
    "scaled_dot_product": Call(attention.scaled_dot_product, {**HEADS, "mask": torch.zeros(5, 7, dtype=torch.bool)}),
    "causal": Call(attention.causal, {"L": 4}),
    "AttentionLayer()": Call(partial(attention.AttentionLayer, attention.scaled_dot_product), {"M": 6, "H": 2}),
    "AttentionLayer": Call(module(partial(attention.AttentionLayer, attention.scaled_dot_product), M=6, H=2).forward,
                           {"x": real(2, 5, 6), "y": real(2, 7, 6)}),
    "sinusoids": Call(embedding.sinusoids, {"L": 5, "M": 6}),
    "CalendarEmbedding()": Call(embedding.CalendarEmbedding, {"M": 4, "columns": 4}),
    "CalendarEmbedding": Call(module(embedding.CalendarEmbedding, M=4).forward,
                              {"marks": torch.tensor([3, 17, 2, 23]).expand(2, 5, 4)}),
    "DataEmbedding()": Call(embedding.DataEmbedding, {"V": 2, "M": 4, "marks": 3, "calendar": None}),
    "DataEmbedding": Call(module(embedding.DataEmbedding, V=3, M=4, marks=2).forward,
                          {"x": real(2, 5, 3), "marks": real(2, 5, 2)}),
    "FeedForward()": Call(FeedForward, {"M": 4, "d_ff": 5, "activation": "gelu"}),
    "Transformer()": Call(Transformer, {**SIZES, "d_layers": 1, "marks": 4, "activation": "gelu"}),
    "Transformer": Call(module(Transformer, **SIZES).forward, WINDOWS, ("x_dec",)),
    "stationarize": Call(nonstationary.stationarize, {"x": real(2, 5, 3)}),
    "destationarize": Call(nonstationary.destationarize,
                           {"y": real(2, 5, 3), "mu": real(2, 1, 3), "sigma": share(2, 1, 3)}),
    "Projector()": Call(nonstationary.Projector, {"T": 5, "V": 3, "hidden": (4,), "O": 1}),
    "Projector": Call(module(nonstationary.Projector, T=5, V=3, hidden=(4,), O=1).forward,
                      {"x": real(2, 5, 3), "s": real(2, 1, 3)}),
    "temperature": Call(nonstationary.temperature, {"log_tau": real(2, 1)}),
    "destationary_attention": Call(nonstationary.destationary_attention,
                                   {**HEADS, "tau": share(2, 1), "delta": real(2, 7)}),
    "NonstationaryTransformer()": Call(nonstationary.NonstationaryTransformer, {**SIZES, "p_hidden": (4,)}),
    "NonstationaryTransformer": Call(module(nonstationary.NonstationaryTransformer, **SIZES, p_hidden=(4,)).forward,
                                     WINDOWS, ("x_dec",)),
    "StationarizedTransformer": Call(module(nonstationary.StationarizedTransformer, **SIZES).forward, WINDOWS,
                                     ("x_dec",)),
    "modulate": Call(handles.modulate, {"z": real(3, 4), "v": real(4, 2), "tau": 2.0, "delta": real(4),
                                        "A_g": real(3, 4), "S": share(3, 4), "floor": 1e-6, "g": real(3),
                                        "omega": 1.5}),
    "lesson.one_head": Call(lesson.one_head, {"x": real(3, 4)}),
    "lesson.weights": Call(partial(lesson.weights, attention.scaled_dot_product), {"q": real(3, 4), "k": real(5, 4)}),
    "windows": Call(cutting.windows, {"x": real(12, 3), "length": 4, "horizon": 2, "stride": 1}),
    "split_by_time": Call(cutting.split_by_time, {"x": real(20, 3), "train": 0.6, "validation": 0.2}),
    "Scaler.fit": Call(cutting.Scaler.fit, {"train": real(12, 3)}),
    "Scaler.transform": Call(cutting.Scaler.fit(real(12, 3)).transform, {"x": real(5, 3)}),
    "Scaler.inverse": Call(cutting.Scaler.fit(real(12, 3)).inverse, {"z": real(5, 3)}),
    "naive": Call(partial(training.naive, CUT), {"period": 2}),
    "score": Call(training.score, {"forecast": real(2, 3, 2), "future": real(2, 3, 2, seed=1)}),
    # KITE
    "pearson": Call(prior.pearson, {**SERIES, "eps": 0.0}),
    "f_statistic": Call(prior.f_statistic, {**SERIES, "lags": 2}),
    "granger": Call(prior.granger, {**SERIES, "lags": 2}),
    "ridge_shortcut": Call(prior.ridge_shortcut, {**SERIES, "lag": 2, "ridge": 1e-4}),
    "kite.normalise": Call(prior.normalise, {"S": share(2, 3, 4), "norm": "max"}),
    "knowledge_guided": Call(kite_gate.knowledge_guided,
                             {"A_b": real(2, 3, 4), "A_g": real(2, 3, 4, seed=1), "S": share(2, 3, 4), "delta": 1e-6,
                              "mask": torch.zeros(2, 3, 4, dtype=torch.bool), "gate_weight": 1.0}),
    "bilinear_scores": Call(conditioning.bilinear_scores, {
        "q": real(2, 3, 5), "k": real(2, 4, 7), "W1": real(5, 7), "W2": real(5, 7), "S": share(2, 3, 4)}),
    "inject": Call(partial(conditioning.inject, W_v=module(torch.nn.Linear, in_features=7, out_features=5, bias=False)),
                   {"A": share(2, 3, 4), "X_exo": real(2, 4, 7), "Y_s": real(2, 3, 5)}),
    "KnowledgeGuidedConditioning()": Call(conditioning.KnowledgeGuidedConditioning,
                                          {"T": 7, "F": 5, "d": 3, "delta": 1e-6}),
    "KnowledgeGuidedConditioning": Call(module(conditioning.KnowledgeGuidedConditioning, T=7, F=5, d=3).forward,
                                        {**STATES, "mask": torch.zeros(2, 3, 4, dtype=torch.bool)}),
    "HistoryThenFuture": Call(module(conditioning.HistoryThenFuture, T=7, F=5, d=3).forward,
                              {**STATES, "Y_exo": real(2, 4, 5), "S_future": share(2, 3, 4)}),
    "KnowledgeGuidedAttention()": Call(conditioning.KnowledgeGuidedAttention, {"M": 6, "H": 2, "D": 3, "delta": 1e-6}),
    "KnowledgeGuidedAttention": Call(module(conditioning.KnowledgeGuidedAttention, M=6, H=2, D=4).forward,
                                     {"x": real(2, 3, 6), "exo": real(2, 4, 6), "w": share(2, 3, 4)}, ("w",)),
    "ExogenousCrossAttention": Call(module(conditioning.ExogenousCrossAttention, T=7, F=5, d=3).forward,
                                    {name: STATES[name] for name in ("Y_s", "X_exo")}),
    "InputConcatenation": Call(module(conditioning.InputConcatenation, T=7, F=5, d=3).forward, STATES),
    "gaussian_velocity": Call(exact.gaussian_velocity, {**TIMES, "target": (0.5, 0.3), "source": (0.0, 1.0)}),
    "mixture_velocity": Call(exact.mixture_velocity, {**TIMES, "weights": share(2), "means": real(2),
                                                      "stds": share(2)}),
    "error_growth": Call(exact.error_growth, {"source_std": share(2), "target_std": share(2)}),
    "guided_gaussian": Call(exact.guided_gaussian, {"omega": 1.5, "conditional": (1.0, 0.3), "marginal": (0.5, 0.6)}),
    "legendre": Call(exact.legendre, {"nodes": 5}),
    "gaussian_crps": Call(exact.gaussian_crps, {"forecast": (1.0, 0.5), "truth": (0.0, 1.0)}),
    "watch": Call(partial(exact.watch, lambda y, s: -y), {"y0": real(3), "steps": 3, "at_most": 5, "points": 4}),
    "two_point_velocity": Call(exact.two_point_velocity, {**TIMES, "p": 0.3, "kind": "l2"}),
    "two_point_share": Call(exact.two_point_share, {"p": 0.3}),
    "exponential_velocity": Call(exact.exponential_velocity, {**TIMES, "kind": "l1"}),
    "path": Call(flow.path, {"y0": real(3, 4), "y": real(3, 4, seed=1), "s": TIMES["s"]}),
    "target_velocity": Call(flow.target_velocity, {"y0": real(3, 4), "y": real(3, 4, seed=1)}),
    "flow_loss": Call(flow.flow_loss, {"v": real(3, 4), "y0": real(3, 4, seed=2), "y": real(3, 4, seed=1),
                                       "kind": "l1"}),
    "guide": Call(flow.guide, {"v_u": real(3, 4), "v_c": real(3, 4, seed=1), "omega": 1.5}),
    "euler": Call(partial(flow.euler, lambda y, s: -y), {"y0": real(3, 4), "steps": 3, "at_most": 5}),
    "point_forecast": Call(flow.point_forecast, {"samples": real(2, 5, 3), "kind": "median"}),
    "KITE()": Call(KITE, {"T": 7, "F": 3, "D": 2, "norm": "max", "loss": "l2", "nll_weight": 0.1, "p_uncond": 0.1,
                          "M": 4, "H": 2, "depth": 1}),
    "KITE": Call(module(KITE, T=7, F=3, D=2, M=4, H=2, depth=1, source={"rank": 2}).sample, {
        "x_endo": real(2, 7, 1), "x_exo": real(2, 7, 2), "y_exo": real(2, 3, 2), "n_samples": 2, "steps": 2,
        "omega": 1.5, "S": share(2, 1, 2), "z": real(4, 2), "eps": real(4, 3)}),
    "KITE.loss": Call(module(KITE, T=7, F=3, D=2, M=4, H=2, depth=1, source={"rank": 2}).loss, {
        "x_endo": real(2, 7, 1), "x_exo": real(2, 7, 2), "y_exo": real(2, 3, 2), "y_endo": real(2, 3, 1), "s": share(2),
        "z": real(2, 2), "eps": real(2, 3), "told": torch.ones(2, 1, 1, dtype=torch.float64)}),
    "TimeEmbedding": Call(module(network.TimeEmbedding, M=4).forward, {"t": share(3)}),
    "VectorField()": Call(network.VectorField, {"T": 5, "F": 3, "D": 4, "M": 4, "H": 2, "depth": 1, "mlp_ratio": 2.0,
                                                "conditioning": "kgc", "door_width": None}),
    "VectorField": Call(module(network.VectorField, T=5, F=3, D=4, M=4, H=2, depth=1).forward, FIELD),
    "coverage": Call(source.coverage, {"y": real(3, 4), "mu": real(3, 4, seed=1), "sigma": share(3, 1)}),
    "mix_noise": Call(source.mix_noise, {"Mz": real(3, 4), "eps": real(3, 4, seed=1), "alpha": share(3, 1),
                                         "size": share(), "form": "unit"}),
    "HistorySource()": Call(source.HistorySource, {"T": 5, "F": 4, "rank": 2, "sigma_min": 0.1, "structure_max": 0.9,
                                                   "hidden": 3, "form": "unit", "dropout": 0.2}),
    "HistorySource": Call(module(source.HistorySource, T=5, F=4, rank=2).forward,
                          {"x": real(3, 5), "z": real(3, 2), "eps": real(3, 4), "keep": share(3, 1)}),
    "standardise": Call(window.standardise, {"x": real(2, 5, 3)}),
    # Engram
    "odd_multipliers": Call(hashing.odd_multipliers, {"layer": 1, "N": 3, "size": 100, "seed": 0}),
    "is_prime": Call(hashing.is_prime, {"n": 7}),
    "next_primes": Call(hashing.next_primes, {"start": 7, "count": 2, "used": set()}, ("used",)),
    "ngram_hashes": Call(partial(hashing.ngram_hashes, COMPRESSION),
                         {"layers": [1], "sizes": [11, 13], "H": 2, "pad": 0, "seed": 0}),
    "NgramHash": Call(HASH.forward, {"tokens": TOKENS}),
    "Compression": Call(COMPRESSION.forward, {"tokens": TOKENS}),
    "MultiHeadTable()": Call(partial(memory.MultiHeadTable, HASH.primes), {"E": 3}),
    "MultiHeadTable": Call(module(memory.MultiHeadTable, primes=HASH.primes, E=3).forward, {"hashes": HASH(TOKENS)}),
    "Engram()": Call(partial(memory.Engram, HASH), {"M": 4, "C": 2, "E": 3, "K": 2, "root": "sign",
                                                      "conv_gate": "input"}),
    "Engram": Call(module(memory.Engram, hashing=HASH, M=4, C=2, E=3, K=2).forward,
                   {"tokens": TOKENS, "h": real(2, 5, 2, 4)}),
    "rms_norm": Call(gate.rms_norm, {"x": real(3, 4), "gain": share(4), "eps": 1e-6}),
    "signed_root": Call(gate.signed_root, {"score": real(3), "root": "sign"}),
    "context_gate": Call(gate.context_gate, {"h": real(2, 5, 2, 4), "k": real(2, 5, 2, 4, seed=1),
                                             "h_gain": share(2, 4), "k_gain": share(2, 4), "root": "sign"}),
    "angle_gate": Call(gate.angle_gate, {"cosine": share(3), "M": 4, "root": "sign", "gain": 2.0}),
    "cosine_for": Call(gate.cosine_for, {"alpha": 0.3, "M": 64, "root": "sign", "gain": 1.0}),
    "ContextGate()": Call(gate.ContextGate, {"C": 2, "M": 4, "root": "sign"}),
    "HiddenGate()": Call(gate.HiddenGate, {"C": 2, "M": 4}),
    "HiddenGate": Call(module(gate.HiddenGate, C=2, M=4).forward, {"h": real(2, 5, 2, 4), "k": real(2, 5, 2, 4)},
                       ("k",)),
    "ConstantGate()": Call(gate.ConstantGate, {"C": 2}),
    "distinct_ngrams": Call(collisions.distinct_ngrams, {"count": 5, "N": 2, "size": 7, "seed": 0}),
    "partners": Call(collisions.partners, {"rows": HASH(TOKENS).flatten(0, 1).flatten(1)}),
    "expected_share": Call(collisions.expected_share, {"n": 5, "p": 7}),
    "tiling": Call(tiling.tiling, {"K": 4, "D": 3, "N": 3, "taps": 4, "tokens": 12}),
    "coverage of taps": Call(tiling.coverage, {"reads": tiling.tiling(4, 3, 3)}),
    "Counts": Call(Counts, {"contexts": TOKENS, "targets": TOKENS.roll(-1, 1), "P": 20, "N": 2}),
    "LanguageModel()": Call(language.LanguageModel, {"P": 20, "L": 6, "M": 4, "H": 2, "d_ff": 5}),
    "LanguageModel": Call(module(language.LanguageModel, P=20, L=6, M=4, H=2, d_ff=5).forward, {"tokens": TOKENS}),
    "compress_text": Call(vocabulary.compress_text, {"text": "Apple"}),
    "Tokenizer.encode": Call(tokenizer.Tokenizer().encode, {"text": "the old bank"}),
    "Tokenizer.decode": Call(tokenizer.Tokenizer().decode, {"ids": [5, 7]}),
    # The zoo
    "auto_correlation": Call(autoformer.auto_correlation, {**HEADS, "factor": 2}),
    "number_of_delays": Call(autoformer.number_of_delays, {"L": 12, "factor": 1.5}),
    "Autoformer()": Call(autoformer.Autoformer, {**SIZES, "d_layers": 1, "kernel": 3, "factor": 1}),
    "Autoformer": Call(module(autoformer.Autoformer, **SIZES, kernel=3).forward, WINDOWS, ("x_dec",)),
    "series_decomp": Call(decomposition.series_decomp, {"x": real(2, 7, 3), "kernel": 4}),
    "keep_modes": Call(fourier.keep_modes, {"L": 12, "modes": 3, "draw": "random", "seed": 0}),
    "FourierBlock()": Call(fourier.FourierBlock, {"M": 6, "H": 2, "L": 7, "modes": 2, "draw": "low", "seed": 0}),
    "FourierBlock": Call(module(fourier.FourierBlock, M=6, H=2, L=7).forward, {"q": SPECTRA["q"]}),
    "FourierCrossAttention()": Call(fourier.FourierCrossAttention, {"M": 6, "H": 2, "L": 7, "S": 6, "modes": 2,
                                                                    "modes_kv": 2, "activation": "tanh"}),
    "FourierCrossAttention": Call(module(fourier.FourierCrossAttention, M=6, H=2, L=7, S=6).forward, SPECTRA),
    "FEDformer()": Call(FEDformer, {**SIZES, "d_layers": 1, "kernel": 3, "modes": 2, "draw": "low", "seed": 0,
                                    "cross": "tanh"}),
    "FEDformer": Call(module(FEDformer, **SIZES, kernel=3).forward, WINDOWS, ("x_dec",)),
    "sample_size": Call(prob_sparse.sample_size, {"factor": 2, "n": 7}),
    "sample_keys": Call(prob_sparse.sample_keys, {"L": 5, "S": 7, "U": 3}),
    "prob_sparse": Call(prob_sparse.prob_sparse, {**HEADS, "index_sample": prob_sparse.sample_keys(5, 7, 3), "u": 3}),
    "Informer()": Call(Informer, {**SIZES, "d_layers": 1, "factor": 2, "seed": 0}),
    "Informer": Call(module(Informer, **SIZES, factor=1).forward, WINDOWS, ("x_dec",)),
    "Distilling()": Call(Distilling, {"M": 4}),
    "Distilling": Call(module(Distilling, M=4).forward, {"x": real(2, 7, 4)}),
    "InvertedEmbedding()": Call(itransformer.InvertedEmbedding, {"T": 5, "M": 4}),
    "InvertedEmbedding": Call(module(itransformer.InvertedEmbedding, T=5, M=4).forward,
                              {"x": real(2, 5, 3), "marks": real(2, 5, 2)}),
    "ITransformer()": Call(itransformer.ITransformer, {**INVERTED, "marks": 4, "activation": "gelu"}),
    "ITransformer": Call(module(itransformer.ITransformer, **INVERTED).forward, WINDOWS, ("x_dec", "x_mark_dec")),
    "PatchEmbedding()": Call(timexer.PatchEmbedding, {"T": 6, "p": 2, "M": 4, "N": 1}),
    "PatchEmbedding": Call(module(timexer.PatchEmbedding, T=6, p=2, M=4, N=2).forward, {"x": real(3, 2, 6)}),
    "TimeXer()": Call(timexer.TimeXer, {**INVERTED, "patch_len": 2, "features": "M", "marks": 4}),
    "TimeXer": Call(module(timexer.TimeXer, **INVERTED, patch_len=2).forward, WINDOWS, ("x_dec", "x_mark_dec")),
    "DUET()": Call(DUET, {**INVERTED, "N": 3, "k": 2, "hidden": 4, "kernel": 3}),
    "DUET": Call(module(DUET, **INVERTED, N=3, hidden=4, kernel=3).forward,
                 {**WINDOWS, "router_noise": real(2, 2, 3), "u": share(2, 2, 2)}, ("x_dec", "x_mark_dec")),
    "Router()": Call(router.Router, {"T": 5, "N": 3, "k": 2, "hidden": 4, "eps": 0.0}),
    "Router": Call(module(router.Router, T=5, N=3, k=2, hidden=4).forward,
                   {"x": real(2, 3, 5), "noise": real(2, 3, 3)}),
    "ChannelMask()": Call(channels.ChannelMask, {"T": 5}),
    "ChannelMask": Call(module(channels.ChannelMask, T=5).forward, {"x": real(2, 3, 5), "u": share(2, 3, 3)}),
    "channel_attention": Call(channels.channel_attention, {**HEADS, "keep": share(2, 5, 7)}),
    "TemporalClusters()": Call(extractor.TemporalClusters, {"T": 5, "V": 3, "M": 4, "N": 3, "k": 2, "hidden": 4,
                                                            "kernel": 3}),
    "TemporalClusters": Call(module(extractor.TemporalClusters, T=5, V=3, M=4, N=3, hidden=4, kernel=3).forward,
                             {"x": real(2, 5, 3), "noise": real(2, 3, 3)}),
    "RevIN": Call(module(extractor.RevIN, V=3).forward, {"x": real(2, 5, 3)}),
}
