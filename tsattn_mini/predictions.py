"""What the presets of a lesson's explorer ask before they move, and what they answer afterwards."""

from collections.abc import Mapping
from typing import Any

from tsattn_mini.explore.presets import Preset

ASKED = {
    "tau-delta-width": {
        "τ → 0": ("What is left of A when τ is almost 0?",
                  "Nearly .2 everywhere: all scores shrink towards 0, and equal scores share."),
        "τ → 0, one δ": ("And if δ favours one key?",
                         "Rows almost alike, softmax(δ / √d_k): τ erased what they asked, δ stays."),
        "τ = 16": ("Row 2 scores 2, 2, 2, 0, 0. What does τ = 16 make of it?",
                   "A third each for keys 0, 1 and 2: ties stay ties at any τ."),
        "Constant δ": ("Every score grows by 7. What happens to A?",
                       "Nothing: softmax does not see what all keys of a row share."),
        "One δ": ("Key 3 gets 4 more in each row. Which rows does it win?",
                  "All three, with .48 in row 0, although none of them asked for it."),
        "τ negative": ("τ changes its sign. Who wins row 0?",
                       "Key 3, which had the lowest score: the order is turned round."),
        "One δ, wide head": ("The same δ at width 64. Who wins now?",
                             "Still key 3, but barely: √64 divides δ too, and .48 becomes .24."),
    },
    "kgc": {
        "All zero": ("The prior objects to every covariate. What is closed?",
                     "Nothing: the gate is the same everywhere, so it cancels."),
        "One zero": ("The look-alike is objected to. Does it stay out?", "Yes, at 0.00001: log δ costs it 13.8."),
        "… and loud data": ("States eight times as large. Is it still out?",
                            "No: the data buys it back, to .91. The gate is a price, not a wall."),
        "δ = 10⁻³": ("What does a zero cost here?", "Less: 6.9 instead of 13.8, and the look-alike has .008."),
        "A thousandth": ("Only the gate is on. How do .001, .002 and .001 share?",
                         "Almost as 1 : 2 : 1: only their ratio counts, and δ adds a trace."),
        "Times 500": ("Only the gate is on. And .5, 1 and .5? Which weights differ?",
                      "None that could be seen: δ alone makes a trace."),
        "Min–max victim": ("Only the gate is on; .92, .90, .88 after min–max. Was the last one weak?",
                           "No, but min–max made it 0, and its weight is 6.7 · 10⁻⁷."),
        "Released: .99 against .01": ("Only the gate is on. By what factor does the first win?",
                                      ".571 against .214, a factor of 2.66: softmax had flattened the prior."),
    },
}


def predict(id: str, presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Preset]:
    """The presets of the explorer `id`, each with its question and answer.

    Raises:
        ValueError: for an explorer or a preset that asks nothing here.
    """
    if id not in ASKED:
        raise ValueError(f"id: expected one of {', '.join(ASKED)}, got {id!r}")
    if presets.keys() != ASKED[id].keys():
        raise ValueError(f"presets: expected {', '.join(ASKED[id])}, got {', '.join(presets)}")
    return {label: Preset(values, *ASKED[id][label]) for label, values in presets.items()}
