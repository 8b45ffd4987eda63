"""Where a network broke: the first layer, time step and gate that overflowed, and what to do about it."""

import json
import math
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rnnlab.core.words import retold
from rnnlab.data.batches import Batch
from rnnlab.models.base import ARCHITECTURES, Encoded
from rnnlab.models.cells import Cell, GRUCell, LSTMCell
from rnnlab.models.network import Network, build_network
from rnnlab.runs.directory import Diverged
from rnnlab.tasks.classify import Classify
from rnnlab.training.divergence import (
    KEPT_NORMS,
    advise,
    diagnose,
    healthy_norms,
    overflowed_on_validation,
    percentile,
)
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.run import execute
from rnnlab.training.spec import RunSpec, Training

STEPS, WIDTH = 9, 3


class Head(nn.Linear):
    def forward(self, encoded: Encoded) -> Tensor:  # type: ignore[override]  # a head takes what the encoder made
        return super().forward(encoded.summary)


def network_of(**settings: Any) -> Network:
    torch.manual_seed(0)
    model = ARCHITECTURES.parse({"hidden": 4, **settings})
    return build_network(model, words=None, features=WIDTH, pretrained=None, head=lambda width: Head(width, 2))


def batch_of(inputs: Tensor | None = None) -> Batch:
    """Two sequences, of 9 and 5 steps."""
    inputs = torch.ones(2, STEPS, WIDTH) if inputs is None else inputs
    return Batch(inputs, torch.tensor([STEPS, 5]), torch.tensor([0, 1]))


def weights(network: Network, ending: str) -> list[Tensor]:
    return [p.data for name, p in network.named_parameters() if name.endswith(ending)]


def places(network: Network, batch: Batch) -> tuple[Any, ...]:
    found = diagnose(network, batch, step=7, loss=math.nan, norm=None)
    return found["layer"], found["time_step"], found["gate"]


def test_overflow_in_the_recurrence_is_found_with_its_time_step():
    network = network_of(kind="rnn", activation="relu")
    with torch.no_grad():
        for name, weight in network.encoder.named_parameters():
            weight.fill_(1e10 if "weight_hh" in name else 1.0)
    batch = batch_of()
    states = network.encode(batch.inputs, batch.lengths).states
    expected = int((~states.isfinite()).any(2).any(0).nonzero()[0])
    found = diagnose(network, batch, step=7, loss=math.nan, norm=None)
    assert found["time_step"] == expected == 4  # 3e0 · (4e10)^t passes 3.4e38 at t = 4
    assert found["layer"] == "encoder.ahead.0"
    assert found["gate"] is None
    assert (found["step"], found["loss"], found["reason"]) == (7, "nan", "the forward pass overflowed")
    assert any("relu" in sentence for sentence in found["advice"])


@pytest.mark.parametrize("number", range(4))
def test_the_gate_of_an_lstm_that_overflowed_is_named(number: int):
    """Its sigmoid or tanh hides it: the states and the output stay finite."""
    network = network_of(kind="lstm")
    weights(network, "weight_ih_l0")[0][4 * number, 0] = math.inf
    batch = batch_of()
    batch.inputs[:, :6, 0] = 0.5  # the product with an infinite weight is one of infinity, of 0 it is NaN
    assert network(batch.inputs, batch.lengths).isfinite().all()
    assert places(network, batch) == ("encoder.ahead.0", 0, ("input", "forget", "candidate", "output")[number])
    found = diagnose(network, batch, step=7, loss=math.nan, norm=None)
    assert found["reason"] == (
        "the forward pass overflowed: encoder.ahead.0.weight_ih_l0 holds weights that aren't finite"
    )


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("number", range(3))
def test_the_gate_of_a_gru_and_the_step_at_which_it_overflowed(number: int, reset: str):
    network = network_of(kind="gru", reset=reset)
    weights(network, "weight_ih_l0")[0][4 * number, 0] = 3e38
    inputs = torch.zeros(2, STEPS, WIDTH)
    inputs[0, 6:, 0] = 100  # 3e38 · 100 overflows, from here on
    assert places(network, batch_of(inputs)) == ("encoder.ahead.0", 6, ("reset", "update", "candidate")[number])


