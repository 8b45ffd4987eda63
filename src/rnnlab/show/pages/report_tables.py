"""The tables of the report page. Cells show rounded figures and carry the exact ones, by which they are sorted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rnnlab.comparing.chapters import Chapter, ClassScore, Counted, CurvePoint, Terms
from rnnlab.comparing.comparison import ArmSummary, Comparison
from rnnlab.comparing.learning import marks
from rnnlab.comparing.tuning import TunedArm, Tuning
from rnnlab.core.numbers import TimeUnit, count, duration, interval_text, percent_text, plain
from rnnlab.core.terms import metric_text
from rnnlab.core.words import SENTENCES, Both, both, joined, listed
from rnnlab.judging.findings import Difference, Verdict
from rnnlab.judging.wording import above_floor
from rnnlab.show.judge_tables import margin_text, score_text
from rnnlab.show.judge_texts import CALLS, IN_POINTS
from rnnlab.show.pages import report_texts as words
from rnnlab.show.pages.table import EMPTY, Cell, Column, Row, Table, arm_row, number, time_cell
from rnnlab.show.sweep_texts import is_share
from rnnlab.show.times import TrainingTimes
from rnnlab.show.tuning_texts import score_text as tuned_text
from rnnlab.show.tuning_texts import setting_text

MOST_CLASSES = 30
MOST_COUNTS = 8  # numbers of words, the most frequent ones
JUDGED = {
    "accuracy": "accuracy",
    "macro-F1": "macro_f1",
    "balanced accuracy": "balanced_accuracy",
    "entity F1": "entity_f1",
    "accuracy on unseen words": "unknown_words",
}
"""Scores whose columns are explained, by what they are called; any other has a column without."""


def score_table(comparison: Comparison, colours: Mapping[str, str]) -> Table:
    """A row per arm or baseline, the recommended one first, then the best: the figures of `compare --json`."""
    every, verdict = comparison.recommended_first, comparison.verdict
    times = TrainingTimes.of(comparison)
    latency = TimeUnit.of(arm.row_seconds for arm in every)
    score = JUDGED.get(verdict.metric, "percent" if verdict.unit == "percent" else "score")
    names = ["model", score, "interval"]
    names += ["failed"] if verdict.failures else []
    names += ["seen", "unseen"] if comparison.seen_matters else []
    second = comparison.beside.name if comparison.beside.name in words.COLUMNS else "beside"
    names += [second]
    names += ["epoch_seconds" if times.epochs else "step_seconds", "total_seconds"]
    names += ["row_seconds"] if any(arm.row_seconds is not None for arm in every) else []
    names += ["best_epoch" if times.epochs else "best_evaluation", "parameters"]
    names += ["runs"] if any(run.status != "finished" for arm in every for run in arm.runs) else []
    metric = metric_text(verdict.metric)
    gaps: dict[str, Any] = {
        "metric": metric,
        "beside": metric_text(comparison.beside.title),
        "beside_percent": words.PERCENT if comparison.beside.unit == "percent" else "",
        "level": f"{100 * (1 - verdict.alpha):g}",
        "percent": words.PERCENT if verdict.unit == "percent" else "",
        "unit": latency.name,
    }
    columns = {name: words.COLUMNS[name].format(**gaps) for name in names}
    columns[second] = words.COLUMNS[second].format(**gaps | {"metric": gaps["beside"]})
    for name, said in (
        ("epoch_seconds", times.round_name),
        ("step_seconds", times.round_name),
        ("total_seconds", times.total_name),
    ):
        if name in columns:
            columns[name] = replace(columns[name], name=said)
    rows = [_score_row(comparison, arm, names, times, latency, colours) for arm in every]
    seeds = max((len(arm.runs) for arm in comparison.arms), default=0)
    note = words.ONE_SEED_NOTE
    if verdict.too_short:
        note = words.TOO_SHORT_NOTE.format(seeds=seeds, metric=metric)
    elif seeds > 1:
        note = words.TABLE_NOTE.format(seeds=seeds, metric=metric, margin=margin_text(verdict))
    if (above := above_floor(verdict, comparison.profile)) is not None:
        note = joined([above, note], SENTENCES)
    return Table(words.SECTIONS["table"], list(columns.values()), rows, note)


def _score_row(
    comparison: Comparison,
    arm: ArmSummary,
    names: Sequence[str],
    times: TrainingTimes,
    latency: TimeUnit,
    colours: Mapping[str, str],
) -> Row:
    verdict, beside = comparison.verdict, comparison.beside
    finished = sum(run.status == "finished" for run in arm.runs)
    cells = {
        "model": Cell(f"{arm.label} *" if arm.in_best_group else arm.label, value=arm.label),
        **dict.fromkeys((*JUDGED.values(), "percent", "score"), _score(arm.score and arm.score.mean, verdict.unit)),
        **dict.fromkeys(("beside", beside.name), _score(arm.scores.get(beside.name), beside.unit)),
        "interval": Cell(interval_text(arm.score.low, arm.score.high, verdict.unit), value=arm.score.low)
        if arm.score
        else EMPTY,
        **{
            part: _score(arm.by_seen[part].score if part in arm.by_seen else None, verdict.unit)
            for part in ("seen", "unseen")
        },
        **dict.fromkeys(("epoch_seconds", "step_seconds"), time_cell(times.round_seconds(arm), times.round_unit)),
        "total_seconds": time_cell(arm.total_seconds, times.total_unit),
        "row_seconds": time_cell(arm.row_seconds, latency),
        **dict.fromkeys(
            ("best_epoch", "best_evaluation"), number(arm.best_epoch, "{:.0f}+" if arm.cut_short else "{:.0f}")
        ),
        "parameters": _count(arm.parameters),
        "runs": Cell(f"{finished}/{len(arm.runs)}", value=finished),
        "failed": Cell(f"{len(arm.failed_seeds)}/{len(arm.runs)}", value=len(arm.failed_seeds))
        if arm.failed_seeds
        else EMPTY,
    }
    chosen, baseline = arm.label == verdict.recommended, arm in comparison.baselines
    return arm_row([cells[name] for name in names], colours.get(arm.label), chosen, baseline, arm.in_best_group)


def epochs_table(chapter: Chapter, colours: Mapping[str, str]) -> Table | None:
    """The validation score after 1, 5, 10 … epochs: who learns quickly. None where no model was trained."""
    found = chapter.learning
    name = found.quantities[0] if found.quantities else ""
    curves = {curve.arm: curve for curve in found.curves if (curve.split, curve.quantity) == ("valid", name)}
    epochs = marks(curves.values())
    if not epochs:
        return None
    shares = is_share(name)
    by_epoch = {arm: {point.epoch: point for point in curve.points} for arm, curve in curves.items()}
    leaders = {epoch: _leader(epoch, by_epoch, found.lower_is_better) for epoch in epochs}
    rows = []
    for arm in chapter.comparison.recommended_first:
        if arm.label not in by_epoch:
            continue
        points = by_epoch[arm.label]
        most = max(point.runs for point in points.values())
        cells = [Cell(arm.label)]
        cells += [_epoch_cell(points.get(epoch), most, shares, arm.label == leaders[epoch]) for epoch in epochs]
        chosen = arm.label == chapter.comparison.verdict.recommended
        rows.append(arm_row(cells, colours.get(arm.label), chosen, baseline=False, best=False))
    per = words.EPOCHS if found.rounds == "epoch" else words.EVALUATIONS
    columns = [words.COLUMNS["model"], *(Column(per["column"].format(number=f"{epoch:,}")) for epoch in epochs)]
    title = per["title"].format(metric=metric_text(name), unit=words.PERCENT if shares else "")
    return Table(title, columns, rows, per["note"])


def _leader(epoch: int, by_epoch: Mapping[str, Mapping[int, CurvePoint]], lower_is_better: bool) -> str | None:
    """Who is ahead at an epoch that several arms got to."""
    there = {arm: points[epoch].mean for arm, points in by_epoch.items() if epoch in points}
    pick = min if lower_is_better else max
    return pick(there, key=lambda arm: there[arm]) if len(there) > 1 else None


def _epoch_cell(point: CurvePoint | None, runs: int, shares: bool, leads: bool) -> Cell:
    if point is None:
        return EMPTY
    text = f"{100 * point.mean:.1f}" if shares else f"{point.mean:.4f}"
    if point.runs < runs:
        note = words.SOME_RUNS.format(part=point.runs, whole=runs)
        return Cell(f"{text} ({point.runs})", point.mean, note)
    return Cell(text, point.mean, strong=leads)


def class_tables(chapter: Chapter) -> list[Table]:
    """Recall, precision and F1 of each class, tag or type of entities, a table per arm: the recommended one first. None
    for tasks without classes."""
    counted = chapter.differences.counted
    found: dict[str, list[ClassScore]] = {}
    for score in chapter.differences.classes:
        found.setdefault(score.arm, []).append(score)
    return [
        _class_table(arm.label, found[arm.label], counted)
        for arm in chapter.comparison.recommended_first
        if arm.label in found
    ]


def _class_table(label: str, scores: Sequence[ClassScore], counted: Counted) -> Table:
    """Of too many classes the largest, in their order."""
    largest = sorted(scores, key=lambda score: -score.rows)[:MOST_CLASSES]
    rows = [
        Row(
            [
                Cell(score.label),
                _count(score.rows),
                number(score.recall, "{:.1f}", shown=100),
                number(score.precision, "{:.1f}", shown=100),
                number(score.f1, "{:.1f}", shown=100),
            ]
        )
        for score in scores
        if score in largest
    ]
    note = words.CLASSES_CUT.format(shown=len(rows), total=len(scores)) if len(rows) < len(scores) else None
    title = words.BY_CLASS[counted].format(label=label)
    return Table(title, [*words.CLASS_COLUMNS[counted], words.CLASS_F1], rows, note)


def tagging_table(chapter: Chapter, colours: Mapping[str, str]) -> Table | None:
    """Tokens that training had and others, whole sentences, and what the scheme of entities forbids."""
    found = chapter.differences.tagging
    if found is None:
        return None
    columns = dict(words.TAGGING_COLUMNS)
    if found.scheme is None:
        del columns["illegal"]
    if not found.unseen:
        del columns["unseen"]
    scores, baselines = {one.arm: one for one in found.arms}, {arm.label for arm in chapter.comparison.baselines}
    rows = []
    for arm in chapter.comparison.recommended_first:
        if arm.label not in scores:
            continue
        one = scores[arm.label]
        cells = {
            "model": Cell(arm.label),
            "seen": _score(one.seen, "percent"),
            "unseen": _score(one.unseen, "percent"),
            "whole": _score(one.whole, "percent"),
            "illegal": number(one.illegal, "{:,.0f}" if (one.illegal or 0) % 1 == 0 else "{:,.1f}"),
        }
        chosen = arm.label == chapter.comparison.verdict.recommended
        shown = [cells[name] for name in columns]
        rows.append(arm_row(shown, colours.get(arm.label), chosen, arm.label in baselines, best=False))
    gaps = {"scheme": found.scheme or "", "sentences": f"{found.sentences:,}", "tokens": f"{found.tokens:,}"}
    unseen = {"unseen": f"{found.unseen:,}", "share": percent_text(found.unseen / found.tokens)}
    note = words.TAGGING_NOTE.format(**gaps, **unseen)
    return Table(words.TAGGING, [column.format(**gaps) for column in columns.values()], rows, note)


def hearing_table(chapter: Chapter, colours: Mapping[str, str]) -> Table | None:
    """Of recognisers: what is wrong, and how much of it by the number of words."""
    found = chapter.differences.hearing
    if found is None:
        return None
    scores, baselines = {one.arm: one for one in found.arms}, {arm.label for arm in chapter.comparison.baselines}
    numbers = sorted(sorted(found.counts, key=lambda said: -found.counts[said])[:MOST_COUNTS])
    rows = []
    for arm in chapter.comparison.recommended_first:
        if arm.label not in scores:
            continue
        one = scores[arm.label]
        cells = [Cell(arm.label), *(_score(share, "percent") for share in (one.changed, one.missed, one.added))]
        cells += [_score(one.by_words.get(said), "percent") for said in numbers]
        chosen = arm.label == chapter.comparison.verdict.recommended
        rows.append(arm_row(cells, colours.get(arm.label), chosen, arm.label in baselines, best=False))
    columns = [words.HEARING_COLUMNS[name] for name in ("model", "changed", "missed", "added")]
    columns += [words.HEARING_WORDS.format(words=number, rows=f"{found.counts[number]:,}") for number in numbers]
    note = words.HEARING_NOTE.format(rows=f"{found.rows:,}", words=f"{found.words:,}")
    return Table(words.HEARING, columns, rows, note)


def beam_table(chapter: Chapter, colours: Mapping[str, str]) -> Table | None:
    """Of translators: what a beam is worth to each network."""
    found = chapter.differences.translated
    if found is None or not found.beams or found.beam == 1:
        return None
    unit = IN_POINTS if found.unit != "number" else ""
    gaps = {"score": metric_text(found.score), "beam": found.beam, "unit": unit}
    gaps["percent"] = words.PERCENT if found.unit == "percent" else ""
    gains, rows = {one.arm: one for one in found.beams}, []
    for arm in chapter.comparison.recommended_first:
        if arm.label not in gains:
            continue
        one = gains[arm.label]
        low, high = (_signed(end, found.unit) for end in (one.gain.low, one.gain.high))
        cells = [
            Cell(arm.label),
            _score(one.beam.mean, found.unit),
            _score(one.greedy.mean, found.unit),
            Cell(_signed(one.gain.mean, found.unit), one.gain.mean),
            Cell(f"{low} – {high}", one.gain.low),
        ]
        chosen = arm.label == chapter.comparison.verdict.recommended
        rows.append(arm_row(cells, colours.get(arm.label), chosen, baseline=False, best=False))
    columns = [column.format(**gaps) for column in words.BEAM_COLUMNS.values()]
    return Table(words.BEAMS.format(beam=found.beam), columns, rows, words.BEAMS_NOTE)


def _signed(value: float, unit: str) -> str:
    """``+1.2``, ``−0.3``; there is no minus zero."""
    return (f"{value:+z.4f}" if unit == "number" else f"{100 * value:+z.1f}").replace("-", "−")


def evidence_table(comparison: Comparison) -> Table | None:
    verdict = comparison.verdict
    if not verdict.differences:
        return None
    margin, unit = margin_text(verdict), "" if verdict.unit == "number" else IN_POINTS
    columns = [column.format(margin=margin, unit=unit) for column in words.EVIDENCE_COLUMNS.values()]
    rows = [
        Row(
            [
                Cell(gap.better),
                Cell(gap.worse),
                Cell(CALLS[gap.call]),
                Cell(_gap(verdict, gap.mean), value=gap.mean),
                Cell(f"{_gap(verdict, gap.low)} – {_gap(verdict, gap.high)}", value=gap.low),
                Cell(plain(gap.p_holm), value=gap.p_holm),
                *_chances(gap),
            ]
        )
        for gap in verdict.differences
    ]
    luck = "split" if "split" in verdict.luck else "rows"
    return Table(words.EVIDENCE, columns, rows, words.LUCK[luck])


def _gap(verdict: Verdict, difference: float) -> str:
    """In points, or in the score's own unit; there is no minus zero."""
    text = score_text(verdict, difference)
    return text.lstrip("-") if not float(text) else text.replace("-", "−")


