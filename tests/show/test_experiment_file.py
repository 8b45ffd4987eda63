"""The file that repeats a comparison: planned again, it asks for the same runs."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rnnlab.api.compare import prepare
from rnnlab.core.registry import load_plugin
from rnnlab.core.toml import toml_key, toml_value
from rnnlab.show.experiment_file import experiment_file
from rnnlab.sweeps.execution import baseline_specs
from rnnlab.sweeps.experiment import Experiment
from rnnlab.sweeps.plan import plan

PLUGIN = Path(__file__).parents[2] / "examples" / "mgu.py"


def recorded(experiment: Experiment) -> list[tuple[str, dict[str, Any]]]:
    """As the run directories have it, after a way through JSON."""
    return [(label, json.loads(json.dumps(spec.to_dict()))) for label, spec in experiment.specs()]


def digests(experiment: Experiment) -> set[tuple[str, int, str]]:
    return {(label, spec.seed, spec.digest) for label, spec in experiment.specs()}


@pytest.fixture
def repeated(tmp_path):
    """Plans a tree, writes the file of its runs, and plans that; (the text, what it says)."""

    def repeat(tree: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        first, _ = plan(tree)
        text = experiment_file("it", recorded(first))
        assert text is not None
        file = tmp_path / "again.toml"
        file.write_text(text, encoding="utf-8")
        second, _ = prepare(file)
        assert digests(second) == digests(first)
        return text, tomllib.loads(text)

    return repeat


def test_only_what_differs_from_the_defaults_is_said(repeated, reviews_csv):
    arms = {"lstm": {"model": {"kind": "lstm"}}, "bigru": {"model": {"kind": "gru", "bidirectional": True}}}
    text, said = repeated({"task": {"data": str(reviews_csv)}, "arms": arms, "training": {"epochs": 4}})
    assert said == {
        "name": "it",
        "seeds": 3,
        "task": {"kind": "classify", "data": str(reviews_csv), "tokenizer": "words"},
        "training": {"epochs": 4, "device": "cpu"},
        "arms": arms,
    }
    assert '\n[arms.bigru.model]\nkind = "gru"\nbidirectional = true\n' in text


def test_settings_of_many_kinds(repeated, reviews_csv):
    arms = {
        "rnn": {"model": {"kind": "rnn", "activation": "relu", "pooling": "mean", "output_dropout": 0.25}},
        "lstm": {"model": {"kind": "lstm", "layers": 2, "dropout": 0.1, "embedding": {"width": 7, "dropout": 0.5}}},
        "gru": {"model": {"kind": "gru", "hidden": 12, "pooling": "first+last", "embedding": {"spread": 1.0}}},
        "textcnn": {"model": {"kind": "textcnn", "widths": [2, 3], "filters": 5}},
        "transformer": {"model": {"kind": "transformer", "width": 16, "heads": 2, "positions": "learned"}},
        "fasttext": {"model": {"kind": "fasttext", "buckets": 50}},
        "cnn2": {"model": {"kind": "cnn2", "embedding": {"channels": "random"}}},
        "linear": {"model": {"kind": "linear"}},
    }
    arms["transformer"]["model"]["max_length"] = 20
    task = {"data": str(reviews_csv), "tokenizer": "chars", "min_count": 2, "max_length": 20, "split_seed": 4}
    _, said = repeated({"task": task, "arms": arms, "seeds": [3, 1]})
    assert said["seeds"] == [1, 3]
    assert said["arms"] == arms
    assert said["task"] == {"kind": "classify", **task}


def test_better_values_of_later_settings_are_filled_in_and_others_said(repeated, reviews_csv):
    arms = {
        "usual": {"model": {"kind": "fasttext", "buckets": 50}},
        "before": {"model": {"kind": "fasttext", "buckets": 50, "ends": False, "hashing": "linear"}},
        "wide": {"model": {"kind": "fasttext", "buckets": 50, "embedding": {"width": 50}}},
    }
    _, said = repeated({"task": {"data": str(reviews_csv)}, "arms": arms, "seeds": 1})
    assert said["arms"] == arms


def test_how_each_arm_is_trained(repeated, reviews_csv):
    plain = {"model": {"kind": "linear", "hidden": 4}}
    training = {
        "nothing ends it but time": {"epochs": "none", "minutes": 0.5, "patience": "none"},
        "unclipped": {"clip": "none", "optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.0},
        "step": {"schedule": {"shape": "step"}},
        "multi-step": {"schedule": {"shape": "multi-step", "at": [2, 4, 6], "gamma": 0.1}},
        "one-cycle": {"schedule": {"shape": "one-cycle", "warmup": 0.0}, "steps": 40, "lr": 1e-05},
        "watched": {"monitor": {"gradients": True}, "until": 0.9, "batch_size": 8},
        "usual": {},
    }
    arms = {label: {**plain, "training": own} for label, own in training.items()}
    _, said = repeated({"task": {"data": str(reviews_csv)}, "arms": arms, "training": {"threads": 2}, "seeds": 1})
    assert said["training"] == {"device": "cpu", "threads": 2}
    assert {label: arm.get("training", {}) for label, arm in said["arms"].items()} == training


def test_what_arms_share_stands_by_itself_only_where_it_can(repeated, reviews_csv):
    """weight_decay without an optimiser that has one would be refused."""
    arms = {
        name: {"model": {"kind": "linear"}, "training": {"optimizer": name, "weight_decay": 0.1}}
        for name in ("adamw", "sgd")
    }
    _, said = repeated({"task": {"data": str(reviews_csv)}, "arms": arms})
    assert "training" not in said
    assert said["arms"]["sgd"]["training"] == {"optimizer": "sgd", "weight_decay": 0.1, "device": "cpu"}


def test_vectors(repeated, reviews_csv, tmp_path):
    vectors = tmp_path / "vectors.txt"
    rows = [
        f"{word} {' '.join(f'{(n + k) % 5 - 2:.1f}' for k in range(6))}" for n, word in enumerate(["film", "great"])
    ]
    vectors.write_text("\n".join(rows) + "\n", encoding="utf-8")
    arms = {
        "chosen": {"model": {"kind": "gru", "embedding": {"vectors": str(vectors)}}},
        "frozen": {"model": {"kind": "gru", "embedding": {"vectors": str(vectors), "channels": "frozen"}}},
        "two": {"model": {"kind": "cnn2", "embedding": {"vectors": str(vectors)}}},
        "two, wider": {"model": {"kind": "cnn2", "embedding": {"vectors": str(vectors), "width": 50, "spread": 0.5}}},
        "none": {"model": {"kind": "gru"}},
    }
    _, said = repeated({"task": {"data": str(reviews_csv)}, "arms": arms})
    embeddings = {label: arm["model"].get("embedding") for label, arm in said["arms"].items()}
    common = {"vectors": str(vectors)}
    assert embeddings == {
        "chosen": {"width": 6, "channels": "tuned", **common},
        "frozen": {"width": 6, "channels": "frozen", **common},
        "two": {"width": 6, "channels": "two", **common},
        "two, wider": {"width": 50, "channels": "two", "spread": 0.5, **common},
        "none": None,
    }


def test_labels_and_names_are_anything(repeated, reviews_csv):
    labels = ['my "best" model', "长短期记忆", "a.b", "", "back\\slash", "new\nline", "\x7f\x01 # [x]", "plain-1_2"]
    arms = {label: {"model": {"kind": "linear", "hidden": n + 1}} for n, label in enumerate(labels)}
    text, said = repeated({"task": {"data": str(reviews_csv)}, "arms": arms})
    assert list(said["arms"]) == labels
    assert "[arms.长短期记忆.model]" not in text  # TOML wants quotes
    assert '[arms."长短期记忆".model]' in text
    assert tomllib.loads(experiment_file('评 "x"\n', recorded(plan({"arms": arms})[0])) or "")["name"] == '评 "x"\n'


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ({"rows": 200}, {"data": "reviews", "tokenizer": "words", "rows": 200}),
        (
            {"language": "zh", "rows": 300, "data_seed": 5, "tokenizer": "chars", "sample": 100},
            {"data": "reviews", "language": "zh", "rows": 300, "data_seed": 5, "tokenizer": "chars", "sample": 100},
        ),
        ({"kind": "first-last", "rows": 100, "length": 9, "shortest": 3}, {"rows": 100, "length": 9, "shortest": 3}),
        ({"kind": "addition", "length": 3, "test_carries": "long"}, {"length": 3, "test_carries": "long"}),
    ],
)
def test_tasks(repeated, task, expected):
    tree = {"task": task, "arms": {"a": {"model": {"kind": "rnn"}}}}
    _, said = repeated(tree)
    assert said["task"] == {"kind": task.get("kind", "classify"), **expected}
    assert said["training"] == {"device": "cpu"}


@pytest.mark.parametrize("kind", ["addition", "parity"])
def test_arms_of_equal_time(repeated, kind):
    """Nothing but the minutes ends a run: where the task has a number of steps of its own, only `match` can say so."""
    arms = {"a": {"model": {"kind": "rnn"}}, "b": {"model": {"kind": "gru"}}}
    tree = {"task": {"kind": kind}, "arms": arms, "training": {"minutes": 0.25}, "match": "seconds"}
    _, said = repeated(tree)
    assert said.get("match") == ("seconds" if kind == "addition" else None)
    assert said["training"]["minutes"] == 0.25


def test_matched_sizes_are_said_as_they_were_found(repeated):
    arms = {"rnn": {"model": {"kind": "rnn"}}, "lstm": {"model": {"kind": "lstm"}}}
    _, said = repeated({"task": {"rows": 200}, "arms": arms, "match": "parameters"})
    assert "match" not in said
    assert {"hidden"} <= said["arms"]["lstm"]["model"].keys() | said["arms"]["rnn"]["model"].keys()


def test_seeds_that_not_every_arm_has(reviews_csv):
    tree = {"task": {"data": str(reviews_csv)}, "arms": {x: {"model": {"kind": x}} for x in ("rnn", "gru")}, "seeds": 3}
    runs = recorded(plan(tree)[0])
    whole = experiment_file("", runs)
    part = experiment_file("", [run for run in runs if run[0] == "rnn" or run[1]["seed"] != 1])
    assert whole is not None
    assert part is not None
    assert tomllib.loads(whole) == tomllib.loads(part)
    assert "name" not in tomllib.loads(whole)
    assert "# Not every arm" in part
    assert "# Not every arm" not in whole


@pytest.mark.parametrize(
    ("task", "drawn_by"), [({"kind": "classify", "rows": 200}, "split_seed"), ({"kind": "parity"}, "data_seed")]
)
def test_a_split_for_each_seed(repeated, task, drawn_by):
    arms = {kind: {"model": {"kind": kind, "hidden": 3}} for kind in ("rnn", "gru")}
    _, said = repeated({"task": task, "arms": arms, "vary_split": True, "seeds": [4, 2]})
    assert (said["vary_split"], said["seeds"]) == (True, [2, 4])
    assert drawn_by not in said["task"]
    _, plain = repeated({"task": task, "arms": arms, "seeds": [4, 2]})
    assert "vary_split" not in plain


def test_splits_that_the_seed_does_not_draw():
    """Of such runs no file says that they belong together."""
    tree = {"arms": {"rnn": {"model": {"kind": "rnn"}}}, "vary_split": True, "seeds": 2}
    first, second = recorded(plan({**tree, "task": {"rows": 200}})[0])
    assert experiment_file("", [first, second]) is not None
    label, spec = second
    swapped = {**spec, "seed": 7}
    assert experiment_file("", [first, (label, swapped)]) is None
    smaller = recorded(plan({**tree, "task": {"rows": 300}})[0])[1]
    assert experiment_file("", [first, smaller]) is None
    other_task = recorded(plan({**tree, "task": {"kind": "parity"}})[0])[1]
    assert experiment_file("", [first, other_task]) is None


def test_baselines_are_left_out():
    experiment, data = plan({"task": {"rows": 200}, "arms": {"rnn": {"model": {"kind": "rnn"}}}})
    baselines = [(label, spec.to_dict()) for label, spec in baseline_specs(experiment, data)]
    assert len(baselines) == 3
    assert experiment_file("", baselines + recorded(experiment)) == experiment_file("", recorded(experiment))
    assert experiment_file("", baselines) is None


def test_what_no_file_can_say(reviews_csv):
    def runs(label: str = "a", **changes: Any) -> list[tuple[str, dict[str, Any]]]:
        tree = {"task": {"data": str(reviews_csv)}, "arms": {label: {"model": {"kind": "rnn"}}}, "seeds": 1}
        return recorded(plan(tree | changes)[0])

    assert experiment_file("", runs()) is not None
    assert experiment_file("", []) is None
    other_data = runs("b", task={"data": str(reviews_csv), "split_seed": 1})
    assert experiment_file("", runs() + other_data) is None
    other_model = runs(arms={"a": {"model": {"kind": "rnn", "hidden": 3}}})
    assert experiment_file("", runs() + other_model) is None
    ((label, spec),) = runs()
    unknown = {**spec, "model": {**spec["model"], "kind": "of a plugin that isn't here"}}
    assert experiment_file("", [(label, unknown)]) is None
    no_text = {**spec, "task": {**spec["task"], "data": "caf\udce9.csv"}}
    assert experiment_file("", [(label, no_text)]) is None


def test_an_endless_task_evaluated_at_its_own_rhythm_only():
    """eval_every = None can be asked for in Python alone: TOML has no word for it."""
    tree = {"task": {"kind": "addition"}, "arms": {"rnn": {"model": {"kind": "rnn"}}}, "training": {"eval_every": None}}
    assert experiment_file("", recorded(plan(tree)[0])) is None


@pytest.mark.usefixtures("plugins_are_forgotten")
def test_a_plugin_is_not_in_a_file():
    load_plugin(PLUGIN)
    tree = {"task": {"rows": 200}, "arms": {"a": {"model": {"kind": "mgu"}}}}
    assert experiment_file("", recorded(plan(tree)[0])) is None


@pytest.mark.parametrize(
    "value", ["a\x7fb\x00\t\"'\\\n", "中文 😀", 1e-5, 1e300, 0.1, 3, True, [1, "a"], (), {"a b": {"c": [1.5]}}]
)
def test_values_and_keys_come_back(value):
    back = tomllib.loads(f"v = {toml_value(value)}")["v"]
    assert back == (list(value) if isinstance(value, tuple) else value)
    assert tomllib.loads(f"{toml_key(str(value))} = 1") == {str(value): 1}
