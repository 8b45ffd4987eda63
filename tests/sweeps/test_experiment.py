import pytest

from rnnlab.answers.label import Label
from rnnlab.core.errors import ConfigError
from rnnlab.sweeps.experiment import parse_experiment
from rnnlab.tasks.base import TASKS, Task
from rnnlab.tasks.classify import Classify
from rnnlab.training.spec import RunSpec, Schedule, Training, parse_model

GOOD = {
    "seeds": 2,
    "task": {"rows": 100},
    "training": {"epochs": 2},
    "arms": {
        "a": {"model": {"kind": "lstm", "hidden": 8}},
        "b": {"model": {"kind": "textcnn"}, "training": {"lr": 0.1}},
    },
}


def test_arms_times_seeds():
    experiment = parse_experiment(GOOD)
    specs = experiment.specs()
    assert [(label, spec.seed) for label, spec in specs] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert specs[0][1].training.lr == 0.003  # type: ignore[union-attr]
    assert specs[1][1].training.lr == 0.1  # type: ignore[union-attr]
    assert len({spec.digest for _, spec in specs}) == 4


def test_what_arms_share_reaches_into_tables():
    tree = {
        "model": {"embedding": {"dropout": 0.2}},
        "training": {"schedule": {"shape": "step", "gamma": 0.3}},
        "arms": {
            "a": {
                "model": {"kind": "gru", "embedding": {"width": 9}},
                "training": {"schedule": {"every": 2}},
            }
        },
    }
    arm = parse_experiment(tree).arms["a"]
    assert arm.model.embedding is not None
    assert (arm.model.embedding.width, arm.model.embedding.dropout) == (9, 0.2)
    assert (arm.training.schedule.shape, arm.training.schedule.every, arm.training.schedule.gamma) == ("step", 2, 0.3)


def test_all_problems_of_a_file_are_listed():
    tree = {
        "sedes": 3,
        "seeds": 0,
        "task": {"tokeniser": "words"},
        "training": {"lr": -1, "momentum": 0.9},
        "arms": {"a": {"model": {"kind": "lstmm"}}, "b": {"model": {"kind": "gru", "hiden": 3}, "extra": {}}},
    }
    with pytest.raises(ConfigError) as error:
        parse_experiment(tree, "e.toml")
    text = str(error.value)
    for expected in (
        "sedes: unknown key",
        "seeds: ",
        "task.tokeniser: unknown key of 'classify'; did you mean 'tokenizer'?",
        "training.lr: ",
        "arms.a.model.kind: unknown model 'lstmm'; did you mean 'lstm'?",
        "arms.b.model.hiden: unknown key of 'gru'; did you mean 'hidden'?",
        "arms.b.extra: unknown key",
    ):
        assert expected in text, expected


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"optimizer": "adam", "weight_decay": 0.1}, "would ignore 'weight_decay'"),
        ({"momentum": 0.9}, "would ignore 'momentum'"),
        ({"epochs": "none"}, "must end the training"),
        ({"epochs": "none", "minutes": 1, "schedule": "cosine"}, "needs epochs or steps"),
        ({"schedule": {"shape": "constant", "gamma": 0.5}}, "would ignore 'gamma'"),
        ({"schedule": {"shape": "cosine", "every": 2}}, "would ignore 'every'"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(values, complaint):
    with pytest.raises(ValueError, match=complaint):
        Training.model_validate(values)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"data": "reviews", "text": "t"}, "'text' is a setting of a file"),
        ({"data": "x.csv", "rows": 100}, "'rows' is a setting of the embedded reviews"),
        ({"data": "imdb", "group": "id"}, "'group' is a setting of a file"),
    ],
)
def test_data_settings_that_would_be_ignored_are_refused(values, complaint):
    with pytest.raises(ValueError, match=complaint):
        Classify.model_validate(values)


def test_defaults_are_filled_in():
    assert Schedule.model_validate("step").to_dict() == {
        "shape": "step",
        "every": 5,
        "at": None,
        "gamma": 0.5,
        "warmup": None,
    }
    task = Classify().to_dict()
    assert (task["language"], task["rows"], task["data_seed"]) == ("en", 6000, 0)


def test_a_spec_survives_its_dictionary():
    for _, spec in parse_experiment(GOOD).specs():
        assert RunSpec.from_dict(spec.to_dict()) == spec
        assert RunSpec.from_dict(spec.to_dict()).digest == spec.digest


def test_identity_is_the_data_not_its_place():
    model, training = parse_model({"kind": "rnn"}), Training()
    here = RunSpec(Classify(data="a.csv", fingerprint="f" * 32), model, training, 0)
    there = RunSpec(Classify(data="b/a.csv", text="t", fingerprint="f" * 32), model, training, 0)
    other = RunSpec(Classify(data="a.csv", fingerprint="0" * 32), model, training, 0)
    assert here.digest == there.digest != other.digest


# The seed draws the split, too