def test_several_gates_at_once_are_all_named():
    network = network_of(kind="lstm")
    weights(network, "weight_ih_l0")[0][:] = math.inf
    assert places(network, batch_of())[2] == "input, forget, candidate, output"


def test_a_layer_above_is_named():
    network = network_of(kind="gru", layers=3)
    weights(network, "weight_hh_l0")[2][0] = math.inf  # times the zeros of the start it is NaN
    assert places(network, batch_of()) == ("encoder.ahead.2", 0, "reset, candidate")  # the reset gate's NaN goes on


def test_a_layer_that_reads_from_the_end_counts_from_the_first_token():
    network = network_of(kind="lstm", bidirectional=True)
    back = network.get_submodule("encoder.back.0")
    assert isinstance(back, Cell)
    back.weight_ih_l0.data[5, 1] = 3e38
    inputs = torch.zeros(2, STEPS, WIDTH)
    inputs[1, 1, 1] = 100  # of the sequence with 5 steps
    assert places(network, batch_of(inputs)) == ("encoder.back.0", 1, "forget")


@pytest.mark.parametrize("options", [{"layer_norm": True}, {"recurrent_dropout": 0.5}, {"checkpoint_segments": 3}])
def test_every_way_of_running_a_cell_is_traced(options: dict[str, Any]):
    network = network_of(kind="lstm", **options).train()
    weights(network, "bias_hh_l0")[0][8] = math.inf
    assert places(network, batch_of()) == ("encoder.ahead.0", 0, "candidate")


def test_layer_norm_takes_the_blame_off_large_inputs():
    """They reach the gates normalised: it is the head whose values are beyond reason."""
    network = network_of(kind="lstm", layer_norm=True)
    network.head.weight.data.mul_(1e8)  # type: ignore[operator]  # it is a Head
    found = diagnose(network, batch_of(torch.randn(2, STEPS, WIDTH) * 1e6), step=5, loss=1e7, norm=None)
    assert (found["layer"], found["time_step"], found["gate"]) == ("head", None, None)


def test_an_embedding_of_n_grams_counts_tokens():
    torch.manual_seed(0)
    model = ARCHITECTURES.parse({"kind": "fasttext", "ngrams": 3, "buckets": 7, "embedding": {"width": 4}})
    network = build_network(model, words=20, features=None, pretrained=None, head=lambda width: Head(width, 2))
    weights(network, "embedding.table")[0][5] = math.nan
    ids = torch.full((2, STEPS), 3)
    ids[1, 4] = 5
    assert places(network, Batch(ids, torch.tensor([STEPS, 5]), torch.tensor([0, 1]))) == ("embedding", 4, None)


@pytest.mark.parametrize(
    ("kind", "layer"),
    [
        ({"kind": "textcnn", "hidden": None}, "encoder.convolution"),
        ({"kind": "dilated"}, "encoder.blocks.0.convolution.filters"),
        ({"kind": "mingru"}, "encoder.ahead.0.project"),
        ({"kind": "linear"}, "encoder.layer"),
        ({"kind": "transformer", "hidden": None}, "encoder.project"),
    ],
)
def test_other_layers_name_their_place_and_time_step(kind: dict[str, Any], layer: str):
    settings = {key: value for key, value in {"hidden": 4, **kind}.items() if value is not None}
    torch.manual_seed(0)
    model = ARCHITECTURES.parse(settings)
    network = build_network(model, words=None, features=WIDTH, pretrained=None, head=lambda width: Head(width, 2))
    inputs = torch.zeros(2, STEPS, WIDTH)
    inputs[0, 7] = 3e38
    for parameter in network.encoder.parameters():
        parameter.data.mul_(100)
    name, step, gate = places(network, batch_of(inputs))
    first_window = {"textcnn": 3, "dilated": 6}.get(settings["kind"], 7)  # that touches step 7
    assert (name, step, gate) == (layer, first_window, None)


