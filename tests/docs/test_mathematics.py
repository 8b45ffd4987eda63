"""Every number in the chapter on mathematics is printed by the code above it.

``python tests/docs/test_mathematics.py`` runs the code again and rewrites the outputs, in both languages.
"""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ENGLISH, CHINESE = DOCS / "mathematics.md", DOCS / "mathematics.zh-CN.md"
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<output>\n```text\n(?P<text>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)


def blocks(path: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(path.read_text(encoding="utf-8")))


def outputs(codes: list[str]) -> list[str]:
    """What each block prints, run in order in one namespace."""
    names: dict[str, object] = {}
    printed = []
    for number, code in enumerate(codes, 1):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, f"block {number}", "exec"), names)
        printed.append(out.getvalue())
    return printed


def rewrite(path: Path) -> None:
    printed = iter(outputs([block["code"] for block in blocks(path)]))

    def with_output(block: re.Match[str]) -> str:
        text = next(printed)
        return f"```python\n{block['code']}```\n" + (f"\n```text\n{text}```\n" if text else "")

    path.write_text(BLOCK.sub(with_output, path.read_text(encoding="utf-8")), encoding="utf-8")


@pytest.fixture(scope="module")
def printed() -> list[str]:
    return outputs([block["code"] for block in blocks(ENGLISH)])


@pytest.mark.parametrize("path", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_the_outputs_are_what_the_code_prints(path, printed):
    """The code is the same in both languages, which the next test sees to."""
    written = [block["text"] or "" for block in blocks(path)]
    assert len(written) > 10
    assert written == printed


def test_both_languages_have_the_same_code():
    assert [block["code"] for block in blocks(ENGLISH)] == [block["code"] for block in blocks(CHINESE)]


def test_both_languages_have_the_same_formulas():
    """But for words inside them."""
    formulas = []
    for path in (ENGLISH, CHINESE):
        found = re.findall(r"\$\$(.*?)\$\$", path.read_text(encoding="utf-8"), re.DOTALL)
        formulas.append([re.sub(r"\\text\{.*?\}", "", formula) for formula in found])
    assert formulas[0] == formulas[1]
    assert len(formulas[0]) > 10


@pytest.mark.parametrize("path", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_formulas_survive_markdown(path):
    """GitHub takes the backslash from ``\\,`` and ``\\|`` before a formula is set."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    formulas = re.findall(r"\$\$.*?\$\$|\$[^$]+\$", prose, re.DOTALL)
    assert prose.count("$") % 2 == 0
    assert [formula for formula in formulas if re.search(r"\\[^A-Za-z]", formula)] == []


@pytest.mark.parametrize("path", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_every_text_block_belongs_to_code(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("```text\n") == sum(block["output"] is not None for block in blocks(path))
    assert text.count("```") % 2 == 0


@pytest.mark.parametrize("path", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_links_in_the_chapter_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)\)", path.read_text(encoding="utf-8")):
        assert (DOCS / target).exists(), target


if __name__ == "__main__":
    for one in (ENGLISH, CHINESE):
        rewrite(one)
