"""Three small questions for the tests: one choice, one number, one number with a sign and a unit."""

from math import sqrt

from tsattn_mini.explore.question import Option, Slip, choice, number

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

SAMPLES = [ROW_SUM, SCORE, SHIFT]
