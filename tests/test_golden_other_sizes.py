"""KITE and Engram as released, replayed at sizes no golden file has: random weights, plain float64 code beside them."""

import json

import numpy as np
import pytest
import released_engram as engram
import released_kite as kite
import torch

from tsattn_mini.official import load_checkpoint, replay

TOLERANCE = 2e-5  # of the array's largest number; float32 against float64
LAYERS, FLOW, MODEL = (f"ts_benchmark/baselines/kite/{name}.py" for name in
                       ("layers/layers", "layers/flow_loss", "models/KITEModel"))
SIZES = [  # B, T, F, D, M, H, depth, mlp_ratio, rank, future, mlp
    {"B": 1, "T": 2, "F": 2, "D": 1, "M": 1, "H": 1, "depth": 1, "ratio": 1, "rank": 1, "future": True, "mlp": False},
    {"B": 3, "T": 13, "F": 5, "D": 7, "M": 6, "H": 3, "depth": 3, "ratio": 2, "rank": 11, "future": True, "mlp": True},
    {"B": 5, "T": 7, "F": 17, "D": 2, "M": 10, "H": 5, "depth": 1, "ratio": 3, "rank": 4, "future": False, "mlp": True},
]


def random(seed):
    g = np.random.default_rng(seed)
    return lambda *shape: 0.5 * g.standard_normal(shape)


def replayed(file, cls, params, weights, inputs):
    """What `replay` makes of the float32 arrays, and the arrays themselves in float64 for the plain code."""
    def single(arrays):
        return {name: a if a.dtype == np.int64 else a.astype(np.float32) for name, a in arrays.items()}

    weights, inputs = single(weights), single(inputs)
    config = {"official": {"file": file, "cls": cls}, "params": params}
    if "vocab" in params:
        config["vocab"] = params.pop("vocab")
    got = replay({"config": np.array(json.dumps(config)), **{f"w/{n}": a for n, a in weights.items()},
                  **{f"in/{n}": a for n, a in inputs.items()}})
    return got, *({n: a if a.dtype == np.int64 else a.astype(float) for n, a in part.items()}
                  for part in (weights, inputs))


def same(want, got, prefixes=("out", "mid"), tolerance=TOLERANCE):
    for name, array in want.items():
        found = [got[f"{p}/{name}"] for p in prefixes if f"{p}/{name}" in got]
        assert found, f"{name} is missing"
        for a in found:
            assert a.shape == array.shape, f"{name}: {a.shape} instead of {array.shape}"
            off = np.abs(a - array).max() / (np.abs(array).max() or 1)
            assert off <= tolerance, f"{name}: off by {off:.1e}"


def params(s):
    return {"B": s["B"], "d_model": s["M"], "n_heads": s["H"], "depth": s["depth"], "mlp_ratio": float(s["ratio"]),
            "fc_type": "MLP" if s["mlp"] else "Linear", "horizon": s["F"], "seq_len": s["T"], "n_exo": s["D"],
            "n_endo": 1, "min_sigma": 0.07, "structure_max": 0.6, "rank": s["rank"], "rate": 2,
            "use_future_exog": s["future"]}


def whole(s, draw, prefix=""):
    net = {k: s[k] for k in ("T", "F", "D", "M", "depth", "ratio", "future")}
    w = kite.source_state(draw, **{k: s[k] for k in ("T", "F", "rank", "mlp")})
    return {prefix + name: a for name, a in (w | kite.field_state(draw, **net, prefix="net.")).items()}


def told(s, draw, rows):
    x = {"x_exo": draw(rows, s["D"], s["T"]), "prior": np.abs(draw(rows, 1, s["D"])) % 1}
    return x | ({"y_exo": draw(rows, s["D"], s["F"])} if s["future"] else {})


