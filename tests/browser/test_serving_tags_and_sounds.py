"""The page of `rnnlab serve` for taggers, and for models that hear recordings."""

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import DESK, PHONE, axe, each_value, overflowing
from taggers import train_tagger
from visiting import ask, serving_process, shown
from waves import folder_of_tones, wav

import rnnlab

CHINESE = "😀王小明在\n北京大学读书。 李红在南海大学教书。"
ENGLISH = "the cat  saw A zyxw😀\nthe dog ran"
NASTY = "<img src=x onerror='window.hacked=1'> 王小明 & 在北京大学读书"


@pytest.fixture(scope="module")
def tones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_tones(tmp_path_factory.mktemp("tones"), 2, 3, 6)


@pytest.fixture(scope="module")
def server(tones: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    entities = train_tagger(tmp_path_factory.mktemp("entities"), "characters", epochs=12)
    words = train_tagger(tmp_path_factory.mktemp("words"), "words", "bilstm")
    folder = tmp_path_factory.mktemp("hearing")
    task = {"pattern": "{label}_{speaker}_{n}.wav"}
    hears = rnnlab.train(tones, model="textcnn", task=task, training={"epochs": 4}, out=folder).path
    models = (f"entities={entities}", f"words={words}", f"tones={hears}")
    with serving_process.serving(*models, folder=folder) as started:
        yield started


def tagged(page: Any) -> list[list[str]]:
    """What is marked, and as what; and all of it together is the text."""
    marked = page.locator("#tagged .token").all()
    return [[one.locator(".form").inner_text(), one.locator(".tag").inner_text()] for one in marked]


def plain(page: Any) -> str:
    """The text on the page without its tags."""
    return page.evaluate("""() => {
      const copy = document.getElementById("tagged").cloneNode(true);
      copy.querySelectorAll(".tag").forEach((tag) => tag.remove());
      return copy.textContent;
    }""")


@pytest.mark.parametrize("text", [CHINESE, NASTY])
def test_entities_are_marked_where_they_stand(visit, server, text):
    page = visit(server)
    ask(page, text)
    (said,) = server.predict(model="entities", text=text).json()["predictions"]
    assert said["entities"]
    assert tagged(page) == [[one["text"], one["type"]] for one in said["entities"]]
    assert plain(page) == text
    assert page.evaluate("window.hacked") is None
    assert visit.asked[-1] == {"model": "entities", "text": text, "explain": False}
    assert f"{len(said['entities'])} entit" in page.locator("#label").inner_text()
    assert page.locator("#bars, #reasons").locator("visible=true").count() == 0
    counts = {kind: sum(one["type"] == kind for one in said["entities"]) for kind in ("ORG", "PER")}
    assert page.locator("#types li").all_inner_texts() == [f"{kind} {count}" for kind, count in counts.items()]


def test_a_type_has_one_colour_in_every_text(visit, server):
    page = visit(server)
    colours: dict[str, set[str]] = {}
    for text in (CHINESE, "王小明。", "北京大学。"):
        ask(page, text)
        for one in page.locator("#tagged .entity").all():
            colour = one.evaluate("one => one.style.getPropertyValue('--type')")
            colours.setdefault(one.locator(".tag").inner_text(), set()).add(colour)
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == len(colours) == 2


def test_how_sure_it_is_by_mouse_keyboard_and_finger(visit, server):
    page = visit(server, has_touch=True)
    ask(page, CHINESE)
    (said,) = server.predict(model="entities", text=CHINESE).json()["predictions"]
    first, second = (f"{one['text']} {one['type']} {shown(one['probability'])}" for one in said["entities"][:2])
    line, entities = page.locator("#tag"), page.locator("#tagged .entity")
    assert "Point at an entity" in line.inner_text()
    entities.first.hover()
    assert line.inner_text() == first
    entities.first.focus()
    page.keyboard.press("ArrowRight")
    assert line.inner_text() == second
    assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "tag"
    entities.first.tap()
    assert line.inner_text() == first


def test_a_text_without_entities(visit, server):
    page = visit(server)
    ask(page, "。")
    assert page.locator("#label").inner_text() == "No entity"
    assert plain(page) == "。"
    page.click('[data-language="zh"]')
    assert page.locator("#label").inner_text() == "没有实体"


def test_every_word_has_its_tag_below(visit, server):
    page = visit(server)
    page.select_option("#model", "words")
    ask(page, ENGLISH)
    (said,) = server.predict(model="words", text=ENGLISH).json()["predictions"]
    assert tagged(page) == [[one["token"], one["label"]] for one in said["tags"]]
    assert plain(page) == ENGLISH
    word = page.locator("#tagged .word").first
    form, tag = (word.locator(name).bounding_box() for name in (".form", ".tag"))
    assert form["y"] + form["height"] <= tag["y"] + 1
    unknown = [one["token"] for one in said["tags"] if not one["known"]]
    assert "zyxw" in unknown
    assert page.locator("#tagged .unknown .form").all_inner_texts() == unknown
    page.locator("#tagged .unknown").first.hover()
    assert "unknown to the model" in page.locator("#tag").inner_text()
    assert page.locator("#types").is_hidden()


def test_what_the_model_doesnt_read_stays_as_it_is(visit, server):
    """An answer may end before the text does."""
    page = visit(server)
    page.select_option("#model", "words")
    tags = [{"token": "the", "label": "DET", "probability": 0.9, "known": True}]
    answer = {"label": "DET", "probability": 0.9, "probabilities": {"DET": 0.9}, "known": 1.0, "tags": tags}
    body = json.dumps({"model": "words", "predictions": [answer]})
    page.route("**/v1/predict", lambda route: route.fulfill(body=body, content_type="application/json"))
    ask(page, "the cat ran")
    assert tagged(page) == [["the", "DET"]]
    assert plain(page) == "the cat ran"


@pytest.mark.parametrize(("viewport", "scheme", "language"), each_value([PHONE, DESK], ["light", "dark"], ["en", "zh"]))
def test_legible_everywhere(visit, server, tones, viewport, scheme, language):
    page = visit(server, viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
    page.click(f'[data-language="{language}"]')
    for model, text in (("entities", CHINESE + "王小明" * 30), ("words", ENGLISH + " " + "W" * 200)):
        page.select_option("#model", model)
        ask(page, text)
        assert overflowing(page) == []
        assert axe(page) == []
    page.select_option("#model", "tones")
    hear(page, tones / "1_anna_2.wav")
    assert overflowing(page) == []
    assert axe(page) == []


def hear(page: Any, path: Path) -> None:
    with page.expect_response("**/v1/predict") as answered:
        page.set_input_files("#file", path)
    answered.value.finished()
    page.wait_for_selector("#answer[aria-busy=false]")


def test_a_recording_is_chosen_and_answered(visit, server, tones):
    page = visit(server)
    page.select_option("#model", "tones")
    assert page.locator("#text, #keys").locator("visible=true").count() == 0
    assert page.locator("#nothing").is_visible()
    hear(page, tones / "1_anna_2.wav")
    sent = base64.b64encode((tones / "1_anna_2.wav").read_bytes()).decode()
    (said,) = server.predict(model="tones", wav=sent).json()["predictions"]
    assert page.locator("#label").inner_text() == said["label"]
    assert page.locator("#bars .percent").all_inner_texts() == [shown(p) for p in said["probabilities"].values()]
    assert page.locator("#known").is_hidden()  # of words
    assert visit.asked[-1] == {"model": "tones", "wav": sent}
    command = page.locator("#request pre code").text_content()
    done = subprocess.run(["bash", "-c", f"{command} -s --noproxy '*'"], cwd=tones, capture_output=True, check=True)
    assert json.loads(done.stdout)["predictions"] == [said]
    page.select_option("#model", "entities")  # which reads texts
    assert page.locator("#file").is_hidden()
    assert page.locator("#text").is_visible()


def test_a_recording_that_isnt_taken(visit, server, tmp_path):
    page = visit(server, refusals=True)
    page.select_option("#model", "tones")
    (tmp_path / "no.wav").write_bytes(b"RIFF, and no WAVE")
    hear(page, tmp_path / "no.wav")
    assert "no WAV file" in page.locator("#trouble").inner_text()
    asked = len(visit.asked)
    for seconds in (60, 100):  # as base64, and even without
        (tmp_path / "long.wav").write_bytes(wav(np.zeros(8000 * seconds)))
        page.set_input_files("#file", tmp_path / "long.wav")
        page.locator("#trouble", has_text="too long for the server").wait_for()
        page.set_input_files("#file", [])
        page.locator("#nothing").wait_for()
    assert len(visit.asked) == asked
