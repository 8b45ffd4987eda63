"""A model in a file of the user's own: it obeys the laws, it trains in worker processes, it answers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from told import run_here

from rnnlab.answers.heads import SummaryHead
from rnnlab.core.registry import load_plugin
from rnnlab.data.batches import Batch
from rnnlab.inspecting.gates import gate_statistics
from rnnlab.inspecting.gradients import gradients_through_time
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import build_network
from rnnlab.testing import check_architecture
from rnnlab.training.divergence import diagnose

pytestmark = pytest.mark.usefixtures("plugins_are_forgotten")
PLUGIN = Path(__file__).parents[2] / "examples" / "mgu.py"


def test_the_example_obeys_the_laws():
    load_plugin(PLUGIN)
    check_architecture(ARCHITECTURES.parse({"kind": "mgu"}))


def test_whoever_looks_inside_reads_the_step_of_the_example():
    """Gates, gradients and divergence know nothing of the cell but its step."""
    load_plugin(PLUGIN)
    model = ARCHITECTURES.parse({"kind": "mgu", "hidden": 5, "layers": 2, "bidirectional": True, "layer_norm": True})
    network = build_network(model, words=None, features=3, pretrained=None, head=lambda width: SummaryHead(width, 2))
    x, lengths = torch.randn(2, 6, 3), torch.tensor([6, 4])
    for layer in gate_statistics(network, x, lengths):
        assert (layer.kind, [gate.name for gate in layer.gates]) == ("mgu", ["forget"])
        assert layer.kept is not None
        assert 0 < layer.kept < 1
    assert list(gradients_through_time(network, x[:1])[0].spectral_norm) == ["forget", "candidate"]
    with torch.no_grad():
        network.get_parameter("encoder.back.1.bias_ih_l0")[0] = float("inf")
    found = diagnose(network, Batch(x, lengths, torch.tensor([0, 1])), 3, float("nan"), None)
    assert (found["layer"], found["time_step"], found["gate"]) == ("encoder.back.1", 5, "forget")


def test_a_plugin_is_compared_and_asked(reviews_csv, tmp_path):
    """Compared by a process of its own, whose runs are in processes of their own."""
    options = ["--models", "mgu,gru", "--seeds", "2", "--epochs", "2", "--out", str(tmp_path), "--json"]
    command = [sys.executable, "-m", "rnnlab", "compare", str(reviews_csv), *options, "--plugin", str(PLUGIN)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    arm = next(arm for arm in json.loads(done.stdout)["arms"] if arm["label"] == "mgu")
    assert [run["status"] for run in arm["runs"]] == ["finished", "finished"]
    code, out, err = run_here(tmp_path, "predict", arm["runs"][0]["path"], "the great film", "--plugin", str(PLUGIN))
    assert code == 0, err
    assert "the great film" in out