def _chances(gap: Difference) -> list[Cell]:
    """In whole percents that add up to 100, as the sentence has them; none where the luck of seeds is unknown."""
    if not gap.known:
        return [EMPTY] * 3
    better, _, worse = (round(100 * chance) for chance in gap.chances)
    shown = (better, max(0, 100 - better - worse), worse)
    return [Cell(str(percent), value=chance) for percent, chance in zip(shown, gap.chances, strict=True)]


def terms_table(chapter: Chapter, colours: Mapping[str, str]) -> Table:
    """How it was trained."""
    other = "evaluations" if chapter.learning.rounds == "epoch" else "epochs"
    columns = [column for name, column in words.TERMS_COLUMNS.items() if name != other]
    return Table(words.FAIRNESS, columns, [_terms_row(term, colours) for term in chapter.terms])


def _terms_row(term: Terms, colours: Mapping[str, str]) -> Row:
    least, most = term.epochs or (0, 0)
    cells = [
        Cell(term.arm),
        EMPTY if term.baseline else number(term.settings_tried),
        Cell(str(most) if least == most else f"{least}–{most}", value=most) if term.epochs else EMPTY,
        Cell(duration(term.seconds), value=term.seconds) if term.seconds else EMPTY,
        Cell(_reasons(term.stopping)),
    ]
    return Row(cells, "baseline" if term.baseline else None, colour=colours.get(term.arm))


