import dataclasses
import os
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.data import sequences, splits, text
from rnnlab.data.encoded import EncodedData, divide, encode
from rnnlab.data.examples import Examples
from rnnlab.data.formats import base as formats_base
from rnnlab.data.reading import read_examples
from rnnlab.data.sequences import Sequences, gather_rows, offsets_of
from rnnlab.data.store import load, save
from rnnlab.data.tokenizers import Tokenizer


def reviews(rows: int = 60) -> Examples:
    texts = [f"{'Good' if i % 2 else 'bad'} film number {i}, isn't it?" for i in range(rows)]
    return Examples("reviews.csv", ["pos" if i % 2 else "neg" for i in range(rows)], texts=texts)


def waves(rows: int = 40, channels: int = 3) -> Examples:
    rng = np.random.default_rng(0)
    series = [rng.normal(5, 2, size=(int(n), channels)).astype(np.float32) for n in rng.integers(2, 9, rows)]
    for array in series:
        array[:, 0] = 0.1  # never changes
    return Examples("waves.ts", ["up", "down"] * (rows // 2), series=series)


def parts_of(data: EncodedData) -> dict[str, Sequences]:
    return {"train": data.train, "valid": data.valid, "test": data.test}


def tokens_of(data: EncodedData, part: Sequences, row: int) -> list[str]:
    assert data.vocabulary is not None
    return [data.vocabulary.words[i] for i in part.values[part.offsets[row] : part.offsets[row + 1]]]


# --- flat rows ----------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.data(), st.none() | st.integers(1, 4))
def test_gathered_rows_are_the_rows(lengths, data, most):
    rows = np.array(data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=8)), np.int64)
    offsets = offsets_of(np.array(lengths))
    values = np.arange(2 * offsets[-1]).reshape(-1, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequences, "BLOCK", 4)  # several blocks, and rows longer than one
        found, own = gather_rows(values, offsets, rows, most)
    expected = [values[offsets[row] : offsets[row + 1]][:most] for row in rows]
    assert found.tolist() == [step.tolist() for row in expected for step in row]
    assert np.diff(own).tolist() == [len(row) for row in expected]


def test_memory_is_a_small_multiple_of_the_text(tmp_path, monkeypatch):
    """No object a row: that alone would be as much again. What is allowed leaves room for the ids and their offsets."""
    for module, name, size in (
        (sequences, "BLOCK", 1024),
        (text, "BLOCK", 1024),
        (formats_base, "PORTION", 64),
        (splits, "BLOCK", 64),
    ):
        monkeypatch.setattr(module, name, size)  # as small beside this file as they are beside a large one
    words = [f"{'word' * (n % 3)}{n}" for n in range(500)]
    path = tmp_path / "reviews.csv"
    rows = (" ".join(words[(row * 31 + n * n) % 500] for n in range(14)) for row in range(5_000))
    path.write_text("text,label\n" + "".join(f"{words},{'np'[row % 2]}\n" for row, words in enumerate(rows)))
    tracemalloc.start()
    try:
        data = encode({"train": read_examples(path)})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(data.train) == 3_500
    assert peak < 5 * path.stat().st_size  # 7 with an object a row


# --- texts --------------------------------------------------------------------------------------------------------


def test_rows_arrive_whole_with_their_labels():
    examples = reviews()
    data = encode({"train": examples})
    assert data.labels == ("neg", "pos")
    assert [len(part) for part in parts_of(data).values()] == [42, 6, 12]
    assert data.train.values.dtype == np.int32
    assert data.train.targets.dtype == data.train.offsets.dtype == data.train.groups.dtype == np.int64
    known = {
        tuple(Tokenizer("words").tokenize(t)): label
        for t, label in zip(examples.texts or [], examples.labels, strict=True)
    }
    for row in range(len(data.train)):
        assert known[tuple(tokens_of(data, data.train, row))] == data.labels[data.train.targets[row]]


def test_the_vocabulary_comes_from_the_training_rows_alone():
    train = reviews()
    test = Examples("test.csv", ["pos"], texts=["good onlyhere film"])
    data = encode({"train": train, "test": test})
    assert data.vocabulary is not None
    assert "onlyhere" not in data.vocabulary.words
    assert tokens_of(data, data.test, 0) == ["good", "<unk>", "film"]
    assert data.profile["unknown"]["test"] == pytest.approx(1 / 3)
    seen = {token for row in range(len(data.train)) for token in tokens_of(data, data.train, row)}
    assert set(data.vocabulary.words[2:]) == seen  # the words of validation rows aren't counted either
    assert data.profile["unknown"]["valid"] > 0


