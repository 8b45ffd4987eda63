"""A comparison as text, from figures made by hand."""

import csv
import io
from dataclasses import replace

import chapter_examples as examples
import numpy as np
import pytest

from rnnlab.comparing.comparison import ArmSummary, Cell, Comparison, Measure, RunSummary
from rnnlab.judging.findings import ArmScores, Estimate
from rnnlab.judging.verdict import judge
from rnnlab.show import result_files as tables
from rnnlab.show.judge_texts import CALLS
from rnnlab.show.pages.report_tables import (
    EMPTY,
    class_tables,
    epochs_table,
    evidence_table,
    score_table,
    size_table,
)
from rnnlab.show.pages.table import Table

MACRO_F1 = Measure("macro_f1", "macro-F1", "percent")
FINISHED = RunSummary(0, "a" * 16, "runs/a", "finished", 0.9, 0.8, {"macro_f1": 0.7}, 2, None)
DIVERGED = RunSummary(1, "b" * 16, "runs/b", "diverged", None, None, {}, None, "step 3: overflow")
ARM = ArmSummary(
    label="lstm",
    model={"kind": "lstm"},
    score=Estimate(0.85449, 0.8, 0.90051),
    scores={"macro_f1": 0.84, "loss": 0.4},
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
    total_seconds=37.02,
)
NONE = replace(
    ARM,
    label="a|b",
    score=None,
    scores={},
    epoch_seconds=None,
    step_seconds=None,
    tokens_per_second=None,
    row_seconds=None,
    best_epoch=None,
    parameters=None,
    peak_memory_mb=None,
    total_seconds=None,
    by_tag={},
    runs=(DIVERGED, replace(DIVERGED, status="failed")),
    in_best_group=False,
    failed_seeds=(1, 2),
)


@pytest.fixture
def result() -> Comparison:
    return Comparison({"rows": {}}, (ARM, NONE), (), judge([], np.arange(4)), None, None, ("a note",), beside=MACRO_F1)


def test_markdown(result):
    lines = tables.markdown(result).splitlines()
    assert lines[0] == "| model | accuracy | 95 % interval | macro-F1 | s/epoch | total, s | parameters |"
    assert lines[2] == "| lstm \\* | 85.4 % | 80.0–90.1 | 84.0 % | 1.23 | 37.0 | 1.2 M |"
    assert lines[3] == "| a\\|b | diverged/failed | | | | | |"
    assert lines[4:] == ["", result.verdict.sentence]


def test_of_equals_the_cheaper_comes_first_as_the_verdict_has_it(result):
    right = np.tile([1.0, 0.0], (2, 2))
    costs = {"a": 9.0, "b": 2.0, "no cost": None}
    verdict = judge([ArmScores(label, [0, 1], right, cost) for label, cost in costs.items()], np.arange(4))
    arms = tuple(replace(ARM, label=label, score=verdict.estimates[label]) for label in costs)
    equal = replace(result, arms=arms, verdict=verdict)
    assert [arm.label for arm in equal.ranking] == ["b", "a", "no cost"]
    assert equal.ranking[0].label == verdict.best


def test_what_was_not_measured_has_no_figure(result):
    """Of an arm all of whose runs diverged there is what they count as, and nothing else."""
    counted = replace(NONE, score=Estimate(0.5, 0.4, 0.6))
    lines = tables.markdown(replace(result, arms=(ARM, counted))).splitlines()
    assert lines[3] == "| a\\|b | 50.0 % | 40.0–60.0 |  |  |  |  |"


def test_csv_has_full_precision_and_a_column_a_tag(result):
    arm, none = csv.DictReader(io.StringIO(tables.comparison_csv(result)))
    assert (float(arm["score_mean"]), float(arm["peak_memory_mb"])) == (0.85449, 210.25)
    assert (float(arm["epoch_seconds"]), float(arm["tokens_per_second"])) == (1.234, 50_000.5)
    assert float(arm["total_seconds"]) == 37.02
    assert arm["score[negation, double]"] == "0.5"
    assert none["label"] == "a|b"
    assert none.pop("failed_seeds") == "2"
    assert set(list(none.values())[2:]) == {""}


# The tables of the page


@pytest.fixture(scope="module")
def example() -> Comparison:
    return examples.comparison()


