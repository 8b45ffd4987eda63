"""The page of `rnnlab judge` in a real browser."""

import json
from typing import Any

import numpy as np
import pytest
from browsing import DESK, PHONE, axe, drawn, each_value, overflowing

from rnnlab.judging.findings import Verdict
from rnnlab.judging.results import judge
from rnnlab.show.pages.judge import chance_text, judge_page, seeds_figure

HOSTILE = "</script><img src=x onerror=alert(1)> | a very long label that goes on and on, 很长的名字"
LEVELS = {"gru": 0.93, "lstm": 0.92, HOSTILE: 0.88, "majority": 0.6}


def judged(**options: Any) -> Verdict:
    """Four seeds per model, of which one of the third fails; one baseline."""
    random = np.random.default_rng(6)
    hardness = random.random(500)
    scores = {label: hardness + random.normal(0, 0.02, (4, 500)) < level for label, level in LEVELS.items()}
    scores[HOSTILE][2] = hardness < 0.5
    scores["majority"] = scores["majority"][:1]
    return judge(scores, costs={"gru": 1.0, "lstm": 2.0}, baselines=["majority"], **options)


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return judged()


@pytest.mark.parametrize(("viewport", "theme"), each_value([PHONE, DESK], ["light", "dark"]))
def test_it_fits_and_can_be_read_by_everybody(open_page, verdict, viewport, theme):
    page = open_page(
        judge_page(verdict, source="results.csv", notes=["read as GB18030"]), viewport=viewport, color_scheme=theme
    )
    for language in ("en", "zh"):
        page.click(f'[data-language="{language}"]')
        drawn(page)
        assert overflowing(page) == []
        if language == ("en" if theme == "light" else "zh"):  # each once
            assert axe(page) == []


def test_the_answer_the_seeds_the_scores_and_the_pairs(open_page, verdict):
    page = open_page(judge_page(verdict, source="results.csv"))
    names = [section.get_attribute("id") for section in page.locator("main > section").all()]
    assert names == ["answer", "seeds", "scores", "pairs"]
    said = " ".join(page.locator(".answer [lang=en]").all_inner_texts())
    assert all(sentence.strip() in said for sentence in verdict.sentence.split(". ")[:1])
    assert page.locator("#scores tbody tr").count() == 4
    assert page.locator("#scores tr.baseline").count() == 1
    assert page.locator("#scores tr.recommended th").inner_text().startswith(str(verdict.recommended))
    assert page.locator("#pairs tbody tr").count() == len(verdict.differences) == 6
    assert page.locator("#figure-seeds svg").count() == 1


def test_the_page_opens_in_the_language_that_was_asked_for(open_page, verdict):
    page = open_page(judge_page(verdict, source="results.csv", language="zh"))
    assert page.locator("h1").inner_text() == "rnnlab 评判：results.csv"
    assert "推荐" in page.locator("#scores tr.recommended").inner_text()


def test_every_seed_is_a_mark_and_a_failed_one_is_a_warning(verdict):
    points = seeds_figure(verdict).draw("en", True).to_dict()["data"]["values"]
    for label, runs in verdict.scores.items():
        dots = {point["seed"]: point for point in points if point["arm"] == label and point["k"] == "run"}
        assert {seed: dot["v"] for seed, dot in dots.items()} == pytest.approx(runs, abs=1e-6)
        failures = verdict.failures.get(label)
        assert {seed for seed, dot in dots.items() if dot["f"]} == set(failures.failed if failures else ())
        (mean,) = (point for point in points if point["arm"] == label and point["k"] == "mean")
        estimate = verdict.estimates[label]
        assert (mean["lo"], mean["v"], mean["hi"]) == pytest.approx(
            (estimate.low, estimate.mean, estimate.high), abs=1e-6
        )
    assert verdict.failures[HOSTILE].failed == (2,)


def test_one_model_has_no_pairs(open_page):
    page = open_page(judge_page(judge({"a": np.eye(2)})))
    assert page.locator("#pairs").count() == 0
    assert json.loads(page.locator("#charts").text_content())["figures"].keys() == {"seeds"}


@pytest.mark.parametrize(
    ("chance", "text"),
    [(1.0, "> 99 %"), (0.992, "> 99 %"), (0.99, "99 %"), (0.5, "50 %"), (0.01, "1 %"), (0.0, "< 1 %")],
)
def test_no_chance_is_certain(chance, text):
    assert chance_text(chance) == text
