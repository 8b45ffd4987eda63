"""The range test: problems with known answers, and a real run's batches."""

import json
import math
from pathlib import Path

import pytest
import torch

from rnnlab.core.seeding import generator, stream_seed
from rnnlab.data.batches import buckets, collate
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.kernels import switched_off
from rnnlab.models.base import ARCHITECTURES
from rnnlab.show.terminal.rate_search import HEIGHT, lines, training_command
from rnnlab.tasks.classify import Classify
from rnnlab.training.assemble import assemble
from rnnlab.training.range_test import STEPS, RangeTest, find_trough, raise_rate, range_test, smooth, steepest
from rnnlab.training.spec import RunSpec, Training


class Parabola:
    """L = ½ λ x² by gradient descent: stable up to a rate of 2 / λ, solved in one step at 1 / λ."""

    def __init__(self, curvature: float, noise: float = 0.0):
        self.curvature, self.x = curvature, 1.0
        self.noise, self.random = noise, generator(0, "data")

    def __call__(self, rate: float) -> tuple[float, float]:
        harder = self.noise * self.random.normal()  # of this batch, whatever the network has learnt
        loss = self.curvature * self.x**2 / 2
        self.x -= rate * self.curvature * self.x
        return loss + harder, self.curvature / 2 + harder


@pytest.mark.parametrize("curvature", [0.8, 10.0, 100.0, 3000.0])
def test_the_suggestion_is_right_for_a_parabola(curvature: float):
    found = raise_rate(Parabola(curvature))
    assert found.suggestion is not None
    assert found.trough is not None
    assert 0.03 / curvature < found.suggestion < 0.3 / curvature
    assert found.suggestion < found.trough < 2.5 / curvature  # at the trough it is on the edge already
    if 2 / curvature < 1:
        assert found.exploded
        assert found.rates[-1] > 2 / curvature


def test_batches_that_differ_in_difficulty_don_t_change_the_suggestion():
    still, noisy = raise_rate(Parabola(10.0)), raise_rate(Parabola(10.0, noise=0.5))
    assert noisy.suggestion == still.suggestion
    assert len({round(loss, 6) for loss in noisy.losses[:20]}) == 20


def test_rates_rise_evenly_in_their_logarithm():
    found = raise_rate(lambda rate: (1.0, 1.0))
    assert (len(found.rates), found.exploded) == (STEPS, False)
    assert (found.rates[0], found.rates[-1]) == (pytest.approx(1e-6), pytest.approx(10.0))
    assert found.rates[50] / found.rates[49] == pytest.approx(found.rates[1] / found.rates[0])


def test_without_a_descent_there_is_no_suggestion():
    found = raise_rate(lambda rate: (1.0, 1.0))
    assert (found.suggestion, found.trough) == (None, None)
    assert "The loss never fell" in "\n".join(lines(found, None))
    only_worse = raise_rate(lambda rate: (1.0 + rate, 1.0))
    assert only_worse.suggestion is None


def test_a_network_that_breaks_at_once_has_no_curve():
    found = raise_rate(lambda rate: (math.inf, 1.0))
    assert found == RangeTest((), (), (), True, None, None)
    assert lines(found, None)[0].startswith("The first batch broke the network")


def test_it_stops_when_the_loss_explodes_and_not_because_a_tiny_loss_quadruples():
    blown = iter([1.0] * 40 + [0.5] * 20 + [9.0] * 100)
    assert len(raise_rate(lambda rate: (next(blown), 1.0)).rates) < 66
    tiny = iter([1.0] * 40 + [0.001] * 40 + [0.1] * 70)
    assert not raise_rate(lambda rate: (next(tiny), 1.0)).exploded


def test_the_first_trough_counts():
    """A second descent, deeper and at a far higher rate, comes after the network was thrown out of the first."""
    curve = [1.0] * 10 + [0.95, 0.8, 0.7, 0.8, 0.95] + [0.6, 0.4, 0.2, 1.0]
    assert find_trough(curve) == 12
    assert steepest(curve, 12) in (10, 11)
    shallow = [1.0, 0.97, 0.99, 0.9, 0.8]  # a dent on the way down is no trough
    assert find_trough(shallow) == 4


