"""Repeats side by side: each run is the one that it would be alone. Weights to the bit, answers to rounding."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from rnnlab.core.errors import ConfigError
from rnnlab.execute.executors import Executor, Limits, Serial, executor_for
from rnnlab.execute.stacked import Stacked, stacks_of
from rnnlab.kernels import switched_off, whole_steps
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import Diverged, Finished, Outcome, RunDirectory, Stopped
from rnnlab.sweeps.run import Silent, run_all
from rnnlab.tasks.addition import Addition
from rnnlab.tasks.base import TASKS, Task
from rnnlab.testing.executors import EXECUTOR_LAWS, ISOLATION_LAWS
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training
from rnnlab.training.stacked import can_stack, execute_stacked

CLOSE = 1e-5
ADDITION = {"kind": "addition", "length": 4, "held_out": 50, "carries": "long"}
# 20 steps are more than are done at a time, and 30 don't end with an evaluation
FEW_STEPS = {
    "epochs": None,
    "steps": 30,
    "eval_every": 20,
    "batch_size": 40,
    "patience": "none",
    "schedule": "constant",
}
FEW_EPOCHS = {"epochs": 3, "batch_size": 16, "patience": "none", "schedule": "constant"}
TOKENS = {"embedding": {"width": 6}}
DROPPING = {"output_dropout": 0.2, "recurrent_dropout": 0.1, "embedding": {"width": 6, "dropout": 0.1}}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "digits, rnn": (ADDITION, {"kind": "rnn", "hidden": 9, **TOKENS}, FEW_STEPS),
    "digits, a vocabulary smaller than its vectors": (
        ADDITION,
        {"kind": "lstm", "hidden": 16, "embedding": {"width": 20}},
        FEW_STEPS,
    ),
    "digits, two layers, adamw": (
        ADDITION,
        {"kind": "gru", "hidden": 17, "layers": 2, **TOKENS},
        {**FEW_STEPS, "optimizer": "adamw", "schedule": {"shape": "cosine"}},
    ),
    "a class, lstm in both directions": (
        {"kind": "parity", "rows": 200, "length": 9, "shortest": 2},
        {"kind": "lstm", "hidden": 8, "layers": 2, "bidirectional": True, **TOKENS},
        FEW_EPOCHS,
    ),
    "a class, the highest states": (
        {"kind": "parity", "rows": 200, "length": 9, "shortest": 2},
        {"kind": "gru", "hidden": 8, "layers": 2, "bidirectional": True, "pooling": "max", **TOKENS},
        FEW_EPOCHS,
    ),
    "a class, with dropout": (
        {"kind": "parity", "rows": 200, "length": 9, "shortest": 2},
        {"kind": "gru", "hidden": 8, "pooling": "max", **DROPPING},
        FEW_EPOCHS,
    ),
    "a class, with layer norm": (
        {"kind": "parity", "rows": 200, "length": 9, "shortest": 2},
        {"kind": "lstm", "hidden": 8, "pooling": "max", "layer_norm": True, **TOKENS},
        FEW_EPOCHS,
    ),
    "a class, momentum": (
        {"kind": "parity", "rows": 200, "length": 7},
        {"kind": "rnn", "hidden": 12, "activation": "relu", **TOKENS},
        {**FEW_EPOCHS, "optimizer": "sgd", "momentum": 0.9, "lr": 0.05, "weight_decay": 0.01, "clip": 0.5},
    ),
    "a number from features": (
        {"kind": "adding", "rows": 200, "length": 8},
        {"kind": "gru", "hidden": 10},
        {**FEW_EPOCHS, "clip": "none", "monitor": {"gradients": True}},
    ),
    "a class a step": (
        {"kind": "copy", "rows": 200},
        {"kind": "lstm", "hidden": 10, **TOKENS},
        {**FEW_EPOCHS, "batch_size": 50},
    ),
}


def specs_of(task: dict[str, Any] | Task, model: dict[str, Any], training: dict[str, Any], seeds: int = 3):
    chosen = task if isinstance(task, Task) else TASKS.parse(task).resolve()
    settings = Training.model_validate({"device": "cpu", **training})
    return [RunSpec(chosen, ARCHITECTURES.parse(model), settings, seed) for seed in range(seeds)]


def stacked(specs: list[RunSpec], folder: Path, threads: int = 1) -> list[Outcome]:
    return execute_stacked(specs, folder, lambda number, event: None, lambda: False, threads)


def alone(spec: RunSpec, folder: Path) -> Outcome:
    return execute(spec, folder, lambda event: None, lambda: False)


def assert_same_run(one: RunDirectory, other: RunDirectory) -> None:
    """All numbers that don't depend on the clock."""
    for name in ("weights.safetensors", "predictions.safetensors"):
        ours, theirs = load_file(one.verified(name)), load_file(other.verified(name))
        assert ours.keys() == theirs.keys()
        for key, value in ours.items():
            np.testing.assert_allclose(value, theirs[key], rtol=CLOSE, atol=CLOSE, err_msg=key)
    ours, theirs = one.result(), other.result()
    assert ours is not None
    assert theirs is not None
    for key in ("valid", "test", "parameters", "epochs", "best_epoch", "status"):
        assert_close(ours[key], theirs[key])
    assert len(one.events()) == len(other.events())
    for event, their in zip(one.events(), other.events(), strict=True):
        assert_close(event | {"seconds": None}, their | {"seconds": None})


