"""Signs of life of a sweep: counts, rate and time left, with a clock that the test winds."""

import io

import pytest
from rich.console import Console

from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import Diverged, Failed, Finished, Stopped
from rnnlab.show.terminal.sweep_progress import MOST_UNDER_WAY, SweepLines, SweepState, SweepTable, last_score
from rnnlab.tasks.classify import Classify
from rnnlab.training.spec import RunSpec, Training

SPEC = RunSpec(Classify(), ARCHITECTURES["lstm"](), Training(epochs=4), 1)
STARTED = {"event": "started"}
EPOCH = {"event": "epoch", "epoch": 3, "train_loss": 0.7, "seconds": 5.0, "valid_accuracy": 0.8}
DONE = Finished({"valid": {"accuracy": 0.875}})
PLACE = {"step": 7, "layer": None, "time_step": None, "reason": "the loss passed 10000"}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def runs(count: int) -> list[tuple[str, RunSpec]]:
    return [(f"lr {number}", SPEC) for number in range(count)]


def text(console: Console) -> str:
    return console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO


def test_rate_and_time_left_come_from_the_runs_computed_here(clock):
    state = SweepState(2, clock)
    for label, spec in runs(12):
        state.add(label, spec)
    for number in range(4):
        state.outcome(number, DONE, again=True)
    clock.now += 1000  # until the first run begins, nothing counts
    assert state.pace().en == "? runs per minute, ? left"
    state.event(4, STARTED)
    state.event(5, STARTED)
    clock.now += 30
    state.outcome(4, DONE, again=False)
    assert state.seconds_left() is None  # the other worker hasn't shown its speed
    state.outcome(5, Diverged({"divergence": PLACE}), again=False)
    assert state.rate() == 2 / 30
    assert state.seconds_left() == 6 * 15
    assert state.pace().en == "4 runs per minute, about 1 min 30 s left"
    state.add("lr 12", SPEC)  # a search wants one more
    assert state.seconds_left() == 7 * 15


def test_counts(clock):
    state = SweepState(1, clock)
    for label, spec in runs(8):
        state.add(label, spec)
    state.outcome(0, DONE, again=True)
    state.outcome(1, DONE, again=False)
    state.outcome(2, Diverged({"divergence": PLACE}), again=False)
    state.outcome(3, Failed("no memory"), again=False)
    state.outcome(4, Stopped(), again=False)
    state.event(5, STARTED)
    said = "4 of 8 runs done (1 found again, 1 diverged, 1 failed), 1 under way, 2 waiting, 1 stopped"
    assert state.counts().en == said
    state.event(5, {"event": "paused"})
    assert state.counts().en.endswith("3 waiting, 1 stopped")


def test_runs_that_a_search_gave_up_are_no_longer_waited_for(clock):
    state = SweepState(1, clock)
    for label, spec in runs(4):
        state.add(label, spec)
    state.event(0, STARTED)
    clock.now += 10
    state.outcome(0, Stopped(), again=False)
    state.outcome(1, Stopped(), again=True)
    assert state.seconds_left() == 20
    assert (state.done, state.ended) == (0, 2)


@pytest.mark.parametrize("kind", [SweepLines, SweepTable])
def test_a_second_search_starts_again(clock, kind):
    console = Console(file=io.StringIO(), width=80)
    display = kind(console, 1, clock)
    for count in (2, 3):
        display.begin(runs(count))
        display.event(0, STARTED)
        display.outcome(0, DONE, again=False)
        display.end()
    said = [line.strip() for line in text(console).splitlines() if line.strip()]
    assert said == ["1 of 2 runs done, 1 waiting", "1 of 3 runs done, 2 waiting"]


def test_lines_for_a_log(clock):
    console = Console(file=io.StringIO(), width=40)
    lines = SweepLines(console, 1, clock)
    lines.begin(runs(3))
    lines.event(0, STARTED)
    clock.now += 6
    lines.event(0, EPOCH)
    lines.outcome(0, DONE, again=False)
    assert text(console) == ""  # no ten seconds have passed
    clock.now += 6
    lines.event(1, EPOCH)
    lines.outcome(1, Diverged({"divergence": PLACE}), again=False)
    assert lines.add("[red]", SPEC) == 3
    lines.outcome(3, Failed("no memory"), again=False)
    lines.outcome(2, Diverged({"divergence": PLACE}), again=True)  # old news
    lines.end()
    assert text(console).splitlines() == [
        "1 of 3 runs done, 1 under way, 1 waiting; 5 runs per minute, about 24 s left",
        "lr 1 seed 1: diverged at step 7: the loss passed 10000",
        "[red] seed 1: failed: no memory",
        "4 of 4 runs done (1 found again, 2 diverged, 1 failed)",
    ]


def test_the_live_display(clock):
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    live = SweepTable(console, 20, clock)
    live.begin(runs(20))
    live.add("[bold]", SPEC)
    for number in range(MOST_UNDER_WAY + 2):
        live.event(number, EPOCH if number == 0 else STARTED)
    live.outcome(19, Failed("no memory"), again=False)
    plain = Console(file=io.StringIO(), width=100)
    plain.print(live._shown())
    live.outcome(20, DONE, again=True)
    live.end()
    said = text(plain)
    assert f"1 of 21 runs done (1 failed), {MOST_UNDER_WAY + 2} under way, 10 waiting" in said
    assert "? runs per minute, ? left. Ctrl-C keeps what is done." in said
    assert "lr 0 1 3 0.700 accuracy 80.0 %" in [" ".join(line.split()) for line in said.splitlines()]
    assert "and 2 more" in said
    assert "lr 19 seed 1: failed: no memory" in text(console)
    assert "2 of 21 runs done (1 found again, 1 failed)" in text(console)


def test_the_last_score_not_the_best(clock):
    state = SweepState(1, clock)
    state.add("a", SPEC)
    assert last_score(state.runs[0]) == ""
    state.event(0, EPOCH)
    state.event(0, EPOCH | {"valid_accuracy": 0.25})
    assert last_score(state.runs[0]) == "accuracy 25.0 %"
