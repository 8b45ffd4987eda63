"""A softmax over some words: what it estimates, and that training with it is training."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rnnlab.core.errors import ConfigError
from rnnlab.data.encoded import EncodedData
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.kernels import switched_off
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.training.assemble import assemble
from rnnlab.training.batch_loader import BatchLoader
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.run import execute
from rnnlab.training.sampled_softmax import SampledSoftmax, inclusion
from rnnlab.training.spec import RunSpec
from rnnlab.training.update import Updater

COUNTS = np.array([0, 0, 500, 300, 90, 40, 20, 9, 9, 5, 2, 1, 1])


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text(nested_sentences(600, 1).text, encoding="utf-8")
    return path


def spec_of(novel: Path, *settings: str, tied: bool = False, samples: int | str = 10) -> tuple[RunSpec, EncodedData]:
    planned, data = plan(
        experiment_tree(
            str(novel),
            models=["gru"],
            task={"unit": "words", "window": 20},
            settings=[
                "model.hidden=12",
                "model.embedding.width=9",
                f"model.tied={str(tied).lower()}",
                f"training.softmax_samples={samples}",
                "training.batch_size=8",
                "training.epochs=2",
                *settings,
            ],
        )
    )
    arm = next(iter(planned.arms.values()))
    return RunSpec(planned.task, arm.model, arm.training, 0), data


def updater_of(spec: RunSpec, data: EncodedData, sampled: SampledSoftmax | None) -> Updater:
    assert spec.training is not None
    torch.manual_seed(0)
    network = assemble(spec, Preprocessor.of(data)).train()
    return Updater(spec, network, Optimizer(network, spec.training), 1, sampled=sampled)


def test_as_many_words_are_drawn_as_asked_for_and_frequent_ones_more_often():
    for samples in (1, 3, 6, 12, 13, 50):
        shares = inclusion(COUNTS, samples)
        assert shares.sum() == pytest.approx(min(samples, len(COUNTS)))
        assert ((shares > 0) & (shares <= 1)).all()
        assert (np.diff(shares[2:]) <= 0).all()
        ratios = (shares / np.maximum(COUNTS, 1) ** 0.75)[shares < 1]
        assert not len(ratios) or np.ptp(ratios) < 1e-9


def test_the_partition_function_is_estimated_without_bias():
    """With 2,000 draws the mean is within 4 standard errors; without the weights it would be 20 away."""
    random = np.random.default_rng(0)
    logits = torch.from_numpy(random.normal(size=len(COUNTS)) * 1.5)
    sampled = SampledSoftmax(inclusion(COUNTS, 6), seed=3)
    estimates, unweighted = [], []
    for step in range(2000):
        rows, places, log_weights = sampled.candidates(torch.tensor([4, 7, 4]), step)
        assert rows[places].tolist() == [4, 7, 4]
        estimates.append(float((logits[rows] + log_weights).exp().sum()))
        unweighted.append(float(logits[rows].exp().sum()))
    exact = float(logits.exp().sum())
    error = np.std(estimates) / len(estimates) ** 0.5
    assert abs(np.mean(estimates) - exact) < 4 * error
    assert abs(np.mean(unweighted) - exact) > 20 * error


def test_candidates_depend_on_seed_and_update_alone():
    counts, targets = np.full(100, 5), torch.tensor([2])
    sampled = SampledSoftmax(inclusion(counts, 20), seed=3)
    drawn = [sampled.candidates(targets, step).rows.tolist() for step in (5, 6, 5)]
    assert drawn[0] == drawn[2] != drawn[1]
    other = SampledSoftmax(inclusion(counts, 20), seed=4).candidates(targets, 5).rows.tolist()
    assert other != drawn[0]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("optimizer", ["lazy-adam", "adam", "lazy-sgd"])
@pytest.mark.parametrize("path", ["native", "torch"])
def test_with_all_words_drawn_it_is_the_full_softmax(novel: Path, tied: bool, optimizer: str, path: str):
    """Loss, norm and weights after three updates; with lazy-adam all rows are in use, so that it is Adam."""
    kind = f"training.optimizer={optimizer}"
    spec, data = spec_of(novel, kind, "model.output_dropout=0", "model.embedding.dropout=0", tied=tied, samples=10**6)
    full, _ = spec_of(novel, kind, "model.output_dropout=0", "model.embedding.dropout=0", tied=tied, samples="none")
    loader = BatchLoader(spec, data)
    batches = [loader.batch(step) for step in range(3)]

    def trained(spec: RunSpec) -> tuple[list[float], list[float | None], list[float], list[Tensor]]:
        updater = updater_of(spec, data, SampledSoftmax.of(spec, data))
        updater.member = None
        updates = list(updater.advance(batches, [0.01] * 3))
        weights = [value.clone() for value in updater.network.state_dict().values()]
        return [u.loss for u in updates], [u.norm for u in updates], [u.right for u in updates], weights

    if path == "torch":
        with switched_off():
            found, expected = trained(spec), trained(full)
    else:
        found, expected = trained(spec), trained(full)
    assert found[0] == pytest.approx(expected[0], rel=1e-4)
    assert found[1] == pytest.approx(expected[1], rel=1e-3)
    assert found[2] == pytest.approx(expected[2])
    for one, other in zip(found[3], expected[3], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=2e-4)


@pytest.mark.parametrize("tied", [False, True])
def test_rows_that_are_no_candidates_stay_as_they_are(novel: Path, tied: bool):
    spec, data = spec_of(novel, tied=tied, samples=3)
    sampled = SampledSoftmax.of(spec, data)
    assert sampled is not None
    updater = updater_of(spec, data, sampled)
    head, embedding = updater.network.head, updater.network.embedding
    assert embedding is not None
    before = head.scoring[0].detach().clone()  # type: ignore[operator]
    batch = BatchLoader(spec, data).batch(0)
    batch.targets[batch.targets > 12] = 12  # else a batch of so small a vocabulary has all words
    batch.inputs[batch.inputs > 12] = 12
    assert all(update.well for update in updater.advance([batch], [0.01]))
    moved = (head.scoring[0] != before).any(1).nonzero().flatten().tolist()  # type: ignore[operator]
    candidates = sampled.candidates(batch.targets.flatten(), 0).rows.tolist()
    read = embedding.rows.tolist() if tied else []
    assert 0 < len(moved) < len(before)
    assert set(moved) <= set(candidates) | set(read)
    assert set(batch.targets.flatten().tolist()) <= set(moved)
    assert not before[0].any() or not tied
    assert not embedding.table[0].any()  # type: ignore[index]  # padding stays zero


@pytest.mark.parametrize("tied", [False, True])
def test_a_run_that_was_interrupted_has_the_same_bits(novel: Path, tied: bool, tmp_path: Path):
    spec, _ = spec_of(novel, tied=tied)
    execute(spec, tmp_path / "whole", lambda event: None, lambda: False)
    calls = iter(range(10**9))
    execute(spec, tmp_path / "parts", lambda event: None, lambda: next(calls) == 4)
    assert not (tmp_path / "parts" / spec.digest / "weights.safetensors").exists()
    execute(spec, tmp_path / "parts", lambda event: None, lambda: False)
    whole, parts = ((tmp_path / one / spec.digest / "weights.safetensors").read_bytes() for one in ("whole", "parts"))
    assert whole == parts


def test_it_learns_and_is_judged_by_the_full_softmax(novel: Path, tmp_path: Path):
    found: dict[Any, float] = {}
    for samples in (8, "none"):
        spec, _ = spec_of(novel, "training.epochs=4", samples=samples)
        outcome: Any = execute(spec, tmp_path, lambda event: None, lambda: False)
        found[samples] = outcome.result["test"]["loss"]
    assert found[8] == pytest.approx(found["none"], abs=0.15)


def test_it_is_refused_where_no_text_is_continued():
    with pytest.raises(ConfigError, match="softmax_samples: the task 'parity' doesn't continue a text"):
        plan(experiment_tree(None, models=["gru"], task={"kind": "parity"}, settings=["training.softmax_samples=100"]))


def test_a_spec_without_it_is_what_it_was(novel: Path):
    spec, _ = spec_of(novel, samples="none")
    assert "softmax_samples" not in spec.to_dict()["training"]
