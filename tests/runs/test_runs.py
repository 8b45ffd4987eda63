import json

import pytest

from rnnlab.core.errors import RunError
from rnnlab.runs.directory import Diverged, Finished, RunDirectory, find_run, find_runs


def make(path, status="finished"):
    run = RunDirectory(path)
    run.create({"format": 1})
    (run / "weights.safetensors").write_bytes(b"weights")
    run.seal({"status": status})
    return run


def test_a_run_counts_only_once_it_is_sealed(tmp_path):
    run = RunDirectory(tmp_path / "aa")
    run.create({"format": 1})
    assert run.outcome() is None
    with pytest.raises(RunError, match="not a finished run"):
        run.verified("weights.safetensors")
    assert isinstance(make(tmp_path / "bb").outcome(), Finished)
    assert isinstance(make(tmp_path / "cc", "diverged").outcome(), Diverged)


def test_every_flipped_byte_is_noticed(tmp_path):
    run = make(tmp_path / "aa")
    assert run.verified("weights.safetensors").read_bytes() == b"weights"
    for position in range(7):
        damaged = bytearray(b"weights")
        damaged[position] ^= 1
        (run / "weights.safetensors").write_bytes(damaged)
        with pytest.raises(RunError, match="damaged"):
            run.verified("weights.safetensors")


def test_a_newer_format_says_what_to_do(tmp_path):
    run = make(tmp_path / "aa")
    result = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(result | {"format": 99}))
    with pytest.raises(RunError, match="upgrade rnnlab"):
        run.outcome()


def test_events_survive_a_torn_line(tmp_path):
    run = RunDirectory(tmp_path)
    run.append_event({"step": 1})
    run.append_event({"step": 2})
    with open(run / "events.jsonl", "a") as file:
        file.write('{"step": 3, "lo')
    assert [event["step"] for event in run.events()] == [1, 2]
    run.keep_events(1)
    assert [event["step"] for event in run.events()] == [1]


def test_one_computes_at_a_time(tmp_path):
    run = RunDirectory(tmp_path)
    with run.lock(), pytest.raises(RunError, match="another process"), RunDirectory(tmp_path).lock():
        pass
    with run.lock():
        pass


def test_runs_are_found_by_the_beginning_of_their_names(tmp_path):
    make(tmp_path / "abc1")
    make(tmp_path / "abd2")
    assert {run.path.name for run in find_runs(tmp_path)} == {"abc1", "abd2"}
    assert find_run(tmp_path / "abc").path.name == "abc1"
    with pytest.raises(RunError, match="ambiguous"):
        find_run(tmp_path / "ab")
    with pytest.raises(RunError, match="not a run directory"):
        find_run(tmp_path / "zz")
    with pytest.raises(RunError, match="no such folder"):
        find_runs(tmp_path / "zz")
