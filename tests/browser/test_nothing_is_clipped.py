"""Every page on a phone, a tablet, a desk and a wide screen, in both languages and both themes: nothing is cut off
without a hint that it can be scrolled, and no label lies on another or under its own dot."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from browsing import examples, overflowing

from rnnlab.comparing.chapters import Report, SweepChapter
from rnnlab.judging.findings import ArmScores, Estimate
from rnnlab.judging.results import judge as judge_results
from rnnlab.judging.verdict import judge
from rnnlab.show.pages.inspection import page as inspection_page
from rnnlab.show.pages.judge import judge_page
from rnnlab.show.pages.report import page as report_page

chapters, studies, inspections = examples("chapter_examples"), examples("conftest"), examples("test_report_inspection")
taggers = examples("tagger_examples")
recognisers = examples("recogniser_examples")
MEANS = {"bigru": 0.987, "bilstm": 0.986, "lstm": 0.985, "gru": 0.981, "rnn": 0.958}
MEANS |= {"textcnn": 0.886, "transformer": 0.866, "linear": 0.605}
TOKENS = ("the", "pace", "drags", "at", "first", ",", "but", "overall", "it", "is", "well", "worth", "seeing", "again")
WIDTHS = (390, 768, 1280, 1920)
THEMES = ("light", "dark")
NAMES = ("report", "taggers", "sweep", "inspection", "judge")
EVERY = [(name, width, theme) for name in NAMES for width in WIDTHS for theme in THEMES]
WAYS = [(name, 390, THEMES[at % 2]) for at, name in enumerate(NAMES)]
WAYS += [(name, WIDTHS[1 + at % 3], THEMES[(at + 1) % 2]) for at, name in enumerate(NAMES)]
"""With every change, each page on a phone in one theme, and on one of the wider screens in the other; `make test-long`
takes all."""

OVERLAPPING = """() => {
  const found = [];
  const level = (text) => {  // the box of a slanted label says nothing
    const turned = text.getCTM();
    return Math.abs(turned.b) < 0.01 || Math.abs(turned.a) < 0.01;
  };
  for (const chart of document.querySelectorAll(".chart svg")) {
    const name = chart.closest("[data-figure]").dataset.figure;
    const shown = [...chart.querySelectorAll("text")].filter((text) => {
      const box = text.getBoundingClientRect();
      return text.textContent.trim() && box.width && getComputedStyle(text).opacity !== "0" && level(text);
    });
    const boxes = shown.map((text) => [text.textContent, text.getBoundingClientRect()]);
    const both = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;  // a line's box is higher than its letters
    boxes.forEach(([one, box], at) => {
      for (const [other, next] of boxes.slice(at + 1)) if (both(box, next)) found.push(`${name}: ${one} on ${other}`);
    });
    if (name !== "cost") continue;
    for (const dot of chart.querySelectorAll(".mark-symbol path"))
      for (const [text, box] of boxes)
        if (both(box, dot.getBoundingClientRect())) found.push(`${name}: ${text} on a dot`);
  }
  return found;
}"""


def report() -> str:
    """Eight models, one of them far behind, and two baselines."""
    chapter = chapters.chapter()
    (first, *_) = chapter.comparison.arms
    hard = np.random.default_rng(1).random((1, 300))
    found = [
        ArmScores(label, [0, 1, 2], np.repeat(hard < mean, 3, 0).astype(float), 1.0) for label, mean in MEANS.items()
    ]
    found += [chapters.scores(label, "seconds") for label in chapters.BASELINES]
    verdict = judge(found, np.arange(300))
    arms = tuple(
        replace(
            first,
            label=label,
            score=Estimate(mean, mean - 0.008, min(1.0, mean + 0.008)),
            epoch_seconds=0.07 * 1.4**at,
            total_seconds=2.1 * 1.3**at,
            row_seconds=1e-5 * 1.3**at,
            parameters=60_000 + 21_000 * at,
            failed_seeds=(),
        )
        for at, (label, mean) in enumerate(MEANS.items())
    )
    comparison = replace(chapter.comparison, arms=arms, verdict=verdict)
    return report_page(Report((replace(chapter, comparison=comparison),), ()))


def tagged() -> str:
    """Entities in characters, parts of speech of words, and spoken words."""
    return report_page(Report((taggers.entities(), taggers.words(), recognisers.digits()), ()))


def sweep() -> str:
    """Settings by their paths; some runs diverge, some never arrive."""
    grid = studies.make(
        {"training.lr": (0.001, 0.005, 0.02, 0.1), "model.hidden": (8, 16, 32, 64)},
        lambda lr, hidden: ["diverged"] * 2 if lr == 0.1 else [None, 400] if hidden == 8 else [50 + hidden, 100],
        name="rate and width",
    )
    scores = replace(studies.make({"model.layers": (1, 2, 3)}, lambda n: [100 * n, None]), name="depth", target=None)
    return report_page(Report((), (SweepChapter("a sweep", (grid, scores), "rnnlab sweep file.toml", (), (), 3.0),)))


def inspection() -> str:
    return inspection_page(inspections.inspected("gru", TOKENS))


def judged() -> str:
    rows = np.random.default_rng(6).random(400)
    scores = {label: np.tile(rows < mean, (3, 1)) for label, mean in MEANS.items()}
    return judge_page(judge_results(scores, costs={"gru": 1.0, "lstm": 2.0}), source="results.csv")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {"report": report(), "taggers": tagged(), "sweep": sweep(), "inspection": inspection(), "judge": judged()}


def faults(page: Any) -> list[str]:
    return [*overflowing(page), *page.evaluate(OVERLAPPING)]


def measured(open_page: Any, html: str, width: int, theme: str) -> list[str]:
    found = []
    page = open_page(html, viewport={"width": width, "height": 900}, color_scheme=theme)
    for language in ("en", "zh"):
        page.click(f'[data-language="{language}"]')
        page.wait_for_selector('html[data-drawn="yes"]', state="attached")
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        page.wait_for_timeout(150)  # until the observers of sizes have spoken
        found += [f"{width} {theme} {language}: {fault}" for fault in faults(page)]
    return found


@pytest.mark.parametrize(("name", "width", "theme"), WAYS)
def test_nothing_is_clipped_and_nothing_overlaps(open_page, pages, name, width, theme):
    assert measured(open_page, pages[name], width, theme) == []


@pytest.mark.long
@pytest.mark.parametrize(("name", "width", "theme"), [way for way in EVERY if way not in WAYS])
def test_in_every_other_way_too(open_page, pages, name, width, theme):
    assert measured(open_page, pages[name], width, theme) == []


def test_every_choice_of_the_cost_keeps_its_labels_apart(open_page, pages):
    page = open_page(pages["report"], viewport={"width": 1280, "height": 900})
    for value in ("total", "parameters", "row"):
        page.locator(f'#figure-cost label:has(input[value="{value}"])').click()
        page.wait_for_timeout(150)
        assert [fault for fault in page.evaluate(OVERLAPPING) if fault.startswith("cost")] == []


def test_a_box_that_scrolls_shows_on_which_side_there_is_more(open_page, pages):
    page = open_page(pages["report"], viewport={"width": 390, "height": 900})
    table = page.locator("#table .scroll").first
    assert "more-right" in table.get_attribute("class")
    table.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    page.wait_for_timeout(100)
    assert "more-left" in table.get_attribute("class")
    assert "more-right" not in table.get_attribute("class")


def test_what_the_measures_find(open_page, pages):
    """They do see a box without a hint, a label on another and one that is cut off."""
    page = open_page(pages["report"], viewport={"width": 390, "height": 900})
    page.add_style_tag(content=".scroll { mask-image: none !important; }")
    assert any(fault.startswith("no hint on DIV.scroll table") for fault in overflowing(page))
    page.evaluate("""() => {
        const [one, other] = document.querySelectorAll('[data-figure="seeds"] .role-axis-label text');
        other.setAttribute("transform", one.getAttribute("transform"));
    }""")
    assert any(fault.startswith("seeds") for fault in page.evaluate(OVERLAPPING))
