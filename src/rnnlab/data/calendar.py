"""Dates of observations: how people write them, how far apart they are, and what they tell of a season."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import Both, both, joined, same
from rnnlab.data.growing import Growing

MINUTE, HOUR, DAY, WEEK = 60, 3_600, 86_400, 604_800  # seconds
MANY, SEVERAL = 72, 3  # units of time: of more than so many, a larger one is said, as soon as there are several
SHOWN = 5  # rows that one error names
BLOCK = 1 << 14  # texts that are read at a time
NOT_A_DATE = np.iinfo(np.int64).min  # as numpy stores NaT


# --- spacing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spacing:
    """How far apart regular dates are: so many seconds, or so many months. The other one is 0."""

    seconds: int = 0
    months: int = 0

    def after(self, date: np.datetime64 | np.ndarray, steps: int) -> np.ndarray:
        """(steps,) datetime64[s]: the dates that follow one."""
        return self.shifted(np.array(date, "datetime64[s]"), np.arange(1, steps + 1))

    def shifted(self, dates: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Dates that are so many steps later. The last day of a month stays one: after 31 January comes 28 February,
        and then 31 March."""
        if not self.months:
            return dates + (steps * self.seconds).astype("timedelta64[s]")
        days = dates.astype("datetime64[D]")
        months = days.astype("datetime64[M]")
        day = days - months.astype("datetime64[D]")
        is_last = (days + 1).astype("datetime64[M]") != months
        later = months + (steps * self.months).astype("timedelta64[M]")
        last = (later + 1).astype("datetime64[D]") - 1
        first = later.astype("datetime64[D]")
        return np.where(is_last, last, np.minimum(first + day, last)).astype("datetime64[s]") + (dates - days)

    @property
    def season(self) -> int:
        """The usual season in steps: a day below one day, a week of days, a year of weeks, months or quarters; 1 where
        there is none."""
        if self.months:
            return 12 // self.months if 12 % self.months == 0 else 1
        if self.seconds in (DAY, WEEK):
            return {DAY: 7, WEEK: 52}[self.seconds]
        return DAY // self.seconds if MINUTE <= self.seconds < DAY and DAY % self.seconds == 0 else 1

    @property
    def name(self) -> str:
        """For people: ``1 hour``, ``15 minutes``."""
        return str(self.told)

    @property
    def told(self) -> Both:
        """The name in every language; its English may be part of a note."""
        if self.months:
            years, months = divmod(self.months, 12)
            return _counted("year", years) if not months else _counted("month", self.months)
        for unit, seconds in (("week", WEEK), ("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
            if self.seconds % seconds == 0:
                return _counted(unit, self.seconds // seconds)
        return _counted("second", self.seconds)

    def over(self, steps: int) -> Both:
        """How long so many steps are: ``2 days``, ``about 8 days``."""
        if self.months:
            return Spacing(months=self.months * steps).told
        seconds = self.seconds * steps
        units = (("week", WEEK), ("day", DAY), ("hour", HOUR), ("minute", MINUTE), ("second", 1))
        unit, size = next(one for one in units if seconds % one[1] == 0)
        if seconds // size <= MANY:
            return _counted(unit, seconds // size)
        unit, size = next(one for one in units if seconds >= SEVERAL * one[1])
        exact = seconds % size == 0
        time = _counted(unit, round(seconds / size))
        return time if exact else both("about {time}", time=time)


def _counted(unit: str, count: int) -> Both:
    one = {
        "second": both("1 second", _context="note"),
        "minute": both("1 minute", _context="note"),
        "hour": both("1 hour", _context="note"),
        "day": both("1 day", _context="note"),
        "week": both("1 week", _context="note"),
        "month": both("1 month", _context="note"),
        "year": both("1 year", _context="note"),
    }
    several = {
        "second": both("{count:,} seconds", _context="note"),
        "minute": both("{count:,} minutes", _context="note"),
        "hour": both("{count:,} hours", _context="note"),
        "day": both("{count:,} days", _context="note"),
        "week": both("{count:,} weeks", _context="note"),
        "month": both("{count:,} months", _context="note"),
        "year": both("{count:,} years", _context="note"),
    }
    return one[unit] if count == 1 else several[unit].format(count=count)


def spacing_of(dates: np.ndarray) -> Spacing:
    """Of the dates of one series in their order; gaps of a whole number of steps are allowed."""
    dates = dates.astype("datetime64[s]")
    where = both("the dates")
    backwards = np.flatnonzero(np.diff(dates).astype(np.int64) <= 0) + 1
    if len(backwards):
        raise DataError(
            "{where}: row {row} ({date}) isn't later than the one before it",
            where=where,
            row=int(backwards[0]) + 1,
            date=dates[backwards[0]],
        )
    offsets = np.array([0, len(dates)])
    spacing = usual_spacing(dates, offsets, where)
    _, fits = steps_from_start(dates, offsets, spacing)
    if not fits.all():
        raise DataError(
            "{where} aren't regular: most are {spacing} apart, which row {row} ({date}) doesn't fit",
            where=where,
            spacing=spacing.told,
            row=int(fits.argmin()) + 1,
            date=dates[fits.argmin()],
        )
    return spacing


def usual_spacing(dates: np.ndarray, offsets: np.ndarray, where: str | Both) -> Spacing:
    """The most common one of all series (``offsets`` (S + 1,)), whose dates are in order and differ."""
    within = np.ones(max(0, len(dates) - 1), bool)
    within[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(dates))] - 1] = False
    if not within.any():
        raise DataError("{where}: a series needs at least two dates, to tell how far apart they are", where=where)
    seconds = np.diff(dates)[within].view(np.int64)
    if seconds.min() >= 28 * DAY and _on_one_day_of_month(dates):
        return Spacing(months=_most_common(np.diff(dates.astype("datetime64[M]").astype(np.int64))[within]))
    return Spacing(seconds=_most_common(seconds))


def _on_one_day_of_month(dates: np.ndarray) -> bool:
    """Or all on the last one."""
    days = dates.astype("datetime64[D]")
    if np.ptp((dates - days).astype(np.int64)):
        return False
    months = days.astype("datetime64[M]")
    return bool(
        np.ptp((days - months.astype("datetime64[D]")).astype(np.int64)) == 0
        or ((days + 1).astype("datetime64[M]") != months).all()
    )


def _most_common(values: np.ndarray) -> int:
    """The smallest of those."""
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])


