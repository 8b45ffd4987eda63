"""What a report tells of translators: by length, beams, maps, exposure, and sentences side by side."""

import json
from dataclasses import replace

import numpy as np
import pytest
from pages import Outline, drawn_charts

from rnnlab.answers.bleu import BLEU
from rnnlab.answers.translation import of_greedy
from rnnlab.comparing.chapters import Chapter, Report
from rnnlab.comparing.translated import Translated, estimate
from rnnlab.runs.directory import RunDirectory
from rnnlab.show.figures.sections import chapter_figures
from rnnlab.show.notebook import Result
from rnnlab.show.pages.report import page
from rnnlab.show.pages.report_tables import beam_table, score_table
from rnnlab.show.telling import tell
from rnnlab.training.record import Recorded


@pytest.fixture(scope="module")
def chapter(translators: Result) -> Chapter:
    assert translators.folder is not None
    (told,) = tell([translators.folder]).chapters
    return told


@pytest.fixture(scope="module")
def found(chapter: Chapter) -> Translated:
    assert chapter.differences.translated is not None
    return chapter.differences.translated


@pytest.fixture(scope="module")
def html(chapter: Chapter) -> str:
    return page(Report((chapter,), ()))


def recorded(chapter: Chapter, arm: str) -> list[Recorded]:
    arms = (*chapter.comparison.arms, *chapter.comparison.baselines)
    runs = next(one.runs for one in arms if one.label == arm)
    return [Recorded.of(RunDirectory(run.path)) for run in runs]


def test_a_length_has_the_score_of_its_summed_counts(chapter: Chapter, found: Translated):
    assert {one.arm for one in found.by_length} == {"gru", "gru-plain", "copy", "translation-memory", "ibm1"}
    for arm in ("gru", "ibm1"):
        runs = recorded(chapter, arm)
        (own,) = [one for one in found.by_length if one.arm == arm]
        assert sum(rows for _, rows, _ in own.parts) == len(runs[0])
        for name, rows, score in own.parts:
            first, _, last = name.partition("–")
            inside = (runs[0].lengths >= int(first)) & (runs[0].lengths <= int(last or first))
            assert rows == inside.sum()
            values = [BLEU.of({key: run.counts[key][inside] for key in BLEU.columns}) for run in runs]
            assert score.mean == pytest.approx(np.mean(values))
            assert 0 <= score.low <= score.mean <= score.high <= 1


def test_intervals_count_seeds_and_groups():
    rng = np.random.default_rng(0)
    one = rng.normal(0.5, 0.2, (1, 400))
    alone = estimate(one, np.arange(400))
    assert alone.high - alone.mean == pytest.approx(1.966 * 0.2 / 20, rel=0.1)
    alike = estimate(np.repeat(one[:, :40], 10, axis=1), np.repeat(np.arange(40), 10))
    assert alike.high - alike.low > 2.5 * (alone.high - alone.low)
    unsteady = estimate(np.concatenate([one, one + 0.2]), np.arange(400))
    assert unsteady.high - unsteady.low > 10 * (alone.high - alone.low)


def test_what_a_beam_adds_is_paired(chapter: Chapter, found: Translated):
    assert {one.arm for one in found.beams} == {"gru", "gru-plain"}
    own = next(one for one in found.beams if one.arm == "gru")
    runs = recorded(chapter, "gru")
    greedy = of_greedy(BLEU, "greedy")
    gaps = [BLEU.of(run.counts) - greedy.of(run.counts) for run in runs]
    assert own.gain.mean == pytest.approx(np.mean(gaps))
    assert own.gain.low <= own.gain.mean <= own.gain.high
    table = beam_table(chapter, {})
    assert table is not None
    assert [row.cells[0].text for row in table.rows] == [
        arm.label for arm in chapter.comparison.recommended_first if arm.label.startswith("gru")
    ]
    (row,) = [row for row in table.rows if row.cells[0].text == "gru"]
    assert row.cells[1].text == f"{100 * own.beam.mean:.1f}"
    assert row.cells[3].text == f"{100 * own.gain.mean:+z.1f}".replace("-", "−")


def test_sentences_that_one_translates_and_another_does_not(chapter: Chapter, found: Translated):
    ours = chapter.comparison.verdict.recommended or chapter.comparison.verdict.best_model
    assert {one.ours for one in found.beside} == {ours}
    assert len(found.beside) == 2  # the other model, and the best baseline
    for one in found.beside:
        assert one.ahead + one.behind <= one.rows
        assert all(pair.ours.chrf > pair.theirs.chrf + 0.1 for pair in one.ahead_shown)
        assert all(pair.theirs.chrf > pair.ours.chrf + 0.1 for pair in one.behind_shown)
        assert bool(one.ahead_shown) == bool(one.ahead)
        for pair in (*one.ahead_shown, *one.behind_shown):
            assert pair.source.split()[0] in ("I", "you", "he", "we", "they")  # as it was typed
            assert pair.ours.right == (pair.ours.text in pair.references)
            assert pair.theirs.right == (pair.theirs.text in pair.references)


