"""Signs of life of a comparison and of a sweep, on a terminal and in a log, with a clock that the test winds."""

import io

import pytest
from rich.console import Console

from rnnlab.answers.label import ACCURACY, LOSS, MACRO_F1
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.baselines import BASELINES
from rnnlab.runs.directory import Diverged, Failed, Finished, Outcome, Stopped
from rnnlab.show.terminal.progress import MOST_ROWS, LiveTable, PlainLines, RunState, describe
from rnnlab.tasks.classify import Classify
from rnnlab.training.spec import RunSpec, Training

SPEC = RunSpec(Classify(), ARCHITECTURES["lstm"](), Training(epochs=4), 1)
BASELINE = RunSpec(Classify(), BASELINES["majority"](), None, 0)
PROGRESS = {"event": "progress", "epoch": 1, "share": 0.5, "train_loss": 0.9, "epoch_seconds": 3.0}
EPOCH = {"event": "epoch", "epoch": 1, "train_loss": 0.7, "seconds": 5.0, "valid_accuracy": 0.8}
DONE = Finished({"valid": {"accuracy": 0.875}, "best_epoch": 2, "epochs": 4, "epoch_seconds": 1.25})
PLACE = {"step": 7, "layer": "encoder.cell", "time_step": 3, "reason": "the forward pass overflowed"}
STARTED = {"event": "started"}
DIVERGED = Diverged({"divergence": {"step": 7, "layer": None, "time_step": None, "reason": "the loss passed 10000"}})
OUTCOMES: list[tuple[Outcome, str]] = [
    (DONE, "validation 87.5 % at epoch 2 of 4, 1.2 s per epoch"),
    (Finished({"valid": {"accuracy": 0.5}}), "validation 50.0 %"),
    (
        Diverged({"divergence": PLACE}),
        "diverged at step 7 in encoder.cell, time step 3: the forward pass overflowed",
    ),
    (
        DIVERGED,
        "diverged at step 7: the loss passed 10000",
    ),
    (Failed("its process was ended by SIGKILL"), "failed: its process was ended by SIGKILL"),
    (Stopped(), "stopped; its checkpoint is kept"),
]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def runs(count: int) -> list[tuple[str, RunSpec]]:
    return [(f"lr {number}", SPEC) for number in range(count)]


def console(width: int = 120, force_terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), width=width, color_system=None, force_terminal=force_terminal)


def text(of: Console) -> str:
    return of.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO


def sweep(clock: Clock, count: int, jobs: int = 1) -> PlainLines:
    display = PlainLines(console(), jobs, settings=True, clock=clock)
    display.begin(runs(count))
    return display


@pytest.mark.parametrize(("outcome", "said"), OUTCOMES)
def test_an_outcome_in_a_few_words(outcome, said):
    assert describe(outcome, ACCURACY).en == said


@pytest.mark.parametrize(
    ("score", "said"), [(MACRO_F1, "validation macro-F1 25.0 %"), (LOSS, "validation loss 0.7000")]
)
def test_an_outcome_is_told_by_the_score_that_is_judged(score, said):
    valid = {"accuracy": 0.9, "macro_f1": 0.25, "loss": 0.7}
    assert describe(Finished({"valid": valid}), score).en == said


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


def test_plain_lines_are_one_a_run(clock):
    out = console(40)
    lines = PlainLines(out, clock=clock)
    lines.begin([("majority", BASELINE), ("lstm", SPEC), ("[red]", SPEC)])
    lines.event(1, STARTED)
    lines.event(1, EPOCH)
    lines.outcome(0, OUTCOMES[1][0], again=True)
    lines.outcome(1, DONE, again=False)
    clock.now += 31
    lines.event(2, EPOCH)
    lines.outcome(2, Stopped(), again=False)
    lines.end()
    assert text(out).splitlines() == [
        "[1/3] majority seed 0: validation 50.0 % (found, not computed again)",
        f"[2/3] lstm seed 1: {OUTCOMES[0][1]}",
        "… 2 of 3 runs done; under way: [red] epoch 1",
        "[2/3] [red] seed 1: stopped; its checkpoint is kept",
    ]


def shown(display: LiveTable) -> list[str]:
    """Its lines now, with one space between the columns."""
    out = console()
    out.print(display.shown())
    return [" ".join(line.split()) for line in text(out).splitlines()]


def test_the_live_table_shows_every_arm(clock):
    out = console(force_terminal=True)
    live = LiveTable(out, jobs=2, clock=clock)
    live.begin([("majority", BASELINE), ("lstm", SPEC), ("lstm", SPEC), ("gru", SPEC)])
    live.outcome(0, OUTCOMES[1][0], again=False)
    live.event(1, EPOCH)
    assert shown(live)[-1] == "0 s so far. Ctrl-C keeps what is done."  # of gru nothing is known yet
    live.outcome(3, OUTCOMES[2][0], again=False)
    counts, head, *lines = shown(live)
    live.end()
    assert counts.lstrip("━╸ ") == "2 of 4 runs done (1 diverged), 1 under way, 1 waiting"
    assert head == "model runs epoch training loss validation accuracy time left"
    assert lines == [
        "majority 1/1 50.0 % done",
        "lstm 0/2 1/4 0.700 80.0 % 35 s",  # 3 epochs here, 4 there
        "gru 1/1 done",
        "0 s so far, at most 18 s to go. Ctrl-C keeps what is done.",  # over two jobs
    ]
    assert "gru seed 1: diverged at step 7" in text(out)
    assert text(out).count("2 of 4 runs done") <= 1  # the verdict follows


