"""Every sentence of a card stands for a fact, and is left out where the fact isn't so."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from rnnlab.answers.calibration import ece, fit_temperature
from rnnlab.core.errors import RunError
from rnnlab.data.preprocessor import Preprocessor, Scaler
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import Vocabulary
from rnnlab.judging.spread import group_sums, measure
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import RunDirectory, pretty_json
from rnnlab.tasks.base import TASKS
from rnnlab.training.spec import RunSpec, Training
from rnnlab.use.card import Card, card_of, interval_of

LABELS = ("bad", "good", "so-so")


def preprocessor(**changes: Any) -> Preprocessor:
    values = {
        "labels": LABELS,
        "tokenizer": Tokenizer("words"),
        "vocabulary": Vocabulary(("<pad>", "<unk>", "film", "the", "fine")),
    }
    return Preprocessor(**(values | changes))


def predictions(rows: int, seed: int, by_class: tuple[int, ...] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Logits (N, 3) that are right in about two cases of three."""
    random = np.random.default_rng(seed)
    targets = np.repeat(np.arange(3), by_class) if by_class else random.integers(0, 3, rows)
    logits = random.normal(size=(len(targets), 3)) + 2 * np.eye(3)[targets]
    return logits.astype(np.float32), targets


def write_run(
    folder: Path, *, task: str = "classify", kind: str = "gru", seed: int = 0, test: Any = None, **result: Any
) -> tuple[RunDirectory, RunSpec]:
    """A finished run, but for its weights."""
    fingerprint = {"fingerprint": "f" * 32}
    data = {"data": "/home/somebody/reviews.csv", "tokenizer": "words"} if task == "classify" else {}
    model = ARCHITECTURES.parse({"kind": kind, "hidden": 4})
    spec = RunSpec(TASKS.parse({"kind": task, **fingerprint, **data}), model, Training(), seed)
    run = RunDirectory(folder / spec.digest)
    run.create(spec.to_dict())
    valid_logits, valid_targets = predictions(300, 10)
    logits, targets = test if test is not None else predictions(400, 11)
    right = (logits.argmax(1) == targets).astype(np.float64)
    arrays = {
        "valid.logits": valid_logits,
        "valid.targets": valid_targets,
        "test.logits": logits,
        "test.targets": targets,
        "test.right": right,
        "test.groups": np.arange(len(targets)),
        "test.lengths": np.ones(len(targets), int) if task == "copy" else np.arange(len(targets)) % 7 + 1,
    }
    (run / "predictions.safetensors").write_bytes(safetensors.numpy.save(arrays))
    confusion = np.zeros((3, 3), int)
    np.add.at(confusion, (targets.astype(int), logits.argmax(1)), 1)
    scores = {"accuracy": float(right.mean()), "loss": 0.7}
    values = {
        "status": "finished",
        "parameters": {"total": 123},
        "environment": {"rnnlab": "0.1.0", "torch": "2.13.0"},
        "valid": scores,
        "test": scores | {"confusion": confusion.tolist()},
    }
    run.seal(values | result)
    return run, spec


def record(
    run: RunDirectory, name: str, digests: list[str], accuracy: tuple[float, float, float], **profile: Any
) -> None:
    """As `rnnlab compare` does, as far as a card looks at it."""
    figures = {
        "rows": {"train": 1000, "valid": 300, "test": 400},
        "script": "Latin",
        "unknown": {"train": 0.0, "valid": 0.001, "test": 0.002},
        "cut_rows": 0,
        "warnings": [],
    }
    runs = [{"digest": digest, "status": "finished"} for digest in digests]
    arm = {"label": "gru", "accuracy": dict(zip(("mean", "low", "high"), accuracy, strict=True)), "runs": runs}
    folder = run.path.parent / "comparisons" / name
    folder.mkdir(parents=True)
    saved = {"arms": [arm], "baselines": [], "profile": figures | profile}
    (folder / "comparison.json").write_text(pretty_json(saved), encoding="utf-8")


# --- the interval --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "groups", "share"), [(400, 400, 0.7), (400, 60, 0.7), (50, 2, 0.5), (30, 30, 1.0), (3, 1, 0.4), (1, 1, 1)]
)
def test_the_interval_is_that_of_a_comparison(rows, groups, share):
    """`judging.spread` for one seed, of which it is a copy without scipy."""
    random = np.random.default_rng(rows + groups)
    right = (random.random(rows) < share).astype(np.float64)
    belongs = random.integers(0, groups, rows) if groups < rows else np.arange(rows)
    spread = measure(*group_sums(right[None], belongs))
    reach = spread.reach(0.05)
    found = interval_of(right, belongs)
    assert found.mean == pytest.approx(right.mean(), abs=1e-12)
    assert found.low == pytest.approx(max(0, spread.mean - reach), abs=1e-5)
    assert found.high == pytest.approx(min(1, spread.mean + reach), abs=1e-5)
    assert found.seeds == 1