def steps_from_start(dates: np.ndarray, offsets: np.ndarray, spacing: Spacing) -> tuple[np.ndarray, np.ndarray]:
    """(N,) int64: steps since the first date of its series, and (N,) bool: whether a date is a whole number of steps
    after the one before it."""
    since = (dates.astype("datetime64[M]") if spacing.months else dates).view(np.int64)
    step = spacing.months or spacing.seconds
    fits = np.ones(len(dates), bool)
    fits[1:] = np.diff(since) % step == 0
    fits[offsets[:-1]] = True
    return (since - np.repeat(since[offsets[:-1]], np.diff(offsets))) // step, fits


def calendar_turns(spacing: Spacing) -> list[str]:
    """What varies at this spacing: of the day, the week and the year."""
    varies = {
        "day": spacing.seconds % DAY,
        "week": spacing.seconds % WEEK,
        "year": spacing.seconds or spacing.months % 12,
    }
    return [turn for turn, rest in varies.items() if rest]


def calendar_features(dates: np.ndarray, spacing: Spacing) -> np.ndarray:
    """(N, F) float32 in [-1, 1]: sine and cosine of the hour of day, the day of week and the day of year, of those
    that vary at this spacing."""
    waves = [wave(2 * np.pi * _turned(dates, turn)) for turn in calendar_turns(spacing) for wave in (np.sin, np.cos)]
    return np.stack(waves, 1).astype(np.float32) if waves else np.empty((len(dates), 0), np.float32)


