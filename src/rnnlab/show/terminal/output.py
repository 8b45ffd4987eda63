"""What the commands print. Answers go to standard output, progress to standard error."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from rnnlab.core.numbers import count, duration, interval_text, percent, score_text, size
from rnnlab.core.terms import metric_text, status_text
from rnnlab.core.words import Both, ResultNote, both, capitalised, plural, retold, say
from rnnlab.data.profile import Profile
from rnnlab.judging.wording import sentence_of
from rnnlab.runs.directory import RunDirectory, Stopped
from rnnlab.show.terminal.columns import Row, print_table
from rnnlab.show.terminal.progress import LiveTable, PlainLines, describe

if TYPE_CHECKING:  # `rnnlab runs` need not wait for torch
    from rnnlab.comparing.comparison import ArmSummary, Comparison
    from rnnlab.comparing.studies import Estimate
    from rnnlab.comparing.tuning import Tuning


def _console(stderr: bool = False) -> Console:
    """A pipe or a file gets lines of 120 columns rather than rich's 80."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else 120, highlight=False, markup=False)


class Screen:
    """One command's conversation with a person."""

    def __init__(self, quiet: bool = False):
        self.quiet = quiet
        self.out, self.progress = _console(), _console(stderr=True)

    def profile(self, profile: dict[str, Any], notes: Sequence[str]) -> None:
        """The data first: people read it."""
        if not self.quiet:
            for line in [*profile_lines(profile), *(say("note: {text}", text=retold(note)) for note in notes), ""]:
                self.out.print(line, soft_wrap=True)

    def live(self, jobs: int, settings: bool = False) -> LiveTable | PlainLines:
        """Of the runs of several models, or of a sweep's settings."""
        return (LiveTable if self.progress.is_terminal else PlainLines)(self.progress, jobs, settings)

    def estimate(self, found: "Estimate", jobs: int) -> None:
        """The answer to --dry-run."""
        told = both("{runs:,} runs, {found:,} of them finished", runs=found.runs, found=found.found)
        if found.searched:
            told = both("{told}, and {count} settings that a strategy draws", told=told, count=found.searched)
        self.out.print(str(told))
        if found.runs > found.found:
            self.out.print(
                say(
                    "at most {time} for the others, {jobs} at a time, from {probes} timed settings; about {disk} of "
                    "disk",
                    time=duration(found.wall_seconds(jobs)),
                    jobs=jobs,
                    probes=found.probes,
                    disk=size(found.disk),
                ),
                soft_wrap=True,
            )

    @contextmanager
    def working(self) -> Iterator[Callable[[str], None]]:
        """Says what is being done: in place on a terminal, a line each elsewhere."""
        if not self.progress.is_terminal:
            yield lambda text: None if self.quiet else self.progress.print(f"… {text}", soft_wrap=True)
            return
        with self.progress.status("…") as status:
            yield status.update

    def note(self, text: str) -> None:
        """Something to know while work goes on."""
        if not self.quiet:
            self.progress.print(f"… {text}", soft_wrap=True)

    def how_long(self, text: str) -> None:
        """What is about to be spent; beside JSON too, which is on the other stream."""
        self.progress.print(f"… {text}", soft_wrap=True)

    def report(self, path: str) -> None:
        if not self.quiet:
            self.out.print("\n" + say("Report: {path}", path=path), soft_wrap=True)

    def written(self, files: Sequence[Path], first: Path) -> None:
        what = plural("{count} file written; open {file}", "{count} files written; open {file}", len(files), file=first)
        self.out.print(f"\n{what}", soft_wrap=True)

    def verdict(self, result: "Comparison", folder: str) -> None:
        _print_scores(self.out, result)
        if any(arm.by_tag for arm in result.arms):
            _print_by_tag(self.out, result)
        if result.tuning is not None:
            self.tuning(result.tuning)
        self.out.print(str(sentence_of(result.verdict)), soft_wrap=True)
        for note in result.notes:
            if isinstance(note, ResultNote):
                self.out.print("\n" + say("{note}.", note=capitalised(retold(note))), soft_wrap=True)
        if result.recommended_run and result.question:
            self._use(f'rnnlab predict {result.recommended_run} "{result.question}"', before="\n")

    def tuning(self, tuning: "Tuning") -> None:
        """Which setting each model got, and from how many trials on one is ahead."""
        from rnnlab.show.tuning_texts import equal_text, lead_lines, tuning_lines

        told = say("Settings, chosen on validation ({who}):", who=equal_text(tuning))
        self.out.print(f"\n{told}", soft_wrap=True)
        for line in [*tuning_lines(tuning), *lead_lines(tuning), ""]:
            self.out.print(str(line), soft_wrap=True)

    def _use(self, command: str, before: str = "") -> None:
        self.out.print(before + say("Use it:  {command}", command=command), soft_wrap=True)

    def run(self, run: RunDirectory) -> None:
        """One trained model."""
        from rnnlab.tasks.base import TASKS

        outcome = run.outcome() or Stopped()
        self.out.print(str(describe(outcome)), soft_wrap=True)
        result = run.result() or {}
        if "test" in result:
            test, parameters = result["test"], result["parameters"]["total"]
            answer = TASKS.parse(run.spec()["task"]).answer
            first, second = (
                both(
                    "{metric} {score}", metric=metric_text(score.title), score=score_text(test[score.name], score.unit)
                )
                for score in (answer.judged, answer.beside_the_judged)
            )
            self.out.print(
                say(
                    "test {first}, {second}; {parameters} parameters. One seed: 'rnnlab compare' says how much that is "
                    "worth.",
                    first=first,
                    second=second,
                    parameters=count(parameters),
                )
            )
            question = TASKS[run.spec()["task"]["kind"]].question
            if question:
                self._use(f'rnnlab predict {run.path} "{question}"')


