"""Every task and baseline obeys the laws; and what breaks one is caught by that one."""

from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from corpora import write_bmes, write_hours, write_pairs
from torch import Tensor, nn
from waves import folder_of_tones

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.heads import StateHead
from rnnlab.answers.label import Label
from rnnlab.answers.tags import Tags
from rnnlab.core.cache import cache_dir
from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.sequences import Targets
from rnnlab.models.base import Encoded
from rnnlab.models.baselines import BASELINES, Baseline, Majority
from rnnlab.tasks.addition import Addition
from rnnlab.tasks.base import TASKS, Task
from rnnlab.tasks.classify import Classify
from rnnlab.tasks.forecast import ForecastTask
from rnnlab.tasks.recognise import Recognise
from rnnlab.tasks.speech import Speech
from rnnlab.tasks.synthetic import Copy, Parity
from rnnlab.tasks.tag import Tag
from rnnlab.tasks.translate import Translate
from rnnlab.testing import BASELINE_LAWS, TASK_LAWS, check_baseline, check_task

SMALL: dict[str, dict[str, Any]] = {
    "classify": {"rows": 200},
    "addition": {"held_out": 40, "length": 6},
    "copy": {"rows": 200, "gap": 4},
    **{kind: {"rows": 200, "length": 8, "longest": 10, "beam": 3} for kind in ("reverse", "sort", "dates")},
    "language-model": {"sentences_made": 400, "block": 100, "context": 20},
}


def small(kind: str) -> Task:
    if kind == "speech":
        tones = folder_of_tones(cache_dir() / "tones", 3, 6, 6)
        return Speech(data=str(tones), pattern="{label}_{speaker}_{n}.wav", group="speaker")
    if kind == "recognise":
        tones = folder_of_tones(cache_dir() / "tones", 3, 6, 6)
        return Recognise(data=str(tones), pattern="{label}_{speaker}_{n}.wav", rows=30, held_out=30, bands=8)
    if kind == "translate":
        return Translate(data=str(write_pairs(cache_dir() / "pairs.tsv")), longest=10, beam=3)
    if kind == "forecast":
        return ForecastTask(data=str(write_hours(cache_dir() / "hours.csv", 400)), horizon=6, lookback=12)
    if kind == "tag":
        return Tag(data=str(write_bmes(cache_dir() / "corpus.bmes")), ngrams=(2,))
    return TASKS.parse({"kind": kind, **SMALL.get(kind, {"rows": 200, "length": 12, "shortest": 4})})


@pytest.mark.parametrize("law", TASK_LAWS)
@pytest.mark.parametrize("kind", TASKS.names())
def test_every_task_obeys(kind: str, law: str):
    TASK_LAWS[law](small(kind))


@pytest.mark.parametrize("law", TASK_LAWS)
@pytest.mark.parametrize("steps", [1, 4])
def test_forecasts_that_are_read_again_obey(law: str, steps: int):
    TASK_LAWS[law](small("forecast").replace(strategy="recursive", step_ahead=steps, scaling="window"))


@pytest.mark.parametrize("law", BASELINE_LAWS)
@pytest.mark.parametrize("kind", BASELINES.names())
def test_every_baseline_obeys(kind: str, law: str):
    BASELINE_LAWS[law](BASELINES.parse({"kind": kind}))


# --- what breaks a law ----------------------------------------------------------------------------------------------


class CountsTwice(Label):
    """The first row of every split counts twice."""

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        counts = super().counts(kept, targets)
        counts["rows"] = counts["rows"].copy()
        counts["rows"][0] = 2
        return counts


class AsksTheNeighbours(Label):
    """Outputs are centred over the batch."""

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        return {"logits": out - out.mean(0)}


class CountsPadding(Tags):
    """The loss is a mean over all steps, those of padding too."""

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        targets = batch.targets.clamp(min=0)
        return nn.functional.cross_entropy(out.flatten(0, 1), targets.flatten())


