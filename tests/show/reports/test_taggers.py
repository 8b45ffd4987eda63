"""What a report tells of taggers: per tag or type, on unseen words, and the sentences that they tag differently."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from pages import Outline, drawn_charts

from rnnlab.comparing.chapters import Chapter, Report
from rnnlab.data.tagged.reading import read_sentences
from rnnlab.data.tagged.schemes import spans
from rnnlab.runs.directory import RunDirectory
from rnnlab.show.notebook import Result
from rnnlab.show.pages.report import page
from rnnlab.show.telling import tell


def chapter_of(result: Result) -> Chapter:
    assert result.folder is not None
    (chapter,) = tell([result.folder]).chapters
    assert chapter.remarks == ()
    return chapter


def recorded(result: Result, arm: str, name: str) -> float:
    """A score of the test rows, the mean of the runs of an arm."""
    runs = next(one for one in result.ranking if one.label == arm).runs
    return float(np.mean([(RunDirectory(run.path).result() or {})["test"][name] for run in runs]))


def test_types_of_entities_add_up_to_entity_f1(entities: Result):
    chapter = chapter_of(entities)
    found = chapter.differences
    assert (found.counted, found.labels) == ("entities", ("ORG", "PER"))
    for confusion in found.confusions:
        counts = np.array(confusion.counts)
        of_types = [one for one in found.classes if one.arm == confusion.arm]
        assert counts.shape == (3, 4)
        assert counts[:2].sum(1) == pytest.approx([one.rows for one in of_types])
        assert np.diag(counts)[:2] == pytest.approx([one.recall * one.rows for one in of_types])
    assert {one.arm for one in found.classes} == {arm.label for arm in entities.ranking}


def test_words_have_a_line_per_tag(words: Result):
    found = chapter_of(words).differences
    assert (found.counted, found.labels) == ("tokens", ("DET", "NOUN", "VERB"))
    for confusion in found.confusions:
        of_tags = [one for one in found.classes if one.arm == confusion.arm]
        right = sum(one.recall * one.rows for one in of_tags)
        assert right / sum(one.rows for one in of_tags) == pytest.approx(recorded(words, confusion.arm, "accuracy"))
    assert found.tagging is not None
    assert found.tagging.scheme is None
    assert all(one.illegal is None for one in found.tagging.arms)


def test_seen_and_unseen_tokens_add_up(entities: Result):
    tagging = chapter_of(entities).differences.tagging
    assert tagging is not None
    for one in tagging.arms:
        assert one.whole == pytest.approx(recorded(entities, one.arm, "exact"))
        assert one.illegal == pytest.approx(recorded(entities, one.arm, "illegal"))
        right = (one.seen or 0) * (tagging.tokens - tagging.unseen) + (one.unseen or 0) * tagging.unseen
        assert right / tagging.tokens == pytest.approx(recorded(entities, one.arm, "accuracy"))
    illegal = {one.arm: one.illegal for one in tagging.arms}
    assert illegal["bilstm-crf"] == 0
    assert (illegal["gru"] or 0) > 0


def test_sentences_are_those_of_the_file(entities: Result, words: Result):
    for result, suffix in ((entities, "bmes"), (words, "conllu")):
        tagging = chapter_of(result).differences.tagging
        assert tagging is not None
        assert 1 < len(tagging.disputed) <= 12
        (path,) = Path(result.folder or "").parents[2].glob(f"*.{suffix}")
        corpus = read_sentences(path)
        tags = corpus.tags or []
        every = {
            (tuple(corpus.tokens_of(row)), tuple(tags[corpus.offsets[row] : corpus.offsets[row + 1]]))
            for row in range(len(corpus))
        }
        for one in tagging.disputed:
            assert (one.tokens, one.tags) in every
            assert len({said.tags for said in one.answers}) > 1
            assert {said.arm for said in one.answers} >= {"gru", "bilstm-crf"}
        assert tagging.spaced == (suffix == "conllu")


def test_what_is_no_entity_is_shown_as_none(entities: Result):
    tagging = chapter_of(entities).differences.tagging
    assert tagging is not None
    for one in tagging.disputed:
        for said in one.answers:
            inside = {at for start, end, _ in spans(said.tags, "BMES") for at in range(start, end)}
            assert inside == {at for at, tag in enumerate(said.tags) if tag != "O"}


def test_the_page(entities: Result, words: Result):
    text = page(Report((chapter_of(entities), chapter_of(words)), ()))
    outline = Outline(text)
    classes = {name for _, attributes in outline.elements for name in (attributes.get("class") or "").split()}
    assert {"entity", "word", "tagged", "wrong"} <= classes
    charts = drawn_charts(text, "zh")
    assert {"f1-by-type", "confusion", "by-length", "c1-f1-by-type", "c1-confusion"} <= charts.keys()
    assert not {"by-class", "c1-by-class", "precision-by-label"} & charts.keys()
    assert "（漏识）" in str(charts["confusion"])
    chinese = outline.texts_in("zh")
    assert "不合法标签" in chinese
    assert chinese.count("见过的词元，%") == 2
    shown = outline.texts_in("en")
    assert shown.count("The sentences that they tag most differently") == 2
    assert not [said for said in shown if "class" in said and "tag" in said]


def test_without_the_file_the_figures_stay_and_the_page_says_so(
    entities: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = Path(shutil.copytree(Path(entities.folder or "").parents[1], tmp_path / "runs"))
    (corpus,) = Path(entities.folder or "").parents[2].glob("*.bmes")
    moved = corpus.rename(tmp_path / corpus.name)
    try:
        (in_cache,) = tell([folder]).chapters
        monkeypatch.setitem(os.environ, "RNNLAB_CACHE", str(tmp_path / "cache"))
        (chapter,) = tell([folder]).chapters
    finally:
        moved.rename(corpus)
    (remark,) = in_cache.remarks
    assert "the sentences of the test rows can't be read any more" in remark
    assert in_cache.internals
    assert "the data can't be read any more" in chapter.remarks[0]
    assert chapter.differences.tagging is not None
    assert chapter.differences.tagging.disputed == ()
    assert chapter.comparison.verdict == entities.verdict
    assert "the data can&#39;t be read any more" in page(Report((chapter,), ()))