def test_every_pair_has_its_three_chances_and_its_call(example: Comparison):
    found = evidence_table(example)
    assert found is not None
    names = [column.name.en for column in found.columns]
    assert names[:3] == ["model", "against", "verdict"]
    assert names[-3:] == ["better, %", "within, %", "worse, %"]
    assert len(found.rows) == len(example.verdict.differences) == 10
    for row, gap in zip(found.rows, example.verdict.differences, strict=True):
        assert [cell.text for cell in row.cells[:2]] == [gap.better, gap.worse]
        assert row.cells[2].text == CALLS[gap.call]
        assert [cell.value for cell in row.cells[3:6]] == [gap.mean, gap.low, gap.p_holm]
        assert tuple(cell.value for cell in row.cells[6:9]) == gap.chances
    assert {gap.call for gap in example.verdict.differences} == {"better", "undecided"}


def test_single_runs_have_no_chances():
    arms = [ArmScores(label, [0], examples.correct(label)[:1]) for label in ("lstm", "textcnn")]
    verdict = judge(arms, np.arange(examples.ROWS))
    found = evidence_table(replace(examples.comparison(), verdict=verdict))
    assert found is not None
    (row,) = found.rows
    assert list(row.cells[6:9]) == [EMPTY] * 3


def test_chances_add_up_and_zero_has_no_sign(example: Comparison):
    """The sentence says the same figures."""
    gap = replace(example.verdict.differences[0], mean=-1e-17, low=-0.141, high=0.141, chances=(0.434, 0.134, 0.432))
    found = evidence_table(replace(example, verdict=replace(example.verdict, differences=[gap])))
    assert found is not None
    (row,) = found.rows
    assert [cell.text for cell in row.cells[3:5]] == ["0.0", "−14.1 – 14.1"]
    assert [cell.text for cell in row.cells[6:9]] == ["43", "14", "43"]


def test_which_luck_is_counted_is_said(example: Comparison):
    found = evidence_table(example)
    varied = evidence_table(replace(example, verdict=replace(example.verdict, luck=["seeds", "rows", "split"])))
    assert found is not None
    assert varied is not None
    assert found.note is not None
    assert varied.note is not None
    assert "don't count the luck of the split" in found.note.en
    assert "Every seed drew its own split" in varied.note.en


def test_failed_seeds_have_a_column_where_there_are_any(example: Comparison):
    found = score_table(example, {})
    names = [column.name.en for column in found.columns]
    column = names.index("failed seeds")
    shown = {row.cells[0].value: row.cells[column].text for row in found.rows}
    assert shown == {"gru (bidirectional)": "", "textcnn": "", "lstm": "1/3", "n-grams": "", "majority": ""}
    steady = replace(example, verdict=replace(example.verdict, failures={}))
    assert "failed seeds" not in [column.name.en for column in score_table(steady, {}).columns]


def cells(table: Table, name: str) -> dict[str, str]:
    """By the name of a row: what stands in that column."""
    (at,) = (at for at, column in enumerate(table.columns) if column.name.en == name)
    return {str(row.cells[0].value or row.cells[0].text): str(row.cells[at].text) for row in table.rows}


def test_the_recommended_row_comes_first_and_is_marked(example: Comparison):
    for label in ("lstm", "n-grams"):
        chosen = replace(example, verdict=replace(example.verdict, recommended=label))
        rows = score_table(chosen, {}).rows
        assert (rows[0].cells[0].value, rows[0].mark) == (label, "recommended")
        others = [row.cells[0].value for row in rows[1:]]
        assert others == [arm.label for arm in chosen.ranking if arm.label != label]
    nobody = replace(example, verdict=replace(example.verdict, recommended=None))
    assert [row.cells[0].value for row in score_table(nobody, {}).rows] == [arm.label for arm in nobody.ranking]


def test_the_total_time_stands_beside_that_of_an_epoch(example: Comparison):
    found = score_table(example, {})
    names = [column.name.en for column in found.columns]
    assert names.index("total, s") == names.index("s/epoch") + 1
    assert cells(found, "s/epoch")["lstm"] == "2.50"
    assert cells(found, "total, s")["lstm"] == "10.0"  # four epochs
    assert cells(found, "total, s")["majority"] == ""
    assert [column.name.zh for column in found.columns if column.name.en == "total, s"] == ["总计（秒）"]


