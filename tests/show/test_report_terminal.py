"""What is printed, whatever the width of the screen."""

import io
from dataclasses import replace

import chapter_examples as examples
import pytest
from rich.cells import cell_len
from rich.console import Console

from rnnlab.core.words import ResultNote
from rnnlab.show.terminal import output as terminal
from rnnlab.show.terminal.output import Row, portions, print_table

COLUMNS = ["model", *(f"column {number}" for number in range(12))]
ROWS: list[Row] = [
    ([name, *(f"{number}.{len(name)} %" for number in range(12))], style)
    for name, style in (("lstm", None), ("模型", None), ("[bold]majority", "dim"))
]


@pytest.mark.parametrize("width", [30, 60, 80, 100, 120, 400])
def test_no_figure_is_cut_off(width):
    out = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    print_table(out, "A title", COLUMNS, ROWS)
    text = out.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO
    lines = text.splitlines()
    assert "…" not in text
    assert lines[0].strip() == "A title"
    assert max(cell_len(line.rstrip()) for line in lines) <= width
    for cells in (COLUMNS, *(cells for cells, _ in ROWS)):
        shown = [line.removeprefix(cells[0]) for line in lines if line.startswith(cells[0])]
        assert " ".join(shown).split() == " ".join(cells[1:]).split()


def test_one_table_where_there_is_room():
    assert portions([5, 8, 8], 25) == [[0, 1, 2]]
    assert portions([5, 8, 8], 24) == [[0, 1], [0, 2]]
    assert portions([5, 80, 8], 24) == [[0, 1], [0, 2]]  # too wide, yet shown
    assert portions([5], 2) == [[0]]


def test_a_download_is_silent_without_a_terminal(capsys):
    with terminal.download_progress() as progress:
        progress(10, None)
        progress(100, 100)
    assert capsys.readouterr() == ("", "")


def test_a_pipe_gets_the_lines_and_a_terminal_the_live_table(monkeypatch):
    assert isinstance(terminal.Screen().live(1), terminal.PlainLines)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(terminal.Screen().live(1), terminal.LiveTable)


def test_what_the_runs_showed_is_said_below_the_verdict(capsys):
    late = ResultNote("chosen on validation: nbsvm: C 3")
    found = examples.comparison()
    terminal.Screen().verdict(replace(found, notes=(*found.notes, late)))
    said = capsys.readouterr().out
    assert "\nChosen on validation: nbsvm: C 3.\n" in said
    assert "Made by hand" not in said  # before the runs
