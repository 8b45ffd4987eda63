"""The model card for people."""

from dataclasses import replace
from typing import Any

import pytest

from rnnlab.answers.calibration import Calibration
from rnnlab.use.card import Card, Interval
from rnnlab.use.card_markdown import card_markdown, packed_lines

DATA: dict[str, Any] = {
    "name": "reviews.csv",
    "fingerprint": "f" * 32,
    "rows": {"train": 7000, "valid": 1000, "test": 400},
    "labels": ["bad|worse", "好"],
    "test_labels": [300, 100],
    "length": {"median": 7.0, "longest": 30},
    "max_length": None,
    "script": "Latin",
    "tokenizer": "words",
    "vocabulary": 1131,
}
SCORES = {"accuracy": 0.8, "macro_f1": 0.75, "loss": 0.5}
CARD = Card(
    model={
        "kind": "gru",
        "parameters": 196_075,
        "seed": 2,
        "measure": "accuracy",
        "score": "accuracy",
        "unit": "percent",
        "task": "classify",
    },
    data=DATA,
    metrics={"valid": SCORES, "test": SCORES | {"confusion": [[270, 30], [50, 50]]}},
    accuracy=Interval(0.8, 0.7613, 0.8387, 1),
    calibration=Calibration(1.234, 1000, 0.0812, 0.0123, 400),
    environment={"rnnlab": "0.1.0", "torch": "2.13.0", "threads": 1},
    intended_use="Gives texts one of 2 labels.",
    limits=("The first.", "The second."),
)


def test_markdown():
    text = card_markdown(CARD, "0123456789abcdef")
    assert text.startswith("# Model card: gru on reviews.csv\n\nGives texts one of 2 labels.\n")
    assert "| run | 0123456789abcdef (seed 2) |" in text
    assert "| parameters | 196 K |" in text
    assert "| test | 80.0 % | 75.0 % | 0.5000 |" in text
    assert "Test: accuracy 80.0 % (95 % interval 76.1–83.9 %, from the test rows of one run)." in text
    assert "| bad\\|worse | 300 | 90.0 % | 84.4 % | 87.1 % |\n| 好 | 100 | 50.0 % | 62.5 % | 55.6 % |" in text
    assert "ECE 8.1 % before, 1.2 % after (temperature 1.23, fitted on 1,000 validation rows" in text
    assert text.endswith("## Limits\n\n- The first.\n- The second.\n")


def test_the_score_that_is_judged_by():
    model = CARD.model | {"measure": "loss", "score": "loss", "unit": "number"}
    metrics = {"valid": SCORES, "test": CARD.metrics["test"] | {"loss_by_class": [0.25, 1.25]}}
    text = card_markdown(replace(CARD, model=model, metrics=metrics, accuracy=Interval(0.5, 0.4, 0.61, 3)), "x")
    assert "Test: loss 0.5000 (95 % interval 0.4000–0.6100, over 3 seeds)." in text
    assert "| label | test rows | recall | precision | F1 | loss |" in text
    assert "| 62.5 % | 55.6 % | 1.2500 |" in text


def test_what_validation_chose():
    card = replace(CARD, model=CARD.model | {"chosen": {"C": 0.3, "ngrams": 2, "loss": "hinge"}})
    assert "| chosen on validation | C 0.3, ngrams 2, loss hinge |" in card_markdown(card, "x")
    assert "chosen on validation" not in card_markdown(CARD, "x")


def test_a_label_without_test_rows_has_no_recall():
    metrics = {"valid": SCORES, "test": SCORES | {"confusion": [[270, 30], [0, 0]]}}
    card = replace(CARD, metrics=metrics, data=DATA | {"test_labels": [300, 0]})
    assert "| 好 | 0 | – | 0.0 % | 0.0 % |" in card_markdown(card, "x")


def test_answers_of_another_kind(tmp_path):
    scores = {"accuracy": 0.8, "loss": 0.5}
    data = {key: value for key, value in DATA.items() if key not in ("test_labels", "script")}
    card = replace(CARD, metrics={"valid": scores, "test": scores}, data=data, calibration=None, accuracy=None)
    text = card_markdown(card, "x")
    assert "recall" not in text
    assert "ECE" not in text
    assert "interval" not in text
    (tmp_path / "model.rnnlab").write_bytes(bytes(8))
    assert list(packed_lines(tmp_path / "model.rnnlab", card, []))[1:3] == ["", "Limits:"]


@pytest.mark.parametrize("commands", [["rnnlab predict m", "rnnlab serve m"], []])
def test_what_pack_says(tmp_path, commands):
    path = tmp_path / "model.rnnlab"
    path.write_bytes(bytes(804_000))
    lines = list(packed_lines(path, replace(CARD, accuracy=Interval(0.8, 0.76, 0.84, 3)), commands))
    assert lines[0] == f"{path}: 804 KB, gru, 196 K parameters, trained on reviews.csv"
    assert lines[1] == "test: accuracy 80.0 % (95 % interval 76.0–84.0 %, over 3 seeds)"
    assert lines[2].startswith("probabilities: ECE 8.1 % before, 1.2 % after")
    assert "- The first." in lines
    assert ("Use it:  rnnlab predict m\n         rnnlab serve m" in lines) == bool(commands)
