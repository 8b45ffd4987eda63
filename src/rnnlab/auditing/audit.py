"""Does padding, a neighbour in the batch or the order of the batch change a module's answers? For anyone's nn.Module.

rnnlab.audit(model, vocabulary=1000)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rnnlab.auditing.audit_report import Audit
from rnnlab.auditing.calling import Extra, describe_call, extras_of
from rnnlab.auditing.examination import Examination
from rnnlab.auditing.subject import VARIANTS, CannotRun, Run, Subject, device_of, left_alone, not_runnable
from rnnlab.core.errors import ConfigError
from rnnlab.core.words import both, note

LENGTHS = (1, 2, 3, 5, 9, 14)
Lookup = nn.Embedding | nn.EmbeddingBag


@dataclass(frozen=True)
class Tokens:
    vocabulary: int  # ids are below this
    padding_id: int


def audit(
    module: nn.Module,
    *,
    vocabulary: int | None = None,
    features: int | None = None,
    lengths: Sequence[int] = LENGTHS,
    padding_id: int | None = None,
    pad_to: int | None = None,
    call: str | None = None,
    time_first: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> Audit:
    """Hold a module to the laws of padding, neighbours and order. It and the caller's random numbers stay as they are.

    - Input is (B, T) ids below ``vocabulary`` (as many as its embedding has rows, if left out), right-padded with
      ``padding_id`` (the embedding's ``padding_idx``, or 0); or (B, T, ``features``) numbers, padded with zeros.
    - ``pad_to`` is the length that you always pad to, if there is one.
    - ``call`` says what ``forward`` is given: ``"ids"``, ``"ids,lengths"``, ``"ids,mask"`` (True at real steps) or
      ``"ids,padding-mask"``; its parameters' names say it otherwise.
    - ``time_first`` for a module that takes (T, B).
    """
    _check(module, vocabulary, features, lengths, pad_to)
    lengths = sorted(set(lengths))
    devices = [device for device in {device_of(module)} if device.type == "cuda"]
    with torch.random.fork_rng(devices=devices), left_alone(module) as (copied, is_copy):
        torch.manual_seed(seed)
        extras = extras_of(copied, call)
        tokens = None
        if features is None:
            tried = [*lengths, *([pad_to] if pad_to else [])]
            tokens = _find_tokens(
                copied, extras, vocabulary=vocabulary, padding_id=padding_id, steps=tried, time_first=time_first
            )
        sequences = [_sequence(length, tokens, features, copied) for length in lengths for _ in range(VARIANTS)]
        subject = Subject(copied, sequences, extras, tokens.padding_id if tokens else 0, time_first)
        called = describe_call("ids" if tokens else "features", extras)
        examination = Examination(subject, lengths, pad_to, called, seed)
        findings = examination.examine(module if is_copy else None)
    parameters = sum(parameter.numel() for parameter in module.parameters())
    audited = f"{name}: {type(module).__name__}" if name else type(module).__name__
    return Audit(
        subject=note("{module}, {count} parameters", module=audited, count=f"{parameters:,}"),
        call=called,
        inputs=_describe_inputs(tokens, features, list(examination.groups), pad_to, time_first),
        tolerance=examination.tolerance,
        spread=examination.spread,
        findings=tuple(findings),
        notes=tuple(examination.notes),
        padding_id=tokens.padding_id if tokens and not extras else None,
    )


def _check(
    module: object, vocabulary: int | None, features: int | None, lengths: Sequence[int], pad_to: int | None
) -> None:
    if not isinstance(module, nn.Module):
        what = both("an object of type {name}", name=type(module).__name__)
        if isinstance(module, type):
            what = both("the class {name}", name=module.__name__)
        raise ConfigError("an audit needs an nn.Module, not {what}", what=what)
    if vocabulary is not None and features is not None:
        raise ConfigError("give either vocabulary (for ids) or features (for numbers), not both")
    if features is not None and features < 1:
        raise ConfigError("features: at least 1 (got {features})", features=features)
    if not lengths or min(lengths) < 1:
        raise ConfigError("lengths: one or more, each at least 1 (got {lengths})", lengths=list(lengths))
    if pad_to is not None and pad_to <= max(lengths):
        raise ConfigError(
            "pad_to {pad_to}: must be more than the longest sequence, {longest} steps",
            pad_to=pad_to,
            longest=max(lengths),
        )


def _sequence(length: int, tokens: Tokens | None, features: int | None, module: nn.Module) -> Tensor:
    """Random ids other than padding, or numbers in the module's precision."""
    if tokens is None:
        dtype = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.get_default_dtype())
        return torch.randn(length, features or 0).to(dtype)
    ids = torch.randint(tokens.vocabulary - 1, (length,))
    return ids + (ids >= tokens.padding_id)


