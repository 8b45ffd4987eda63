"""Digit addition as a task: its pairs, its scores, its stream; that it is learnt, and that a model can be asked."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import rnnlab
from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError, DataError
from rnnlab.data import digit_pairs, store
from rnnlab.data.batches import Batch, collate, evaluation_batches
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import Finished, RunDirectory, Stopped
from rnnlab.sweeps.experiment import parse_experiment
from rnnlab.sweeps.plan import complete
from rnnlab.tasks.addition import DIGITS, IDS, Addition, SumPrediction
from rnnlab.training.record import Recorded
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training

RNN = {"kind": "rnn", "hidden": 64, "layers": 2, "embedding": {"width": 32}}
SMALL = {"kind": "rnn", "hidden": 8, "embedding": {"width": 4}}


def sums(data: Sequences) -> list[tuple[int, int, int]]:
    """(a, b, a + b) of every row, as whole numbers."""
    found = []
    for first, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        columns = [*(data.values[first:end] - IDS[0]).T, data.targets[first:end]]
        found.append(tuple(int(digit_pairs.written(column)) for column in columns))
    return found


def spec_of(task: Addition, model: dict[str, Any] = SMALL, seed: int = 0, **training: Any) -> RunSpec:
    values = {**Addition.training_defaults, "device": "cpu", **training}
    resolved = task.resolve()
    model_ = complete(ARCHITECTURES.parse(model), resolved.load())
    return RunSpec(resolved, model_, parse(Training, values), seed)


def run(spec: RunSpec, folder: Path) -> dict[str, Any]:
    outcome = execute(spec, folder, lambda event: None, lambda: False)
    assert isinstance(outcome, Finished)
    return outcome.result


# The pairs


@pytest.mark.parametrize(
    "settings",
    [{}, {"length": 1}, {"length": 4, "numbers": "by-digits", "carries": "long"}, {"length": 3, "test_length": 90}],
)
def test_every_row_is_a_sum_and_no_pair_is_held_out_twice(settings: dict[str, Any]) -> None:
    task = Addition(**settings, held_out=300)
    data = task.encoded()
    seen: dict[str, set[frozenset[int]]] = {}
    for name in ("train", "valid", "test"):
        rows = sums(getattr(data, name))
        assert all(a + b == c for a, b, c in rows)
        seen[name] = {frozenset((a, b)) for a, b, _ in rows}
        assert len(seen[name]) == len(rows) > 0
    drawn = sums(task.draw(0, 17, 5000))
    assert all(a + b == c for a, b, c in drawn)
    seen["train"] |= {frozenset((a, b)) for a, b, _ in drawn}
    assert not seen["train"] & seen["valid"]
    assert not seen["train"] & seen["test"]
    assert not seen["valid"] & seen["test"]
    longest = {name: max(len(str(n)) for pair in pairs for n in pair) for name, pairs in seen.items()}
    length = settings.get("length", 10)
    assert longest == {"train": length, "valid": length, "test": settings.get("test_length", length)}


def test_tags_say_how_far_carries_travel() -> None:
    data = Addition(length=30, carries="long", held_out=500).encoded()
    assert data.tag_names[:4] == ("carry 0", "carry 1", "carry 2–3", "carry 4–7")
    assert data.test.tags is not None
    for (a, b, _), tag in zip(sums(data.test), data.test.tags, strict=True):
        carry = int(digit_pairs.add(digit_pairs.pairs_from([(str(a), str(b))]))[1][0])
        bounds = data.tag_names[tag].removeprefix("carry ").split("–")
        assert int(bounds[0]) <= carry <= int(bounds[-1])
    assert len(set(data.test.tags)) >= 5


def test_the_test_pairs_may_be_harder_than_the_training_pairs() -> None:
    data = Addition(length=5, test_length=60, test_carries="long", held_out=300).encoded()
    far = {}
    for name in ("train", "valid", "test"):
        pairs = digit_pairs.pairs_from([(str(a), str(b)) for a, b, _ in sums(getattr(data, name))])
        far[name] = float(np.mean(digit_pairs.add(pairs)[1] >= 5))
    assert far["train"] < 0.01
    assert far["valid"] < 0.01
    assert far["test"] > 0.4
    assert np.array_equal(Addition(length=5).encoded().train.values, data.train.values)


def test_what_carries_are_worth_is_said_and_right() -> None:
    data = Addition(length=6, held_out=200).encoded()
    exact = {"no_carry": 0, "one_back": 0}
    for a, b, c in sums(data.test):
        blind = back = carry = 0
        for at in range(7):
            digits = a // 10**at % 10 + b // 10**at % 10
            blind += digits % 10 * 10**at
            back += (digits + carry) % 10 * 10**at
            carry = int(digits > 9)
        exact["no_carry"] += blind == c
        exact["one_back"] += back == c
    for name, count in exact.items():
        assert data.profile["without_learning"][name]["exact"] == pytest.approx(count / 200)
        assert f"{100 * count / 200:.1f} %" in data.profile["lines"][2]
    assert 0 < exact["no_carry"] < exact["one_back"] < 200


def test_a_step_of_a_run_is_a_function_of_seed_and_number() -> None:
    task = Addition(length=12)
    one, again, next_step, other_seed = (task.draw(s, k, 50).values for s, k in ((3, 7), (3, 7), (3, 8), (4, 7)))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, next_step)
    assert not np.array_equal(one, other_seed)
    assert np.array_equal(Addition(length=12, data_seed=5).draw(3, 7, 50).values, one)  # the held-out pairs' own
    one, other = (Addition(length=12, data_seed=seed).encoded().test.values for seed in (0, 1))
    assert not np.array_equal(one, other)


def test_the_encoded_data_are_kept_whole() -> None:
    task = Addition(length=7, held_out=50).resolve()
    data = task.load()
    assert task.fingerprint == store.fingerprint(data)
    assert data.tokens == 2
    assert data.test.target_offsets is not None
    again = store.find(task.fingerprint or "")
    assert again is not None
    assert np.array_equal(again.test.values, data.test.values)
    assert again.labels == DIGITS


def test_a_run_is_told_apart_by_all_that_its_stream_depends_on() -> None:
    base = Addition(length=7, held_out=50).resolve()
    assert base.identity() == Addition(length=7, held_out=50).resolve().identity()
    for change in ({"length": 8}, {"numbers": "by-digits"}, {"carries": "long"}, {"data_seed": 1}):
        assert base.replace(**change).identity() != base.identity()  # even with the same fingerprint


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"task": {"length": 201}}, "task.length: .*less than or equal to 200"),
        ({"task": {"lenght": 5}}, "did you mean 'length'"),
        ({"task": {"numbers": "even"}}, "task.numbers"),
        ({"training": {"epochs": 3}}, "there are no epochs; say how many updates with steps"),
        ({"model": {"bidirectional": True}}, "answers each step from the steps up to it"),
    ],
)
def test_settings_that_do_not_fit(tree: dict[str, Any], message: str) -> None:
    model = {"kind": "rnn", **tree.get("model", {})}
    task = {"kind": "addition", **tree.get("task", {})}
    with pytest.raises(ConfigError, match=message):
        parse_experiment({"task": task, "arms": {"a": {"model": model}}, "training": tree.get("training", {})})


def test_it_is_trained_by_updates() -> None:
    training = parse_experiment({"task": {"kind": "addition"}, "arms": {"a": {"model": RNN}}}).arms["a"].training
    assert (training.epochs, training.steps, training.eval_every, training.patience) == (None, 500, 50, None)
    own = {"steps": 70, "batch_size": 8}
    tree = {"task": {"kind": "addition"}, "arms": {"a": {"model": RNN}}, "training": own}
    training = parse_experiment(tree).arms["a"].training
    assert (training.steps, training.eval_every, training.batch_size) == (70, 50, 8)


# Scores


def outputs_for(data: Sequences, wrong: float) -> np.ndarray:
    """(N, 10): right but for a share of the steps."""
    random = np.random.default_rng(0)
    answers = np.where(random.random(len(data.targets)) < wrong, (data.targets + 3) % 10, data.targets)
    return np.eye(10, dtype=np.float32)[answers] + random.random((len(answers), 10)).astype(np.float32) / 10


@pytest.mark.parametrize("max_tokens", [60, 10_000])
def test_scores_are_those_of_the_rows_whatever_the_batches(max_tokens: int) -> None:
    task = Addition(length=20, numbers="by-digits", carries="long", held_out=200)
    data = task.encoded().test
    outputs = outputs_for(data, 0.05)
    hits = outputs.argmax(1) == data.targets
    right = np.array([hits[a:b].all() for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)])
    kept = {"answers": np.empty(len(outputs), int), "nats": np.empty(len(outputs)), "sure": np.empty(len(outputs))}
    for rows, batch in evaluation_batches(data, max_tokens):
        out = torch.zeros(*batch.targets.shape, 10)
        for place, row in enumerate(rows):
            steps = outputs[data.starts[row] : data.ends[row]]
            out[place, : len(steps)] = torch.from_numpy(steps)
        for name, part in task.answer.keep(out, batch).items():
            for place, row in enumerate(rows):
                kept[name][data.starts[row] : data.ends[row]] = part[place, : data.lengths[row]]
        assert task.answer.right(out, batch) == right[rows].sum()
    assert np.array_equal(task.answer.counts(kept, data.truth)["right_rows"], right)
    score = task.answer.values(kept, data.truth)
    assert score["exact"] == score["accuracy"] == right.mean()
    assert score["digit_accuracy"] == hits.mean()
    assert 0 < score["exact"] < score["digit_accuracy"] < 1

    digits = [max(len(str(a)), len(str(b))) for a, b, _ in sums(data)]
    carries = [int(digit_pairs.add(digit_pairs.pairs_from([(str(a), str(b))]))[1][0]) for a, b, _ in sums(data)]
    for name, parts in (("by_digits", np.array(digits)), ("by_carry", np.array(carries))):
        found = task.details(kept, data)[name]
        assert list(found) == [str(part) for part in np.unique(parts)]
        for part, cell in found.items():
            chosen = parts == int(part)
            assert cell["rows"] == chosen.sum()
            assert cell["exact"] == pytest.approx(right[chosen].mean())
            of_these = np.repeat(chosen, data.lengths)
            assert cell["digit_accuracy"] == pytest.approx(hits[of_these].mean())


# Training


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("trained")
    task = Addition(length=5, test_length=90, held_out=300)
    spec = spec_of(task, RNN, lr=0.01, optimizer="adam", steps=1500, until=1.0)
    return run(spec, folder), folder / spec.digest


def test_an_rnn_learns_to_add_and_goes_on_where_training_ended(trained: tuple[dict[str, Any], Path]) -> None:
    """Up to five digits in training, up to 90 in the test; one digit back alone is right in hardly any of them."""
    result, folder = trained
    assert result["valid"]["exact"] == 1.0
    assert result["test"]["digit_accuracy"] > 0.99
    assert result["test"]["exact"] > 0.5
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [event["step"] for event in events] == list(range(50, events[-1]["step"] + 1, 50))
    assert events[-1]["step"] < 1500  # it stopped when every sum was right
    assert events[-1]["valid_exact"] == 1.0
    assert max(event["valid_exact"] for event in events[:-1]) < 1.0
    assert Recorded.of(RunDirectory(folder)).per_row().mean() == pytest.approx(result["test"]["exact"])
    assert "test.logits" not in load_file(folder / "predictions.safetensors")  # ten numbers per digit
    assert sum(cell["rows"] for cell in result["test"]["by_digits"].values()) == 300


def test_interrupted_and_resumed_equals_uninterrupted(tmp_path: Path) -> None:
    task = Addition(length=4, numbers="by-digits", held_out=50)
    spec = spec_of(task, steps=13, eval_every=5, batch_size=20, optimizer="lazy-adam")
    run(spec, tmp_path / "whole")
    for stop_after in (0, 1, 2, 1):  # at the start, between evaluations, and again and again
        asked = iter([False] * stop_after + [True])
        outcome = execute(spec, tmp_path / "parts", lambda event: None, lambda: next(asked))  # noqa: B023 - used at once
        assert isinstance(outcome, Stopped)
    run(spec, tmp_path / "parts")
    for name in ("weights.safetensors", "predictions.safetensors"):
        whole, parts = ((tmp_path / way / spec.digest / name).read_bytes() for way in ("whole", "parts"))
        assert whole == parts
    events = [(tmp_path / way / spec.digest / "events.jsonl").read_text() for way in ("whole", "parts")]
    losses = [[json.loads(line)["train_loss"] for line in text.splitlines()] for text in events]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 3


def test_other_seeds_see_other_sums_and_the_same_held_out_ones(tmp_path: Path) -> None:
    task = Addition(length=4, held_out=50)
    specs = [spec_of(task, seed=seed, steps=2, eval_every=2) for seed in (0, 1)]
    for spec in specs:
        run(spec, tmp_path)
    kept = [load_file(tmp_path / spec.digest / "predictions.safetensors") for spec in specs]
    assert np.array_equal(kept[0]["test.targets"], kept[1]["test.targets"])
    assert not np.array_equal(kept[0]["test.nats"], kept[1]["test.nats"])


# Asking


def test_a_trained_model_is_asked(trained: tuple[dict[str, Any], Path]) -> None:
    model = rnnlab.load(trained[1])
    questions = ["123+989", " 7 + 5 ", "０+１２", "0+0", "00099+1", "98765+43210"]
    answers = model.predict(questions)
    assert [answer.label for answer in answers] == ["1112", "12", "12", "0", "100", "141975"]
    for answer in answers:
        assert isinstance(answer, SumPrediction)
        assert answer.right
        assert answer.remark == "right"
        assert answer.probability == pytest.approx(np.prod([share for _, share in answer.digits]))
        assert 0.1 < answer.probability <= 1
    (long,) = model.predict(["1234567+1"])
    assert long.label == "1234568"
    assert long.remark == "right; longer than the 5 digits of its training"
    assert isinstance(answers[0], SumPrediction)
    assert [digit for digit, _ in answers[0].digits] == ["1", "1", "1", "2"]
    together = model.predict(["1+1", "123+989", "1" * 300 + "+2"])
    assert together[1].probability == pytest.approx(answers[0].probability, rel=1e-4)


def test_the_test_rows_get_the_answers_of_the_evaluation(trained: tuple[dict[str, Any], Path]) -> None:
    folder = trained[1]
    data = Addition(length=5, test_length=90, held_out=300).encoded().test
    said = rnnlab.load(folder).predict([f"{a}+{b}" for a, b, _ in sums(data)])
    right = Recorded.of(RunDirectory(folder)).counts["right_rows"].astype(bool).tolist()
    assert [answer.right for answer in said if isinstance(answer, SumPrediction)] == right


def test_a_wrong_answer_shows_the_right_one() -> None:
    answer = SumPrediction.of(10 * np.eye(10, dtype=np.float32)[[2, 1, 0]], np.array([2, 1, 1]), 10)
    assert (answer.label, answer.expected, answer.right) == ("12", "112", False)
    assert answer.remark == "wrong: 112"
    assert answer.to_dict()["digits"][0]["digit"] == "0"


@pytest.mark.parametrize("text", ["", "12", "12-3", "1+2+3", "1.5+2", "-1+2", "²+1", "a+b", "1 2+3", "12+", "٣+1"])
def test_other_questions_are_refused(trained: tuple[dict[str, Any], Path], text: str) -> None:
    with pytest.raises(DataError, match="adds two whole numbers, written like 123"):
        rnnlab.load(trained[1]).predict(["1+1", text])


def test_questions_without_an_end_are_refused(trained: tuple[dict[str, Any], Path]) -> None:
    model = rnnlab.load(trained[1])
    assert len(model.predict(["9" * 10_000 + "+1"])[0].label) >= 9_999
    with pytest.raises(DataError, match="10,001 digits; at most 10,000"):
        model.predict(["9" * 10_001 + "+1"])
    with pytest.raises(DataError, match="this model reads texts such as"):
        model.predict([np.zeros((3, 2))])


def test_padding_does_not_change_a_sum(trained: tuple[dict[str, Any], Path]) -> None:
    """A short sum beside a long one keeps what it keeps alone."""
    answer = Addition.shape
    data = digit_pairs.sequences(digit_pairs.pairs_from([("7", "5"), ("12345", "98765")]), IDS)
    both = collate(data, np.arange(2))
    alone = collate(data, np.array([0]))
    out = torch.randn(2, 6, 10, generator=torch.Generator().manual_seed(0))
    short = Batch(both.inputs[:1], both.lengths[:1], both.targets[:1])
    for beside, own in zip(answer.keep(out[:1], short).values(), answer.keep(out[:1, :2], alone).values(), strict=True):
        assert torch.equal(beside[:, :2], own)


def test_the_words_of_a_test_row_are_the_sum_that_encode_reads():
    task = Addition(length=3, test_length=5, held_out=50)
    data = task.load()
    texts = task.texts(range(len(data.test)))
    assert texts is not None
    assert all(re.fullmatch(r"(0|[1-9][0-9]*)\+(0|[1-9][0-9]*)", text) for text in texts)
    again, _ = task.encode(texts, Preprocessor.of(data))
    assert again.values.tolist() == data.test.values.tolist()
    assert again.targets.tolist() == data.test.targets.tolist()
    assert task.texts([4, 2]) == [texts[4], texts[2]]
