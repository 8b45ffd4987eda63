"""The pages of `inspect` and `sweep` in a browser."""

from dataclasses import replace
from typing import Any

import pytest
from browsing import PHONE, WIDE, axe, drawn, examples, overflowing
from kitchen import NASTY

from rnnlab.comparing.chapters import Report, SweepChapter
from rnnlab.show.pages import inspection
from rnnlab.show.pages import report as report_page

MEDIUM = {"width": 1024, "height": 800}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    inspected, made = examples("test_report_inspection").inspected, examples("conftest")
    text = ("the", "film", "was", "not", "so", "bad", NASTY, "好看")
    grid = made.make({"lr": (0.001, 0.01, 0.1), "length": (5, 10)}, made.rate_and_length, heatmaps=(("length", "lr"),))
    nasty = made.make({NASTY: [0.1, 0.2], "on": [True, False]}, lambda lr, on: [100, None, "diverged"])
    nasty = replace(nasty, name=NASTY, about=NASTY, notes=(NASTY,))
    return {
        "inspection": inspection.page(inspected("textcnn", text)),
        "lstm": inspection.page(inspected("lstm", text, pooling="attention"), "zh"),
        "sweep": report_page.page(Report((), (SweepChapter(NASTY, (grid, nasty), NASTY, (), (), 0.0),))),
    }


def both_languages(page: Any) -> list[Any]:
    """What is wrong with a page in either language."""
    found = [*overflowing(page), *axe(page)]
    page.click('[data-language="zh"]')
    drawn(page)
    return [*found, *overflowing(page), *axe(page)]


@pytest.mark.parametrize(
    "viewport",
    [
        pytest.param(PHONE, id="phone"),
        pytest.param(MEDIUM, id="medium", marks=pytest.mark.long),
        pytest.param(WIDE, id="wide", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("name", ["inspection", "lstm", "sweep"])
def test_pages_fit_and_can_be_read_by_everybody(open_page, pages, name, viewport):
    page = open_page(pages[name], viewport=viewport, color_scheme="dark" if viewport is MEDIUM else "light")
    assert both_languages(page) == []
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("name", ["inspection", "lstm", "sweep"])
def test_every_chart_is_drawn(open_page, pages, name):
    page = open_page(pages[name])
    places = page.locator(".chart").count()
    assert places == page.locator(".chart svg").count() > 0
    sizes = page.locator(".chart svg").evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    assert min(sizes) > 60


def test_a_sweep_in_two_languages(open_page, pages):
    page = open_page(pages["sweep"])
    heads = page.locator("#s0-0 table").first.locator("thead button")
    assert "arrived" in heads.all_inner_texts()
    assert any("validation exact match" in text for text in page.locator("#s0-0 svg text").all_text_contents())
    page.click('[data-language="zh"]')
    drawn(page)
    assert "达标" in heads.all_inner_texts()
    assert any("验证集全对率" in text for text in page.locator("#s0-0 svg text").all_text_contents())
    assert not any("validation exact match" in text for text in page.locator("svg text").all_text_contents())


def test_a_sweep_sorts_by_median(open_page, pages):
    page = open_page(pages["sweep"])
    table = page.locator("#s0-0 table").first
    table.locator("thead button", has_text="median first update").click()
    medians = table.locator("tbody tr > :nth-child(4)").all_inner_texts()
    known = [float(text.rstrip("+").replace(",", "")) for text in medians if text]
    assert known == sorted(known, reverse=True)
    assert medians[len(known) :] == [""] * (len(medians) - len(known))