def _print_scores(out: Console, result: "Comparison") -> None:
    seeds = max((len(arm.runs) for arm in result.arms), default=0)
    metric = metric_text(result.verdict.metric)
    margin = f"{100 * result.verdict.margin:.1f}"
    title = plural(
        "Test {metric}, {count} seed per model", "Test {metric}, {count} seeds per model", seeds, metric=metric
    )
    if result.verdict.best_group:
        title = both(
            "{title} (* within {margin} points of the best, and not measurably worse)", title=title, margin=margin
        )
    if result.verdict.cut_short:
        title = both("{title} (+ still improving at its limit)", title=title)
    failed = bool(result.verdict.failures)
    columns = (
        both("model"),
        metric,
        both("{level} % interval", level=95),
        *((both("failed seeds"),) if failed else ()),
        *((both("seen rows"), both("unseen rows")) if result.seen_matters else ()),
        metric_text(result.beside.title),
        both("s/epoch") if _has_epochs(result) else both("ms/update"),
        both("tokens/s"),
        both("best epoch") if _has_epochs(result) else both("best evaluation"),
        both("parameters"),
        both("MB"),
    )
    rows: list[Row] = [
        (_row(arm, result, failed), "dim" if arm in result.baselines else None) for arm in result.ranking
    ]
    print_table(out, str(title), [str(column) for column in columns], rows)


def _has_epochs(result: "Comparison") -> bool:
    """Where batches are drawn afresh there are none."""
    return all(arm.epoch_seconds is not None or arm.step_seconds is None for arm in result.arms)


def _row(arm: "ArmSummary", result: "Comparison", failed: bool) -> list[str]:
    second, unit, seen = arm.scores.get(result.beside.name), result.verdict.unit, result.seen_matters
    name = f"{arm.label} *" if arm.in_best_group else arm.label
    if arm.score is None:
        states = sorted({run.status for run in arm.runs})
        return [name, "/".join(str(status_text(state)) for state in states), *[""] * (7 + failed + 2 * seen)]
    return [
        name,
        score_text(arm.score.mean, unit),
        interval_text(arm.score.low, arm.score.high, unit),
        *(
            [say("{part} of {whole}", part=len(arm.failed_seeds), whole=len(arm.runs)) if arm.failed_seeds else ""]
            if failed
            else []
        ),
        *(
            [score_text(arm.by_seen[p].score, unit) if p in arm.by_seen else "" for p in ("seen", "unseen")]
            if seen
            else []
        ),
        "" if second is None else score_text(second, result.beside.unit),
        _speed(arm),
        count(arm.tokens_per_second) if arm.tokens_per_second is not None else "",
        f"{arm.best_epoch:.0f}{'+' if arm.cut_short else ''}" if arm.best_epoch is not None else "",
        count(arm.parameters) if arm.parameters is not None else "",
        f"{arm.peak_memory_mb:.0f}" if arm.peak_memory_mb is not None else "",
    ]