def _describe_inputs(
    tokens: Tokens | None, features: int | None, lengths: Sequence[int], pad_to: int | None, time_first: bool
) -> str:
    axes, tried = "(T, B)" if time_first else "(B, T)", ", ".join(map(str, lengths))
    if tokens:
        told = note(
            "{axes} ids below {words}, padded on the right with {padding}; lengths {tried}",
            axes=axes,
            words=f"{tokens.vocabulary:,}",
            padding=tokens.padding_id,
            tried=tried,
        )
    else:
        shape = f"{axes[:-1]}, {features})"
        told = note("{shape} numbers, padded on the right with zeros; lengths {tried}", shape=shape, tried=tried)
    return note("{told}, also padded to {steps}", told=told, steps=pad_to) if pad_to else told


def _find_tokens(
    module: nn.Module,
    extras: tuple[Extra, ...],
    *,
    vocabulary: int | None,
    padding_id: int | None,
    steps: Sequence[int],
    time_first: bool,
) -> Tokens:
    """As given, or as the embedding says; ``steps`` are lengths to try."""
    lookups = [part for part in module.modules() if isinstance(part, Lookup)]
    avoid = {0, padding_id, *(part.padding_idx for part in lookups)}
    probe = next(number for number in range(len(avoid) + 1) if number not in avoid)
    tried = [Subject(module, [torch.full((length,), probe)], extras, 0, time_first) for length in sorted(steps)[::-1]]
    lookup, problem = _lookup_of_ids(lookups, tried, probe)
    if lookup is None and vocabulary is None:
        if problem:
            raise not_runnable(module, max(steps), describe_call("ids", extras), problem)
        raise ConfigError("no nn.Embedding is given the ids: say how many there are (--vocabulary N), or --features D")
    words = vocabulary if vocabulary is not None else lookup.num_embeddings if lookup is not None else 0
    if lookup is not None and words > lookup.num_embeddings:
        rows = lookup.num_embeddings
        raise ConfigError(
            "vocabulary {words}: the embedding has {rows} rows; --vocabulary {rows}, or leave it out",
            words=words,
            rows=rows,
        )
    if words < 3:
        raise ConfigError(
            "vocabulary {words}: at least 3 with the padding, or there is nothing to tell apart", words=words
        )
    if padding_id is None:
        padding_id = (lookup.padding_idx if lookup is not None else None) or 0
    if not 0 <= padding_id < words:
        raise ConfigError(
            "padding id {padding_id}: must be one of the ids, 0 to {words}", padding_id=padding_id, words=words - 1
        )
    return Tokens(words, padding_id)


def _lookup_of_ids(lookups: Sequence[Lookup], tried: Sequence[Subject], probe: int) -> tuple[Lookup | None, str | None]:
    """Which of them is given the ids (others look up positions or segments); if none, why it can't be run."""
    found: list[Lookup] = []
    problems: list[str] = []

    def look(part: nn.Module, inputs: tuple[object, ...]) -> None:
        ids = inputs[0] if inputs else None
        if isinstance(part, Lookup) and isinstance(ids, Tensor) and ids.numel() and bool((ids == probe).all()):
            found.append(part)

    hooks = [part.register_forward_pre_hook(look) for part in lookups]
    try:
        for subject in tried:
            try:
                subject.call(Run((0,), subject.length(0)))
            except CannotRun as error:  # too long or too short, perhaps
                problems.append(str(error))
            if found:
                return found[0], None
    finally:
        for hook in hooks:
            hook.remove()
    return None, problems[0] if len(problems) == len(tried) else None
