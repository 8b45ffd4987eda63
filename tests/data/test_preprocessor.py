"""Both sides of a model: what is read and what is written."""

import json

import numpy as np
import pytest

from rnnlab.core.errors import RunError
from rnnlab.data.preprocessor import Preprocessor, Scaler, Side
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import BEGIN, END, SPECIAL, UNKNOWN, WRITTEN, Vocabulary

ENGLISH = Side(
    tokenizer=Tokenizer("words"), vocabulary=Vocabulary.build(["the", "cat", "sat"], [3, 2, 1], written=True)
)
CHINESE = Side(
    tokenizer=Tokenizer("chars"), vocabulary=Vocabulary.build(list("猫坐"), [2, 1], written=True), max_length=3
)


def test_a_written_text_ends_and_is_read_back():
    targets = ENGLISH.targets(["the cat", "a cat sat"])
    assert targets.offsets is not None
    assert targets.offsets.tolist() == [0, 3, 7]
    assert targets.values.tolist() == [4, 5, END, UNKNOWN, 5, 6, END]
    assert ENGLISH.written(targets.values[:3]) == "the cat"
    assert ENGLISH.written([4, 5, END, 6, 6]) == "the cat"  # what comes after the end isn't part of it
    assert ENGLISH.written([4, 5]) == "the cat"  # cut off before it ended
    cut = CHINESE.targets(["猫坐猫坐"])
    assert cut.values.tolist() == [4, 5, 4, END]
    assert CHINESE.written(cut.values) == "猫坐猫"


def test_only_what_is_written_begins_and_ends():
    assert Vocabulary.build(["a"], [1]).words == (*SPECIAL, "a")
    written = Vocabulary.build(["a", "</s>", "<s>"], [1, 9, 9], written=True)
    assert written.words == (*WRITTEN, "a")
    assert (written.words[BEGIN], written.words[END]) == ("<s>", "</s>")
    assert written.encode(["</s>", "<s>", "<pad>", "a"]) == [UNKNOWN, UNKNOWN, UNKNOWN, 4]  # nobody can type an end
    assert Vocabulary.from_dict(written.to_dict()) == written
    with pytest.raises(ValueError, match="begins with <pad>, <unk>, <s>, </s>"):
        Vocabulary.from_dict({"words": [*SPECIAL, "a", "b"], "written": True})


def test_both_sides_come_back_from_json():
    both_sides = Preprocessor(tokenizer=ENGLISH.tokenizer, vocabulary=Vocabulary((*SPECIAL, "cat")), writes=CHINESE)
    again = Preprocessor.from_json(both_sides.to_json())
    assert again == both_sides
    assert again.writes == CHINESE
    assert "writes" not in Preprocessor(labels=("a", "b"), scaler=Scaler((0.0,), (1.0,))).to_json()


def test_what_does_not_fit_is_refused():
    series = Preprocessor(labels=("a", "b"), scaler=Scaler((0.0, 0.0), (1.0, 2.0)))
    assert series.features == 2
    read, known = series.encode([np.ones((3, 2))])
    assert read.values.tolist() == [[1, 0.5]] * 3
    assert known.tolist() == [1]
    values = json.loads(series.to_json())
    with pytest.raises(ValueError, match="'features' is 3, but 2 are scaled"):
        Preprocessor.from_json(json.dumps(values | {"features": 3}))
    with pytest.raises(RunError, match="has format 2; this version of rnnlab reads 1"):
        Preprocessor.from_json(json.dumps(values | {"format": 2}))
