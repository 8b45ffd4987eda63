"""Charts as files: whole ones, readable ones, and a word when they can't be."""

import re
import struct

import altair as alt
import pytest

from rnnlab.show.figures import drawing as figures

RARE = "\U000323a0"  # an ideograph so rare that no common font has it


def chart(text: str) -> alt.Chart:
    return alt.Chart(alt.Data(values=[{"x": text}]), width=100, height=40).mark_text().encode(text="x:N")


def test_png_and_svg(tmp_path):
    png, svg = tmp_path / "图.png", tmp_path / "图.svg"
    figures.save(chart("plain"), png, svg, warn=pytest.fail)
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) >= (200, 80)  # two pixels for one
    assert "plain" in svg.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["图.png", "图.svg"]  # nothing temporary is left


def test_chinese_is_written_with_chinese_fonts(tmp_path):
    figures.save(chart("学习率"), tmp_path / "a.svg", warn=pytest.fail)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "学习率" in text
    assert "Noto Sans CJK SC" in text


def test_boxes_are_never_silent(tmp_path, capsys):
    said: list[str] = []
    figures.save(chart(f"a{RARE}"), tmp_path / "a.png", warn=said.append)
    assert len(said) == 1
    assert f"a.png: no installed font has {RARE}" in said[0]
    assert "apt install fonts-noto-cjk" in said[0]
    assert (tmp_path / "a.png").exists()  # all the same
    figures.save(chart(RARE), tmp_path / "b.svg", warn=pytest.fail)  # whoever looks at it may have the font
    figures.save(chart(RARE), tmp_path / "c.png")
    assert "fonts-noto-cjk" in capsys.readouterr().err


def test_what_can_be_drawn():
    assert figures.can_draw("a")
    assert figures.can_draw("<")
    assert not figures.can_draw(RARE)
    assert figures.font_warning("plain") is None
    other = figures.font_warning("\U0010fffd")  # private, not Chinese
    assert other is not None
    assert "install a font that has them" in other


def test_the_script_of_a_page_stays_in_its_place():
    assert "</script" not in figures.vega_script()


def test_the_same_chart_gives_the_same_bytes_whatever_was_drawn_before():
    """Vega numbers the gradients of legends through all charts of a process."""
    rows = alt.Data(values=[{"x": 1, "y": 0.1}, {"x": 2, "y": 0.9}])
    chart = alt.Chart(rows).mark_point(clip=True).encode(x="x:Q", color=alt.Color("y:Q"))
    first, second = figures.svg(chart), figures.svg(chart)
    assert first == second
    assert 'id="gradient_' in first
    used = re.findall(r"url\(#([^)]+)\)", first)
    assert used
    assert all(f'id="{name}"' in first for name in used)
