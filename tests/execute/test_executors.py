"""One law for every executor: the outcomes of `Serial`, to the bit; and nothing that happens to a run hurts another."""

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import rnnlab
from rnnlab.execute.executors import Serial
from rnnlab.execute.processes import Processes
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.embedding import Embedding
from rnnlab.runs.directory import Diverged, Failed, Finished, RunDirectory, Stopped
from rnnlab.tasks.classify import Classify
from rnnlab.training.spec import RunSpec, Training

EPOCHS_OF_SECONDS = 200  # a run of these small ones that lasts for seconds, so that it can be killed in the middle
SEALED = ("weights.safetensors", "predictions.safetensors", "model.json", "spec.json")


def spec(csv: Path, kind: str = "gru", seed: int = 0, model: dict | None = None, **training) -> RunSpec:
    task = Classify(data=str(csv)).resolve()
    architecture = {"kind": kind, "embedding": Embedding(width=8), "output_dropout": 0.3, **(model or {})}
    settings = {"epochs": 3, "batch_size": 8, "patience": "none"} | training
    return RunSpec(task, ARCHITECTURES.parse(architecture), Training.model_validate(settings), seed)


def bits(folder: Path, run: RunSpec) -> dict[str, str]:
    return {name: hashlib.sha256((folder / run.digest / name).read_bytes()).hexdigest() for name in SEALED}


def outcomes(executor, specs, folder):
    return dict(executor.map(specs, folder, lambda number, event: None))


def test_processes_give_the_bits_of_serial(reviews_csv, tmp_path):
    specs = [spec(reviews_csv, kind, seed) for kind in ("lstm", "transformer") for seed in (0, 1)]
    serial = outcomes(Serial(), specs, tmp_path / "serial")
    pooled = outcomes(Processes(2), specs, tmp_path / "processes")
    assert all(isinstance(outcome, Finished) for outcome in [*serial.values(), *pooled.values()])
    for run in specs:
        assert bits(tmp_path / "serial", run) == bits(tmp_path / "processes", run)
    assert bits(tmp_path / "serial", specs[0]) != bits(tmp_path / "serial", specs[1])  # the seed matters


@pytest.mark.parametrize(
    ("optimizer", "model"),
    [
        ("lazy-adam", {}),
        ("lazy-adam", {"output_dropout": 0.0}),  # whole updates in native code
        ("adam", {}),
        ("sgd", {}),
        ("lazy-adam", {"kind": "lstm", "state": "carried", "initial_state": "normal"}),
        ("lazy-adam", {"kind": "fasttext", "buckets": 100}),
    ],
)
def test_interrupted_and_resumed_equals_uninterrupted(reviews_csv, tmp_path, optimizer, model):
    from rnnlab.training.run import execute

    run = spec(reviews_csv, model=model, optimizer=optimizer)
    execute(run, tmp_path / "whole", lambda event: None, lambda: False)
    for stop_after in (
        0,
        1,
        2,
        2,
        3,
    ):  # after 0, 1, 4, 6 and 13 updates, 6 being an epoch, on a machine that isn't busy
        asked = iter([False] * stop_after + [True])
        outcome = execute(run, tmp_path / "parts", lambda event: None, lambda: next(asked))  # noqa: B023 - used at once
        assert isinstance(outcome, Stopped)
        assert (tmp_path / "parts" / run.digest / "checkpoint.safetensors").exists()
    assert isinstance(execute(run, tmp_path / "parts", lambda event: None, lambda: False), Finished)
    assert bits(tmp_path / "whole", run) == bits(tmp_path / "parts", run)
    assert not list((tmp_path / "parts" / run.digest).glob("checkpoint.*"))
    parts, whole = (RunDirectory(tmp_path / name / run.digest).events() for name in ("parts", "whole"))
    losses = [[(event["epoch"], event["train_loss"]) for event in events] for events in (parts, whole)]
    assert losses[0] == losses[1]


def test_a_damaged_checkpoint_starts_the_run_again(reviews_csv, tmp_path):
    from rnnlab.training.run import execute

    run = spec(reviews_csv)
    execute(run, tmp_path / "whole", lambda event: None, lambda: False)
    asked = iter([False] * 3 + [True])
    execute(run, tmp_path / "parts", lambda event: None, lambda: next(asked))
    checkpoint = tmp_path / "parts" / run.digest / "checkpoint.safetensors"
    content = bytearray(checkpoint.read_bytes())
    content[-1] ^= 1
    checkpoint.write_bytes(content)
    execute(run, tmp_path / "parts", lambda event: None, lambda: False)
    assert bits(tmp_path / "whole", run) == bits(tmp_path / "parts", run)


def test_a_finished_run_is_never_computed_twice(reviews_csv, tmp_path):
    run = spec(reviews_csv)
    first = outcomes(Serial(), [run], tmp_path)[0]
    stamp = (tmp_path / run.digest / "result.json").stat().st_mtime_ns
    assert outcomes(Processes(1), [run], tmp_path)[0] == first
    assert (tmp_path / run.digest / "result.json").stat().st_mtime_ns == stamp


