"""A tagger behind an address: tokens, tags, and entities with their places in the text."""

from pathlib import Path

import pytest
from taggers import train_tagger

from rnnlab.serving.models import open_served


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_tagger(tmp_path_factory.mktemp("served"), "characters", epochs=12)


def test_answers_have_tags_and_entities(run: Path):
    served = open_served("ner", str(run))
    answers, read = served.answer(["王小明在北京大学读书。"])
    assert read == 11
    assert [tag["token"] for tag in answers[0]["tags"]] == list("王小明在北京大学读书。")
    for entity in answers[0]["entities"]:
        assert "王小明在北京大学读书。"[entity["start"] : entity["end"]] == entity["text"]
    assert answers[0]["entities"]


def test_asking_for_an_explanation_is_no_error(run: Path):
    served = open_served("ner", str(run))
    assert served.explain(["王小明在北京大学读书。"])[0] == served.answer(["王小明在北京大学读书。"])[0]
