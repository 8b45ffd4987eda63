import csv
import hashlib
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.errors import DataError
from rnnlab.data import tables
from rnnlab.data.formats import delimited
from rnnlab.data.formats.base import FIELD_CAP, BadRow


def rows_of(table: tables.Table) -> list[tuple[str, ...]]:
    return list(zip(*(table.values[name] for name in table.columns), strict=True))


def reading_error(path, **options) -> str:
    with pytest.raises(DataError) as caught:
        tables.read(path, **options)
    return str(caught.value)


def test_a_csv_keeps_quoted_delimiters_quotes_and_newlines(write):
    path = write("a.csv", 'text,label\n"one, two",pos\n"three\nfour ""five""",neg\nsix,pos\n')
    table = tables.read(path)
    assert table.columns == ("text", "label")
    assert rows_of(table) == [("one, two", "pos"), ('three\nfour "five"', "neg"), ("six", "pos")]
    assert table.lines.tolist() == [2, 3, 5]
    assert table.lines.dtype == np.int64
    assert table.bad == []
    assert table.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(table) == 3


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quoted", [False, True])
def test_line_ends_blank_lines_and_lines_of_spaces(write, newline, quoted):
    text = '"a"' if quoted else "a"
    content = newline.join(["", "text,label", f"{text},1", "", "b,2", "  ", "c,3", "", ""])
    table = tables.read(write("a.csv", content))
    assert rows_of(table) == [("a", "1"), ("b", "2"), ("c", "3")]
    assert table.lines.tolist() == [3, 5, 7]
    assert table.bad == []


def test_only_line_feeds_and_carriage_returns_end_a_line(write):
    text = "a\u2028b\x0bc\x0cd\x1ce\x85f"
    table = tables.read(write("a.csv", f"text,label\n{text},pos\n"))
    assert table.values["text"] == [text]


def test_ragged_rows_are_bad_with_their_line(write):
    table = tables.read(write("a.csv", "text,label\na,1\nb\nc,1,2\nd,2\n"))
    assert table.bad == [BadRow(3, "1 field instead of 2"), BadRow(4, "3 fields instead of 2")]
    assert rows_of(table) == [("a", "1"), ("d", "2")]
    assert table.lines.tolist() == [2, 5]


def test_an_open_quote_costs_one_row_and_is_reported_where_it_opened(write):
    content = 'text,label\n"fine, quoted",1\nplain,2\n"open,1\nafter one,2\n"after, two",1\nafter three,2\n'
    table = tables.read(write("a.csv", content))
    assert [(row.line, "isn't closed" in row.reason) for row in table.bad] == [(4, True)]
    assert rows_of(table) == [
        ("fine, quoted", "1"),
        ("plain", "2"),
        ("after one", "2"),
        ("after, two", "1"),
        ("after three", "2"),
    ]
    assert table.lines.tolist() == [2, 3, 5, 6, 7]


def test_an_open_quote_to_the_end_of_the_file(write):
    table = tables.read(write("a.csv", 'text,label\na,1\n"open,2\n' + "b,1\n" * 1000))
    assert table.bad == [BadRow(3, "the quote that opens here is never closed")]
    assert len(table) == 1001


def test_an_open_quote_after_a_field_of_two_lines_is_reported_on_its_own_line(write):
    table = tables.read(write("a.csv", 'id,text,label\n"x\ny","open,1\n2,b,neg\n3,"c, d",pos\n'))
    assert [row.line for row in table.bad] == [3]
    assert rows_of(table) == [("2", "b", "neg"), ("3", "c, d", "pos")]


def test_quotes_that_join_lines_into_too_wide_rows_are_open_quotes(write):
    content = 'text,label\n"a, b",1\n"a, c",1\n"open,2\nx","y",z\n"a, d",1\n'
    table = tables.read(write("a.csv", content))
    assert [row.line for row in table.bad] == [4, 5]
    assert table.values["text"] == ["a, b", "a, c", "a, d"]


def test_a_too_wide_row_is_reported_where_its_first_field_of_several_lines_opened(write):
    table = tables.read(write("a.csv", 'text,label\n"a, b",1\n"c\nd","e\nf",g\n"h, i",2\n'))
    assert table.bad[0] == BadRow(3, "the quote that opens here isn't closed, or there are more than 2 fields")
    assert {"a, b", "h, i"} <= set(table.values["text"])


def test_text_after_a_closing_quote_is_bad(write):
    table = tables.read(write("a.csv", 'text,label\n"a"b,1\n"c, d",2\n'))
    assert table.bad == [BadRow(2, "text follows right after a closing quote")]
    assert rows_of(table) == [("c, d", "2")]


