"""What a model reads while it learns: the truth, its own tokens, or the truth ever less often."""

import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from rnnlab.core.errors import ConfigError
from rnnlab.data.batches import Batch
from rnnlab.data.encoded import EncodedData
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN
from rnnlab.kernels import switched_off
from rnnlab.models.network import Network
from rnnlab.models.sampling import choose
from rnnlab.runs.directory import Finished
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.training.assemble import assemble
from rnnlab.training.batch_loader import BatchLoader
from rnnlab.training.forcing import (
    Draws,
    carried_state,
    reader_of,
    reads_own_tokens,
    rolled_out,
    share_of_truth,
    steepness,
)
from rnnlab.training.run import execute
from rnnlab.training.spec import Forcing, RunSpec, Training

NEVER = np.array([PADDING, UNKNOWN, BEGIN, END])
CAUSAL = ("rnn", "lstm", "gru", "mingru", "dilated", "transformer")


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text(nested_sentences(600, 1).text, encoding="utf-8")
    return path


def spec_of(novel: Path, kind: str, forcing: Any = "teacher", **model: object) -> tuple[RunSpec, EncodedData]:
    tree = experiment_tree(str(novel), models=[kind], task={"window": 20, "context": 16, "block": 100},
                           settings=[f"model.{name}={value}" for name, value in model.items()])  # fmt: skip
    experiment, data = plan(tree)
    assert isinstance(data, EncodedData)
    arm = experiment.arms[kind]
    training = arm.training.replace(epochs=3, batch_size=8, patience=None, forcing=forcing)
    return RunSpec(experiment.task, arm.model, training, 0), data


def network_and_batch(novel: Path, kind: str, **model: object) -> tuple[Network, Batch]:
    spec, data = spec_of(novel, kind, **model)
    torch.manual_seed(0)
    network = assemble(spec, data).eval()
    with torch.no_grad():
        for parameter in (*network.head.parameters(), network.embedding.table):  # type: ignore[union-attr]
            parameter.mul_(10)  # type: ignore[union-attr]  # an opinion, so that draws depend on what was read
    return network, BatchLoader(spec, data).batch(0)


def own(network: Network, batch: Batch, share: float = 0.0, state: Any = None) -> np.ndarray:
    begin = partial(reader_of, network, len(batch.lengths), state)
    return rolled_out(begin, batch.inputs, batch.lengths, share, Draws(3, 7), NEVER).numpy()


@pytest.mark.parametrize("kind", CAUSAL)
def test_each_token_is_drawn_from_what_the_model_says_of_all_that_was_read(novel: Path, kind: str):
    network, batch = network_and_batch(novel, kind)
    read = own(network, batch, 0.4)
    with torch.inference_mode():
        said = network(torch.from_numpy(read), batch.lengths).numpy()
    rows, steps = read.shape
    coins, numbers, truth = Draws(3, 7).coins(rows, steps), Draws(3, 7).tokens(rows, steps), batch.inputs.numpy()
    np.testing.assert_array_equal(read[:, 0], truth[:, 0])
    for step in range(1, steps):
        drawn = choose(said[:, step - 1], 1.0, None, 1.0, numbers[:, step], NEVER)
        expected = np.where(coins[:, step] < 0.4, truth[:, step], drawn)
        assert (read[:, step] == expected).mean() > 0.99  # a number may fall between two roundings
    assert 0.2 < (read != truth).mean() < 0.7


@pytest.mark.parametrize("kind", CAUSAL)
def test_its_own_tokens_depend_on_no_true_one_but_the_first(novel: Path, kind: str):
    network, batch = network_and_batch(novel, kind)
    read = own(network, batch)
    others = batch.inputs.clone()
    others[:, 1:] = torch.randint(4, 20, others[:, 1:].shape)
    np.testing.assert_array_equal(own(network, replace(batch, inputs=others)), read)
    others[:, 0] = batch.inputs[:, 0].roll(1) % 9 + 4
    assert (own(network, replace(batch, inputs=others)) != read)[:, 1:].any()
    assert not np.isin(read[:, 1:], NEVER).any()


def test_padding_and_neighbours_change_nothing(novel: Path):
    network, batch = network_and_batch(novel, "gru")
    read = own(network, batch, 0.3)
    few = Batch(F.pad(batch.inputs[:3], (0, 4)), batch.lengths[:3], F.pad(batch.targets[:3], (0, 4)))
    np.testing.assert_array_equal(own(network, few, 0.3), np.pad(read[:3], ((0, 0), (0, 4))))
    shorter = replace(few, lengths=torch.tensor([5, 20, 1]))
    found = own(network, shorter, 0.3)
    np.testing.assert_array_equal(found[0, :5], read[0, :5])
    np.testing.assert_array_equal(found[0, 5:], few.inputs[0, 5:])
    np.testing.assert_array_equal(found[2], few.inputs[2])


def test_native_steps_read_what_torch_reads(novel: Path):
    network, batch = network_and_batch(novel, "lstm", layers=2)
    state = tuple(torch.randn_like(part) for part in network.begin(len(batch.lengths)))
    native = own(network, batch, 0.2, state)
    with switched_off():
        torch_alone = own(network, batch, 0.2, state)
    assert (native == torch_alone).mean() > 0.98
    assert (native != own(network, batch, 0.2)).mean() > 0.1  # and the state matters


