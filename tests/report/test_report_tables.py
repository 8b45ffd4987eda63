"""A comparison as text, from figures made by hand."""

import csv
import io
import json
from dataclasses import replace

import pytest

from rnnlab.analysis.comparison import ArmSummary, Cell, Comparison, RunSummary
from rnnlab.judging.findings import ArmScores, Estimate
from rnnlab.judging.verdict import judge
from rnnlab.report import tables

FINISHED = RunSummary(0, "a" * 16, "runs/a", "finished", 0.9, 0.8, 0.7, 2, None)
DIVERGED = RunSummary(1, "b" * 16, "runs/b", "diverged", None, None, None, None, "step 3: overflow")
ARM = ArmSummary(
    label="lstm",
    model={"kind": "lstm"},
    accuracy=Estimate(0.85449, 0.8, 0.90051),
    macro_f1=0.84,
    loss=0.4,
    epoch_seconds=1.234,
    step_seconds=0.0123,
    tokens_per_second=50_000.5,
    row_seconds=0.00012,
    best_epoch=2.5,
    parameters=1_234_567,
    peak_memory_mb=210.25,
    by_tag={"negation, double": Cell(0.5, 10)},
    by_length={"1–9": Cell(0.5, 10)},
    runs=(FINISHED,),
    in_best_group=True,
)
NONE = replace(
    ARM,
    label="a|b",
    accuracy=None,
    macro_f1=None,
    epoch_seconds=None,
    step_seconds=None,
    tokens_per_second=None,
    row_seconds=None,
    best_epoch=None,
    parameters=None,
    peak_memory_mb=None,
    by_tag={},
    runs=(DIVERGED, replace(DIVERGED, status="failed")),
    in_best_group=False,
    failed_seeds=(1, 2),
)


@pytest.fixture
def result() -> Comparison:
    import numpy as np

    return Comparison({"rows": {}}, (ARM, NONE), (), judge([], np.arange(4)), None, None, ("a note",))


def test_markdown(result):
    lines = tables.markdown(result).splitlines()
    assert lines[2] == "| lstm \\* | 85.4 % | 80.0–90.1 | 84.0 % | 1.23 | 1.2 M |"
    assert lines[3] == "| a\\|b | diverged/failed | | | | |"
    assert lines[4:] == ["", result.verdict.sentence]


def test_of_equals_the_cheaper_comes_first_as_the_verdict_has_it(result):
    import numpy as np

    right = np.tile([1.0, 0.0], (2, 2))
    costs = {"a": 9.0, "b": 2.0, "no cost": None}
    verdict = judge([ArmScores(label, [0, 1], right, cost) for label, cost in costs.items()], np.arange(4))
    arms = tuple(replace(ARM, label=label, accuracy=verdict.estimates[label]) for label in costs)
    equal = replace(result, arms=arms, verdict=verdict)
    assert [arm.label for arm in equal.ranking] == ["b", "a", "no cost"]
    assert equal.ranking[0].label == verdict.best


def test_what_was_not_measured_has_no_figure(result):
    """Of an arm all of whose runs diverged there is what they count as, and nothing else."""
    counted = replace(NONE, accuracy=Estimate(0.5, 0.4, 0.6))
    lines = tables.markdown(replace(result, arms=(ARM, counted))).splitlines()
    assert lines[3] == "| a\\|b | 50.0 % | 40.0–60.0 |  |  |  |"


def test_csv_has_full_precision_and_a_column_a_tag(result):
    arm, none = csv.DictReader(io.StringIO(tables.csv(result)))
    assert (float(arm["accuracy_mean"]), float(arm["peak_memory_mb"])) == (0.85449, 210.25)
    assert (float(arm["epoch_seconds"]), float(arm["tokens_per_second"])) == (1.234, 50_000.5)
    assert arm["accuracy[negation, double]"] == "0.5"
    assert none["label"] == "a|b"
    assert none.pop("failed_seeds") == "2"
    assert set(list(none.values())[2:]) == {""}


def test_json_is_the_comparison(result, capsys):
    tables.print_json(result)
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(result.to_dict()))


def test_files_are_written_into_new_folders(tmp_path):
    path = tmp_path / "a" / "b" / "table.md"
    tables.make_room(str(path))
    tables.save(str(path), "文\n")
    assert path.read_text(encoding="utf-8") == "文\n"
