"""Charts of a report as files."""

from dataclasses import replace

import chapter_examples as examples
import pytest

from rnnlab.show.figures.drawing import save_figures
from rnnlab.show.figures.figure import Figure
from rnnlab.show.figures.sections import chapter_figures


@pytest.fixture(scope="module")
def two() -> list[Figure]:
    chapter = examples.chapter()
    return [chapter_figures(chapter, "c0-")["cost"][0], chapter_figures(chapter)["why"][1]]


def test_png_and_svg_of_each(tmp_path, two):
    written = save_figures(two, tmp_path / "new", "zh", warn=pytest.fail)
    assert [path.name for path in written] == ["c0-cost.png", "c0-cost.svg", "memory.png", "memory.svg"]
    assert all(path.stat().st_size > 1000 for path in written)
    text = (tmp_path / "new" / "memory.svg").read_text(encoding="utf-8")
    assert "记忆长度" in text
    assert 'fill="white"' in text  # the page's ground: a file has none of its own


def test_equal_names_do_not_overwrite_each_other(tmp_path, two):
    first = two[1]
    written = save_figures([first, replace(first, name="MEMORY")], tmp_path)
    assert [path.stem for path in written[::2]] == ["memory", "MEMORY-2"]


def test_what_fonts_lack_is_said_once(tmp_path):
    rare = "\U000323a0"
    chapter = examples.chapter()
    comparison = replace(
        chapter.comparison, arms=tuple(replace(arm, label=arm.label + rare) for arm in chapter.comparison.arms)
    )
    said: list[str] = []
    drawn = chapter_figures(replace(chapter, comparison=comparison))
    save_figures([*drawn["cost"], *drawn["differences"][:1]], tmp_path, warn=said.append)
    assert len(said) == 1
    assert "and 1 more files" in said[0]
