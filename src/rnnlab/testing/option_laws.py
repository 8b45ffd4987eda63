"""The laws of settings, part of `check_architecture`: none is ignored, and what `compare --tune` may try is valid."""

import types
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any, Literal, Union, get_args, get_origin

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from rnnlab.core.config import canonical_json, with_settings
from rnnlab.core.errors import ConfigError
from rnnlab.models.base import Architecture
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import build_network
from rnnlab.models.space import meaningful
from rnnlab.testing.suite import WORDS, Head, network_of, tokens
from rnnlab.training.spec import Training

BESIDE = (
    "embedding",
    "lookup",
    "crf",
    "tied",
    "locked_dropout",
    "decoder",
)  # settings that act before the encoder and after the answer


def no_option_is_ignored(architecture: Architecture, input_width: int) -> None:
    """Every option can be changed; each change is refused, or changes the weights, the answers, what training does, or
    the memory that it needs (the operations, for one that is ``speed_only``). Also beside one change of any other."""
    known: dict[str, list[Any]] = {}

    def behaviour(settings: dict[str, Any]) -> list[Any] | None:
        """None when the settings are refused."""
        try:
            changed = architecture.replace(**settings)
        except ConfigError:
            return None
        key = canonical_json(changed.to_dict())
        if key not in known:
            known[key] = _behaviour(changed)
        return known[key]

    options = {name: _values(architecture, name) for name in type(architecture).model_fields if name not in BESIDE}
    accepted: dict[str, set[str]] = {name: set() for name in options}
    for name, beside in _beside(options):
        allowed = [(value, behaviour({**beside, name: value})) for value in options[name]]
        allowed = [(value, seen) for value, seen in allowed if seen is not None]
        accepted[name] |= {repr(value) for value, _ in allowed}
        for (one, first), (other, second) in combinations(allowed, 2):
            where = "".join(f", with {key} = {value!r}" for key, value in beside.items())
            begin = 0 if name in architecture.speed_only else 1  # where the operations stand
            same = _same_behaviour(first[begin:], second[begin:])
            assert not same, f"{name} = {one!r} and {name} = {other!r} do the same{where}: the option is ignored"
    stuck = [name for name, values in accepted.items() if len(values) < 2]
    assert not stuck, f"no two values of {', '.join(stuck)} are accepted; give the field examples=[…] that are"


