"""The ledger of claims: what each document says, what was measured, whether it holds. Nothing is filled in by hand."""

import datetime
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rnnlab.claims.claim import Claim
from rnnlab.claims.intervals import LEVEL
from rnnlab.claims.verdicts import Finding, Run
from rnnlab.comparing.studies import Study
from rnnlab.core.errors import DataError, RnnlabError
from rnnlab.core.numbers import duration
from rnnlab.core.terms import status_text
from rnnlab.core.words import CLAUSES, both, joined, language, listed, say
from rnnlab.runs.directory import pretty_json
from rnnlab.show.claim_texts import measured, note_text, sentence, verdict_word

FORMAT = 1
COLOURS = {"supported": "green", "contradicted": "red", "cannot tell": "yellow"}
COLUMNS = (
    both("claim"),
    both("the document's figure"),
    both("measured (95 % interval)"),
    both("verdict", _context="claim"),
    both("decided by"),
    both("seeds"),
    both("runs"),
)
TERMINAL_COLUMNS = (both("document"), *COLUMNS[:4], COLUMNS[5])
MEASURES = {
    "value": both("mean"),
    "difference": both("difference"),
    "ratio": both("ratio"),
    "trend": both("trend along {along}"),
    "lowest": both("lowest along {along}"),
    "highest": both("highest along {along}"),
    "share": both("share of runs"),
}
JUDGED_AGAIN = both(
    "The rules have changed since the runs. By the new ones these claims were judged again, from the values that the "
    "ledger had recorded: {claims}."
)
JUDGED_BEFORE = both(
    "These claims stand as the earlier rules judged them, because the new ones would need values that weren't "
    "recorded: {claims}."
)
NEWER = both("The runs were computed by {code}. This code is newer: the figures may differ from what it would measure.")
RULE = both(
    "A claim is supported when its whole 95 % interval satisfies the rule, contradicted when the whole interval "
    "violates it; otherwise there is no telling. For the best value of an axis, 95 % of the draws decide."
)
UNCORRECTED = both(
    "{intervals} claims have an interval, each of 95 % by itself and uncorrected for their number: about {expected} of "
    "these intervals are expected to miss the truth, and as many verdicts may be wrong."
)
COMPUTED = both(
    "Every figure is computed from the runs: {runs} of them, seeds {seeds}, {time} of training in all; {date}."
)
MACHINE = both(
    "{runs} runs on {machine} ({system}), CPU capability {cpu_capability}, threads per run: {threads}; torch {torch}, "
    "Python {python}, rnnlab {rnnlab}."
)
ENVIRONMENT = ("machine", "system", "cpu_capability", "threads", "torch", "python", "rnnlab")


@dataclass(frozen=True)
class Provenance:
    """Where the figures come from, as the runs recorded it."""

    date: str
    commands: tuple[str, ...]
    environments: tuple[dict[str, Any], ...]  # different ones, each with the number of ``runs``
    runs: int
    seeds: tuple[int, ...]
    seconds: float  # of training, all runs together
    reduced: dict[str, str]  # by experiment: what is smaller than in the document
    judged_again: tuple[str, ...] = ()  # claims that later rules judged from recorded values, without the runs
    judged_before: tuple[str, ...] = ()  # claims that later rules might judge otherwise, if the runs were there
    code: str | None = None  # the commit and the kernels that computed the runs, where they are not those of this code


@dataclass(frozen=True)
class Ledger:
    findings: tuple[Finding, ...]
    provenance: Provenance

    def counts(self) -> dict[str, int]:
        verdicts = [finding.verdict for finding in self.findings]
        return {verdict: verdicts.count(verdict) for verdict in COLOURS}

    def to_dict(self) -> dict[str, Any]:
        said = [{"sentence": sentence(f).en, "sentence_zh": sentence(f).zh} for f in self.findings]
        return {
            "format": FORMAT,
            "counts": self.counts(),
            "findings": [finding.to_dict() | words for finding, words in zip(self.findings, said, strict=True)],
            "provenance": asdict(self.provenance),
        }

    def to_json(self) -> str:
        return pretty_json(self.to_dict())


