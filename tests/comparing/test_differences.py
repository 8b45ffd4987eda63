"""Predictions written by hand, whose every figure is known; and one real comparison."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import rnnlab
from rnnlab.comparing import differences as module
from rnnlab.comparing.chapters import Answered, ClassScore, Differences
from rnnlab.comparing.differences import differences, disagreements, shorten, with_texts
from rnnlab.comparing.records import Record
from rnnlab.core.errors import DataError, RunError
from rnnlab.models.baselines import Majority, TfIdf
from rnnlab.models.recurrent import RNN
from rnnlab.runs.directory import Diverged, Finished, RunDirectory
from rnnlab.tasks.addition import Addition
from rnnlab.tasks.base import Task
from rnnlab.tasks.classify import Classify
from rnnlab.tasks.synthetic import FirstLast
from rnnlab.training.spec import RunSpec, Training

LABELS = ("bad", "so-so", "good")
TARGETS = [0, 0, 1, 2, 2, 2]
EMPTY = Differences((), (), (), ())


@pytest.fixture
def run(tmp_path) -> Callable[..., Record]:
    """``run("lstm", 0, [0, 0, 1, …])``: a finished run that gave these answers to the test rows."""

    def make(
        arm: str,
        seed: int,
        answers: Sequence[int],
        *,
        targets: Sequence[int] = TARGETS,
        groups: Sequence[int] | None = None,
        tags: Sequence[int] | None = None,
        model: Majority | TfIdf | None = None,
        task: Task | None = None,
        labels: int = 3,
    ) -> Record:
        folder = RunDirectory(tmp_path / f"{arm}-{seed}")
        folder.path.mkdir()
        arrays = {
            "test.logits": np.eye(labels, dtype=np.float32)[list(answers)],
            "test.targets": np.array(targets),
            "test.groups": np.array(range(len(targets)) if groups is None else groups),
        }
        if tags is not None:
            arrays["test.tags"] = np.array(tags)
        safetensors.numpy.save_file(arrays, folder / "predictions.safetensors")
        folder.seal({"status": "finished"})
        spec = RunSpec(task or Classify(), model or RNN(), None if model else Training(), seed)
        return Record(arm, spec, Finished({}), folder.path)

    return make


def test_classes_and_confusions_are_the_mean_of_the_runs(run):
    found = differences([run("rnn", 0, [0, 1, 1, 2, 2, 0]), run("rnn", 1, [0, 0, 1, 2, 0, 0])], LABELS)
    [confusion] = found.confusions
    assert (confusion.arm, confusion.runs) == ("rnn", 2)
    assert confusion.counts == ((1.5, 0.5, 0.0), (0.0, 1.0, 0.0), (1.5, 0.0, 1.5))
    assert found.classes == (
        ClassScore("rnn", "bad", 2, 0.75, 0.5),
        ClassScore("rnn", "so-so", 1, 1.0, 1 / 1.5),
        ClassScore("rnn", "good", 3, 0.5, 1.0),
    )
    assert found.labels == LABELS
    assert found.rows == ()  # one arm alone has nobody to disagree with


def test_a_class_that_is_never_answered_and_one_that_never_occurs(run):
    found = differences([run("rnn", 0, [0, 0], targets=[0, 1])], LABELS)
    assert found.classes == (ClassScore("rnn", "bad", 1, 1.0, 0.5), ClassScore("rnn", "so-so", 1, 0.0, None))


def test_the_most_disputed_rows_come_first(run):
    records = [
        run("rnn", 0, [0, 0, 0, 0, 2, 2], tags=[0, 0, 1, 1, 0, 1]),
        run("rnn", 1, [0, 0, 0, 2, 2, 2]),
        run("gru", 0, [0, 1, 1, 2, 2, 0]),
        run("cnn", 0, [0, 1, 2, 2, 2, 2]),
    ]
    found = differences(records, LABELS, tags=("plain", "negation"))
    assert [row.row for row in found.rows] == [2, 1, 5, 3]
    # Row 2: three arms, three answers. Rows 1 and 5: one arm against two. Row 3: half of rnn against two.
    assert [row.disagreement for row in found.rows] == pytest.approx([1, 2 / 3, 2 / 3, 1 / 3], abs=1e-8)
    first, *_, last = found.rows
    assert (first.label, first.tag, first.text, first.cut, first.look) == ("so-so", "negation", None, False, None)
    assert first.answers == (
        Answered("rnn", "bad", 2, 2, False),
        Answered("gru", "so-so", 1, 1, True),
        Answered("cnn", "good", 1, 1, False),
    )
    assert last.answers[0] == Answered("rnn", "bad", 1, 2, False)  # of two answers given once each, the first label
    assert [row.row for row in differences(records, LABELS, most=2).rows] == [2, 1]
    assert differences(records, LABELS).rows[0].tag is None


def test_one_row_of_a_group(run):
    groups = [7, 7, 7, 4, 4, 5]
    records = [run("rnn", 0, [0, 0, 1, 2, 2, 2], groups=groups), run("gru", 0, [1, 1, 1, 1, 1, 1], groups=groups)]
    assert [row.row for row in differences(records, LABELS).rows] == [0, 3, 5]


def test_majority_is_no_voice_but_other_baselines_are(run):
    records = [
        run("rnn", 0, TARGETS),
        run("majority", 0, [2] * 6, model=Majority()),
        run("tfidf", 0, [0, 0, 1, 2, 2, 1], model=TfIdf()),
    ]
    found = differences(records, LABELS)
    assert [row.row for row in found.rows] == [5]
    assert [c.arm for c in found.confusions] == ["rnn", "tfidf"]
    assert differences(records[1:2], LABELS) == EMPTY


def test_runs_without_a_score_are_left_out(run):
    record = run("rnn", 1, [2] * 6)
    lost = replace(record, outcome=Diverged({"divergence": {}}))
    found = differences([run("rnn", 0, TARGETS), lost], LABELS)
    assert found.confusions[0].runs == 1
    assert differences([lost], LABELS) == EMPTY


def test_tasks_with_other_answers_have_no_differences(run):
    assert differences([run("rnn", 0, TARGETS, task=Addition())], LABELS) == EMPTY
    assert differences([run("rnn", 1, TARGETS)], ()) == EMPTY


def test_where_every_seed_has_its_own_test_rows(run):
    """Classes are counted on the rows of each run; no row is disputed by runs that never saw it."""
    first, second = Classify(fingerprint="1" * 32), Classify(fingerprint="2" * 32)
    found = differences(
        [
            run("rnn", 0, [0, 0, 1, 2, 2, 2], task=first),
            run("gru", 0, [0, 1, 1, 2, 2, 2], task=first),
            run("rnn", 1, [0, 1, 2, 2], targets=[0, 1, 1, 2], task=second),
            run("gru", 1, [0, 0, 0, 2], targets=[0, 1, 1, 2], task=second),
        ],
        LABELS,
    )
    assert found.rows == ()
    assert [confusion.runs for confusion in found.confusions] == [2, 2]
    assert found.confusions[0].counts == ((1.5, 0.0, 0.0), (0.0, 1.0, 0.5), (0.0, 0.0, 2.0))
    assert found.confusions[1].counts == ((1.0, 0.5, 0.0), (1.0, 0.5, 0.0), (0.0, 0.0, 2.0))


def test_other_test_rows_are_refused(run):
    with pytest.raises(RunError, match="other test rows"):
        differences([run("rnn", 0, TARGETS), run("rnn", 1, TARGETS, targets=TARGETS[::-1])], LABELS)


def test_a_damaged_file_is_noticed(run):
    record = run("rnn", 0, TARGETS)
    (record.path / "predictions.safetensors").write_bytes(b"something else")
    with pytest.raises(RunError, match="damaged"):
        differences([record], LABELS)


def test_matrices_that_nobody_could_read_are_left_out(run):
    many = [str(number) for number in range(101)]
    found = differences([run("rnn", 0, [100, 3], targets=[100, 5], labels=101)], many)
    assert found.confusions == ()
    assert [(score.label, score.recall) for score in found.classes] == [("5", 0.0), ("100", 1.0)]


def test_disagreement_is_what_drawing_pairs_would_give(monkeypatch):
    rng = np.random.default_rng(0)
    answers = [rng.integers(0, 4, (runs, 50)) for runs in (1, 2, 3, 3, 5)]
    pairs = list(combinations(answers, 2))
    expected = np.mean([(one[:, None] != two[None]).mean((0, 1)) for one, two in pairs], axis=0)
    np.testing.assert_allclose(disagreements(answers, 4), expected, atol=1e-8)
    whole = disagreements(answers, 4)
    monkeypatch.setattr(module, "BLOCK", 4 * 7)  # several blocks, the last one shorter
    assert disagreements(answers, 4).tolist() == whole.tolist()


def test_equal_chances_are_equal_numbers():
    """However their thirds were added up: else the order of the rows would be chance."""
    rng = np.random.default_rng(1)
    shuffled = [rng.permuted(np.tile([[0], [1], [2]], 40), axis=0) for _ in range(7)]  # each arm: 0, 1, 2, a run each
    assert set(disagreements(shuffled, 3).tolist()) == {round(2 / 3, 9)}


# --- words --------------------------------------------------------------------------------------------------------


def test_the_words_of_the_rows_are_filled_in_and_cut(tmp_path, run):
    path = tmp_path / "rows.csv"
    texts = [f"{number}: " + "很长的一行，" * number for number in range(40)]
    path.write_text("\n".join(["text,label", *(f"{t},{'ab'[n % 2]}" for n, t in enumerate(texts))]), encoding="utf-8")
    task = Classify(data=str(path)).resolve()
    test = task.load().test
    rows = len(test)
    records = [
        run("rnn", 0, [0] * rows, targets=test.targets.tolist(), task=task),
        run("gru", 0, [1] * rows, targets=test.targets.tolist(), task=task),
    ]
    found = with_texts(differences(records, ("a", "b", "c")), task, longest=60)
    assert len(found.rows) == 8
    for row in found.rows:
        assert row.text is not None
        number = int(row.text.partition(":")[0])
        assert ("a", "b")[number % 2] == row.label
        assert row.text == texts[number][:60]
        assert row.cut == (len(texts[number]) > 60)
    assert {row.cut for row in found.rows} == {True, False}
    path.write_text(path.read_text(encoding="utf-8").replace("很长", "很短"), encoding="utf-8")
    with pytest.raises(DataError, match="the source changed"):
        with_texts(found, task)


def test_numbers_have_no_words(run):
    task = FirstLast(rows=100, length=5)
    rows = len(task.load().test)
    records = [run(arm, 0, [n] * rows, targets=[0] * rows, task=task) for n, arm in enumerate(("rnn", "gru"))]
    found = differences(records, LABELS)
    assert len(found.rows) == 10
    assert with_texts(found, task) == found
    assert with_texts(EMPTY, Classify(data="no-such-file.csv")) == EMPTY  # nothing to look up


@pytest.mark.parametrize(
    ("text", "longest", "shown"),
    [
        ("short", 5, "short"),
        ("too long", 5, "too l"),
        ("cafe\u0301s", 4, "caf"),  # e and its accent are two characters
        ("cafe\u0301s", 5, "cafe\u0301"),
        ("ok \U0001f468\u200d\U0001f469\u200d\U0001f467", 5, "ok "),  # a family, joined
        ("ok \U0001f44d\U0001f3fd", 4, "ok "),  # a thumb and its colour
        ("\u0301" * 9, 4, "\u0301" * 4),  # nothing but accents
    ],
)
def test_a_cut_is_never_inside_what_looks_like_one_character(text, longest, shown):
    assert shorten(text, longest) == shown


# --- a real comparison --------------------------------------------------------------------------------------------


def test_a_real_comparison(reviews_csv, tmp_path):
    result = rnnlab.compare(
        reviews_csv, models=["rnn", "textcnn"], seeds=2, training={"epochs": 2}, jobs=0, out=tmp_path / "runs"
    )
    records = []
    for arm in (*result.arms, *result.baselines):
        for run in arm.runs:
            folder = RunDirectory(run.path)
            outcome = folder.outcome()
            assert outcome is not None
            records.append(Record(arm.label, RunSpec.from_dict(folder.spec()), outcome, folder.path))
    task = records[0].spec.task
    data = task.load()
    found = with_texts(differences(records, data.labels, tags=data.tag_names), task)
    compared = [arm for arm in (*result.arms, *result.baselines) if arm.label != "majority"]
    assert [c.arm for c in found.confusions] == [arm.label for arm in compared]
    for arm, confusion in zip(compared, found.confusions, strict=True):
        recorded = [json.loads((Path(run.path) / "result.json").read_text())["test"] for run in arm.runs]
        mean = np.mean([test["confusion"] for test in recorded], axis=0)
        assert np.array(confusion.counts).tolist() == mean.tolist()
        scores = [score for score in found.classes if score.arm == arm.label]
        assert [score.recall for score in scores] == pytest.approx((np.diag(mean) / mean.sum(1)).tolist())
        share = sum(score.recall * score.rows for score in scores) / sum(score.rows for score in scores)
        assert arm.score is not None
        assert share == pytest.approx(arm.score.mean)
    assert found.rows
    lines = reviews_csv.read_text().splitlines()
    for row in found.rows:
        assert f"{row.text},{row.label}" in lines
        assert len({answer.label for answer in row.answers}) > 1 or any(a.runs < a.of for a in row.answers)
