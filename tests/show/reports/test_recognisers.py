"""What a report tells of words in their order: what was changed, missed and added, and some rows word below word."""

from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
from pages import Outline, drawn_charts
from waves import folder_of_tones

import rnnlab
from rnnlab.answers.edits import MISSED
from rnnlab.comparing.chapters import Chapter, HeardBy, HeardRow, Report
from rnnlab.runs.directory import RunDirectory
from rnnlab.show.notebook import Result
from rnnlab.show.pages.heard_rows import aligned
from rnnlab.show.pages.report import page
from rnnlab.show.pages.report_tables import hearing_table
from rnnlab.show.telling import tell
from rnnlab.training.record import Recorded


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("heard")
    tones = folder_of_tones(folder / "tones", 3, 6, 20)
    task: dict[str, Any] = {"kind": "recognise", "data": str(tones), "pattern": "{label}_{speaker}_{n}.wav"}
    task |= {"rows": 60, "held_out": 60, "bands": 12, "longest": 4, "split": "recordings"}
    settings = ["model.hidden=8", "training.lr=0.01"]
    return rnnlab.compare(
        None, models=["gru"], seeds=2, task=task, training={"epochs": 3}, settings=settings, out=folder / "runs"
    )


@pytest.fixture(scope="module")
def chapter(heard: Result) -> Chapter:
    assert heard.folder is not None
    (found,) = tell([heard.folder]).chapters
    return found


def recorded(result: Result, arm: str) -> list[Recorded]:
    runs = next(one for one in result.ranking if one.label == arm).runs
    return [Recorded.of(RunDirectory(run.path)) for run in runs]


def test_words_add_up_to_the_word_error_rate(heard: Result, chapter: Chapter):
    found = chapter.differences
    assert found.hearing is not None
    assert found.counted == "words"
    assert {one.arm for one in found.hearing.arms} == {"gru", "segments"}
    for one in found.hearing.arms:
        runs = recorded(heard, one.arm)
        rate = np.mean([run.answer.values(run.kept("test"), run.truth("test"))["wer"] for run in runs])
        assert one.changed + one.missed + one.added == pytest.approx(rate)
        rows, said = found.hearing.counts, sum(number * rows for number, rows in found.hearing.counts.items())
        assert said == found.hearing.words
        assert sum(one.by_words[number] * number * rows[number] for number in rows) / said == pytest.approx(rate)
        cells = np.array(next(two.counts for two in found.confusions if two.arm == one.arm))
        assert cells[:-1].sum() == pytest.approx(said)
        assert cells[:-1, -1].sum() == pytest.approx(one.missed * said)
        assert 0 <= cells[-1].sum() <= one.added * said + 1e-9  # up to some words per place are recorded
        recorded_all = [run.kept("test")["beside"] != MISSED for run in runs]
        assert cells[-1].sum() == pytest.approx(np.mean([there.sum() for there in recorded_all]))
        assert cells[:-1, :-1].sum() - np.diag(cells)[:-1].sum() == pytest.approx(one.changed * said)


def test_rows_are_as_they_were_heard(heard: Result, chapter: Chapter):
    hearing = chapter.differences.hearing
    assert hearing is not None
    assert 0 < len(hearing.worst) <= 8
    assert 0 < len(hearing.others) <= 4
    rates = []
    for row in (*hearing.worst, *hearing.others):
        assert [one.arm for one in row.answers] == ["gru", "segments"]
        edits = {line.arms: line.edits for line in aligned(row).lines}
        rates.append(sum(number * len(arms) for arms, number in edits.items()) / len(row.words))
        assert row.tag is not None
        assert all(one.unknown == 0 or one.arm == "gru" for one in row.answers)
    for part in (rates[: len(hearing.worst)], rates[len(hearing.worst) :]):
        assert part == sorted(part, reverse=True)
    assert max(rates) == rates[0]
    (saved,) = recorded(heard, "segments")[:1]
    every = saved.counts["edits"]
    for row in hearing.worst:
        (said,) = [one for one in row.answers if one.arm == "segments"]
        wrong = sum(one != other for one, other in zip_longest(row.words, said.words))
        assert wrong + said.heard == every[row.row]


def test_words_stand_below_those_that_were_said():
    one = HeardBy("a", ("six", None), (("one",), (), ()), 0)
    other = HeardBy("b", ("five", "two"), ((), ("nine", "nine"), ()), 0)
    same, right = HeardBy("c", *(one.words, one.added), 0), HeardBy("d", ("five", "two"), ((), (), ()), 0)
    found = aligned(HeardRow(7, "theo", ("five", "two"), (one, other, same, right)))
    assert found.said == ("", "five", "", "", "two")
    assert [(line.arms, line.edits) for line in found.lines] == [(("d",), 0), (("b",), 2), (("a", "c"), 3)]
    shown = [[word.shown for word in line.words] for line in found.lines]
    assert shown == [
        ["", "five", "", "", "two"],
        ["", "five", "+ nine", "+ nine", "two"],
        ["+ one", "≠ six", "", "", "–"],
    ]


def test_the_page(chapter: Chapter):
    text = page(Report((chapter,), ()))
    outline = Outline(text)
    assert "heard" in {name for _, attributes in outline.elements for name in (attributes.get("class") or "").split()}
    charts = drawn_charts(text, "zh")
    assert {"f1-by-type", "confusion", "by-tag"} <= charts.keys()
    assert "（多听）" in str(charts["confusion"])
    assert "（漏识）" in str(charts["confusion"])
    assert "听得最差的数据" in outline.texts_in("zh")
    assert "The rows that were heard worst" in outline.texts_in("en")
    table = hearing_table(chapter, {})
    assert table is not None
    assert [column.name.en for column in table.columns][-3:] == ["2 words, %", "3 words, %", "4 words, %"]


def test_runs_that_did_not_record_what_was_added_say_how_much(heard: Result, chapter: Chapter, monkeypatch: Any):
    whole = Recorded.kept
    monkeypatch.setattr(
        Recorded, "kept", lambda self, part: {k: v for k, v in whole(self, part).items() if k != "beside"}
    )
    assert heard.folder is not None
    (before,) = tell([heard.folder]).chapters
    assert before.differences.hearing is not None
    assert chapter.differences.hearing is not None
    assert before.differences.hearing.arms == chapter.differences.hearing.arms
    for old, new in zip(before.differences.hearing.worst, chapter.differences.hearing.worst, strict=True):
        assert [one.heard for one in old.answers] == [one.heard for one in new.answers]
        assert not any(words for one in old.answers for words in one.added)