def _turned(dates: np.ndarray, turn: str) -> np.ndarray:
    """(N,): how much of a day, week or year is over."""
    seconds = dates.astype("datetime64[s]").astype(np.int64)
    if turn == "day":
        return seconds % DAY / DAY
    if turn == "week":
        return (seconds // DAY + 3) % 7 / 7  # 1 January 1970 was a Thursday
    begun = dates.astype("datetime64[D]") - dates.astype("datetime64[Y]").astype("datetime64[D]")
    return begun.astype(np.int64) / 365.25


# --- how dates are written ------------------------------------------------------------------------------------------

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "(?P<name>jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august"
_MONTH += "|september|october|november|december)"
_TIME = (
    r"(?:(?:t| +)(?P<H>00?)(?::(?P<M>00)(?::(?P<S>00)(?:[.,](?P<F>0+))?)?)?(?: ?(?P<half>[ap])m)?"
    r"(?: ?(?:z|utc|gmt|(?P<zone>[+-])(?P<zh>00)(?::?(?P<zm>00))?))?)?"
)
_CHINESE_TIME = r"(?: *(?P<H>00?)[时点:](?:(?P<M>00?)分?(?:[:]?(?P<S>00?)秒?)?)?)?"
_WRITTEN = [
    re.compile(pattern)
    for pattern in (  # of texts whose digits are all 0: what is matched tells where the fields are
        rf"(?P<y>0000)(?P<sep>[-/.])(?P<m>00?)(?P=sep)(?P<d>00?){_TIME}",
        r"(?P<y>0000)[-/](?P<m>00?)",
        rf"(?P<y>0000) *年 *(?:(?P<m>00?) *月 *(?:(?P<d>00?) *[日号])?)?{_CHINESE_TIME}",
        r"(?P<y>0000)(?:(?P<m>00)(?:(?P<d>00)(?:[t ]?(?P<H>00)(?:(?P<M>00)(?P<S>00)?)?)?)?)?",
        rf"(?P<y>0000)(?P<m>00)(?P<d>00){_TIME}",
        r"(?P<y>0000)[-/ ]?q(?P<q>0)",
        rf"(?P<a>00?)(?P<sep>[-/.])(?P<b>00?)(?P=sep)(?P<y>0000),?{_TIME}",
        r"(?P<m>00?)[-/](?P<y>0000)",
        rf"(?P<d>00?)[- ]{_MONTH}\.?,?[- ](?P<y>0000),?{_TIME}",
        rf"{_MONTH}\.?[- ](?:(?P<d>00?),? )?(?P<y>0000),?{_TIME}",
        r"(?P<epoch>0{10})",
        r"(?P<epoch>0{10})(?P<F>000)",
    )
]
_DIGITS = str.maketrans("123456789", "000000000")


@cache
def _layouts(shape: str) -> list[re.Match[str]]:
    return [found for pattern in _WRITTEN if (found := pattern.fullmatch(shape))] if len(shape) <= 40 else []


class DateReader:
    """Reads a column of dates portion by portion. Whether 01/07 is in January or in July is decided in the end, by all
    of them."""

    def __init__(self) -> None:
        self._day_first: Growing = Growing(np.int64)
        self._month_first: Growing | None = None  # where it would be another date
        self._zones: set[int] = set()  # seconds east of Greenwich
        self.bad: list[tuple[int, str]] = []  # row and text: in no order a date
        self._one_order: dict[str, list[tuple[int, str]]] = {"day": [], "month": []}  # a date in that one alone
        self._doubt = ""  # one that is a date in both orders

    def add(self, texts: Sequence[str]) -> None:
        left = iter(texts)
        while block := list(islice(left, BLOCK)):
            self._add([text.strip() for text in block])

    def _add(self, texts: list[str]) -> None:
        lower = [text.lower() for text in texts]
        shapes = [text.translate(_DIGITS) for text in lower]
        day_first = np.full(len(texts), NOT_A_DATE)
        month_first = day_first
        rows_of: defaultdict[str, list[int]] = defaultdict(list)
        if len(set(shapes)) == 1:
            rows_of[shapes[0]] = list(range(len(texts)))
        else:
            for row, shape in enumerate(shapes):
                rows_of[shape].append(row)
        for shape, rows in rows_of.items():
            written = lower if len(rows) == len(lower) else [lower[row] for row in rows]
            for found in _layouts(shape):
                one, other = self._read(written, found)
                if month_first is day_first and other is not one:
                    month_first = day_first.copy()
                day_first[rows] = one
                if month_first is not day_first:
                    month_first[rows] = other
                if not (one == NOT_A_DATE).all():
                    break
        self._keep(texts, day_first, month_first)

    def _keep(self, texts: list[str], day_first: np.ndarray, month_first: np.ndarray) -> None:
        start = len(self._day_first)
        no_day, no_month = day_first == NOT_A_DATE, month_first == NOT_A_DATE
        for rows, kept in (
            (no_day & no_month, self.bad),
            (no_month & ~no_day, self._one_order["day"]),
            (no_day & ~no_month, self._one_order["month"]),
        ):
            if rows.any():
                kept += [(start + row, texts[row]) for row in np.flatnonzero(rows).tolist()]
        if month_first is not day_first:
            if self._month_first is None:
                self._month_first = self._day_first.copy()
            doubtful = np.flatnonzero(day_first != month_first)
            if not self._doubt and len(doubtful):
                self._doubt = texts[int(doubtful[0])]
        self._day_first.extend(day_first)
        if self._month_first is not None:
            self._month_first.extend(month_first)

    def _read(self, texts: list[str], found: re.Match[str]) -> tuple[np.ndarray, np.ndarray]:
        """(n,) int64 seconds each, `NOT_A_DATE` where it is none: with the day first, and with the month first. They
        are one array where nothing is in doubt."""
        whole = "".join(texts)
        width = len(texts[0])
        if whole.isascii():
            codes = np.frombuffer(whole.encode(), np.uint8).reshape(-1, width)
        else:
            codes = np.frombuffer(whole.encode("utf-32-le"), np.uint32).reshape(-1, width)
        groups = found.re.groupindex

        def field(name: str, missing: int = 0) -> np.ndarray:
            if name not in groups or found[name] is None:
                return np.full(len(texts), missing)
            number = np.zeros(len(texts), np.int64)
            for at in range(*found.span(name)):
                number = number * 10 + (codes[:, at].astype(np.int64) - ord("0"))
            return number

        fraction = field("F")
        rounded = (2 * fraction >= 10 ** len(found["F"])).astype(np.int64) if "F" in groups and found["F"] else 0
        if "epoch" in groups:
            return (seconds := field("epoch") + rounded), seconds
        hour, minute, second = field("H"), field("M"), field("S")
        if "half" in groups and found["half"]:
            good = (hour >= 1) & (hour <= 12)
            hour = hour % 12 + (12 if found["half"] == "p" else 0)
        else:  # 24:00 is the end of a day
            good = (hour < 24) | ((hour == 24) & (minute + second == 0))
        good &= (minute < 60) & (second < 60)
        time = hour * HOUR + minute * MINUTE + second + rounded
        if "zone" in groups:
            zone = np.zeros(len(texts), np.int64)
            if found["zone"]:
                zone = (field("zh") * HOUR + field("zm") * MINUTE) * (1 if found["zone"] == "+" else -1)
            self._zones.update(np.unique(zone).tolist())
            time -= zone
        year = field("y")
        if "a" in groups:
            first, second_field = field("a"), field("b")
            one = _seconds(year, second_field, first, time, good)
            if found["sep"] == ".":  # where dates have dots, the day comes first
                return one, one
            return one, _seconds(year, first, second_field, time, good)
        month = field("m", 1)
        if "q" in groups:
            quarter = field("q")
            good &= (quarter >= 1) & (quarter <= 4)
            month = quarter * 3 - 2
        if "name" in groups:
            month = np.full(len(texts), _MONTHS.index(found["name"][:3]) + 1)
        one = _seconds(year, month, field("d", 1), time, good)
        if whole.isdecimal() and width == 10 and ((one == NOT_A_DATE) | (year < 1800) | (year > 2200)).any():
            return (nothing := np.full(len(texts), NOT_A_DATE)), nothing  # seconds since 1970, then
        return one, one

    def finished(self, where: str | Both) -> tuple[np.ndarray, list[tuple[int, str]]]:
        """(N,) datetime64[s], NaT where there is no date; and those rows with what they say. Order that can't be
        decided is an error that begins with ``where``."""
        chosen, bad = self._day_first, self.bad
        if self._month_first is not None:
            only_day, only_month = self._one_order["day"], self._one_order["month"]
            month_first = len(only_month) > len(only_day)
            if len(only_month) == len(only_day) and self._doubt:
                month_first = self._decided_by_spacing(where)
            chosen = self._month_first if month_first else self._day_first
            bad = sorted(bad + (only_day if month_first else only_month))
        dates = chosen.taken()
        if len(self._zones) == 1:  # else the clock was changed in between, and only UTC is regular
            dates[dates != NOT_A_DATE] += next(iter(self._zones))
        return dates.view("datetime64[s]"), bad

    def _decided_by_spacing(self, where: str | Both) -> bool:
        """Whether the month comes first, because then alone the dates are regular."""
        assert self._month_first is not None
        regular = [_is_regular(order.copy().taken()) for order in (self._day_first, self._month_first)]
        if regular[0] == regular[1]:
            raise DataError(
                "{where}: {example!r} has a day and a month, and no date tells which comes first; write the dates as "
                "{layout}",
                where=where,
                example=self._doubt,
                layout="2016-07-01",
            )
        return regular[1]


def _seconds(year: np.ndarray, month: np.ndarray, day: np.ndarray, time: np.ndarray, good: np.ndarray) -> np.ndarray:
    """(n,) int64, since 1970; `NOT_A_DATE` where there is no such day."""
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1).astype("timedelta64[D]")
    good = good & (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("datetime64[M]") == months)
    return np.where(good, days.astype(np.int64) * DAY + time, NOT_A_DATE)


