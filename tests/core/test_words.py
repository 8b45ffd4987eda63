"""The language that is spoken, texts with gaps, notes that are stored in English, and that the catalogues are whole."""

import re
import string
import subprocess
import sys

import pytest
from extraction import CATALOGUES, FUNCTIONS, Text, in_module, texts, written

from rnnlab.core import words
from rnnlab.core.errors import ConfigError, english
from rnnlab.core.words import (
    COMMAS,
    NOTE,
    SENTENCES,
    Both,
    Entry,
    Key,
    both,
    capitalised,
    joined,
    listed,
    note,
    plural,
    read_po,
    retold,
    same,
    say,
    speaking,
    told_in,
)
from rnnlab.core.wrapping import fitted

LANGUAGES = sorted(path.stem for path in CATALOGUES.glob("*.po"))


def entries(language: str) -> list[Entry]:
    return read_po((CATALOGUES / f"{language}.po").read_text(encoding="utf-8"))


def gaps(text: str) -> dict[str, set[str]]:
    """The names of the gaps, with the formats that each is written in."""
    found: dict[str, set[str]] = {}
    for _, name, form, conversion in string.Formatter().parse(text):
        if name is not None:
            found.setdefault(name, set()).add(f"{form}{conversion or ''}")
    return found


def problems(wanted: dict[Key, Text], found: list[Entry]) -> list[str]:
    """All that is wrong with a catalogue."""
    known = {entry.key: entry for entry in found}
    wrong = [f"not translated: {key}" for key in wanted if key not in known or not known[key].translation]
    wrong += [f"not in the code: {key}" for key in known if key not in wanted]
    for key, entry in known.items():
        if entry.fuzzy:
            wrong.append(f"fuzzy: {key}")
        if key in wanted and entry.plural != wanted[key].plural:
            wrong.append(f"another plural: {key}")
        if key in wanted and entry.translation and not wanted[key].where.startswith(("cli:", "rnnlab.")):
            ours, theirs = gaps(key.text), gaps(entry.translation)
            if (key.context != NOTE and ours != theirs) or set(ours) != set(theirs):
                wrong.append(f"other gaps: {key}")
    return wrong


@pytest.fixture(scope="module")
def wanted() -> dict[Key, Text]:
    return texts()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_catalogue_is_whole(wanted, language):
    """python tests/core/extraction.py adds what is missing, to be translated, and drops what is gone."""
    assert problems(wanted, entries(language)) == []


