"""Where a network broke: the first layer and time step with a value that isn't finite."""

import torch

from rnnlab.data.batches import Batch
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import build_network
from rnnlab.training.divergence import diagnose


class Head(torch.nn.Linear):
    def forward(self, encoded):  # type: ignore[override]  # a head takes what the encoder made
        return super().forward(encoded.summary)


def test_overflow_in_the_recurrence_is_found_with_its_time_step():
    torch.manual_seed(0)
    model = ARCHITECTURES.parse({"kind": "rnn", "activation": "relu", "hidden": 4})
    network = build_network(model, words=None, features=3, pretrained=None, head=lambda width: Head(width, 2))
    with torch.no_grad():
        for name, weight in network.encoder.named_parameters():
            weight.fill_(1e10 if "weight_hh" in name else 1.0)
    inputs = torch.ones(2, 9, 3)
    batch = Batch(inputs, torch.tensor([9, 5]), torch.tensor([0, 1]))
    states = torch.nn.functional.pad(network.encode(inputs, batch.lengths).states, (0, 0, 0, 0))
    expected = int((~states.isfinite()).any(2).any(0).nonzero()[0])
    found = diagnose(network, batch, step=7, loss=float("nan"), norm=None)
    assert found["time_step"] == expected == 4  # 3e0 · (4e10)^t passes 3.4e38 at t = 4
    assert found["layer"].startswith("encoder.ahead.0")
    assert (found["step"], found["loss"]) == (7, "nan")


def test_a_gradient_that_overflowed_names_its_parameter():
    torch.manual_seed(0)
    model = ARCHITECTURES.parse({"kind": "linear", "hidden": 4})
    network = build_network(model, words=None, features=3, pretrained=None, head=lambda width: Head(width, 2))
    batch = Batch(torch.ones(2, 9, 3), torch.tensor([9, 5]), torch.tensor([0, 1]))
    network(batch.inputs, batch.lengths).sum().backward()
    network.head.weight.grad[0, 0] = float("inf")  # type: ignore[union-attr,index]
    found = diagnose(network, batch, step=1, loss=0.5, norm=float("inf"))
    assert found["layer"] == "head.weight"
    assert found["gradient_norm"] == "inf"
    assert found["time_step"] is None