def load_ledger(text: str) -> Ledger:
    """What ``to_json`` wrote."""
    try:
        values = json.loads(text)
        if values["format"] != FORMAT:
            raise DataError(
                "this ledger has format {format!r}; this version of rnnlab reads {ours}",
                format=values["format"],
                ours=FORMAT,
            )
        about: dict[str, Any] = {
            key: tuple(of) if isinstance(of, list) else of for key, of in values["provenance"].items()
        }
        return Ledger(tuple(map(Finding.from_dict, values["findings"])), Provenance(**about))
    except RnnlabError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            "not a ledger as rnnlab writes it ({kind}: {error})", kind=type(error).__name__, error=error
        ) from None


def provenance_of(
    studies: Iterable[Study],
    commands: Sequence[str] = (),
    reduced: Mapping[str, str] | None = None,
    date: datetime.date | None = None,
) -> Provenance:
    """From what the runs recorded about themselves. A run that several studies share counts once."""
    repeats = {r.digest: r for study in studies for point in study.points for r in point.repeats}.values()
    environments: dict[tuple[Any, ...], int] = {}
    for repeat in repeats:
        if "environment" in repeat.result:
            key = tuple(repeat.result["environment"].get(name, "?") for name in ENVIRONMENT)
            environments[key] = environments.get(key, 0) + 1
    return Provenance(
        date=(date or datetime.datetime.now(datetime.UTC).date()).isoformat(),
        commands=tuple(commands),
        environments=tuple(
            {**dict(zip(ENVIRONMENT, key, strict=True)), "runs": runs} for key, runs in environments.items()
        ),
        runs=len(repeats),
        seeds=tuple(sorted({repeat.seed for repeat in repeats})),
        seconds=sum(float(event.get("seconds") or 0.0) for repeat in repeats for event in repeat.curve),
        reduced=dict(reduced or {}),
    )


# Markdown


def markdown(ledger: Ledger, links_from: str | Path | None = None) -> str:
    """The ledger as a page. ``links_from`` is the folder that it will stand in: runs are then linked from there."""
    about = ledger.provenance
    lines = [f"# {say('Ledger of claims')}", "", f"**{_summary(ledger)}**", ""]
    if about.code:
        lines += [str(NEWER.format(code=about.code)), ""]
    for document in dict.fromkeys(finding.claim.document for finding in ledger.findings):
        chosen = [finding for finding in ledger.findings if finding.claim.document == document]
        lines += [f"## {say('Document {document}', document=escape(document))}", "", *_table(chosen), ""]
        items = [_item(finding) for finding in chosen if finding.reason or finding.notes]
        lines += [say("What the figures rest on, claim by claim:"), "", *items, ""] if items else []
    lines += [f"## {say('Notes')}", "", *(f"- {note}" for note in _general_notes(ledger)), ""]
    if about.reduced:
        reduced = [f"- **{escape(experiment)}**: {escape(what)}" for experiment, what in about.reduced.items()]
        lines += [f"## {say('What is smaller than in the document')}", "", *reduced, ""]
    if about.commands:
        fence = "```" + "`" * max((len(run) for c in about.commands for run in re.findall("`+", c)), default=0)
        commands = [f"{fence}console", *map(_one_line, about.commands), fence]
        lines += [f"## {say('Commands')}", "", *commands, ""]
    lines += [f"## {say('Runs')}", "", *_run_lists(ledger, links_from)]
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _summary(ledger: Ledger) -> str:
    counts = ledger.counts()
    return say(
        "{claims} claims: {supported} supported, {contradicted} contradicted, {undecided} cannot tell.",
        claims=len(ledger.findings),
        supported=counts["supported"],
        contradicted=counts["contradicted"],
        undecided=counts["cannot tell"],
    )


