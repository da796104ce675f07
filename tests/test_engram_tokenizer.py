import unicodedata
from collections import defaultdict

import numpy as np
import pytest
import torch

from tsattn_mini.engram import words
from tsattn_mini.engram.text import KINDS, USUAL, parts, surname, tokens, write
from tsattn_mini.engram.tokenizer import ACCENTED, PAD, Tokenizer

TOKENIZER = Tokenizer()


def cut(text):
    return [TOKENIZER.pieces[id] for id in TOKENIZER.encode(text)]


def plain(text):
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)).lower().strip()


def test_a_sentence_of_the_grammar_is_cut_into_its_words():
    assert cut("Near the river Ada says the old bank flooded.") == [
        "Near", " the", " river", " Ada", " says", " the", " old", " bank", " flooded", "."]


def test_the_longest_piece_wins_and_single_characters_are_left_for_the_rest():
    assert cut("naïveté") == ["naïve", "t", "é"]
    assert cut("unpainted!") == ["un", "painted", "!"]
    assert Tokenizer([PAD, "a", "ab", "abc", "c", "d"]).encode("abcabdab") == [3, 2, 5, 2]


def test_every_printable_character_can_be_spelled_and_read_back():
    text = "".join(map(chr, range(32, 127))) + ACCENTED
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text
    assert TOKENIZER.encode("") == []
    assert TOKENIZER.decode([]) == ""


def test_padding_comes_from_no_text_and_leaves_none():
    assert TOKENIZER.pieces[TOKENIZER.pad_id] == PAD
    assert TOKENIZER.pad_id not in TOKENIZER.encode(PAD)
    assert TOKENIZER.decode([*TOKENIZER.encode("Ada"), TOKENIZER.pad_id]) == "Ada"


@pytest.mark.parametrize("forms", ["Apple, apple,APPLE,ápple, ápple", " US, us", "Polish, polish", "naïve,naive"])
def test_variants_have_ids_of_their_own(forms):
    ids = [TOKENIZER.encode(form) for form in forms.split(",")]
    assert all(len(one) == 1 for one in ids)
    assert len({id for one in ids for id in one}) == len(ids)
    assert len({plain(form) for form in forms.split(",")}) == 1


def test_compression_has_much_to_merge():
    merged = {plain(piece) or piece for piece in TOKENIZER.pieces}
    assert len(merged) < 0.5 * len(TOKENIZER)


@pytest.mark.bad_input
@pytest.mark.parametrize(("text", "message"), [
    ("Ada 銀行", "got '銀' at place 4"), ("a\tb", r"got '\\t' at place 1"), (7, "expected a string, got int")])
def test_a_text_it_cannot_spell_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        TOKENIZER.encode(text)


@pytest.mark.bad_input
def test_ids_without_a_piece_are_refused():
    for id in (-1, len(TOKENIZER)):
        with pytest.raises(ValueError, match=f"got {id} at place 1"):
            TOKENIZER.decode([5, id])


@pytest.mark.bad_input
@pytest.mark.parametrize(("pieces", "message"), [
    ([], "at least one"), ([PAD, ""], "1 empty"), ([PAD, "a", "a"], "'a' twice")])
def test_pieces_that_make_no_tokenizer_are_refused(pieces, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer(pieces)


def test_every_word_of_the_grammar_is_one_piece():
    for row in write(400, seed=1):
        assert [len(TOKENIZER.encode(word)) for word, _ in row] == [1] * len(row)
        text = "".join(word for word, _ in row)
        assert TOKENIZER.encode(text) == [id for word, _ in row for id in TOKENIZER.encode(word)]


def test_a_row_of_tokens_reads_as_it_was_written():
    rows = write(5, seed=2)
    text = tokens(rows, TOKENIZER)
    for ids, kinds, row in zip(text.ids.tolist(), text.kinds.tolist(), rows, strict=True):
        assert TOKENIZER.decode(ids) == "".join(word for word, _ in row)
        assert [KINDS[k] for k in kinds if k >= 0] == [kind for _, kind in row]
        assert [k == -1 for k in kinds] == [id == TOKENIZER.pad_id for id in ids]


def ends(rows, kind, reach):
    """What follows the last `reach` words, over all tokens of one kind."""
    found = defaultdict(list)
    for row in rows:
        for at, (word, label) in enumerate(row):
            if label == kind:
                found[tuple(w for w, _ in row[at - reach:at])].append(word)
    return found


def test_fixed_words_follow_from_the_two_before_them():
    assert all(len(set(after)) == 1 for after in ends(write(3000, seed=3), "fixed", 2).values())
    assert surname("Ada", "Maria") == surname("Ada", "Maria") in words.LAST


def test_a_homograph_goes_on_in_two_ways_after_the_same_three_words():
    rows = write(6000, seed=4)
    usual, unusual = ends(rows, "usual", 3), ends(rows, "unusual", 3)
    both = set(usual) & set(unusual)
    assert len(both) > 50
    assert all(len({*usual[key], *unusual[key]}) == 2 for key in both)
    counts = [sum(map(len, found.values())) for found in (usual, unusual)]
    assert counts[0] / sum(counts) == pytest.approx(USUAL, abs=0.03)


def test_the_place_at_the_left_decides_about_a_homograph():
    for kind in ("usual", "unusual"):
        for before, after in ends(write(2000, seed=5), kind, 6).items():
            place, word = before[0].strip(), before[-1].strip()
            assert (place, after[0].strip()) == words.HOMOGRAPHS[word][kind == "unusual"]


def test_only_the_capital_decides_about_a_merged_word():
    found = ends(write(3000, seed=6), "capital", 1)
    assert all(len(set(after)) == 1 for after in found.values())
    merged = defaultdict(set)
    for (word,), after in found.items():
        merged[plain(word)].add(after[0])
    assert sorted(merged) == sorted(words.CAPITALS)
    assert all(len(after) == 2 for after in merged.values())


def test_the_three_parts_share_no_row():
    train, validation, test = parts(300, 50, 100)
    rows = torch.cat([part.ids for part in (train, validation, test)])
    assert len(rows) == 450 == len(rows.unique(dim=0))
    assert len(train.ids) == len(train.kinds) == 300
    assert torch.equal(parts.__wrapped__(300, 50, 100)[2].ids, test.ids)


@pytest.mark.bad_input
@pytest.mark.parametrize(("given", "message"), [
    ((0, 0, 0), "train, validation, test: expected at least one row in all, got 0"),
    (("a",), "train: expected a whole number, got 'a'"),
    ((1, 1, -1), "test: expected at least 0, got -1"),
    ((1, 1, 1, None), "seed: expected a whole number, got None")])
def test_a_text_without_rows_or_seed_is_refused(given, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        parts(*given)


@pytest.mark.bad_input
def test_a_seed_of_numpy_writes_the_same_text():
    assert write(3, np.int64(2)) == write(3, 2)
