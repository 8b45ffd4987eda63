"""What a run computes doesn't change unnoticed (`regenerate.py` beside this file makes the numbers)."""

import json

import pytest
from regenerate import LOSSES, kinds, short_run

GOLDEN = json.loads(LOSSES.read_text())


def test_every_model_has_its_numbers():
    assert sorted(GOLDEN) == kinds()


@pytest.mark.parametrize("kind", GOLDEN)
def test_losses_are_as_recorded(kind, tmp_path):
    found = short_run(kind, tmp_path)
    for name, values in GOLDEN[kind].items():
        assert found[name] == pytest.approx(values, rel=1e-4), name
