"""Workbooks as people save them."""

import datetime
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rnnlab.core.errors import DataError
from rnnlab.data import formats
from rnnlab.data.formats import excel
from rnnlab.data.reading import read_examples

openpyxl = pytest.importorskip("openpyxl")


def book_of(path: Path, **sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def rows_of(number: int) -> list[list[Any]]:
    day = datetime.datetime(2024, 1, 3)
    return [[day, f"房间第{n}次住都很干净", 5.0 if n % 2 else 1.0, "好评" if n % 2 else "差评"] for n in range(number)]


def test_a_sheet_as_people_save_it(tmp_path):
    header = ["日期", "评论内容", "星级", "评价", None]
    path = book_of(tmp_path / "评论.xlsx", 说明=[], 数据=[[], header, *rows_of(20), [None] * 4], 别的=[["x"]])
    file = formats.read_whole(path)
    assert file.columns == ("日期", "评论内容", "星级", "评价")
    assert file.notes == ("the sheet '数据', of 2 that hold rows",)
    (portion,) = file.portions()
    assert list(portion.lines) == list(range(3, 23))  # as Excel numbers them
    assert portion.columns["日期"][0] == "2024-01-03"
    assert portion.columns["星级"][:2] == ("1", "5")
    found = read_examples(path)
    assert found.texts is not None
    assert (found.texts[1], found.labels[1]) == ("房间第1次住都很干净", "好评")


def test_titles_stand_above_the_header_and_blanks_below_the_rows(tmp_path):
    header = ["日期", "评论内容", "", "星级", "评价"]
    rows = [[day, text, None, stars, label] for day, text, stars, label in rows_of(20)]
    blanks = [[" ", None, "", "\t", " "]] * 3
    title = ["2026年评论汇总"]
    groups = ["基本信息", None, None, "评论"]
    for above in ([title], [groups], [title, groups]):
        path = book_of(tmp_path / "a.xlsx", 数据=[*above, header, *rows, *blanks])
        file = formats.read_whole(path)
        assert file.columns == ("日期", "评论内容", "Unnamed: 2", "星级", "评价")
        assert file.notes == (f"the header is row {len(above) + 1}; what stands above it is left out",)
        found = read_examples(path, label="评价")
        assert len(found) == 20
        assert found.lines is not None
        assert found.lines[0] == len(above) + 2
    assert not formats.read_whole(book_of(tmp_path / "b.xlsx", a=[["a", "b"], *[["x", 1]] * 9])).notes
    few_names = book_of(tmp_path / "c.xlsx", a=[["text"], *[["very good", 3]] * 30])  # a row of data isn't a header
    with pytest.raises(DataError, match=r"all 30 rows have the same problem: 2 fields instead of 1; if titles"):
        read_examples(few_names)


def test_a_row_that_is_too_wide_and_one_without_header(tmp_path):
    path = book_of(tmp_path / "a.xlsx", a=[["text", "label"], ["one", "x"], ["two", "y", "more"], ["three"]])
    with pytest.raises(DataError, match=r"a.xlsx:3: 3 fields instead of 2"):
        read_examples(path, label="label", text="text")
    bare = book_of(tmp_path / "b.xlsx", a=[[f"film number {n}", n % 2] for n in range(9)])
    found = read_examples(bare, columns=("text", "label"))
    assert len(found) == 9
    assert found.lines is not None
    assert found.lines[0] == 1


def test_answers_are_added_to_a_copy_that_keeps_the_rest(tmp_path):
    path = book_of(tmp_path / "a.xlsx", 数据=[["text", "n"], ["one", 1], ["two", "=B2+1"]], 别的=[["stays"]])
    file = formats.open_on_disk(path)
    answered = [(portion, [["=1+1", 0.25], ["b", 1 / 3]]) for portion in file.portions()]
    out = tmp_path / "out.xlsx"
    out.write_bytes(b"".join(file.extended(".xlsx", {"prediction": str, "probability": float}, answered)))
    book = openpyxl.load_workbook(out)
    rows = list(book["数据"].iter_rows(values_only=True))
    assert rows[0] == ("text", "n", "prediction", "probability")
    assert rows[1] == ("one", 1, "=1+1", 0.25)
    assert rows[2] == ("two", "=B2+1", "b", 0.333333)
    assert book["数据"].cell(2, 3).data_type == "s"  # an answer is never a formula
    assert book["数据"].cell(3, 2).data_type == "f"
    assert book["别的"].cell(1, 1).value == "stays"


def test_what_is_no_workbook_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"text,label\na,b\n")
    with pytest.raises(DataError, match="not a readable Excel file"):
        formats.read_whole(path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "<document/>")
    path.write_bytes(buffer.getvalue())
    with pytest.raises(DataError, match="not a readable Excel file"):
        formats.read_whole(path)
    book_of(path, a=[["text", "label"], ["one", "x"]])
    monkeypatch.setattr(excel, "LARGEST", 100)
    with pytest.raises(DataError, match=r"unpacked, it has .* bytes; save it as CSV"):
        formats.read_whole(path)
    book_of(path, a=[[]])
    monkeypatch.setattr(excel, "LARGEST", 1 << 31)
    with pytest.raises(DataError, match="the file is empty"):
        formats.read_whole(path)
