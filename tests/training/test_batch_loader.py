"""Batches by the number of the update, of rows or of tokens."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch

from rnnlab.core.errors import ConfigError
from rnnlab.data.batches import collate
from rnnlab.data.vocabulary import SEPARATED, UNKNOWN
from rnnlab.models.base import ARCHITECTURES
from rnnlab.runs.directory import Finished, Stopped
from rnnlab.sweeps.experiment import experiment_problems, parse_experiment
from rnnlab.tasks.addition import Addition
from rnnlab.tasks.classify import Classify
from rnnlab.training.batch_loader import AHEAD, BatchLoader
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training


def spec_of(reviews_csv: Path, **training: object) -> RunSpec:
    dropping = {"output_dropout": 0.2, "recurrent_dropout": 0.1, "embedding": {"width": 8, "dropout": 0.1}}
    model = ARCHITECTURES.parse({"kind": "gru", "hidden": 8, "pooling": "max", **dropping})
    settings = {"device": "cpu", "epochs": 3, **training}
    return RunSpec(Classify(data=str(reviews_csv)).resolve(), model, Training.model_validate(settings), 0)


def test_batches_do_not_depend_on_what_was_made_ahead(reviews_csv: Path) -> None:
    spec = spec_of(reviews_csv, batch_size=2)
    data = spec.task.load()
    loader = BatchLoader(spec, data)
    assert loader.updates == 21 > AHEAD
    in_turn = [loader.batch(step) for step in range(50)]
    for step in (49, 3, 20, 21, 4, 5):
        alone = BatchLoader(spec, data).batch(step)
        for batch in (alone, loader.batch(step)):
            assert torch.equal(batch.inputs, in_turn[step].inputs)
            assert torch.equal(batch.targets, in_turn[step].targets)


def test_fresh_batches_are_drawn_by_their_number() -> None:
    task = Addition(length=3, held_out=10)
    model = ARCHITECTURES.parse({"kind": "rnn", "hidden": 4, "embedding": {"width": 4}})
    spec = RunSpec(task, model, Training.model_validate({**task.training_defaults, "batch_size": 5}), 7)
    loader = BatchLoader(spec, task.load())
    for step in (0, 1, 2, 60, 49, 50):
        drawn = task.draw(7, step, 5)
        assert torch.equal(loader.batch(step).inputs, collate(drawn, np.arange(5)).inputs)


@pytest.mark.parametrize("kind", ["gru", "fasttext"])
@pytest.mark.parametrize("looks", [1, 2, 3])
def test_a_run_of_token_batches_is_interrupted_and_goes_on_to_the_bit(
    looks: int, kind: str, reviews_csv: Path, tmp_path: Path
) -> None:
    """Between two groups of updates, which are ever larger, and start small again: what is dropped doesn't tell."""
    spec = spec_of(reviews_csv, batch_tokens=60)
    if kind == "fasttext":
        bag = ARCHITECTURES.parse({"kind": kind, "buckets": 100, "embedding": {"width": 8}})
        spec = replace(spec, model=bag, training=Training(batch_tokens=60, epochs=3, optimizer="lazy-sgd", lr=1.0))
    again = RunSpec.from_dict(spec.to_dict())
    assert (again.digest, again.training) == (spec.digest, spec.training)
    whole = execute(spec, tmp_path / "whole", lambda event: None, lambda: False)
    stops = iter([*[False] * looks, True])
    assert isinstance(execute(spec, tmp_path / "parts", lambda event: None, lambda: next(stops)), Stopped)
    resumed = execute(spec, tmp_path / "parts", lambda event: None, lambda: False)
    assert isinstance(whole, Finished)
    assert isinstance(resumed, Finished)
    one, other = (
        safetensors.numpy.load_file(tmp_path / name / spec.digest / "weights.safetensors")
        for name in ("whole", "parts")
    )
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_runs_of_token_batches_are_other_runs(reviews_csv: Path) -> None:
    by_tokens = spec_of(reviews_csv, batch_tokens=60)
    assert by_tokens.digest != spec_of(reviews_csv).digest == spec_of(reviews_csv, batch_size=64).digest


def test_an_epoch_of_token_batches_counts_its_updates(reviews_csv: Path) -> None:
    spec = spec_of(reviews_csv, batch_tokens=60)
    data = spec.task.load()
    loader = BatchLoader(spec, data)
    tokens = [loader.batch(step).tokens for step in range(loader.updates)]
    assert sum(tokens) == data.train.lengths.sum()
    assert abs(np.mean(tokens) / 60 - 1) < 0.3


