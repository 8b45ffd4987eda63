"""Whenever a process is killed, its run goes on from a whole checkpoint, to the bits of an undisturbed run."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save

from rnnlab.data.unchanged import stamp_of
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import CHECKPOINT, SEALED, Finished, RunDirectory, Stopped
from rnnlab.tasks.classify import Classify
from rnnlab.training import loop
from rnnlab.training.checkpoint import read_checkpoint
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training


def spec_of(data: Path, epochs: int = 4) -> RunSpec:
    model = ARCHITECTURES.parse({"kind": "gru", "hidden": 8, "output_dropout": 0.3, "embedding": {"width": 8}})
    training = Training.model_validate({"batch_size": 8, "epochs": epochs, "patience": "none", "device": "cpu"})
    return RunSpec(Classify(data=str(data)).resolve(), model, training, 0)


def bits(run: RunDirectory) -> dict[str, bytes]:
    return {name: (run / name).read_bytes() for name in SEALED}


def finish(spec: RunSpec, folder: Path) -> RunDirectory:
    assert isinstance(execute(spec, folder, lambda event: None, lambda: False), Finished)
    return RunDirectory(folder / spec.digest)


def stop_after(epoch: int, spec: RunSpec, folder: Path) -> RunDirectory:
    seen: list[int] = []
    outcome = execute(spec, folder, lambda event: seen.append(event["epoch"]), lambda: epoch in seen)
    assert isinstance(outcome, Stopped)
    return RunDirectory(folder / spec.digest)


class Killed(BaseException):
    """Stands for a kill: nothing behind it is done, not even tidying up."""


@pytest.mark.parametrize("point", ["open", "write", "fsync", "replace", "after"])
def test_a_kill_at_any_point_of_writing_keeps_the_checkpoint_before(reviews_csv, tmp_path, monkeypatch, point):
    """Every epoch has a checkpoint; the process is killed as the third is written."""
    spec = spec_of(reviews_csv)
    whole = finish(spec, tmp_path / "whole")
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1)
    written = 0

    def checkpoint(*arguments: Any) -> None:
        nonlocal written
        written += 1
        with pytest.MonkeyPatch.context() as patch:
            if written == 3:
                kill_at(point, patch)
            save_checkpoint(*arguments)

    save_checkpoint = loop.save_checkpoint
    monkeypatch.setattr(loop, "save_checkpoint", checkpoint)
    with pytest.raises(Killed):
        execute(spec, tmp_path / "killed", lambda event: None, lambda: False)
    run = RunDirectory(tmp_path / "killed" / spec.digest)
    kept = read_checkpoint(run)
    assert kept is not None
    assert kept[0].epoch == (3 if point == "after" else 2)
    assert bits(finish(spec, tmp_path / "killed")) == bits(whole)
    assert [event["epoch"] for event in run.events()] == [1, 2, 3, 4]
    assert sorted(path.name for path in run.path.iterdir()) == sorted(path.name for path in whole.path.iterdir())


def kill_at(point: str, patch: pytest.MonkeyPatch) -> None:
    """Make the next file written by `rnnlab.core.files` end there."""

    def killed(*arguments: object, **options: object) -> None:
        raise Killed

    def half(file: int, data: bytes) -> None:
        os.truncate(file, os.fstat(file).st_size // 2)
        raise Killed

    def done(source: Path, target: Path) -> None:
        os.rename(source, target)
        raise Killed

    if point == "open":
        patch.setattr("builtins.open", killed)
    elif point == "write":
        patch.setattr("rnnlab.core.files.os.fsync", lambda file: half(file, b""))
    elif point == "fsync":
        patch.setattr("rnnlab.core.files.os.fsync", killed)
    else:
        patch.setattr("rnnlab.core.files.os.replace", killed if point == "replace" else done)
    patch.setattr("rnnlab.core.files.Path.unlink", lambda path, missing_ok=False: None)


KILLS = """
    import os, random, signal, sys, time
    from pathlib import Path

    from rnnlab.training.spec import RunSpec
    from rnnlab.runs.directory import CHECKPOINT, RunDirectory
    from rnnlab.training import loop
    from rnnlab.training.checkpoint import read_checkpoint
    from rnnlab.training.run import execute

    folder, kills = Path(sys.argv[1]), int(sys.argv[2])
    spec = RunSpec.from_dict(RunDirectory(sys.argv[3]).spec())
    run = RunDirectory(folder / spec.digest)
    loop.CHECKPOINT_SECONDS = -1  # every epoch
    luck, steps = random.Random(0), [0]
    for _ in range(kills):
        child = os.fork()
        if not child:
            execute(spec, folder, lambda event: None, lambda: False)
            os._exit(0)
        before = (run / CHECKPOINT).stat().st_mtime_ns if (run / CHECKPOINT).exists() else 0
        while not (run / CHECKPOINT).exists() or (run / CHECKPOINT).stat().st_mtime_ns == before:
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "it ended before it was killed"
            time.sleep(0.001)
        time.sleep(luck.random() * 0.05)
        os.kill(child, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        found = read_checkpoint(run)
        assert found is not None and found[0].step > steps[-1], "progress was lost"
        steps.append(found[0].step)
    execute(spec, folder, lambda event: None, lambda: False)
    print(len(steps) - 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills are SIGKILL")
def test_twenty_kills_lose_no_progress_and_change_no_bit(reviews_csv, tmp_path):
    spec = spec_of(reviews_csv, epochs=500)
    whole = finish(spec, tmp_path / "whole")
    arguments = [str(tmp_path / "killed"), "20", str(whole.path)]
    code = textwrap.dedent(KILLS)
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "20\n"
    run = RunDirectory(tmp_path / "killed" / spec.digest)
    assert bits(run) == bits(whole)
    assert [event["epoch"] for event in run.events()] == list(range(1, 501))
    assert not list(run.path.glob(".checkpoint*"))


def test_every_damage_is_noticed(reviews_csv, tmp_path):
    """Flipped bits all over the file, and every length: never another run, never an error."""
    run = stop_after(2, spec_of(reviews_csv), tmp_path)
    content = (run / CHECKPOINT).read_bytes()
    whole = read_checkpoint(run)
    assert whole is not None
    for position in [*range(400), *range(400, len(content), 97), len(content) - 1]:
        damaged = bytearray(content)
        damaged[position] ^= 1
        (run / CHECKPOINT).write_bytes(damaged)
        found = read_checkpoint(run)
        assert found is None or (found[0] == whole[0] and same_tensors(found[1], whole[1])), position
    for length in range(0, len(content), 331):
        (run / CHECKPOINT).write_bytes(content[:length])
        assert read_checkpoint(run) is None, length


def same_tensors(some: dict, others: dict) -> bool:
    return some.keys() == others.keys() and all(some[name].equal(others[name]) for name in some)


def test_a_pair_of_files_from_before_is_gone_on_from(reviews_csv, tmp_path):
    """As versions up to this wrote them; of two that don't belong together, nothing is taken."""
    spec = spec_of(reviews_csv)
    whole = finish(spec, tmp_path / "whole")
    run = stop_after(2, spec, tmp_path / "old")
    found = read_checkpoint(run)
    assert found is not None
    content = save(found[1])
    (run / CHECKPOINT).write_bytes(content)
    beside = {"sha256": hashlib.sha256(content).hexdigest(), "progress": asdict(found[0])}
    (run / "checkpoint.json").write_text(json.dumps(beside | {"sha256": "0" * 64}))
    assert read_checkpoint(run) is None
    (run / "checkpoint.json").write_text(json.dumps(beside))
    again = read_checkpoint(run)
    assert again is not None
    assert again[0] == found[0]
    assert bits(finish(spec, tmp_path / "old")) == bits(whole)
    assert not list(run.path.glob("checkpoint.*"))


LATE = """
    import sys, time
    from pathlib import Path

    from rnnlab.training.spec import RunSpec
    from rnnlab.runs.directory import RunDirectory
    from rnnlab.training.run import execute

    spec = RunSpec.from_dict(RunDirectory(sys.argv[2]).spec())
    create = RunDirectory.create

    def create_late(run, content):  # between the look for an outcome and the lock: the other process finishes the run
        create(run, content)
        Path(sys.argv[3]).touch()
        while run.result() is None:
            time.sleep(0.01)
        time.sleep(1)  # until it has let go of the lock, and the test has looked at the files

    RunDirectory.create = create_late
    print(type(execute(spec, Path(sys.argv[1]), lambda event: None, lambda: False)).__name__)
"""


def test_a_run_that_another_process_finished_meanwhile_is_left_alone(reviews_csv, tmp_path):
    """Two processes: the second looked for an outcome when there was none, and has the lock when there is one."""
    spec = spec_of(reviews_csv)
    planned = finish(spec, tmp_path / "elsewhere")
    waiting = tmp_path / "waiting"
    arguments = [str(tmp_path / "runs"), str(planned.path), str(waiting)]
    second = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(LATE), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not waiting.exists():
        assert second.poll() is None, second.communicate()
    run = finish(spec, tmp_path / "runs")
    stamps = [stamp_of(run / name) for name in (*SEALED, "result.json", "events.jsonl")]
    output, errors = second.communicate(timeout=60)
    assert output == b"Finished\n", errors
    assert [event["epoch"] for event in run.events()] == [1, 2, 3, 4]
    assert [stamp_of(run / name) for name in (*SEALED, "result.json", "events.jsonl")] == stamps
