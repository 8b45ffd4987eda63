"""The lines of ``rnnlab predict``."""

import json

from rnnlab.answers.prediction import Prediction
from rnnlab.show.terminal.predictions import print_predictions


def answer(known: float) -> Prediction:
    return Prediction("好", 0.75, {"好": 0.75, "坏": 0.25}, known)


def test_predictions(capsys):
    print_predictions(["一", "二"], [answer(0.5), answer(0)], as_json=False)
    assert capsys.readouterr().out == "好\t0.750\t一\n好\t0.750\t二  (no word of it is known to the model)\n"
    print_predictions(["一"], [answer(1)], as_json=True)
    line = capsys.readouterr().out
    assert "好" in line
    assert json.loads(line) == {"input": "一", "label": "好", "probabilities": {"好": 0.75, "坏": 0.25}}
