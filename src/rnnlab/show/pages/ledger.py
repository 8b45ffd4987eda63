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
from rnnlab.core.words import CLAUSES, Language, both, listed
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
        about = values["provenance"]
        provenance = Provenance(
            date=about["date"],
            commands=tuple(about["commands"]),
            environments=tuple(about["environments"]),
            runs=about["runs"],
            seeds=tuple(about["seeds"]),
            seconds=about["seconds"],
            reduced=about["reduced"],
            judged_again=tuple(about.get("judged_again", ())),  # earlier ledgers don't have them
            judged_before=tuple(about.get("judged_before", ())),
            code=about.get("code"),
        )
        return Ledger(tuple(Finding.from_dict(finding) for finding in values["findings"]), provenance)
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


def markdown(ledger: Ledger, links_from: str | Path | None = None, language: Language = "en") -> str:
    """The ledger as a page. ``links_from`` is the folder that it will stand in: runs are then linked from there."""
    lines = [f"# {both('Ledger of claims')[language]}", "", f"**{_summary(ledger, language)}**", ""]
    if ledger.provenance.code:
        lines += [
            both(
                "The runs were computed by {code}. This code is newer: the figures may differ from what "
                "it would measure.",
                code=ledger.provenance.code,
            )[language],
            "",
        ]
    for document in dict.fromkeys(finding.claim.document for finding in ledger.findings):
        chosen = [finding for finding in ledger.findings if finding.claim.document == document]
        lines += [
            f"## {both('Document {document}', document=escape(document))[language]}",
            "",
            *_table(chosen, language),
            "",
        ]
        items = [_item(finding, language) for finding in chosen if finding.reason or finding.notes]
        lines += [both("What the figures rest on, claim by claim:")[language], "", *items, ""] if items else []
    lines += [f"## {both('Notes')[language]}", "", *(f"- {note}" for note in _general_notes(ledger, language)), ""]
    about = ledger.provenance
    if about.reduced:
        lines += [
            f"## {both('What is smaller than in the document')[language]}",
            "",
            *(f"- **{escape(k)}**: {escape(v)}" for k, v in about.reduced.items()),
            "",
        ]
    if about.commands:
        fence = "```" + "`" * max((len(run) for c in about.commands for run in re.findall("`+", c)), default=0)
        lines += [
            f"## {both('Commands')[language]}",
            "",
            f"{fence}console",
            *(_one_line(c) for c in about.commands),
            fence,
            "",
        ]
    lines += [f"## {both('Runs')[language]}", "", *_run_lists(ledger, links_from, language)]
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _summary(ledger: Ledger, language: Language) -> str:
    counts = ledger.counts()
    return both(
        "{claims} claims: {supported} supported, {contradicted} contradicted, {undecided} cannot tell.",
        claims=len(ledger.findings),
        supported=counts["supported"],
        contradicted=counts["contradicted"],
        undecided=counts["cannot tell"],
    )[language]


