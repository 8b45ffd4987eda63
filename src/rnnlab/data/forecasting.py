"""From observations to windows: split by time, standardised by what came before, with what is known of the calendar.

A window ends at an *origin*; what is read lies before it, and what is asked at it and after it. The targets of a window
lie in one split alone. What is read may reach back into the split before: it is known by then.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import note
from rnnlab.data.encoded import EncodedData
from rnnlab.data.observations import Observations
from rnnlab.data.observed import Observed, Standardise, mean_and_spread, scales_of
from rnnlab.data.preprocessor import Scaler
from rnnlab.data.sequences import Sequences, offsets_of

MANY = 20  # series from which on the last horizon of each is the test, unless the user says otherwise
SEASONS_BACK = 14  # that are read, unless the user says otherwise
FEWEST_READ = 128  # steps, of series with a season: a day of four steps is part of a week
MOST_READ = 1344  # steps, unless a season is longer or the user says otherwise: two weeks of quarters of an hour
MOST_EVALUATED = 20_000  # windows of a split that is not trained on: of more, every second, third …
FEWEST_BLOCKS = 5
LONGEST_SEASON = 500  # steps, of those that are forecast as a whole unless the user says otherwise
FEW = 10  # steps that are forecast where there is no season to go by; of short series a twentieth of the steps


@dataclass(frozen=True)
class Borders:
    """Of one series: where training, validation and test end, in steps."""

    train: int
    valid: int
    test: int


def encode_observations(
    seen: Observations,
    *,
    horizon: int | None = None,
    lookback: int | None = None,
    season: int | None = None,
    valid_fraction: float = 0.1,
    test_fraction: float = 0.2,
    borders: Sequence[int] = (),
    last_only: bool | None = None,
    calendar: bool = True,
    standardise: Standardise = "series",
    later: Observations | None = None,
) -> EncodedData:
    """Horizon, look-back and season stand in its profile under ``settled``. ``borders``: steps at which training,
    validation and test end, the same for all series; ``last_only``: the last horizon of each series is the test, that
    before it validation; ``later``: what comes after all series, which is the test."""
    season = season or usual_season(seen)
    last_only = len(seen.series) >= MANY if last_only is None else last_only
    test_steps: np.ndarray | None = None
    if later is not None:
        seen, test_steps = followed_by(seen, later)
        horizon = horizon or int(test_steps.min())
    lengths = np.diff(seen.offsets)
    guessed = []
    if horizon is None:
        horizon, why = usual_horizon(season, int(lengths.min()))
        guessed = [why]
    found = [borders_of(seen, number, horizon, valid_fraction, test_fraction, borders, last_only,
                        None if test_steps is None else int(test_steps[number]))
             for number in range(len(lengths))]  # fmt: skip
    shortest = min(one.train for one in found)
    lookback = lookback or usual_lookback(season, horizon, int(np.median([one.train for one in found])))
    if shortest < horizon + 2:
        raise DataError(
            "{source}: the shortest series has {steps:,} steps to train on, too few for a horizon of {horizon:,}; take "
            "a shorter horizon, or leave short series out",
            source=seen.source,
            steps=shortest,
            horizon=horizon,
        )
    scales = np.stack([_scales(seen, number, one, season) for number, one in enumerate(found)])  # (S, 3, C)
    if standardise == "global":
        learnt_from = [seen.values[first : first + one.train] for first, one in zip(seen.offsets, found, strict=False)]
        scales[:, :2] = mean_and_spread(np.concatenate(learnt_from))
    observed = Observed(
        horizon,
        lookback,
        season,
        seen.series,
        scales,
        seen.spacing,
        calendar,
        bool(np.isnan(seen.values).any()),
        standardise,
    )
    features = observed.features(seen, scales)
    parts = {split: replace(_windows(seen, features, scales, found, split, horizon, lookback),
                            known_from=observed.known_from)
             for split in ("train", "valid", "test")}  # fmt: skip
    missing = int(np.isnan(seen.values).sum())
    lines = [
        *seen.notes,
        *guessed,
        note("{source}: {series:,} series of {channels:,} channels, {steps:,} steps in all", source=seen.source,
             series=len(seen.series), channels=len(seen.channels), steps=len(seen.values)),
        note("{lookback:,} steps are read, {horizon:,} are forecast; the season is {season:,}; windows: train "
             "{train:,}, validation {valid:,}, test {test:,}", lookback=lookback, horizon=horizon, season=season,
             **{split: len(rows) for split, rows in parts.items()}),
    ]  # fmt: skip
    if missing:
        lines.append(note("{missing:,} values are missing: they are read as such, and not counted", missing=missing))
    blocks = len(np.unique(parts["test"].groups))
    if blocks < FEWEST_BLOCKS:
        lines.append(note("too short to judge: the test part has {blocks} times the horizon; {fewest} are needed",
                          blocks=blocks, fewest=FEWEST_BLOCKS))  # fmt: skip
    return EncodedData(
        scaler=Scaler((0.0,) * observed.width, (1.0,) * observed.width),
        observed=observed,
        labels=seen.channels,
        profile={
            "lines": lines,
            "blocks": blocks,
            "missing": missing,
            "settled": {"horizon": horizon, "lookback": lookback, "season": season},
        },
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
    )


def followed_by(seen: Observations, later: Observations) -> tuple[Observations, np.ndarray]:
    """Series, each with what another file says comes after it; and how many steps that are, of each."""
    numbers = {name: number for number, name in enumerate(later.series)}
    lacking = [name for name in seen.series if name not in numbers] or [n for n in numbers if n not in seen.series]
    if lacking:
        raise DataError(
            "{later}: it must go on with the series of {source}, all of them and no others; {count:,} are in one of "
            "the files alone, for example {name!r}",
            later=later.source,
            source=seen.source,
            count=len(lacking),
            name=lacking[0],
        )
    if later.channels != seen.channels:
        raise DataError(
            "{later}: its columns are {found}, and those of {source} are {wanted}",
            later=later.source,
            found=", ".join(later.channels),
            source=seen.source,
            wanted=", ".join(seen.channels),
        )
    order = [numbers[name] for name in seen.series]
    counts = np.diff(later.offsets)[order]
    values, dates = [], []
    for number, other in enumerate(order):
        ours, theirs = (slice(*one.offsets[at : at + 2]) for one, at in ((seen, number), (later, other)))
        values += [seen.values[ours], later.values[theirs]]
        if seen.dates is not None and later.dates is not None and seen.spacing is not None:
            dates += [seen.dates[ours], later.dates[theirs]]
            [expected] = seen.spacing.after(seen.dates[ours][-1], 1)
            if later.dates[theirs][0] != expected:
                raise DataError(
                    "{later}: it begins at {found}, and {source} would go on at {expected}",
                    later=later.source,
                    found=str(later.dates[theirs][0]).replace("T", " "),
                    source=seen.source,
                    expected=str(expected).replace("T", " "),
                )
    lengths = np.diff(seen.offsets) + counts
    dated = np.concatenate(dates) if dates else None
    spacing = seen.spacing if dates else None
    joined = replace(seen, values=np.concatenate(values), offsets=offsets_of(lengths), dates=dated, spacing=spacing)
    return joined, counts


def usual_season(seen: Observations) -> int:
    return 1 if seen.spacing is None else seen.spacing.season


def usual_horizon(season: int, steps: int) -> tuple[int, str]:
    """Of series of which the shortest has so many ``steps``: one season, if there is one and the parts of the split
    have room for it; and the note that says so."""
    if 1 < season <= min(LONGEST_SEASON, steps // 5):
        return season, note("no --horizon was given: one season is forecast, {horizon:,} steps", horizon=season)
    horizon = max(1, min(FEW, steps // 20))
    return horizon, note(
        "no --horizon was given, and there is no season to go by: {horizon:,} steps are forecast", horizon=horizon
    )


def usual_lookback(season: int, horizon: int, steps: int) -> int:
    """Two weeks of hours, and of short seasons as many as `FEWEST_READ` steps have; never more than a quarter of what
    is there to train on, where that is short; and of long seasons one at least."""
    wanted = max(season, min(MOST_READ, max(FEWEST_READ, SEASONS_BACK * season))) if season > 1 else 4 * horizon
    return max(2, min(wanted, max(steps // 4, 2 * min(season, steps // 8))))


def borders_of(
    seen: Observations,
    number: int,
    horizon: int,
    valid_fraction: float,
    test_fraction: float,
    borders: Sequence[int],
    last_only: bool,
    test_steps: int | None = None,
) -> Borders:
    """``test_steps``: of a test part that was given; it must have room for a horizon."""
    steps = int(seen.offsets[number + 1] - seen.offsets[number])
    if borders:
        train, valid, test = borders
        if not 0 < train < valid < test <= steps:
            raise DataError(
                "{source}: borders must ascend and end within the {steps:,} steps of a series (got {borders})",
                source=seen.source,
                steps=steps,
                borders=list(borders),
            )
        return Borders(train, valid, test)
    if test_steps is None:
        test_steps = horizon if last_only else max(horizon, round(test_fraction * steps))
    elif test_steps < horizon:
        raise DataError(
            "{source}: the test part of a series has {steps:,} steps, and {horizon:,} are to be forecast; take a "
            "shorter horizon",
            source=seen.source,
            steps=test_steps,
            horizon=horizon,
        )
    valid_steps = horizon if last_only else max(horizon, round(valid_fraction * steps))
    return Borders(steps - test_steps - valid_steps, steps - test_steps, steps)


def _scales(seen: Observations, number: int, borders: Borders, season: int) -> np.ndarray:
    first = seen.offsets[number]
    values, before = (seen.values[first : first + end] for end in (borders.train, borders.valid))
    return scales_of(values, before, season)


def _windows(
    seen: Observations,
    features: np.ndarray,
    scales: np.ndarray,
    borders: Sequence[Borders],
    split: str,
    horizon: int,
    lookback: int,
) -> Sequences:
    """Of the steps that the windows of a split reach: views where there is one series, else in arrays of their own."""
    pieces, origins, counts, shifts, at = [], [], [], [], 0
    for number, one in enumerate(borders):
        begin, end = {"train": (0, one.train), "valid": (one.train, one.valid), "test": (one.valid, one.test)}[split]
        reach = max(0, begin - lookback)
        first = max(begin, min(lookback, end - horizon), 1)
        base = int(seen.offsets[number])
        pieces.append(slice(base + reach, base + end))
        origins.append(np.arange(first - reach + at, end - horizon + 1 - reach + at))
        counts.append(len(origins[-1]))
        shifts.append(base + reach - at)  # from a step of this split to the same one among all
        at += end - reach
    origin, of_series = np.concatenate(origins), np.repeat(np.arange(len(borders), dtype=np.int32), counts)
    if split != "train" and len(origin) > MOST_EVALUATED:
        kept = slice(None, None, -(-len(origin) // MOST_EVALUATED))
        origin, of_series = origin[kept], of_series[kept]
    begins = offsets_of(np.array([piece.stop - piece.start for piece in pieces]))[:-1]
    starts = np.maximum(origin - lookback, begins[of_series])
    values = features[pieces[0]] if len(pieces) == 1 else np.concatenate([features[piece] for piece in pieces])
    targets = np.concatenate([_targets(features[piece], seen.values[piece]) for piece in pieces])
    if split == "train":  # nobody judges by them: blocks and dates would take more memory than what is read
        return Sequences(values, starts, origin, targets, of_series, horizon=horizon, series=of_series, scales=scales)
    when = origin + np.array(shifts)[of_series]
    when = when - seen.offsets[of_series] if seen.dates is None else seen.dates[when].astype(np.int64)
    return Sequences(values, starts, origin, targets, _blocks(origin, of_series, horizon), horizon=horizon,
                     series=of_series, origins=when, scales=scales)  # fmt: skip


def _targets(features: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(N, C) float32, of features (N, D): NaN where a value is missing, which is read as the last one."""
    return np.where(np.isnan(values), np.float32(np.nan), features[:, : values.shape[1]])


def _blocks(origin: np.ndarray, series: np.ndarray, horizon: int) -> np.ndarray:
    """(rows,): windows that overlap in what is asked are in one block or in two that touch: each has the origins of a
    horizon of one series. Rows are in the order of series and time."""
    changes = np.flatnonzero(np.diff(series, prepend=-1))
    first = origin[changes][np.searchsorted(changes, np.arange(len(series)), side="right") - 1]
    number = (origin - first) // horizon
    begins = (np.diff(number, prepend=-1) != 0) | (np.diff(series, prepend=-1) != 0)
    return np.cumsum(begins) - 1
