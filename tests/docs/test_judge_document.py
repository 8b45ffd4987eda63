"""The output in docs/judge.md is what the example prints.

``python tests/docs/test_judge_document.py`` runs it again and rewrites the outputs, in both languages.
"""

import contextlib
import io
import re
import runpy
import sys
import tempfile
from pathlib import Path

import pytest

from rnnlab.cli.main import app
from rnnlab.core.words import Language, speaking

ROOT = Path(__file__).parents[2]
PAGES: dict[Language, Path] = {"en": ROOT / "docs" / "judge.md", "zh": ROOT / "docs" / "judge.zh-CN.md"}
OUTPUT = re.compile(r"(?<=test_judge_document\.py` )(?P<note>[^\n]*-->\n)```text\n(?P<text>.*?)^```\n", re.M | re.S)
WIDTH = 100


def printed(language: Language, folder: Path) -> str:
    """What `rnnlab judge` prints about the table of the example."""
    table = folder / "results.csv"
    runpy.run_path(str(ROOT / "examples" / "judge_example.py"))["main"](str(table))
    with contextlib.redirect_stdout(io.StringIO()) as out, speaking(language):
        app(["judge", str(table), "--cost-unit", "seconds"], standalone_mode=False)
    return out.getvalue()


def parts(text: str) -> tuple[list[str], str]:
    """The lines of the table, and the verdict without spaces: a page breaks it into lines."""
    table, _, verdict = text.strip().partition("\n\n")
    return [line.rstrip() for line in table.splitlines()], re.sub(r"\s", "", verdict)


def written(page: Path) -> str:
    found = OUTPUT.search(page.read_text(encoding="utf-8"))
    assert found
    return found["text"]


@pytest.mark.parametrize("language", PAGES)
def test_the_output_is_what_the_example_prints(language, tmp_path):
    table, verdict = parts(written(PAGES[language]))
    assert len(table) == 6
    assert (table, verdict) == parts(printed(language, tmp_path))


@pytest.mark.parametrize("language", PAGES)
def test_the_code_runs(language):
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGES[language].read_text(encoding="utf-8"), re.M | re.S)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, PAGES[language].name, "exec"), {})
    assert "lstm" in out.getvalue()


def test_both_languages_have_the_same_commands_and_figures():
    """Of the comparison with other packages: whatever has digits in it, versions included."""
    texts = [page.read_text(encoding="utf-8").split("judge_others.py](")[1] for page in PAGES.values()]
    english, chinese = (re.findall(r"\d+(?:\.\d+)*", text) for text in texts)
    assert sorted(english) == sorted(chinese)


@pytest.mark.parametrize("language", PAGES)
def test_lines_are_short(language):
    table = re.compile(r"^\|.*$", re.MULTILINE)  # a row of a table can't be broken
    text = table.sub("", PAGES[language].read_text(encoding="utf-8"))
    assert [line for line in text.splitlines() if len(line) >= 120] == []


def rewrite() -> None:
    from rnnlab.show.figures.figure import lines

    for language, page in PAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            table, _, verdict = printed(language, Path(folder)).strip().partition("\n\n")
        shown = [line.rstrip() for line in table.splitlines()] + ["", *lines(verdict, WIDTH)]
        block = "```text\n" + "\n".join(shown) + "\n```\n"
        text = OUTPUT.sub(lambda match, block=block: match["note"] + block, page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(rewrite())