def test_the_seed_of_a_run_is_its_split_seed():
    specs = parse_experiment(GOOD | {"vary_split": True, "seeds": [4, 7]}).specs()
    splits = [(label, spec.seed, spec.task.to_dict()["split_seed"]) for label, spec in specs]
    assert splits == [("a", 4, 4), ("b", 4, 4), ("a", 7, 7), ("b", 7, 7)]
    assert all(spec.task.to_dict()["data_seed"] == 0 for _, spec in specs)  # the rows stay, their split varies
    usual = parse_experiment(GOOD | {"vary_split": False}).specs()
    assert [spec.digest for _, spec in usual] == [spec.digest for _, spec in parse_experiment(GOOD).specs()]


def test_more_seeds_are_usual_where_the_split_varies():
    tree = {key: value for key, value in GOOD.items() if key != "seeds"}
    assert len(parse_experiment(tree).seeds) == 3
    assert len(parse_experiment(tree | {"vary_split": True}).seeds) == 5
    assert len(parse_experiment(GOOD | {"vary_split": True}).seeds) == 2  # asked for


class Unsplit(Task):
    """A task that doesn't say what draws its test rows."""

    shape = Label()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"vary_split": "yes"}, r"vary_split: must be true or false \(got 'yes'\)"),
        ({"vary_split": 1}, r"vary_split: must be true or false \(got 1\)"),
        ({"vary_splits": True}, "vary_splits: unknown key; did you mean 'vary_split'?"),
        ({"task": {"data": "a.csv", "test": "b.csv"}}, "a file gives the test rows, so no seed .* leave out test, or"),
        ({"task": {"data": "a.csv", "valid": "b.csv"}}, "a file gives the valid rows"),
        ({"task": {"data": "imdb"}}, "'imdb' is published with test rows, so no seed can draw them; leave out vary_"),
        ({"task": {"data": "sst"}}, "'sst' is published with valid and test rows"),
        ({"task": {"split_seed": 0}}, "task.split_seed: with vary_split it is the seed of each run; leave it out"),
        ({"task": {"kind": "parity", "data_seed": 3}}, "task.data_seed: with vary_split"),
        ({"task": {"kind": "unsplit"}}, "no setting of the task 'unsplit' draws the rows that are held out"),
    ],
)
def test_a_split_that_no_seed_can_draw_is_refused(changes, complaint, monkeypatch):
    monkeypatch.setitem(TASKS._classes, "unsplit", Unsplit)
    monkeypatch.setattr(Unsplit, "kind", "unsplit")
    with pytest.raises(ConfigError, match=complaint) as error:
        parse_experiment(GOOD | {"vary_split": True} | changes)
    assert len(str(error.value).splitlines()) == 2  # how many problems, and the one


def test_a_file_whose_splits_are_given_is_fine_without():
    for task in ({"data": "a.csv", "test": "b.csv"}, {"data": "imdb"}, {"split_seed": 3}):
        assert not parse_experiment(GOOD | {"vary_split": False, "task": task}).vary_split


def trained(**tree):
    return parse_experiment({"arms": {"a": {"model": {"kind": "transformer"}}}, **tree}).arms["a"].training


def test_an_architecture_is_trained_as_suits_it_unless_somebody_says_otherwise():
    assert trained().lr == 0.002
    assert trained().schedule.rise == 400
    assert trained(training={"lr": 0.01}).lr == 0.01
    assert trained(training={"lr": 0.01}).schedule.rise == 400
    assert trained(training={"schedule": {"decay": 1.0}}).schedule.rise == 400
    own = {"model": {"kind": "transformer"}, "training": {"lr": 0.02}}
    assert parse_experiment({"training": {"lr": 0.01}, "arms": {"a": own}}).arms["a"].training.lr == 0.02


def test_another_schedule_has_other_settings():
    for given in ("cosine", {"shape": "cosine"}):
        schedule = trained(training={"schedule": given}).schedule
        assert (schedule.shape, schedule.rise) == ("cosine", None)


def test_recurrences_pool_as_suits_the_task():
    def pooling(task, **model):
        tree = {"task": {"kind": task}, "arms": {"a": {"model": {"kind": "gru", **model}}}}
        return parse_experiment(tree).arms["a"].model.to_dict()["pooling"]

    assert pooling("classify") == "max"
    assert pooling("adding") == "last"  # what is still known at the end is the question
    assert pooling("addition") == "last"  # nothing is pooled; runs from before keep their digest
    assert pooling("classify", pooling="last") == "last"


def test_a_transformer_has_the_settings_that_suit_texts_and_made_up_rows_leave_it_alone():
    def settings(task, **model):
        tree = {"task": {"kind": task}, "arms": {"a": {"model": {"kind": "transformer", **model}}}}
        values = parse_experiment(tree).arms["a"].model.to_dict()
        return values["pooling"], values["dropout"]

    assert settings("classify") == ("max", 0.0)
    assert settings("classify", pooling="mean", dropout=0.1) == ("mean", 0.1)
    assert settings("parity") == ("mean", 0.1)
