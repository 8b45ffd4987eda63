"""Exposure bias: along the true tokens and along its own, and what a model writes."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from rnnlab.core.errors import ConfigError, RunError
from rnnlab.data.encoded import EncodedData
from rnnlab.data.nested_sentences import nats_of_sentence, nested_sentences
from rnnlab.inspecting.exposure import Estimate, exposure, over_blocks, sentences_in
from rnnlab.models.network import Network
from rnnlab.show.exposures import remarks_on, rows
from rnnlab.sweeps.plan import experiment_tree, plan
from rnnlab.training.assemble import assemble
from rnnlab.training.evaluate import evaluate
from rnnlab.training.spec import RunSpec


def planned(kind: str = "gru", unit: str = "words", **task: object) -> tuple[RunSpec, EncodedData, Network]:
    about = {"kind": "language-model", "unit": unit, "sentences_made": 1500, "block": 200, "context": 40, **task}
    size = "model.width=16" if kind == "transformer" else "model.hidden=16"
    experiment, data = plan(experiment_tree(None, models=[kind], task=about, settings=[size]))
    assert isinstance(data, EncodedData)
    arm = experiment.arms[kind]
    spec = RunSpec(experiment.task, arm.model, arm.training, 0)
    torch.manual_seed(0)
    return spec, data, assemble(spec, data).eval()


class Known(torch.nn.Module):
    """Instead of a head: each token is certain to be followed by one and the same."""

    def __init__(self, network: Network, token: int):
        super().__init__()
        self.head, self.token = network.head, token

    def forward(self, encoded: object) -> torch.Tensor:
        out = torch.zeros_like(self.head(encoded))
        out[..., self.token] = 30.0
        return out


@pytest.mark.parametrize("kind", ["gru", "dilated", "transformer"])
def test_forced_nats_are_those_of_reading_the_text(kind: str):
    spec, data, network = planned(kind, window=40)
    found = exposure(spec, network, data, places=10_000, steps=20)
    test = data.test
    whole = evaluate(network, spec.task.answer, test, torch.device("cpu"), spec.longest)["nats"]
    assert np.mean([one.mean for one in found.forced]) == pytest.approx(whole[whole > 0].mean(), rel=0.03)
    assert len(found.gap) == len(found.written) == 20
    assert found.context == (20 if kind == "transformer" else 40)
    for gap, free, forced in zip(found.gap, found.free, found.forced, strict=True):
        assert gap.mean == pytest.approx(free.mean - forced.mean)
        assert gap.low <= gap.mean <= gap.high


def test_a_model_that_always_writes_one_token():
    spec, data, network = planned()
    assert data.vocabulary is not None
    token = data.vocabulary.words.index("the")
    network.head = Known(network, token)
    found = exposure(spec, network, data, steps=10)
    assert found.mean_gap.mean == pytest.approx(0, abs=1e-9)  # it makes nothing of what it reads
    assert found.written[9].mean > found.true[9].mean + 1  # after nine times "the", nothing that was ever seen
    assert not found.sentences  # it never ends one


def test_written_sentences_are_held_to_the_rules():
    spec, data, network = planned()
    found = exposure(spec, network, data, steps=5)
    assert found.sentences[0].right.mean < 0.1  # untrained
    assert [part.first for part in found.sentences] == [1, 3, 6, 11, 21][: len(found.sentences)]
    assert exposure(spec, network, data, steps=5) == found  # the same draws
    assert len(remarks_on(found)) == 1 + len(found.sentences)
    assert [row[0] for row in rows(found)] == ["1", "2", "3", "5"]
    json.dumps(found.to_dict())


def test_the_rules_give_each_sentence_the_nats_that_it_was_drawn_with():
    made = nested_sentences(300, 5)
    at = 0
    for sentence in sentences_in(made.words, "words"):
        assert nats_of_sentence(sentence) == pytest.approx(made.nats[at : at + len(sentence)].sum())
        at += len(sentence)
    assert at == len(made.words)
    assert sentences_in(list(made.text), "chars") == sentences_in(made.words, "words")


@pytest.mark.parametrize(
    "broken",
    [
        "the cat sleep . \n",  # agreement
        "the cats that the dog see sleeps . \n",
        "the cat that the dog sees . \n",  # a verb is missing
        "the cat that the dog that the bird that the wolf sees sees sees sleeps . \n",  # too deep
        "the cat sleeps . . \n",
        "the cat sleeps .",
        "the cta sleeps . \n",
        "\n",
    ],
)
def test_sentences_that_break_the_rules(broken: str):
    assert nats_of_sentence(broken.split(" ")) is None
    assert nats_of_sentence(["the", "cats", "that", "the", "dog", "sees", "sleep", "again", ".", "\n"]) is not None


def test_intervals_count_blocks():
    values = np.random.default_rng(0).normal(size=1000)
    each, together = (
        over_blocks(values, np.arange(1000)),
        over_blocks(np.repeat(values[:50], 20), np.arange(1000) // 20),
    )
    assert each.high - each.low == pytest.approx(2 * 1.96 / 1000**0.5, rel=0.1)
    assert together.high - together.low == pytest.approx(2 * 2.01 / 50**0.5, rel=0.3)
    assert isinstance(each, Estimate)


def test_what_it_cannot_be_measured_on(tmp_path: Path):
    (tmp_path / "names.txt").write_text("\n".join(f"name {n}" for n in range(200)), encoding="utf-8")
    spec, data, network = planned(unit="chars", data=str(tmp_path / "names.txt"), text_per="line", sentences_made=None)
    with pytest.raises(RunError, match="one long text"):
        exposure(spec, network, data)
    spec, data, network = planned(sentences_made=150)
    with pytest.raises(RunError, match="too short"):
        exposure(spec, network, data, steps=200)


def test_options_that_would_be_ignored():
    from rnnlab.cli.inspect import _show_exposure

    with pytest.raises(ConfigError, match="would ignore --text"):
        _show_exposure("runs/1", {"text": "a"}, False)
    with pytest.raises(ConfigError, match="would ignore --model"):
        _show_exposure(None, {}, False)
