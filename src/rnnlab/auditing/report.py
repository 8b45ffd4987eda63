"""What an audit found, as data and as text."""

import math
import re
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rnnlab.auditing.laws import RULES
from rnnlab.auditing.remedies import Cause

Status = Literal["holds", "fails", "warns", "unjudged"]
SHOWN = {"holds": "holds", "fails": "FAILS", "warns": "warns", "unjudged": "?"}
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

    def lines(self, padding_id: int | None, said: Mapping[Cause, str]) -> list[str]:
        """``said`` has the causes that stand above, each with its law."""
        lines = [f"{SHOWN[self.status]:{INDENT}}{self.law}: {self.rule}"]
        if self.status == "holds":
            return lines
        if self.problem:
            judged = "can't be judged: " if self.status == "unjudged" else ""
            lines += _wrap("", judged + self.problem)
        elif self.difference is not None:
            lines += _wrap("", self._how_much())
            lines += _columns(self.by_change)
        if self.where:
            lines += _wrap("where: ", self.where)
        if self.where and not self.causes:
            lines += _wrap("cause: ", "none of the known mistakes was recognised")
        repeated = dict.fromkeys(said[cause] for cause in self.causes if cause in said)
        if repeated:
            lines += _wrap("cause: ", f"as for {', '.join(repeated)}")
        new = [cause for cause in self.causes if cause not in said]
        for cause in new:
            sentence, *code = cause.fix.splitlines()
            lines += _wrap("cause: ", cause.what)
            lines += _wrap("fix:   ", sentence)
            lines += [f"{'':{INDENT + 7}}    {line}" for line in code]
        if padding_id is not None:
            code = "\n".join(line for cause in new for line in cause.fix.splitlines()[1:])
            known = {"lengths": f"lengths = (ids != {padding_id}).sum(1)", "mask": f"mask = ids != {padding_id}"}
            wanted = [line for name, line in known.items() if re.search(rf"\b{name}\b", code)]
            if wanted:
                lines += _wrap("       ", "forward gets the ids alone, and can find out the rest by itself:")
                lines += [f"{'':{INDENT + 7}}    {line}" for line in wanted]
        return lines

    def _how_much(self) -> str:
        assert self.difference is not None
        if math.isinf(self.difference):
            much = "some answers are NaN or infinite"
        else:
            much = f"answers differ by up to {self.difference:.2g}"
        if self.relative is not None and math.isfinite(self.relative):
            much += f" ({_times(self.relative)} their spread)"
        broken, tried = (", ".join(map(str, lengths)) for lengths in (self.lengths, self.tried))
        if broken == tried:
            return f"{much}, at every length tried"
        return f"{much}, at length{'s' if len(self.lengths) > 1 else ''} {broken}" + (f" of {tried}" if tried else "")


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

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.findings)

    def finding(self, law: str) -> Finding:
        return next(finding for finding in self.findings if finding.law == law)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: infinite differences are null."""
        tree = asdict(self)
        del tree["padding_id"]
        for finding, found in zip(tree["findings"], self.findings, strict=True):
            finding |= {"passed": found.passed, "difference": _finite(found.difference)}
            finding["relative"] = _finite(found.relative)
            finding["by_change"] = {change: _finite(value) for change, value in found.by_change.items()}
        return {"passed": self.passed, **tree}

    def lines(self) -> list[str]:
        called = f"{self.call}, in evaluation mode"
        lines = [self.subject, *_wrap("called:  ", called, 0), *_wrap("input:   ", self.inputs, 0)]
        if self.tolerance is not None and self.spread is not None:
            spread = f"answers of different sequences spread by {self.spread:.2g} (standard deviation)"
            lines.append(f"figures: {spread}; up to {self.tolerance:.1g} is taken for rounding")
        lines += [line for note in self.notes for line in _wrap("note:    ", note, 0)]
        lines.append("")
        said: dict[Cause, str] = {}
        for finding in self.findings:
            lines += finding.lines(self.padding_id, said)
            said |= {cause: finding.law for cause in finding.causes if cause not in said}
        return [*lines, "", self.verdict]

    @property
    def verdict(self) -> str:
        failed = [f.law for f in self.findings if f.status == "fails"]
        unjudged = [f.law for f in self.findings if f.status == "unjudged"]
        parts = [f"failed: {', '.join(failed)}"] if failed else []
        parts += [f"can't be judged: {', '.join(unjudged)}"] if unjudged else []
        warned = any(f.status == "warns" for f in self.findings)
        return "; ".join(parts) or ("passed, with a warning" if warned else "passed: all laws hold")

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _times(relative: float) -> str:
    return f"{100 * relative:.2g} % of" if relative < 0.995 else f"{relative:.1f} ×"


def _columns(figures: dict[str, float]) -> list[str]:
    width = max(map(len, figures), default=0)
    return (
        [f"{'':{INDENT}}    {name:{width}}  {value:.2g}" for name, value in figures.items()] if len(figures) > 1 else []
    )


def _wrap(label: str, text: str, indent: int = INDENT) -> list[str]:
    """A paragraph with a hanging indent."""
    first, rest = " " * indent + label, " " * (indent + len(label))
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
