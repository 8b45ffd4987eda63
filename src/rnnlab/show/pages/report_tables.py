"""The tables of the report page. Cells show rounded figures and carry the exact ones, by which they are sorted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rnnlab.comparing.chapters import Chapter, Terms
from rnnlab.comparing.comparison import ArmSummary, Comparison
from rnnlab.core.numbers import count, duration, interval_text
from rnnlab.core.terms import metric_text
from rnnlab.core.words import Both, both, listed, same
from rnnlab.judging.findings import Difference
from rnnlab.show.pages import report_texts as words
from rnnlab.show.pages.table import Cell, Column, Row

EMPTY = Cell("")


@dataclass(frozen=True)
class PageTable:
    name: Both
    columns: Sequence[Column]
    rows: Sequence[Row]
    note: Both | None = None


def score_table(comparison: Comparison, colours: Mapping[str, str]) -> PageTable:
    """A row per arm or baseline, the best first: the figures of `compare --json`."""
    every = comparison.ranking
    epochs = all(arm.epoch_seconds is not None or arm.step_seconds is None for arm in comparison.arms)
    latency = any(arm.row_seconds is not None for arm in every)
    verdict = comparison.verdict
    names = [
        "model",
        "accuracy" if verdict.unit == "percent" else "score",
        "interval",
        *(["failed"] if verdict.failures else []),
    ]
    names += ["seen", "unseen"] if comparison.seen_matters else []
    names += [comparison.beside.name if comparison.beside.name in words.COLUMNS else "beside"]
    names += ["epoch_seconds" if epochs else "step_seconds", *(["row_seconds"] if latency else [])]
    names += ["tokens_per_second", "best_epoch" if epochs else "best_evaluation", "parameters", "memory", "runs"]
    metric = both("accuracy") if verdict.metric == "accuracy" else same(verdict.metric)
    gaps = {"metric": metric, "beside": metric_text(comparison.beside.title), "level": f"{100 * (1 - verdict.alpha):g}"}
    columns = [_column(words.COLUMNS[name], number=name != "model", **gaps) for name in names]
    rows = [_score_row(comparison, arm, names, colours) for arm in every]
    seeds = max((len(arm.runs) for arm in comparison.arms), default=0)
    note = words.ONE_SEED_NOTE if seeds == 1 else words.TABLE_NOTE.format(seeds=seeds, margin=_margin(comparison))
    return PageTable(words.SECTIONS["table"], columns, rows, note)


def _score_row(comparison: Comparison, arm: ArmSummary, names: Sequence[str], colours: Mapping[str, str]) -> Row:
    verdict = comparison.verdict
    beside = comparison.beside
    finished = sum(run.status == "finished" for run in arm.runs)
    cells = {
        "model": Cell(f"{arm.label} *" if arm.in_best_group else arm.label, value=arm.label),
        **dict.fromkeys(("accuracy", "score"), _score(arm.score and arm.score.mean, verdict.unit)),
        "interval": Cell(interval_text(arm.score.low, arm.score.high, verdict.unit), value=arm.score.low)
        if arm.score
        else EMPTY,
        **{
            part: _score(arm.by_seen[part].score if part in arm.by_seen else None, verdict.unit)
            for part in ("seen", "unseen")
        },
        **dict.fromkeys(("beside", beside.name), _score(arm.scores.get(beside.name), beside.unit)),
        "epoch_seconds": _number(arm.epoch_seconds, "{:.2f}"),
        "step_seconds": _number(arm.step_seconds, "{:.1f}", shown=1000),
        "row_seconds": _number(arm.row_seconds, "{:.2g}", shown=1000),
        "tokens_per_second": _count(arm.tokens_per_second),
        "best_epoch": _number(arm.best_epoch, "{:.0f}+" if arm.cut_short else "{:.0f}"),
        "best_evaluation": _number(arm.best_epoch, "{:.0f}+" if arm.cut_short else "{:.0f}"),
        "parameters": _count(arm.parameters),
        "memory": _number(arm.peak_memory_mb, "{:.0f}"),
        "runs": Cell(f"{finished}/{len(arm.runs)}", value=finished),
        "failed": Cell(f"{len(arm.failed_seeds)}/{len(arm.runs)}", value=len(arm.failed_seeds))
        if arm.failed_seeds
        else EMPTY,
    }
    baseline = arm in comparison.baselines
    chosen = arm.label == verdict.recommended
    return Row(
        cells=[cells[name] for name in names],
        mark="recommended" if chosen else "baseline" if baseline else "best" if arm.in_best_group else None,
        badge=both("recommended") if chosen else both("baseline") if baseline else None,
        colour=colours.get(arm.label),
    )


def evidence_table(comparison: Comparison) -> PageTable | None:
    verdict = comparison.verdict
    if not verdict.differences:
        return None
    gaps = {"margin": _margin(comparison)}
    columns = [
        _column(texts, number=name not in ("better", "worse", "call"), **gaps)
        for name, texts in words.EVIDENCE_COLUMNS.items()
    ]
    rows = [
        Row(
            [
                Cell(gap.better),
                Cell(gap.worse),
                Cell(words.CALLS[gap.call]),
                Cell(_points(gap.mean), value=gap.mean),
                Cell(f"{_points(gap.low)} – {_points(gap.high)}", value=gap.low),
                Cell(f"{gap.p_holm:.2g}", value=gap.p_holm),
                *_chances(gap),
            ]
        )
        for gap in verdict.differences
    ]
    return PageTable(words.EVIDENCE, columns, rows, _luck_note(comparison))


def _points(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f}".replace("-", "−")  # + 0.0: there is no minus zero


def _chances(gap: Difference) -> list[Cell]:
    """In whole percents that add up to 100, as the sentence has them; none where the luck of seeds is unknown."""
    if not gap.known:
        return [EMPTY] * 3
    better, _, worse = (round(100 * chance) for chance in gap.chances)
    shown = (better, max(0, 100 - better - worse), worse)
    return [Cell(str(percent), value=chance) for percent, chance in zip(shown, gap.chances, strict=True)]


def _luck_note(comparison: Comparison) -> Both:
    """Which sources of luck the intervals count, and which they don't."""
    return words.LUCK["split" if "split" in comparison.verdict.luck else "rows"]