def test_maps_are_of_the_model_that_looks(found: Translated):
    assert found.looked == "gru"
    assert 1 <= len(found.maps) <= 3
    lengths = [len(one.read) for one in found.maps]
    assert lengths == sorted(lengths)
    for one in found.maps:
        assert one.written[-1] == "</s>"
        weights, aligned = np.array(one.weights), np.array(one.aligned)
        assert weights.shape == aligned.shape == (len(one.written), len(one.read))
        np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)
        assert (aligned.sum(1) <= 1 + 1e-9).all()


def test_the_first_token_has_the_same_nats_either_way(found: Translated):
    for _, one in found.exposures:
        assert one.forced[0] == one.free[0]
        assert len(one.forced) == len(one.free) == len(one.gap)
    assert {arm for arm, _ in found.exposures} == {"gru", "gru-plain"}


def test_charts_are_drawn_in_points(chapter: Chapter, html: str):
    charts = drawn_charts(html, "en")
    assert {"by-length", "exposure", "attention-0", "alignment-0"} <= set(charts)
    rows = charts["by-length"]["data"]["values"]
    assert {row["arm"] for row in rows} == {"gru", "gru-plain", chapter.comparison.verdict.best_baseline}
    found = chapter.differences.translated
    assert found is not None
    best = max(score.mean for one in found.by_length for _, _, score in one.parts)
    assert max(row["y"] for row in rows) == pytest.approx(100 * best, rel=1e-4)
    assert '%"' not in json.dumps(charts["seeds"]["layer"])  # no format of an axis or a tooltip
    verdict, drawn = chapter.comparison.verdict, charts["seeds"]["data"]["values"]
    means = [row["v"] for row in drawn if row["k"] == "mean"]
    assert max(means) == pytest.approx(100 * max(one.mean for one in verdict.estimates.values()))
    runs = [row["v"] for row in drawn if row["k"] == "run"]
    assert max(runs) == pytest.approx(100 * max(max(of.values()) for of in verdict.scores.values()))


def test_a_notebook_draws_points_too(chapter: Chapter):
    """Without the data, lengths are those of the summary."""
    bare = replace(chapter, differences=replace(chapter.differences, translated=None))
    (figure,) = [one for one in chapter_figures(bare)["differences"] if one.name == "by-length"]
    rows = figure.draw("en", True).to_dict()["data"]["values"]
    best = max(cell.score for arm in chapter.comparison.arms for cell in arm.by_length.values())
    assert max(row["y"] for row in rows if not row["b"]) == pytest.approx(100 * best, rel=1e-4)


def test_scores_are_plain_numbers_with_a_signature(chapter: Chapter, html: str):
    table = score_table(chapter.comparison, {})
    names = [column.name.en for column in table.columns]
    assert names[1] == "BLEU"
    assert "chrF" in names
    outline = Outline(html)
    signature = "nrefs:1|case:mixed|eff:no|tok:zh|smooth:exp|version:2.6.0"
    assert signature in [text for _, text in outline.texts]
    verdict = chapter.comparison.verdict
    best = verdict.estimates[verdict.recommended or verdict.best or ""]
    assert f"BLEU {100 * best.mean:.1f}," in verdict.sentence.replace(" (", " ").replace(")", ",")
    assert f"{100 * best.mean:.1f} %" not in verdict.sentence


def test_a_page_without_maps_has_the_rest(chapter: Chapter, found: Translated):
    blind = replace(found, looked=None, maps=(), exposures=(), beside=())
    short = replace(chapter, differences=replace(chapter.differences, translated=blind))
    figures = chapter_figures(short)
    assert "maps" not in figures
    assert [figure.name for figure in figures["translated"]] == ["by-length"]
    assert "Where it looked" not in page(Report((short,), ()))


def test_what_users_wrote_is_escaped(chapter: Chapter, found: Translated):
    one = found.beside[0]
    pair = replace(one.ahead_shown[0], source="<script>window.pwned=1</script>")
    changed = replace(found, beside=(replace(one, ahead_shown=(pair,)),))
    html = page(Report((replace(chapter, differences=replace(chapter.differences, translated=changed)),), ()))
    assert "<script>window.pwned" not in html
    assert "&lt;script&gt;window.pwned" in html
