"""Speed buys no other answer: with dense Adam the losses are those of a plain torch loop on the same batches."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.kernels import switched_off
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import Network
from rnnlab.tasks.classify import Classify
from rnnlab.training.assemble import assemble
from rnnlab.training.batch_loader import BatchLoader
from rnnlab.training.optimizer import Optimizer
from rnnlab.training.spec import RunSpec, Training
from rnnlab.training.update import Updater

STEPS, WIDTH, HIDDEN = 100, 50, 32
LR, CLIP = 0.003, 1.0  # a norm that some of the first hundred gradients exceed
MODULES = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class Plain(nn.Module):
    """What a tutorial would write, begun with the weights of one of our networks."""

    def __init__(self, kind: str, network: Network):
        super().__init__()
        ours: Any = network
        table = ours.embedding.table.detach().clone()
        self.embedding = nn.Embedding(*table.shape, padding_idx=0, _weight=table)
        if kind in MODULES:
            self.recurrent = MODULES[kind](WIDTH, HIDDEN, batch_first=True)
            self.recurrent.load_state_dict(ours.encoder.ahead[0].state_dict())
        else:
            layers = convolutions(ours.encoder.convolution)
            self.reach = [layer.kernel_size[0] - 1 for layer in layers]
            self.convolutions = nn.ModuleList(layers)
        self.head = nn.Linear(*reversed(ours.head.linear.weight.shape))
        self.head.load_state_dict(ours.head.linear.state_dict())

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        x = self.embedding(ids)
        if hasattr(self, "recurrent"):
            states = self.recurrent(x)[0]
            return self.head(states[torch.arange(len(lengths)), lengths - 1])
        real = torch.arange(ids.shape[1]) < lengths[:, None]  # windows that start at a token, (B, T)
        pooled = []
        for convolution, reach in zip(self.convolutions, self.reach, strict=True):
            windows = convolution(F.pad(x.transpose(1, 2), (0, reach))).relu()  # zeros beyond the end
            pooled.append(windows.masked_fill(~real[:, None], -torch.inf).amax(2))
        return self.head(torch.cat(pooled, 1))


def convolutions(windows: Any) -> list[nn.Conv1d]:
    """One layer a width, with our weights: (filters, width · D), a token's numbers side by side."""
    found = []
    for weight, bias in zip(windows.weights, windows.bias.chunk(len(windows.weights)), strict=True):
        convolution = nn.Conv1d(WIDTH, len(weight), weight.shape[1] // WIDTH)
        with torch.no_grad():
            convolution.weight.copy_(weight.unflatten(1, (-1, WIDTH)).transpose(1, 2))
            assert convolution.bias is not None
            convolution.bias.copy_(bias)
        found.append(convolution)
    return found


@pytest.fixture(scope="module")
def task() -> Classify:
    return Classify(data="reviews", rows=600).resolve()


def run_of(task: Classify, kind: str, optimizer: str) -> tuple[RunSpec, EncodedData]:
    sizes = {} if kind == "textcnn" else {"hidden": HIDDEN, "pooling": "last"}
    model = ARCHITECTURES.parse({"kind": kind, "embedding": {"width": WIDTH}, **sizes})
    training = Training.model_validate({"optimizer": optimizer, "batch_size": 16, "lr": LR, "clip": CLIP})
    return RunSpec(task, model, training, 0), task.load()


def our_losses(spec: RunSpec, data: EncodedData, network: Network) -> tuple[list[float], list[float]]:
    """As the training loop has them: losses, and norms before clipping."""
    assert spec.training is not None
    updater = Updater(spec, network, Optimizer(network.train(), spec.training), threads=1)
    loader = BatchLoader(spec, data)
    updates = list(updater.advance([loader.batch(step) for step in range(STEPS)], [LR] * STEPS))
    return [update.loss for update in updates], [update.norm or 0.0 for update in updates]


def plain_losses(spec: RunSpec, data: EncodedData, model: Plain) -> list[float]:
    optimizer, loader = torch.optim.Adam(model.parameters(), lr=LR), BatchLoader(spec, data)
    losses = []
    for step in range(STEPS):
        batch = loader.batch(step)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch.inputs, batch.lengths), batch.targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("path", ["native", "torch"])
@pytest.mark.parametrize("kind", [*MODULES, "textcnn"])
def test_a_hundred_steps_of_dense_adam_have_the_losses_of_a_plain_torch_loop(task, kind, path):
    spec, data = run_of(task, kind, "adam")
    with switched_off() if path == "torch" else nullcontext():
        assert_plain_losses(spec, data, kind)


def assert_plain_losses(spec: RunSpec, data: EncodedData, kind: str) -> None:
    torch.manual_seed(0)
    network = assemble(spec, Preprocessor.of(data))
    plain = Plain(kind, network)
    losses, norms = our_losses(spec, data, network)
    assert losses == pytest.approx(plain_losses(spec, data, plain), abs=1e-4)
    assert max(norms) > CLIP > min(norms)  # both ways of an update were taken
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10])  # and something was learnt


def test_the_tolerance_tells_the_lazy_variant_from_dense_adam(task):
    losses = []
    for optimizer in ("adam", "lazy-adam"):
        spec, data = run_of(task, "gru", optimizer)
        torch.manual_seed(0)
        losses.append(our_losses(spec, data, assemble(spec, Preprocessor.of(data)))[0])
    assert max(abs(one - other) for one, other in zip(*losses, strict=True)) > 1e-3
