"""The tiny trainer against torch's, and the two examples: they learn, in numpy alone."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import rnnlab.reference
from rnnlab.reference.examples import LAYERS, addition, first_and_last, train_addition, train_first_and_last
from rnnlab.reference.linear import IGNORE
from rnnlab.reference.training import Batch, accuracy, adam, clip, norm, sgd

PACKAGE = Path(rnnlab.reference.__file__).parent


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_updates_are_those_of_torch(kind):
    generator = np.random.default_rng(0)
    parameters = {"W": generator.normal(size=(3, 2)), "b": generator.normal(size=3)}
    theirs = {name: torch.tensor(value.copy(), requires_grad=True) for name, value in parameters.items()}
    update = sgd(0.1) if kind == "sgd" else adam(0.1)
    make = torch.optim.SGD if kind == "sgd" else torch.optim.Adam
    optimiser = make(list(theirs.values()), lr=0.1)
    for _ in range(5):
        gradients = {name: generator.normal(size=value.shape) for name, value in parameters.items()}
        update(parameters, gradients)
        for name, gradient in gradients.items():
            theirs[name].grad = torch.tensor(gradient)
        optimiser.step()
    for name, value in parameters.items():
        np.testing.assert_allclose(value, theirs[name].detach().numpy(), rtol=0, atol=1e-14)


def test_clipping_shortens_and_keeps_the_direction():
    gradients = {"W": np.array([[3.0, 0.0]]), "b": np.array([4.0])}
    assert norm(gradients) == 5.0
    clipped = clip(gradients, 1.0)
    np.testing.assert_allclose(clipped["W"], [[0.6, 0.0]])
    np.testing.assert_allclose(clipped["b"], [0.8])
    assert clip(gradients, 6.0)["b"].tolist() == [4.0]
    assert clip({"b": np.zeros(2)}, 1.0)["b"].tolist() == [0.0, 0.0]


def test_accuracy_counts_answers_and_whole_sequences():
    logits = np.eye(3)[[[0, 1], [2, 2]]]  # answers 0 1 and 2 2
    batch = Batch(np.zeros((2, 2, 1)), np.array([2, 1]), np.array([[0, 2], [2, IGNORE]]))
    answers, sequences = accuracy(lambda *_: (logits, lambda d_logits: {}), {}, batch)
    assert (answers, sequences) == (2 / 3, 1 / 2)


def test_sums_are_sums():
    batch = addition(np.random.default_rng(0), 200, digits=6)
    tens = 10 ** np.arange(7)
    numbers = (batch.inputs * tens[:, None]).sum(axis=1)
    assert batch.inputs.shape == (200, 7, 2)
    assert not batch.inputs[:, -1].any()
    np.testing.assert_array_equal((batch.targets * tens).sum(axis=1), numbers.sum(axis=1))
    assert batch.targets[:, -1].max() == 1, "there is a last carry"


def test_the_mini_example_is_the_document_s():
    batch = first_and_last(np.random.default_rng(0), 500)
    assert batch.inputs.shape == (500, 5, 3)
    assert batch.targets.tolist() == [int(x[0, 0] + x[-1, 0] > 0) for x in batch.inputs]
    assert 200 < batch.targets.sum() < 300


@pytest.mark.parametrize("layer", LAYERS)
def test_first_and_last_is_learnt(layer):
    *_, end = train_first_and_last(layer, updates=300)
    assert end.updates == 300
    assert end.answers > 0.9


def test_addition_is_learnt_without_a_mistake():
    progress = list(train_addition("rnn", digits=5))
    assert progress[-1].sequences == 1.0
    assert all(one.sequences < 1.0 for one in progress[:-1]), "then it stops"


@pytest.mark.parametrize("layer", LAYERS)
def test_every_layer_learns_to_carry(layer):
    """Without a memory, whether there is a carry is a guess, and about three digits in five are right."""
    *_, end = train_addition(layer, digits=4, updates=200)
    assert end.answers > 0.95


def test_the_command_line_trains_without_torch():
    """In a process of its own, in which anything but numpy and the standard library can't be imported."""
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "rnnlab"):
            raise ImportError("not allowed: " + name)
        if top == "rnnlab" and not (name == "rnnlab" or name.startswith("rnnlab.reference")):
            raise ImportError("not allowed: " + name)
sys.meta_path.insert(0, Refuse())
sys.argv = ["reference", "addition", "--digits", "10"]
from rnnlab.reference.__main__ import main
main()
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    heading, *lines = done.stdout.splitlines()
    assert heading.split()[:2] == ["updates", "loss"]
    assert lines[0].split()[0] == "100"
    assert lines[-1].split()[2:4] == ["1.0000", "1.0000"]


@pytest.mark.parametrize("arguments", [["addition", "--digits", "0"], ["adition"], []])
def test_a_wrong_command_line_is_refused(arguments):
    command = [sys.executable, "-m", "rnnlab.reference", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_numpy_is_all_that_is_imported():
    allowed = {"numpy", "rnnlab.reference"}
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path.name}: relative import"
                names = [node.module or ""]
            for name in names:
                top = ".".join(name.split(".")[: 2 if name.startswith("rnnlab") else 1])
                assert top in allowed or top in sys.stdlib_module_names, f"{path.name} imports {name}"
