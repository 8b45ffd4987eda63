import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from small_comparisons import compare_small

from rnnlab.comparing.comparison import best_run, unfinished
from rnnlab.show.notebook import Result
from rnnlab.show.telling import tell
from rnnlab.training.spec import RunSpec


def plain(value: object) -> object:
    """As it is after a way through JSON."""
    return json.loads(json.dumps(value))


def test_the_figures_are_those_of_compare_to_the_digit(compared: Result):
    assert compared.folder is not None
    (chapter,) = tell([compared.folder]).chapters
    assert plain(chapter.comparison.to_dict()) == plain(compared.to_dict())


def test_every_part_of_a_chapter_is_filled(compared: Result):
    assert compared.folder is not None
    (chapter,) = tell([compared.folder]).chapters
    assert chapter.remarks == ()
    assert {curve.arm for curve in chapter.learning.curves} == {"gru", "textcnn"}
    assert {score.arm for score in chapter.differences.classes} == {"gru", "textcnn", "nbsvm", "tfidf"}
    assert {inside.arm for inside in chapter.internals} == {"gru", "textcnn"}
    assert [term.arm for term in chapter.terms] == ["majority", "nbsvm", "tfidf", "gru", "textcnn"]
    assert chapter.provenance.experiment is not None
    assert chapter.differences.rows
    for row in chapter.differences.rows:
        assert row.text is not None
        assert row.text.startswith("the ")
        assert row.look is not None


def test_what_needs_common_test_rows_is_left_out_where_splits_vary(varied: Result):
    assert varied.folder is not None
    (chapter,) = tell([varied.folder]).chapters
    assert chapter.remarks == (
        "the split varies with the seed; models were looked into with seed 1",
        "every seed has test rows of its own, so the rows on which models disagree aren't shown",
    )
    assert chapter.differences.rows == ()
    assert {score.arm for score in chapter.differences.classes} == {"gru", "textcnn", "nbsvm", "tfidf"}
    looked_into = {inside.run for inside in chapter.internals}
    assert looked_into == {run.digest for arm in varied.arms for run in arm.runs if run.seed == 1}
    assert looked_into != {Path(best_run(arm) or "").name for arm in varied.arms}
    assert {curve.arm for curve in chapter.learning.curves} == {"gru", "textcnn"}
    told = {}
    for term in chapter.terms:  # the page makes a spec.json of each pair
        for setting in term.settings:
            for seed, digest in setting.runs:
                assert RunSpec.from_dict({**setting.spec, "seed": seed}).digest == digest
                told.setdefault(term.arm, set()).add(digest)
    assert told == {arm.label: {run.digest for run in arm.runs} for arm in (*varied.arms, *varied.baselines)}
    assert "vary_split = true" in (chapter.provenance.experiment or "")


def test_splits_with_different_labels_are_said(tmp_path: Path):
    """A sample of the rows may miss a rare label."""
    path = tmp_path / "rare.tsv"
    rows = [f"the {'fine' if n % 2 else 'dull'} film {n}\t{'ab'[n % 2] if n > 1 else 'rare'}" for n in range(120)]
    path.write_text("\n".join(["text\tlabel", *rows]) + "\n", encoding="utf-8")
    result = compare_small(tmp_path, path, vary_split=True, seeds=4, models=["linear"], task={"sample": 50})
    (chapter,) = tell([result.folder or ""]).chapters
    assert "splits have different labels, so classes aren't shown" in chapter.remarks
    assert chapter.differences.classes == ()


def test_the_recommended_model_is_the_one_that_is_looked_into(compared: Result):
    assert compared.folder is not None
    (chapter,) = tell([compared.folder]).chapters
    verdict = chapter.comparison.verdict
    assert chapter.differences.looked in {"gru", "textcnn"}
    if verdict.recommended in verdict.baselines:  # of which there is nothing to be seen
        assert chapter.differences.looked == verdict.best_model
    else:
        assert chapter.differences.looked == verdict.recommended


def test_without_the_data_the_figures_stay_and_the_rest_is_said(
    compared: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert compared.folder is not None
    runs = Path(compared.folder).parent.parent
    copied = Path(shutil.copytree(runs, tmp_path / "runs"))
    for spec in copied.glob("*/spec.json"):
        spec.write_text(spec.read_text().replace(str(runs.parent), str(tmp_path / "gone")))
    monkeypatch.setitem(os.environ, "RNNLAB_CACHE", str(tmp_path / "cache"))
    (chapter,) = tell([copied]).chapters
    assert chapter.comparison.verdict == compared.verdict
    assert chapter.internals == ()
    assert len(chapter.remarks) == 1
    assert "the data can't be read any more" in chapter.remarks[0]
    assert all(row.text is None and row.look is None for row in chapter.differences.rows)


def test_what_is_being_done_is_said(compared: Result):
    assert compared.folder is not None
    heard: list[str] = []
    tell([compared.folder], heard.append)
    assert heard[0] == "reading the runs"
    assert any("7 runs" in text for text in heard)


def test_a_comparison_whose_runs_all_diverged(compared: Result, tmp_path: Path):
    """They count as answering the majority class. There are no predictions then, and yet there is something to tell."""
    assert compared.folder is not None
    copied = Path(shutil.copytree(Path(compared.folder).parent.parent, tmp_path / "runs"))
    for path in copied.glob("*/result.json"):
        result = json.loads(path.read_text())
        if "epochs" in result:
            divergence = {"step": 3, "reason": "the loss is not a number"}
            path.write_text(json.dumps({**result, "status": "diverged", "divergence": divergence}))
    (chapter,) = tell([copied]).chapters
    comparison, verdict = chapter.comparison, chapter.comparison.verdict
    assert verdict.recommended == "nbsvm"
    assert comparison.recommended_run is not None
    assert {label: (lost.failed, lost.diverged) for label, lost in verdict.failures.items()} == {
        "gru": ((0, 1), (0, 1)),
        "textcnn": ((0, 1), (0, 1)),
    }
    majority = verdict.estimates["majority"].mean
    assert [arm.score and arm.score.mean for arm in comparison.arms] == [majority, majority]
    assert [arm.scores for arm in comparison.arms] == [{}, {}]
    assert unfinished(comparison).en.count("diverged: step 3: the loss is not a number") == 4
    assert [ending.kind for ending in chapter.learning.endings] == ["diverged"] * 4
    assert {reason for term in chapter.terms for reason in term.stopping} >= {"diverged"}
    assert replace(chapter, remarks=()).differences.looked is None
