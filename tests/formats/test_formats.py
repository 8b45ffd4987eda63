"""Run directories of every format that was ever written can be read. `v1` holds a small model from format 1."""

import json
from pathlib import Path

import pytest

import rnnlab
from rnnlab.runs.directory import Finished, RunDirectory

FOLDERS = sorted(path for path in Path(__file__).parent.iterdir() if (path / "spec.json").exists())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_saved_run_still_answers(folder):
    assert isinstance(RunDirectory(folder).outcome(), Finished)
    expected = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    answers = rnnlab.load(folder).predict(list(expected))
    for answer, (label, probability) in zip(answers, expected.values(), strict=True):
        assert answer.label == label
        assert answer.probability == pytest.approx(probability, abs=1e-5)


def test_there_is_one():
    assert [folder.name for folder in FOLDERS] == ["v1"]
