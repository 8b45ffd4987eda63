"""What a claim's verdict rests on, in words: figures with their units, reasons and notes."""

from collections.abc import Sequence

from rnnlab.claims.evidence import Note
from rnnlab.claims.quantities import Unit
from rnnlab.claims.verdicts import Finding
from rnnlab.core.words import CLAUSES, STOPS, Both, both, capitalised, joined, plural, same

VERDICTS = {
    "supported": both("supported"),
    "contradicted": both("contradicted"),
    "cannot tell": both("cannot tell"),
}
UNITS = {
    "points": both("{value} points"),
    "times": both("×{value}"),
    "seconds": both("{value} s"),
    "steps": both("{value} steps"),
    "epochs": both("{value} epochs"),
    "megabytes": both("{value} MB"),
    "parameters": both("{value} parameters"),
    "tokens": both("{value} tokens/s"),
    "number": both("{value}"),
    "share": both("{value} %"),
}
NOTES = {
    "not run": both("the study '{study}' has not been run"),
    "no point": both("the study '{study}' has no runs at {where}"),
    "unpaired": both("one side has no runs at {where}"),
    "no value": both("no run of {point} has '{quantity}' ({states})"),
    "incomplete": both("no seed has '{quantity}' at every setting ({states})"),
    "no target": both("the study '{study}' has no target to reach"),
    "never arrived": both("no run reached the target, so there is no saying when it would have"),
    "both capped": both("on both sides some runs never reached the target, so the truth may be larger or smaller"),
    "censored": both(
        "runs that never reached the target decide it: their values are larger than the cap, and "
        "how much larger isn't known"
    ),
    "order unknown": both(
        "runs that never reached the target may come before or after others, so the order along {axis} isn't known"
    ),
    "all diverged": both("every run diverged"),
    "not positive": both("a ratio needs '{quantity}' above 0 in every run"),
    "few values": both("{values} values of {axis} are too few, or not all were run"),
    "unreadable": both("{reason}"),
    "rows by seed": both("the test rows differ from seed to seed"),
    "one seed": both("a single seed doesn't show how much is chance"),
    "one seed rows": both("one seed: the interval is from the test rows alone, and how much runs differ isn't known"),
    "no spread": both("all {seeds} seeds gave the same value, so how much runs differ isn't known"),
    "both sides": both("the interval has values on both sides of the rule ({rule})"),
    "draws": both("the seeds don't agree enough on the winner (95 % of the draws would decide)"),
    "capped": both("{capped} of {runs} runs never reached the target; they count with the cap, {cap} steps"),
    "none arrived": both(
        "{capped} of {runs} runs never reached the target: each is known to need more than {cap} steps"
    ),
    "cut short": both(
        "{capped} of {runs} runs never reached the target; they count with the last step at which "
        "they were evaluated, {least} or later"
    ),
    "any order": both("the interval holds every order that the runs which never arrived may have"),
    "unused": both("{unused} of {runs} runs ({states}) are not compared: only seeds with a value at every setting are"),
    "silent": both("{unused} of {runs} runs ({states}) neither finished nor diverged and aren't counted"),
    "lost": both("can't win, because every run diverged: {axis} {values}"),
    "other rows": both("the settings have different test rows; their errors are taken as independent"),
    "paired shares": both("interval of {pairs} pairs of runs, taken as independent"),
    "independent shares": both(
        "the runs of the two sides can't be paired one to one; all of them count, as independent"
    ),
    "rounded": both(
        "a good part of the interval's width is the distance between two evaluations (or one validation row)"
    ),
    "exact": both("the same in every run, by construction"),
    "spearman": both("Spearman's rank correlation with {axis} over {values} values, mean of the seeds"),
}
_SHOWN = 3  # winners named
_MENTIONED = 0.005  # of the draws


def verdict_word(finding: Finding) -> Both:
    return VERDICTS[finding.verdict]


def note_text(note: Note) -> Both:
    return NOTES[note.kind].format(**note.gaps)


def sentence(finding: Finding) -> Both:
    """The verdict with its figures, and why there is no telling; notes are told apart."""
    shown, verdict = measured(finding), capitalised(verdict_word(finding))
    seeds = len(finding.seeds)
    if shown:
        said = plural(
            "{verdict}: {measured}, {count} seed",
            "{verdict}: {measured}, {count} seeds",
            seeds,
            verdict=verdict,
            measured=shown,
        )
    else:
        said = verdict
    parts = [said, *([capitalised(note_text(finding.reason))] if finding.reason else [])]
    return both("{sentences}.", sentences=joined(parts, STOPS))