def test_the_trace_computes_what_the_cell_computes():
    """The gates' sigmoids and tanh, put together by the textbook, give the next state."""
    for kind, cls in (("lstm", LSTMCell), ("gru", GRUCell)):
        for reset in ("after", "before") if kind == "gru" else (None,):
            cell = network_of(kind=kind, **({"reset": reset} if reset else {})).get_submodule("encoder.ahead.0")
            assert isinstance(cell, cls)
            a, h, c = torch.randn(2, len(cell.gates) * 4), torch.randn(2, 4), torch.randn(2, 4)
            stepped, z = cell.step(a, (h, c)[: cell.parts], h)
            if kind == "lstm":
                c_next = z["forget"].sigmoid() * c + z["input"].sigmoid() * z["candidate"].tanh()
                expected = z["output"].sigmoid() * c_next.tanh()
            else:
                update = z["update"].sigmoid()
                expected = (1 - update) * z["candidate"].tanh() + update * h
            torch.testing.assert_close(stepped[0], expected)


def test_a_gradient_that_overflowed_names_its_parameter():
    network = network_of(kind="linear")
    batch = batch_of()
    network(batch.inputs, batch.lengths).sum().backward()
    network.head.weight.grad[0, 0] = math.inf  # type: ignore[union-attr,index]
    found = diagnose(network, batch, step=1, loss=0.5, norm=math.inf)
    assert (found["layer"], found["reason"]) == ("head.weight", "a gradient overflowed")
    assert found["gradient_norm"] == "inf"
    assert found["time_step"] is None


def test_a_gradient_that_overflowed_names_its_gate():
    network = network_of(kind="gru")
    batch = batch_of()
    network(batch.inputs, batch.lengths).sum().backward()
    network.get_parameter("encoder.ahead.0.weight_hh_l0").grad[5, 0] = math.nan  # type: ignore[index]
    found = diagnose(network, batch, step=1, loss=0.5, norm=math.nan)
    assert (found["layer"], found["gate"]) == ("encoder.ahead.0.weight_hh_l0", "update")


def test_a_gradient_of_an_embedding_that_is_updated_lazily():
    torch.manual_seed(0)
    model = ARCHITECTURES.parse({"kind": "linear", "embedding": {"width": 4}})
    network = build_network(model, words=20, features=None, pretrained=None, head=lambda width: Head(width, 2))
    Optimizer(network, Training())
    batch = Batch(torch.randint(2, 20, (2, STEPS)), torch.tensor([STEPS, 5]), torch.tensor([0, 1]))
    network.train()(batch.inputs, batch.lengths).sum().backward()
    assert network.embedding is not None
    network.embedding.picked.grad[0, 0] = math.inf  # type: ignore[index]
    found = diagnose(network, batch, step=1, loss=0.5, norm=math.inf)
    assert (found["layer"], found["reason"]) == ("embedding.table", "a gradient overflowed")


def test_a_loss_that_exploded_names_the_first_layer_with_huge_values():
    network = network_of(kind="rnn", activation="relu")
    weights(network, "weight_hh_l0")[0].fill_(25.0)
    weights(network, "weight_ih_l0")[0].fill_(1.0)
    found = diagnose(network, batch_of(), step=3, loss=5e6, norm=None)
    assert found["reason"] == "the loss passed 10000"
    assert (found["layer"], found["time_step"]) == ("encoder.ahead.0", 2)  # about 3 · 100^t passes 10⁴ at t = 2


def test_the_diagnosis_leaves_the_network_as_it_was():
    network = network_of(kind="lstm", state="carried", recurrent_dropout=0.5).train()
    batch = batch_of()
    network(batch.inputs, batch.lengths)
    carried = network.encoder.carried
    before = torch.get_rng_state()
    weights(network, "bias_ih_l0")[0][0] = math.nan
    diagnose(network, batch, step=1, loss=math.nan, norm=None)
    assert torch.equal(torch.get_rng_state(), before)
    assert network.encoder.carried is carried
    assert network.training
    assert not any(module._forward_hooks for module in network.modules())


