"""Engram: a memory that is looked up by the last few tokens, and a gate that decides how much of it to use.

Sources: "Conditional Memory via Scalable Lookup" (arXiv 2601.07372), sections 2.2 to 2.5, and the released
demonstration deepseek-ai/Engram. The eight steps, in the order of the forward pass:

1. compress the token ids (`vocabulary`);
2. take the n-grams that end at each token, 3. hash them (`hashing`);
4. look up one row per order and head, 5. project them to a key and a value (`memory`);
6. gate: the hidden state meets the key (`gate`);
7. convolve along the sentence, 8. write back (`memory`).

Axes besides those of the book's alphabet: `C` branches of the hidden state, `N` tokens of the longest n-gram, `G`
n-gram orders (2 to N), `R` width of what was looked up, G · H · E.
"""