def test_rows_that_belong_together_say_less():
    right = np.repeat([1.0, 0.0], 100)
    alone, together = interval_of(right, np.arange(200)), interval_of(right, np.arange(200) // 10)
    assert together.high - together.low > 2 * (alone.high - alone.low)


# --- from the files of a run ---------------------------------------------------------------------------------------


def test_figures_come_from_the_files(tmp_path):
    run, spec = write_run(tmp_path)
    card = card_of(run, spec, preprocessor())
    valid, test = predictions(300, 10), predictions(400, 11)
    assert card.calibration is not None
    assert card.temperature == fit_temperature(*valid) != 1
    assert card.calibration.ece_before == ece(*test)
    assert card.calibration.ece_after == ece(test[0] / card.temperature, test[1])
    assert card.accuracy == interval_of(test[0].argmax(1) == test[1], np.arange(400))
    assert card.data["name"] == "reviews.csv"  # not where it lay
    assert card.data["fingerprint"] == "f" * 32
    assert card.data["rows"] == {"valid": 300, "test": 400}
    assert card.data["script"] == "Latin"
    assert card.model["parameters"] == 123
    assert card.model["run"] == spec.digest
    assert Card.from_json(card.to_json()) == card
    assert "/home" not in card.to_json()


def test_an_ordinary_model_has_few_limits(tmp_path):
    run, spec = write_run(tmp_path)
    card = card_of(run, spec, preprocessor())
    assert card.intended_use == (
        "Gives texts (Latin) like those of 'reviews.csv' one of 3 labels: 'bad', 'good' or 'so-so'. "
        "Rows of that data: 300 for validation, 400 for testing."
    )
    assert [limit.split(":")[0][:40] for limit in card.limits] == [
        "Every input gets one of these labels, al",
        "Texts unlike those of 'reviews.csv' were",
        "The longest test row has 7 tokens; longe",
        "One seed only",
    ]


def test_weak_missing_and_rare_labels_are_named(tmp_path):
    logits, targets = predictions(0, 1, by_class=(90, 10, 0))
    logits[targets == 1] -= 9 * np.eye(3, dtype=np.float32)[1]
    run, spec = write_run(tmp_path, test=(logits, targets))
    limits = card_of(run, spec, preprocessor()).limits
    assert "Of these labels it finds fewer than half of the rows: 'good' (0.0 %)." in limits
    assert "No test row has the label 'so-so': how well it is found is unknown." in limits
    assert (
        "Labels are out of balance: 90 test rows of 'bad', 10 of 'good'. Accuracy speaks mostly of the large ones."
        in limits
    )
    assert "Tested on 100 rows only: the figures are rough." in limits


def test_rows_that_were_cut(tmp_path):
    run, spec = write_run(tmp_path)
    limits = card_of(run, spec, preprocessor(max_length=7)).limits
    assert "Only the first 7 tokens of a row are read." in limits
    assert not any("longest test row" in limit for limit in limits)
    record(run, "one", [spec.digest], (0.7, 0.6, 0.8), cut_rows=170)
    limits = card_of(run, spec, preprocessor(max_length=7)).limits
    assert "Only the first 7 tokens of a row are read; 170 of the 1,700 rows were cut." in limits


def test_probabilities_that_stay_wrong(tmp_path):
    logits, targets = predictions(400, 11)
    run, spec = write_run(tmp_path, test=(5 * logits, targets))  # surer than on the validation rows
    card = card_of(run, spec, preprocessor())
    assert card.calibration is not None
    wrong = f"Probabilities are off by {100 * card.calibration.ece_after:.1f} % on average"
    assert any(limit.startswith(wrong) for limit in card.limits)


def test_series_and_other_answers(tmp_path):
    run, spec = write_run(tmp_path, task="first-last")
    numbers = preprocessor(tokenizer=None, vocabulary=None, scaler=Scaler((0.0,) * 3, (1.0,) * 3))
    card = card_of(run, spec, numbers)
    assert card.intended_use.startswith(
        "Gives sequences of 3 numbers a step like those of 'first-last' one of 3 labels"
    )
    assert "Sequences unlike those of 'first-last' were not tested." in card.limits
    assert card.calibration is not None
    for task in ("copy", "adding"):
        kept = (np.ones((400, 3), np.float32), np.zeros(400, np.int64))
        run, spec = write_run(tmp_path, task=task, test=kept)
        card = card_of(run, spec, numbers)
        assert card.calibration is None
        assert card.temperature == 1.0
        assert card.accuracy is not None
        assert card.intended_use.startswith(f"Answers what the task '{task}' asks, and nothing else.")


def test_runs_that_say_nothing(tmp_path):
    run, spec = write_run(tmp_path, status="diverged", divergence={"step": 3})
    with pytest.raises(RunError, match="not a finished run"):
        card_of(run, spec, preprocessor())
    (run / "result.json").unlink()
    with pytest.raises(RunError, match="not a finished run"):
        card_of(run, spec, preprocessor())


def test_a_damaged_file_is_noticed(tmp_path):
    run, spec = write_run(tmp_path)
    content = bytearray((run / "predictions.safetensors").read_bytes())
    content[-1] ^= 1
    (run / "predictions.safetensors").write_bytes(content)
    with pytest.raises(RunError, match="damaged"):
        card_of(run, spec, preprocessor())


def test_a_run_of_the_first_version():
    folder = Path(__file__).parent.parent / "formats" / "v1"
    run = RunDirectory(folder)
    found = Preprocessor.from_json((folder / "model.json").read_text(encoding="utf-8"))
    card = card_of(run, RunSpec.from_dict(run.spec()), found)
    assert card.accuracy is not None
    assert card.accuracy.mean == card.metrics["test"]["accuracy"]


# --- recorded comparisons ------------------------------------------------------------------------------------------


def test_the_interval_over_seeds(tmp_path):
    run, spec = write_run(tmp_path)
    record(run, "b-two", [spec.digest, "0" * 16], (0.66, 0.61, 0.71))
    record(run, "a-three", [spec.digest, "0" * 16, "1" * 16], (0.67, 0.63, 0.71), warnings=["labels are odd"])
    record(run, "c-others", ["0" * 16, "1" * 16, "2" * 16, "3" * 16], (0.5, 0.4, 0.6))
    card = card_of(run, spec, preprocessor())
    assert card.accuracy is not None
    assert (card.accuracy.mean, card.accuracy.low, card.accuracy.high) == (0.67, 0.63, 0.71)
    assert card.accuracy.seeds == 3
    own = card.metrics["test"]["accuracy"]
    assert (
        "The interval is of the mean over 3 training runs; this model is the one with seed 0, whose own accuracy is "
        f"{100 * own:.1f} %." in card.limits
    )
    assert "The data: labels are odd." in card.limits
    assert card.data["rows"]["train"] == 1000
    assert not any("unknown" in limit or "One seed" in limit for limit in card.limits)


def test_unknown_tokens(tmp_path):
    run, spec = write_run(tmp_path)
    record(run, "one", [spec.digest], (0.7, 0.6, 0.8), unknown={"train": 0.0, "valid": 0.06, "test": 0.07})
    assert "7.0 % of the tokens of the test rows are unknown to the model." in card_of(run, spec, preprocessor()).limits


def test_a_comparison_that_cannot_be_read_is_passed_over(tmp_path):
    run, spec = write_run(tmp_path)
    alone = card_of(run, spec, preprocessor())
    for name, content in {"a": f'["{spec.digest}"', "b": f'{{"arms": "{spec.digest}"}}', "c": "[1]"}.items():
        (tmp_path / "comparisons" / name).mkdir(parents=True)
        (tmp_path / "comparisons" / name / "comparison.json").write_text(content)
    assert card_of(run, spec, preprocessor()) == alone


# --- as JSON -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"calibration": {"temperature": 0, "rows": 1, "ece_before": 0, "ece_after": 0, "test_rows": 1}},
        {"calibration": {"temperature": "1", "rows": 1, "ece_before": 0, "ece_after": 0, "test_rows": 1}},
        {"calibration": {"temperature": 1}},
        {"accuracy": {"mean": float("nan"), "low": 0, "high": 1, "seeds": 1}},
        {"limits": [1]},
        {"limits": None},
        {"intended_use": {}},
        {"metrics": []},
        {"more": 1},
    ],
)
def test_what_is_no_card_is_refused(tmp_path, change):
    run, spec = write_run(tmp_path)
    values = json.loads(card_of(run, spec, preprocessor()).to_json())
    with pytest.raises((ValueError, TypeError, KeyError)):
        Card.from_json(json.dumps(values | change))


def test_another_format(tmp_path):
    run, spec = write_run(tmp_path)
    values = json.loads(card_of(run, spec, preprocessor()).to_json())
    with pytest.raises(RunError, match="another format"):
        Card.from_json(json.dumps(values | {"format": 2}))
