"""Updates in native code are those of torch, whoever shares the work, and one that breaks changes nothing."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.kernels import switched_off
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.fasttext import NgramVectors
from rnnlab.tasks.classify import Classify
from rnnlab.training.assemble import assemble
from rnnlab.training.batch_loader import BatchLoader
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import RunSpec, Training
from rnnlab.training.update import Update, Updater

COUNT = 25


@pytest.fixture(scope="module")
def task() -> Classify:
    return Classify(data="reviews", rows=400).resolve()


@pytest.fixture(scope="module")
def data(task: Classify) -> EncodedData:
    return task.load()


def spec_of(task: Classify, optimizer: str = "lazy-adam", **model: Any) -> RunSpec:
    settings = {"kind": "lstm", "hidden": 20, "embedding": {"width": 12}, **model}
    settings = {name: value for name, value in settings.items() if value is not ...}
    training = Training.model_validate({"optimizer": optimizer, "batch_size": 16, "clip": 1.0})
    return RunSpec(task, ARCHITECTURES.parse(settings), training, 0)


def updater_of(spec: RunSpec, data: EncodedData, threads: int = 1) -> Updater:
    assert spec.training is not None
    torch.manual_seed(0)
    network = assemble(spec, Preprocessor.of(data)).train()
    return Updater(spec, network, Optimizer(network, spec.training), threads)


def batches_of(spec: RunSpec, data: EncodedData) -> list[Batch]:
    loader = BatchLoader(spec, data)
    return [loader.batch(number) for number in range(COUNT)]


def weights_of(updater: Updater) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in updater.network.state_dict().items()}


@pytest.mark.parametrize("optimizer", ["lazy-adam", "adam", "adamw", "sgd", "lazy-sgd"])
@pytest.mark.parametrize(
    "model",
    [
        {},
        {"kind": "gru", "bidirectional": True, "pooling": "max"},
        {"kind": "rnn", "activation": "relu", "layers": 2, "pooling": "attention"},
        {"kind": "gru", "layer_norm": True, "pooling": "max"},
    ],
)
def test_native_updates_are_those_of_torch(task, data, optimizer, model):
    spec = spec_of(task, optimizer, **model)
    batches, rates = batches_of(spec, data), [0.01] * COUNT
    native = updater_of(spec, data)
    assert native.member is not None
    found = list(native.advance(batches, rates))
    with switched_off():
        plain = updater_of(spec, data)
        assert plain.member is None
        expected = list(plain.advance(batches, rates))
    assert [update.loss for update in found] == pytest.approx([update.loss for update in expected], rel=1e-4)
    assert [update.norm for update in found] == pytest.approx([update.norm for update in expected], rel=1e-3)
    assert [update.right for update in found] == [update.right for update in expected]
    assert native.optimizer.steps == plain.optimizer.steps == COUNT


BAG = {"kind": "fasttext", "hidden": ..., "buckets": 500}


@pytest.mark.parametrize("optimizer", ["lazy-sgd", "lazy-adam", "sgd"])
@pytest.mark.parametrize("later", [{}, {"ends": True, "hashing": "mixed"}])
def test_native_updates_of_a_bag_of_ngrams_are_those_of_torch(task, data, optimizer, later, monkeypatch):
    spec = spec_of(task, optimizer, **BAG, **later)
    batches, rates = batches_of(spec, data), [0.01 if optimizer == "lazy-adam" else 1.0] * COUNT
    native = updater_of(spec, data)
    assert native.member is not None
    with monkeypatch.context() as without_torch:
        without_torch.setattr(NgramVectors, "forward", None)
        found = list(native.advance(batches, rates))
    with switched_off():
        plain = updater_of(spec, data)
        expected = list(plain.advance(batches, rates))
    assert [update.loss for update in found] == pytest.approx([update.loss for update in expected], rel=1e-4)
    assert [update.norm for update in found] == pytest.approx([update.norm for update in expected], rel=1e-3)
    assert [update.right for update in found] == [update.right for update in expected]
    after = weights_of(plain)
    for name, value in weights_of(native).items():
        torch.testing.assert_close(value, after[name], rtol=1e-3, atol=1e-4)


DROPPING = {
    "output_dropout": 0.2,
    "recurrent_dropout": 0.3,
    "pooling": "max",
    "embedding": {"width": 12, "dropout": 0.1},
}


@pytest.mark.parametrize("model", [{}, DROPPING, BAG], ids=["plain", "with dropout", "a bag of n-grams"])
def test_bits_depend_neither_on_threads_nor_on_how_many_updates_are_done_at_a_time(task, data, model):
    spec = spec_of(task, **model)
    batches, rates = batches_of(spec, data), [0.01] * COUNT
    found = []
    for threads, parts in ((1, [COUNT]), (2, [1, 2, 4, 18]), (3, [5] * 5)):
        updater = updater_of(spec, data, threads)
        updates: list[Update] = []
        for part in parts:
            at = len(updates)
            updates += updater.advance(batches[at : at + part], rates[at : at + part])
        found.append((updates, weights_of(updater)))
    for updates, weights in found[1:]:
        assert updates == found[0][0]
        assert all(torch.equal(value, found[0][1][name]) for name, value in weights.items())


@pytest.mark.parametrize("model", [{}, BAG], ids=["lstm", "a bag of n-grams"])
def test_a_broken_update_changes_nothing_and_leaves_its_gradients(task, data, model):
    """The weights break before the third batch: two went well, the third didn't, and no more are tried."""
    spec = spec_of(task, **model)
    batches, rates = batches_of(spec, data), [0.01] * COUNT
    updater = updater_of(spec, data)
    assert all(update.well for update in updater.advance(batches[:2], rates[:2]))
    table = updater.network.get_parameter("embedding.table")
    with torch.no_grad():
        table[int(batches[2].inputs[0, 0])] = float("nan")
    before = weights_of(updater)
    broken = list(updater.advance(batches[2:], rates[2:]))
    assert len(broken) == 1
    assert not broken[0].well
    assert updater.optimizer.steps == 2
    after = weights_of(updater)
    assert all(torch.equal(value.nan_to_num(7), after[name].nan_to_num(7)) for name, value in before.items())


