"""Several text columns as one text: joined, tokenised column by column, cut so that each keeps a part."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.data.encoded import EncodedData, encode
from rnnlab.data.examples import Examples
from rnnlab.data.joined import columns_of_text, join, segments, shared_out, with_column_words
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.reading import read_examples
from rnnlab.data.vocabulary import SEPARATED, SEPARATOR, UNKNOWN

ROWS = [
    ("Refund please", "I was charged twice", "billing"),
    ("Locked out", "my password is wrong", "login"),
    ("", "the refund is late", "billing"),
    ("Password", "", "login"),
] * 6


def table(path: Path, rows: list[tuple[str, str, str]] = ROWS, header: str = "subject,body,team") -> Path:
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def examples(rows: list[tuple[str, ...]], columns: tuple[str, ...] = ("subject", "body")) -> Examples:
    return Examples("rows", [row[-1] for row in rows], texts=[join(row[:-1]) for row in rows], text_columns=columns)


def encoded(part: Examples, **options: Any) -> EncodedData:
    """All rows are in each split: the vocabulary has all words."""
    return encode({"train": part, "valid": part, "test": part}, **options)


@pytest.mark.parametrize("text", ["subject,body", " subject , body ", ("subject", "body"), ["subject", "body"]])
def test_columns_are_named_in_a_list_or_with_commas(tmp_path: Path, text: str):
    found = read_examples(table(tmp_path / "tickets.csv"), text=text, label="team")
    assert found.text_columns == ("subject", "body")
    assert found.texts is not None
    assert found.texts[0] == "Refund please ‖ I was charged twice"
    assert found.texts[2] == "‖ the refund is late"  # one blank column isn't a blank row
    assert len(found) == len(ROWS)


def test_a_column_whose_name_has_a_comma_is_one_column(tmp_path: Path):
    path = table(tmp_path / "t.csv", header='"subject,body",body,team')
    found = read_examples(path, text="subject,body", label="team", skip_bad=True)
    assert found.text_columns == ()
    assert found.texts is not None
    assert found.texts[0] == "Refund please"


def test_a_row_is_blank_where_all_of_its_columns_are(tmp_path: Path):
    rows = [*((f"{a} {n}", b, c) for n, (a, b, c) in enumerate(ROWS * 10)), (" ", "", "billing")]
    found = read_examples(table(tmp_path / "t.csv", rows), text="subject,body")
    assert len(found) == len(ROWS) * 10
    assert [row.line for row in found.skipped] == [len(rows) + 1]
    with pytest.raises(DataError, match=r"4 of 28 rows can't be used"):
        read_examples(table(tmp_path / "u.csv", [*ROWS, *[("", "", "login")] * 4]), text="subject,body")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("subject,subject", "'subject' stands there twice"),
        ("subject,bodi", r"no column 'bodi' for the text; did you mean 'body'\?"),
        ("subject,team", "'team' can't be both the text and the label"),
    ],
)
def test_what_cannot_be_is_an_error_with_the_remedy(tmp_path: Path, text: str, message: str):
    with pytest.raises(DataError, match=message):
        read_examples(table(tmp_path / "t.csv"), text=text, label="team")


def test_numbers_are_no_text_column(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": "some text", "b": [1.5, 2], "label": "x"}\n{"a": "more", "b": [1, 2], "label": "y"}\n')
    with pytest.raises(DataError, match="'b' holds arrays of numbers; leave it out, or give it alone"):
        read_examples(path, text="a,b", label="label")


def test_the_question_proposes_all_of_the_columns(tmp_path: Path):
    rows = [(f"a question of {n} words", f"a passage about {n} things", "yes" if n % 2 else "no") for n in range(40)]
    with pytest.raises(DataError, match="or several to be read together: --text question,passage"):
        read_examples(table(tmp_path / "t.csv", rows, "question,passage,answer"))


def test_each_column_is_tokenised_by_itself():
    data = encoded(examples(ROWS))
    assert data.vocabulary is not None
    side = Preprocessor.of(data)
    assert side.words_of("Refund‖I was") == ["refund", SEPARATOR, "i", "was"]
    values, _ = side.encode(["refund‖i was", {"body": "i was", "subject": "refund"}, ("refund", "i was")])
    rows = [values.row(number).tolist() for number in range(3)]
    assert rows[0] == rows[1] == rows[2]
    assert rows[0] == [data.vocabulary.index["refund"], SEPARATED, *map(data.vocabulary.index.get, ("i", "was"))]
    assert segments(values.values, values.offsets, 2).tolist() == [0, 1, 1, 1] * 3
    assert Preprocessor.from_json(side.to_json()) == side


def test_a_typed_separator_is_no_separator():
    data = encoded(examples(ROWS))
    with pytest.raises(DataError, match=r"reads the columns subject, body; give them as '…subject… ‖ …body…'.*2 of ‖"):
        data.encode(["a‖b‖c"])
    assert join(["a‖b", "c"]) == "a b ‖ c"
    single = encoded(Examples("rows", [r[2] for r in ROWS], texts=[r[1] + " ‖" for r in ROWS]))
    assert single.text_columns == ()
    assert single.vocabulary is not None
    assert not single.vocabulary.joined
    assert single.vocabulary.index[SEPARATOR] >= 2  # a word like others


@pytest.mark.parametrize("given", ["one text", {"subject": "a"}, {"subject": "a", "body": "b", "more": "c"}, ("a",), 7])
def test_a_question_must_have_all_columns(given: object):
    with pytest.raises(DataError, match=r"\"subject\": \"…\", \"body\": \"…\""):
        columns_of_text(given, ("subject", "body"))


def test_the_share_of_known_tokens_leaves_separators_out():
    data = encoded(examples(ROWS))
    assert data.encode(["xyzzy‖plugh"])[1].tolist() == [0.0]
    assert data.encode(["refund‖plugh"])[1].tolist() == [0.5]


def test_cutting_leaves_a_part_of_each_column():
    lengths = np.array([[2, 30], [30, 2], [30, 30], [3, 3], [1, 100]])
    kept = shared_out(lengths, 10)
    assert kept.tolist() == [[2, 8], [8, 2], [5, 5], [3, 3], [1, 9]]
    three = shared_out(np.array([[100, 3, 100], [1, 1, 1]]), 20)
    assert three.tolist() == [[8, 3, 9], [1, 1, 1]]
    rows = [("one two three", "a b c d e f g", label) for label in "xyxyxyxyxy" * 2]
    data = encoded(examples(rows), max_length=6)
    assert Preprocessor.of(data).words_of("one two three‖a b c d e f g") == ["one", "two", SEPARATOR, "a", "b", "c"]
    assert Preprocessor.of(data).words_of("one‖a b c d e f g") == ["one", SEPARATOR, "a", "b", "c", "d"]
    assert data.profile["cut_rows"] == 3 * len(rows)
    assert data.profile["lengths"]["max"] == 11


def test_a_length_without_room_for_all_columns_is_refused():
    with pytest.raises(ConfigError, match=r"2 text columns and the separators between them need at least 3 \(got 2\)"):
        encoded(examples(ROWS), max_length=2)


def test_a_chinese_and_an_english_column_are_words():
    rows = [("一部很好的电影", "a very good film", "好"), ("太差了不想看", "so bad i left early", "差")] * 10
    data = encoded(examples(rows))
    assert data.tokenizer is not None
    assert data.tokenizer.name == "words"
    assert "subject" in data.profile["tokenizer_reason"]
    assert data.vocabulary is not None
    assert {"电", "film"} <= set(data.vocabulary.words)
    chinese = encoded(examples([(row[0], row[0], row[2]) for row in rows]))
    assert chinese.tokenizer is not None
    assert chinese.tokenizer.name == "chars"


def test_parts_must_have_the_same_columns():
    with pytest.raises(DataError, match="they must be the same"):
        encode({"train": examples(ROWS), "test": examples(ROWS, ("title", "body"))})


def test_duplicates_are_rows_whose_columns_are_all_equal():
    rows = [("refund", "late", "x"), ("Refund ", "LATE", "x"), ("refund late", "", "x"), ("late", "refund", "y")] * 2
    data = encode({"train": examples([*rows, *[(f"word{n}", "more", "y") for n in range(30)]])})
    assert data.profile["duplicates"] == 5  # of the first three kinds of row, two are one


def test_bags_count_words_anywhere_and_by_column():
    values, offsets = np.array([5, SEPARATED, 6, UNKNOWN, SEPARATED, 5]), np.array([0, 3, 6])
    found, longer = with_column_words(values, offsets, 2, 10)
    assert found[: longer[1]].tolist() == [5, 2, 6, 0, 15, 22, 26]
    assert found[longer[1] :].tolist() == [1, 2, 5, 0, 11, 22, 25]