def test_rows_go_on_from_the_state_that_training_carries(novel: Path):
    spec, data = spec_of(novel, "lstm", hidden=8, layers=2)
    network, batch = assemble(spec, data), BatchLoader(spec, data).batch(0)
    assert all(float(part.abs().max()) == 0 for part in carried_state(network, 8) or ())
    network.train()
    network(batch.inputs, batch.lengths)
    found = carried_state(network, 8)
    assert found is not None
    assert [tuple(part.shape) for part in found] == [(8, 8)] * 4
    network.eval()
    zeros = tuple(torch.zeros(8, 8) for _ in range(4))
    _, expected = network.advance(batch.inputs, batch.lengths, zeros)
    for part, other in zip(found, expected, strict=True):
        torch.testing.assert_close(part, other, atol=0.3, rtol=0.3)  # training drops some


def test_draws_follow_from_seed_update_row_and_step():
    one = Draws(1, 2).tokens(4, 10)
    np.testing.assert_array_equal(Draws(1, 2).tokens(9, 30)[:4, :10], one)
    for other in (Draws(1, 3).tokens(4, 10), Draws(2, 2).tokens(4, 10), Draws(1, 2).coins(4, 10)):
        assert not np.isin(other, one).any()
    assert len(np.unique(one)) == 40
    assert abs(Draws(1, 2).coins(100, 100).mean() - 0.5) < 0.02


# --- how often the truth is read --------------------------------------------------------------------------------------


def test_a_straight_fall():
    forcing = Forcing.model_validate({"mode": "scheduled", "start": 0.9, "end": 0.1, "length": 4})
    shares = [share_of_truth(forcing, update, updates=10) for update in range(60)]
    assert shares[0] == pytest.approx(0.9)
    assert shares[20] == pytest.approx(0.5)
    assert shares[40:] == [0.1] * 20
    assert share_of_truth(Forcing.model_validate("own"), 5, 10) == 0
    assert share_of_truth(Forcing(), 5, 10) == 1


def test_the_inverse_sigmoid_is_that_of_the_paper():
    values = {"mode": "scheduled", "decay": "inverse-sigmoid", "end": 0, "length": 20}
    forcing = Forcing.model_validate(values)
    k = steepness(2000)
    shares = np.array([share_of_truth(forcing, update, updates=100) for update in range(2001)])
    np.testing.assert_allclose(shares[:2000], [k / (k + math.exp(i / k)) for i in range(2000)])
    assert shares[1999] == pytest.approx(0.01, rel=0.05)
    assert shares[2000] == 0
    assert shares[0] > 0.99
    assert (np.diff(shares) < 0).all()


def test_a_word_or_a_table():
    assert Training.model_validate({"forcing": "scheduled"}).forcing == Forcing(
        mode="scheduled", decay="linear", start=1, end=0.5, length=10
    )
    assert "forcing" not in Training().to_dict()  # older specs keep their digest
    assert Training.model_validate({"forcing": "own"}).to_dict()["forcing"]["mode"] == "own"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"mode": "own", "length": 3}, "would ignore 'length'"),
        ({"start": 0.5}, "'teacher' would ignore 'start'"),
        ({"mode": "scheduled", "start": 0.2, "end": 0.4}, "must not be below end = 0.4"),
    ],
)
def test_what_would_be_ignored_is_refused(values: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=said):
        Forcing.model_validate(values)


def test_tasks_without_next_tokens_and_dropped_words_refuse_it(novel: Path):
    for forcing in ("own", {"mode": "scheduled"}):
        with pytest.raises(ConfigError, match="'tag' answers with something else than the next token"):
            plan({"task": {"kind": "tag"}, "training": {"forcing": forcing}, "arms": {"a": {"model": {"kind": "gru"}}}})
    spec, data = spec_of(novel, "gru", "own", **{"embedding.word_dropout": 0.1})
    with pytest.raises(ConfigError, match=r"word_dropout = 0\.1 would drop true tokens alone"):
        reads_own_tokens(spec, data, 10)


# --- runs -------------------------------------------------------------------------------------------------------------


def weights_of(spec: RunSpec, folder: Path) -> bytes:
    assert isinstance(execute(spec, folder, lambda event: None, lambda: False), Finished)
    return (folder / spec.digest / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("decay", ["linear", "inverse-sigmoid"])
def test_always_the_truth_is_teacher_forcing_to_the_bit(novel: Path, tmp_path: Path, decay: str):
    always = {"mode": "scheduled", "decay": decay, "start": 1, "end": 1, "length": 1e-6}
    (teacher, _), (scheduled, _) = (spec_of(novel, "gru", forcing, hidden=8) for forcing in ("teacher", always))
    assert teacher.digest != scheduled.digest
    assert weights_of(teacher, tmp_path) == weights_of(scheduled, tmp_path)


def test_a_run_with_its_own_tokens_is_taken_up_to_the_bit(novel: Path, tmp_path: Path):
    forcing = {"mode": "scheduled", "end": 0.2, "length": 1.5}
    spec, _ = spec_of(novel, "lstm", forcing, hidden=8)
    whole = weights_of(spec, tmp_path / "whole")
    asked = iter(range(10_000))
    stops = lambda: next(asked) % 3 == 2  # noqa: E731
    for _ in range(500):
        if isinstance(execute(spec, tmp_path / "parts", lambda event: None, stops), Finished):
            break
    assert (tmp_path / "parts" / spec.digest / "weights.safetensors").read_bytes() == whole
    teacher, _ = spec_of(novel, "lstm", hidden=8)
    assert weights_of(teacher, tmp_path) != whole


def test_weights_are_chosen_after_the_fall(novel: Path, tmp_path: Path):
    """Its own tokens make the forced score worse, and yet no earlier epoch is taken."""
    spec, _ = spec_of(novel, "gru", {"mode": "scheduled", "end": 0, "length": 2}, hidden=8)
    execute(spec, tmp_path, lambda event: None, lambda: False)
    result = json.loads((tmp_path / spec.digest / "result.json").read_text(encoding="utf-8"))
    assert result["best_epoch"] == 3
