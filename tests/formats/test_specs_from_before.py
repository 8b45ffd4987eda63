"""Defaults may change; what the documents' experiments ask for may not: their finished runs would not be found again.

`experiments-v1.json` holds the digests from before pooling by `max`, the plateau schedule and dropout became the
defaults.
"""

import json
from pathlib import Path

import pytest

from rnnlab.core.config import digest_of, read_toml
from rnnlab.models.baselines import BASELINES
from rnnlab.sweeps.axes import grid
from rnnlab.sweeps.experiment import Experiment, filled_in, parse_experiment
from rnnlab.sweeps.plan import is_sweep
from rnnlab.sweeps.sweep_file import POINT, axes_of, point_tree, read_sweep

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
BEFORE = json.loads((Path(__file__).parent / "experiments-v1.json").read_text())


def settings_of(experiment: Experiment) -> list:
    """Of every arm, with what planning fills in for text. (Where rows are numbers it fills in nothing; here that
    changes no digest, since it is done for all.)"""
    models = [filled_in(arm.model, experiment.task, text=True) for arm in experiment.arms.values()]
    completed = [model.replace(embedding=model.embedding_or_usual()) for model in models]
    return [[model, arm.training] for model, arm in zip(completed, experiment.arms.values(), strict=True)]


def digests(name: str) -> dict[str, str]:
    """Of a file: for every study, whole and quick, a digest of the settings of all its points."""
    file = EXPERIMENTS / name
    tree = read_toml(file)
    if not is_sweep(tree):
        return {"arms": digest_of(settings_of(parse_experiment(tree)))}
    found = {}
    for quick in (False, True):
        for study, settings in read_sweep(file, quick=quick).studies.items():
            points = []
            for _, changes in grid(axes_of(settings)):
                point = point_tree(settings, changes)
                if point["arms"][POINT]["model"]["kind"] not in BASELINES.names():
                    points += settings_of(parse_experiment(point))
            found[f"{study}, quick" if quick else study] = digest_of(points)
    return found


@pytest.mark.parametrize("name", BEFORE)
def test_what_the_documents_ask_for_is_what_it_was(name):
    assert digests(name) == BEFORE[name]


if __name__ == "__main__":
    print(json.dumps({name: digests(name) for name in sorted(BEFORE)}, indent=1))