def assert_close(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_close(one[key], other[key])
    elif isinstance(one, float) and isinstance(other, float):
        assert one == pytest.approx(other, rel=CLOSE, abs=CLOSE)
    elif isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_close(a, b)
    else:
        assert one == other


@pytest.mark.parametrize("case", CASES)
def test_each_run_of_a_stack_is_the_run_alone(case: str, tmp_path: Path) -> None:
    specs = specs_of(*CASES[case])
    assert can_stack(specs[0]) is None
    outcomes = stacked(specs, tmp_path / "stack", threads=2)
    for spec, outcome in zip(specs, outcomes, strict=True):
        assert isinstance(outcome, Finished)
        assert outcome.result["stacked"] == 3
        its, own = tmp_path / "stack" / spec.digest, tmp_path / "alone" / spec.digest
        alone(spec, tmp_path / "alone")
        assert_same_run(RunDirectory(its), RunDirectory(own))
        assert {path.name for path in its.iterdir()} == {path.name for path in own.iterdir()}
        expected = RunDirectory(own).result()
        assert expected is not None
        assert outcome.result.keys() - {"stacked"} == expected.keys()
        for name in ("spec.json", "weights.safetensors"):
            assert (its / name).read_bytes() == (own / name).read_bytes()


def test_what_native_code_can_not_answer_torch_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with an id that no table has: what would be read otherwise is whatever lay there."""
    do_steps = whole_steps.do_steps

    def unable(members: Any, work: Any, *given: Any) -> None:
        if not work[0][0].out:
            do_steps(members, work, *given)
            return
        for member in members:
            member.stopped = 1

    monkeypatch.setattr(whole_steps, "do_steps", unable)
    specs = specs_of(*CASES["digits, rnn"], seeds=2)
    stacked(specs, tmp_path / "stack")
    for spec in specs:
        alone(spec, tmp_path / "alone")
        assert_same_run(*(RunDirectory(tmp_path / side / spec.digest) for side in ("stack", "alone")))


def test_bits_do_not_depend_on_threads_or_neighbours(tmp_path: Path) -> None:
    specs = specs_of(*CASES["digits, rnn"], seeds=4)
    stacked(specs, tmp_path / "one", threads=1)
    stacked(specs, tmp_path / "three", threads=3)
    stacked(specs[1:3], tmp_path / "others", threads=2)
    for spec, folders in [(specs[0], ("one", "three")), (specs[1], ("one", "three", "others"))]:
        found = {(tmp_path / name / spec.digest / "weights.safetensors").read_bytes() for name in folders}
        assert len(found) == 1


def test_a_run_that_reaches_its_end_leaves_the_others(tmp_path: Path) -> None:
    training = {**FEW_STEPS, "steps": 250, "eval_every": 10, "batch_size": 60, "lr": 0.02, "until": 0.4}
    specs = specs_of({**ADDITION, "length": 2}, {"kind": "rnn", "hidden": 24, **TOKENS}, training)
    outcomes = stacked(specs, tmp_path / "stack")
    epochs = []
    for spec, outcome in zip(specs, outcomes, strict=True):
        own = alone(spec, tmp_path / "alone")
        assert isinstance(outcome, Finished)
        assert isinstance(own, Finished)
        assert outcome.result["epochs"] == own.result["epochs"]
        assert outcome.result["best_epoch"] == own.result["best_epoch"]
        epochs.append(outcome.result["epochs"])
    assert len(set(epochs)) > 1  # or the test shows nothing
    assert max(epochs) < 25


def test_patience_ends_a_run(tmp_path: Path) -> None:
    training = {**FEW_EPOCHS, "epochs": 40, "patience": 1, "lr": 0.03}
    specs = specs_of({"kind": "parity", "rows": 100, "length": 5}, {"kind": "rnn", "hidden": 4, **TOKENS}, training)
    for spec, outcome in zip(specs, stacked(specs, tmp_path / "stack"), strict=True):
        own = alone(spec, tmp_path / "alone")
        assert isinstance(outcome, Finished)
        assert isinstance(own, Finished)
        assert outcome.result["epochs"] == own.result["epochs"] < 40


def test_a_run_that_diverges_has_the_verdict_that_it_has_alone(tmp_path: Path) -> None:
    model = {"kind": "rnn", "hidden": 4, "activation": "relu", **TOKENS}
    training = {**FEW_EPOCHS, "epochs": 10, "optimizer": "sgd", "lr": 30.0, "clip": "none"}
    specs = specs_of({"kind": "parity", "rows": 100, "length": 12}, model, training, seeds=4)
    outcomes = stacked(specs, tmp_path / "stack")
    kinds = []
    for spec, outcome in zip(specs, outcomes, strict=True):
        own = alone(spec, tmp_path / "alone")
        assert type(outcome) is type(own)
        kinds.append(type(own))
        if isinstance(own, Diverged):
            assert isinstance(outcome, Diverged)
            assert outcome.result["divergence"] == own.result["divergence"]
            assert "stacked" not in outcome.result  # it was done alone
    assert Diverged in kinds


def test_a_stack_that_is_stopped_keeps_what_is_finished_and_starts_again(tmp_path: Path) -> None:
    specs = specs_of(*CASES["digits, rnn"])
    stacked(specs[:1], tmp_path)
    looks = 0

    def should_stop() -> bool:
        nonlocal looks
        looks += 1
        return looks > 2  # in the middle

    found = execute_stacked(specs, tmp_path, lambda number, event: None, should_stop)
    assert isinstance(found[0], Finished)
    assert found[1:] == [Stopped(), Stopped()]
    assert not list(tmp_path.glob("*/checkpoint.*"))
    again = stacked(specs, tmp_path)
    stacked(specs[1:], tmp_path / "at once")
    assert isinstance(again[1], Finished)
    assert again[1].result["stacked"] == 2
    for name in ("weights.safetensors", "predictions.safetensors"):
        runs = tmp_path / specs[1].digest, tmp_path / "at once" / specs[1].digest
        assert (runs[0] / name).read_bytes() == (runs[1] / name).read_bytes()
    steps = [event["step"] for event in RunDirectory(tmp_path / specs[1].digest).events()]
    assert steps == [20, 30]


def test_a_run_that_nobody_wants_any_more_leaves(tmp_path: Path) -> None:
    specs = specs_of(*CASES["digits, rnn"])
    unwanted = lambda number, event: number == 1 and event["event"] == "epoch"  # noqa: E731 (one line says it)
    found = execute_stacked(specs, tmp_path, unwanted, lambda: False)
    assert [type(outcome) for outcome in found] == [Finished, Stopped, Finished]


def test_a_run_that_was_interrupted_alone_goes_on_alone(tmp_path: Path) -> None:
    specs = specs_of(*CASES["digits, rnn"])
    looks = iter([False] * 4 + [True])
    assert execute(specs[1], tmp_path, lambda event: None, lambda: next(looks)) == Stopped()
    stacked(specs, tmp_path)
    alone(specs[1], tmp_path / "alone")
    for name in ("weights.safetensors", "predictions.safetensors"):
        one, other = (folder / specs[1].digest / name for folder in (tmp_path, tmp_path / "alone"))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("case", ["digits, rnn", "a class, with dropout"])
def test_without_native_code_the_bits_are_those_of_the_runs_alone(case: str, tmp_path: Path) -> None:
    specs = specs_of(*CASES[case], seeds=2)
    with switched_off():
        stacked(specs, tmp_path / "stack", threads=2)
        for spec in specs:
            alone(spec, tmp_path / "alone")
            for name in ("weights.safetensors", "predictions.safetensors"):
                one, other = (tmp_path / side / spec.digest / name for side in ("stack", "alone"))
                assert one.read_bytes() == other.read_bytes()
    if case == "a class, with dropout":  # native code drops other numbers
        return
    stacked(specs, tmp_path / "native")
    runs = [RunDirectory(tmp_path / side / specs[0].digest) for side in ("native", "stack")]
    assert_same_run(*runs)
    assert runs[0].verified("weights.safetensors").read_bytes() != runs[1].verified("weights.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("model", "training", "words"),
    [
        ({"kind": "textcnn"}, {}, "no recurrent network"),
        ({"kind": "rnn", "initial_state": "normal"}, {}, "initial_state = 'normal'"),
        ({"kind": "rnn", "state": "carried"}, {}, "state = 'carried'"),
        ({"kind": "gru", "layers": 2, "residual": True}, {}, "residual = True"),
        ({"kind": "gru", "reset": "before"}, {}, "reset = 'before'"),
        ({"kind": "gru"}, {"minutes": 1.0}, "by the clock"),
        ({"kind": "gru"}, {"threads": 2}, "threads"),
    ],
)
def test_what_can_not_be_stacked_says_why(model: dict[str, Any], training: dict[str, Any], words: str) -> None:
    spec = specs_of(TASKS.parse({"kind": "parity", "rows": 100}), {**TOKENS, **model}, training)[0]
    reason = can_stack(spec)
    assert reason is not None
    assert words in reason
    with pytest.raises(ConfigError, match="can't be stacked"):
        execute_stacked([spec], Path(), lambda number, event: None, lambda: False)


def test_a_task_with_a_loss_of_its_own_is_not_stacked() -> None:
    class Other(Addition):
        def loss(self, out: Any, batch: Any) -> Any:
            return super().loss(out, batch) * 2

    task = Other(length=4, held_out=50)
    spec = specs_of(task, CASES["digits, rnn"][1], FEW_STEPS)[0]
    assert "a loss of its own" in (can_stack(spec) or "")


def test_runs_of_a_stack_differ_in_the_seed_alone(tmp_path: Path) -> None:
    one = specs_of(*CASES["digits, rnn"])
    other = specs_of(ADDITION, {"kind": "rnn", "hidden": 10, **TOKENS}, FEW_STEPS)
    for specs in ([one[0], other[1]], [one[0], one[0]]):
        with pytest.raises(ConfigError, match="differ in the seed, and in nothing else"):
            stacked(specs, tmp_path)


# --on stacked


def engine(plugins: tuple[str, ...], limits: Limits) -> Executor:
    if limits.minutes is not None or limits.memory_mb is not None:
        limits = Limits(retries=limits.retries)
    return executor_for("stacked", 2, plugins, limits)


def nothing(number: int, event: dict[str, Any]) -> None:
    pass


@pytest.mark.parametrize("law", [law for law in EXECUTOR_LAWS if law not in ISOLATION_LAWS | {"same_bits_as_serial"}])
def test_engine_obeys(law: str) -> None:
    EXECUTOR_LAWS[law](engine)


def test_what_can_be_stacked_is_and_the_rest_is_left_to_others(tmp_path: Path) -> None:
    task = TASKS.parse({"kind": "parity", "rows": 100, "length": 5}).resolve()
    gru = specs_of(task, {"kind": "gru", "hidden": 4, **TOKENS}, FEW_EPOCHS)
    before = specs_of(task, {"kind": "gru", "hidden": 4, "reset": "before", **TOKENS}, FEW_EPOCHS, seeds=2)
    single = specs_of(task, {"kind": "rnn", "hidden": 4, **TOKENS}, FEW_EPOCHS, seeds=1)
    specs = [gru[0], before[0], single[0], gru[1], before[1], gru[2]]
    assert stacks_of(specs) == [[0, 3, 5]]
    seen: list[tuple[int, str]] = []
    executor = Stacked(Serial(), threads=2)
    found = dict(executor.map(specs, tmp_path, lambda number, event: seen.append((number, event["event"]))))
    assert sorted(found) == list(range(6))
    sizes = [outcome.result.get("stacked") for _, outcome in sorted(found.items()) if isinstance(outcome, Finished)]
    assert sizes == [3, None, None, 3, None, 3]
    for number in range(6):
        own = [name for n, name in seen if n == number and name != "progress"]
        assert own == ["started", "epoch", "epoch", "epoch"]
    chosen = dict(executor.map(iter(specs), tmp_path / "one by one", nothing))  # none may be pulled ahead
    assert all(isinstance(outcome, Finished) and "stacked" not in outcome.result for outcome in chosen.values())


def test_limits_of_a_run_are_refused() -> None:
    with pytest.raises(ConfigError, match="share a process"):
        executor_for("stacked", limits=Limits(minutes=1))


def test_a_plan_is_stacked_and_found_again(tmp_path: Path) -> None:
    specs = specs_of(*CASES["digits, rnn"])
    for _ in range(2):
        records = run_all([("rnn", spec) for spec in specs], tmp_path, executor_for("stacked", 2), Silent())
        results = [record.outcome.result for record in records if isinstance(record.outcome, Finished)]
        assert [result["stacked"] for result in results] == [3, 3, 3]
        assert [result["environment"]["threads"] for result in results] == [2, 2, 2]
