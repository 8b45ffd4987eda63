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
from rnnlab.claims.findings import Finding, Run
from rnnlab.claims.intervals import LEVEL
from rnnlab.comparing.studies import Study
from rnnlab.core.errors import DataError, RnnlabError
from rnnlab.core.numbers import duration
from rnnlab.runs.directory import pretty_json
from rnnlab.show.words.claim_wording import Language, measured, note_text, sentence, verdict_word
from rnnlab.show.words.ledger_wording import WORDS

FORMAT = 1
COLOURS = {"supported": "green", "contradicted": "red", "cannot tell": "yellow"}
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
        said = [{"sentence": sentence(f), "sentence_zh": sentence(f, "zh")} for f in self.findings]
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
            raise DataError(f"this ledger has format {values['format']!r}; this version of rnnlab reads {FORMAT}")
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
        raise DataError(f"not a ledger as rnnlab writes it ({type(error).__name__}: {error})") from None


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
    words = WORDS[language]
    lines = [f"# {words['title']}", "", f"**{_summary(ledger, language)}**", ""]
    if ledger.provenance.code:
        lines += [words["code"].format(code=ledger.provenance.code), ""]
    for document in dict.fromkeys(finding.claim.document for finding in ledger.findings):
        chosen = [finding for finding in ledger.findings if finding.claim.document == document]
        lines += [f"## {words['document'].format(document=escape(document))}", "", *_table(chosen, language), ""]
        items = [_item(finding, language) for finding in chosen if finding.reason or finding.notes]
        lines += [words["to notes"], "", *items, ""] if items else []
    lines += [f"## {words['notes']}", "", *(f"- {note}" for note in _general_notes(ledger, language)), ""]
    about = ledger.provenance
    if about.reduced:
        lines += [
            f"## {words['reduced']}",
            "",
            *(f"- **{escape(k)}**: {escape(v)}" for k, v in about.reduced.items()),
            "",
        ]
    if about.commands:
        fence = "```" + "`" * max((len(run) for c in about.commands for run in re.findall("`+", c)), default=0)
        lines += [f"## {words['commands']}", "", f"{fence}console", *(_one_line(c) for c in about.commands), fence, ""]
    lines += [f"## {words['runs']}", "", *_run_lists(ledger, links_from, language)]
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _summary(ledger: Ledger, language: Language) -> str:
    counts = ledger.counts()
    return WORDS[language]["summary"].format(
        claims=len(ledger.findings),
        supported=counts["supported"],
        contradicted=counts["contradicted"],
        undecided=counts["cannot tell"],
    )


def _table(findings: Sequence[Finding], language: Language) -> list[str]:
    columns = WORDS[language]["columns"].split("|")
    rows = [
        [
            f"{escape(_says(finding.claim, language))} `{finding.claim.id}`",
            escape(finding.claim.figure or ""),
            escape(measured(finding, language)),
            f"**{verdict_word(finding, language)}**",
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
    words = WORDS[language]
    best = words[claim.best] if claim.best else ""
    measure = words[claim.measure].format(along=claim.along, best=best)
    return words["decided"].format(measure=measure, quantity=claim.quantity, rule=claim.rule)


def _item(finding: Finding, language: Language) -> str:
    notes = ([finding.reason] if finding.reason else []) + list(finding.notes)
    texts = WORDS[language]["semicolon"].join(escape(note_text(note, language)) for note in notes)
    return "- " + WORDS[language]["item"].format(id=finding.claim.id, texts=texts)


def _general_notes(ledger: Ledger, language: Language) -> list[str]:
    words, about = WORDS[language], ledger.provenance
    intervals = sum(f.low is not None or f.high is not None or bool(f.winners) for f in ledger.findings)
    notes = [words["verdicts"]]
    if intervals:
        notes.append(words["many"].format(intervals=intervals, expected=f"{(1 - LEVEL) * intervals:.1f}"))
    seeds = _ranges(about.seeds)
    time = duration(about.seconds)
    notes.append(words["computed"].format(runs=about.runs, seeds=seeds, time=time, date=about.date))
    for kind, ids in (("judged again", about.judged_again), ("judged before", about.judged_before)):
        if ids:
            notes.append(words[kind].format(claims=words["comma"].join(f"`{id}`" for id in ids)))
    for environment in about.environments:
        texts = {name: escape(str(value)) for name, value in environment.items()}
        notes.append(words["environment"].format(**texts))
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
            lines.append(f"- {escape(point)}: {WORDS[language]['semicolon'].join(shown)}")
        lines.append("")
    return lines


def _run(run: Run, links_from: str | Path | None, language: Language) -> str:
    words = WORDS[language]
    name = f"`{run.digest[:8]}`"
    if links_from is not None:
        target = os.path.relpath(run.path, links_from).replace(os.sep, "/")
        name = f"[{name}]({quote(target)})"
    if run.status != "finished":
        name = words["status"].format(run=name, status=words.get(run.status, escape(run.status)))
    return words["seed"].format(seed=run.seed, run=name)


def _anchor(study: str) -> str:
    return "runs-" + re.sub(r"[^\w-]+", "-", study).strip("-").lower()


# Terminal


def show(console: Console, ledger: Ledger, language: Language = "en") -> None:
    """A table with the verdicts in words and in colour, and the count of each."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for column in WORDS[language]["terminal columns"].split("|"):
        table.add_column(Text(column), overflow="fold")
    for finding in ledger.findings:
        claim = finding.claim
        found = Text(measured(finding, language))
        if finding.reason:
            found.append(("\n" if found else "") + note_text(finding.reason, language), "dim")
        table.add_row(
            Text(claim.document),
            Text(_says(claim, language)),
            Text(claim.figure or ""),
            found,
            Text(verdict_word(finding, language), COLOURS[finding.verdict]),
            Text(str(len(finding.seeds))),
        )
    console.print(table)
    console.print(Text(_summary(ledger, language), "bold"))
