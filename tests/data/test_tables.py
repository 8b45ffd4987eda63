import json
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.core.errors import DataError
from rnnlab.data import tables
from rnnlab.data.formats import json_lines
from rnnlab.data.formats.base import FIELD_CAP, BadRow


def rows_of(table: tables.Table) -> list[tuple[str, ...]]:
    return list(zip(*(table.values[name] for name in table.columns), strict=True))


def reading_error(path, **options) -> str:
    with pytest.raises(DataError) as caught:
        tables.read(path, **options)
    return str(caught.value)


def test_files_that_are_not_tables(write, tmp_path):
    assert "no such file" in reading_error(tmp_path / "none.csv")
    assert "can't be read" in reading_error(_made(tmp_path / "folder.csv"))
    unknown = reading_error(write("a.docx", "x"))
    assert "'.docx'" in unknown
    assert ".csv, .tsv, .txt, .jsonl, .ndjson, .parquet" in unknown
    for content in ("", "\n \n", "\ufeff"):
        for name in ("a.csv", "a.tsv"):
            assert "the file is empty" in reading_error(write(name, content))
    assert len(tables.read(write("a.csv", "text,label\n"))) == 0


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


# JSON lines


def test_json_lines(write):
    lines = [
        '{"text": "a \\"b\\"\\nc", "label": 1}',
        "",
        '{"label": true, "text": "d", "extra": null}',
        '{"text": "e", "label": 2.5, "extra": [1, [2.5]]}',
        '{"label": "f"}',
    ]
    table = tables.read(write("a.jsonl", "\n".join(lines)))
    assert table.columns == ("text", "label", "extra")
    assert rows_of(table) == [('a "b"\nc', "1", ""), ("d", "true", ""), ("e", "2.5", "[1, [2.5]]"), ("", "f", "")]
    assert table.lines.tolist() == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "a"', "not valid JSON"),
        ('{"text": "a"} {}', "not valid JSON"),
        ("[1, 2]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"text": NaN}', "NaN isn't JSON"),
        ('{"text": -Infinity}', "-Infinity isn't JSON"),
        ('{"text": 1e999}', "too large"),
        ('{"text": ' + "1" * 5000 + "}", "digit"),
        ('{"text": "a", "text": "b"}', "the key 'text' is given twice"),
        ('{"text": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"text": "a\\u0000b"}', "NUL"),
        ('{"text": "' + "x" * (FIELD_CAP + 1) + '"}', "the limit is 1,000,000"),
    ],
)
def test_bad_json_lines_are_bad_rows(write, line, reason):
    table = tables.read(write("a.jsonl", f'{{"text": "good"}}\n{line}\n{{"text": "also good"}}\n'))
    assert [row.line for row in table.bad] == [2]
    assert reason in table.bad[0].reason
    assert table.values["text"] == ["good", "also good"]


def test_json_keys_must_be_column_names(write):
    assert "has no name" in reading_error(write("a.jsonl", '{"": 1}'))
    many = "\n".join(json.dumps({f"key {n}": 1}) for n in range(json_lines.COLUMN_CAP + 1))
    assert "a.jsonl:1001: more than 1,000 different keys" in reading_error(write("a.jsonl", many))


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (r'{"text": "\ud800"}', "'text'"),
        (r'{"label": "a", "text": "half \uDE00 a pair"}', "'text'"),
        (r'{"text": "\ud83d \ude00"}', "'text'"),
        (r'{"text": "a", "extra": [1, {"b": "\ud83d"}]}', "'extra'"),
        (r'{"text": "a", "extra": {"\ud83d": 1}}', "'extra'"),
        (r'{"\ud83d": [1, 2]}', r"'\ud83d'"),
    ],
)
def test_half_of_a_surrogate_pair_is_a_bad_row(write, line, where):
    table = tables.read(write("a.jsonl", f'{{"text": "good"}}\n{line}\n'))
    reason = f"{where}: a character that isn't valid Unicode (half of a surrogate pair)"
    assert table.bad == [BadRow(2, reason)]
    assert (table.columns, rows_of(table)) == (("text",), [("good",)])
    assert json_lines.parse(line) == reason  # as series are read


def test_whole_surrogate_pairs_and_escaped_backslashes_are_text(write):
    table = tables.read(write("a.jsonl", r'{"text": "\ud83d\ude00", "label": "\\ud83d", "extra": ["\ud83d\ude00"]}'))
    assert table.bad == []
    assert rows_of(table) == [("😀", r"\ud83d", r'["\ud83d\ude00"]')]


def test_given_column_names_must_be_unicode(write):
    message = reading_error(write("a.csv", "a,b"), columns=("x", "\ud800"))
    assert "column 2: a character that isn't valid Unicode" in message


any_text = st.text("\ud83d\ude00a好", max_size=3)
any_object = st.dictionaries(any_text.filter(bool), any_text | st.lists(any_text, max_size=2), max_size=2)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.lists(any_object, min_size=1, max_size=3))
def test_whatever_json_holds_can_be_written_as_utf8(objects):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text("\n".join(map(json.dumps, objects)))
        table = tables.read(path)
    assert len(table) + len(table.bad) == len(objects)
    for text in (*table.columns, *(row.reason for row in table.bad), *(cell for row in rows_of(table) for cell in row)):
        text.encode()


values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12) | st.text(
    '",;\t\r\n ab', max_size=12
)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["text", "label", "文本"]), values), min_size=1, max_size=8))
def test_what_json_writes_comes_back(objects):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text("\n".join(map(json.dumps, objects)))
        table = tables.read(path)
    assert [dict(zip(table.columns, row, strict=True)) for row in rows_of(table)] == [
        {name: found.get(name, "") for name in table.columns} for found in objects if table.columns
    ]
    assert set(table.columns) == {name for found in objects for name in found}


# Parquet


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    path = tmp_path / "a.parquet"
    columns = {
        "text": ["a", None, "文本", "nul \0"],
        "label": [1, 2, 1, 2],
        "score": [0.5, float("nan"), 1.0, 2.0],
        "vector": [[1.0], [], None, [2.5, 3.0]],
    }
    parquet.write_table(pyarrow.table(columns), path)
    table = tables.read(path)
    assert table.columns == tuple(columns)
    assert rows_of(table) == [("a", "1", "0.5", "[1.0]"), ("", "2", "", "[]"), ("文本", "1", "1.0", "")]
    assert table.bad == [BadRow(4, "'text': a NUL character")]
    assert table.lines.tolist() == [1, 2, 3]
    path.write_bytes(path.read_bytes()[:100])
    assert "not a readable Parquet file" in reading_error(path)


def test_parquet_without_pyarrow_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'rnnlab[parquet]'" in reading_error(write("a.parquet", b"PAR1"))
