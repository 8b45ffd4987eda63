"""The file that `rnnlab new` prints."""

import tomllib

from rnnlab.experiment import Training, parse_experiment
from rnnlab.models.base import ARCHITECTURES
from rnnlab.report.template import experiment_file
from rnnlab.tasks.classify import Classify


def test_it_says_the_defaults():
    experiment = parse_experiment(tomllib.loads(experiment_file()))
    assert experiment.task == Classify()
    assert {label: arm.model for label, arm in experiment.arms.items()} == {
        kind: ARCHITECTURES[kind]() for kind in ("lstm", "textcnn")
    }
    assert all(arm.training == Training() for arm in experiment.arms.values())
    assert experiment.seeds == (0, 1, 2)


def test_every_setting_is_in_it():
    text = experiment_file()
    fields = {*Training.model_fields, *Classify.model_fields} - {"fingerprint", "schedule"}
    for name in fields | set(ARCHITECTURES["lstm"].model_fields) | set(ARCHITECTURES["textcnn"].model_fields):
        assert f"\n{name} = " in text or f"\n# {name} = " in text, name