def test_divergence_is_an_outcome_with_its_place(reviews_csv, tmp_path):
    task = Classify(data=str(reviews_csv)).resolve()
    wild = ARCHITECTURES.parse({"kind": "rnn", "activation": "relu", "embedding": {"width": 8}})
    run = RunSpec(task, wild, Training.model_validate({"optimizer": "sgd", "lr": 1e6, "clip": "none"}), 0)
    calm = spec(reviews_csv)
    found = outcomes(Processes(2), [run, calm], tmp_path)
    assert isinstance(found[1], Finished)
    assert isinstance(found[0], Diverged)
    where = found[0].result["divergence"]
    assert where["step"] >= 2
    assert where["reason"]
    assert set(where) == {
        *("step", "loss", "gradient_norm", "layer", "time_step", "gate", "reason"),
        *("norms", "advice"),
    }
    assert where["advice"]


def test_a_killed_process_goes_on_from_its_checkpoint(reviews_csv, tmp_path):
    """Stopped once, so that there is one; then killed while it goes on, long before it would end by itself."""
    from rnnlab.training.run import execute

    run = spec(reviews_csv, epochs=EPOCHS_OF_SECONDS)
    outcomes(Serial(), [run], tmp_path / "whole")
    epochs: list[int] = []

    def note_epoch(event: dict) -> None:
        if event["event"] == "epoch":
            epochs.append(event["epoch"])

    assert execute(run, tmp_path / "parts", note_epoch, lambda: len(epochs) >= 4) == Stopped()
    stopped_at = epochs[-1]
    before_retry: list[int] = []
    after_retry: list[int] = []
    killed = False

    def sink(number: int, event: dict) -> bool:
        nonlocal killed
        if event["event"] == "epoch":
            (after_retry if killed else before_retry).append(event["epoch"])
        if event["event"] == "epoch" and not killed:
            os.kill(_workers_of(os.getpid(), tmp_path / "parts" / run.digest), signal.SIGKILL)
            killed = True
        return False

    assert isinstance(dict(Processes(1).map([run], tmp_path / "parts", sink))[0], Finished)
    assert before_retry == [stopped_at + 1]
    assert stopped_at + 1 in after_retry  # behind those that had been sent before the kill
    assert after_retry[-1] == EPOCHS_OF_SECONDS
    assert 1 not in after_retry
    assert bits(tmp_path / "whole", run) == bits(tmp_path / "parts", run)


def _workers_of(parent: int, folder: Path) -> int:
    """The process that holds the lock of a run."""
    lock = str(folder / ".lock")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != parent:
            try:
                links = [os.readlink(fd) for fd in (entry / "fd").iterdir()]
            except OSError:
                continue
            if lock in links:
                return int(entry.name)
    raise AssertionError("no process computes that run")


def test_an_error_in_a_run_is_one_failed_run(reviews_csv, tmp_path):
    good = spec(reviews_csv)
    (tmp_path / "data.csv").write_text(reviews_csv.read_text())
    gone = Classify(data=str(tmp_path / "data.csv"), fingerprint="0" * 32)  # never encoded, and not what the file is
    bad = RunSpec(gone, good.model, good.training, 0)
    for executor in (Serial(), Processes(2)):
        found = outcomes(executor, [bad, good], tmp_path / type(executor).__name__)
        assert isinstance(found[0], Failed)
        assert "changed" in found[0].reason
        assert isinstance(found[1], Finished)


@pytest.mark.parametrize("jobs", [pytest.param(0, marks=pytest.mark.long), 2])
def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(reviews_csv, tmp_path, jobs):
    """A real process, a real SIGINT, no orphan; the second start finishes with the bits of an undisturbed one."""
    command = [sys.executable, "-m", "rnnlab", "compare", str(reviews_csv), "--models", "gru", "--seeds", "2"]
    epochs = 2 * EPOCHS_OF_SECONDS
    command += ["--epochs", str(epochs), "--set", "training.patience=none", "--jobs", str(jobs)]
    out = tmp_path / "runs"
    first = subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not list(out.glob("*/events.jsonl")):
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    _, errors = first.communicate(timeout=60)
    assert first.returncode == 130, errors
    assert "goes on where this one stopped" in errors
    assert "Traceback" not in errors
    assert list(out.glob("*/checkpoint.safetensors"))
    short = [*command[:-2], "--jobs", "2", "--out", str(out)]
    again = subprocess.run(short, capture_output=True, text=True, timeout=200)
    assert again.returncode == 0, again.stderr
    training = {"epochs": epochs, "patience": "none"}
    rnnlab.compare(reviews_csv, models=["gru"], seeds=2, training=training, out=tmp_path / "whole", jobs=0)
    names = {path.name for path in out.iterdir() if (path / "spec.json").exists()}
    assert names == {path.name for path in (tmp_path / "whole").iterdir() if (path / "spec.json").exists()}
    for name in names:
        one, other = (folder / name / "weights.safetensors" for folder in (out, tmp_path / "whole"))
        assert one.read_bytes() == other.read_bytes()


def test_a_script_without_a_main_guard_works(reviews_csv, tmp_path):
    """New processes don't import the user's script again."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        import rnnlab
        print("once")
        result = rnnlab.compare({str(reviews_csv)!r}, models=["gru"], seeds=2, training={{"epochs": 1}}, out="runs")
        print(result.verdict.sentence)
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("once") == 1