def test_vocabulary_limits_are_counted_in_training_rows():
    data = encode({"train": reviews()}, min_count=5)
    assert data.vocabulary is not None
    assert {"film", "is", "n't", "good"} <= set(data.vocabulary.words)
    assert not any(word.isdecimal() for word in data.vocabulary.words)
    assert data.profile["unknown"]["train"] > 0
    small = encode({"train": reviews()}, max_size=5)
    assert small.vocabulary is not None
    assert len(small.vocabulary) == 5
    assert small.train.values.max() == 4


def test_long_rows_are_cut_and_the_profile_says_so():
    whole, cut = encode({"train": reviews()}), encode({"train": reviews()}, max_length=3)
    assert cut.train.lengths.max() == 3
    assert cut.max_length == cut.profile["max_length"] == 3
    assert cut.profile["cut_rows"] == 60
    assert cut.profile["lengths"] == whole.profile["lengths"]
    assert tokens_of(cut, cut.test, 0) == tokens_of(whole, whole.test, 0)[:3]
    assert cut.vocabulary is not None
    assert "it" not in cut.vocabulary.words  # it stands behind the cut


def test_given_splits_are_respected_and_overlap_is_reported():
    train, valid = reviews(), Examples("valid.csv", ["neg", "pos"], texts=["fresh", "GOOD film number 1, isn't it?"])
    data = encode({"train": train, "valid": valid}, test_fraction=0.5)
    assert [len(part) for part in parts_of(data).values()] == [30, 2, 30]
    everything = encode({"train": train, "valid": valid, "test": valid})
    assert len(everything.train) == 60
    assert everything.profile["overlap"] == {"valid": 1, "test": 1}
    assert data.valid.groups[1] in {*data.train.groups.tolist(), *data.test.groups.tolist()}


def test_groups_never_straddle_and_are_numbers():
    examples = dataclasses.replace(reviews(), groups=[f"g{i // 4}" for i in range(60)])
    data = encode({"train": examples})
    homes = [set(part.groups.tolist()) for part in parts_of(data).values()]
    assert sum(map(len, homes)) == len(set().union(*homes)) == 15
    assert Counter(data.train.groups.tolist()).most_common(1)[0][1] == 4


def test_the_split_depends_on_its_seed_and_not_on_the_tokenizer():
    plain = encode({"train": reviews()})
    other = encode({"train": reviews()}, tokenizer=Tokenizer("chars", lowercase=False), max_length=5)
    assert plain.test.groups.tolist() == other.test.groups.tolist()
    assert encode({"train": reviews()}, split_seed=1).test.groups.tolist() != plain.test.groups.tolist()


def test_tags_are_numbered_where_they_are_given():
    test = Examples("test.csv", ["pos", "neg"], texts=["x", "y"], tags=["short", "negation"])
    data = encode({"train": reviews(), "test": test})
    assert data.tag_names == ("negation", "short")
    assert data.test.tags is not None
    assert data.test.tags.tolist() == [1, 0]
    assert data.train.tags is None


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["10", "9", "-1", "2.5"], ("-1", "2.5", "9", "10")),
        (["class 10", "class 9", "b2"], ("b2", "class 9", "class 10")),
        (["b", "a", "10"], ("10", "a", "b")),
        (["1", "01", "２"], ("01", "1", "２")),
    ],
)
def test_labels_are_in_their_natural_order(labels, order):
    examples = Examples("l", labels * 3, texts=[str(i) for i in range(3 * len(labels))])
    assert encode({"train": examples}).labels == order


def test_a_division_is_the_one_that_was_encoded():
    """With valid given and test split off, so that rows are counted through two parts."""
    parts = {"train": reviews(), "valid": Examples("valid.csv", ["neg", "pos"], texts=["fresh one", "quite Fine"])}
    data = encode(parts, test_fraction=0.3, split_seed=4)
    divided = divide(parts, test_fraction=0.3, split_seed=4)
    assert divided.texts("valid") == ["fresh one", "quite Fine"]
    assert data.vocabulary is not None
    for name, part in parts_of(data).items():
        texts = divided.texts(name) or []
        assert [tokens_of(data, part, row)[:2] for row in range(len(part))] == [
            [word if word in data.vocabulary.words else "<unk>" for word in text.lower().split()[:2]] for text in texts
        ]
        assert divided.targets[divided.rows[name]].tolist() == part.targets.tolist()
        assert divided.units[divided.rows[name]].tolist() == part.groups.tolist()
    assert divide({"train": waves()}).texts("test") is None


