"""Taggers travel as other models do; they are looked into, and read on."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from taggers import train_tagger

import rnnlab
from rnnlab.api.inspect import _random_rows, inspect_run
from rnnlab.core.errors import BundleError, RunError
from rnnlab.runs.bundle import read_bundle, write_bundle
from rnnlab.use import Predictor
from rnnlab.use.card_markdown import card_markdown
from rnnlab.use.predictor import ReadingOn
from rnnlab.use.stored import open_model, pack


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_tagger(tmp_path_factory.mktemp("words"), "words", "lstm", "task.ngrams=[2]")


@pytest.fixture(scope="module")
def characters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_tagger(tmp_path_factory.mktemp("characters"), "characters")


def test_a_bundle_answers_as_its_run(words: Path, characters: Path, tmp_path: Path):
    for run, text in ((words, "the zebra saw"), (characters, "王小明在北京大学读书。")):
        packed = pack(run, tmp_path / f"{run.name}.rnnlab")
        assert rnnlab.load(packed).predict([text]) == rnnlab.load(run).predict([text])


def changed(run: Path, folder: Path, member: str, **values: object) -> Path:
    """A bundle with other values in one of its files."""
    packed = folder / "changed.rnnlab"
    members = dict(read_bundle(pack(run, packed)))
    packed.unlink()
    members[member] = json.dumps(json.loads(members[member]) | values).encode()
    write_bundle(packed, members)
    return packed


SPELLING = {"letters": ["", "?", "a"], "length": 20, "lowercase": True}


@pytest.mark.parametrize(
    "values",
    [
        {"chain": [[0.0]]},
        {"chain": [[0.0] * 7] * 8},
        {"chain": [[float("nan")] * 7] * 9},
        {"chain": "up"},
        {"spelling": SPELLING | {"letters": ["a", "b"]}},
        {"spelling": SPELLING | {"letters": ["", "?", ["a"]]}},
        {"spelling": SPELLING | {"letters": ["", "?", "ab"]}},
        {"spelling": SPELLING | {"length": 10**9}},
        {"spelling": SPELLING | {"length": "7"}},
        {"spelling": 3},
        {"labels": ["O", *"abcdef"]},
    ],
    ids=str,
)
def test_odd_chains_and_letters_are_refused_in_words(characters: Path, tmp_path: Path, values: dict):
    path = changed(characters, tmp_path, "model.json", **values)
    with pytest.raises(BundleError, match=r"its model\.json is not as rnnlab writes it"):
        open_model(path)


def test_an_odd_task_is_refused_in_words(characters: Path, tmp_path: Path):
    task = json.loads(read_bundle(pack(characters, tmp_path / "whole.rnnlab"))["spec.json"])["task"]
    path = changed(characters, tmp_path, "spec.json", task=task | {"scheme": "XYZ"})
    with pytest.raises(BundleError, match="XYZ"):
        open_model(path)


@pytest.mark.parametrize("setting", ["letter_filters", "letter_width"])
def test_letters_of_another_network_take_no_memory(words: Path, tmp_path: Path, setting: str):
    model = json.loads(read_bundle(pack(words, tmp_path / "whole.rnnlab"))["spec.json"])["model"]
    embedding = model["embedding"] | {setting: 10**9}
    path = changed(words, tmp_path, "spec.json", model=model | {"embedding": embedding})
    with pytest.raises(RunError, match="the weights are not of this network"):
        _ = open_model(path).network


def test_a_card_speaks_of_types_and_unseen_words(words: Path, characters: Path):
    card = rnnlab.load(characters).card
    assert "Finds entities of 2 types in texts (Chinese)" in card.intended_use
    assert "scheme BMES" in card.intended_use
    told = card_markdown(card, "run")
    assert "| ORG | " in told
    assert "## By type" in told
    assert "tokens of validation rows" in told
    weak = {"right": 1, "answered": 1, "true": 9}
    test = card.metrics["test"] | {"types": {"PER": weak, "LOC": {"right": 0, "answered": 0, "true": 0}}}
    again = card_markdown(replace(card, metrics={**card.metrics, "test": test}), "run")
    assert "| PER | 9 | 11.1 % | 100.0 % | 20.0 % |" in again
    assert "| LOC | 0 | – | – | – |" in again
    assert "Gives every token of texts (Latin)" in rnnlab.load(words).card.intended_use


def test_inspecting_a_tagger(words: Path, characters: Path):
    for run, text in ((words, "the cat saw"), (characters, "王小明在")):
        found = inspect_run(run, text)
        assert found.cost is not None
        assert found.cost.parameters["total"] == json.loads((run / "result.json").read_text())["parameters"]["total"]
        assert found.answer is not None
        model = rnnlab.load(run)
        assert found.answer.label in model.labels
        inputs, lengths = _random_rows(model.preprocessor, 0)
        assert model.stored.network(inputs, lengths).shape[0] == len(lengths)


def test_a_tagger_reads_on(words: Path, characters: Path):
    model = rnnlab.load(words)
    whole = tags_of(model, "the cat saw the saw")
    reading = ReadingOn(model)
    parts = [reading.add(part) for part in ("the", "cat saw", "the saw")]
    said = [tag for part in parts for tag in part.to_dict()["tags"]]
    assert [tag["label"] for tag in said] == [tag["label"] for tag in whole]
    assert np.allclose([tag["probability"] for tag in said], [tag["probability"] for tag in whole], atol=1e-5)
    with pytest.raises(RunError, match="best path of tags through a whole text"):
        ReadingOn(rnnlab.load(characters))


def tags_of(model: Predictor, text: str) -> list[dict]:
    return model.predict([text])[0].to_dict()["tags"]