def _beside(options: dict[str, list[Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each option by itself, then beside every value of every other."""
    for name in options:
        yield name, {}
        for other, values in options.items():
            if other != name:
                yield from ((name, {other: value}) for value in values)


def _values(architecture: Architecture, name: str) -> list[Any]:
    """The value that an option has, and others of its type: its ``examples``, or what its annotation allows."""
    field = type(architecture).model_fields[name]
    now = getattr(architecture, name)
    annotation = field.annotation
    optional = type(None) in get_args(annotation)
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if field.examples:
        others = list(field.examples)
    elif get_origin(annotation) is Literal:
        others = list(get_args(annotation))
    elif annotation is bool:
        others = [False, True]
    elif annotation is int:
        others = [8, 16] if now is None else [now + 1, 2 * now, now // 2]
    elif annotation is float:
        others = [0.25, 0.5] if now is None else [now + 0.25]
    elif get_origin(annotation) is tuple and now:
        others = [(*now, max(now) + 1)]
    else:
        raise AssertionError(f"{name}: give the field examples=[…], other values to try")
    others += [None] if optional else []
    return [now, *dict.fromkeys(value for value in others if value != now)]


def _behaviour(architecture: Architecture) -> list[Any]:
    """Everything that an option could change, from fixed seeds: the operations of a forward pass, shapes, weights,
    answers and states in evaluation, answers of two batches in training (the second may depend on the first), how many
    bytes the backward pass needs, and the gradients of the first (weights that are zero show there what they are for).
    """
    torch.manual_seed(0)
    ids, lengths = tokens()
    inputs, network = ids, network_of(architecture)
    if network is None:
        inputs = nn.functional.one_hot(ids, WORDS).float()
        network = build_network(architecture, words=None, features=WORDS, pretrained=None, head=Head)
    seen: list[Any] = [*(name for name, _ in network.named_parameters()), *(p.clone() for p in network.parameters())]
    with torch.no_grad(), _Operations() as operations:
        seen += [network.eval()(inputs, lengths), network.encode(inputs, lengths).states]
    torch.manual_seed(1)
    needed: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        needed[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        kept = network.train()(inputs, lengths)
    seen += [kept.detach(), network(inputs, lengths).detach(), sum(needed.values())]
    learnt = [p for p in network.parameters() if p.requires_grad]
    seen += [g for g in torch.autograd.grad(kept.sum(), learnt, allow_unused=True) if g is not None]
    shapes = [tuple(value.shape) for value in seen if isinstance(value, Tensor)]
    return [operations.names, shapes, *seen]


class _Operations(TorchDispatchMode):
    """Notes the name of every operation."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def _same_behaviour(one: list[Any], other: list[Any]) -> bool:
    both = zip(one, other, strict=False)  # the first entry tells lists of different lengths apart
    return all(torch.equal(a, b) if isinstance(a, Tensor) else a == b for a, b in both)


def the_search_space_is_valid(architecture: Architecture, input_width: int) -> None:
    """Every axis that it declares for ``compare --tune`` is a setting of the model or of the training, and has a
    meaning somewhere; every combination of ends is valid; each end of each axis, all first ends and all last ends build
    and train an update."""
    default, space = _default_of(architecture), architecture.space
    strange = [path for path in space if path.partition(".")[0] not in ("model", "training")]
    assert not strange, f"{', '.join(strange)} begins with neither model. nor training."
    corners = [dict(zip(space, ends, strict=True)) for ends in product(*(axis.ends for axis in space.values()))]
    used = {path for corner in corners for path in _meaningful(default, corner)}
    assert used == set(space), f"{', '.join(set(space) - used)} has no meaning with any value of the others"
    for corner in corners:
        _set(default, corner)
    alone = [{path: end} for path, axis in space.items() for end in axis.ends]
    ends = [{path: axis.ends[which] for path, axis in space.items()} for which in (0, -1)]
    for setting in [*alone, *ends]:
        _train_once(_set(default, setting))


def _default_of(architecture: Architecture) -> Architecture:
    """As it is without settings, on tokens; as it was given where it can't do without settings."""
    try:
        made = type(architecture)()
    except ConfigError:
        made = architecture
    return made.replace(embedding=Embedding(width=6))


def _value_at(architecture: Architecture, path: str) -> Any:
    found: Any = {"model": architecture, "training": Training()}
    for name in path.split("."):
        found = found[name] if isinstance(found, dict) else getattr(found, name, None)
    return found


def _meaningful(architecture: Architecture, setting: dict[str, Any]) -> dict[str, Any]:
    return meaningful(architecture.space, setting, lambda path: _value_at(architecture, path))


def _set(architecture: Architecture, setting: dict[str, Any]) -> Architecture:
    """The architecture with a setting of its space, which must be valid."""
    kept = _meaningful(architecture, setting)
    try:
        roots = [{p.partition(".")[2]: v for p, v in kept.items() if p.startswith(r)} for r in ("model.", "training.")]
        with_settings(Training(), roots[1])
        made = with_settings(architecture, roots[0])
    except ConfigError as error:
        raise AssertionError(f"{kept} is no valid setting: {error}") from error
    problems = made.check("tokens")
    assert not problems, f"{kept} doesn't suit tokens: {problems}"
    return made


def _train_once(architecture: Architecture) -> None:
    embedding = architecture.embed(WORDS, None)
    network = nn.ModuleList([embedding, architecture.build(embedding.width)])
    ids, lengths = tokens()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    network[1](embedding(ids), lengths).summary.square().mean().backward()
    optimizer.step()
    assert all(bool(p.isfinite().all()) for p in network.parameters()), f"{architecture} diverges in one update"


OPTION_LAWS = (no_option_is_ignored, the_search_space_is_valid)
