"""An inspection of a translator, on the terminal and on a page."""

import json
from dataclasses import replace

import pytest
from pages import Outline, drawn_charts

from rnnlab.inspecting.translating import WritingInspection
from rnnlab.show.notebook import inside_translator
from rnnlab.show.pages.inspection import writing_page
from rnnlab.show.writing_inspection import writing_lines


@pytest.fixture
def found() -> WritingInspection:
    return WritingInspection(
        "1f0c",
        "gru",
        {"hidden": 8},
        ("the", "<b>cat</b>", "the"),
        (1,),
        "猫 [red]",
        ("猫", "[red]", "</s>"),
        (0.5, 0.8, 0.9),
        ((0.1, 0.9, 0.0), (0.4, 0.3, 0.3), (1.0, 0.0, 0.0)),
        ((1e-6, 4e-6, 0.0), (0.2, 0.1, 0.1), (0.0, 0.0, 0.0)),
    )


def test_lines_shade_and_name_where_it_looked(found: WritingInspection):
    lines = writing_lines(found, "en")
    assert "It wrote: 猫 [red] (probability 36.0 %; the least sure token: 猫, 50.0 %)" in lines
    assert "Unknown to the model: <b>cat</b>." in lines
    at = next(number for number, line in enumerate(lines) if line.startswith("Where it looked")) + 1
    assert lines[at] == "        1  2  3"
    assert lines[at + 1] == "猫        ██     2 <b>cat</b> 0.90, 1 the 0.10"
    assert lines[at + 2].startswith("[red]  ░░ ·· ·· ")
    assert lines[at + 3].startswith("</s>   ██ ")


def test_shades_of_gradients_are_shares_of_a_line(found: WritingInspection):
    lines = writing_lines(found, "en")
    sure = lines[-3]
    assert sure.startswith("猫     ·· ██ ")  # small ones are seen, too
    assert "2 <b>cat</b> 4.0 × 10⁻⁶" in sure
    assert lines[-1].startswith("</s> ")  # nothing at all


def test_without_attention_gradients_are_left(found: WritingInspection):
    blind = replace(found, attention=None)
    assert not any(line.startswith("Where it looked") for line in writing_lines(blind, "en"))
    html = writing_page(blind)
    assert set(drawn_charts(html, "en")) == {"gradients"}
    assert "It has no attention" in html


def test_a_wide_text_has_names_alone(found: WritingInspection):
    many = 60
    wide = replace(found, tokens=("a",) * many, attention=None, gradients=((1.0, *[0.0] * (many - 1)),) * 3)
    assert writing_lines(wide, "en")[-1] == "</s>    1 a 1.00"


def test_the_page_has_both_maps_and_escapes(found: WritingInspection):
    html = writing_page(found, "zh")
    charts = drawn_charts(html, "zh")
    assert set(charts) == {"attention", "gradients"}
    rows = charts["attention"]["data"]["values"]
    assert [row["read"] for row in rows[:3]] == ["1 the", "2 <b>cat</b>", "3 the"]  # each has a place of its own
    assert "<b>cat</b>" not in html
    assert any("猫" in text for _, text in Outline(html).texts)


def test_json_and_a_notebook_tell_the_same(found: WritingInspection):
    told = json.loads(json.dumps(found.to_dict()))
    assert told["attention"][0][1] == 0.9
    assert told["probability"] == pytest.approx(0.36)
    shown = inside_translator(found)
    assert shown.html("en").count("<img") == 2
    assert "猫" in str(shown)
