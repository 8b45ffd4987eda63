"""Signs of life, on a terminal and in a log."""

import io

import pytest
from rich.console import Console

from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.baselines import BASELINES
from rnnlab.runs.directory import Diverged, Failed, Finished, Outcome, Stopped
from rnnlab.show.terminal.progress import LiveTable, PlainLines, RunState, describe
from rnnlab.tasks.classify import Classify
from rnnlab.training.spec import RunSpec, Training

SPEC = RunSpec(Classify(), ARCHITECTURES["lstm"](), Training(epochs=4), 1)
BASELINE = RunSpec(Classify(), BASELINES["majority"](), None, 0)
PROGRESS = {"event": "progress", "epoch": 1, "share": 0.5, "train_loss": 0.9, "epoch_seconds": 3.0}
EPOCH = {"event": "epoch", "epoch": 1, "train_loss": 0.7, "seconds": 5.0, "valid_accuracy": 0.8}
DONE = Finished({"valid": {"accuracy": 0.875}, "best_epoch": 2, "epochs": 4, "epoch_seconds": 1.25})
PLACE = {"step": 7, "layer": "encoder.cell", "time_step": 3, "reason": "the forward pass overflowed"}
OUTCOMES: list[tuple[Outcome, str]] = [
    (DONE, "validation 87.5 % at epoch 2 of 4, 1.2 s per epoch"),
    (Finished({"valid": {"accuracy": 0.5}}), "validation 50.0 %"),
    (
        Diverged({"divergence": PLACE}),
        "diverged at step 7 in encoder.cell, time step 3: the forward pass overflowed",
    ),
    (
        Diverged({"divergence": PLACE | {"layer": None, "time_step": None, "reason": "the loss passed 10000"}}),
        "diverged at step 7: the loss passed 10000",
    ),
    (Failed("its process was ended by SIGKILL"), "failed: its process was ended by SIGKILL"),
    (Stopped(), "stopped; its checkpoint is kept"),
]


@pytest.mark.parametrize(("outcome", "said"), OUTCOMES)
def test_an_outcome_in_a_few_words(outcome, said):
    assert describe(outcome).en == said


def test_time_left():
    run = RunState("lstm", SPEC)
    assert run.seconds_left(None) is None  # nothing is known yet
    assert run.seconds_left(2.0) == 8.0  # as long as its sister runs
    run.take(PROGRESS)
    assert run.seconds_left(None) == 6.0 * 3.5
    run.take(EPOCH)
    assert run.seconds_left(None) == 5.0 * 3
    run.status = "finished"
    assert run.seconds_left(None) == 0.0
    assert RunState("majority", BASELINE).seconds_left(2.0) is None


def test_the_best_validation_score_is_kept():
    run = RunState("lstm", SPEC)
    run.take(EPOCH)
    run.take(EPOCH | {"epoch": 2, "valid_accuracy": 0.7})
    assert (run.epoch, run.valid_score) == (2, 0.8)


def test_plain_lines_are_one_a_run(monkeypatch):
    console = Console(file=io.StringIO(), width=40)
    lines = PlainLines(console)
    lines.begin([("majority", BASELINE), ("lstm", SPEC), ("[red]", SPEC)])
    lines.event(1, {"event": "started"})
    lines.event(1, EPOCH)
    lines.outcome(0, OUTCOMES[1][0], again=True)
    lines.outcome(1, DONE, again=False)
    lines.last_note -= 31
    lines.event(2, EPOCH)
    lines.outcome(2, Stopped(), again=False)
    lines.end()
    assert console.file.getvalue().splitlines() == [  # type: ignore[attr-defined]  # it is the StringIO
        "[1/3] majority seed 0: validation 50.0 % (found, not computed again)",
        f"[2/3] lstm seed 1: {OUTCOMES[0][1]}",
        "… 2 of 3 runs done; under way: [red] epoch 1",
        "[2/3] [red] seed 1: stopped; its checkpoint is kept",
    ]


def test_the_live_table_shows_every_arm():
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    live = LiveTable(console, jobs=2)
    live.begin([("majority", BASELINE), ("lstm", SPEC), ("lstm", SPEC), ("gru", SPEC)])
    live.outcome(0, OUTCOMES[1][0], again=False)
    live.event(1, EPOCH)
    live.outcome(3, OUTCOMES[2][0], again=False)
    plain = Console(file=io.StringIO(), width=120)
    plain.print(live._table())
    live.end()
    lines = plain.file.getvalue().splitlines()  # type: ignore[attr-defined]  # it is the StringIO
    assert lines[1].split() == ["majority", "1/1", "50.0", "%", "done"]
    assert lines[2].split() == ["lstm", "0/2", "1/4", "0.700", "80.0", "%", "35", "s"]  # 3 epochs here, 4 there
    assert lines[3].split() == ["gru", "1/1", "done"]
    assert "at most 18 s to go" in lines[4]  # over two jobs
    assert "gru seed 1: diverged at step 7" in console.file.getvalue()  # type: ignore[attr-defined]
