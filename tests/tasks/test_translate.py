"""A text for a text, from a table to a verdict and to the model in hand."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from corpora import write_pairs

import rnnlab
from rnnlab.answers.bleu import BLEU
from rnnlab.answers.heads import StateHead
from rnnlab.cli.generate import generate
from rnnlab.core.errors import ConfigError, DataError, RunError
from rnnlab.data.batches import collate
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.vocabulary import UNKNOWN
from rnnlab.models.baselines import BASELINES
from rnnlab.runs.directory import Finished, RunDirectory
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.tasks.base import TASKS
from rnnlab.tasks.choosing import task_for
from rnnlab.training.assemble import assemble
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.record import Recorded
from rnnlab.training.run import execute
from rnnlab.training.sampled_softmax import SampledSoftmax
from rnnlab.training.spec import RunSpec, parse_model
from rnnlab.training.update import Updater
from rnnlab.use.writing import Manner as Choice

SMALL = ["model.hidden=32", "model.embedding.width=16", "task.longest=12", "training.batch_size=16"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("pairs") / "pairs.tsv", 300)


def planned(
    table: Path, model: str = "gru", *, training: dict[str, Any] | None = None, settings: tuple[str, ...] = ()
) -> RunSpec:
    tree = experiment_tree(
        str(table),
        models=[model],
        seeds=1,
        training={"epochs": 12, "lr": 0.01, **(training or {})},
        settings=[*SMALL, *settings],
    )
    return plan(tree)[0].specs()[0][1]


def done(spec: RunSpec, out: Path) -> RunDirectory:
    outcome = execute(spec, out, lambda event: None, lambda: False)
    assert isinstance(outcome, Finished)
    return RunDirectory(out / spec.digest)


@pytest.fixture(scope="module")
def run(table: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return done(planned(table), tmp_path_factory.mktemp("runs"))


def test_two_columns_of_texts_are_translated_and_labels_are_not(table: Path, reviews_csv: Path):
    assert task_for(str(table), {}) == "translate"
    assert task_for(str(reviews_csv), {}) is None
    assert task_for(str(reviews_csv), {"source": "text"}) == "translate"
    assert task_for("tatoeba-eng-cmn", {}) == "translate"


def test_a_run_writes_and_is_scored(run: RunDirectory):
    result = json.loads((run.path / "result.json").read_text())
    assert result["test"]["bleu"] > 0.2  # word for word, and in another order
    assert set(result["test"]) >= {"bleu", "chrf", "exact", "token_accuracy", "loss", "greedy_bleu"}
    recorded = Recorded.of(run)
    assert BLEU.of(recorded.counts) == pytest.approx(result["test"]["bleu"])
    assert np.isclose(recorded.per_row().mean(), result["test"]["bleu"])


def test_what_is_told_is_what_was_scored(run: RunDirectory):
    model = rnnlab.load(run.path)
    data = model.task.load()
    assert model.preprocessor.vocabulary is not None
    words = model.preprocessor.vocabulary
    known = [row for row in range(len(data.test)) if UNKNOWN not in data.test.row(row)][:6]
    texts = [" ".join(words.spelled(data.test.row(row).tolist())) for row in known]
    kept = Recorded.of(run).kept("test")["written"]
    assert model.preprocessor.writes is not None
    expected = [model.preprocessor.writes.written([i for i in kept[row].tolist() if i]) for row in known]
    assert [one.label for one in model.translate(texts)] == expected
    assert [model.translate([text])[0].label for text in texts] == expected  # alone as together


def test_alternatives_have_probabilities_and_fit_into_the_beam(run: RunDirectory):
    model = rnnlab.load(run.path)
    (told,) = model.translate(["we like rain now."], beam=4, alternatives=3)
    assert len(told.probabilities) == 3
    assert next(iter(told.probabilities)) == told.label
    assert 0 < sum(told.probabilities.values()) <= 1
    with pytest.raises(DataError, match="alternatives: from 1 to the beam, 2"):
        model.translate(["we like rain now."], beam=2, alternatives=3)


def test_a_word_that_cannot_be_written_is_copied(run: RunDirectory):
    translator = rnnlab.load(run.path).translator
    head = translator.stored.network.head
    assert isinstance(head, StateHead)
    with torch.no_grad():
        head.linear.bias[UNKNOWN] = 100.0  # writes nothing else
    translator.search_by(beam=1, copy_unknown=True)
    (told,) = translator.translate(["we like rain zanzibar."])
    assert re.fullmatch(r"(we|like|rain|zanzibar|\.)+", told.label)


def test_drawn_texts_follow_from_seed_and_number(run: RunDirectory, capsys: pytest.CaptureFixture[str]):
    translator = rnnlab.load(run.path).translator
    drawn = translator.draw("we like rain now.", Choice(temperature=3.0, seed=1), samples=4)
    assert translator.draw("we like rain now.", Choice(temperature=3.0, seed=1), samples=2) == drawn[:2]
    assert translator.draw("we like rain now.", Choice(temperature=3.0, seed=2), samples=4) != drawn
    generate(str(run.path), ["we like rain now."], samples=4, temperature=3.0, seed=1, length=12)
    assert capsys.readouterr().out.splitlines() == drawn
    with pytest.raises(RunError, match="leave --stop and --copied out"):
        generate(str(run.path), ["we like rain now."], stop=["x"])


@pytest.mark.parametrize(
    ("training", "settings"),
    [
        ({"label_smoothing": 0.1}, ()),
        ({"softmax_samples": 8}, ()),
        ({"forcing": "own"}, ()),
        ({}, ("model.tied=true",)),
        ({"softmax_samples": None}, ("model.tied=true",)),
        ({}, ("model.decoder.input_feeding=true",)),
    ],
)
def test_ways_to_train_learn(table: Path, tmp_path: Path, training: dict[str, Any], settings: tuple[str, ...]):
    spec = planned(table, training={**training, "epochs": 2}, settings=settings)
    run = done(spec, tmp_path)
    losses = [event["valid_loss"] for event in run.events() if event.get("event") == "epoch"]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("optimizer", ["lazy-adam", "adam", "sgd"])
def test_sampling_all_words_is_scoring_all_words(table: Path, tied: bool, optimizer: str):
    """The update of a batch that has all words, to rounding."""
    found = []
    for samples in (None, 10_000):
        training = {"softmax_samples": samples, "optimizer": optimizer}
        nothing_dropped = ("model.output_dropout=0", "model.embedding.dropout=0")
        spec = planned(table, training=training, settings=(f"model.tied={str(tied).lower()}", *nothing_dropped))
        data = spec.task.load()
        torch.manual_seed(0)
        network = assemble(spec, Preprocessor.of(data)).train()
        assert spec.training is not None
        chosen = Optimizer(network, spec.training)
        updater = Updater(spec, network, chosen, 1, sampled=SampledSoftmax.of(spec, data))
        list(updater.advance([collate(data.train, np.arange(200))] * 2, [0.01, 0.01]))
        found.append(network.state_dict())
    for name, whole in found[0].items():
        assert torch.allclose(whole, found[1][name], atol=2e-5), name


def test_stopped_and_resumed_has_the_same_bits(table: Path, tmp_path: Path, run: RunDirectory):
    spec = planned(table)
    asked = iter(range(10_000))
    execute(spec, tmp_path, lambda event: None, lambda: next(asked) > 8)
    assert not (tmp_path / spec.digest / "result.json").exists()
    resumed = done(spec, tmp_path)
    assert (resumed.path / "weights.safetensors").read_bytes() == (run.path / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("name", ["copy", "translation-memory", "ibm1"])
def test_baselines_run_beside_it(table: Path, tmp_path: Path, name: str):
    spec = RunSpec(planned(table).task, parse_model({"kind": name}), None, 0)
    model = rnnlab.load(done(spec, tmp_path).path)
    assert isinstance(model.translate(["they want tea here."])[0].label, str)
    with pytest.raises(RunError, match="without a search"):
        model.translate(["they want tea here."], beam=3)
    assert name in BASELINES.names()


def test_what_a_translator_cannot_do_is_said(run: RunDirectory, reviews_csv: Path):
    with pytest.raises(RunError, match="so say which: rnnlab inspect"):
        rnnlab.inspect_run(run.path)
    with pytest.raises(RunError, match="this model writes a text"):
        rnnlab.load(run.path).explain("we like rain now.")
    with pytest.raises(ConfigError, match="'classify' writes no text for another one"):
        plan(experiment_tree(str(reviews_csv), models=["gru-plain"], task={"label": "label", "text": "text"}))


def test_texts_of_test_rows_are_those_of_the_file(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    task = planned(table).task
    data = task.load()
    rows = [3, 0, 7]
    texts = task.texts(rows)
    assert texts is not None
    lines = dict(line.split("\t") for line in table.read_text(encoding="utf-8").splitlines())
    assert [(lines[text],) for text in texts] == [data.references["test"][row] for row in rows]
    moved = tmp_path / "pairs.tsv"
    moved.write_text("\n".join(table.read_text(encoding="utf-8").splitlines()[:-9]) + "\n", encoding="utf-8")
    changed = task.replace(data=str(moved))
    monkeypatch.setattr(type(changed), "load", lambda self: data)  # as the cache has it
    with pytest.raises(DataError, match="the source changed since"):
        changed.texts(rows)


def test_dates_have_texts_too():
    task = TASKS.parse({"kind": "dates", "rows": 120})
    texts = task.texts([0, 5])
    assert texts is not None
    assert all(any(sign.isdigit() for sign in text) for text in texts)


def test_scores_are_kept_with_their_signatures(run: RunDirectory):
    result = json.loads((run.path / "result.json").read_text())
    assert result["signatures"] == {
        "bleu": "nrefs:1|case:mixed|eff:no|tok:zh|smooth:exp|version:2.6.0",
        "chrf": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0",
    }


def test_inspect_looks_into_one_translation(run: RunDirectory):
    text = "we like rain zebra."
    found = rnnlab.inspect_translation(run.path, text)
    (told,) = rnnlab.load(run.path).translate([text])
    assert found.text == told.label
    assert found.probability == pytest.approx(told.probability, rel=1e-4)
    assert found.tokens == ("we", "like", "rain", "zebra", ".")
    assert found.unknown == (3,)
    for grid in (found.attention, found.gradients):
        assert np.array(grid).shape == (len(found.written), 5)