@pytest.mark.parametrize("batch_size", [32, 64])
def test_rows_or_tokens_make_a_batch_not_both(batch_size: int) -> None:
    tree = {"arms": {"rnn": {"model": {"kind": "rnn"}}}, "training": {"batch_tokens": 500, "batch_size": batch_size}}
    (problem,) = experiment_problems(tree)
    assert "'batch_tokens' would ignore" in problem
    assert "leave one of them out" in problem
    with pytest.raises(ConfigError, match="leave one of them out"):
        parse_experiment(tree)
    tree["training"].pop("batch_size")
    assert parse_experiment(tree).arms["rnn"].training.batch_tokens == 500


def test_fresh_batches_are_of_rows() -> None:
    tree = {
        "task": {"kind": "addition"},
        "arms": {"rnn": {"model": {"kind": "rnn"}}},
        "training": {"batch_tokens": 500},
    }
    assert "training.batch_tokens: 'addition' draws as many rows as batch_size says; set that" in experiment_problems(
        tree
    )


def dropping(
    reviews_csv: Path, share: float, ngrams: tuple[int, ...] = (), text: tuple[str, ...] | None = None
) -> RunSpec:
    spec = spec_of(reviews_csv, batch_size=16)
    settings = spec.model.to_dict()
    model = ARCHITECTURES.parse({**settings, "embedding": {**settings["embedding"], "word_dropout": share}})
    return RunSpec(Classify(data=str(reviews_csv), ngrams=ngrams, text=text).resolve(), model, spec.training, 0)


def test_so_many_words_become_unknown_in_training_drawn_by_the_number_of_the_update(reviews_csv: Path) -> None:
    spec, plain = dropping(reviews_csv, 0.3), dropping(reviews_csv, 0.0)
    assert "word_dropout" not in plain.model.to_dict()["embedding"]
    data = spec.task.load()
    loader, whole = BatchLoader(spec, data), BatchLoader(plain, data)
    found = [(loader.batch(step).inputs, whole.batch(step).inputs) for step in range(20)]
    tokens = sum(int((before != 0).sum()) for _, before in found)
    dropped = sum(int((after != before).sum()) for after, before in found)
    assert all(((after == before) | (after == UNKNOWN)).all() for after, before in found)
    assert all((after[before == 0] == 0).all() for after, before in found)
    assert 0.2 < dropped / tokens < 0.4
    again = BatchLoader(spec, data).batch(7).inputs
    assert torch.equal(again, found[7][0])
    assert not torch.equal((found[0][0] == UNKNOWN)[:, :3], (found[1][0] == UNKNOWN)[:, :3])


def test_separators_of_text_columns_are_never_dropped(reviews_csv: Path) -> None:
    lines = reviews_csv.read_text(encoding="utf-8").splitlines()
    reviews_csv.write_text(
        "\n".join([f"title,{lines[0]}", *(f"a film,{line}" for line in lines[1:])]), encoding="utf-8"
    )
    spec = dropping(reviews_csv, 0.5, text=("title", "text"))
    loader = BatchLoader(spec, spec.task.load())
    for step in range(5):
        inputs = loader.batch(step).inputs
        assert ((inputs == SEPARATED).sum(1) == 1).all()
        assert (inputs == UNKNOWN).any()


def test_a_word_that_is_dropped_takes_its_n_grams_along(reviews_csv: Path) -> None:
    spec, plain = (dropping(reviews_csv, share, (2, 3)) for share in (0.3, 0.0))
    data = spec.task.load()
    loader, whole = BatchLoader(spec, data), BatchLoader(plain, data)
    for step in range(5):
        after, before = loader.batch(step).inputs, whole.batch(step).inputs
        gone = (after[:, :, 0] == UNKNOWN) & (before[:, :, 0] != UNKNOWN)
        for column, size in ((1, 2), (2, 3)):
            held = torch.stack([torch.nn.functional.pad(gone, (back, 0))[:, : gone.shape[1]] for back in range(size)])
            expected = torch.where(held.any(0), 0, before[:, :, column])
            assert torch.equal(after[:, :, column], expected)


def test_a_run_with_word_dropout_goes_on_to_the_bit(reviews_csv: Path, tmp_path: Path) -> None:
    spec = dropping(reviews_csv, 0.2)
    whole = execute(spec, tmp_path / "whole", lambda event: None, lambda: False)
    stops = iter([*[False] * 2, True])
    assert isinstance(execute(spec, tmp_path / "parts", lambda event: None, lambda: next(stops)), Stopped)
    resumed = execute(spec, tmp_path / "parts", lambda event: None, lambda: False)
    assert isinstance(whole, Finished)
    assert isinstance(resumed, Finished)
    one, other = ((tmp_path / part / spec.digest / "weights.safetensors").read_bytes() for part in ("whole", "parts"))
    assert one == other