def test_nul_and_over_long_fields_are_bad_rows(write):
    long = "x" * (FIELD_CAP + 1)
    for quote in ("", '"'):
        for suffix, mark in ((".csv", ","), (".tsv", "\t")):
            lines = ["text,label", "a,1", f"{quote}b\0b{quote},2", f"{quote}{long}{quote},2", "c,1"]
            table = tables.read(write("a" + suffix, "\n".join(lines).replace(",", mark)))
            assert table.bad == [
                BadRow(3, "a NUL character"),
                BadRow(4, "a field of 1,000,001 characters; the limit is 1,000,000"),
            ]
            assert table.values["text"] == ["a", "c"]


def test_nul_in_a_file_that_is_otherwise_well_formed(write):
    table = tables.read(write("a.csv", 'text,label\n"a, b",1\n"c\0",2\nd,1\n'))
    assert table.bad == [BadRow(3, "a NUL character")]
    assert rows_of(table) == [("a, b", "1"), ("d", "1")]


def test_a_field_as_long_as_the_cap_is_read_and_the_csv_limit_is_left_alone(write):
    before = csv.field_size_limit()
    text = "y, " * (FIELD_CAP // 3) + "y"
    assert len(text) == FIELD_CAP
    table = tables.read(write("a.csv", f'text,label\n"{text}",1\n'))
    assert table.values["text"] == [text]
    assert csv.field_size_limit() == before
    csv.field_size_limit(10 * FIELD_CAP)
    try:
        table = tables.read(write("a.csv", f'text,label\n"{text}y",1\n"b, c",2\n'))
    finally:
        csv.field_size_limit(before)
    assert [row.line for row in table.bad] == [2]


@pytest.mark.parametrize(("mark", "note"), [(";", "separated by semicolons"), ("\t", "separated by tabs")])
def test_a_csv_with_another_separator_is_noticed_and_noted(write, mark, note):
    table = tables.read(write("a.csv", f'text{mark}"the label"\na, b{mark}1\n"c{mark} d"{mark}2\n'))
    assert rows_of(table) == [("a, b", "1"), (f"c{mark} d", "2")]
    assert note in table.notes
    assert tables.read(write("b.csv", "text,a;b\nx;y,1\n")).columns == ("text", "a;b")


def test_quotes_that_are_data_are_read_as_text_and_noted(write):
    phrases = ['" a fine film', 'a fine film "', '"', '" so they say "', "plain", '"wow" he said', '"', 'a " b']
    content = "Phrase\tSentiment\n" + "".join(f"{phrase}\t2\n" for phrase in phrases)
    table = tables.read(write("a.tsv", content))
    assert table.values["Phrase"] == phrases
    assert table.notes == (delimited.QUOTES_ARE_TEXT,)
    assert table.lines.tolist() == list(range(2, 10))


def test_lone_quotes_that_would_pair_up_do_not_swallow_the_rows_between_them(write):
    # As quoted text this is well-formed: every other '"' closes what the one before it opened.
    rows = [(str(n), '"' if n % 5 == 0 else f"phrase {n}", "2") for n in range(100)]
    content = "id\tphrase\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows)
    assert len(list(csv.reader(io.StringIO(content), delimiter="\t", strict=True))) == 51
    assert rows_of(tables.read(write("a.tsv", content))) == rows
    table = tables.read(write("b.tsv", content.replace("\n3\tphrase 3\t2\n", "\n3\tphrase 3\n")))
    assert table.bad == [BadRow(5, "2 fields instead of 3")]
    assert rows_of(table) == rows[:3] + rows[4:]


def test_a_quoted_tsv_is_still_unquoted(write):
    rows = [(f'text\t"{n}"' if n % 2 else f"two\nlines {n}", "pos") for n in range(10)]
    out = io.StringIO()
    csv.writer(out, delimiter="\t").writerows([("text", "label"), *rows])
    table = tables.read(write("a.tsv", out.getvalue()))
    assert rows_of(table) == rows
    assert table.notes == (delimited.QUOTES_ENCLOSE,)


def test_a_few_broken_quotes_among_many_good_ones_are_reported(write):
    rows = [f'"text {n}"\tpos' if n % 10 else f'"text {n}\tpos' for n in range(50)]
    table = tables.read(write("a.tsv", "\n".join(["text\tlabel", *rows])))
    assert [row.line for row in table.bad] == [2, 12, 22, 32, 42]
    assert table.values["text"] == [f"text {n}" for n in range(50) if n % 10]
    assert table.notes == (delimited.QUOTES_ENCLOSE,)


def test_one_column_of_quoted_lines_is_not_taken_apart(write):
    table = tables.read(write("a.csv", 'text\n"one\ntwo"\n"three\nfour"\n"five\nsix"\n"seven\neight"\n'))
    assert table.values["text"] == ["one\ntwo", "three\nfour", "five\nsix", "seven\neight"]


def test_columns_say_that_there_is_no_header(write):
    content = "好电影\t1\n坏电影\t0\n"
    table = tables.read(write("a.txt", content), columns=("text", "label"))
    assert rows_of(table) == [("好电影", "1"), ("坏电影", "0")]
    assert table.lines.tolist() == [1, 2]
    assert tables.read(write("a.txt", content)).columns == ("好电影", "1")
    quoted = tables.read(write("a.csv", '"a, b",1\n"c\nd",2\n'), columns=["text", "label"])
    assert rows_of(quoted) == [("a, b", "1"), ("c\nd", "2")]


def test_columns_without_a_name_are_named_as_pandas_names_them(write):
    path = write("a.csv", ",v1,v2,,\n0,ham,see you,,\n1,spam,call now,PO Box 5,\n")
    assert tables.read(path).columns == ("Unnamed: 0", "v1", "v2", "Unnamed: 3", "Unnamed: 4")
    assert tuple(pytest.importorskip("pandas").read_csv(path).columns) == tables.read(path).columns


def test_header_mistakes(write):
    assert "a.csv:1: the header: two columns are named 'text'" in reading_error(write("a.csv", "text,text \na,b\n"))
    assert "column 1 has no name" in reading_error(write("a.csv", ",\na,b\n"))
    assert "a.csv:2: the header can't be read" in reading_error(write("a.csv", '\n"text,label\na,b\n'))
    assert "NUL" in reading_error(write("a.csv", "te\0xt,label\na,b\n"))
    assert "two columns" in reading_error(write("a.csv", "a,b\n"), columns=("x", "x"))
    assert "names its columns itself" in reading_error(write("a.jsonl", "{}"), columns=("x",))


# Laws

field = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12) | st.text(
    '",;\t\r\n ab', max_size=12
)
generated = settings(max_examples=200, derandomize=True, deadline=None)


