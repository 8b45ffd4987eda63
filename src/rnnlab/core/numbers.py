"""Numbers as people read them: never ``2.4e-05``."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from rnnlab.core.words import Both, both

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(share: float, places: int = 1) -> str:
    return f"{100 * share:z.{places}f} %"


def score_text(value: float, unit: str) -> str:
    """A score in its unit: ``81.2 %``, 23.4 ``points`` of a hundred, or any ``number``."""
    if unit == "points":
        return f"{100 * value:z.1f}"
    return percent(value) if unit == "percent" else f"{value:z.4f}"


def interval_text(low: float, high: float, unit: str) -> str:
    """``81.2–84.9``, or ``0.3911–0.4022``."""
    return f"{low:z.4f}–{high:z.4f}" if unit == "number" else f"{100 * low:z.1f}–{100 * high:z.1f}"


def percent_text(share: float, places: int = 1) -> Both:
    """The same as part of a text."""
    return both("{value} %", value=f"{100 * share:z.{places}f}")


def plain(number: float) -> str:
    """Three digits: ``1,234``, ``12.3``, ``0.12``, ``0.004``; what is smaller than that is ``< 0.001``."""
    if abs(number) >= 99.95:
        return f"{number:,.0f}"
    if abs(number) >= 9.995:
        return f"{number:.1f}"
    if abs(number) >= 0.0995 or number == 0:
        return f"{number:.2f}"
    return f"{number:.3f}" if number >= 0.001 else "< 0.001"


def magnitude(number: float) -> str:
    """Of what may have any size: ``0.24``, ``31.2``, ``3.1 × 10⁴``, ``2.0 × 10⁻⁹``."""
    if number == 0 or 0.001 <= abs(number) < 9999.5:
        return plain(number)
    mantissa, power = f"{number:.1e}".split("e")
    return f"{mantissa} × 10{str(int(power)).translate(RAISED)}"


@dataclass(frozen=True)
class TimeUnit:
    """The unit of some times that stand below each other, or on one axis."""

    seconds: float
    name: Both  # ms
    words: Both  # milliseconds

    @classmethod
    def of(cls, times: Iterable[float | None]) -> "TimeUnit":
        """The largest in which most of these seconds are no small fraction; seconds where there are none."""
        known = [time for time in times if time]
        middle = statistics.median(known) if known else 1.0
        return next((unit for unit, least in TIME_UNITS if middle >= least), TIME_UNITS[-1][0])

    def text(self, seconds: float) -> str:
        return plain(seconds / self.seconds)


TIME_UNITS = (  # with the least time that is said in each
    (TimeUnit(3600, both("h"), both("hours")), 3 * 3600),
    (TimeUnit(60, both("min"), both("minutes")), 5 * 60),
    (TimeUnit(1, both("s"), both("seconds")), 0.05),
    (TimeUnit(1e-3, both("ms"), both("milliseconds")), 0.1e-3),
    (TimeUnit(1e-6, both("µs"), both("microseconds")), 0.0),
)


def duration(seconds: float) -> Both:
    """``0.016 µs``, ``4.1 ms``, ``0.8 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 0.0995 and seconds:
        unit = TimeUnit.of([seconds])
        number = seconds / unit.seconds
        return both("{time} {unit}", time=f"{number:.0f}" if number >= 9.95 else f"{number:.2g}", unit=unit.name)
    if seconds < 9.95:
        return both("{seconds} s", seconds=f"{seconds:.2g}" if seconds < 0.995 else f"{seconds:.1f}")
    whole = round(seconds)
    if whole < 60:
        return both("{seconds} s", seconds=whole)
    if whole < 3600:
        return both("{minutes} min {seconds} s", minutes=whole // 60, seconds=whole % 60)
    return both("{hours} h {minutes} min", hours=whole // 3600, minutes=whole % 3600 // 60)


def count(number: float) -> str:
    """``23,045`` up to 99,999, then ``824 K``, ``1.2 M``."""
    if number < 99_999.5:
        return f"{round(number):,}"
    return f"{number / 1e3:.0f} K" if number < 999_500 else f"{number / 1e6:.1f} M"


def size(of_bytes: float) -> str:
    """``820 KB``, ``12 MB``, ``3.4 GB``."""
    if of_bytes < 999_500:
        return f"{of_bytes / 1e3:.0f} KB"
    return f"{of_bytes / 1e6:.0f} MB" if of_bytes < 999_500_000 else f"{of_bytes / 1e9:.1f} GB"


def counted(number: int, thing: str) -> str:
    """``1 row``, ``1,234 rows``, in English: for what is stored. What is shown is counted by `words.plural`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
