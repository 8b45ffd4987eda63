"""The file that `rnnlab new` prints."""

import tomllib

from rnnlab.models.base import ARCHITECTURES
from rnnlab.show.template import experiment_file
from rnnlab.sweeps.experiment import parse_experiment
from rnnlab.tasks.classify import Classify
from rnnlab.training.spec import Training


def test_it_says_the_defaults():
    experiment = parse_experiment(tomllib.loads(experiment_file()))
    assert experiment.task == Classify()
    assert {label: arm.model for label, arm in experiment.arms.items()} == {
        kind: ARCHITECTURES[kind]() for kind in ("lstm", "textcnn")
    }
    assert all(arm.training == Training() for arm in experiment.arms.values())
    assert experiment.seeds == (0, 1, 2)


def test_lines_that_are_not_in_force_can_be():
    text = experiment_file()
    for name, value in (("vary_split", True), ("match", "parameters")):
        taken = text.replace(f"# {name} = ", f"{name} = ")
        assert taken != text
        assert tomllib.loads(taken)[name] == value
        parse_experiment(tomllib.loads(taken.replace("\nsplit_seed = ", "\n# split_seed = ")))


def test_every_setting_is_in_it_and_in_force_if_it_has_a_value():
    text = experiment_file()
    for config in (Classify(), Training(), ARCHITECTURES["lstm"](), ARCHITECTURES["textcnn"]()):
        for name, value in config.to_dict().items():
            if name not in ("fingerprint", "schedule", "monitor"):
                assert (f"\n# {name} = " if value is None else f"\n{name} = ") in text, name