def _speed(arm: "ArmSummary") -> str:
    if arm.epoch_seconds is not None:
        return f"{arm.epoch_seconds:.2f}"
    return "" if arm.step_seconds is None else f"{1000 * arm.step_seconds:.1f}"


def _by_tag_title(metric: str, shares: bool) -> Both:
    title = both("{metric} by tag", metric=metric_text(metric))
    return capitalised(both("{title}, %", title=title) if shares else title)


def _print_by_tag(out: Console, result: "Comparison") -> None:
    arms = [arm for arm in result.ranking if arm.by_tag]
    tags = list(dict.fromkeys(tag for arm in arms for tag in arm.by_tag))
    shares = result.verdict.unit == "percent"
    rows: list[Row] = []
    for arm in arms:
        scores = [arm.by_tag[tag].score if tag in arm.by_tag else None for tag in tags]
        cells = ["" if s is None else f"{100 * s:.1f}" if shares else f"{s:.4f}" for s in scores]
        rows.append(([arm.label, *cells], None if arm in result.arms else "dim"))
    counts = arms[0].by_tag
    rows.append(([say("(test rows)"), *(count(counts[tag].count) if tag in counts else "" for tag in tags)], "dim"))
    print_table(out, "\n" + str(_by_tag_title(result.verdict.metric, shares)), [say("model"), *tags], rows)


@contextmanager
def prediction_progress() -> Iterator[Callable[[int, int], None]]:
    """Rows done and rows in all: a bar on a terminal, a line every half minute elsewhere."""
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
        spec, result = run.spec(), run.result()
        status = result["status"] if result else "unfinished"
        test = (result or {}).get("test", {})
        rows.append(
            {
                "run": run.path.name,
                "model": spec["model"]["kind"],
                "data": spec["task"].get("data", spec["task"]["kind"]),
                "seed": spec["seed"],
                "status": status,
                "accuracy": test.get("accuracy"),
                "macro_f1": test.get("macro_f1"),
                "best_epoch": (result or {}).get("best_epoch"),
            }
        )
    if as_json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return
    columns = (
        *(both("run"), both("model"), both("data"), both("seed"), both("status")),
        *(both("accuracy"), both("macro-F1"), both("best epoch")),
    )
    print_table(_console(), "", [str(column) for column in columns], [(_run_cells(row), None) for row in rows])


def _run_cells(row: dict[str, Any]) -> list[str]:
    return [
        row["run"],
        row["model"],
        Path(row["data"]).name,
        str(row["seed"]),
        str(status_text(row["status"])),
        percent(row["accuracy"]) if row["accuracy"] is not None else "",
        percent(row["macro_f1"]) if row["macro_f1"] is not None else "",
        str(row["best_epoch"] or ""),
    ]


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
def download_progress() -> Iterator[Callable[[int, int | None], None]]:
    """A bar on a terminal, silence elsewhere."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    console = _console(stderr=True)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        job = bar.add_task("", total=None)
        yield lambda done, total: bar.update(job, completed=done, total=total)


def data_profile(profile: dict[str, Any], as_json: bool) -> None:
    print(json.dumps(profile, indent=2, ensure_ascii=False) if as_json else "\n".join(profile_lines(profile)))


def profile_lines(profile: dict[str, Any]) -> list[str]:
    """Generated data brings its own lines; of a file, those of its profile."""
    if "lines" in profile:
        return [str(retold(line)) for line in profile["lines"]]
    return Profile.from_dict(profile).lines()