def _is_regular(seconds: np.ndarray) -> bool:
    """Without any gap."""
    dates = np.unique(seconds[seconds != NOT_A_DATE]).view("datetime64[s]")
    if len(dates) < 3:
        return False
    offsets = np.array([0, len(dates)])
    steps, fits = steps_from_start(dates, offsets, usual_spacing(dates, offsets, ""))
    return bool(fits.all()) and int(steps[-1]) == len(dates) - 1


def look_like_dates(texts: Sequence[str]) -> bool:
    """Nearly all of them."""
    reader = DateReader()
    reader.add(texts)
    return len(reader.bad) * 10 <= len(texts) > 0


def parse_dates(texts: Sequence[str]) -> np.ndarray:
    """(N,) datetime64[s] of dates as people write them: ``2016-07-01 13:00``, ``1949-01``, ``2016年7月1日``,
    ``01.07.2016``, ``Jul 1, 2016``, ``2016Q3``, ``1949``. One time zone in all is left out; several are made UTC."""
    reader = DateReader()
    reader.add(texts)
    dates, bad = reader.finished(both("the dates"))
    if bad:
        rows = [both("row {row}: {value!r}", row=row + 1, value=text[:40]) for row, text in bad[:SHOWN]]
        more = same("") if len(bad) <= SHOWN else both("\n... and {more:,} more", more=len(bad) - SHOWN)
        raise DataError(
            "{count:,} of {rows:,} dates can't be read\n{listed}{more}",
            count=len(bad),
            rows=len(texts),
            listed=joined(rows, "\n"),
            more=more,
        )
    return dates
