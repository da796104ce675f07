"""Small questions for the tests, at least one of every kind."""

from math import exp, isclose, sqrt

from tsattn_mini.explore.question import Option, Pair, Show, Slip, choice, match, number, order, several, written

QUERY, KEY = (1, 2, 3), (5, 7, 11)


def score() -> float:
    return sum(q * k for q, k in zip(QUERY, KEY, strict=True)) / sqrt(3)


ROW_SUM = choice(
    id="97-row-sum", text="What do the weights of *one row* of `A` sum to? </script>",
    hint="Write the **denominator** down.",
    options={"one": Option("1", "The row is divided by its own sum."),
             "keys": Option("the number of keys", "That would be weights of 1 each; they *share* 1."),
             "scores": Option("it depends on q & k", "They decide who gets how much.")},
    answer=lambda: "one" if abs(sum(w / 12 for w in (5, 4, 3)) - 1) < 1e-9 else "scores")

SCORE = number(
    id="97-score", text="q = (1, 2, 3), k = (5, 7, 11): what is q·k/√3?", answer=score, tolerance=0.01,
    right="52/√3.", wrong="Multiply entry by entry, add, divide by √3.",
    slips={"forgot the root": Slip(lambda: score() * sqrt(3), "That is `q·k` before the division by √3."),
           "divided by 3": Slip(52 / 3, "Divide by √3, not by 3.",
                                 slip="defects: Informer 3")})

SHIFT = number(
    id="97-shift", text="By how much does the level change?", answer=lambda: -12.5, tolerance=0.1, unit="%",
    right="It falls.", wrong="Divide the change by the level before.")


def kept_by_softmax() -> set[str]:
    """What of a row of scores its weights keep."""
    scores = (0.5, 2.0, 1.0)
    weights = [exp(s) / sum(map(exp, scores)) for s in scores]
    shifted = [exp(s + 7) / sum(exp(t + 7) for t in scores) for s in scores]
    holds = {"order": sorted(range(3), key=scores.__getitem__) == sorted(range(3), key=weights.__getitem__),
             "sum": isclose(sum(weights), sum(scores)),
             "ratio": isclose(weights[1] / weights[2], scores[1] / scores[2]),
             "shift": all(map(isclose, weights, shifted))}
    return {key for key, kept in holds.items() if kept}


KEPT = several(
    id="97-kept", lesson="97_samples", text="What survives `softmax`?", difficulty=1, claims=(3,),
    hint="Exponentials turn sums into products.", show=Show("views", n=4), answer=kept_by_softmax,
    options={"order": Option("the order of the scores", "exp rises, and all are divided by the same sum."),
             "sum": Option("their sum", "Weights always sum to 1.", slip="claim 3"),
             "ratio": Option("their ratios", "Ratios of weights come from *differences* of scores."),
             "shift": Option("what a shift of all scores leaves", "A common factor cancels.")})

CHAIN = order(
    id="97-chain", text="From states to weights & back", difficulty=1, answer=["project", "score", "scale", "softmax"],
    items={"softmax": Option("softmax", "It comes last: it makes the weights."),
           "score": Option("`q·k`", "Scores are made from queries and keys."),
           "scale": Option("divide by √d_k", "What is scaled is a score."),
           "project": Option("project to q and k", "There is no query before the projection.")},
    pairs=[Pair("softmax", "scale", "Weights that are divided afterwards no longer sum to 1.", slip="claim 3")],
    right="Project, score, scale, share.")

SHAPES = match(
    id="97-shapes", text="Which shape has what?",
    left={"scores": Option("`q @ k.mT` <of 2 and 5>", "One number per query and key."),
          "out": Option("`A @ v`", "One row per query."), "again": Option("`softmax(S)`", "The shape of its scores.")},
    right={"row": "2 × 3", "map": "2 × 5", "turned": "5 × 2"}, answer={"scores": "map", "out": "row", "again": "map"},
    pairs=[Pair("scores", "turned", "Rows are queries here, and there are 2 of them.", slip="released Sample")])

WHY = written(
    id="97-why", text="Why divide by √d_k?", difficulty=3, parts=["97-score"],
    model_answer="The variance of a sum of d_k products *grows* with d_k; divided by √d_k it stays 1.",
    rubric=["The variance grows with d_k.", "Large scores make `softmax` hard."])

KINDS = [KEPT, CHAIN, SHAPES, WHY]
SAMPLES = [ROW_SUM, SCORE, SHIFT, *KINDS]
