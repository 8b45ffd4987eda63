"""Time is said before it is spent."""

import io

import pytest
from rich.console import Console

from rnnlab.cli import before
from rnnlab.cli.before import say_how_long, time_range
from rnnlab.core.errors import Interrupted
from rnnlab.core.words import told_in
from rnnlab.show.terminal.output import Screen
from rnnlab.sweeps.forecast import Forecast

REMEDIES = told_in(en="--budget {budget} would make it fit", zh="用 --budget {budget} 可限定时间")


@pytest.fixture
def screen() -> Screen:
    found = Screen()
    found.progress = Console(file=io.StringIO(), width=200, highlight=False, markup=False)
    return found


def said(screen: Screen) -> str:
    file = screen.progress.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def forecast(low: float, high: float, runs: int = 24, found: int = 0) -> Forecast:
    return Forecast(runs, found, 2, low, high, {}, {})


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (4, 9.4, "about 4 to 9.4 s"),
        (20, 60, "about 20 to 60 s"),
        (240, 660, "about 4 to 11 min"),
        (5400, 14400, "about 1.5 to 4 h"),
        (600, 601, "about 10 min"),
    ],
)
def test_times_are_rounded_as_they_deserve(low: float, high: float, text: str):
    assert time_range(low, high).en == text


def test_a_line_with_the_option_that_makes_it_less(screen: Screen):
    say_how_long(screen, forecast(240, 960, found=2), False, REMEDIES)
    assert said(screen) == (
        "… 22 runs (2 are finished already): about 4 to 16 min, 2 at a time; --budget 5m would make it fit\n"
    )


def test_short_ones_need_no_remedy_and_finished_ones_no_line(screen: Screen):
    say_how_long(screen, forecast(20, 60), False, REMEDIES)
    assert said(screen) == "… 24 runs: about 20 to 60 s, 2 at a time\n"
    say_how_long(screen, forecast(0, 0, found=24), False, REMEDIES)
    assert said(screen).count("\n") == 1


@pytest.mark.parametrize(
    ("person", "yes", "json", "asked"),
    [(True, False, False, True), (True, True, False, False), (False, False, False, False), (True, False, True, False)],
)
def test_long_ones_are_a_question_on_a_terminal_and_a_line_elsewhere(screen, monkeypatch, person, yes, json, asked):
    questions: list[str] = []
    monkeypatch.setattr(before, "_a_person_is_there", lambda: person)
    monkeypatch.setattr(before, "_confirmed", lambda: questions.append("?") or True)
    screen.json = json
    say_how_long(screen, forecast(3600, 7200), yes, REMEDIES)
    assert bool(questions) == asked
    assert "about 1 to 2 h, 2 at a time; --budget 30m would make it fit" in said(screen)


def test_no_is_an_answer(screen: Screen, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(before, "_a_person_is_there", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("perhaps\nno\n"))
    with pytest.raises(Interrupted, match="nothing was begun; --budget 30m would make it fit"):
        say_how_long(screen, forecast(3600, 7200), False, REMEDIES)