def size_table(chapter: Chapter, colours: Mapping[str, str]) -> Table:
    """What a model is made of, how much it computes, how fast, and in how much memory."""
    length = next((term.flops_length for term in chapter.terms if term.flops is not None), 0)
    step = TimeUnit.of(term.advance_seconds for term in chapter.terms)
    known = {"step": any(term.advance_seconds is not None for term in chapter.terms)}
    columns = {name: column for name, column in words.SIZE_COLUMNS.items() if known.get(name, True)}
    arms = {arm.label: arm for arm in chapter.comparison.ranking}
    rows = []
    for term in chapter.terms:
        arm = arms.get(term.arm)
        cells = {
            "model": Cell(term.arm),
            **{name: _count(term.parameters.get(name)) for name in ("total", "embedding", "encoder", "head")},
            "flops": _count(term.flops),
            "tokens": _count(arm and arm.tokens_per_second),
            "step": time_cell(term.advance_seconds, step),
            "memory": number(arm and arm.peak_memory_mb, "{:.0f}"),
        }
        mark = "baseline" if term.baseline else None
        rows.append(Row([cells[name] for name in columns], mark, colour=colours.get(term.arm)))
    return Table(words.SIZE, [c.format(length=length, unit=step.name) for c in columns.values()], rows)


def _reasons(stopping: Mapping[str, int]) -> Both:
    """``all epochs done (2), diverged (1)``; a single reason without its number."""
    if len(stopping) == 1:
        return words.STOPPING[next(iter(stopping))]
    return listed(
        [both("{reason} ({count})", reason=words.STOPPING[name], count=runs) for name, runs in stopping.items()],
        "comma",
    )


