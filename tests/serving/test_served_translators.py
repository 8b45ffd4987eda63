"""A translator behind an address: what it is said to answer, and what it answers."""

import pytest
from serving_process import translating_model

import rnnlab
from rnnlab.serving.models import open_served
from rnnlab.use.card_markdown import card_markdown

TEXT = "we like rain now."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return translating_model(tmp_path_factory.mktemp("served-translator"))


def test_it_is_said_to_translate(run: str):
    served = open_served("zh", run)
    assert served.info["answers"] == "translation"
    assert served.info["labels"] == []
    card = served.info["card"]
    assert card["intended_use"].startswith("Writes a text (Chinese) for a text (Latin), as the pairs of 'pairs.tsv'")
    assert card["model"]["unit"] == "points"


def test_answers_are_texts(run: str):
    (answer,), read = open_served("zh", run).answer([TEXT])
    (told,) = rnnlab.load(run).translate([TEXT])
    assert read == 5
    assert answer["label"] == told.label
    assert answer["probability"] == pytest.approx(told.probability)


def test_its_card_has_plain_numbers_and_signatures(run: str):
    card = rnnlab.load(run).card
    text = card_markdown(card, "1f0c")
    score = card.metrics["test"]["bleu"]
    assert f"| {100 * score:.1f} | {100 * card.metrics['test']['chrf']:.1f} |" in text
    assert f"Test: BLEU {100 * score:.1f} (95 % interval " in text
    assert f"{100 * score:.1f} %" not in text
    assert "`nrefs:1|case:mixed|eff:no|tok:zh|smooth:exp|version:2.6.0`" in text