def _table(findings: Sequence[Finding]) -> list[str]:
    rows = [
        [
            f"{escape(_says(finding.claim))} `{finding.claim.id}`",
            escape(finding.claim.figure or ""),
            escape(str(measured(finding))),
            f"**{verdict_word(finding)}**",
            escape(_decided_by(finding.claim)),
            str(len(finding.seeds)),
            f"[{len(finding.runs)}](#{_anchor(finding.claim.study)})" if finding.runs else "0",
        ]
        for finding in findings
    ]
    return [_row(map(str, COLUMNS)), "|---|---|---|---|---|---:|---:|", *map(_row, rows)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _says(claim: Claim) -> str:
    return claim.says_zh or claim.says if language() == "zh" else claim.says


def _decided_by(claim: Claim) -> str:
    measure = MEASURES[claim.best if claim.measure == "best" and claim.best else claim.measure]
    measure = measure.format(along=claim.along)
    return say("{measure} of {quantity} {rule}", measure=measure, quantity=claim.quantity, rule=claim.rule)


def _item(finding: Finding) -> str:
    notes = ([finding.reason] if finding.reason else []) + list(finding.notes)
    texts = joined([escape(str(note_text(note))) for note in notes], CLAUSES)
    return "- " + say("{id}: {texts}", id=finding.claim.id, texts=texts)


def _general_notes(ledger: Ledger) -> list[str]:
    about = ledger.provenance
    intervals = sum(f.low is not None or f.high is not None or bool(f.winners) for f in ledger.findings)
    notes = [RULE]
    if intervals:
        notes.append(UNCORRECTED.format(intervals=intervals, expected=f"{(1 - LEVEL) * intervals:.1f}"))
    seeds, time = _ranges(about.seeds), duration(about.seconds)
    notes.append(COMPUTED.format(runs=about.runs, seeds=seeds, time=time, date=about.date))
    for said, ids in ((JUDGED_AGAIN, about.judged_again), (JUDGED_BEFORE, about.judged_before)):
        if ids:
            notes.append(said.format(claims=listed([f"`{id}`" for id in ids], "comma")))
    environments = ({name: escape(str(value)) for name, value in one.items()} for one in about.environments)
    return [*map(str, notes), *(str(MACHINE.format(**environment)) for environment in environments)]


def _ranges(numbers: Sequence[int]) -> str:
    """``0–4, 7``; a dash when there are none."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{span[0]}–{span[-1]}" if len(span) > 1 else str(span[0]) for span in spans) or "–"


def _run_lists(ledger: Ledger, links_from: str | Path | None) -> list[str]:
    """By study and setting, each run once: several claims may rest on it."""
    lines = []
    for study in dict.fromkeys(finding.claim.study for finding in ledger.findings if finding.runs):
        runs = {run.digest: run for f in ledger.findings if f.claim.study == study for run in f.runs}.values()
        lines += [f'<a id="{_anchor(study)}"></a>', "", f"### {escape(study)}", ""]
        for point in dict.fromkeys(run.point for run in runs):
            shown = [_run(run, links_from) for run in runs if run.point == point]
            lines.append(f"- {escape(point)}: {joined(shown, CLAUSES)}")
        lines.append("")
    return lines


def _run(run: Run, links_from: str | Path | None) -> str:
    name = f"`{run.digest[:8]}`"
    if links_from is not None:
        target = os.path.relpath(run.path, links_from).replace(os.sep, "/")
        name = f"[{name}]({quote(target)})"
    if run.status != "finished":
        name = say("{run} ({status})", run=name, status=status_text(run.status))
    return say("seed {seed}: {run}", seed=run.seed, run=name)


def _anchor(study: str) -> str:
    return "runs-" + re.sub(r"[^\w-]+", "-", study).strip("-").lower()


# Terminal


def show(console: Console, ledger: Ledger) -> None:
    """A table with the verdicts in words and in colour, and the count of each."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for column in TERMINAL_COLUMNS:
        table.add_column(Text(str(column)), overflow="fold")
    for finding in ledger.findings:
        claim = finding.claim
        found = Text(str(measured(finding)))
        if finding.reason:
            found.append(("\n" if found else "") + str(note_text(finding.reason)), "dim")
        verdict = Text(str(verdict_word(finding)), COLOURS[finding.verdict])
        texts = (Text(text) for text in (claim.document, _says(claim), claim.figure or ""))
        table.add_row(*texts, found, verdict, Text(str(len(finding.seeds))))
    console.print(table)
    console.print(Text(_summary(ledger), "bold"))
