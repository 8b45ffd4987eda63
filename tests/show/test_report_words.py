"""What the report page says first, and how it sorts answers."""

from dataclasses import replace

import chapter_examples as examples
import pytest

from rnnlab.comparing.chapters import Answered, Chapter, DisputedRow
from rnnlab.core.words import SENTENCES, joined
from rnnlab.judging.findings import Estimate
from rnnlab.show.pages import report_texts as words
from rnnlab.show.pages.report import _answer, _standing, camps


@pytest.fixture(scope="module")
def chapter() -> Chapter:
    return examples.chapter()


def test_headline_and_evidence_are_the_sentence(chapter: Chapter):
    found = _answer(chapter)
    verdict = chapter.comparison.verdict
    assert joined([found.headline, *found.evidence], SENTENCES).en == verdict.sentence
    assert joined([found.headline, *found.evidence], SENTENCES).zh == verdict.sentence_zh
    assert found.evidence


def test_the_recommended_model_and_its_costs_are_named(chapter: Chapter):
    found, verdict = _answer(chapter), chapter.comparison.verdict
    assert found.chosen is not None
    assert verdict.recommended is not None
    assert verdict.recommended in found.chosen.en
    arm = next(arm for arm in chapter.comparison.arms if arm.label == verdict.recommended)
    assert arm.epoch_seconds == 3.75
    assert "3.8 s per epoch" in [cost.en for cost in found.costs]
    assert "每轮 3.8 秒" in [cost.zh for cost in found.costs]


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({"best": None, "best_model": None, "recommended": None}, "nothing"),
        ({"best": "n-grams", "best_model": None, "recommended": None}, "nothing"),  # a baseline alone has finished
        ({"recommended": None}, "cannot tell"),
        ({"recommended": "n-grams", "firm": True}, "baseline"),
        ({"recommended": "n-grams", "firm": False}, "for now"),
        ({"firm": True}, "settled"),
        ({"firm": False}, "for now"),
        ({"estimates": {"lstm": Estimate(0.8, 0.7, 0.9)}, "firm": True}, "alone"),
    ],
)
def test_how_settled_it_is(chapter: Chapter, changes: dict[str, object], standing: str):
    verdict = replace(chapter.comparison.verdict, recommended="lstm", best="lstm", best_model="lstm")
    comparison = replace(chapter.comparison, verdict=replace(verdict, **changes))  # type: ignore[arg-type]  # by name
    assert _standing(comparison) == standing
    assert all(said.zh for said in words.STANDING[standing])


def test_the_right_answer_comes_first_then_the_larger_camps():
    answers = [("a", "x"), ("b", "y"), ("c", "y"), ("d", "z")]
    said = tuple(Answered(arm, label, 1, 1, label == "z") for arm, label in answers)
    found = camps(DisputedRow(0, "text", False, "z", None, 0.8, said))
    assert [[answer.arm for answer in camp] for camp in found] == [["d"], ["b", "c"], ["a"]]
