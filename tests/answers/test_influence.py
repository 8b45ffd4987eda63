"""Standard errors by influence (`Score.per_row`) against those of a real bootstrap, for the scores of translations."""

import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from rnnlab.answers.bleu import BLEU, bleu_counts
from rnnlab.answers.chrf import CHRF, chrf_counts
from rnnlab.answers.edits import edit_counts, exact_counts
from rnnlab.answers.score import Score
from rnnlab.answers.words import EXACT, WER

Counts = Mapping[str, np.ndarray]
ROWS, SAMPLES = 500, 2000
LETTERS = "的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后"


def sentence(rng: random.Random) -> str:
    """Three to twenty characters, common ones more often than rare ones."""
    return "".join(LETTERS[min(int(rng.expovariate(0.08)), len(LETTERS) - 1)] for _ in range(rng.randint(3, 20)))


def spoilt(text: str, rate: float, rng: random.Random) -> str:
    """With characters changed, left out and added."""
    parts = []
    for letter in text:
        chance = rng.random() / rate
        parts.append(letter if chance >= 0.5 else "")
        parts.append(rng.choice(LETTERS) if chance < 0.3 or 0.8 < chance < 1 else "")
    return "".join(parts)


def translations(first: float, second: float) -> tuple[list[str], list[str], list[list[str]], np.ndarray]:
    """What two systems make of 500 rows, the references, and groups of one to four rows that are alike."""
    rng = random.Random(6)
    one, other, references, groups = list[str](), list[str](), list[list[str]](), list[int]()
    for group in range(ROWS):
        true, hard = [sentence(rng) for _ in range(rng.randint(1, 3))], rng.choice([0.2, 1, 1, 2])
        for _ in range(rng.randint(1, 4)):
            source = rng.choice(true)
            one.append(spoilt(source, min(0.95, hard * first), rng))
            other.append(spoilt(source, min(0.95, hard * second), rng))
            references.append(true)
            groups.append(group)
    return one[:ROWS], other[:ROWS], references[:ROWS], np.array(groups[:ROWS])


def by_influence(per_row: np.ndarray, groups: np.ndarray) -> float:
    sums = np.bincount(groups, per_row - per_row.mean())
    return float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(per_row))


def by_bootstrap(score: Score, systems: list[Counts], groups: np.ndarray) -> float:
    """Of the first system, less the second where there is one."""
    rng = np.random.default_rng(1)
    count = int(groups.max()) + 1
    sums = [np.zeros((count, score._matrix(counts).shape[1])) for counts in systems]
    for total, counts in zip(sums, systems, strict=True):
        np.add.at(total, groups, score._matrix(counts))
    values = []
    for _ in range(SAMPLES):
        drawn = np.bincount(rng.integers(0, count, count), minlength=count).astype(np.float64)
        first, *rest = (score.value(drawn @ total) for total in sums)
        values.append(first - sum(rest))
    return float(np.std(values))


COUNTED: dict[str, tuple[Score, Callable[[list[str], list[list[str]]], Counts]]] = {
    "bleu": (BLEU, lambda texts, references: bleu_counts(texts, references, "zh")),
    "chrf": (CHRF, chrf_counts),
    "exact": (EXACT, exact_counts),
    "wer": (WER, edit_counts),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("rates", [(0.12, 0.15), (0.5, 0.55)], ids=["good", "poor"])
def test_influence_is_as_wide_as_the_bootstrap(name: str, rates: tuple[float, float]):
    """Of one system and of the difference of two, by rows and by groups: within 8 %."""
    score, counted = COUNTED[name]
    one, other, references, groups = translations(*rates)
    counts, others = counted(one, references), counted(other, references)
    for by in (np.arange(ROWS), groups):
        alone = by_influence(score.per_row(counts), by)
        between = by_influence(score.per_row(counts) - score.per_row(others), by)
        assert alone == pytest.approx(by_bootstrap(score, [counts], by), rel=0.08)
        assert between == pytest.approx(by_bootstrap(score, [counts, others], by), rel=0.08)


@pytest.mark.parametrize("right", [0, 2, 10])
def test_bleu_of_few_matches_is_as_uncertain_as_the_bootstrap_has_it(right: int):
    """Nothing but single characters is right, except in a few rows: runs of four match never, or a few times."""
    rng = random.Random(8)
    references = [[sentence(rng)] for _ in range(ROWS)]
    answers = ["".join(rng.sample(text, len(text))) for (text,) in references]
    answers = ["、".join(text) for text in answers]
    answers[:right] = [text for (text,) in references[:right]]
    counts = bleu_counts(answers, references, "zh")
    assert (counts["bleu_matches"][:, 3].sum() == 0) == (right == 0)
    assert 0 < BLEU.of(counts) < 0.1
    rows = np.arange(ROWS)
    assert by_influence(BLEU.per_row(counts), rows) == pytest.approx(by_bootstrap(BLEU, [counts], rows), rel=0.2)
