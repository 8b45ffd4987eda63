"""Why two passes disagree. Evidence is by value: what a module was given is looked for among the pooled outputs of
the others, with padding and without it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rnnlab.auditing import remedies
from rnnlab.auditing.remedies import Cause, Mistake
from rnnlab.auditing.subject import Run, Subject
from rnnlab.auditing.trace import Sides, Step, equal, pair_up, sides, trace
from rnnlab.core.words import note, note_list

BATCH_NORMS = (nn.modules.batchnorm._BatchNorm,)
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d)


@dataclass(frozen=True)
class Diagnosis:
    where: str | None
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class Source:
    """What a module made of one sequence, a vector a step."""

    side: str  # "output" or "input"
    call: str
    states: Tensor  # (T, W), padding included
    real: int  # steps without padding
    tolerance: float


def _listed(*sources: Source) -> str:
    """``the output of lstm (LSTM)``, ``the outputs of a (Conv1d) and b (Conv1d)``."""
    one = {"output": note("the output of {last}"), "input": note("the input of {last}")}
    several = {"output": note("the outputs of {names} and {last}"), "input": note("the inputs of {names} and {last}")}
    parts = []
    for side in dict.fromkeys(source.side for source in sources):
        *names, last = dict.fromkeys(source.call for source in sources if source.side == side)
        parts.append((several if names else one)[side].format(names=", ".join(names), last=last))
    return note_list(parts)


@dataclass(frozen=True)
class Target:
    """A vector that differs between the passes."""

    name: str
    values: Tensor  # (W,) or, with steps, (T, W)
    plain: Tensor  # as it was in the plain pass, with fewer steps if there are steps
    tolerance: float


def diagnose(subject: Subject, plain: Run, changed: Run, *, training: bool = False) -> Diagnosis:
    """Why ``changed`` gives another answer than ``plain``."""
    first, plain_answer = trace(subject.module, lambda: subject.call(plain))
    second, changed_answer = trace(subject.module, lambda: subject.call(changed))
    rows = (len(plain.sequences), len(changed.sequences))
    steps = pair_up(first, second, rows, changed.row)
    answer = sides(plain_answer, changed_answer, rows, changed.row)
    culprits = _culprits(steps)
    causes = [cause for step in culprits if (cause := _cause_inside(step, rows, training))]
    if rows[0] == 1:  # values of one sequence
        sources = [*_sources(steps), *_stacked_sources(first, second, rows, changed.row)]
        causes += _causes_between(_targets(steps, culprits, answer), sources)
    return Diagnosis(_where(steps, culprits, "padding"), _first_of_each(causes))


def _first_of_each(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """What one module took from another is seen again in the next one's input."""
    return tuple({(cause.name, cause.source): cause for cause in reversed(causes)}.values())[::-1]


def _culprits(steps: Sequence[Step]) -> list[Step]:
    """Modules whose inputs agree at the real steps and whose outputs don't, unless the reason is a module inside."""
    found: list[Step] = []
    differing: list[str] = []
    for step in steps:
        inside = any(name.startswith(f"{step.call.name}.") for name in differing)
        if step.differing_inputs or step.output_differs:
            differing.append(step.call.name)
        if step.output_differs and not step.differing_inputs and not inside:
            found.append(step)
    return found


WHERE = {  # where passes with another padding, or the same pass twice, begin to disagree
    "padding": {
        "inside": note("in {call}: its inputs agree at the real steps, its output doesn't"),
        "first": note("in the code before {call}: up to there, all agrees at the real steps"),
        "between": note("in the code after {before} and before {call}: up to there, all agrees at the real steps"),
        "end": note("in the code after the last module: up to there, all agrees at the real steps"),
    },
    "again": {
        "inside": note("in {call}: its inputs agree, its output doesn't"),
        "first": note("in the code before {call}: up to there, all agrees"),
        "between": note("in the code after {before} and before {call}: up to there, all agrees"),
        "end": note("in the code after the last module: up to there, all agrees"),
    },
}


def _where(steps: Sequence[Step], culprits: Sequence[Step], passes: str) -> str:
    if not steps:
        return note("unknown: there is no module inside that can be watched")
    said = WHERE[passes]
    for number, step in enumerate(steps):
        if step in culprits:
            return said["inside"].format(call=step.call)
        if step.differing_inputs:
            return said["between" if number else "first"].format(call=step.call, before=steps[number - 1].call)
    return said["end"]


