import json
import shutil
from pathlib import Path

import pytest

import rnnlab
from rnnlab.core.errors import RnnlabError, RunError
from rnnlab.runs.directory import find_runs
from rnnlab.show.gathering import arm_labels, gather
from rnnlab.show.notebook import Result
from rnnlab.training.spec import RunSpec


def runs_of(result: Result) -> Path:
    assert result.folder is not None
    return Path(result.folder).parent.parent


@pytest.fixture
def copied(compared: Result, tmp_path: Path) -> Path:
    """The folder of runs, in another place."""
    return Path(shutil.copytree(runs_of(compared), tmp_path / "elsewhere"))


def test_a_recorded_comparison_is_found_with_its_labels_and_order(compared: Result):
    (found,) = gather([runs_of(compared)]).comparisons
    assert [record.label for record in found.records] == ["majority", "nbsvm", "tfidf", *["gru", "textcnn"] * 2]
    assert [record.spec.seed for record in found.records[3:]] == [0, 0, 1, 1]
    assert found.name == "reviews.tsv"
    assert found.profile == compared.profile


def test_seeds_with_splits_of_their_own_are_one_comparison(compared: Result, varied: Result):
    (found,) = gather([runs_of(varied)]).comparisons
    assert [(record.label, record.spec.seed) for record in found.records] == [
        *((label, seed) for seed in (1, 0) for label in ("majority", "nbsvm", "tfidf")),
        *(("gru", 1), ("textcnn", 1), ("gru", 0), ("textcnn", 0)),
    ]
    assert found.splits_vary
    assert not gather([runs_of(compared)]).comparisons[0].splits_vary
    assert len(gather([record.path for record in found.records]).comparisons) == 2  # without its record: by their data


def test_it_is_found_where_the_folder_was_moved_to(compared: Result, copied: Path):
    (found,) = gather([copied]).comparisons
    assert {record.path.parent for record in found.records} == {copied}
    (alone,) = gather([next((copied / "comparisons").iterdir())]).comparisons
    assert alone.records == found.records


def test_a_comparison_within_a_larger_one_is_told_there(copied: Path):
    (whole,) = (copied / "comparisons").iterdir()
    smaller = copied / "comparisons" / "0000000000000000"
    shutil.copytree(whole, smaller)
    saved = json.loads((smaller / "comparison.json").read_text())
    origin = json.loads((smaller / "origin.json").read_text())
    saved["arms"] = [arm for arm in saved["arms"] if arm["label"] == "gru"]
    origin["runs"] = [pair for pair in origin["runs"] if pair[0] == "gru"]
    (smaller / "comparison.json").write_text(json.dumps(saved))
    (smaller / "origin.json").write_text(json.dumps(origin))
    (found,) = gather([copied]).comparisons
    assert len(found.records) == 7
    (part,) = gather([smaller]).comparisons  # but it can be asked for
    assert len(part.records) == 2


def test_runs_that_nobody_compared_are_grouped_by_their_data(copied: Path):
    shutil.rmtree(copied / "comparisons")
    (found,) = gather([copied]).comparisons
    assert sorted({record.label for record in found.records}) == ["gru", "majority", "nbsvm", "textcnn", "tfidf"]
    assert found.profile is None


def test_a_run_without_a_result_is_left_out_and_said(copied: Path):
    shutil.rmtree(copied / "comparisons")
    next(run for run in find_runs(copied) if run.spec()["seed"] == 1).path.joinpath("result.json").unlink()
    found = gather([copied])
    assert len(found.comparisons[0].records) == 6
    assert found.remarks == ("1 runs without a result are left out",)


def test_a_failed_run_keeps_its_reason(copied: Path):
    (folder,) = (copied / "comparisons").iterdir()
    saved = json.loads((folder / "comparison.json").read_text())
    run = saved["arms"][0]["runs"][0]
    run |= {"status": "failed", "reason": "out of memory"}
    (folder / "comparison.json").write_text(json.dumps(saved))
    (copied / run["digest"] / "result.json").unlink()
    (found,) = gather([copied]).comparisons
    reasons = [getattr(record.outcome, "reason", None) for record in found.records]
    assert reasons.count("out of memory") == 1


def test_single_runs(copied: Path):
    chosen = [run.path for run in find_runs(copied) if run.spec()["model"]["kind"] == "gru"]
    (found,) = gather(chosen).comparisons
    assert [record.label for record in found.records] == ["gru", "gru"]


def test_a_folder_with_nothing_to_tell(tmp_path: Path):
    with pytest.raises(RunError, match="no run that a report could tell of"):
        gather([tmp_path])
    with pytest.raises(RnnlabError, match="no such folder"):
        gather([tmp_path / "nowhere"])


def test_a_damaged_record_is_said_and_its_runs_are_told_all_the_same(copied: Path):
    (folder,) = (copied / "comparisons").iterdir()
    (folder / "comparison.json").write_text("{")
    found = gather([copied])
    assert len(found.comparisons[0].records) == 7
    assert "comparison.json: damaged" in found.remarks[0]


def test_names_of_arms_tell_them_apart():
    def spec(kind: str, seed: int = 0, **settings: object) -> RunSpec:
        training = {"lr": settings.pop("lr", 0.003)}
        values = {"kind": kind, "embedding": {"width": 5}, **settings}
        task = {"kind": "first-last", "length": 5}
        return RunSpec.from_dict({"format": 1, "task": task, "model": values, "training": training, "seed": seed})

    specs = [spec("gru"), spec("gru", lr=0.01), spec("gru", 1), spec("lstm"), spec("lstm", bidirectional=True)]
    assert arm_labels(specs) == ["gru lr=0.003", "gru lr=0.01", "gru lr=0.003", "lstm", "bilstm"]


def test_the_plain_names_are_used_by_train(tmp_path: Path):
    rnnlab.train(
        task={"kind": "first-last", "length": 4, "rows": 100}, model="gru", out=tmp_path, training={"epochs": 1}
    )
    (found,) = gather([tmp_path]).comparisons
    assert (found.name, found.records[0].label) == ("first-last", "gru")