def test_one_run_needs_no_counts(clock):
    live = LiveTable(console(), clock=clock)
    live.begin([("lstm", SPEC)])
    live.event(0, EPOCH)
    assert shown(live)[1] == "lstm 0/1 1/4 0.700 80.0 % 15 s"
    live.end()


def test_rate_and_time_left_come_from_the_runs_computed_here(clock):
    state = sweep(clock, 12, jobs=2)
    for number in range(4):
        state.outcome(number, DONE, again=True)
    clock.now += 1000  # until the first run begins, nothing counts
    assert state.pace().en == "? runs per minute, ? left"
    state.event(4, STARTED)
    state.event(5, STARTED)
    clock.now += 30
    state.outcome(4, DONE, again=False)
    assert state.rate() is None  # the other worker hasn't shown its speed
    state.outcome(5, DIVERGED, again=False)
    assert state.rate() == 2 / 30
    assert state.pace().en == "4 runs per minute, about 1 min 30 s left"
    state.add("lr 12", SPEC)  # a search wants one more
    assert state.pace().en == "4 runs per minute, about 1 min 45 s left"


def test_counts(clock):
    state = sweep(clock, 8)
    state.outcome(0, DONE, again=True)
    state.outcome(1, DONE, again=False)
    state.outcome(2, DIVERGED, again=False)
    state.outcome(3, Failed("no memory"), again=False)
    state.outcome(4, Stopped(), again=False)
    state.event(5, STARTED)
    said = "4 of 8 runs done (1 found again, 1 diverged, 1 failed), 1 under way, 2 waiting, 1 stopped"
    assert state.counts().en == said
    state.event(5, {"event": "paused"})
    assert state.counts().en.endswith("3 waiting, 1 stopped")


def test_runs_that_a_search_gave_up_are_no_longer_waited_for(clock):
    state = sweep(clock, 4)
    state.event(0, STARTED)
    clock.now += 10
    state.outcome(0, Stopped(), again=False)
    state.outcome(1, Stopped(), again=True)
    assert state.pace().en == "6 runs per minute, about 20 s left"
    assert state.done == 0


@pytest.mark.parametrize("kind", [PlainLines, LiveTable])
def test_a_second_search_starts_again(clock, kind):
    out = console()
    display = kind(out, 1, settings=True, clock=clock)
    for count in (2, 3):
        display.begin(runs(count))
        display.event(0, STARTED)
        display.outcome(0, DONE, again=False)
        display.end()
    said = [line.strip() for line in text(out).splitlines() if line.startswith("1 of")]
    assert said == ["1 of 2 runs done, 1 waiting", "1 of 3 runs done, 2 waiting"]


def test_lines_of_a_sweep(clock):
    lines = sweep(clock, 3)
    lines.event(0, STARTED)
    clock.now += 6
    lines.event(0, EPOCH)
    lines.outcome(0, DONE, again=False)
    assert text(lines.console) == ""  # no ten seconds have passed
    clock.now += 6
    lines.event(1, EPOCH)
    lines.outcome(1, DIVERGED, again=False)
    assert lines.add("[red]", SPEC) == 3
    lines.outcome(3, Failed("no memory"), again=False)
    lines.outcome(2, DIVERGED, again=True)  # old news
    lines.end()
    assert text(lines.console).splitlines() == [
        "1 of 3 runs done, 1 under way, 1 waiting; 5 runs per minute, about 24 s left",
        "lr 1 seed 1: diverged at step 7: the loss passed 10000",
        "[red] seed 1: failed: no memory",
        "4 of 4 runs done (1 found again, 2 diverged, 1 failed)",
    ]


def test_the_live_table_shows_those_of_many_settings_that_are_under_way(clock):
    out = console(force_terminal=True)
    live = LiveTable(out, 20, settings=True, clock=clock)
    live.begin(runs(30))
    live.add("[bold]", SPEC)
    for number in range(MOST_ROWS + 2):
        live.event(number, EPOCH if number == 0 else STARTED)
    live.outcome(29, Failed("no memory"), again=False)
    lines = shown(live)
    live.outcome(30, DONE, again=True)
    live.end()
    assert lines[0].lstrip("━╸ ") == f"1 of 31 runs done (1 failed), {MOST_ROWS + 2} under way, 12 waiting"
    assert lines[1:4] == [
        "setting runs epoch training loss validation accuracy time left",
        "lr 0 0/1 1/4 0.700 80.0 % 15 s",
        "lr 1 0/1 0/4",
    ]
    assert lines[-3:] == [
        f"lr {MOST_ROWS - 1} 0/1 0/4",
        "and 2 more",
        "? runs per minute, ? left. Ctrl-C keeps what is done.",
    ]
    assert "lr 29 seed 1: failed: no memory" in text(out)
    assert "2 of 31 runs done (1 found again, 1 failed)" in text(out)
