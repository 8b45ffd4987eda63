"""What the generated tasks ask for, checked sequence by sequence; and that a model can learn each of them."""

import json
from typing import Any

import numpy as np
import pytest

from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError, RunError
from rnnlab.data.sequences import IGNORE, Sequences
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import Finished, RunDirectory
from rnnlab.sweeps.experiment import parse_experiment
from rnnlab.sweeps.plan import complete
from rnnlab.tasks import synthetic
from rnnlab.tasks.base import TASKS
from rnnlab.tasks.synthetic import Adding, Brackets, Copy, FirstLast, Parity
from rnnlab.training.record import Recorded
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training
from rnnlab.use import load

GENERATED = ["first-last", "parity", "brackets", "adding", "copy"]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def rows_of(data: Sequences) -> list[np.ndarray]:
    return [data.values[a:b] for a, b in zip(data.offsets, data.offsets[1:], strict=False)]


def test_first_last_is_the_sign_of_two_numbers() -> None:
    series, labels = synthetic.first_and_last(rng(), 200, 2, 9, 3)
    assert {len(x) for x in series} == set(range(2, 10))
    for x, label in zip(series, labels, strict=True):
        assert label == ("positive" if x[0, 0] + x[-1, 0] > 0 else "negative")
    assert 60 < labels.count("positive") < 140


def test_parity_counts_ones() -> None:
    texts, labels = synthetic.parity(rng(), 200, 3, 8)
    for text, label in zip(texts, labels, strict=True):
        assert label == ("odd" if text.split().count("1") % 2 else "even")


@pytest.mark.parametrize(("depth", "kinds"), [(1, 1), (3, 2), (8, 4)])
def test_brackets_are_balanced_or_broken_and_no_deeper_than_said(depth: int, kinds: int) -> None:
    texts, labels = synthetic.brackets(rng(), 300, 4, 40, depth, kinds)
    deepest = 0
    for text, label in zip(texts, labels, strict=True):
        found, reached = well_formed(text.split())
        assert found == (label == "balanced"), text
        if found:
            deepest = max(deepest, reached)
    assert deepest == depth
    assert labels.count("balanced") == 150


def well_formed(row: list[str]) -> tuple[bool, int]:
    partner, stack, deepest = dict(zip(")]}>", "([{<", strict=True)), [], 0
    for bracket in row:
        if bracket in partner.values():
            stack.append(bracket)
            deepest = max(deepest, len(stack))
        elif not stack or stack.pop() != partner[bracket]:
            return False, deepest
    return not stack, deepest


def test_adding_is_the_sum_of_the_two_marked_numbers() -> None:
    data = synthetic.adding(rng(), 3000, 2, 31)
    for row, target in zip(rows_of(data), data.targets, strict=True):
        at = np.flatnonzero(row[:, 1])
        assert len(at) == 2
        assert at[0] < len(row) // 2 <= at[1]
        assert target == pytest.approx(row[at, 0].sum())
    assert set(np.unique(data.values[:, 1])) == {0.0, 1.0}
    assert data.targets.var() == pytest.approx(1 / 6, rel=0.1)


def test_the_constant_error_is_said_and_right() -> None:
    data = Adding(length=20, rows=5000).encoded()
    error = float(np.mean((data.test.targets - data.test.targets.mean()) ** 2))
    assert data.profile["constant_error"] == pytest.approx(error)
    assert f"{error:.4f}" in data.profile["lines"][1]
    assert error == pytest.approx(1 / 6, rel=0.15)


def test_copy_asks_for_the_symbols_at_go_and_for_nothing_before() -> None:
    task = Copy(gap=7, symbols=3, kinds=4, rows=100)
    data = task.encoded()
    assert data.vocabulary is not None
    words = np.array(data.vocabulary.words)
    targets = data.train.targets.reshape(-1, 13)
    for row, wanted in zip(rows_of(data.train), targets, strict=True):
        said = words[row].tolist()
        assert said[3:10] == ["blank"] * 7
        assert said[10:] == ["go"] * 3
        assert wanted[:10].tolist() == [IGNORE] * 10
        assert [data.labels[k] for k in wanted[10:]] == said[:3]