def tuning_table(tuning: Tuning, colours: Mapping[str, str]) -> Table:
    """The settings that were chosen."""
    note = words.TUNING_NOTE.format(trials=tuning.trials, rows=f"{tuning.rows:,}", seed=tuning.seed)
    rows = [_tuned_row(arm, tuning, colours) for arm in tuning.arms]
    return Table(words.TUNING, list(words.TUNING_COLUMNS.values()), rows, note)


def _tuned_row(arm: TunedArm, tuning: Tuning, colours: Mapping[str, str]) -> Row:
    return Row(
        [
            Cell(arm.label),
            Cell(setting_text(arm.setting) if arm.searched else words.NOTHING_TUNED),
            number(len(arm.trials)),
            number(sum(trial.status == "stopped" for trial in arm.trials)),
            Cell(tuned_text(arm.default.score, tuning.metric), value=arm.default.score),
            Cell(tuned_text(arm.best.score, tuning.metric), value=arm.best.score),
        ],
        mark="baseline" if arm.baseline else None,
        badge=words.DEFAULT_SETTING if arm.chosen == 0 and arm.searched else None,
        colour=colours.get(arm.label),
    )


def _score(value: float | None, unit: str) -> Cell:
    return number(value, "{:.4f}") if unit == "number" else number(value, "{:.1f}", shown=100)


def _count(value: float | None) -> Cell:
    return EMPTY if value is None else Cell(count(value), value=value)