def test_smoothing_keeps_a_line_and_has_no_lag():
    line = [float(n) for n in range(30)]
    assert smooth(line)[5:-5] == pytest.approx(line[5:-5])
    bump = [0.0] * 10 + [1.0] + [0.0] * 10
    assert smooth(bump).index(max(smooth(bump))) == 10


@pytest.fixture
def spec(reviews_csv: Path) -> RunSpec:
    task = Classify(data=str(reviews_csv)).resolve()
    model = ARCHITECTURES.parse({"kind": "gru", "hidden": 8, "output_dropout": 0.2, "embedding": {"width": 8}})
    return RunSpec(task, model, Training(batch_size=8, device="cpu"), 3)


def test_it_depends_on_the_spec_alone_and_leaves_the_world_as_it_was(spec: RunSpec, tmp_path: Path):
    data = spec.task.load()
    torch.manual_seed(5)
    state, threads, files = torch.get_rng_state(), torch.get_num_threads(), sorted(tmp_path.rglob("*"))
    first = range_test(spec, data)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert sorted(tmp_path.rglob("*")) == files
    torch.manual_seed(99)
    assert range_test(spec, data) == first
    assert first.suggestion is not None
    assert 1e-3 < first.suggestion < 1
    assert json.loads(json.dumps(first.to_dict(), allow_nan=False))["suggestion"] == first.suggestion


def test_it_begins_with_the_network_and_the_batches_of_the_run(spec: RunSpec):
    data = spec.task.load()
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(spec.seed, "init"))
        network = assemble(spec, Preprocessor.of(data)).train()
        torch.manual_seed(stream_seed(spec.seed, "dropout"))
        expected = []
        for rows in (rows for epoch in (0, 1) for rows in buckets(data.train.lengths, 8, spec.seed, epoch)):
            batch = collate(data.train, rows)
            expected.append(spec.task.answer.loss(network(batch.inputs, batch.lengths), batch).item())
    assert len(expected) == 12  # 42 rows
    with switched_off():  # native code drops other numbers
        found = range_test(spec, data)
    assert found.losses[0] == pytest.approx(expected[0])
    assert found.losses[: len(expected)] == pytest.approx(expected, abs=1e-3)  # rates of 1e-6 hardly change a thing


def test_optimizer_and_clipping_are_those_of_the_run(spec: RunSpec):
    data = spec.task.load()

    def losses(**training: object) -> tuple[float, ...]:
        settings = {"batch_size": 8, "device": "cpu", **training}
        return range_test(RunSpec(spec.task, spec.model, Training.model_validate(settings), 3), data).losses

    usual = losses(optimizer="sgd")
    assert losses(optimizer="sgd", clip=1e-3) != usual
    assert losses() != usual
    assert losses(optimizer="sgd", schedule="cosine", epochs=1) == usual


def test_the_curve_fits_80_columns_and_marks_the_suggestion():
    found = raise_rate(Parabola(10.0))
    shown = lines(found, "rnnlab train --set training.lr=1")
    assert max(map(len, shown[: HEIGHT + 3])) <= 80
    mark = shown[HEIGHT + 2].index("▲")
    scale = shown[HEIGHT + 1]
    assert scale.index("1e-3") <= mark <= scale.index("1e-1")  # 0.1 / 10
    assert shown[-1] == "Train with it:  rnnlab train --set training.lr=1"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["train", "--find-lr"], "rnnlab train --set training.lr=0.0079"),
        (["train", "a b.csv", "--json", "--find-lr"], "rnnlab train 'a b.csv' --set training.lr=0.0079"),
        (["train", "--find-lr", "--", "-x.csv"], "rnnlab train --set training.lr=0.0079 -- -x.csv"),
    ],
)
def test_the_command_to_follow(arguments: list[str], expected: str):
    assert training_command(arguments, 0.0079) == expected