@pytest.mark.parametrize(("N", "D", "T", "lags"), [(1, 1, 11, [1, 7]), (3, 2, 17, [2, 4]), (2, 5, 29, [3])])
def test_the_prior(N, D, T, lags):
    draw = random(N)
    x = {"x_endo": draw(4, T, N) + 3, "x_exo": draw(4, T, D) * 20, "x_exo_granger": draw(4, T, D)}
    sizes = {"B": 4, "n_endo": N, "n_exo": D, "seq_len": T, "lags": lags}
    got, _, x = replayed(MODEL, "cal_pearson_martix, cal_granger_matrix", sizes, {}, x)
    z = {name: kite.standardise(series)[0] for name, series in x.items()}
    S = kite.pearson(z["x_endo"], z["x_exo"])
    want = {"pearson_raw": kite.pearson(x["x_endo"], x["x_exo"]), "pearson_standardised": S,
            "pearson_softmax": kite.softmax(S), **{f"{name}_standardised": series for name, series in z.items()}}
    for lag in lags:
        want |= {f"granger_lag{lag}": kite.ridge(z["x_endo"], z["x_exo_granger"], lag),
                 f"granger_raw_lag{lag}": kite.ridge(x["x_endo"], x["x_exo_granger"], lag)}
    same(want, got)


@pytest.mark.parametrize(("rows", "L", "D", "M", "H"), [(1, 1, 1, 1, 1), (5, 3, 7, 6, 2), (2, 11, 13, 15, 3)])
def test_the_attention(rows, L, D, M, H):
    draw = random(D)
    x = {"x_q": draw(rows, L, M), "x_kv": draw(rows, D, M), "w_ij": np.abs(draw(rows, 1, D)) * 3}
    got, w, x = replayed(LAYERS, "KnowledgeGuidedAttention", {"d_model": M, "n_exo": D, "n_heads": H, "n_q": L},
                         kite.attention_state(draw, M, D), x)
    same(kite.attention(w, x["x_q"], x["x_kv"], x["w_ij"], H), got)


@pytest.mark.parametrize("s", SIZES)
def test_the_vector_field(s):
    draw = random(s["B"])
    w = {name.removeprefix("net."): a for name, a in whole(s, draw).items() if name.startswith("net.")}
    x = {"x0": draw(s["B"], s["F"]), "t": 100 * np.arange(s["B"]), **told(s, draw, s["B"])}
    got, w, x = replayed(LAYERS, "KITEVectorField", params(s), w, x | {"t": x["t"].astype(float)})
    want = kite.velocity(w, x["x0"], x["t"], x["x_exo"], x["prior"], x.get("y_exo"), s["H"])
    same(want, got, tolerance=1e-4)  # float32 sines of arguments up to 400


@pytest.mark.parametrize("s", SIZES)
def test_the_source(s):
    draw = random(s["B"])
    x = {"origin": draw(s["B"], s["T"]), "noise_z": draw(s["B"], s["rank"]), "noise_eps": draw(s["B"], s["F"])}
    cls = "KITEFlowMatching.get_hybrid_gaussian_noise + barycenter_mapper + uncertainty_estimator"
    got, w, x = replayed(FLOW, cls, params(s), whole(s, draw), x)
    want = kite.source(w, *x.values(), min_sigma=0.07, structure_max=0.6)
    for keep in (0, 1):
        made = kite.source(w, *x.values(), min_sigma=0.07, structure_max=0.6, keep=keep)
        got[f"out/train_alpha_mask{keep}"] += 1 - keep  # compared beside 1, as 0 is no size to measure by
        want |= {f"train_epsilon_mask{keep}": made["epsilon"], f"train_alpha_mask{keep}": made["alpha"] + 1 - keep}
    same(want, got)


@pytest.mark.parametrize(("s", "steps", "P", "omegas"), [
    (SIZES[0], 1, 1, [2.0]), (SIZES[1], 4, 2, [0.0, 0.5, 1.0, -1.5]), (SIZES[2], 7, 3, [1.0, 2.4])])
