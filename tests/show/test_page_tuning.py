"""The report's section on tuning: curves, table and sentences, in both languages."""

from dataclasses import replace

import chapter_examples as examples
import pytest

from rnnlab.comparing.chapters import Chapter, Report
from rnnlab.comparing.tuning import TrialResult, TunedArm, Tuning, curve, leads
from rnnlab.core.words import LANGUAGES, Language
from rnnlab.show.figures.drawing import svg
from rnnlab.show.figures.tuning import curve_rows, tuning_figure
from rnnlab.show.pages.report import page


@pytest.fixture(scope="module")
def chapter() -> Chapter:
    """lstm has three trials, a baseline too; the majority has nothing to tune."""
    trials = (
        TrialResult({}, 0.6, "finished", 9, "a"),
        TrialResult({"model.hidden": 50}, 0.5, "stopped", 5, "b"),
        TrialResult({"model.hidden": 200}, 0.7, "finished", 20, "c"),
    )
    setting = {"model.hidden": 200, "training.lr": 0.00213}
    points = curve([trial.score for trial in trials], 3, False, 300)
    lstm = TunedArm("lstm", "lstm", False, tuple(setting), (), trials, 2, setting, points)
    worse = curve([0.4, 0.3, 0.2], 3, False, 300)
    grams = replace(lstm, label="n-grams", baseline=True, chosen=0, setting={"model.C": 4.0}, curve=worse)
    majority = replace(grams, label="majority", searched=(), trials=trials[:1], setting={})
    tuning = Tuning(3, "accuracy", False, 300, 10_000, (lstm, grams, majority))
    plain = examples.chapter()
    return replace(plain, comparison=replace(plain.comparison, tuning=replace(tuning, leads=leads(tuning))))


def untuned(chapter: Chapter) -> Chapter:
    return replace(chapter, comparison=replace(chapter.comparison, tuning=None))


def test_its_rows_are_the_curves(chapter: Chapter):
    assert chapter.comparison.tuning is not None
    rows = curve_rows(chapter.comparison.tuning)
    assert [(row["arm"], row["n"]) for row in rows] == [(arm, n) for arm in ("lstm", "n-grams") for n in (1, 2, 3)]
    assert [row["m"] for row in rows[:3]] == [0.6, 0.65, 0.7]
    assert [row["end"] for row in rows] == [False] * 5 + [True]  # where the name of the baseline stands


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("for_page", [True, False])
def test_it_is_drawn(chapter: Chapter, language: Language, for_page: bool):
    figure = tuning_figure(chapter)
    assert figure is not None
    drawn = svg(figure.draw(language, for_page))
    assert "NaN" not in drawn
    assert "n-grams" in drawn
    assert "majority" not in drawn
    assert tuning_figure(untuned(chapter)) is None


def test_the_page_says_it_in_both_languages(chapter: Chapter):
    shown, without = (page(Report((one,), ())) for one in (chapter, untuned(chapter)))
    for text in (
        "hidden 200, lr 0.00213",
        "On validation, lstm wins with any number of trials.",
        "在验证集上，无论试验多少次，lstm 都胜过其他所有模型。",
        "nothing to tune",
        "无可调项",
        'id="tuning"',
        'href="#tuning"',
    ):
        assert text in shown
        assert text not in without
