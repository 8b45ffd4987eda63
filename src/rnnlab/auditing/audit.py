"""Does padding, a neighbour in the batch or the order of the batch change a module's answers? For anyone's nn.Module.

rnnlab.audit(model, vocabulary=1000)
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rnnlab.auditing.calling import describe_call, extras_of
from rnnlab.auditing.examination import Examination
from rnnlab.auditing.report import Audit
from rnnlab.auditing.subject import VARIANTS, Subject, device_of, left_alone
from rnnlab.auditing.tokens import Tokens, find_tokens
from rnnlab.core.errors import ConfigError

LENGTHS = (1, 2, 3, 5, 9, 14)


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
            tokens = find_tokens(
                copied, extras, vocabulary=vocabulary, padding_id=padding_id, steps=tried, time_first=time_first
            )
        sequences = [_sequence(length, tokens, features, copied) for length in lengths for _ in range(VARIANTS)]
        subject = Subject(copied, sequences, extras, tokens.padding_id if tokens else 0, time_first)
        called = describe_call("ids" if tokens else "features", extras)
        examination = Examination(subject, lengths, pad_to, called, seed)
        findings = examination.examine(module if is_copy else None)
    parameters = sum(parameter.numel() for parameter in module.parameters())
    return Audit(
        subject=f"{name + ': ' if name else ''}{type(module).__name__}, {parameters:,} parameters",
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
        what = (
            f"the class {module.__name__}" if isinstance(module, type) else f"an object of type {type(module).__name__}"
        )
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
    tokens: Tokens | None,
    features: int | None,
    lengths: Sequence[int] | dict[int, int],
    pad_to: int | None,
    time_first: bool,
) -> str:
    axes = "(T, B)" if time_first else "(B, T)"
    if tokens:
        what = f"{axes} ids below {tokens.vocabulary:,}, padded on the right with {tokens.padding_id}"
    else:
        what = f"{axes[:-1]}, {features}) numbers, padded on the right with zeros"
    always = f", also padded to {pad_to}" if pad_to else ""
    return f"{what}; lengths {', '.join(map(str, lengths))}{always}"