def _cause_inside(step: Step, rows: tuple[int, int], training: bool) -> Cause | None:
    """A culprit's own fault."""
    module, name = step.call.module, str(step.call)
    first = getattr(module, "batch_first", None)
    if isinstance(first, bool) and not step.call.packed and rows[0] != rows[1]:
        axis = _batch_axis(step, rows)
        if axis is not None and axis != (0 if first else 1):
            takes, given = ("(B, T, D)", "(T, B, D)") if first else ("(T, B, D)", "(B, T, D)")
            return remedies.AXES_MIXED_UP.found(name, is_first=first, should_be=not first, takes=takes, given=given)
    if isinstance(module, nn.MultiheadAttention | nn.TransformerEncoderLayer | nn.TransformerEncoder):
        return _attention(step)
    mistake = None
    if isinstance(module, BATCH_NORMS):
        mistake = remedies.BATCH_STATISTICS_IN_TRAINING if training else remedies.BATCH_STATISTICS
    elif isinstance(module, nn.RNNBase) and module.bidirectional and not step.call.packed:
        mistake = remedies.BACKWARD_STARTS_IN_PADDING
    elif isinstance(module, CONVOLUTIONS):
        mistake = remedies.CONVOLUTION_REACHES_PADDING
    elif isinstance(module, nn.EmbeddingBag):
        mistake = remedies.BAG_COUNTS_PADDING
    return mistake and mistake.found(name)


def _batch_axis(step: Step, rows: tuple[int, int]) -> int | None:
    """Of the main input, in the changed pass."""
    name = next(iter(step.inputs), None)
    if name is None:
        return None
    shape, plain = step.call.inputs[name].shape, step.inputs[name].plain.shape
    axes = [a for a in range(len(shape)) if (plain[a], shape[a]) == rows]
    return axes[0] if len(shape) == 3 and len(axes) == 1 else None


def _attention(step: Step) -> Cause | None:
    pair = _mask(step)
    if pair is None:
        others = [name for name in step.call.inputs if "mask" in name]
        return None if others else remedies.UNMASKED_ATTENTION.found(str(step.call))
    missed = not bool(_hidden(pair.changed)[..., pair.plain.shape[-1] :].all())
    return remedies.MASK_MISSES_PADDING.found(str(step.call)) if missed else None


def _mask(step: Step) -> Sides | None:
    """The (B, T) mask of an attention."""
    return next((pair for name, pair in step.inputs.items() if name.endswith("key_padding_mask")), None)


def _hidden(mask: Tensor) -> Tensor:
    return mask if mask.dtype == torch.bool else mask < 0


def _sources(steps: Sequence[Step]) -> Iterator[Source]:
    """Inputs too: code between modules may have changed an output on the way (``F.relu``)."""
    for step in steps:
        for pairs, side in ((step.outputs, "output"), (step.inputs, "input")):
            for pair in pairs.values():
                if pair.steps is not None and pair.plain.is_floating_point():
                    states = pair.changed.movedim(pair.steps, 0).flatten(1)
                    if pair.changed.dim() > 1 and pair.plain.shape[pair.steps] < len(states):
                        yield Source(side, str(step.call), states, pair.plain.shape[pair.steps], pair.tolerance)


def _stacked_sources(first: dict, second: dict, rows: tuple[int, int], row: int) -> Iterator[Source]:
    """A cell (``nn.LSTMCell``) is called once a step."""
    names = dict.fromkeys(name for name, _ in second)
    for name in names:
        real, total = (sum(key[0] == name for key in calls) for calls in (first, second))
        if 1 <= real < total:
            pairs = [sides(first[name, 0].outputs["0"], second[name, t].outputs["0"], rows, row) for t in range(total)]
            if all(pair is not None for pair in pairs):
                states = torch.stack([pair.changed.flatten() for pair in pairs if pair is not None])
                yield Source("output", str(second[name, 0]), states, real, pairs[0].tolerance if pairs[0] else 0.0)


def _targets(steps: Sequence[Step], culprits: Sequence[Step], answer: Sides | None) -> Iterator[Target]:
    for step in steps:
        for pair in step.differing_inputs.values():
            yield from _target(str(step.call), pair)
        if step in culprits:
            for pair in step.outputs.values():
                yield from _target(str(step.call), pair)
    if answer is not None and not answer.agree:
        yield from _target(note("the answer"), answer)


def _target(name: str, pair: Sides) -> Iterator[Target]:
    same_shape = pair.plain.shape == pair.changed.shape
    if pair.changed.is_floating_point() and (same_shape or pair.steps is not None):
        if pair.steps is None:
            changed, plain = (side.flatten() for side in (pair.changed, pair.plain))
        else:
            changed, plain = (side.movedim(pair.steps, 0).flatten(1) for side in (pair.changed, pair.plain))
        yield Target(name, changed, plain, pair.tolerance)


Pool = Callable[[Tensor, int], Tensor]  # (T, W), real steps -> (W,)
POOLS: list[tuple[Pool, Pool, Mistake]] = [  # as found, as it should be, what that is
    (lambda x, n: x[-1], lambda x, n: x[n - 1], remedies.LAST_STEP),
    (lambda x, n: x.amax(0), lambda x, n: x[:n].amax(0), remedies.MAX_OVER_PADDING),
    (lambda x, n: x[:n].amax(0).clamp(min=0), lambda x, n: x[:n].amax(0), remedies.MAX_OVER_ZEROS),
    (lambda x, n: x.mean(0), lambda x, n: x[:n].mean(0), remedies.MEAN_OVER_PADDING),
    (lambda x, n: x[:n].sum(0) / len(x), lambda x, n: x[:n].mean(0), remedies.MEAN_OVER_PADDING),
    (lambda x, n: x.sum(0), lambda x, n: x[:n].sum(0), remedies.SUM_OVER_PADDING),
    (lambda x, n: x.sum(0) / n, lambda x, n: x[:n].mean(0), remedies.SUM_OVER_PADDING),
]
ACTIVATIONS: list[Callable[[Tensor], Tensor]] = [lambda x: x, torch.relu, torch.tanh]