# --- series -------------------------------------------------------------------------------------------------------


def test_series_are_standardised_by_the_training_rows():
    examples = waves()
    data = encode({"train": examples})
    assert data.features == 3
    assert data.vocabulary is None
    assert data.train.values.dtype == np.float32
    np.testing.assert_allclose(data.train.values.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(data.train.values.std(axis=0), [0, 1, 1], atol=1e-5)
    assert data.scaler is not None
    assert data.scaler.std[0] == 1
    assert abs(data.test.values[:, 1].mean()) > 1e-4  # not by its own statistics
    assert examples.series is not None
    originals = {data.scaler.apply(array).tobytes() for array in examples.series}
    rows = [data.test.values[a:b].tobytes() for a, b in zip(data.test.offsets, data.test.offsets[1:], strict=False)]
    assert set(rows) <= originals


def test_series_that_cannot_be_used():
    good = waves()
    assert good.series is not None
    for bad, message in [
        (np.zeros((3, 2), np.float32), r"waves\.ts, line 9: 2 channels, where the rows before have 3"),
        (np.full((3, 3), np.nan, np.float32), r"waves\.ts, line 9: a value is missing or infinite"),
        (np.zeros((0, 3), np.float32), r"waves\.ts, line 9: a series is steps by channels"),
    ]:
        series = [*good.series[:7], bad, *good.series[8:]]
        with pytest.raises(DataError, match=message):
            encode({"train": dataclasses.replace(good, series=series, lines=np.arange(2, 42))})
    with pytest.raises(ConfigError, match="min_count: has no meaning for series"):
        encode({"train": good}, min_count=2)


# --- errors -------------------------------------------------------------------------------------------------------


def test_a_label_that_train_lacks_is_named_with_its_line():
    test = Examples("test.csv", ["pos", "postive"], texts=["x", "y"], lines=np.array([2, 3]))
    with pytest.raises(DataError, match=r"test\.csv, line 3: the label 'postive' of test isn't in train.*'neg', 'pos'"):
        encode({"train": reviews(), "test": test})


def test_parts_that_cannot_be_used():
    with pytest.raises(DataError, match=r"'train' is needed.*got test"):
        encode({"test": reviews()})
    with pytest.raises(DataError, match=r"none\.csv: no usable rows for valid"):
        encode({"train": reviews(), "valid": Examples("none.csv", [], texts=[])})
    with pytest.raises(DataError, match="both be texts or both be series"):
        encode({"train": reviews(), "test": waves()})
    with pytest.raises(DataError, match="every row has the label 'x'"):
        encode({"train": Examples("one.csv", ["x"] * 9, texts=list("abcdefghi"))})
    with pytest.raises(ConfigError, match=r"max_length: must be at least 1 \(got 0\)"):
        encode({"train": reviews()}, max_length=0)


# --- real data ----------------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.skipif("RNNLAB_DATA" not in os.environ, reason="RNNLAB_DATA is not set")
def test_chinese_titles_end_to_end(tmp_path):
    folder = Path(os.environ["RNNLAB_DATA"]) / "thucnews"
    parts = {}
    for name, file in (("train", "train.txt"), ("valid", "dev.txt"), ("test", "test.txt")):
        lines = (folder / file).read_text(encoding="utf-8").splitlines()
        texts, labels = zip(*(line.split("\t") for line in lines if line), strict=True)
        parts[name] = Examples(file, list(labels), texts=list(texts))
    data = encode(parts)
    assert data.labels == tuple("0123456789")
    assert [len(part) for part in parts_of(data).values()] == [90_526, 10_000, 10_000]
    assert data.tokenizer == Tokenizer("chars")
    assert data.profile["unknown"]["test"] < 0.001
    assert "".join(tokens_of(data, data.train, 0)) == parts["train"].texts[0].lower()
    save(data, tmp_path / "kept")
    found = load(tmp_path / "kept")
    assert found is not None
    np.testing.assert_array_equal(found.train.values, data.train.values, strict=True)
    assert found.vocabulary == data.vocabulary