def test_norms_before_it_are_kept_and_told_in_json():
    norms = [*(float(n) for n in range(30)), math.inf]
    found = diagnose(network_of(kind="rnn"), batch_of(), step=31, loss=math.inf, norm=math.inf, norms=norms)
    assert found["norms"] == [*(float(n) for n in range(30 - KEPT_NORMS + 1, 30)), "inf"]
    assert json.loads(json.dumps(found, allow_nan=False))["loss"] == "inf"


def test_clipping_is_advised_at_the_90th_percentile_of_the_healthy_norms():
    norms = [*(n / 10 for n in range(1, 21)), 80.0, 4000.0, math.inf]
    assert healthy_norms(norms) == [n / 10 for n in range(1, 21)]
    assert percentile(healthy_norms(norms), 90) == 1.8
    loose = advise(24, norms, Training(clip=5.0, lr=0.3))
    assert loose[0].startswith("Take a lower learning rate than training.lr = 0.3.")
    assert "--find-lr" in loose[0]
    assert loose[1].endswith("clip there, with --set training.clip=1.8 instead of 5.")
    assert advise(24, norms, Training.model_validate({"clip": "none"}))[1].endswith("--set training.clip=1.8.")
    assert "below that already" in advise(24, norms, Training(clip=1.0))[1]
    few = [0.7, 0.8, 24.0]  # say nothing about what is usual
    assert len(advise(4, few, Training())) == 1
    assert "--set training.clip=5" in advise(4, few, Training.model_validate({"clip": "none"}))[1]


def test_a_run_that_breaks_at_once_is_not_told_to_lower_its_rate():
    (advice,) = advise(1, (), Training())
    assert "not the learning rate" in advice
    assert len(advise(1, (), Training(), unbounded=True)) == 2


def test_a_validation_loss_that_overflowed_has_the_same_keys():
    usual = diagnose(network_of(kind="rnn"), batch_of(), step=1, loss=math.nan, norm=None)
    found = overflowed_on_validation(8, norms=[1.0, 2.0])
    assert set(found) == set(usual)
    assert (found["step"], found["norms"]) == (8, [1.0, 2.0])


@pytest.mark.parametrize(
    ("model", "rate", "gate", "reason"),
    [
        ({"kind": "rnn", "activation": "relu"}, 1e6, None, "the loss passed 10000"),
        ({"kind": "rnn", "activation": "relu"}, 1e20, None, "the forward pass overflowed"),
        ({"kind": "lstm"}, 1e38, "input, forget, candidate, output", "the forward pass overflowed"),
        ({"kind": "gru", "layers": 2}, 1e38, "reset, update, candidate", "the forward pass overflowed"),
    ],
)
def test_runs_that_really_diverge(reviews_csv, tmp_path, model, rate, gate, reason):
    task = Classify(data=str(reviews_csv)).resolve()
    architecture = ARCHITECTURES.parse({"hidden": 8, "pooling": "last", "embedding": {"width": 8}, **model})
    wild = Training.model_validate({"batch_size": 8, "optimizer": "sgd", "clip": "none", "lr": rate})
    outcome = execute(RunSpec(task, architecture, wild, 0), tmp_path, lambda event: None, lambda: False)
    assert isinstance(outcome, Diverged)
    found = outcome.result["divergence"]
    assert (found["step"], found["layer"], found["gate"], found["reason"]) == (2, "encoder.ahead.0", gate, reason)
    assert found["time_step"] is not None
    assert any("--find-lr" in sentence for sentence in found["advice"])


@pytest.mark.parametrize("clip", [None, 0.5, 5.0])
def test_what_is_stored_in_english_is_told_in_chinese(clip: float | None):
    told = advise(9, [1.0] * 20, Training(lr=1e-5, clip=clip), unbounded=True) + advise(1, []) + advise(9, [])
    told += advise(9, [], Training(clip=None))
    told += [overflowed_on_validation(8)["reason"], "the loss passed 10000"]
    for text in told:
        assert retold(text).en == text
        assert not re.search(r"\b(the|a|is|take)\b", retold(text).zh, re.IGNORECASE)
