"""A file with many mistakes is told of all of them at once: whatever is said of one alone is said beside the others."""

import itertools
import tomllib
from typing import Any

import pytest

from rnnlab.core.config import assign
from rnnlab.core.errors import ConfigError
from rnnlab.core.toml import toml_key, toml_value
from rnnlab.sweeps.experiment import experiment_problems
from rnnlab.sweeps.plan import experiment_tree
from rnnlab.sweeps.sweep_file import check_sweep, read_sweep

EXPERIMENT = """
[task]
data = "reviews"
[model]
embedding = { width = 8 }
[training]
epochs = 2
[arms.lstm.model]
kind = "lstm"
[arms.gru.model]
kind = "gru"
[arms.gru.training]
lr = 0.01
"""
IN_AN_EXPERIMENT: dict[str, Any] = {  # a path, and what is wrong there
    "sead": 1,
    "seeds": 0,
    "match": "paramters",
    "tune": 1,
    "vary_split": "yes",
    "task.tokeniser": "words",
    "task.max_length": -1,
    "model.hidden_size": 8,
    "model.embedding.widht": 8,
    "model.output_dropout": 3,
    "training.learning_rate": 0.1,
    "training.epochs": "ten",
    "training.momentum": 0.9,
    "training.schedule.shape": "cosin",
    "arms.lstm.model.n_layers": 2,
    "arms.lstm.model.dropout": 2,
    "arms.lstm.traning": {},
    "arms.gru.model.kind": "gruu",
    "arms.gru.training.lr": -1,
    "arms.gru.training.bs": 8,
    "arms.cnn": 3,
    "baselines.tfidf.gram": 3,
    "baselines.svm": {},
}
SWEEP = """
name = "s"
repeats = 2
[task]
kind = "addition"
length = 2
[model]
kind = "rnn"
hidden = 4
[training]
steps = 30
[study.rates]
axes = { "training.lr" = [0.01, 0.1], "model.layers" = [1, 2] }
heatmaps = [["training.lr", "model.layers"]]
target = { value = 1.0 }
[study.cells]
training = { steps = 20 }
[study.cells.axes.cell]
rnn = {}
gru = { model = { kind = "gru" } }
"""
IN_A_SWEEP: dict[str, Any] = {
    "sead": 1,
    "quick": 3,
    "task.tokeniser": "words",
    "task.length": 0,
    "model.hidden_size": 4,
    "training.learning_rate": 0.1,
    "training.momentum": 0.9,
    "study.rates.repeatz": 3,
    "study.rates.axes.widths": [],
    "study.rates.heatmaps": [["training.lr", "model.depth"]],
    "study.rates.target.cap": 0,
    "study.cells.strategy": "gird",
    "study.cells.axes.cell.lstm": {"modle.kind": "lstm"},
    "study.cells.training.batch": 8,
    "study.more": 3,
    "claim": [{"id": "a"}],
}


def with_mistakes(text: str, mistakes: dict[str, Any]) -> dict[str, Any]:
    tree = tomllib.loads(text)
    for path, value in mistakes.items():
        assign(tree, path.split("."), value)
    return tree


def to_toml(tree: dict[str, Any]) -> str:
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in tree.items())


def alone(text: str, mistakes: dict[str, Any], listed) -> dict[str, set[str]]:
    return {path: set(listed(with_mistakes(text, {path: value}))) for path, value in mistakes.items()}


def test_an_experiment_file():
    assert experiment_problems(tomllib.loads(EXPERIMENT)) == []
    found = alone(EXPERIMENT, IN_AN_EXPERIMENT, experiment_problems)
    assert all(found.values())
    together = experiment_problems(with_mistakes(EXPERIMENT, IN_AN_EXPERIMENT))
    for path, lines in found.items():
        assert lines <= set(together), path
    assert len(together) == len(set().union(*found.values())) >= len(IN_AN_EXPERIMENT)


def test_two_of_them_are_told_together_whichever_they_are():
    found = alone(EXPERIMENT, IN_AN_EXPERIMENT, experiment_problems)
    for one, other in itertools.combinations(IN_AN_EXPERIMENT, 2):
        both = {one: IN_AN_EXPERIMENT[one], other: IN_AN_EXPERIMENT[other]}
        assert set(experiment_problems(with_mistakes(EXPERIMENT, both))) == found[one] | found[other], (one, other)


@pytest.fixture
def sweep_problems(tmp_path):
    def listed(tree: dict[str, Any]) -> list[str]:
        path = tmp_path / "sweep.toml"
        path.write_text(to_toml(tree), encoding="utf-8")
        try:
            read_sweep(path)
        except ConfigError as error:
            first, *lines = str(error).splitlines()
            assert first == f"{path}: {len(lines)} problem{'s' if len(lines) > 1 else ''}"
            return [line.strip() for line in lines]
        return []

    return listed


def test_a_sweep_file(sweep_problems):
    assert sweep_problems(tomllib.loads(SWEEP)) == []
    found = alone(SWEEP, IN_A_SWEEP, sweep_problems)
    assert all(found.values())
    together = "\n".join(sweep_problems(with_mistakes(SWEEP, IN_A_SWEEP)))
    for path, lines in found.items():
        for line in lines:
            where = line.partition("; ")[0]  # what follows may list the axes that there are
            assert where in together or path == "training.momentum", path
    assert "momentum" not in together  # the axes that can't be read might set another optimizer


def test_check_also_finds_what_is_wrong_with_quick(tmp_path):
    path = tmp_path / "sweep.toml"
    mistakes = {"quick.training.stepz": 10, "quick.repeats": "many", "training.lrr": 1}
    path.write_text(to_toml(with_mistakes(SWEEP, mistakes)), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        check_sweep(path)
    _, *lines = str(caught.value).splitlines()
    assert lines[0] == "  training.lrr: unknown key; did you mean 'lr'?"
    assert all(line.startswith("  with --quick: ") for line in lines[1:])
    assert "stepz: unknown key; did you mean 'steps'?" in str(caught.value)
    assert "repeats" in str(caught.value)


def test_a_mistake_in_what_all_share_is_told_once():
    tree = with_mistakes(EXPERIMENT, {"model.hidden_size": 8, "model.embedding.width": 0, "training.lr": -1})
    assert experiment_problems(tree) == [
        "training.lr: input should be greater than 0 (got -1)",
        "model.hidden_size: unknown key; did you mean 'hidden'?",
        "model.embedding.width: input should be greater than or equal to 1 (got 0)",
    ]


def test_a_rule_between_two_settings_is_told_beside_a_wrong_one():
    """Unless the wrong one decides it: another optimizer may take the momentum."""
    rule = "training: 'lazy-adam' would ignore 'momentum': use sgd"
    tree = with_mistakes(EXPERIMENT, {"training.momentum": 0.9, "training.lr": -1})
    assert rule in experiment_problems(tree)
    tree = with_mistakes(EXPERIMENT, {"training.momentum": 0.9, "training.optimizer": "sdg"})
    assert [line.partition(":")[0] for line in experiment_problems(tree)] == ["training.optimizer"]


def test_unknown_models_are_told_together():
    with pytest.raises(ConfigError) as caught:
        experiment_tree(None, models=["lstm", "grru", "transfomer"])
    assert str(caught.value).splitlines() == [
        "unknown model 'grru'; did you mean 'gru'?",
        "unknown model 'transfomer'; did you mean 'transformer'?",
    ]
    with pytest.raises(ConfigError, match="'tfidf' is a baseline: it runs by itself where it fits, so leave it out"):
        experiment_tree(None, models=["lstm", "tfidf"])