def _causes_between(targets: Iterator[Target], sources: Sequence[Source]) -> Iterator[Cause]:
    """What the code between modules did to the outputs of some on the way into others."""
    for target in targets:
        if target.values.dim() == 2:
            found = list(_reversed(target, sources))
            yield from found
            if found:
                return  # from there on the last step is the first
        else:
            yield from list(_pooled(target, sources)) or list(_weighted(target, sources))[:1]


def _reversed(target: Target, sources: Sequence[Source]) -> Iterator[Cause]:
    for source in sources:
        if source.states.shape == target.values.shape:
            turned = source.states.flip(0)
            palindrome = equal(turned, source.states, source.tolerance)
            if not palindrome and equal(turned, target.values, source.tolerance):
                yield remedies.REVERSED_WITH_PADDING.found(_listed(source), reader=target.name)
                return


def _pooled(target: Target, sources: Sequence[Source]) -> Iterator[Cause]:
    """A target may hold several, side by side (``torch.cat``). Of sources with the same values, the first counts."""
    taken: set[int] = set()
    for pooled, right, mistake in POOLS:
        found_in = []
        for source in sources:
            for activate in ACTIVATIONS:
                states = activate(source.states)
                found, meant = pooled(states, source.real), right(states, source.real)
                place = None if equal(found, meant, source.tolerance) else _find(target, found)
                if place is not None and place not in taken:
                    taken.add(place)
                    found_in.append(source)
        if found_in:
            yield mistake.found(_listed(*found_in), reader=target.name)


def _weighted(target: Target, sources: Sequence[Source]) -> Iterator[Cause]:
    """A mean weighted by a softmax over all steps."""
    for scores in sources:
        if scores.states.shape[1] == 1:
            for source in sources:
                if len(source.states) == len(scores.states) and source.states.shape[1] > 1:
                    found = (scores.states.softmax(0) * source.states).sum(0)
                    if _find(target, found) is not None:
                        yield remedies.ATTENTION_POOLS_PADDING.found(
                            _listed(source), reader=target.name, scores=_listed(scores)
                        )


def _find(target: Target, part: Tensor) -> int | None:
    """Where ``part`` stands in the target, if the plain pass has something else there."""
    width = len(part)
    if width > len(target.values) or (width == 1 < len(target.values)):
        return None
    accuracy = target.tolerance * max(float(part.abs().max()), 1e-30)
    here, before = (((x.unfold(0, width, 1) - part).abs() <= accuracy).all(1) for x in (target.values, target.plain))
    places = (here & ~before).nonzero()
    return int(places[0]) if len(places) else None


def diagnose_randomness(subject: Subject, run: Run, *, same_seed_differs: bool) -> Diagnosis:
    """Why the same pass gives another answer the second time."""
    first, _ = trace(subject.module, lambda: subject.call(run))
    second, _ = trace(subject.module, lambda: subject.call(run))
    steps = pair_up(first, second, (1, 1), 0)
    causes = [remedies.KEPT_STATE.found()] if same_seed_differs else []
    for step in steps:
        for name, pair in step.differing_inputs.items():
            if isinstance(step.call.module, nn.RNNBase | nn.RNNCellBase) and name.startswith("hx"):
                causes += [] if same_seed_differs else [remedies.RANDOM_INITIAL_STATE.found(str(step.call))]
            elif _dropped(pair):
                causes.append(remedies.DROPOUT_IN_EVALUATION.found(str(step.call)))
    return Diagnosis(_where(steps, _culprits(steps), "again"), _first_of_each(causes))


def diagnose_not_finite(subject: Subject, run: Run) -> Diagnosis:
    """Why an answer is NaN or infinite."""
    calls, _ = trace(subject.module, lambda: subject.call(run))
    for step in pair_up(calls, calls, (1, 1), 0):
        if _finite(step.inputs.values()) and not _finite(step.outputs.values()):
            mask = _mask(step)
            hides_all = mask is not None and bool(_hidden(mask.plain).all(-1).any())
            where = note("in {call}: its inputs are finite, its output isn't", call=step.call)
            return Diagnosis(where, (remedies.INVERTED_MASK.found(str(step.call)),) if hides_all else ())
    return Diagnosis(note("in the code between modules or after the last"), ())


def _finite(pairs: Iterable[Sides]) -> bool:
    return all(bool(pair.plain.isfinite().all()) for pair in pairs if pair.plain.dtype != torch.bool)


def _dropped(pair: Sides) -> bool:
    """Whether the two differ only in which numbers are zero."""
    one, other = pair.plain, pair.changed
    if one.shape != other.shape or not one.is_floating_point():
        return False
    kept = (one != 0) & (other != 0)
    return bool(kept.any()) and torch.equal(one[kept], other[kept])