@pytest.mark.parametrize("kind", GENERATED)
def test_the_three_parts_differ_and_the_seed_decides(kind: str) -> None:
    values = {"kind": kind, "rows": 200}
    one, again, other = (TASKS.parse({**values, "data_seed": seed}).encoded().train.values for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    data = TASKS.parse(values).encoded()
    parts = {name: {row.tobytes() for row in rows_of(getattr(data, name))} for name in ("train", "valid", "test")}
    assert not parts["test"] & parts["train"]
    assert not parts["valid"] & parts["train"]


def test_lengths_vary_only_if_asked() -> None:
    assert set(Parity(length=9, rows=200).encoded().train.lengths) == {9}
    assert set(Parity(length=9, shortest=7, rows=200).encoded().train.lengths) == {7, 8, 9}
    with pytest.raises(ConfigError, match="shortest = 10 is more than length = 9"):
        parse(FirstLast, {"length": 9, "shortest": 10})


def train(task: Any, kind: str, folder: Any, **training: Any) -> tuple[dict[str, Any], RunSpec]:
    resolved = task.resolve()
    model = ARCHITECTURES.parse({"kind": kind, "hidden": 32, "pooling": task.recurrent_pooling})
    settings = {"epochs": 30, "patience": "none", "schedule": "constant", "lr": 0.01, "device": "cpu", **training}
    spec = RunSpec(resolved, complete(model, resolved.load()), Training.model_validate(settings), 0)
    outcome = execute(spec, folder, lambda event: None, lambda: False)
    assert isinstance(outcome, Finished)
    return outcome.result["test"], spec


@pytest.mark.parametrize(
    ("task", "better_than"),
    [
        (FirstLast(length=5, rows=1000), 0.9),
        (Parity(length=8, shortest=2, rows=2000), 0.95),
        (Brackets(length=6, depth=2, kinds=1, rows=1000), 0.95),
        (Copy(gap=1, symbols=2, kinds=2, rows=500), 0.99),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_small_one_is_learnt(task: Any, better_than: float, tmp_path: Any) -> None:
    scores, _ = train(task, "gru", tmp_path)
    assert scores["accuracy"] > better_than
    if task.kind == "copy":
        assert 0 < scores["exact"] <= scores["accuracy"]


def test_adding_is_learnt_and_its_error_chooses_the_epoch(tmp_path: Any) -> None:
    task = Adding(length=6, rows=1000)
    scores, spec = train(task, "gru", tmp_path)
    assert scores["loss"] < 0.01 < task.encoded().profile["constant_error"]
    events = [json.loads(line) for line in (tmp_path / spec.digest / "events.jsonl").read_text().splitlines()]
    losses = [event["valid_loss"] for event in events]
    result = json.loads((tmp_path / spec.digest / "result.json").read_text())
    assert result["best_epoch"] == int(np.argmin(losses)) + 1
    with pytest.raises(RunError, match="predict answers with one label per sequence, and 'adding' doesn't"):
        load(tmp_path / spec.digest)


@pytest.mark.parametrize("kind", ["adding", "copy", "parity"])
def test_right_agrees_with_the_scores(kind: str, tmp_path: Any) -> None:
    settings = {"adding": {"length": 5}, "copy": {"gap": 3}, "parity": {"length": 4}}[kind]
    scores, spec = train(TASKS.parse({"kind": kind, "rows": 300, **settings}), "rnn", tmp_path, epochs=2)
    right = Recorded.of(RunDirectory(tmp_path / spec.digest)).per_row()
    assert right.mean() == pytest.approx(scores["accuracy"])
    assert bool(((right > -1e-9) & (right < 1 + 1e-9)).all())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"kind": "lstm", "bidirectional": True}, "arms.a.model.bidirectional: the task 'copy' answers each step"),
        ({"kind": "transformer"}, "arms.a.model.look_ahead: the task 'copy' answers each step"),
        ({"kind": "textcnn"}, "arms.a.model.kind: the task 'copy' answers each step"),
        ({"kind": "lstm", "pooling": "max"}, "arms.a.model.pooling: the task 'copy' answers at every step"),
        ({"kind": "fasttext", "ends": True}, "arms.a.model.ends: the task 'copy' answers at every step"),
    ],
)
def test_models_that_do_not_suit_copy_are_refused(model: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_experiment({"task": {"kind": "copy"}, "arms": {"a": {"model": model}}})


def test_the_words_of_short_sequences():
    parity = Parity(rows=100, length=8, shortest=4)
    data = parity.load()
    texts = parity.texts(range(len(data.test)))
    assert texts is not None
    for text, length, target in zip(texts, data.test.lengths, data.test.targets, strict=True):
        bits = text.split(" ")
        assert len(bits) == length
        assert data.labels[target] == ("odd" if bits.count("1") % 2 else "even")
    assert parity.texts([3]) == [texts[3]]
    assert Copy(rows=100, gap=2, symbols=1, kinds=2).texts([0]) in (["0 blank blank go"], ["1 blank blank go"])
    assert Parity(rows=100, length=201).texts([0]) is None
    assert FirstLast(rows=100, length=5).texts([0]) is None
    assert Adding(rows=100, length=5).texts([0]) is None