@generated
@given(
    st.data(), st.integers(2, 4), st.sampled_from([".csv", ".tsv"]), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
)
def test_what_csv_writes_comes_back(data, width, suffix, quoting):
    rows = data.draw(st.lists(st.tuples(*[field] * width), max_size=8))
    if suffix == ".tsv":  # a field with both tabs and line breaks can look like rows whose quotes are text
        rows = [tuple(value.replace("\t", " ") for value in row) for row in rows]
    names = [f"column {n}" for n in range(width)]
    out = io.StringIO()
    csv.writer(out, delimiter=delimited.DELIMITERS[suffix], quoting=quoting).writerows([names, *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(out.getvalue().encode())
        table = tables.read(path)
    assert rows_of(table) == rows
    assert table.bad == []


@generated
@given(st.lists(st.lists(field, min_size=3, max_size=3), min_size=1, max_size=8), st.sampled_from([",", ";", "\t"]))
def test_the_careful_parser_agrees_with_the_csv_module(rows, delimiter):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    text = out.getvalue()
    lines = io.StringIO(text, newline="")
    assert list(delimited.parse_carefully(text, delimiter, 3)) == list(delimited.csv_records(lines, delimiter, 3))


# The public data sets


@pytest.mark.data
def test_movie_reviews(public):
    table = tables.read(public / "movie-reviews/train.tsv")
    assert table.columns == ("PhraseId", "SentenceId", "Phrase", "Sentiment")
    assert (len(table), table.bad) == (156_060, [])
    assert table.lines[[0, -1]].tolist() == [2, 156_061]


@pytest.mark.data
def test_imdb(public):
    table = tables.read(public / "imdb/train.csv")
    assert table.columns == ("id", "rating", "label", "text")
    assert (len(table), table.bad) == (25_000, [])
    assert max(map(len, table.values["text"])) > 10_000
    assert sum('"' in text for text in table.values["text"]) > 5_000


@pytest.mark.data
def test_imdb_with_an_open_quote_loses_one_row(public, tmp_path):
    lines = (public / "imdb/train.csv").read_text(encoding="utf-8").split("\n")
    path = tmp_path / "damaged.csv"
    path.write_text("\n".join([*lines[:10_000], '9,1,1,"open', *lines[10_000:]]), encoding="utf-8")
    table = tables.read(path)
    assert [row.line for row in table.bad] == [10_001]
    assert table.values == tables.read(public / "imdb/train.csv").values


@pytest.mark.data
def test_thucnews(public):
    table = tables.read(public / "thucnews/train.txt", columns=("text", "label"))
    assert (len(table), table.bad) == (90_526, [])
    assert sorted(set(table.values["label"])) == list("0123456789")
