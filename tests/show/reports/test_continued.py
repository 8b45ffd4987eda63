"""What a report tells of language models: a passage as they read it, contested tokens, and what they write."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import Outline, drawn_charts

import rnnlab
from rnnlab.api.inspect import inspect_units
from rnnlab.comparing.chapters import Chapter, Continued, Report, WrittenText
from rnnlab.data.nested_sentences import nested_sentences
from rnnlab.data.sequences import IGNORE
from rnnlab.inspecting.neighbours import Neighbours
from rnnlab.inspecting.units import Followed, UnitStrip
from rnnlab.runs.directory import RunDirectory
from rnnlab.show.notebook import Result
from rnnlab.show.pages.report import page
from rnnlab.show.pages.surprise import contested_table, strips
from rnnlab.show.pages.units import units_table
from rnnlab.show.telling import tell
from rnnlab.training.record import Recorded
from rnnlab.use.writing import load_writer

POEMS = "\n\n".join(f"<b>第{n}首\n山{n % 7}水{n % 5}明月\n风月{n % 3}云，{'花落' * (n % 4)}。" for n in range(150))


def compare(data: Path, **task: Any) -> Result:
    settings = ["model.hidden=8", "model.embedding.width=8"]
    return rnnlab.compare(
        data, models=["gru", "rnn"], seeds=2, task=task, training={"epochs": 1}, settings=settings,
        out=data.parent / "runs", jobs=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def poems(tmp_path_factory: pytest.TempPathFactory) -> Result:
    data = tmp_path_factory.mktemp("poems") / "poems.txt"
    data.write_text(POEMS, encoding="utf-8")
    return compare(data, text_per="paragraph")


def told(result: Result) -> tuple[Chapter, Continued]:
    assert result.folder is not None
    (chapter,) = tell([result.folder]).chapters
    assert chapter.differences.continued is not None
    return chapter, chapter.differences.continued


@pytest.fixture(scope="module")
def chapter(poems: Result) -> Chapter:
    return told(poems)[0]


@pytest.fixture(scope="module")
def found(poems: Result, chapter: Chapter) -> Continued:
    assert chapter.differences.continued is not None
    return chapter.differences.continued


def best(result: Result, arm: str) -> str:
    runs = next(one for one in result.ranking if one.label == arm).runs
    return min(runs, key=lambda run: run.valid_score or 0.0).path


def test_the_best_run_is_the_one_with_the_least_loss(poems: Result, chapter: Chapter):
    assert {one.arm: one.run for one in chapter.internals} == {
        arm: Path(best(poems, arm)).name for arm in ("gru", "rnn")
    }


def test_the_passage_is_the_beginning_of_the_test_text_as_it_was_scored(poems: Result, found: Continued):
    assert {one.arm for one in found.passage} == {"gru", "rnn", "kneser-ney"}
    for one in found.passage:
        saved = Recorded.of(RunDirectory(best(poems, one.arm)))
        asked = saved.truth("test").values != IGNORE
        assert one.nats == pytest.approx(saved.kept("test")["nats"][asked][: len(one.nats)].tolist())
        assert len(one.nats) == len(found.tokens) == 300
    text = "".join(found.tokens)
    first, second = text.split("</s>")[:2]
    assert first in POEMS.split("\n\n")
    assert second in POEMS.split("\n\n")


def test_parts_of_rows_add_up_to_the_score(poems: Result, found: Continued):
    scores = {arm.label: arm.score.mean for arm in poems.ranking if arm.score}
    assert {one.arm for one in found.from_beginning} == set(scores)
    for one in found.from_beginning:
        names, means, counts = zip(*one.parts, strict=True)
        assert names[:5] == ("1", "2", "3–4", "5–8", "9–16")
        assert np.average(means, weights=counts) == pytest.approx(scores[one.arm], rel=1e-5)
        assert counts[0] == counts[1] == len(Recorded.of(RunDirectory(best(poems, one.arm))))


def test_contested_tokens_differ_most(poems: Result, found: Continued):
    gaps = [max(one.nats) - min(one.nats) for one in found.contested]
    assert gaps == sorted(gaps, reverse=True)
    saved = [Recorded.of(RunDirectory(best(poems, one.arm))).kept("test")["nats"] for one in found.passage]
    every = np.max(saved, 0) - np.min(saved, 0)
    assert gaps[0] == pytest.approx(every.max())
    tokens = [one.token for one in found.contested]
    assert max(tokens.count(token) for token in tokens) <= 2
    for one in found.contested:
        assert one.before + one.token.replace("</s>", "") in POEMS.replace("\n\n", "")


def test_samples_are_what_generate_writes(poems: Result, found: Continued):
    first, last = found.passage[0].arm, found.passage[-1].arm
    assert [one.temperature for one in found.written if one.arm == first] == [0.2, 0.5, 0.8, 1.0, 1.2]
    assert [one.temperature for one in found.written if one.arm == last] == [0.5, 0.8, 1.0]
    for one in found.written:
        [sample] = load_writer(best(poems, one.arm)).generate(length=300, temperature=one.temperature, seed=0)
        assert "".join(text for text, _ in one.pieces) == sample.text
        assert one.share is not None
        copied = sum(len(text) for text, inside in one.pieces if inside)
        assert one.share == pytest.approx(copied / max(1, len(sample.text)))
        assert (one.longest or 0) <= len(sample.text)


def test_texts_by_epoch_are_those_of_the_events(poems: Result, found: Continued):
    assert {one.arm for one in found.by_epoch} == {"gru", "rnn"}
    for one in found.by_epoch:
        run = RunDirectory(best(poems, one.arm))
        [event] = [event for event in run.events() if event["event"] == "epoch"]
        assert [(text.epoch, text.best, text.text) for text in one.texts] == [(1, True, event["sample"])]


def test_the_best_epoch_writes_as_it_did(poems: Result, found: Continued, monkeypatch: pytest.MonkeyPatch):
    events = RunDirectory.events
    without = lambda run: [{**event, "sample": None} for event in events(run)]  # noqa: E731
    monkeypatch.setattr(RunDirectory, "events", without)
    assert told(poems)[1].by_epoch == ()  # an older run

    def with_another(run: RunDirectory) -> list[dict[str, Any]]:
        return [{**event, "epoch": 0, "sample": "an older text"} for event in events(run)] + without(run)

    monkeypatch.setattr(RunDirectory, "events", with_another)
    for now, before in zip(told(poems)[1].by_epoch, found.by_epoch, strict=True):
        assert [text.text for text in now.texts] == ["an older text", before.texts[-1].text]


def test_the_page(chapter: Chapter, found: Continued):
    marked = WrittenText("gru", 0.8, (("and ", False), ("<i>so on", True)), 0.5, 8)
    shown = replace(chapter, differences=replace(chapter.differences, continued=replace(found, written=(marked,))))
    text = page(Report((shown,), ()))
    assert "<mark>&lt;i&gt;so on</mark>" in text
    assert "<b>第" not in text
    outline = Outline(text)
    assert "读与写" in outline.texts_in("zh")
    assert "What they read and write" in outline.texts_in("en")
    assert "50.0 % copied, longest run 8 tokens" in outline.texts_in("en")
    assert "by-context" in drawn_charts(text, "zh")
    assert "nats per token" not in str(drawn_charts(text, "zh"))
    shares = [float(token.share) for strip in strips(chapter) for token in strip.tokens]
    assert max(shares) == 1.0
    assert min(shares) < 0.2
    table = contested_table(chapter)
    assert table is not None
    assert [column.name.en for column in table.columns[2:]] == [one.arm for one in found.passage]


def test_units_and_neighbours_on_the_page(poems: Result, chapter: Chapter, found: Continued):
    assert found.units is not None
    arm, units = found.units
    assert arm == found.passage[0].arm
    assert units.to_dict() == inspect_units(best(poems, arm)).to_dict()
    one = Followed("line", True, "c", 3, -0.8, -0.5, 0.1)
    strip = UnitStrip("line", ("<", "\n"), (-1.0, 0.25))
    noteworthy = replace(units, followed=(one,), strips=(strip,))
    nearest = (Neighbours("山", (("水", 0.75),)),)
    shown = replace(found, units=("gru", noteworthy), neighbours=("gru", nearest))
    text = page(Report((replace(chapter, differences=replace(chapter.differences, continued=shown)),), ()))
    assert '<span class="below" style="--share: 1.00">&lt;</span>' in text
    assert '<span class="above" style="--share: 0.25">↵' in text
    outline = Outline(text)
    assert "What single units follow (gru)" in outline.texts_in("en")
    assert "单个单元跟踪什么（gru）" in outline.texts_in("zh")
    assert "水 (0.75)" in text
    nothing = replace(found, units=("gru", replace(noteworthy, strips=())))
    without = replace(chapter, differences=replace(chapter.differences, continued=nothing))
    table = units_table(without)
    assert table is not None
    assert table.note is not None
    assert table.note.en.startswith("No unit follows what has to be remembered")


def test_without_the_training_text_nothing_is_said_of_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = tmp_path / "stream.txt"
    data.write_text(nested_sentences(200, 1).text, encoding="utf-8")
    result = compare(data, unit="words")
    chapter, found = told(result)
    assert found.from_beginning == ()  # a stream has one beginning
    assert found.spaced
    assert not any("copied" in remark for remark in chapter.remarks)
    assert "by-context" in drawn_charts(page(Report((chapter,), ())), "zh")
    assert {one.arm: min(one.nats) for one in found.by_context} == {"gru": 1, "rnn": 1, "kneser-ney": 0}
    data.unlink()
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "another"))
    chapter, later = told(result)
    assert any("copied passages aren't shown" in remark for remark in chapter.remarks)
    assert all(one.share is None for one in later.written)
    assert later.passage == found.passage
    text = page(Report((chapter,), ()))
    assert "<mark>" not in text
    assert "Marked: passages" not in text
