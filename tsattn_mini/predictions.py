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
    "five-scores-compete": {
        "One leads by 1": ("One score is 1, four are 0. What is its share?", ".40: e against four ones."),
        "Everyone plus 5": ("Each of the five scores grows by 5. What happens to the largest weight, .56?",
                            "Nothing: only the differences of scores count."),
    },
    "attention-four-by-four": {
        "Nobody asks": ("Query 0 becomes (0, 0). Which key does it look at?",
                        "All four alike, a quarter each: a softmax has no word for nobody."),
        "Twin keys": ("Key 1 becomes a copy of key 0, which has .70 of row 0. What do the two have then?",
                      ".46 each, .92 together: a copy gets a vote of its own."),
        "Causal": ("The mask hides what comes later. What is left to query 0?",
                   "Itself, with weight 1, whatever it asks."),
    },
    "six-handles-twelve-scores": {
        "No prior at all in row 2": ("The prior of row 2 is 0 for every key. What is closed?",
                                     "Nothing, a quarter each as before: what all keys pay, none pays."),
        "τ = 3": ("Row 2 scores all keys alike. What does τ = 3 make of it?",
                  "A quarter each, as before: τ has no difference to stretch."),
    },
    "what-a-window-remembers": {
        "A thousand times": ("The second window is 1000 times the first. How far apart are the two x_norm?",
                             "Not at all: σ is 1000 times as large, and x_norm is measured in σ."),
        "One outlier": ("One value jumps to 161. What becomes of the other eleven in x_norm?",
                        "All end between -.43 and -.10: one value made σ ten times as large."),
        "Tiny: ε shows": ("The second window is a thousandth of the first. Is its x_norm still the same?",
                          "No, .67 as large: σ is now so small that ε counts beside it."),
    },
    "five-columns-one-temperature": {
        "Swapped": ("Two columns of the file change places. Does τ notice?",
                    "Yes, 1.048 instead of 1.004: the kernel joins neighbouring columns, and these have new ones."),
        "Times 100": ("All columns grow a hundredfold. What becomes of τ, now 1.004?",
                      "0.004, and A is flat: log τ grows with the numbers, here to -5.5."),
        "Collapse: one key": ("10 000 times as large, two columns swapped. The mean of all keys, or one key?",
                              "One key: log τ is 526. In the order of the file it was -565, the mean."),
    },
    "a-driver-and-a-stranger": {
        "One hour late": ("The news of the driver comes an hour late. Its |r| was .87. And now?",
                          ".02, less than the stranger's: r looks at one hour only. F looks back, and sees 119."),
        "Common trend": ("All three series rise together. What is |r| of the stranger, who drives nothing?",
                         ".70: a common trend is enough."),
        "Clocks six hours apart": ("With one daily clock the stranger has |r| = .58. And six hours behind?",
                                   ".01: at a quarter of a day's delay two equal clocks look unrelated."),
    },
    "four-readings-of-norm": {
        "One perfect": ("One driver is perfect, three are worth nothing. What share does softmax leave the first?",
                        ".48, only e times a stranger's .17: a hint, no gate."),
        "Only noise": ("Nothing but noise, divided by its largest. What does the strongest noise look like?",
                       "Like a perfect driver: S_norm is 1, as for any row."),
    },
    "mean-or-median": {
        "Median, .7": ("Seven of ten truths are at +1. The flow follows the median: what share arrives there?",
                       ".90: the median sides with the majority, and sharpens it."),
        "One step, mean": ("One single step with the mean velocity. Where do the particles land?",
                           "All at .4, the mean of the target, where no truth ever is."),
    },
    "particles-on-their-way": {
        "Error, narrow": ("The source is a tenth as wide as the target, and every velocity is wrong by 1. How far off "
                          "is the end?", "2.56: on the way out of a narrow source an error grows."),
        "Error, wide": ("The same error, and a source ten times as wide. How far off now?",
                        ".26: on the way into a narrow target it shrinks. Errors do not always snowball."),
        "One step": ("One step instead of ten. How wide is the cloud that arrives?",
                     "0: from everywhere one step leads to the mean."),
    },
    "turn-omega": {
        "γ = 1.4": ("ω = 2.4 leans on the condition. The truth has mean 1 and spread .5. What arrives?",
                    "Mean 1.37, spread .14: past the truth, and far too sure. The score is worse."),
        "Dirt, ω = .4": ("The condition is wrong by 1, which costs a score of .78 at ω = 1. What about ω = .4?",
                         ".30, nearly that of the truth: a polluted condition should be heard less."),
        "Below zero": ("What does ω = -.5 do?", "It flees from the condition: mean -1.01, spread 1.55."),
    },
    "from-a-sentence-to-rows": {
        "Polish, polish": ("Polish polish polish Polish: how many compressed ids are that?",
                           "One, 154: people and shoe cream go to the same rows."),
        "Three rows a head": ("Tables of 3 and 5 rows: 13 and 9 pairs of bigrams meet by head. How many in both?",
                              "3: to be taken for another, a bigram must meet it in every head."),
    },
    "angle-gate": {
        "Unrelated": ("State and memory stand at right angles: nothing in common. Where is the gate?",
                      "At .50: unrelated is half open, not closed."),
        "3° off, wide": ("Width 1024, only 3° off a right angle. The gate?",
                         ".84: the wider the state, the less it takes."),
        "Opposite, width 4": ("The memory contradicts the state, at width 4. Is the gate shut?",
                              "No, .12: the score cannot fall below -√4."),
    },
    "which-tokens-the-convolution-reads": {
        "Dilation 4: gaps": ("3-grams, four taps, dilation 4 instead of 3: what does it win?",
                             "Reach, and three tokens in between that nobody reads."),
        "Dilation 2: overlaps": ("And dilation 2: how many different tokens are read?",
                                 "9 instead of 12: three are read twice."),
    },
    "what-a-small-α-leaves-of-both-paths": {
        "The released floor": ("α = .0035 leaves .35 % of the direct path. How much of the convolution?",
                               "72 %: it normalises first, and what is normalised has forgotten α."),
        "Remedy at the output": ("The output of the convolution is multiplied by α = .01. What is left of it?",
                                 ".9 %: now both paths close."),
    },
    "who-asks": {
        "Another draw": ("Queries and keys stay, only the sampled keys change. Do the same three rows ask?",
                         "No: row 1, a short query, takes the place of row 2. Chance met it with other keys."),
        "All alike": ("Every query is (0, 0). Who is chosen, and what does it change?",
                      "The first three, and nothing: every row is the mean, chosen or not."),
    },
    "heads-as-time": {
        "Released": ("The released code reads heads as time. How far ahead does output 0 see, mask or no mask?",
                     "Three steps: its row has weights on 0 to 3."),
    },
    "one-wave-three-kept-bins": {
        "As released": ("Nine turns go in, and bin 9 is kept, in slot 1. What does the released block give back?",
                        "One turn: it writes the kept bins to places 0, 1 and 2."),
        "Not kept": ("Twelve turns, and bins 4, 9 and 20 are kept. What comes back?", "Nothing at all."),
    },
    "what-a-few-bins-keep-of-a-week": {
        "Lowest 7": ("The lowest 8 of 84 bins keep .57 of this week. And the lowest 7?",
                     ".03: the eighth is bin 7, the day itself."),
        "Random 64": ("64 of 84 bins, drawn at random. More than the lowest 22 keep?",
                      "No, .78 against .86: what counts is which."),
    },
    "variables-ask": {
        "Rentals × 3 + 2": ("Rentals become 3 x + 2. Whose rows of A change?",
                            "Nobody's: every variable is normalised by itself."),
        "Swap": ("Rentals and wind change places. What becomes of A?",
                 "Rows and columns change places with them: the order of variables means nothing."),
    },
    "who-hears": {
        "Row 0 up by 2": ("Driver 0 rises by 2. Whose tokens move?", "Nobody's: its level was taken off before."),
        "Drivers traded": ("The two drivers change places. What becomes of the forecast?",
                           "Nothing: only their weights in the cross-attention trade places."),
    },
    "forecast-chain": {
        "Ten times": ("The window is ten times as large. Which of x_norm, τ and y move?",
                      "τ and y: τ is made from the raw window, and y is given its size back. x_norm stands still."),
        "Level 5": ("All series rise by 5. Does σ move? Does τ?",
                    "σ does not, τ does: its Projector reads the raw window besides σ."),
    },
    "who-follows": {
        "Ten times": ("All numbers ten times as large. Whose forecast follows?",
                      "That of iTransformer and TimeXer alone: gap 0."),
        "DUET": ("The level rises by .5, and DUET normalises. Does its forecast follow?",
                 "No: its router sees the raw window, and chooses other experts."),
    },
}


def predict(id: str, presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Preset]:
    """The presets of the explorer `id`, those that ask something with question and answer.

    Raises:
        ValueError: for an explorer that asks nothing here, and where a preset that asks is missing.
    """
    if id not in ASKED:
        raise ValueError(f"id: expected one of {', '.join(ASKED)}, got {id!r}")
    if missing := ASKED[id].keys() - presets.keys():
        raise ValueError(f"presets: expected {', '.join(ASKED[id])} among them, got {', '.join(presets)}; "
                         f"missing: {', '.join(sorted(missing))}")
    return {label: Preset(values, *ASKED[id].get(label, ())) for label, values in presets.items()}