def test_the_sampler(s, steps, P, omegas):
    draw, rows = random(s["B"]), s["B"]
    x = {"origin": draw(rows, s["T"]), "noise_z": draw(rows * P, s["rank"]), "noise_eps": draw(rows * P, s["F"]),
         **told(s, draw, rows)}
    settings = {**params(s), "steps": steps, "n_samples": P, "omegas": omegas}
    got, w, x = replayed(FLOW, "KITEFlowMatching.sample", settings, whole(s, draw), x)
    for omega in omegas:
        want = kite.sample(w, x["origin"], x["x_exo"], x["prior"], x.get("y_exo"), x["noise_z"], x["noise_eps"], omega,
                           H=s["H"], steps=steps, n_samples=P, min_sigma=0.07, structure_max=0.6)
        ordered = np.sort(want["samples"], 1)
        want |= {"mean": want["samples"].mean(1), "median": ordered[:, (P - 1) // 2]}
        same({f"omega{omega:g}_{name}": a for name, a in want.items()}, got, tolerance=1e-4)


@pytest.mark.parametrize("s", SIZES)
def test_the_loss(s):
    draw, rows = random(s["B"]), s["B"]
    x = {"origin": draw(rows, s["T"]), "target": draw(rows, s["F"]), "noise_z": draw(rows, s["rank"]),
         "noise_eps": draw(rows, s["F"]), "t": np.linspace(0.1, 0.9, rows), **told(s, draw, rows)}
    got, w, x = replayed(FLOW, "KITEFlowMatching.forward", params(s), whole(s, draw), x)
    want = kite.loss(w, x["origin"], x["target"], x["x_exo"], x["prior"], x.get("y_exo"), x["noise_z"], x["noise_eps"],
                     x["t"], H=s["H"], min_sigma=0.07, structure_max=0.6)
    same(want, got, tolerance=1e-4)


@pytest.mark.parametrize(("s", "omega"), [(SIZES[0], 0.0), (SIZES[1], 1.0), (SIZES[2], 1.7), (SIZES[1], -0.5)])
def test_the_whole_forecast(s, omega):
    draw, B, P = random(s["B"]), s["B"], 3
    x = {"x_endo": 5 * draw(B, s["T"], 1) + 8, "x_exo": draw(B, s["T"], s["D"]),
         "noise_z": draw(B * P, s["rank"]), "noise_eps": draw(B * P, s["F"])}
    if s["future"]:
        x["y_exo"] = draw(B, s["F"], s["D"])
    settings = {**params(s), "steps": 3, "n_samples": P, "omega": omega}
    got, w, x = replayed(MODEL, "KITEModel.inference", settings, whole(s, draw, "flow_matching."), x)
    (z, mu, sd), (past, level, spread) = kite.standardise(x["x_endo"]), kite.standardise(x["x_exo"])
    ahead = ((x["y_exo"] - level) / spread).swapaxes(1, 2) if s["future"] else None
    prior = kite.pearson(z, past)
    flow = kite.sample(kite.within(w, "flow_matching."), z[..., 0], past.swapaxes(1, 2), prior, ahead, x["noise_z"],
                       x["noise_eps"], omega, H=s["H"], steps=3, n_samples=P, min_sigma=0.07, structure_max=0.6)
    y = flow["samples"].mean(1)
    want = {"origin": z[..., 0], "x_exo_std": past.swapaxes(1, 2), "prior": prior, "y_std": y,
            "forecast": y[..., None] * sd + mu, **({"y_exo_std": ahead} if s["future"] else {})}
    same(want, got, tolerance=1e-4)


VOCAB = [["<pad>", "<pad>"], [" the", "Ġthe"], ["The", "The"], ["\ufffd", "<0xE3>"], ["\ufffd", "<0x81>"],
         ["a\ufffd", "a<0xE3>"], [" ", "Ġ"], ["\n \t", "ĊĠĉ"], ["é", "é"], ["E\u0301", "E\u0301"], ["\u0301", "\u0301"],
         ["ﬁ", "ﬁ"], ["fi", "fi"], ["語", "語"], ["한", "한"], ["🙂", "🙂"], ["ＡＢ", "ＡＢ"], ["ab", "ab"],
         ["\u200d", "\u200d"], ["ß", "ß"], ["", ""], ["½", "½"], ["1⁄2", "1⁄2"], [" ΟΣ", "ĠΟΣ"], ["οσ", "οσ"]]
LAYERS_OF_ENGRAM = [  # layer_ids, sizes per order, heads, E, C, M, K, pad, seed
    {"layers": [0], "sizes": [2], "H": 1, "E": 1, "C": 1, "M": 1, "K": 1, "pad": 0, "seed": 0},
    {"layers": [2, 5, 17], "sizes": [11, 50, 7], "H": 3, "E": 2, "C": 3, "M": 5, "K": 2, "pad": 2, "seed": 7},
    {"layers": [15, 1], "sizes": [101, 13], "H": 5, "E": 3, "C": 4, "M": 2, "K": 7, "pad": 22, "seed": 123},
]


def engram_params(s, **more):
    return {"engram_vocab_size": s["sizes"], "hash_seed": s["seed"], "hc_mult": s["C"], "hidden_size": s["M"],
            "kernel_size": s["K"], "layer_ids": s["layers"], "max_ngram_size": len(s["sizes"]) + 1, "pad_id": s["pad"],
            "n_head_per_ngram": s["H"], "n_embed_per_ngram": s["H"] * s["E"], "vocab": VOCAB, **more}


def engram_weights(s, primes, draw):
    R, M = s["H"] * s["E"] * len(s["sizes"]), s["M"]
    flat = [p for order in primes for p in order]
    w = {"multi_head_embedding.embedding.weight": draw(sum(flat), s["E"]), "value_proj.weight": draw(M, R),
         "multi_head_embedding.offsets": np.cumsum([0, *flat])[:-1], "value_proj.bias": draw(M),
         "short_conv.conv.weight": draw(s["C"] * M, 1, s["K"])}
    for c in range(s["C"]):
        w |= {f"key_projs.{c}.weight": draw(M, R), f"key_projs.{c}.bias": draw(M), f"norm1.{c}.weight": 1 + draw(M),
              f"norm2.{c}.weight": 1 + draw(M), f"short_conv.norms.{c}.weight": 1 + draw(M)}
    return w


@pytest.mark.parametrize("s", LAYERS_OF_ENGRAM)
@pytest.mark.parametrize(("B", "L"), [(1, 1), (3, 2), (2, 19)])
def test_the_hash(s, B, L):
    g = np.random.default_rng(L)
    ids = {"ids": g.integers(0, len(VOCAB), (B, L)), "ids_negative": g.integers(-9, len(VOCAB), (B, L))}
    got, _, ids = replayed("engram_demo_v1.py", "CompressedTokenizer, NgramHashMapping", engram_params(s), {}, ids)
    table, count = engram.lookup(VOCAB)
    layers = engram.plan(VOCAB, s["layers"], s["sizes"], s["H"], s["seed"])
    want = {"out/lookup_table": table, "out/num_new_token": count, "out/pad_id_compressed": table[s["pad"]],
            "out/multipliers": [m for m, _ in layers.values()], "out/primes": [p for _, p in layers.values()]}
    for layer, (multipliers, primes) in layers.items():
        for name, tokens in ids.items():
            squeezed, mix, rows = engram.hashes(tokens, VOCAB, s["pad"], multipliers, primes)
            end = name.removeprefix("ids")
            want |= {f"out/{name}_compressed": squeezed, f"out/hash{end}_layer{layer}": rows}
            if not end:
                want |= {f"mid/mix_layer{layer}_n{n + 2}": mix[..., n] for n in range(mix.shape[2])}
    for name, array in want.items():
        assert got[name].dtype == np.int64
        assert np.array_equal(got[name], array), name


@pytest.mark.parametrize("s", LAYERS_OF_ENGRAM)
@pytest.mark.parametrize(("B", "L"), [(1, 1), (3, 2), (2, 19)])
def test_a_layer_of_engram(s, B, L):
    draw, layer = random(L), s["layers"][-1]
    multipliers, primes = engram.plan(VOCAB, s["layers"], s["sizes"], s["H"], s["seed"])[layer]
    h = draw(B, L, s["C"], s["M"])
    h[-1, -1] *= 1e-9  # a score that the root takes for 1e-6
    h[0, 0] = 0
    x = {"ids": np.random.default_rng(L).integers(0, len(VOCAB), (B, L)), "hidden_states": h}
    got, w, x = replayed("engram_demo_v1.py", "Engram", engram_params(s, layer_id=layer),
                         engram_weights(s, primes, draw), x)
    rows = engram.hashes(x["ids"], VOCAB, s["pad"], multipliers, primes)[2]
    same(engram.forward(w, x["hidden_states"], rows, primes, len(multipliers)), got)


# Checkpoints at those sizes


def tensors(arrays):
    return {name: torch.from_numpy(a if a.dtype == np.int64 else a.astype(np.float32)) for name, a in arrays.items()}


@pytest.mark.parametrize("s", SIZES)
def test_a_checkpoint_of_any_size_samples_what_the_released_code_does(s):
    draw, rows = random(s["B"]), s["B"]
    arrays = whole(s, draw)
    net = load_checkpoint({f"module.{name}": torch.from_numpy(a) for name, a in arrays.items()}, "kite", **params(s))
    x = {"x_endo": 5 * draw(rows, s["T"], 1) + 8, "x_exo": draw(rows, s["T"], s["D"]),
         "y_exo": draw(rows, s["F"], s["D"]) if s["future"] else None}
    z, eps = draw(rows, s["rank"]), draw(rows, s["F"])
    (past, level, spread), (endo, mu, sd) = kite.standardise(x["x_exo"]), kite.standardise(x["x_endo"])
    ahead = ((x["y_exo"] - level) / spread).swapaxes(1, 2) if s["future"] else None
    want = kite.sample(arrays, endo[..., 0], past.swapaxes(1, 2), kite.pearson(endo, past, 0), ahead, z, eps, 1.3,
                       H=s["H"], steps=2, n_samples=1, min_sigma=0.07, structure_max=0.6)["samples"]
    with torch.no_grad():
        got = net.sample(*(None if a is None else torch.from_numpy(a) for a in x.values()), n_samples=1, steps=2,
                         omega=1.3, z=torch.from_numpy(z), eps=torch.from_numpy(eps))
    np.testing.assert_allclose(got[..., 0].numpy(), want * sd + mu, rtol=1e-9, atol=1e-9)


@pytest.mark.bad_input
def test_a_checkpoint_that_contradicts_its_settings_is_refused():
    s = LAYERS_OF_ENGRAM[1]
    primes = engram.plan(VOCAB, s["layers"], s["sizes"], s["H"], s["seed"])[5][1]
    state, given = tensors(engram_weights(s, primes, random(0))), engram_params(s, layer_id=5)
    for change, message in (
            ({"max_ngram_size": 7}, "max_ngram_size: the other settings and the weights say 4, got 7"),
            ({"n_embed_per_ngram": 5}, "n_embed_per_ngram: the other settings and the weights say 6, got 5"),
            ({"vocab": ["a", "b"]}, "vocab: expected .decoded text, raw token. of every token id"),
            ({"vocab": None}, "vocab: expected .decoded text, raw token. of every token id")):
        with pytest.raises(ValueError, match=message):
            load_checkpoint(state, "engram", **{**given, **change})
    with pytest.raises(ValueError, match=r"key 'norm1\.0\.weight' has shape \(4,\) instead of \(5,\)"):
        load_checkpoint({**state, "norm1.0.weight": torch.ones(4)}, "engram", **given)
    state = tensors(whole(SIZES[1], random(0)))
    del state["net.y_exo_embedding.weight"]
    with pytest.raises(ValueError, match=r"missing key 'net\.y_exo_embedding\.weight'"):
        load_checkpoint(state, "kite", n_heads=3)
