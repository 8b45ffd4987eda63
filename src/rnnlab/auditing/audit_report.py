"""What an audit found, as data and as text."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rnnlab.auditing.diagnosis import Diagnosis
from rnnlab.auditing.laws import RULES
from rnnlab.auditing.remedies import Cause
from rnnlab.core.words import CLAUSES, COMMAS, Both, both, joined, retold, same, say
from rnnlab.core.wrapping import columns, padded, wrapped

Status = Literal["holds", "fails", "warns", "unjudged"]
SHOWN = {
    "holds": both("holds", _context="law"),
    "fails": both("FAILS", _context="law"),
    "warns": both("warns", _context="law"),
    "unjudged": both("?", _context="law"),
}
INDENT = 7
WIDTH = 110


@dataclass(frozen=True)
class Finding:
    """One law."""

    law: str
    rule: str
    status: Status
    difference: float | None = None  # the largest; infinite where an answer is not finite
    relative: float | None = None  # to the spread of the answers of different sequences
    lengths: tuple[int, ...] = ()  # at which it is broken
    tried: tuple[int, ...] = ()
    by_change: dict[str, float] = field(default_factory=dict)  # the largest difference for "7 more steps", …
    problem: str | None = None  # why it can't be judged
    where: str | None = None
    causes: tuple[Cause, ...] = ()

    @property
    def passed(self) -> bool:
        """A warning is about training, not about answers."""
        return self.status in ("holds", "warns")

    @staticmethod
    def unjudged(law: str, problem: str, *, warns: bool = False) -> "Finding":
        return Finding(law, RULES[law], "warns" if warns else "unjudged", problem=problem)

    @staticmethod
    def failed(law: str, problem: str, found: Diagnosis) -> "Finding":
        return Finding(law, RULES[law], "fails", problem=problem, where=found.where, causes=found.causes)

    def lines(self, padding_id: int | None, said: Mapping[Cause, str]) -> list[str]:
        """``said`` has the causes that stand above, each with its law."""
        rule = say("{law}: {rule}", _context="law", law=self.law, rule=retold(self.rule))
        lines = [padded(str(SHOWN[self.status]), INDENT) + rule]
        if self.status == "holds":
            return lines
        if self.problem:
            problem = retold(self.problem)
            unjudged = both("can't be judged: {problem}", problem=problem)
            lines += _wrap("", unjudged if self.status == "unjudged" else problem)
        elif self.difference is not None:
            lines += _wrap("", self._how_much())
            lines += _figures(self.by_change)
        where, cause, fix = (padded(str(label), 7) for label in (both("where:"), both("cause:"), both("fix:")))
        if self.where:
            lines += _wrap(where, retold(self.where))
        if self.where and not self.causes:
            lines += _wrap(cause, both("none of the known mistakes was recognised"))
        repeated = dict.fromkeys(said[known] for known in self.causes if known in said)
        if repeated:
            lines += _wrap(cause, both("as for {laws}", laws=joined(list(repeated), COMMAS)))
        new = [one for one in self.causes if one not in said]
        for one in new:
            sentence, *code = one.fix.splitlines()
            lines += _wrap(cause, retold(one.what)) + _wrap(fix, retold(sentence)) + _code(code)
        if padding_id is not None:
            code = "\n".join(line for one in new for line in one.fix.splitlines()[1:])
            known = {"lengths": f"lengths = (ids != {padding_id}).sum(1)", "mask": f"mask = ids != {padding_id}"}
            wanted = [line for name, line in known.items() if re.search(rf"\b{name}\b", code)]
            if wanted:
                lines += _wrap(" " * 7, both("forward gets the ids alone, and can find out the rest by itself:"))
                lines += _code(wanted)
        return lines

    def _how_much(self) -> Both:
        assert self.difference is not None
        much = both("answers differ by up to {difference}", difference=f"{self.difference:.2g}")
        if math.isinf(self.difference):
            much = both("some answers are NaN or infinite")
        if self.relative is not None and math.isfinite(self.relative):
            if self.relative < 0.995:
                percent = f"{100 * self.relative:.2g}"
                much = both("{much} ({percent} % of their spread)", much=much, percent=percent)
            else:
                much = both("{much} ({times} × their spread)", much=much, times=f"{self.relative:.1f}")
        if not self.tried:
            return much
        if self.lengths == self.tried:
            return both("{much}, at every length tried", much=much)
        broken, tried = (", ".join(map(str, lengths)) for lengths in (self.lengths, self.tried))
        at = both("{much}, at length {broken} of {tried}")
        if len(self.lengths) > 1:
            at = both("{much}, at lengths {broken} of {tried}")
        return at.format(much=much, broken=broken, tried=tried)


@dataclass(frozen=True)
class Audit:
    """What was audited, with what input, and a finding a law."""

    subject: str
    call: str
    inputs: str
    tolerance: float | None  # what float arithmetic may add up to
    spread: float | None  # standard deviation of the answers over different sequences, on average
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    padding_id: int | None  # where the module must find padding out from the ids
    forecasts: bool = False  # whether it is a forecaster, not a module

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.findings)

    def finding(self, law: str) -> Finding:
        return next(finding for finding in self.findings if finding.law == law)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: infinite differences are null."""
        tree = asdict(self)
        del tree["padding_id"], tree["forecasts"]
        for finding, found in zip(tree["findings"], self.findings, strict=True):
            finding |= {"passed": found.passed, "difference": _finite(found.difference)}
            finding["relative"] = _finite(found.relative)
            finding["by_change"] = {change: _finite(value) for change, value in found.by_change.items()}
        return {"passed": self.passed, **tree}

    def lines(self) -> list[str]:
        def labelled(label: Both, text: Both) -> list[str]:
            return _wrap(padded(str(label), 9), text, indent=0)

        lines = [
            str(retold(self.subject)),
            *labelled(
                both("called:"),
                same(self.call) if self.forecasts else both("{call}, in evaluation mode", call=self.call),
            ),
            *labelled(both("input:"), retold(self.inputs)),
        ]
        if self.tolerance is not None and self.spread is not None:
            figures = both(
                "answers of different sequences spread by {spread} (standard deviation); up to {tolerance} is taken "
                "for rounding"
            )
            if self.forecasts:
                figures = both(
                    "forecasts from different origins spread by {spread} (standard deviation); up to {tolerance} is "
                    "taken for rounding"
                )
            told = figures.format(spread=f"{self.spread:.2g}", tolerance=f"{self.tolerance:.1g}")
            lines.append(padded(say("figures:"), 9) + str(told))
        lines += [line for note in self.notes for line in labelled(both("note:"), retold(note))]
        lines.append("")
        said: dict[Cause, str] = {}
        for finding in self.findings:
            lines += finding.lines(self.padding_id, said)
            said |= {cause: finding.law for cause in finding.causes if cause not in said}
        return [*lines, "", self.verdict]

    @property
    def verdict(self) -> str:
        told = {"fails": both("failed: {laws}"), "unjudged": both("can't be judged: {laws}")}
        laws = {status: [one.law for one in self.findings if one.status == status] for status in (*told, "warns")}
        parts = [text.format(laws=joined(laws[status], COMMAS)) for status, text in told.items() if laws[status]]
        if parts:
            return str(joined(parts, CLAUSES))
        return say("passed, with a warning") if laws["warns"] else say("passed: all laws hold")

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _figures(by_change: dict[str, float]) -> list[str]:
    """Of several changes, the largest difference of each."""
    if len(by_change) < 2:
        return []
    names = [str(retold(change)) for change in by_change]
    width = max(map(columns, names))
    figures = zip(names, by_change.values(), strict=True)
    return [f"{'':{INDENT}}    {padded(name, width)}  {value:.2g}" for name, value in figures]


def _code(lines: Sequence[str]) -> list[str]:
    return [f"{'':{INDENT + 7}}    {line}" for line in lines]


def _wrap(label: str, text: Both, indent: int = INDENT) -> list[str]:
    """A paragraph with a hanging indent."""
    first, *rest = wrapped(str(text), WIDTH - indent - columns(label))
    hanging = " " * (indent + columns(label))
    return [f"{'':{indent}}{label}{first}", *(hanging + line for line in rest)]