def _table(findings: Sequence[Finding], language: Language) -> list[str]:
    columns = [column[language] for column in COLUMNS]
    rows = [
        [
            f"{escape(_says(finding.claim, language))} `{finding.claim.id}`",
            escape(finding.claim.figure or ""),
            escape(measured(finding)[language]),
            f"**{verdict_word(finding)[language]}**",
            escape(_decided_by(finding.claim, language)),
            str(len(finding.seeds)),
            f"[{len(finding.runs)}](#{_anchor(finding.claim.study)})" if finding.runs else "0",
        ]
        for finding in findings
    ]
    return [_row(columns), "|---|---|---|---|---|---:|---:|", *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _says(claim: Claim, language: Language) -> str:
    return claim.says_zh or claim.says if language == "zh" else claim.says


def _decided_by(claim: Claim, language: Language) -> str:
    measure = MEASURES[claim.best if claim.measure == "best" and claim.best else claim.measure]
    measure = measure.format(along=claim.along)
    return both("{measure} of {quantity} {rule}", measure=measure, quantity=claim.quantity, rule=claim.rule)[language]


def _item(finding: Finding, language: Language) -> str:
    notes = ([finding.reason] if finding.reason else []) + list(finding.notes)
    texts = CLAUSES[language].join(escape(note_text(note)[language]) for note in notes)
    return "- " + both("{id}: {texts}", id=finding.claim.id, texts=texts)[language]


def _general_notes(ledger: Ledger, language: Language) -> list[str]:
    about = ledger.provenance
    intervals = sum(f.low is not None or f.high is not None or bool(f.winners) for f in ledger.findings)
    notes = [
        both(
            "A claim is supported when its whole 95 % interval satisfies the rule, contradicted when "
            "the whole interval violates it; otherwise there is no telling. For the best value of an "
            "axis, 95 % of the draws decide."
        )[language]
    ]
    if intervals:
        notes.append(
            both(
                "{intervals} claims have an interval, each of 95 % by itself and uncorrected for their "
                "number: about {expected} of these intervals are expected to miss the truth, and as many "
                "verdicts may be wrong.",
                intervals=intervals,
                expected=f"{(1 - LEVEL) * intervals:.1f}",
            )[language]
        )
    seeds = _ranges(about.seeds)
    time = duration(about.seconds)
    notes.append(
        both(
            "Every figure is computed from the runs: {runs} of them, seeds {seeds}, {time} of training in all; {date}.",
            runs=about.runs,
            seeds=seeds,
            time=time,
            date=about.date,
        )[language]
    )
    for said, ids in ((JUDGED_AGAIN, about.judged_again), (JUDGED_BEFORE, about.judged_before)):
        if ids:
            notes.append(said.format(claims=listed([f"`{id}`" for id in ids], "comma"))[language])
    for environment in about.environments:
        texts = {name: escape(str(value)) for name, value in environment.items()}
        notes.append(
            both(
                "{runs} runs on {machine} ({system}), CPU capability {cpu_capability}, threads per run: "
                "{threads}; torch {torch}, Python {python}, rnnlab {rnnlab}.",
                **texts,
            )[language]
        )
    return notes


def _ranges(numbers: Sequence[int]) -> str:
    """``0–4, 7``; a dash when there are none."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{span[0]}–{span[-1]}" if len(span) > 1 else str(span[0]) for span in spans) or "–"


def _run_lists(ledger: Ledger, links_from: str | Path | None, language: Language) -> list[str]:
    """By study and setting, each run once: several claims may rest on it."""
    lines = []
    for study in dict.fromkeys(finding.claim.study for finding in ledger.findings if finding.runs):
        runs = {run.digest: run for f in ledger.findings if f.claim.study == study for run in f.runs}.values()
        lines += [f'<a id="{_anchor(study)}"></a>', "", f"### {escape(study)}", ""]
        for point in dict.fromkeys(run.point for run in runs):
            shown = [_run(run, links_from, language) for run in runs if run.point == point]
            lines.append(f"- {escape(point)}: {CLAUSES[language].join(shown)}")
        lines.append("")
    return lines


def _run(run: Run, links_from: str | Path | None, language: Language) -> str:
    name = f"`{run.digest[:8]}`"
    if links_from is not None:
        target = os.path.relpath(run.path, links_from).replace(os.sep, "/")
        name = f"[{name}]({quote(target)})"
    if run.status != "finished":
        name = both("{run} ({status})", run=name, status=status_text(run.status))[language]
    return both("seed {seed}: {run}", seed=run.seed, run=name)[language]


def _anchor(study: str) -> str:
    return "runs-" + re.sub(r"[^\w-]+", "-", study).strip("-").lower()


# Terminal


def show(console: Console, ledger: Ledger, language: Language = "en") -> None:
    """A table with the verdicts in words and in colour, and the count of each."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for column in TERMINAL_COLUMNS:
        table.add_column(Text(column[language]), overflow="fold")
    for finding in ledger.findings:
        claim = finding.claim
        found = Text(measured(finding)[language])
        if finding.reason:
            found.append(("\n" if found else "") + note_text(finding.reason)[language], "dim")
        table.add_row(
            Text(claim.document),
            Text(_says(claim, language)),
            Text(claim.figure or ""),
            found,
            Text(verdict_word(finding)[language], COLOURS[finding.verdict]),
            Text(str(len(finding.seeds))),
        )
    console.print(table)
    console.print(Text(_summary(ledger, language), "bold"))
