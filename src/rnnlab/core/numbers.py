"""Numbers as people read them."""

from rnnlab.core.words import Both, both


def percent(share: float, places: int = 1) -> str:
    return f"{100 * share:.{places}f} %"


def score_text(value: float, unit: str) -> str:
    """A score in its unit, ``percent`` or ``number``."""
    return percent(value) if unit == "percent" else f"{value:.4f}"


def interval_text(low: float, high: float, unit: str) -> str:
    """``81.2–84.9``, or ``0.3911–0.4022``."""
    return f"{100 * low:.1f}–{100 * high:.1f}" if unit == "percent" else f"{low:.4f}–{high:.4f}"


def percent_text(share: float, places: int = 1) -> Both:
    """The same as part of a text."""
    return both("{value} %", value=f"{100 * share:.{places}f}")


def duration(seconds: float) -> Both:
    """``0.8 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
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