def _margin(comparison: Comparison) -> str:
    return f"{100 * comparison.verdict.margin:.1f}"


def terms_table(chapter: Chapter, colours: Mapping[str, str]) -> PageTable:
    length = next((term.flops_length for term in chapter.terms if term.flops is not None), 0)
    rounds = "epochs" if chapter.learning.rounds == "epoch" else "evaluations"
    names = [
        "model",
        "parameters",
        "embedding",
        "encoder",
        "head",
        "flops",
        "step",
        "tried",
        "stopping",
        rounds,
        "time",
    ]
    columns = [
        _column(words.TERMS_COLUMNS[name], number=name not in ("model", "stopping"), length=length) for name in names
    ]
    rows = [_terms_row(term, colours) for term in chapter.terms]
    return PageTable(words.FAIRNESS, columns, rows)


def _terms_row(term: Terms, colours: Mapping[str, str]) -> Row:
    parts = term.parameters
    least, most = term.epochs or (0, 0)
    reasons = [words.STOPPING[name] for name in term.stopping]
    counts = list(term.stopping.values())
    stopping = _joined(reasons, counts)
    return Row(
        [
            Cell(term.arm),
            *(_count(parts.get(name)) for name in ("total", "embedding", "encoder", "head")),
            _count(term.flops),
            _milliseconds(term.advance_seconds),
            Cell(str(term.settings_tried), value=term.settings_tried) if not term.baseline else EMPTY,
            Cell(stopping),
            Cell(str(most) if least == most else f"{least}–{most}", value=most) if term.epochs else EMPTY,
            Cell(duration(term.seconds), value=term.seconds) if term.seconds else EMPTY,
        ],
        mark="baseline" if term.baseline else None,
        colour=colours.get(term.arm),
    )


def _milliseconds(seconds: float | None) -> Cell:
    return EMPTY if seconds is None else Cell(f"{1000 * seconds:.2g}", value=1000 * seconds)


def _joined(reasons: Sequence[Both], counts: Sequence[int]) -> Both:
    """``all epochs done (2), diverged (1)``; a single reason without its number."""
    if len(reasons) == 1:
        return reasons[0]
    return listed(
        [both("{reason} ({count})", reason=one, count=number) for one, number in zip(reasons, counts, strict=True)],
        "comma",
    )


def _column(texts: tuple[Both, Both], number: bool, **gaps: object) -> Column:
    name, explained = texts
    return Column(name.format(**gaps), explained.format(**gaps), number)


def _score(value: float | None, unit: str) -> Cell:
    return _number(value, "{:.1f}", shown=100) if unit == "percent" else _number(value, "{:.4f}")


def _count(value: float | None) -> Cell:
    return EMPTY if value is None else Cell(count(value), value=value)


def _number(value: float | None, form: str, shown: float = 1) -> Cell:
    """``value`` itself is what it is sorted by; ``shown`` times as much is shown."""
    return EMPTY if value is None else Cell(form.format(shown * value), value=value)