def test_a_catalogue_that_is_not_whole_is_noticed(wanted):
    found = entries("zh")
    with_gap = next(entry for entry in found if "{" in entry.key.text and entry.key.context is None)
    rest = [entry for entry in found if entry is not with_gap]
    assert problems(wanted, rest) == [f"not translated: {with_gap.key}"]
    assert problems(wanted, [*rest, with_gap._replace(translation="")]) == [f"not translated: {with_gap.key}"]
    assert problems(wanted, [*found, Entry(Key("gone"), None, "没有了", ())]) == [f"not in the code: {Key('gone')}"]
    assert problems(wanted, [*rest, with_gap._replace(translation="无")]) == [f"other gaps: {with_gap.key}"]
    assert problems(wanted, [*rest, with_gap._replace(comments=("#, fuzzy",))]) == [f"fuzzy: {with_gap.key}"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_catalogue_stands_as_it_is_written(wanted, language):
    text = (CATALOGUES / f"{language}.po").read_text(encoding="utf-8")
    assert written(language, wanted, read_po(text)) == text


def test_what_is_extracted():
    code = "from rnnlab.core.words import both, note, plural, say\n"
    code += 'say("a" " b")\nboth("c {gap}", _context="d", gap=1)\n'
    code += 'plural("{count} e", "{count} f", 2)\nnote("g")\nother("h")\n'
    found = [(text.key.text, text.key.context, text.plural) for text in in_module(code, "x.py")]
    assert found == [("a b", None, None), ("c {gap}", "d", None), ("{count} e", None, "{count} f"), ("g", NOTE, None)]
    with pytest.raises(ValueError, match=r"x\.py:2: the gaps of the text are not those"):
        list(in_module('from rnnlab.core.words import both\nboth("{a} {b}", a=1, c=2)\n', "x.py"))
    for name in FUNCTIONS:
        with pytest.raises(ValueError, match=r"x\.py:2"):
            list(in_module(f'from rnnlab.core.words import {name}\n{name}(f"{{x}}", "")\n', "x.py"))


# --- the language ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "RNNLAB_LANG": "en"}, "en"),
        ({"LANG": "en_US.UTF-8", "RNNLAB_LANG": "zh"}, "zh"),
    ],
)
def test_the_language(monkeypatch, variables, language):
    for name in ("RNNLAB_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert words.language() == language
    with speaking("zh"):
        assert words.language() == "zh"
    assert words.language() == language


def test_processes_speak_the_same_language():
    code = "from rnnlab.core.words import say; print(say('model'))"
    with speaking("zh"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "模型"


# --- texts ----------------------------------------------------------------------------------------------------------


def test_texts_with_gaps():
    text = both("{value} points", value=both("{low} to {high}", low=1, high="{2}"))
    assert (text.en, text.zh) == ("1 to {2} points", "1 到 {2} 个百分点")
    with speaking("zh"):
        assert str(text) == text.zh == say("{value} points", value=both("{low} to {high}", low=1, high="{2}"))
    later = both("{value} points")
    assert (later.zh, later.format(value=3).zh) == ("{value} 个百分点", "3 个百分点")
    assert both("no such text {gap}", gap=1).zh == "no such text 1"


def test_one_and_many():
    assert [plural("{count:,} row", "{count:,} rows", n).en for n in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
    assert [plural("{count:,} row", "{count:,} rows", n).zh for n in (1, 2000)] == ["1 条样本", "2,000 条样本"]


def test_one_english_word_and_two_chinese_ones():
    assert both("input", _context="gate").zh == "输入门"
    assert both("input").zh == "input"


def test_rows_of_things():
    three = listed(["a", both("mean"), 3])
    assert (three.en, three.zh) == ("a, mean and 3", "a、平均 和 3")
    assert (listed([], "or").en, listed(["a"], "or").zh) == ("", "a")
    assert joined(["One.", "Two."], SENTENCES).en == "One. Two."
    assert joined(["一。", "二。"], SENTENCES).zh == "一。二。"
    assert joined([1, 2], COMMAS).zh == "1，2"
    assert joined([1, 2], "/").zh == "1/2"


def test_texts_are_equal_that_say_the_same():
    assert both("mean") == told_in(en="mean", zh="平均")
    assert both("mean") != same("mean")
    assert not same("")
    assert capitalised(both("mean")).en == "Mean"
    assert told_in(en="{n} a", zh="{n} 甲").format(n=same(1)).zh == "1 甲"
    with pytest.raises(NotImplementedError):
        _ = Both().en


def test_errors_are_said_in_both_languages():
    inner = ConfigError("{path}: no such file", path="x.toml")
    error = ConfigError("{path}.kind: {error}", path="model", error=inner)
    with speaking("zh"):
        assert str(error) == "model.kind：x.toml：没有这个文件"
        assert english(error) == "model.kind: x.toml: no such file"


# --- what is stored -------------------------------------------------------------------------------------------------


def test_notes_are_stored_in_english_and_told_again():
    with speaking("zh"):
        text = note("{label} is left out: {reason}", label="gru", reason=note("{label} has nothing to tune", label="x"))
    assert text == "gru is left out: x has nothing to tune"
    assert (retold(text).en, retold(text).zh) == (text, "略去 gru：x 无可调项")
    assert retold("what an earlier version said").zh == "what an earlier version said"


def test_a_number_is_no_name():
    text = "1,200 groups with rows in more than one of the given splits: scores there may be too good"
    assert retold(text).zh == "有 1,200 个组的样本分散在多个给定的划分中：得分可能偏高"
    assert retold(text.replace("1,200", "some")).zh != retold(text).zh


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_notes_are_mistaken_for_each_other(language):
    """A note whose gaps hold something harmless is told again as itself."""
    for entry in entries(language):
        if entry.key.context == NOTE:
            filling = {name: 7 if form != {""} else "qq" for name, form in gaps(entry.key.text).items()}
            stored = re.sub(r"{(\w+)[^}]*}", lambda found, filling=filling: str(filling[found[1]]), entry.key.text)
            expected = re.sub(r"{(\w+)[^}]*}", lambda found, filling=filling: str(filling[found[1]]), entry.translation)
            assert retold(stored)["zh"] == expected, entry.key


# --- catalogues -----------------------------------------------------------------------------------------------------


def test_a_catalogue_is_read():
    text = '# about\n\nmsgid ""\nmsgstr ""\n"Language: zh\\n"\n\n#: a.py\nmsgctxt "c"\nmsgid "a \\"b\\" "\n"c\\n"\n'
    text += 'msgstr "甲"\n\n#, fuzzy\nmsgid "row"\nmsgid_plural "rows"\nmsgstr[0] "行"\n'
    first, second = read_po(text)
    assert first == Entry(Key('a "b" c\n', "c"), None, "甲", ("#: a.py",))
    assert (second.plural, second.translation, second.fuzzy) == ("rows", "行", True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('msgid "a"\nmsgstr "b"\nmsgstring "c"\n', "not a line"),
        ('msgid "a"\n', "needs msgid and msgstr"),
        ('"a"\nmsgid "a"\nmsgstr "b"\n', "not a line"),
        ('msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n', "twice"),
        ('msgid "a" "b"\nmsgstr "b"\n', "Extra data"),
    ],
)
def test_a_catalogue_is_read_strictly(text, problem):
    with pytest.raises(ValueError, match=problem):
        read_po(text)


# --- lines of a terminal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a sentence that is longer than that", ["a sentence that", "is longer than", "that"]),
        ("word\n  - indented item of a list", ["word", "  - indented", "item of a list"]),
        ("高三十个百分点（25.8）。其余的", ["高三十个百分点", "（25.8）。其余的"]),
        ("an/unbreakable/path/that/is/long is kept", ["an/unbreakable/path/that/is/long", "is kept"]),
    ],
)
def test_lines_end_between_words_on_a_terminal(text: str, lines: list[str], monkeypatch: pytest.MonkeyPatch):
    class Terminal:
        def __init__(self, there: bool):
            self.isatty = lambda: there

    monkeypatch.setenv("COLUMNS", "16")
    assert fitted(text, Terminal(True)).split("\n") == lines
    assert fitted(text, Terminal(False)) == text