def test_no_figure_has_an_exponent(example: Comparison):
    """The majority answers a row in 16 nanoseconds, the others in milliseconds."""
    fast = tuple(replace(arm, row_seconds=1.6e-8) for arm in example.baselines)
    found = score_table(replace(example, baselines=fast), {})
    assert cells(found, "ms/row")["majority"] == "< 0.001"
    assert cells(found, "ms/row")["lstm"] == "1.10"
    quick = replace(example, arms=tuple(replace(arm, row_seconds=2.3e-5) for arm in example.arms), baselines=fast)
    assert cells(score_table(quick, {}), "µs/row") == {
        "gru (bidirectional)": "23.0",
        "textcnn": "23.0",
        "lstm": "23.0",
        "n-grams": "0.016",
        "majority": "0.016",
    }


def test_epochs_have_a_table():
    chapter = examples.chapter()
    found = epochs_table(chapter, {})
    assert found is not None
    assert found.name.en == "Validation accuracy by epoch, %"
    assert [column.name.en for column in found.columns] == ["model", "epoch 1", "epoch 2", "epoch 3", "epoch 4"]
    curves = {one.arm: one for one in chapter.learning.curves if (one.split, one.quantity) == ("valid", "accuracy")}
    assert found.rows[0].cells[0].text == chapter.comparison.verdict.recommended
    assert {row.cells[0].text for row in found.rows} == set(curves)  # baselines learn in one go
    for row in found.rows:
        points = {point.epoch: point for point in curves[str(row.cells[0].text)].points}
        assert [cell.value for cell in row.cells[1:]] == [points[e].mean if e in points else None for e in range(1, 5)]
    for at in range(1, 5):
        best = max(row.cells[at].value or 0 for row in found.rows)
        assert all(row.cells[at].value == best for row in found.rows if row.cells[at].strong)


def test_long_runs_have_their_marks_and_say_how_many_got_there():
    chapter = examples.chapter()
    lstm = next(one for one in chapter.learning.curves if (one.arm, one.split) == ("lstm", "valid"))
    points = tuple(replace(lstm.points[0], epoch=epoch, runs=3 if epoch < 50 else 1) for epoch in range(1, 61))
    learning = replace(chapter.learning, curves=(replace(lstm, points=points),))
    found = epochs_table(replace(chapter, learning=learning), {})
    assert found is not None
    assert [column.name.en for column in found.columns[1:]] == [f"epoch {epoch}" for epoch in (1, 5, 10, 20, 50)]
    (row,) = found.rows
    assert str(row.cells[-1].text).endswith(" (1)")
    assert row.cells[-1].note is not None
    assert row.cells[-1].note.en == "The mean of 1 of 3 runs: the others had ended before."
    assert not any(cell.strong for cell in row.cells)  # alone, nobody is ahead
    assert epochs_table(replace(chapter, learning=replace(learning, curves=())), {}) is None


def test_every_class_has_its_recall_precision_and_f1():
    chapter = examples.chapter()
    first, *others = class_tables(chapter)
    assert first.name.en == f"{chapter.comparison.verdict.recommended}, class by class"
    assert len(others) == len({score.arm for score in chapter.differences.classes}) - 1
    scores = [one for one in chapter.differences.classes if one.arm == chapter.comparison.verdict.recommended]
    assert [row.cells[0].text for row in first.rows] == [one.label for one in scores]
    for row, one in zip(first.rows, scores, strict=True):
        assert [cell.value for cell in row.cells[1:]] == [one.rows, one.recall, one.precision, one.f1]
    score = replace(scores[0], recall=0.5, precision=1.0)
    assert score.f1 == pytest.approx(2 / 3)
    assert replace(score, precision=None, recall=0.0).f1 == 0.0
    many = tuple(replace(score, label=f"class {n}", rows=n + 1) for n in range(40))
    (cut,) = class_tables(replace(chapter, differences=replace(chapter.differences, classes=many)))
    assert len(cut.rows) == 30
    assert cut.note is not None
    assert cut.note.en == "The 30 largest of 40 are shown."


def test_a_column_speaks_of_its_own_score(example: Comparison):
    """Judged by macro-F1, with the accuracy beside it."""
    verdict = replace(example.verdict, metric="macro-F1")
    judged = replace(example, verdict=verdict, beside=Measure("accuracy", "accuracy", "percent"))
    names = [column.name.en for column in score_table(judged, {}).columns]
    assert names[1] == "macro-F1, %"
    assert "accuracy, %" in names[2:]
    note = score_table(judged, {}).note
    assert note is not None
    assert "test macro-F1" in note.en


def test_size_speed_and_memory():
    chapter = examples.chapter()
    found = size_table(chapter, {})
    assert cells(found, "MB")["lstm"] == "312"
    assert cells(found, "tokens/s")["lstm"] == "12,000"
