"""What the report page says of forecasters beside the charts: sentences and tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rnnlab.comparing.chapters import Chapter
from rnnlab.comparing.forecasted import FAR_OFF, ArmSkill, Forecasted, PartScore
from rnnlab.core.numbers import percent_text
from rnnlab.core.words import Both, both, listed
from rnnlab.judging.findings import Estimate
from rnnlab.show.pages.table import EMPTY, Cell, Column, Row, Table, arm_row, number

MOST_PARTS, SHOWN_PARTS = 12, 5  # of more parts, so many of the best and of the worst
WORTH_SAYING = 0.1  # a correlation

SKILLS = both("Skill over the seasonal naive forecast")
SKILLS_NOTE = both(
    "Skill is by how much the errors (MASE) are below those of the seasonal naive forecast, which repeats the last "
    "season: 0 is as good, below 0 is worse.{intervals}"
)
SKILLS_INTERVALS = both(" Intervals count the luck of the seeds and of blocks of windows.")
SKILL_COLUMNS = {
    "model": Column(both("model"), both("Grey: a baseline."), number=False),
    "mase": Column(
        both("MASE"), both("Mean error, in units of the seasonal naive forecast's mean error before the test part.")
    ),
    "skill": Column(both("skill, %"), both("1 − MASE / MASE of the seasonal naive forecast.")),
    "interval": Column(both("95 % interval"), both("Of the skill, by the luck of seeds and blocks.")),
    "coverage": Column(
        both("within the quantiles, %"),
        both("The share of values between the outermost quantiles, which should be {nominal} %."),
    ),
    "covered": Column(both("95 % interval"), both("Of that share.")),
}
OVERLAPS = both("What windows that overlap would have made believe")
OVERLAPS_NOTE = both(
    "Both intervals count the luck of the test windows alone. Test windows: {windows}, in {blocks} blocks of a horizon "
    "each: windows that overlap ask for the same steps, so that each isn't a new witness."
)
OVERLAP_COLUMNS = {
    "model": Column(both("model"), both("Grey: a baseline."), number=False),
    "mase": Column(both("MASE"), both("The mean of all finished runs.")),
    "blocks": Column(both("95 % interval by blocks"), both("As it is.")),
    "windows": Column(both("as if windows were independent"), both("As it is usually computed.")),
    "ratio": Column(both("times too narrow"), both("How many times as wide the first interval is as the second.")),
}
PARTS = {
    "series": both("By series, {arm}"),
    "channel": both("By channel, {arm}"),
    "both": both("By series and channel, {arm}"),
}
PARTS_NOTE = both("The best run of {arm}.")
KINDS = {"series": both("series"), "channel": both("channels"), "both": both("channels of series")}
PARTS_CUT = both(
    "The best run of {arm}; of {count} {kind}, the {shown} with the most skill and the {shown} with the least."
)
PART_COLUMNS = {
    "name": Column(both("name"), None, number=False),
    "mase": Column(both("MASE of {arm}"), None),
    "naive": Column(both("MASE of the seasonal naive forecast"), None),
    "skill": Column(both("skill, %"), both("1 − the first / the second.")),
    "values": Column(both("values"), both("That were forecast and are known.")),
}
TOO_SHORT = both(
    "The test part is too short to judge: it has {count} blocks of a horizon. So no intervals are shown; what differs "
    "here may be luck."
)
BETTER = both("Errors of {arm} are {skill} below those of the seasonal naive forecast{interval}.")
WORSE = both("Errors of {arm} are {skill} above those of the seasonal naive forecast{interval}.")
BETWEEN = both(" (95 % interval of the skill: {low} to {high})")
NARROW = both(
    "Forecasts of {arm} are too sure: {share} of the values lie within its outer quantiles, and {nominal} should."
)
WIDE = both(
    "Forecasts of {arm} are too cautious: {share} of the values lie within its outer quantiles, and {nominal} should."
)
USUAL = both(
    "If windows that overlap were taken as independent, the interval of {arm} would be {ratio} times too narrow: "
    "{usual} instead of {blocks}."
)
FANS = both("What {arm} forecast, and what came")
FANS_ALL = both("The last windows of the test part that don't overlap, in the units of the file.")
FANS_CHOSEN = both(
    "The last windows of the test part that don't overlap, in the units of the file. Of {count} {kind}, those with the "
    "most, the middling and the least skill are shown."
)
FANS_BANDS = both(" The bands hold {shares} of what it expects.")
WINDOWS = both("Where {ours} and {theirs} differ most")
WINDOWS_NOTE = both(
    "Test windows that don't overlap, with the largest differences of their errors: first those that {ours} forecasts "
    "better, then those that {theirs} does."
)
LEFT_SEASON = both(
    "Errors a season ({season}) apart resemble each other (correlation {value}): some of the season is left to be "
    "learnt."
)
LEFT_NEXT = both(
    "Errors of neighbouring steps resemble each other (correlation {value}): the last errors tell something of the "
    "next, which {arm} doesn't use."
)
LEFT_OTHER = both("Errors {lag} apart resemble each other (correlation {value}).")
LEFT_OPPOSED = both("Errors {lag} apart are opposed to each other (correlation {value}).")
LEFT_LITTLE = both("No correlation is as large as {least}: little is left that depends on the errors before.")
STEPS = both("{count} steps")
STEPS_TIME = both("{count} steps, {time}")


@dataclass(frozen=True)
class ForecastParts:
    """What the template shows of forecasters."""

    said: list[Both]
    skills: Table
    overlaps: Table | None
    fans: Both | None  # the heading, and what is shown
    fans_note: Both
    windows: Both | None
    windows_note: Both
    left: Both | None  # what correlations of errors tell
    parts: Table | None


def forecast_parts(chapter: Chapter, colours: Mapping[str, str]) -> ForecastParts | None:
    found = chapter.differences.forecasted
    if found is None:
        return None
    arms = {"ours": found.ours, "theirs": found.theirs}
    return ForecastParts(
        said=forecast_sentences(found, [arm.label for arm in chapter.comparison.baselines]),
        skills=skill_table(chapter, found, colours),
        overlaps=overlap_table(chapter, found, colours),
        fans=FANS.format(arm=found.ours) if found.fans else None,
        fans_note=fans_note(found),
        windows=WINDOWS.format(**arms) if found.differing else None,
        windows_note=WINDOWS_NOTE.format(**arms),
        left=residual_sentence(found),
        parts=part_table(found),
    )


def forecast_sentences(found: Forecasted, baselines: Collection[str]) -> list[Both]:
    """The most important first."""
    ours = next((one for one in found.skills if one.arm == found.ours), None)
    said = [] if found.enough else [TOO_SHORT.format(count=found.blocks)]
    if ours is not None and ours.skill.mean:
        interval = BETWEEN.format(low=_share(ours.skill.low), high=_share(ours.skill.high)) if found.enough else ""
        text = BETTER if ours.skill.mean > 0 else WORSE
        said.append(text.format(arm=ours.arm, skill=_share(abs(ours.skill.mean)), interval=interval))
    if found.enough:
        said += _about_coverage(found, baselines)
    if ours is not None and found.enough and found.overlap:
        usual, blocks = (f"{one.low:.3f}–{one.high:.3f}" for one in (ours.by_windows, ours.by_blocks))
        said.append(USUAL.format(arm=ours.arm, ratio=f"{ours.too_narrow:.1f}", usual=usual, blocks=blocks))
    return said


def _share(value: float) -> Both:
    return both("{value} %", value=f"{100 * value:.1f}".replace("-", "−"))


def _about_coverage(found: Forecasted, baselines: Collection[str]) -> list[Both]:
    """Of models, and of ours, whose quantiles hold far less or far more than they promise, beyond luck."""
    said, nominal = [], found.nominal
    for one in sorted(found.skills, key=lambda one: one.arm != found.ours):
        share = one.coverage
        if nominal is None or share is None or (one.arm in baselines and one.arm != found.ours):
            continue
        if abs(share.mean - nominal) <= FAR_OFF or share.low <= nominal <= share.high:
            continue
        text = NARROW if share.mean < nominal else WIDE
        said.append(text.format(arm=one.arm, share=percent_text(share.mean), nominal=percent_text(nominal, 0)))
    return said


def residual_sentence(found: Forecasted) -> Both | None:
    left = found.residuals
    if left is None or found.ours is None:
        return None
    values, least = left.correlations, max(WORTH_SAYING, left.band)
    if 1 < left.season <= len(values) and values[left.season - 1] > least:
        return LEFT_SEASON.format(season=_steps(found, left.season), value=f"{values[left.season - 1]:.2f}")
    if values[0] > least:
        return LEFT_NEXT.format(value=f"{values[0]:.2f}", arm=found.ours)
    largest = max(range(len(values)), key=lambda lag: abs(values[lag]))
    if abs(values[largest]) > least:
        value = f"{values[largest]:.2f}".replace("-", "−")
        text = LEFT_OTHER if values[largest] > 0 else LEFT_OPPOSED
        return text.format(lag=_steps(found, largest + 1), value=value)
    return LEFT_LITTLE.format(least=f"{least:.2f}")


def _steps(found: Forecasted, count: int) -> Both:
    if found.spacing is None:
        return STEPS.format(count=count)
    return STEPS_TIME.format(count=count, time=found.spacing.over(count))


def fans_note(found: Forecasted) -> Both:
    note = (
        FANS_ALL
        if len(found.fans) == len(found.parts)
        else FANS_CHOSEN.format(count=len(found.parts), kind=KINDS[_kind(found)])
    )
    levels = found.quantiles
    shares = [percent_text(levels[-1 - at] - levels[at], 0) for at in reversed(range(len(levels) // 2))]
    return both("{note}{bands}", note=note, bands=FANS_BANDS.format(shares=listed(shares)) if shares else "")


def _kind(found: Forecasted) -> str:
    """What the parts are: series, channels, or the channels of several series."""
    series, channels = (len({getattr(part, of) for part in found.parts}) > 1 for of in ("series", "channel"))
    return "both" if series and channels else "series" if series else "channel"


# --- tables -----------------------------------------------------------------------------------------------------------


def skill_table(chapter: Chapter, found: Forecasted, colours: Mapping[str, str]) -> Table:
    names = ["model", "mase", "skill"]
    names += ["interval"] if found.enough else []
    names += [] if found.nominal is None else ["coverage", "covered"] if found.enough else ["coverage"]
    rows = []
    for one in _listed(chapter, found):
        cells = {
            "model": Cell(one.arm),
            "mase": number(one.mase.mean, "{:.4f}"),
            "skill": Cell(_percent(one.skill.mean), one.skill.mean),
            "interval": _interval(one.skill),
            "coverage": EMPTY if one.coverage is None else Cell(_percent(one.coverage.mean), one.coverage.mean),
            "covered": EMPTY if one.coverage is None else _interval(one.coverage),
        }
        rows.append(_row(chapter, one.arm, [cells[name] for name in names], colours))
    note = SKILLS_NOTE.format(intervals=SKILLS_INTERVALS if found.enough else "")
    nominal = "" if found.nominal is None else f"{100 * found.nominal:.0f}"
    return Table(SKILLS, [SKILL_COLUMNS[name].format(nominal=nominal) for name in names], rows, note)


def overlap_table(chapter: Chapter, found: Forecasted, colours: Mapping[str, str]) -> Table | None:
    if not found.enough or not found.overlap:
        return None
    rows = []
    for one in _listed(chapter, found):
        cells = [
            Cell(one.arm),
            number(one.mase.mean, "{:.4f}"),
            *(Cell(f"{of.low:.4f}–{of.high:.4f}", of.low) for of in (one.by_blocks, one.by_windows)),
            number(one.too_narrow, "{:.1f}"),
        ]
        rows.append(_row(chapter, one.arm, cells, colours))
    note = OVERLAPS_NOTE.format(windows=f"{found.windows:,}", blocks=f"{found.blocks:,}")
    return Table(OVERLAPS, list(OVERLAP_COLUMNS.values()), rows, note)


def part_table(found: Forecasted) -> Table | None:
    if len(found.parts) < 2 or found.ours is None:
        return None
    name = PARTS[_kind(found)].format(arm=found.ours)
    shown: Sequence[PartScore] = found.parts
    note = PARTS_NOTE.format(arm=found.ours)
    if len(shown) > MOST_PARTS:
        shown = [*shown[:SHOWN_PARTS], *shown[-SHOWN_PARTS:]]
        note = PARTS_CUT.format(arm=found.ours, count=len(found.parts), kind=KINDS[_kind(found)], shown=SHOWN_PARTS)
    rows = [
        Row(
            [
                Cell(part.name),
                number(part.mase, "{:.3f}"),
                number(part.naive, "{:.3f}"),
                Cell(_percent(part.skill), part.skill),
                Cell(f"{part.values:,}", part.values),
            ]
        )
        for part in shown
    ]
    columns = [column.format(arm=found.ours) for column in PART_COLUMNS.values()]
    return Table(name, columns, rows, note)


def _listed(chapter: Chapter, found: Forecasted) -> list[ArmSkill]:
    """As pages list the arms."""
    skills = {one.arm: one for one in found.skills}
    return [skills[arm.label] for arm in chapter.comparison.recommended_first if arm.label in skills]


def _row(chapter: Chapter, arm: str, cells: Sequence[Cell], colours: Mapping[str, str]) -> Row:
    baseline = any(arm == one.label for one in chapter.comparison.baselines)
    return arm_row(cells, colours.get(arm), arm == chapter.comparison.verdict.recommended, baseline, best=False)


def _percent(share: float) -> str:
    return f"{100 * share:z.1f}".replace("-", "−")


def _interval(found: Estimate) -> Cell:
    return Cell(f"{_percent(found.low)} – {_percent(found.high)}", found.low)
