"""Every format obeys the laws, and each law notices a format that breaks it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rnnlab.core.errors import ConfigError, DataError
from rnnlab.core.registry import load_plugin
from rnnlab.data import formats, tables
from rnnlab.data.formats import base
from rnnlab.data.formats.base import Portion, RowFile, file_format
from rnnlab.data.formats.delimited import Delimited
from rnnlab.data.formats.json_lines import JsonLines
from rnnlab.data.formats.plain_text import PlainText
from rnnlab.testing import FORMAT_LAWS, check_format


@pytest.mark.parametrize("law", FORMAT_LAWS)
@pytest.mark.parametrize("format", formats.all_formats(), ids=lambda format: format.__name__)
def test_every_format_obeys_every_law(format: type[RowFile], law: str):
    if format.__name__ == "Parquet":
        pytest.importorskip("pyarrow")
    FORMAT_LAWS[law](format)


# Negative controls


class LosesARow(JsonLines):
    def portions(self) -> Iterator[Portion]:
        for portion in super().portions():
            columns = {name: values[:-1] for name, values in portion.columns.items()}
            yield Portion(portion.lines[:-1], columns, portion.problems, portion.content[:-1])


class TrimsSpaces(Delimited):
    def portions(self) -> Iterator[Portion]:
        for portion in super().portions():
            columns = {name: [text.strip() for text in values] for name, values in portion.columns.items()}
            yield replace(portion, columns=columns)


class WritesNul(PlainText):
    @classmethod
    def written(cls, suffix: str, columns: Any, rows: Any) -> Iterator[bytes]:
        return (f"{text}\n".encode(errors="replace") for (text,) in rows)


class NamesTheNextLine(Delimited):
    def portions(self) -> Iterator[Portion]:
        for portion in super().portions():
            yield replace(portion, lines=[line + 1 for line in portion.lines])


class SkipsBadRows(JsonLines):
    def portions(self) -> Iterator[Portion]:
        for portion in super().portions():
            good = [at for at in range(len(portion.lines)) if at not in portion.problems]
            columns = {name: [values[at] for at in good] for name, values in portion.columns.items()}
            yield Portion([portion.lines[at] for at in good], columns, {}, [portion.content[at] for at in good])


class BeginsAnewWithEveryPortion(PlainText):
    def portions(self) -> Iterator[Portion]:
        for portion in super().portions():
            yield replace(portion, lines=range(1, len(portion.lines) + 1))


class ReadsOtherwiseFromTheDisk(PlainText):
    def portions(self) -> Iterator[Portion]:
        for portion in super().portions():
            texts = portion.columns["text"]
            yield portion if self.source.data else replace(portion, columns={"text": [t.lower() for t in texts]})


class ReadsOnce(JsonLines):
    going: Iterator[Portion] | None = None

    def portions(self) -> Iterator[Portion]:
        self.going = self.going or super().portions()
        return self.going


class MixesAnswers(Delimited):
    def extended(self, suffix: str, added: Any, answered: Any) -> Iterator[bytes]:
        return super().extended(suffix, added, ((portion, cells[::-1]) for portion, cells in answered))


class ForgetsColumns(JsonLines):
    def extended(self, suffix: str, added: Any, answered: Any) -> Iterator[bytes]:
        for _, cells in answered:
            yield "".join(json.dumps(dict(zip(added, row, strict=True))) + "\n" for row in cells).encode()


class MendsWhatIsCut(JsonLines):
    """A row whose end is missing is taken for a whole one."""

    def portions(self) -> Iterator[Portion]:
        for portion in super().portions():
            for at in portion.problems:
                portion.columns.setdefault("text", [None] * len(portion.lines))[at] = "mended"  # type: ignore
            yield replace(portion, problems={})


class Evaluates(JsonLines):
    def portions(self) -> Iterator[Portion]:
        for portion in super().portions():
            for text in portion.columns.get("text", ()):
                try:
                    eval(text)
                except Exception:
                    continue
            yield portion


class Unpickles(PlainText):
    def __init__(self, source: Any, names: Any = None):
        import pickle

        try:
            pickle.loads(source.data or b"")
        except Exception:
            super().__init__(source)


class Crashes(JsonLines):
    def portions(self) -> Iterator[Portion]:
        for portion in super().portions():
            if portion.problems:
                raise ValueError("what's this?")
            yield portion


class DoesNotSayWhere(JsonLines):
    def __init__(self, source: Any, names: Any = None):
        try:
            super().__init__(source)
        except DataError:
            raise DataError("some file can't be read") from None


BREAKS = {
    LosesARow: "what_is_written_is_read_back",
    TrimsSpaces: "what_is_written_is_read_back",
    WritesNul: "hard_texts_are_refused_or_read_back",
    NamesTheNextLine: "rows_have_the_number_of_their_line",
    SkipsBadRows: "a_bad_row_is_named_and_costs_no_other",
    BeginsAnewWithEveryPortion: "portions_change_nothing",
    ReadsOtherwiseFromTheDisk: "from_the_disk_as_from_memory",
    ReadsOnce: "reading_again_gives_the_same",
    MixesAnswers: "columns_are_added_and_nothing_is_lost",
    ForgetsColumns: "columns_are_added_and_nothing_is_lost",
    MendsWhatIsCut: "a_file_cut_short_is_noticed_or_harmless",
    Evaluates: "nothing_is_executed",
    Unpickles: "nothing_is_executed",
    Crashes: "any_bytes_are_rows_or_a_kind_error",
    DoesNotSayWhere: "any_bytes_are_rows_or_a_kind_error",
}


@pytest.mark.parametrize("format", BREAKS, ids=lambda format: format.__name__)
def test_a_format_that_breaks_a_law_is_noticed(format: type[RowFile]):
    law = BREAKS[format]
    with pytest.raises(AssertionError, match=f"'{format.__name__}' .* breaks the law '{law}'"):
        FORMAT_LAWS[law](format)
    with pytest.raises(AssertionError, match="breaks the law"):
        check_format(format)


def test_every_law_has_a_negative_control():
    assert set(BREAKS.values()) == set(FORMAT_LAWS)


# The registry


def test_a_plugin_adds_a_format_in_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    formats.all_formats()
    monkeypatch.setattr(base, "FORMATS", list(base.FORMATS))
    monkeypatch.setattr(formats, "FORMATS", base.FORMATS)
    (tmp_path / "piped.py").write_text(
        "from rnnlab.data.formats.base import file_format\n"
        "from rnnlab.data.formats.delimited import DELIMITERS, Delimited\n"
        "DELIMITERS['.psv'] = '|'\n"
        "@file_format('.psv')\n"
        "class Piped(Delimited):\n"
        "    pass\n"
    )
    load_plugin(tmp_path / "piped.py")
    (tmp_path / "a.psv").write_text("text|label\na, b|1\nc|2\n")
    assert tables.read(tmp_path / "a.psv").values["text"] == ["a, b", "c"]
    check_format(formats.format_of("a.psv"))
    with pytest.raises(DataError, match=r"supported: \.csv, .*, \.ts, \.psv"):
        formats.format_of("a.xyz")


def test_an_ending_is_one_format():
    with pytest.raises(ConfigError, match=r"\.jsonl is registered twice: rnnlab.data.formats.json_lines and"):
        file_format(".jsonl")(LosesARow)
    assert (formats.format_of("a.txt"), formats.format_of("a.TXT", labelled=False)) == (Delimited, PlainText)
