"""The table of benchmarks/run.py on made-up figures. Nothing is timed here."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SECTION = """
from table import Row

def measure(effort):
    yield Row("made-up", "twice as fast", 2.0, (2.5, 1.0, 2.25), note="quick" if effort.quick else "whole")
    yield Row("made-up", "a pipe | in a name", 1.05, (1.2,), better="lower")
    yield Row("made-up", "of the peak", 0.6, (0.61,), unit="share")
    yield Row("made-up", "a tool", 1.0, missing="not installed: pip install tool")
    yield Row("made-up", "for information", None, (0.5,), unit="seconds")

def interrupted(effort):
    yield Row("stop", "measured before", 1.0, (1.0,))
    raise KeyboardInterrupt

def without_tool(effort):
    import onnxruntime_that_is_not_there
    yield

def broken(effort):
    yield Row("broken", "measured before", 1.0, (1.0,))
    raise ValueError("the reason\\nmore of it")
"""

# One process for all of them: torch is imported once.
IMPORT_ALL = """
import importlib, sys, traceback
folder, *names = sys.argv[1:]
sys.path.insert(0, folder)
sys.argv = ["x"]
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in ("keras", "sklearn"):
            traceback.print_exc()
    except BaseException:
        traceback.print_exc()
print("tried", len(names))
"""


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """benchmarks/run.py as it is; its modules leave with it."""
    (tmp_path / "made_up.py").write_text(SECTION, encoding="utf-8")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield importlib.import_module("run")
    ours = {"made_up", *(path.stem for path in BENCHMARKS.glob("*.py"))}
    for name in (set(sys.modules) - before) & ours:
        del sys.modules[name]


@pytest.fixture
def run(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same with made-up sections."""
    sections = {"made-up": "measure", "stop": "interrupted", "tool": "without_tool", "broken": "broken"}
    monkeypatch.setattr(benchmark, "SECTIONS", {name: (f"made_up:{one}", 1, 1) for name, one in sections.items()})
    return benchmark


def test_rows_are_judged_by_the_median_of_their_turns(run, capsys):
    assert run.main(["--only", "made-up", "--quick"]) == 0
    out = capsys.readouterr().out
    lines = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in out.splitlines()]
    assert lines[1] == ["twice as fast", "≥ 2.00 ×", "2.25 ×", "1.00 × to 2.50 ×", "met", "quick"]
    assert lines[2] == ["a pipe | in a name", "≤ 1.05 ×", "1.20 ×", "short"]
    assert lines[3] == ["of the peak", "≥ 60 %", "61 %", "met"]
    assert lines[4] == ["a tool", "≥ 1.00 ×", "not installed: pip install tool"]
    assert lines[5] == ["for information", "0.50 s"]
    assert "2 of 4 targets met, 1 short, 1 not measured" in out


def test_json_has_machine_versions_and_every_turn(run, tmp_path):
    file = tmp_path / "found.json"
    run.main(["--only", "made-up", "--json", str(file)])
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["format"] == 1
    about = {"date", "command", "quick", "machine", "versions", "native", "threads", "minutes", "interrupted"}
    assert set(found) >= about | {"rows"}
    assert found["machine"]["cores"] >= 1
    assert {"python", "rnnlab", "torch"} <= set(found["versions"])
    assert found["command"] == "python benchmarks/run.py --only made-up"
    first, _, _, missing, _ = found["rows"]
    assert first["turns"] == [2.5, 1.0, 2.25]
    assert (first["target"], first["measured"], first["verdict"]) == (2.0, 2.25, "met")
    assert first["spread"] == {"least": 1.0, "most": 2.5}
    assert (missing["measured"], missing["spread"], missing["turns"]) == (None, None, [])
    assert (missing["verdict"], missing["missing"]) == ("", "not installed: pip install tool")