def measured(finding: Finding) -> Both:
    """What was measured, with its interval; empty when nothing could be."""
    claim = finding.claim
    if claim.measure == "best":
        return _winners(finding)
    if finding.value is None or (finding.low is None and finding.high is None):
        return both("{a} against {b}", **_two_sides(finding)) if finding.sides else same("")
    ends = (finding.value, finding.low, finding.high)
    if claim.measure == "share" and finding.counts:
        hits, runs = finding.counts
        return both("{hits} of {runs} runs: {interval}", hits=hits, runs=runs, interval=_interval(ends, "share"))
    if claim.measure == "trend":
        span = _span(ends, [_decimals(end) for end in ends], UNITS["number"])
        return both("rank correlation {interval}", interval=span)
    if claim.measure == "ratio":
        shown = _span(ends, [_digits(end) for end in ends], UNITS["times"])
    elif claim.measure == "difference":
        shown = _interval(ends, claim.parsed_quantity.unit, signed=True)
    else:
        return _interval(ends, claim.parsed_quantity.unit)
    return (
        shown if finding.sides is None else both("{a} against {b}: {interval}", **_two_sides(finding), interval=shown)
    )


def _two_sides(finding: Finding) -> dict[str, Both]:
    """The means of a and b, or how many of how many runs."""
    assert finding.sides is not None
    if finding.counts and finding.counts_b:
        a, b = (
            both("{hits} of {runs} runs", hits=hits, runs=runs) for hits, runs in (finding.counts, finding.counts_b)
        )
        return {"a": a, "b": b}
    unit = finding.claim.parsed_quantity.unit
    a, b = (UNITS[unit].format(value=_figure(side, unit)) for side in finding.sides)
    if finding.capped[0]:
        a = both("more than {value}", value=a)
    if finding.capped[1]:
        b = both("more than {value}", value=b)
    return {"a": a, "b": b}


Ends = tuple[float, float | None, float | None]  # value, low and high, of which one may be open


def _interval(ends: Ends, unit: Unit, signed: bool = False) -> Both:
    """The unit once, behind the value: ``+4.4 points (3.1 to 5.7)``."""
    known = tuple(end for end in ends if end is not None)
    figures = [None if end is None else _figure(end, unit, known) for end in ends]
    if signed:
        figures = [None if figure is None else _signed(figure) for figure in figures]
    return _span(ends, figures, UNITS["points" if signed and unit == "share" else unit])


def _span(ends: Ends, figures: Sequence[str | None], unit: Both) -> Both:
    """The value in its unit, with the interval, or with the one end of it that is known."""
    value, low, high = ends
    shown = unit.format(value=figures[0])
    if low is None:
        return both("less than {value} ({high} or less)", value=shown, high=figures[2])
    if high is None and low == value:
        return both("more than {value}", value=shown)
    if high is None:  # runs that never arrived leave the other end open
        return both("more than {value} ({low} or more)", value=shown, low=figures[1])
    if low == value == high:
        return shown
    return both("{value} ({low} to {high})", value=shown, low=figures[1], high=figures[2])


def _decimals(value: float | None) -> str | None:
    return None if value is None else _signed(f"{value:.2f}")


def _digits(value: float | None) -> str | None:
    return None if value is None else f"{value:.3g}"


def _figure(value: float, unit: Unit, beside: tuple[float, ...] = ()) -> str:
    """As many digits as people read; figures that stand beside each other have the same number of decimals."""
    if unit == "share":
        return f"{round(100 * value, 1) + 0.0:.1f}"
    if unit in ("steps", "parameters", "tokens", "megabytes"):
        return f"{round(value) + 0:,}"
    if unit == "epochs":
        return f"{round(value, 1) + 0.0:.1f}"
    largest = max(abs(value), *map(abs, beside), 0.0) if beside else abs(value)
    decimals = 2 if largest >= 1 else 3 if largest >= 0.1 else 5
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def _signed(figure: str) -> str:
    if figure.startswith("-"):
        return f"−{figure[1:]}"
    return f"+{figure}" if figure.strip("0.,") else figure


def _winners(finding: Finding) -> Both:
    if not finding.winners or finding.value is None:
        return same("")
    named = [won for won in finding.winners[:_SHOWN] if won[1] >= _MENTIONED]
    first, *others = (
        both("{value} (first in {share} of draws)", value=value, share=_percent(share)) for value, share in named
    )
    within = _percent(finding.value)
    if not others:
        return both("{first}; within the rule: {share}", first=first, share=within)
    others = joined(others, CLAUSES)
    return both("{first}, then {others}; within the rule: {share}", first=first, others=others, share=within)


def _percent(share: float) -> Both:
    return UNITS["share"].format(value=f"{100 * share:.0f}")
