"""Which ids a module takes: as many as the embedding has rows that looks them up."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rnnlab.auditing.calling import Extra, describe_call
from rnnlab.auditing.subject import CannotRun, Run, Subject, not_runnable
from rnnlab.core.errors import ConfigError

Lookup = nn.Embedding | nn.EmbeddingBag


@dataclass(frozen=True)
class Tokens:
    vocabulary: int  # ids are below this
    padding_id: int


def find_tokens(
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
