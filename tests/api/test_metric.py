"""The score that a user chooses rules epochs, trials and the verdict; classes may be balanced."""

import random
from pathlib import Path

import pytest

import rnnlab
from rnnlab.answers.label import Label
from rnnlab.core.errors import ConfigError
from rnnlab.models.baselines import TfIdf
from rnnlab.models.nbsvm import NbSvm
from rnnlab.sweeps.execution import baseline_specs
from rnnlab.sweeps.experiment import parse_experiment
from rnnlab.tasks.classify import Classify
from rnnlab.tasks.synthetic import Adding
from rnnlab.training.spec import RunSpec, Training

WORDS = [f"word{number}" for number in range(60)]


def out_of_balance(path: Path, rows: int = 2008) -> str:
    """250 rows to 1: what makes a row rare is that most of its words are of the last ten."""
    draw = random.Random(0)
    lines = ["text,label"]
    for number in range(rows):
        rare = number % 251 == 0
        told = [draw.choice(WORDS[-10:] if rare and draw.random() < 0.5 else WORDS) for _ in range(12)]
        lines.append(f"{' '.join(told)},{'rare' if rare else 'common'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_the_metric_is_part_of_a_run_where_it_changes_something():
    def digest(**settings: str) -> str:
        task = Classify(rows=100, **settings).replace(fingerprint="f")  # type: ignore[arg-type]
        return RunSpec(
            task, parse_experiment({"arms": {"a": {"model": {"kind": "gru"}}}}).arms["a"].model, Training(), 0
        ).digest

    assert digest() == digest(metric="accuracy")  # as if nobody had said it
    assert len({digest(), digest(metric="macro-f1"), digest(metric="log-loss")}) == 3
    assert Classify(metric="Macro_F1").metric == "macro-f1"


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"metric": "macro-f2"}, "task: no score of 'classify' is called 'macro-f2'; did you mean 'macro-f1'?"),
        ({"metric": "bleu"}, "known: accuracy, macro-f1, log-loss, balanced-accuracy"),
        ({"kind": "adding", "metric": "macro-f1"}, "no score of 'adding' is called 'macro-f1'"),
    ],
)
def test_a_metric_that_there_is_not(task: dict, said: str):
    with pytest.raises(ConfigError, match=said.replace("?", r"\?")):
        parse_experiment({"task": task, "arms": {"a": {"model": {"kind": "gru"}}}})


def test_weights_where_there_are_no_classes_are_refused():
    tree = {
        "task": {"kind": "adding"},
        "arms": {"a": {"model": {"kind": "gru"}}},
        "training": {"class_weights": "balanced"},
    }
    with pytest.raises(ConfigError, match="'adding' has no rows of classes to be balanced"):
        parse_experiment(tree)
    assert Adding().answer.balances is False
    assert Label().balances


def test_classes_are_balanced_in_all_arms_or_in_none(tmp_path: Path):
    tree = {
        "task": {"data": out_of_balance(tmp_path / "t.csv")},
        "arms": {"a": {"model": {"kind": "gru"}}},
        "training": {"class_weights": "balanced"},
        "baselines": {"tfidf": {"C": 2.0}, "nbsvm": {"class_weights": "none"}},
    }
    experiment = parse_experiment(tree)
    models = {label: spec.model for label, spec in baseline_specs(experiment, experiment.task.encoded())}
    assert experiment.arms["a"].training.class_weights == "balanced"
    assert isinstance(models["tfidf"], TfIdf)
    assert (models["tfidf"].C, models["tfidf"].class_weights) == (2.0, "balanced")
    assert isinstance(models["nbsvm"], NbSvm)
    assert models["nbsvm"].class_weights is None  # the user said so


def test_balance_raises_macro_f1_and_the_verdict_goes_by_it(tmp_path: Path):
    """250 to 1: by accuracy, whoever answers the common class to everything is as good as any."""
    data, arms = out_of_balance(tmp_path / "t.csv", 6024), {"models": ["fasttext"], "seeds": 2, "out": str(tmp_path)}
    plain = rnnlab.compare(data, **arms)
    fair = rnnlab.compare(data, **arms, task={"metric": "macro-f1"}, training={"class_weights": "balanced"})
    assert (plain.verdict.metric, fair.verdict.metric) == ("accuracy", "macro-F1")
    assert fair.beside.name == "accuracy"
    assert (plain.verdict.recommended, fair.verdict.recommended) == ("majority", "fasttext")
    before, after = (one.arms[0] for one in (plain, fair))
    assert after.scores["macro_f1"] > before.scores["macro_f1"] + 0.05
    assert after.score is not None
    assert after.score.mean == pytest.approx(after.scores["macro_f1"])
    assert after.score.low < after.score.mean < after.score.high


def test_every_score_of_labels_can_be_judged_by(tmp_path: Path):
    data = out_of_balance(tmp_path / "t.csv")
    for metric, title in (("balanced-accuracy", "balanced accuracy"), ("log-loss", "loss")):
        found = rnnlab.compare(
            data, models=["fasttext"], seeds=2, training={"epochs": 3}, out=str(tmp_path), task={"metric": metric}
        )
        assert found.verdict.metric == title
        assert found.verdict.lower_is_better == (metric == "log-loss")
        best = (min if metric == "log-loss" else max)(found.verdict.estimates.values(), key=lambda one: one.mean)
        assert found.ranking[0].score is not None
        assert found.ranking[0].score.mean == pytest.approx(best.mean)
