"""Bundles of every format that was ever written can be read, and answer as they did on the machine that made them."""

import json
from pathlib import Path

import pytest
from make_bundle import answers

import rnnlab
from rnnlab.use.stored import open_model

FOLDERS = sorted(Path(__file__).parent.glob("bundle-v*"))


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def folder(request) -> Path:
    return request.param


def test_a_saved_bundle_still_answers(folder):
    model = open_model(folder / "tiny.rnnlab")
    expected = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    assert len(expected) == 10
    for text, probabilities in expected.items():
        assert dict(zip(model.preprocessor.labels, answers(model, text), strict=True)) == pytest.approx(
            probabilities, abs=1e-6
        )


def test_and_so_does_predict(folder):
    expected = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    found = rnnlab.load(folder / "tiny.rnnlab").predict(list(expected))
    for answer, probabilities in zip(found, expected.values(), strict=True):
        assert answer.probabilities == pytest.approx(probabilities, abs=1e-6)
        assert answer.label == max(probabilities, key=lambda label: probabilities[label])


def test_there_is_one():
    assert [folder.name for folder in FOLDERS] == ["bundle-v1"]
