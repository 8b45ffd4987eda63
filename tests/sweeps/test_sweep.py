"""A sweep end to end: what runs is computed once, what comes home is a study, what it takes is known before."""

import time
from pathlib import Path

import pytest

from rnnlab.api.sweep import run_sweep, unfinished
from rnnlab.comparing.studies import Study
from rnnlab.runs.directory import RunDirectory
from rnnlab.sweeps.forecast import estimate
from rnnlab.sweeps.sweep_file import read_sweep
from rnnlab.sweeps.sweep_plan import plan_studies

FILE = """
repeats = 2
target = { value = 1.0, cap = 200 }
[task]
kind = "addition"
length = 3
held_out = 20
[model]
kind = "rnn"
hidden = 48
embedding = { width = 16, spread = 1.0 }
[training]
optimizer = "adam"
steps = 200
eval_every = 10
batch_size = 50
clip = "none"
[axes]
"training.lr" = RATES
"""


def sweep(folder: Path, rates: str, **options) -> Study:
    (folder / "sweep.toml").write_text(FILE.replace("RATES", rates))
    [study] = run_sweep(folder / "sweep.toml", out=folder / "runs", **options)
    return study


def stamps(folder: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in (folder / "runs").glob("*/result.json")}


def test_a_wider_grid_computes_only_its_new_cells(tmp_path):
    first = sweep(tmp_path, "[0.02, 1e-7]")
    before = stamps(tmp_path)
    assert len(before) == 4
    wider = sweep(tmp_path, "[0.02, 0.01, 1e-7]")
    after = stamps(tmp_path)
    assert {name: after[name] for name in before} == before
    assert len(after) == 6
    assert first.points[0] == wider.points[0]
    assert [point.at["training.lr"] for point in wider.points] == [0.02, 0.01, 1e-7]


def test_first_steps_at_target_and_runs_that_never_get_there(tmp_path):
    study = sweep(tmp_path, "[0.02, 1e-7]")
    good, bad = study.points
    for repeat in good.repeats:
        assert repeat.status == "finished"
        assert repeat.reached is not None
        scores = {event["step"]: event["valid_exact"] for event in repeat.curve}
        assert list(scores) == list(range(10, 201, 10))
        assert scores[repeat.reached] == 1.0
        assert all(score < 1.0 for step, score in scores.items() if step < repeat.reached)
        assert repeat.result["test"]["exact"] == RunDirectory(repeat.path).result()["test"]["exact"]  # type: ignore[index]
    assert [repeat.reached for repeat in bad.repeats] == [None, None]


def test_a_target_that_stops_leaves_the_steps_before_it_as_they_were(tmp_path):
    whole = sweep(tmp_path, "[0.02]")
    stopped = sweep(tmp_path, "[0.02]", settings=["target.stop=true"])
    for one, other in zip(whole.points[0].repeats, stopped.points[0].repeats, strict=True):
        assert one.reached == other.reached == other.curve[-1]["step"]
        losses = [[event["train_loss"] for event in repeat.curve] for repeat in (one, other)]
        assert losses[0][: len(losses[1])] == losses[1]


def test_a_diverged_run_is_a_result_and_a_failed_one_is_told(tmp_path):
    wild = sweep(tmp_path, "[0.02, 1e30]", settings=['training.optimizer="sgd"'])
    assert [repeat.status for repeat in wild.points[1].repeats] == ["diverged", "diverged"]
    assert "step" in (wild.points[1].repeats[0].reason or "")
    assert not unfinished([wild])


def test_the_budget_begins_no_more_runs(tmp_path):
    study = sweep(tmp_path, "[0.02, 0.01]", settings=["minutes=1e-9"])
    assert not any(point.repeats for point in study.points)
    assert "4 runs were not begun" in study.notes[-1]
    assert not (tmp_path / "runs").exists() or not stamps(tmp_path)


def test_studies_of_the_same_name_in_two_files_stay_apart(tmp_path):
    from rnnlab.api.sweep import run_planned
    from rnnlab.execute.executors import Serial
    from rnnlab.sweeps.execution import Silent

    planned = []
    for rate in ("0.02", "0.01"):
        (tmp_path / "sweep.toml").write_text(FILE.replace("RATES", f"[{rate}]").replace("steps = 200", "steps = 10"))
        planned += plan_studies(read_sweep(tmp_path / "sweep.toml"), "sweep")
    one, other = run_planned(planned, tmp_path / "runs", Serial(), Silent())
    assert one.name == other.name
    assert [one.points[0].at["training.lr"], other.points[0].at["training.lr"]] == [0.02, 0.01]


def test_a_baseline_stands_beside_every_seed(tmp_path):
    (tmp_path / "sweep.toml").write_text(
        "repeats = 2\n[task]\nrows = 60\n[training]\nepochs = 1\n[axes.m]\n"
        'gru = { model = { kind = "gru", hidden = 4 } }\nmajority = { model = { kind = "majority" } }\n'
    )
    [study] = run_sweep(tmp_path / "sweep.toml", out=tmp_path / "runs")
    gru, majority = study.points
    assert [repeat.seed for repeat in majority.repeats] == [repeat.seed for repeat in gru.repeats] == [0, 1]
    assert len({repeat.digest for repeat in majority.repeats}) == 1


@pytest.mark.parametrize("done", [False, True])
def test_the_estimate_counts_what_is_left(tmp_path, done):
    (tmp_path / "sweep.toml").write_text(FILE.replace("RATES", "[0.02, 0.01]"))
    planned = plan_studies(read_sweep(tmp_path / "sweep.toml"), "sweep")
    if done:
        sweep(tmp_path, "[0.02]")
    started = time.monotonic()
    found = estimate(planned, tmp_path / "runs")
    assert time.monotonic() - started < 30
    assert (found.runs, found.found) == (4, 2 if done else 0)
    assert found.probes == (1 if done else 2)
    assert 0 < found.seconds < 600
    assert found.wall_seconds(2) == found.seconds / 2
    if done:  # disk: within a factor of two of what a finished run takes
        sizes = [sum(f.stat().st_size for f in p.parent.iterdir()) for p in (tmp_path / "runs").glob("*/result.json")]
        assert 0.5 < found.disk / sum(sizes) < 2
