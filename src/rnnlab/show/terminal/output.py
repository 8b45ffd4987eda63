"""What the commands print. Answers go to standard output, progress to standard error."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rnnlab.core.numbers import count, duration, interval_text, percent, score_text, size
from rnnlab.core.terms import metric_text, status_text
from rnnlab.core.words import Both, ResultNote, both, capitalised, plural, retold, say
from rnnlab.core.wrapping import fitted
from rnnlab.data.profile import Profile
from rnnlab.judging.wording import above_floor, margin_text, sentence_of
from rnnlab.runs.directory import RunDirectory, Stopped
from rnnlab.show.terminal.progress import LiveTable, PlainLines, describe
from rnnlab.show.times import TrainingTimes

if TYPE_CHECKING:  # `rnnlab runs` need not wait for torch
    from rnnlab.comparing.comparison import ArmSummary, Comparison
    from rnnlab.comparing.tuning import Tuning
    from rnnlab.sweeps.execution import Display
    from rnnlab.sweeps.forecast import Estimate


Row = tuple[Sequence[str], str | None]
"""Cells, and a style."""
NUMBERS = ("bits_per_character", "perplexity")  # scores of language models, which are no shares
OF_SOME = ("entity_f1", "micro_f1", "exact")  # shares that some tasks have
OF_TEXTS = ("bleu", "chrf")  # of translators, said from 0 to 100


def _console(stderr: bool = False) -> Console:
    """A pipe or a file gets lines of 120 columns rather than rich's 80."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else 120, highlight=False, markup=False)


