"""One audit, law after law."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import nn

from rnnlab.auditing import laws
from rnnlab.auditing.audit_report import Finding
from rnnlab.auditing.calling import answer_of
from rnnlab.auditing.diagnosis import Diagnosis, diagnose, diagnose_not_finite, diagnose_randomness
from rnnlab.auditing.laws import RULES, Case, Pair
from rnnlab.auditing.remedies import SORTED_ONLY
from rnnlab.auditing.subject import VARIANTS, CannotRun, Run, Subject, left_alone, not_runnable
from rnnlab.core.errors import ConfigError
from rnnlab.core.words import note


class Examination:
    """Of one module. Laws that would mean nothing after an earlier finding are not judged."""

    def __init__(self, subject: Subject, lengths: Sequence[int], pad_to: int | None, called: str, seed: int):
        self.subject = subject
        self.pad_to = pad_to
        self.called = called
        self.seed = seed
        first = (VARIANTS * number for number in range(len(lengths)))  # of each length
        self.groups: dict[int, int] = dict(zip(lengths, first, strict=True))
        self.notes: list[str] = []
        self.tolerance: float | None = None
        self.spread: float | None = None

    def examine(self, original: nn.Module | None) -> list[Finding]:
        """``original`` is the module as it was given, if it can be copied again for training mode."""
        fixed = self._find_lengths()
        steps = self.pad_to if fixed and self.pad_to else max(self.groups)
        findings = [self._repeatable(steps if fixed else None)]
        if findings[-1].passed:
            with self._in_words():
                self.subject.find_layout(self.groups, steps if fixed else None)
            meaningful = self._meaningful(steps if fixed else None)
            findings += [] if meaningful is None else [meaningful]
        if not findings[-1].passed:
            why = note("not while '{law}' doesn't hold", law=findings[-1].law)
            return findings + [Finding.unjudged(law, why) for law in ("padding", "neighbours", "order")]
        if fixed:
            padding = Finding.unjudged("padding", fixed)
        else:
            padding = self._judge("padding", laws.padding(self.groups, self.pad_to))
        findings += [
            padding,
            self._judge("neighbours", laws.neighbours(self.groups, steps, own_lengths=not fixed)),
            self._judge("order", laws.order(self.groups, steps)),
        ]
        if self.subject.extras and self.subject.sequences[0].is_floating_point():
            findings.append(self._judge("garbage", laws.garbage(self.groups)))
        if self.subject.squeezed:
            self.notes.append(note("a batch of one loses its batch axis: write squeeze(-1) rather than squeeze()"))
        if original is not None and not fixed:
            findings.append(self._training(original, with_padding=padding.status == "holds"))
        return findings

    def _find_lengths(self) -> str | None:
        """Keep the lengths that can be run; why there is none if it takes one fixed length only."""
        failed: dict[int, str] = {}
        for length, first in self.groups.items():
            try:
                self.subject.call(Run((first,), length))
            except CannotRun as error:
                failed[length] = str(error)
        if len(failed) == len(self.groups):
            problem = failed[max(failed)]
            try:
                if self.pad_to is None:
                    raise CannotRun(problem)
                self.subject.call(Run((self.groups[max(self.groups)],), self.pad_to))
            except CannotRun as error:
                raise not_runnable(self.subject.module, self.pad_to or max(failed), self.called, str(error)) from None
            return note(
                "it runs at {steps} steps only, so padding is part of what it learns; otherwise {problem}",
                steps=self.pad_to,
                problem=problem,
            )
        for length in failed:
            del self.groups[length]
        if failed:
            lengths, problem = ", ".join(map(str, failed)), failed[max(failed)]
            self.notes.append(
                note("can't be run on a sequence of {lengths} steps alone: {problem}", lengths=lengths, problem=problem)
            )
        return None

    def _repeatable(self, steps: int | None) -> Finding:
        """Before all others: what is random can't be judged. A long sequence may forget what it started from."""
        shortest = min(self.groups)
        run = Run((self.groups[shortest],), steps or shortest)

        def again(*seeds: int) -> float:
            """The same pass twice, with another sequence between."""
            answers = []
            for seed in seeds:
                torch.manual_seed(seed)
                answers.append(answer_of(self.subject.call(run)).flatten())
                self.subject.call(replace(run, sequences=(run.sequences[0] + 1,)))
            largest = float(answers[0].nan_to_num(0.0, 0.0, 0.0).abs().max())
            return laws.largest_difference(*answers) / max(largest, 1e-30)

        with self._in_words():
            same_seed, other_seed = again(1, 1), again(1, 2)
        torch.manual_seed(self.seed)
        much = max(same_seed, other_seed)
        if much < laws.ROUNDING:
            return Finding("repeatable", RULES["repeatable"], "holds")
        found = diagnose_randomness(self.subject, run, same_seed_differs=same_seed >= laws.ROUNDING)
        percent = f"{100 * much:.2g}"
        problem = note("the second answer differs by {percent} % of the largest number in it", percent=percent)
        return Finding.failed("repeatable", problem, found)

    def _meaningful(self, steps: int | None) -> Finding | None:
        """Else every law would hold, and mean nothing. None: it is."""
        runs = []
        for length, first in self.groups.items():
            batch = tuple(range(first, first + VARIANTS))
            runs += [Run((one,), steps or length) for one in batch]
            runs += [Run(batch, steps or length, row) for row in range(VARIANTS)]
        with self._in_words():
            answers = [self.subject.answer(run) for run in runs]
        for run, answer in zip(runs, answers, strict=True):
            if not bool(answer.isfinite().all()):
                found = diagnose_not_finite(self.subject, run)
                length = self.subject.length(run.sequences[0])
                problem = note("an unpadded sequence of {length} steps gets NaN or infinity", length=length)
                return Finding.failed("finite", problem, found)
        self.tolerance, self.spread = laws.scale(answers)
        if self.spread <= self.tolerance:
            why = note(
                "all sequences get the same answer; is the last layer all zeros? Give it other weights, for the audit"
            )
            return Finding.unjudged("different", why)
        return None

    def _judge(self, law: str, pairs: Sequence[Pair]) -> Finding:
        try:
            cases = laws.run(self.subject, pairs)
        except CannotRun as error:
            return Finding.unjudged(law, note("it can't be run: {problem}", problem=error))
        return self._finding(self.subject, law, cases)

    def _finding(self, subject: Subject, law: str, cases: Sequence[Case]) -> Finding:
        assert self.tolerance is not None
        assert self.spread is not None
        run = [case for case in cases if case.problem is None]
        problems = {case.pair.change: case.problem for case in cases if case.problem is not None}
        if law == "order" and any("sorted in decreasing order" in problem for problem in problems.values()):
            problem = note("it can't be run: {problem}", problem=next(iter(problems.values())))
            return Finding.failed(law, problem, Diagnosis(None, (SORTED_ONLY.found(),)))
        if problems and (not run or law not in ("padding", "training")):
            change, problem = next(iter(problems.items()))
            return Finding.unjudged(law, note("it can't be run ({change}): {problem}", change=change, problem=problem))
        if problems and law == "padding":
            case = min((case for case in cases if case.problem), key=lambda case: case.pair.changed.steps)
            steps = case.pair.changed.steps
            self.notes.append(note("can't be run at {steps} steps: {problem}", steps=steps, problem=case.problem))
        worst = max(run, key=lambda case: case.difference)
        broken = [case for case in run if case.difference > self.tolerance]
        if not broken:
            return Finding(law, RULES[law], "holds", worst.difference)
        found = _diagnose(subject, law, worst.pair)
        changes = dict.fromkeys(case.pair.change for case in run)
        return Finding(
            law,
            RULES[law],
            "warns" if law == "training" else "fails",
            worst.difference,
            relative=worst.difference / self.spread,
            lengths=tuple(sorted({case.length for case in broken})),
            tried=tuple(sorted({case.length for case in run})),
            by_change={c: max(case.difference for case in run if case.pair.change == c) for c in changes},
            where=found.where,
            causes=found.causes,
        )

    def _training(self, original: nn.Module, *, with_padding: bool) -> Finding:
        """Batch norm, told apart from dropout, which is turned off."""
        with left_alone(original) as (copied, _):
            _turn_off_dropout(copied.train())
            subject = Subject(
                copied, self.subject.sequences, self.subject.extras, self.subject.padding_id, self.subject.time_first
            )
            subject.layout = self.subject.layout
            length = max(self.groups)
            pairs = laws.training(self.groups[length], length, with_padding=with_padding)
            try:
                answers = [answer_of(subject.call(pairs[0].plain)) for _ in range(3)]
                if any(not torch.equal(answers[0], answer) for answer in answers[1:]):
                    random = note("it is random even with nn.Dropout turned off")
                    return Finding.unjudged("training", random, warns=True)
                cases = laws.run(subject, pairs)
            except CannotRun as error:
                return Finding.unjudged("training", note("it can't be run: {problem}", problem=error), warns=True)
            found = self._finding(subject, "training", cases)
            found = replace(found, status="warns") if found.status == "unjudged" else found
            return found if with_padding else replace(found, rule=laws.TRAINING_WITHOUT_PADDING)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except CannotRun as error:
            what = type(self.subject.module).__name__
            raise ConfigError(
                "{what} can't be run, called as {called}: {error}", what=what, called=self.called, error=error
            ) from None


def _turn_off_dropout(module: nn.Module) -> None:
    for part in module.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            part.p = 0.0
        elif isinstance(part, nn.RNNBase | nn.MultiheadAttention):
            part.dropout = 0.0


def _diagnose(subject: Subject, law: str, pair: Pair) -> Diagnosis:
    """Against the sequence by itself, so that there is one to follow."""
    plain = pair.plain
    if law == "order":
        plain = Run((pair.sequence,), pair.changed.steps)
    elif law == "garbage":
        plain = Run((pair.sequence,), subject.length(pair.sequence))
    return diagnose(subject, plain, pair.changed, training=law == "training")
