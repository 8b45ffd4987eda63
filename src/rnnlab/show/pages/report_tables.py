"""The tables of the report page. Cells show rounded figures and carry the exact ones, by which they are sorted."""

from collections.abc import Mapping, Sequence

from rnnlab.comparing.chapters import Chapter, Terms
from rnnlab.comparing.comparison import ArmSummary, Comparison
from rnnlab.comparing.tuning import TunedArm, Tuning
from rnnlab.core.numbers import count, duration, interval_text
from rnnlab.core.terms import metric_text
from rnnlab.core.words import Both, both, listed, same
from rnnlab.judging.findings import Difference
from rnnlab.show.judge_texts import CALLS
from rnnlab.show.pages import report_texts as words
from rnnlab.show.pages.table import EMPTY, Cell, Row, Table, arm_row, number
from rnnlab.show.tuning_texts import score_text, setting_text


def score_table(comparison: Comparison, colours: Mapping[str, str]) -> Table:
    """A row per arm or baseline, the best first: the figures of `compare --json`."""
    every = comparison.ranking
    epochs = all(arm.epoch_seconds is not None or arm.step_seconds is None for arm in comparison.arms)
    latency = any(arm.row_seconds is not None for arm in every)
    verdict = comparison.verdict
    names = ["model", "accuracy" if verdict.unit == "percent" else "score", "interval"]
    names += ["failed"] if verdict.failures else []
    names += ["seen", "unseen"] if comparison.seen_matters else []
    names += [comparison.beside.name if comparison.beside.name in words.COLUMNS else "beside"]
    names += ["epoch_seconds" if epochs else "step_seconds", *(["row_seconds"] if latency else [])]
    names += ["tokens_per_second", "best_epoch" if epochs else "best_evaluation", "parameters", "memory", "runs"]
    metric = both("accuracy") if verdict.metric == "accuracy" else same(verdict.metric)
    gaps = {"metric": metric, "beside": metric_text(comparison.beside.title), "level": f"{100 * (1 - verdict.alpha):g}"}
    columns = [words.COLUMNS[name].format(**gaps) for name in names]
    rows = [_score_row(comparison, arm, names, colours) for arm in every]
    seeds = max((len(arm.runs) for arm in comparison.arms), default=0)
    note = words.ONE_SEED_NOTE if seeds == 1 else words.TABLE_NOTE.format(seeds=seeds, margin=_margin(comparison))
    return Table(words.SECTIONS["table"], columns, rows, note)


def _score_row(comparison: Comparison, arm: ArmSummary, names: Sequence[str], colours: Mapping[str, str]) -> Row:
    verdict, beside = comparison.verdict, comparison.beside
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
        "epoch_seconds": number(arm.epoch_seconds, "{:.2f}"),
        "step_seconds": number(arm.step_seconds, "{:.1f}", shown=1000),
        "row_seconds": number(arm.row_seconds, "{:.2g}", shown=1000),
        "tokens_per_second": _count(arm.tokens_per_second),
        **dict.fromkeys(
            ("best_epoch", "best_evaluation"), number(arm.best_epoch, "{:.0f}+" if arm.cut_short else "{:.0f}")
        ),
        "parameters": _count(arm.parameters),
        "memory": number(arm.peak_memory_mb, "{:.0f}"),
        "runs": Cell(f"{finished}/{len(arm.runs)}", value=finished),
        "failed": Cell(f"{len(arm.failed_seeds)}/{len(arm.runs)}", value=len(arm.failed_seeds))
        if arm.failed_seeds
        else EMPTY,
    }
    chosen, baseline = arm.label == verdict.recommended, arm in comparison.baselines
    return arm_row([cells[name] for name in names], colours.get(arm.label), chosen, baseline, arm.in_best_group)


def evidence_table(comparison: Comparison) -> Table | None:
    verdict = comparison.verdict
    if not verdict.differences:
        return None
    columns = [column.format(margin=_margin(comparison)) for column in words.EVIDENCE_COLUMNS.values()]
    rows = [
        Row(
            [
                Cell(gap.better),
                Cell(gap.worse),
                Cell(CALLS[gap.call]),
                Cell(_points(gap.mean), value=gap.mean),
                Cell(f"{_points(gap.low)} – {_points(gap.high)}", value=gap.low),
                Cell(f"{gap.p_holm:.2g}", value=gap.p_holm),
                *_chances(gap),
            ]
        )
        for gap in verdict.differences
    ]
    luck = "split" if "split" in verdict.luck else "rows"
    return Table(words.EVIDENCE, columns, rows, words.LUCK[luck])


def _points(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f}".replace("-", "−")  # + 0.0: there is no minus zero


def _chances(gap: Difference) -> list[Cell]:
    """In whole percents that add up to 100, as the sentence has them; none where the luck of seeds is unknown."""
    if not gap.known:
        return [EMPTY] * 3
    better, _, worse = (round(100 * chance) for chance in gap.chances)
    shown = (better, max(0, 100 - better - worse), worse)
    return [Cell(str(percent), value=chance) for percent, chance in zip(shown, gap.chances, strict=True)]


def _margin(comparison: Comparison) -> str:
    return f"{100 * comparison.verdict.margin:.1f}"


def terms_table(chapter: Chapter, colours: Mapping[str, str]) -> Table:
    length = next((term.flops_length for term in chapter.terms if term.flops is not None), 0)
    other = "evaluations" if chapter.learning.rounds == "epoch" else "epochs"
    columns = [column.format(length=length) for name, column in words.TERMS_COLUMNS.items() if name != other]
    return Table(words.FAIRNESS, columns, [_terms_row(term, colours) for term in chapter.terms])


def _terms_row(term: Terms, colours: Mapping[str, str]) -> Row:
    least, most = term.epochs or (0, 0)
    return Row(
        [
            Cell(term.arm),
            *(_count(term.parameters.get(name)) for name in ("total", "embedding", "encoder", "head")),
            _count(term.flops),
            number(None if term.advance_seconds is None else 1000 * term.advance_seconds, "{:.2g}"),
            EMPTY if term.baseline else number(term.settings_tried),
            Cell(_reasons(term.stopping)),
            Cell(str(most) if least == most else f"{least}–{most}", value=most) if term.epochs else EMPTY,
            Cell(duration(term.seconds), value=term.seconds) if term.seconds else EMPTY,
        ],
        mark="baseline" if term.baseline else None,
        colour=colours.get(term.arm),
    )


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
            Cell(score_text(arm.default.score, tuning.metric), value=arm.default.score),
            Cell(score_text(arm.best.score, tuning.metric), value=arm.best.score),
        ],
        mark="baseline" if arm.baseline else None,
        badge=words.DEFAULT_SETTING if arm.chosen == 0 and arm.searched else None,
        colour=colours.get(arm.label),
    )


def _score(value: float | None, unit: str) -> Cell:
    return number(value, "{:.1f}", shown=100) if unit == "percent" else number(value, "{:.4f}")


def _count(value: float | None) -> Cell:
    return EMPTY if value is None else Cell(count(value), value=value)