def print_table(out: Console, title: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """A table; on a narrow screen several, one below the other, so that no figure is cut off."""
    widths = [max(map(cell_len, column)) for column in zip(columns, *(cells for cells, _ in rows), strict=True)]
    if title:
        out.print(Text(fitted(title, out.file), "bold"), soft_wrap=True)
    for shown in portions(widths, out.width):
        table = Table(box=None, pad_edge=False, header_style="bold")
        for number in shown:
            justify = "left" if number == 0 else "right"
            table.add_column(Text(columns[number]), justify=justify, no_wrap=True)  # a user's [words] are no markup
        for cells, style in rows:
            table.add_row(*(Text(cells[number]) for number in shown), style=style)
        out.print(table)


def portions(widths: Sequence[int], room: int, gap: int = 2) -> list[list[int]]:
    """Numbers of the columns that fit beside each other; the first column heads every portion."""
    found = [[0]]
    left = room - widths[0]
    for number in range(1, len(widths)):
        if left < widths[number] + gap and len(found[-1]) > 1:
            found.append([0])
            left = room - widths[0]
        found[-1].append(number)
        left -= widths[number] + gap
    return found


class Screen:
    """One command's conversation with a person. With ``json`` standard output belongs to a program. ``quiet`` has
    nothing but the result there, and nothing but mistakes on standard error."""

    json: bool
    quiet: bool
    out: Console
    progress: Console

    def __init__(self, json: bool = False, quiet: bool = False):
        self.json, self.quiet = json, quiet
        self.out, self.progress = _console(), _console(stderr=True)

    @property
    def talks(self) -> bool:
        """Whether it says more than the result, and may ask."""
        return not (self.json or self.quiet)

    def say(self, line: Both | str) -> None:
        """Wrapped at words on a terminal."""
        self.out.print(fitted(str(line), self.out.file), soft_wrap=True)

    def profile(self, profile: dict[str, Any], notes: Sequence[str]) -> None:
        """The data first: people read it."""
        if self.talks:
            for line in [*profile_lines(profile), *(both("note: {text}", text=retold(note)) for note in notes), ""]:
                self.say(line)

    def live(self, jobs: int, settings: bool = False) -> "Display":
        """Of the runs of several models, or of a sweep's settings."""
        if self.quiet:
            from rnnlab.sweeps.execution import Silent

            return Silent()
        return (LiveTable if self.progress.is_terminal else PlainLines)(self.progress, jobs, settings)

    def estimate(self, found: "Estimate", jobs: int) -> None:
        """The answer to --dry-run."""
        told = both("{runs:,} runs, {found:,} of them finished", runs=found.runs, found=found.found)
        if found.searched:
            told = both("{told}, and {count} settings that a strategy draws", told=told, count=found.searched)
        self.say(told)
        if found.runs > found.found:
            self.say(
                both(
                    "at most {time} for the others, {jobs} at a time, from {probes} timed settings; about {disk} of "
                    "disk",
                    time=duration(found.wall_seconds(jobs)),
                    jobs=jobs,
                    probes=found.probes,
                    disk=size(found.disk),
                )
            )

    @contextmanager
    def working(self) -> Iterator[Callable[[str], None]]:
        """Says what is being done: in place on a terminal, a line each elsewhere."""
        if self.quiet or not self.progress.is_terminal:
            yield self.note
            return
        with self.progress.status("…") as status:
            yield status.update

    def note(self, text: str) -> None:
        """Something to know while work goes on."""
        if self.talks:
            self.how_long(text)

    def how_long(self, text: str) -> None:
        """What is about to be spent; beside JSON too, which is on the other stream."""
        if not self.quiet:
            self.progress.print(fitted(f"… {text}", self.progress.file), soft_wrap=True)

    def report(self, path: str) -> None:
        if not self.json:
            self.say("\n" + say("Report: {path}", path=path))

    def written(self, files: Sequence[Path], first: Path) -> None:
        what = plural("{count} file written; open {file}", "{count} files written; open {file}", len(files), file=first)
        self.say(f"\n{what}")

    def verdict(self, result: "Comparison") -> None:
        _print_scores(self.out, result)
        if any(arm.by_tag for arm in result.arms):
            _print_by_tag(self.out, result)
        if (above := above_floor(result.verdict, result.profile)) is not None:
            self.say(f"{above}\n")
        if result.tuning is not None:
            self.tuning(result.tuning)
        self.say(sentence_of(result.verdict))
        for note in result.notes:
            if isinstance(note, ResultNote):
                self.say("\n" + say("{note}.", note=capitalised(retold(note))))
        if result.use is not None:
            self.say("")
            self._use(result.use)

    def tuning(self, tuning: "Tuning") -> None:
        """Which setting each model got, and from how many trials on one is ahead."""
        from rnnlab.show.tuning_texts import equal_text, lead_lines, tuning_lines

        head = both("Settings, chosen on validation ({who}):", who=equal_text(tuning))
        for line in ["", head, *tuning_lines(tuning), *lead_lines(tuning), ""]:
            self.say(line)

    def _use(self, command: str) -> None:
        """In one line, however long: to be copied."""
        self.out.print(say("Use it:  {command}", command=command), soft_wrap=True)

    def run(self, run: RunDirectory) -> None:
        """One trained model."""
        from rnnlab.tasks.base import TASKS

        task = TASKS.parse(run.spec()["task"])
        self.say(describe(run.outcome() or Stopped(), task.answer.judged))
        result = run.result() or {}
        if "test" not in result:
            return
        first, second = (
            both(
                "{metric} {score}",
                metric=metric_text(score.title),
                score=score_text(result["test"][score.name], score.unit),
            )
            for score in (task.answer.judged, task.answer.beside_the_judged)
        )
        self.say(
            both(
                "test {first}, {second}; {parameters} parameters. One seed: 'rnnlab compare' says how much that is "
                "worth.",
                first=first,
                second=second,
                parameters=count(result["parameters"]["total"]),
            )
        )
        if (command := task.use(run.path)) is not None:
            self._use(command)


def _print_scores(out: Console, result: "Comparison") -> None:
    seeds = max((len(arm.runs) for arm in result.arms), default=0)
    metric = metric_text(result.verdict.metric)
    title = plural(
        "Test {metric}, {count} seed per model", "Test {metric}, {count} seeds per model", seeds, metric=metric
    )
    if result.verdict.best_group:
        title = both(
            "{title} (* within {margin} of the best, and not measurably worse)",
            title=title,
            margin=margin_text(result.verdict),
        )
    if result.verdict.cut_short:
        title = both("{title} (+ still improving at its limit)", title=title)
    times = TrainingTimes.of(result)
    cells = [_cells(arm, result, times) for arm in result.ranking]
    columns = [str(name) for name, _ in cells[0]]
    styles = ["dim" if arm in result.baselines else None for arm in result.ranking]
    rows: list[Row] = [([text for _, text in of_arm], style) for of_arm, style in zip(cells, styles, strict=True)]
    print_table(out, str(title), columns, rows)


def _cells(arm: "ArmSummary", result: "Comparison", times: TrainingTimes) -> list[tuple[Both, str]]:
    """(column, text); of an arm without a score, how its runs ended."""
    score, second, unit = arm.score, arm.scores.get(result.beside.name), result.verdict.unit
    ended = "/".join(str(status_text(state)) for state in sorted({run.status for run in arm.runs}))
    failed = say("{part} of {whole}", part=len(arm.failed_seeds), whole=len(arm.runs)) if arm.failed_seeds else ""
    seen, unseen = (
        score_text(arm.by_seen[part].score, unit) if part in arm.by_seen else "" for part in ("seen", "unseen")
    )
    first = [
        (both("model"), f"{arm.label} *" if arm.in_best_group else arm.label),
        (metric_text(result.verdict.metric), score_text(score.mean, unit) if score else ended),
    ]
    others = [
        (both("{level} % interval", level=95), interval_text(score.low, score.high, unit) if score else ""),
        *([(both("failed seeds"), failed)] if result.verdict.failures else []),
        *([(both("seen rows"), seen), (both("unseen rows"), unseen)] if result.seen_matters else []),
        (metric_text(result.beside.title), "" if second is None else score_text(second, result.beside.unit)),
        (times.round_name, times.round_text(arm)),
        (times.total_name, times.total_text(arm)),
        (both("tokens/s"), "" if arm.tokens_per_second is None else count(arm.tokens_per_second)),
        (
            both("best epoch") if times.epochs else both("best evaluation"),
            "" if arm.best_epoch is None else f"{arm.best_epoch:.0f}{'+' if arm.cut_short else ''}",
        ),
        (both("parameters"), "" if arm.parameters is None else count(arm.parameters)),
        (both("MB"), "" if arm.peak_memory_mb is None else f"{arm.peak_memory_mb:.0f}"),
    ]
    return [*first, *((name, text if score else "") for name, text in others)]


def _print_by_tag(out: Console, result: "Comparison") -> None:
    arms = [arm for arm in result.ranking if arm.by_tag]
    tags = list(dict.fromkeys(tag for arm in arms for tag in arm.by_tag))
    unit = result.verdict.unit
    rows: list[Row] = []
    for arm in arms:
        scores = [arm.by_tag[tag].score if tag in arm.by_tag else None for tag in tags]
        cells = ["" if s is None else f"{s:.4f}" if unit == "number" else f"{100 * s:.1f}" for s in scores]
        rows.append(([arm.label, *cells], None if arm in result.arms else "dim"))
    counts = arms[0].by_tag
    rows.append(([say("(test rows)"), *(count(counts[tag].count) if tag in counts else "" for tag in tags)], "dim"))
    title = both("{metric} by tag", metric=metric_text(result.verdict.metric))
    title = capitalised(both("{title}, %", title=title) if unit == "percent" else title)
    print_table(out, f"\n{title}", [say("model"), *tags], rows)


@contextmanager
def prediction_progress(quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Rows done and rows in all: a bar on a terminal, a line every half minute elsewhere."""
    if quiet:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = _console(stderr=True)
    last = time.monotonic()

    def note(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > 30:
            last = time.monotonic()
            console.print(say("… {done:,} of {total:,} rows", done=done, total=total), soft_wrap=True)

    if not console.is_terminal:
        yield note
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        job = bar.add_task("", total=None)
        yield lambda done, total: bar.update(job, completed=done, total=total)


def run_list(runs: Sequence[RunDirectory], as_json: bool) -> None:
    rows = []
    for run in runs:
        spec, result = run.spec(), run.result() or {}
        test = result.get("test", {})
        rows.append(
            {
                "run": run.path.name,
                "model": spec["model"]["kind"],
                "data": spec["task"].get("data") or spec["task"]["kind"],
                "seed": spec["seed"],
                "status": result.get("status", "unfinished"),
                "accuracy": test.get("accuracy"),
                "macro_f1": test.get("macro_f1"),
                **{name: test[name] for name in (*OF_SOME, *NUMBERS, *OF_TEXTS) if name in test},
                "best_epoch": result.get("best_epoch"),
            }
        )
    if as_json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return
    some = [name for name in OF_SOME if any(name in row for row in rows)]
    texts = [name for name in OF_TEXTS if any(name in row for row in rows)]
    numbers = [name for name in NUMBERS if any(name in row for row in rows)]
    scores = ("accuracy", *some, "macro_f1")
    columns = (
        *(both("run"), both("model"), both("data"), both("seed"), both("status")),
        *(*map(metric_text, (*scores, *numbers, *texts)), both("best epoch")),
    )
    cells = [
        [
            *(row["run"], row["model"], Path(row["data"]).name, str(row["seed"]), str(status_text(row["status"]))),
            *("" if row.get(score) is None else percent(row[score]) for score in scores),
            *("" if row.get(score) is None else score_text(row[score], "number") for score in numbers),
            *("" if row.get(score) is None else score_text(row[score], "points") for score in texts),
            str(row["best_epoch"] or ""),
        ]
        for row in rows
    ]
    print_table(_console(), "", [str(column) for column in columns], [(one, None) for one in cells])


def catalogue(entries: Sequence[tuple[Any, Path | None]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (both("name"), both("what"), both("rows"), both("languages"), both("licence"), both("here")):
        table.add_column(str(name), overflow="fold")
    for entry, where in entries:
        table.add_row(
            entry.name,
            entry.title,
            count(sum(entry.rows.values())),
            ", ".join(entry.languages),
            entry.licence,
            str(where) if where else say("no; rnnlab data get {name}", name=entry.name),
        )
    _console().print(table)


@contextmanager
def download_progress(quiet: bool = False) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on a terminal, silence elsewhere."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    console = _console(stderr=True)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        job = bar.add_task("", total=None)
        yield lambda done, total: bar.update(job, completed=done, total=total)


def data_profile(profile: dict[str, Any], as_json: bool) -> None:
    print(json.dumps(profile, indent=2, ensure_ascii=False) if as_json else "\n".join(profile_lines(profile)))


def profile_lines(profile: dict[str, Any]) -> list[str]:
    """Generated data brings its own lines; of a file, those of its profile."""
    if "lines" in profile:
        return [str(retold(line)) for line in profile["lines"]]
    return Profile.from_dict(profile).lines()