def test_what_is_dropped_after_native_code_gave_up_does_not_depend_on_how_many_updates_are_done_at_a_time(task, data):
    """The batches after it, in the same group, had drawn their seeds already."""
    spec = spec_of(task, **DROPPING)
    batches, rates = batches_of(spec, data)[:6], [0.01] * 6
    losses = [update.loss for update in updater_of(spec, data).advance(batches, rates)]
    found = []
    for parts in ([6], [1] * 6, [4, 2]):
        updater = updater_of(spec, data)
        assert updater.member is not None
        updater.member.exploded = max(losses[1:4])  # one of these is left to torch, which thinks nothing of it
        updates: list[Update] = []
        for part in parts:
            at = len(updates)
            updates += updater.advance(batches[at : at + part], rates[at : at + part])
        found.append((updates, weights_of(updater), torch.get_rng_state()))
    assert [update.loss for update in found[0][0]] != losses
    for updates, weights, state in found[1:]:
        assert updates == found[0][0]
        assert torch.equal(state, found[0][2])
        assert all(torch.equal(value, found[0][1][name]) for name, value in weights.items())


def test_what_torch_finds_of_a_broken_update_is_not_added_to_what_native_code_left(task, data):
    spec = spec_of(task)
    batches = batches_of(spec, data)
    updater = updater_of(spec, data)
    assert updater.member is not None
    updater.member.exploded = 1e-3  # native code gives up at once; torch, which knows better, does the update
    found = list(updater.advance(batches[:3], [0.01] * 3))
    with switched_off():
        expected = list(updater_of(spec, data).advance(batches[:3], [0.01] * 3))
    assert [update.norm for update in found] == pytest.approx([update.norm for update in expected], rel=1e-4)


def test_networks_that_native_code_does_not_know_are_left_to_torch(task, data):
    models: list[dict[str, Any]] = [{"initial_state": "normal"}, {"state": "carried"}, {"checkpoint_segments": 2}]
    models += [{**BAG, "output_dropout": 0.1}, {**BAG, "embedding": {"width": 12, "dropout": 0.1}}]
    for model in models:
        assert updater_of(spec_of(task, **model), data).member is None
    spec = replace(spec_of(task), model=ARCHITECTURES.parse({"kind": "textcnn", "embedding": {"width": 12}}))
    assert updater_of(spec, data).member is None
