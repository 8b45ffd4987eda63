"""What language models write while they learn."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rnnlab.core.seeding import generator
from rnnlab.data.encoded import EncodedData
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN
from rnnlab.models.network import Network
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.training import loop
from rnnlab.training.assemble import assemble
from rnnlab.training.run import execute
from rnnlab.training.samples import LENGTH, TEMPERATURE, epoch_sample, is_sampled
from rnnlab.training.spec import RunSpec

LINES = "\n".join(f"{'a' * (n % 5 + 1)}{'b' * (n % 7)}" for n in range(300))


def spec_of(data: Path, kind: str, epochs: int = 4, settings: tuple[str, ...] = (), **task: Any) -> RunSpec:
    tree = experiment_tree(str(data), models=[kind], task=task, settings=list(settings))
    experiment, _ = plan(tree)
    arm = experiment.arms[kind]
    return RunSpec(experiment.task, arm.model, arm.training.replace(epochs=epochs, batch_size=8), 3)


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text(nested_sentences(200, 1).text, encoding="utf-8")
    return path


def lively(spec: RunSpec) -> tuple[Network, EncodedData]:
    """With weights large enough for steps to matter."""
    torch.manual_seed(0)
    data = spec.task.load()
    network = assemble(spec, data)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(3)
    return network.eval(), data


def events_and_weights(spec: RunSpec, folder: Path) -> tuple[list[dict[str, Any]], bytes]:
    execute(spec, folder, lambda event: None, lambda: False)
    run = folder / spec.digest
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [{**json.loads(line), "seconds": 0} for line in lines]
    return [event for event in events if event["event"] == "epoch"], (run / "weights.safetensors").read_bytes()


def test_first_epochs_are_sampled_more_often():
    assert [epoch for epoch in range(1, 70) if is_sampled(epoch)] == [1, 2, 4, 8, 16, 32, 64]


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_training_has_the_same_bits_with_samples_and_without(
    novel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    width = {"lstm": "model.hidden=8", "transformer": "model.width=8"}[kind]
    spec = spec_of(novel, kind, 3, (width, "model.output_dropout=0.3"), window=20)
    with_samples, weights = events_and_weights(spec, tmp_path / "with")
    assert [event["epoch"] for event in with_samples if "sample" in event] == [1, 2]
    assert with_samples[0]["sample"] != with_samples[1]["sample"]
    monkeypatch.setattr(loop, "is_sampled", lambda epoch: False)
    without, expected = events_and_weights(spec, tmp_path / "without")
    assert weights == expected
    assert [{key: value for key, value in event.items() if key != "sample"} for event in with_samples] == without


@pytest.mark.parametrize("unit", ["chars", "words"])
def test_a_sample_is_drawn_as_the_network_says(novel: Path, unit: str):
    spec = spec_of(novel, "gru", settings=("model.hidden=8",), unit=unit)
    network, data = lively(spec)
    assert data.vocabulary is not None
    assert data.tokenizer is not None
    ids = [BEGIN]
    for uniform in generator(7, "sampling").random(LENGTH[unit]):
        with torch.no_grad():
            logits = network(torch.tensor([ids]), torch.tensor([len(ids)]))[0, -1].double().numpy()
        logits[[PADDING, UNKNOWN, BEGIN, END]] = -np.inf
        shares = np.exp(logits / TEMPERATURE)
        ids.append(int(np.argmax(np.cumsum(shares) / shares.sum() > uniform)))
    expected = data.tokenizer.join([data.vocabulary.words[token] for token in ids[1:]])
    assert epoch_sample(network, data, 7, streams=True) == expected
    assert epoch_sample(network, data, 8, streams=True) != expected


def test_rows_that_end_are_followed_by_others(tmp_path: Path):
    path = tmp_path / "lines.txt"
    path.write_text(LINES, encoding="utf-8")
    spec = spec_of(path, "gru", settings=("model.hidden=8",), text_per="line")
    network, data = lively(spec)
    with torch.no_grad():
        network.head.linear.bias[END] += 2.0  # type: ignore[union-attr, index, operator]
    text = epoch_sample(network, data, 0, streams=False)
    assert text is not None
    assert "</s>" not in text
    assert 3 < len(text.split("\n")) < LENGTH["chars"]
    assert len(text) == LENGTH["chars"]  # a line end for each </s>


def test_what_knows_no_further_steps_writes_no_more(novel: Path):
    spec = spec_of(novel, "transformer", settings=("model.width=8",), window=20)
    network, data = lively(spec)
    text = epoch_sample(network, data, 0, True, spec.longest)
    assert text is not None
    assert len(text) == 20
