import csv
import io
import json
import os
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.errors import DataError, RnnlabError
from rnnlab.data.classes import check_classes
from rnnlab.data.examples import Examples
from rnnlab.data.formats.base import BadRow
from rnnlab.data.reading import read_examples


@pytest.fixture
def write(tmp_path):
    def write(content: str | bytes, name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def reading_error(path, **options) -> str:
    with pytest.raises(DataError) as caught:
        read_examples(path, **options)
    return str(caught.value)


def table_of(names: str, *rows: str, times: int = 1) -> str:
    return "\n".join([names, *rows * times]) + "\n"


# Columns


@pytest.mark.parametrize(
    ("names", "text", "label"),
    [
        ("text,label", "text", "label"),
        ("Sentiment,Phrase", "Phrase", "Sentiment"),
        ("REVIEW,Class", "REVIEW", "Class"),
        ("评论,类别", "评论", "类别"),
        ("内容,标签", "内容", "标签"),
        ("sentence,rating", "sentence", "rating"),
        ("label,whatever", "whatever", "label"),
    ],
)
def test_well_known_names_are_found(write, names, text, label):
    swapped = names.startswith(label)
    rows = ["good,words" if swapped else "words,good", "bad,other" if swapped else "other,bad"]
    examples = read_examples(write(table_of(names, *rows)))
    assert examples.texts == ["words", "other"]
    assert examples.labels == ["good", "bad"]
    assert examples.notes == (f"text column '{text}', label column '{label}'; --text and --label choose others",)


def test_a_label_beats_a_rating_and_an_id_is_never_a_label(write):
    names = "id,SentenceId,rating,label,text"
    examples = read_examples(write(table_of(names, "1,1,7,pos,a b", "2,1,3,neg,c d")))
    assert examples.labels == ["pos", "neg"]
    ids = reading_error(write(table_of("SentenceId,user_id,text", "1,8,a b", "1,8,c d", "2,9,e", "2,9,f")))
    assert "which column is the label? no column looks like it" in ids


def test_columns_are_told_apart_by_shape(write):
    rows = [f"{n},the film number {n},{'ham' if n % 2 else 'spam'},2020-01-{n:02}" for n in range(1, 21)]
    examples = read_examples(write(table_of("n,v2,v1,day", *rows)))
    assert examples.texts is not None
    assert examples.texts[0] == "the film number 1"
    assert examples.labels[:2] == ["ham", "spam"]
    chinese = [f"这是第{n}条新闻标题,{n % 3}" for n in range(12)]
    examples = read_examples(write(table_of("甲,乙", *chinese)))
    assert set(examples.labels) == {"0", "1", "2"}


def test_classes_of_several_words_are_not_taken_for_texts(write):
    rows = [f"the film number {n},{'very good indeed' if n % 2 else 'not so good'}" for n in range(20)]
    assert set(read_examples(write(table_of("a,b", *rows))).labels) == {"very good indeed", "not so good"}


def test_doubt_is_an_error_that_shows_the_columns(write):
    message = reading_error(write(table_of("title,text,label", "a,b c,1", "d,e f,2")))
    assert "a.csv: which column is the text? it could be 'title', 'text'; pass --text NAME" in message
    assert "'label': 2 distinct, for example '1'" in message
    rows = [f"film number {n} words,{n % 2},{n % 3}" for n in range(12)]
    message = reading_error(write(table_of("x,y,z", *rows)))
    assert "which column is the label? it could be 'y', 'z'; pass --label NAME" in message
    assert "'x': 12 distinct, for example 'film number 0 words'" in message
    chosen = read_examples(write(table_of("x,y,z", *rows)), label="z")
    assert set(chosen.labels) == {"0", "1", "2"}
    assert chosen.notes == ("text column 'x', label column 'z'; --text and --label choose others",)
    assert read_examples(write(table_of("x,y,z", *rows)), text="x", label="z").notes == ()


def test_a_column_that_does_not_exist(write):
    path = write(table_of("text,Sentiment,group", "a,b,c"))
    message = reading_error(path, label="sentiment")
    assert "no column 'sentiment' for the label; did you mean 'Sentiment'?" in message
    assert "columns: 'text', 'Sentiment', 'group'" in message
    assert "for the text" in reading_error(path, text="nothing")
    assert "for the group" in reading_error(path, group="nothing")
    assert "for the tag" in reading_error(path, tag="nothing")
    assert "can't be both" in reading_error(path, text="text", label="text")


def test_a_file_without_header_is_not_taken_for_one_in_silence(write):
    rows = [f"第{n}条新闻的标题很长\t{n % 3}" for n in range(12)]
    path = write("\n".join(rows), "a.txt")
    assert "line 1 is taken as the header, but reads like a row: '0' is also a value" in reading_error(path)
    examples = read_examples(path, columns=("text", "label"))
    assert len(examples) == 12
    assert examples.lines is not None
    assert examples.lines.tolist() == list(range(1, 13))


# Rows


def test_everything_of_a_row_is_kept_together(write):
    rows = ["  a text , pos ,g1,t1", "b,neg,g1,", "c,pos , g2,t2"]
    path = write(table_of("text,label,sentence,kind", *rows))
    examples = read_examples(path, text="text", label="label", group="sentence", tag="kind")
    assert examples.texts == ["  a text ", "b", "c"]
    assert examples.labels == ["pos", "neg", "pos"]
    assert examples.groups == ["g1", "g1", "g2"]
    assert examples.tags == ["t1", "", "t2"]
    assert examples.lines is not None
    assert examples.lines.tolist() == [2, 3, 4]
    assert examples.source == str(path)
    assert len(examples.digest) == 64
    assert (examples.series, examples.skipped) == (None, ())


def test_bad_rows_are_one_error_and_can_be_skipped(write):
    rows = ["a,pos,1", "  ,neg,1", "b,,1", "c,neg", "\u3000,,", "d,pos, ", "e,neg,2"]
    path = write(table_of("text,label,who", *rows))
    bad = [(3, "no text"), (4, "no label"), (5, "2 fields instead of 3"), (6, "no text"), (7, "no group")]
    assert reading_error(path, group="who").split("\n") == [
        f"{path}: 5 of 7 rows can't be used",
        *(f"{path}:{line}: {reason}" for line, reason in bad),
        "mend these rows, or pass --skip-bad to leave them out",
    ]
    examples = read_examples(path, group="who", tag="who", skip_bad=True)
    assert examples.skipped == tuple(BadRow(line, reason) for line, reason in bad)
    assert examples.texts == ["a", "e"]
    assert examples.groups == examples.tags == ["1", "2"]
    assert examples.lines is not None
    assert examples.lines.tolist() == [2, 8]
    assert "5 bad rows skipped" in examples.notes


def test_a_blank_text_here_and_there_is_left_out_and_counted(write):
    rows = [f"film number {n},{n % 2}" for n in range(300)]
    few = read_examples(write(table_of("text,label", *rows, " ,1", ",0")))
    assert len(few) == 300
    assert "rows without a text, which are left out: 2 of 302" in few.notes
    assert [row.line for row in few.skipped] == [302, 303]
    many = reading_error(write(table_of("text,label", *rows[:99], ",1")))
    assert "1 of 100 rows can't be used" in many
    assert "no label" in reading_error(write(table_of("text,label", *rows, " ,1", "film,")))  # that isn't everyday


def test_at_most_twenty_bad_rows_are_listed(write):
    path = write(table_of("text,label", "a,1", "lonely", times=1021))
    message = reading_error(path)
    assert message.count("1 field instead of 2") == 20
    assert "\n... and 1,001 more\n" in message
    assert f"{path}:3: " in message


def test_an_open_quote_is_listed_and_the_rest_is_read(write):
    path = write(table_of("text,label", '"a, b",1', '"open,2', "c,1", '"d, e",2'))
    assert f"{path}:3: the quote that opens here isn't closed" in reading_error(path)
    assert read_examples(path, skip_bad=True).texts == ["a, b", "c", "d, e"]


def test_nothing_to_read(write):
    assert "the file is empty" in reading_error(write(""))
    assert "there are no rows, only the header" in reading_error(write("text,label\n"))
    assert "2 of 2 rows can't be used" in reading_error(write("text,label\n1\n2\n"))
    assert "all 2 rows are bad" in reading_error(write("text,label\n1\n2\n"), skip_bad=True)
    assert "all 2 rows are bad" in reading_error(write("text,label\n ,1\n ,2\n"), skip_bad=True)
    assert "supported: .csv, .tsv, .txt, .jsonl, .ndjson, .parquet, .xlsx, .ts" in reading_error(write("x", "a.doc"))


# Labels


def test_a_label_column_of_free_text_or_measurements_is_refused(write):
    rows = [f"film {n},because of {n}" for n in range(60)]
    message = reading_error(write(table_of("text,label", *rows)))
    assert "the label column 'label' has 60 different values in 60 rows: that looks like free text" in message
    rows = [f"film {n},{n / 7:.3f}" for n in range(60)]
    assert "regression isn't supported" in reading_error(write(table_of("text,label", *rows)))
    rows = [f"film {n},{n % 1001}" for n in range(6000)]
    assert "1,001 different values" in reading_error(write(table_of("text,label", *rows)))
    rows = [f"film {n},{n % 60}" for n in range(300)]
    assert len(read_examples(write(table_of("text,label", *rows)))) == 300


def test_check_classes():
    check_classes(["a", "b", "a", "b"], "train")
    for labels, message in [
        (["a"] * 40, "train: all 40 rows have the class 'a'; a classifier needs at least two classes"),
        ([], "there are no rows"),
        (["a", "a", "b"], "train: the class 'b' has only one row"),
        (["a", "a", "c", "b"], "train: 2 classes have only one row: 'b', 'c'"),
    ]:
        with pytest.raises(DataError) as caught:
            check_classes(labels, "train")
        assert message in str(caught.value)


# Series and unlabelled files


def test_series_files(write):
    header = "@timeStamps false\n@classLabel true a b\n@data\n"
    path = write(header + "1,2:3,4:a\n?,2:3,4:b\n5:6:b\n", "a.ts")
    assert "a.ts:5: channel 1, step 1: '?' isn't a number (a missing value)" in reading_error(path)
    examples = read_examples(path, skip_bad=True)
    assert examples.texts is None
    assert examples.series is not None
    assert [array.shape for array in examples.series] == [(2, 2), (1, 2)]
    assert examples.labels == ["a", "b"]
    assert examples.lines is not None
    assert examples.lines.tolist() == [4, 6]
    assert "has no columns" in reading_error(path, text="x")
    assert "has no columns" in reading_error(path, columns=("x", "y"))
    assert "without labels" in reading_error(write("@classLabel false\n@data\n1,2\n", "b.ts"))
    assert "without labels" in reading_error(write('{"x": [1, 2]}', "b.jsonl"))


def test_json_series_and_json_texts(write):
    objects = [{"signal": [n, n + 1], "label": n % 2, "who": f"p{n}"} for n in range(4)]
    path = write("\n".join(map(json.dumps, objects)), "a.jsonl")
    examples = read_examples(path, group="who")
    assert examples.series is not None
    np.testing.assert_array_equal(examples.series[3], np.array([[3], [4]], np.float32))
    assert examples.labels == ["0", "1", "0", "1"]
    assert examples.groups == ["p0", "p1", "p2", "p3"]
    assert examples.notes == ("values column 'signal', label column 'label'; --text and --label choose others",)
    with_text = [{**found, "text": "some words"} for found in objects]
    path = write("\n".join(map(json.dumps, with_text)), "b.jsonl")
    assert read_examples(path).texts == ["some words"] * 4
    assert read_examples(path, text="signal").series is not None
    assert read_examples(path, text="who").texts == ["p0", "p1", "p2", "p3"]


# Whatever the bytes, the answer is examples or a kind error. RNNLAB_FUZZ sets how many files are tried in all.

FUZZ = int(os.environ.get("RNNLAB_FUZZ", "600"))


def fuzz(share: float):
    return settings(max_examples=max(1, int(FUZZ * share)), derandomize=True, deadline=None)


SUFFIXES = [".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".ts"]
words = st.text("ab 好电影,;\t\"'", max_size=8) | st.text(max_size=8)
labelled = st.lists(st.tuples(words, st.sampled_from(["pos", "neg", "0", "", " "])), max_size=8)
numbers = st.floats(width=32) | st.integers() | st.sampled_from(["?", "NaN", "", "1_0"])
samples = st.lists(st.tuples(st.lists(st.lists(numbers, max_size=3), max_size=3), st.sampled_from("ab")), max_size=6)


def as_delimited(found, delimiter: str, quoting) -> str:
    out = io.StringIO()
    try:
        writer = csv.writer(out, delimiter=delimiter, quoting=quoting, escapechar="\\")
        writer.writerows([("text", "label"), *found])
    except csv.Error:
        return out.getvalue()
    return out.getvalue()


def as_json(found) -> str:
    return "\n".join(json.dumps({"text": text, "label": label}) for text, label in found)


def as_json_series(found) -> str:
    return "\n".join(json.dumps({"x": channels, "label": label}) for channels, label in found)


def as_ts(found) -> str:
    lines = [":".join([*(",".join(map(str, channel)) for channel in channels), label]) for channels, label in found]
    return "\n".join(["@timeStamps false", "@classLabel true a b", "@data", *lines])


near_valid = st.one_of(
    st.tuples(st.just(".csv"), st.builds(as_delimited, labelled, st.sampled_from(",;\t"), st.sampled_from([0, 1, 3]))),
    st.tuples(
        st.sampled_from([".tsv", ".txt"]), st.builds(as_delimited, labelled, st.just("\t"), st.sampled_from([0, 3]))
    ),
    st.tuples(st.just(".jsonl"), st.builds(as_json, labelled) | st.builds(as_json_series, samples)),
    st.tuples(st.just(".ts"), st.builds(as_ts, samples)),
)
encodings = st.sampled_from(["utf-8", "utf-8-sig", "gb18030", "utf-16"])
scraps = st.sampled_from(
    [b'"', b"\0", b",", b"\t", b"\n", b"\r", b'""', b"[", b"{", b":", b"\xff", b"\xb5\xc4", b"@data\n"]
)
mutations = st.lists(
    st.tuples(st.sampled_from(["cut", "flip", "insert", "repeat"]), st.floats(0, 1), scraps), max_size=4
)


def mutate(data: bytes, changes) -> bytes:
    for kind, where, scrap in changes:
        at = int(where * len(data))
        if kind == "cut":
            data = data[:at]
        elif kind == "flip" and at < len(data):
            data = data[:at] + bytes([data[at] ^ (scrap[0] | 1)]) + data[at + 1 :]
        elif kind == "insert":
            data = data[:at] + scrap + data[at:]
        elif kind == "repeat":
            data = data[:at] + data[at // 2 :]
    return data


def check_outcome(suffix: str, data: bytes, **options) -> str:
    """Read the file with and without bad rows; say what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"fuzz{suffix}"
        path.write_bytes(data)
        outcomes = [read_or_refusal(path, skip_bad=skip_bad, **options) for skip_bad in (False, True)]
    for outcome in outcomes:
        if isinstance(outcome, Examples):
            check_consistent(outcome)
        else:
            assert outcome.startswith(str(path))
            outcome.encode()
    return "read" if isinstance(outcomes[-1], Examples) else "refused"


def read_or_refusal(path: Path, **options) -> Examples | str:
    try:
        return read_examples(path, **options)
    except RnnlabError as error:
        return str(error)


def check_consistent(examples: Examples) -> None:
    assert len(examples) > 0
    assert (examples.texts is None) != (examples.series is None)
    for column in (examples.texts, examples.series, examples.lines):
        assert column is None or len(column) == len(examples)
    assert all(label and label == label.strip() for label in examples.labels)
    assert all(text.strip() and "\0" not in text for text in examples.texts or ())
    for array in examples.series or ():
        assert array.dtype == np.float32
        assert array.ndim == 2
        assert array.shape[0] >= 1
        assert np.isfinite(array).all()
    assert examples.lines is not None
    assert (np.diff(examples.lines) > 0).all()
    assert not {row.line for row in examples.skipped} & set(examples.lines.tolist())
    json.dumps(examples.notes).encode()
    "".join(examples.texts or ()).encode()


named = st.sampled_from([{}, {"text": "text", "label": "label"}, {"label": "label"}])


@fuzz(0.15)
@given(st.binary(max_size=200), st.sampled_from([*SUFFIXES, ".parquet"]))
def test_random_bytes(data, suffix):
    check_outcome(suffix, data)


@fuzz(0.15)
@given(st.text(max_size=200), st.sampled_from(SUFFIXES), encodings, st.booleans())
def test_random_text(text, suffix, encoding, two_columns):
    options = {"columns": ("text", "label")} if two_columns and suffix in (".csv", ".tsv", ".txt") else {}
    check_outcome(suffix, text.encode(encoding, "replace"), **options)


@fuzz(0.7)
@given(near_valid, encodings, mutations, named)
def test_nearly_valid_files(file, encoding, changes, options):
    suffix, content = file
    check_outcome(suffix, mutate(content.encode(encoding, "replace"), changes), **({} if suffix == ".ts" else options))


def test_the_fuzzing_reaches_both_outcomes():
    outcomes = Counter()

    @settings(max_examples=100, derandomize=True, deadline=None)
    @given(near_valid, mutations)
    def count(file, changes):
        suffix, content = file
        outcomes[check_outcome(suffix, mutate(content.encode("utf-8", "replace"), changes))] += 1

    count()
    assert min(outcomes["read"], outcomes["refused"]) >= 10


# The public data sets


@pytest.mark.data
def test_movie_reviews(public):
    path = public / "movie-reviews/train.tsv"
    examples = read_examples(path, group="SentenceId")
    assert "rows without a text, which are left out: 1 of 156,060" in examples.notes
    assert len(examples) == 156_059
    assert examples.skipped == (BadRow(2007, "no text"),)
    assert "text column 'Phrase', label column 'Sentiment'; --text and --label choose others" in examples.notes
    assert Counter(examples.labels).keys() == set("01234")
    assert examples.groups is not None
    assert len(set(examples.groups)) == 8_529


@pytest.mark.data
def test_imdb(public):
    examples = read_examples(public / "imdb/train.csv")
    assert Counter(examples.labels) == {"0": 12_500, "1": 12_500}
    assert examples.notes == ("text column 'text', label column 'label'; --text and --label choose others",)


@pytest.mark.data
def test_thucnews(public):
    assert "--columns" in reading_error(public / "thucnews/train.txt")
    examples = read_examples(public / "thucnews/train.txt", columns=("text", "label"))
    assert len(examples) == 90_526
    check_classes(examples.labels, examples.source)


@pytest.mark.data
def test_uea(public):
    examples = read_examples(public / "uea/JapaneseVowels_TRAIN.ts")
    assert len(examples) == 270
    assert examples.series is not None
    assert {array.shape[1] for array in examples.series} == {12}