class MeanOfMeans(Label):
    """Totals that are no sums of the rows' counts."""

    def totals(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        return {name: total / len(targets) for name, total in super().totals(kept, targets).items()}


class LooksAhead(Tags):
    """The head reads the states less their mean over time, which the future has a part in."""

    def head(self, width: int, outputs: int) -> nn.Module:
        class Head(StateHead):
            def forward(self, encoded: Encoded) -> Tensor:
                return self.linear(encoded.states - encoded.states.mean(1, keepdim=True))

        return Head(width, outputs)


def with_answer(base: type[Task], answer: Answer, **settings: Any) -> Task:
    class Changed(base):
        shape: ClassVar[Answer] = answer

    Changed.kind = base.kind
    return Changed(**settings)


@pytest.mark.parametrize(
    ("task", "law"),
    [
        (with_answer(Parity, CountsTwice(), rows=100, length=5), "every_row_is_counted_once"),
        (with_answer(Parity, AsksTheNeighbours(), rows=100, length=5), "answers_do_not_depend_on_neighbours"),
        (with_answer(Parity, MeanOfMeans(), rows=100, length=5), "counts_add_over_any_partition"),
        (with_answer(Copy, CountsPadding(), rows=100, gap=3), "padding_does_not_change_the_loss"),
        (with_answer(Copy, LooksAhead(), rows=100, gap=3), "the_future_changes_nothing_before_it"),
    ],
)
def test_a_task_that_breaks_a_law_is_caught(task: Task, law: str):
    with pytest.raises(AssertionError, match=law):
        TASK_LAWS[law](task)
    with pytest.raises(AssertionError):
        check_task(task)


def test_data_that_change_from_time_to_time_are_caught():
    class Moody(Parity):
        def encoded(self) -> EncodedData:
            return self.replace(data_seed=int(torch.randint(1000, ()))).generate()

    Moody.kind = "parity"
    with pytest.raises(AssertionError, match="data_depend_on_the_settings_alone"):
        TASK_LAWS["data_depend_on_the_settings_alone"](Moody(rows=100, length=5))


def test_rows_that_are_drawn_by_the_clock_are_caught():
    class Moody(Addition):
        def draw(self, seed: int, step: int, rows: int) -> Any:
            return super().draw(int(torch.randint(1000, ())), step, rows)

    Moody.kind = "addition"
    with pytest.raises(AssertionError, match="fresh_rows_depend_on_seed_and_step_alone"):
        check_task(Moody(held_out=20, length=4))


def test_texts_of_other_rows_are_caught():
    class Mixed(Classify):
        def texts(self, rows: Any) -> list[str] | None:
            return (super().texts(rows) or [])[::-1]

    Mixed.kind = "classify"
    with pytest.raises(AssertionError, match="texts_are_read_as_the_rows_were"):
        check_task(Mixed(rows=200))


class Broken(Majority):
    """Changed in the tests below."""


@pytest.mark.parametrize(
    ("law", "change"),
    [
        ("answers_do_not_depend_on_neighbours", {"logits": "outputs less those of the row before"}),
        ("the_same_rows_teach_the_same", {"fit": "drawn"}),
        ("the_order_of_training_rows_does_not_matter", {"fit": "by the first row"}),
        ("outputs_have_a_row_for_each_row", {"logits": "one row"}),
        ("answers_are_not_worse_than_the_majority", {"logits": "no answer is right"}),
        ("what_is_learnt_is_plain_arrays", {"fit": "objects"}),
    ],
)
def test_a_baseline_that_breaks_a_law_is_caught(law: str, change: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    fit, logits, state = Majority.fit, Majority.logits, np.random.default_rng(0)

    def other_fit(self: Baseline, values: Any, offsets: Any, targets: Any, classes: int) -> Any:
        learnt = fit(self, values, offsets, targets, classes)  # type: ignore[arg-type]
        if change["fit"] == "drawn":
            return {"log_share": learnt["log_share"] + state.normal(size=classes)}
        if change["fit"] == "by the first row":
            return {"log_share": np.eye(classes)[targets[0]]}
        return {"log_share": learnt["log_share"].astype(object)}

    def other_logits(self: Baseline, learnt: Any, values: Any, offsets: Any) -> np.ndarray:
        if change["logits"] == "one row":
            return learnt["log_share"][None]
        found = logits(self, learnt, values, offsets)  # type: ignore[arg-type]
        if change["logits"] == "no answer is right":
            return -np.eye(3)[np.arange(len(found)) % 3]
        weights = values[offsets[:-1]].reshape(len(found), -1)[:, :1].astype(float)
        return found + np.cumsum(weights, 0) * np.arange(3)

    for name in change:
        monkeypatch.setattr(Broken, name, {"fit": other_fit, "logits": other_logits}[name])
    Broken.kind = "majority"
    with pytest.raises(AssertionError, match=law):
        BASELINE_LAWS[law](Broken())
    with pytest.raises(AssertionError):
        check_baseline(Broken())