def test_markdown_replaces_the_marked_block_alone(run, tmp_path):
    document = tmp_path / "benchmarks.md"
    run.main(["--only", "made-up", "--markdown", str(document)])
    block = document.read_text(encoding="utf-8")
    document.write_text(f"# Before\n\n{block.replace('2.25 ×', 'an old figure')}\nAfter\n", encoding="utf-8")
    run.main(["--only", "made-up", "--markdown", str(document)])
    written = document.read_text(encoding="utf-8")
    assert written.startswith("# Before\n\n")
    assert written.endswith("\nAfter\n")
    assert "an old figure" not in written
    assert "| of the peak | ≥ 60 % | 61 % |  | met |  |" in written
    assert "| a pipe \\| in a name | ≤ 1.05 × | 1.20 × |  | **short** |  |" in written


def test_an_interruption_prints_what_was_measured(run, capsys, tmp_path):
    file, document = tmp_path / "found.json", tmp_path / "kept.md"
    document.write_text("as it was", encoding="utf-8")
    assert run.main(["--only", "stop,made-up", "--json", str(file), "--markdown", str(document)]) == 130
    assert "measured before" in capsys.readouterr().out
    found = json.loads(file.read_text(encoding="utf-8"))
    assert [row["what"] for row in found["rows"]] == ["measured before"]
    assert found["interrupted"] is True
    assert document.read_text(encoding="utf-8") == "as it was"  # half a table replaces none


def test_a_section_that_stops_leaves_a_row_and_the_others_go_on(run, capsys):
    assert run.main(["--only", "tool,broken,made-up"]) == 0
    out = capsys.readouterr().out
    assert "not installed: pip install onnxruntime_that_is_not_there" in out
    assert "failed: ValueError: the reason" in out
    assert "more of it" not in out
    assert "twice as fast" in out


def test_an_unknown_section_is_refused(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(["--only", "epok"])
    assert "there is no section epok" in capsys.readouterr().err


def test_quick_begins_nothing_when_its_time_is_over(run, monkeypatch, capsys):
    monkeypatch.setattr(run, "QUICK_SECONDS", -1)
    run.main(["--only", "made-up", "--quick"])
    assert "left out" in capsys.readouterr().out
    run.main(["--only", "made-up"])
    assert "left out" not in capsys.readouterr().out


def test_every_section_names_a_function_of_this_folder(benchmark):
    for where, quick, full in benchmark.SECTIONS.values():
        module, function = where.split(":")
        assert f"def {function}(effort: Effort" in (BENCHMARKS / f"{module}.py").read_text(encoding="utf-8")
        assert 0 < quick <= full
    assert sum(quick for _, quick, _ in benchmark.SECTIONS.values()) < 300


def test_an_epoch_is_measured_by_the_last_state_by_the_highest_and_with_dropout(benchmark):
    epoch = importlib.import_module("epoch")
    assert not [way for way in epoch.OURS + epoch.WITH_ONE_THREAD if way.settings not in epoch.SETTINGS]
    assert set(epoch.JUDGED) <= set(epoch.OURS)
    rows = [str(way) for way in epoch.ways_of("gru", quick=True)]
    assert rows[:2] == ["lazy-adam, 2 threads", "adam, 2 threads"]
    assert rows[2:] == ["pooling = max, lazy-adam, 2 threads", "max, dropout 0.2, lazy-adam, 2 threads"]
    assert "pooling = max, lazy-adam, 1 thread" in map(str, epoch.ways_of("gru", quick=False))
    assert [str(way) for way in epoch.ways_of("textcnn", quick=True)] == rows[:2]


def test_the_document_has_the_marked_block_and_every_section(benchmark):
    table = sys.modules["table"]
    document = (BENCHMARKS.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert document.count(table.BEGIN) == document.count(table.END) == 1
    assert document.index(table.BEGIN) < document.index(table.END)
    assert not [name for name in benchmark.SECTIONS if f"**{name}.**" not in document]


def test_every_benchmark_can_be_imported():
    """They are run by hand, and rarely: what they import may have moved meanwhile."""
    names = sorted(file.stem for file in BENCHMARKS.glob("*.py"))
    command = [sys.executable, "-c", IMPORT_ALL, str(BENCHMARKS), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"tried {len(names)}"
    assert done.stderr == ""
