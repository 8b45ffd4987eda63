"""An engineer has support tickets: a subject and a body, twelve classes of very uneven sizes."""

import csv
import json
import random
from pathlib import Path

import pytest
from told import run_in, sentences, typed

import rnnlab

TOPICS = {
    "billing": "invoice charge card payment statement fee",
    "login": "password account locked sign token expired",
    "shipping": "parcel courier tracking delayed address box",
    "refund": "refund return money back cancel order",
    "crash": "crash freeze error restart screen blank",
    "install": "install setup driver version package wizard",
    "slow": "slow lag loading minutes waiting timeout",
    "feature": "wish feature request would love option",
    "data": "export import report missing rows csv",
    "email": "newsletter unsubscribe mail inbox spam sender",
    "privacy": "privacy delete personal gdpr consent request",
    "partner": "reseller partner contract quote volume discount",
}
OPENINGS = ["Hello team", "Good morning", "Hi", "To whom it may concern", "Dear support"]
FILLERS = [
    "please advise",
    "thank you for your help",
    "this happens since last week",
    "we are a small company",
    "any news would be great",
]


def write_tickets(path: Path, rows: int) -> None:
    """Of each class about two thirds as many rows as of the one before; the body alone often does not tell."""
    draw = random.Random(5)
    weights = [0.65**number for number in range(len(TOPICS))]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["ticket_id", "created", "subject", "body", "priority", "queue"])
        for number in range(rows):
            queue = draw.choices(list(TOPICS), weights)[0]
            words = TOPICS[queue].split()
            subject = f"{draw.choice(words)} {draw.choice(['problem', 'question', 'issue'])} {draw.choice(words)}"
            told = " ".join(draw.sample(words, 2)) if draw.random() < 0.6 else "see the subject"
            body = f"{draw.choice(OPENINGS)}, {told} {draw.choice(FILLERS)}, {draw.choice(FILLERS)}."
            table.writerow([f"T-{number:05}", f"2026-0{number % 9 + 1}-11", subject, body, draw.choice("123"), queue])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engineer")
    write_tickets(folder / "tickets.csv", 1500)
    return folder


def test_from_the_table_to_the_model_in_use(folder: Path, snapshot):
    looked = typed(folder, "data", "profile", "tickets.csv", "--label", "queue")
    assert "text column 'body'" in looked
    assert sentences(looked) == snapshot(name="a look")
    arms = ("--models", "fasttext", "--seeds", "2", "--text", "subject,body", "--label", "queue")
    plain = typed(folder, "compare", "tickets.csv", *arms)
    assert sentences(plain) == snapshot(name="compare")
    fair = ("--metric", "macro-f1", "--set", "training.class_weights=balanced")
    assert " ".join(fair) in plain.replace("\n", " ")  # the command to type
    compared = typed(folder, "compare", "tickets.csv", *arms, *fair)
    assert "Test macro-F1" in compared
    assert sentences(compared) == snapshot(name="compare by macro-F1")
    model = run_in(compared)
    packed = typed(folder, "pack", model, "-o", "tickets.rnnlab")
    assert sentences(packed) == snapshot(name="pack")
    said = typed(
        folder,
        "predict",
        "tickets.rnnlab",
        json.dumps({"subject": "invoice question fee", "body": "Hi, see the subject."}),
    )
    assert said.startswith("billing")
    found = rnnlab.load(folder / "tickets.rnnlab").predict(
        {"subject": ["parcel issue box"], "body": ["Hi, please advise."]}
    )
    assert found["prediction"] == ["shipping"]
