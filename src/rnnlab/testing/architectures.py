"""The laws that every architecture obeys, for rnnlab's own and for a plugin's.

    from rnnlab.testing import check_architecture

    def test_my_architecture():
        check_architecture(MyArchitecture(hidden=16))

Each law is a function of its own, listed in `ARCHITECTURE_LAWS`, so that a test can be parametrised by them. A broken
law is an AssertionError that names it.
"""

import types
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import combinations, product
from typing import Any, Literal, Union, get_args, get_origin

import safetensors.torch
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from rnnlab.core.config import canonical_json, parse, with_settings
from rnnlab.core.errors import ConfigError
from rnnlab.models.base import Architecture, Encoded
from rnnlab.models.embedding import Embedding
from rnnlab.models.network import Network, build_network
from rnnlab.models.space import meaningful
from rnnlab.testing.advancing import ADVANCING
from rnnlab.training.spec import Training

LENGTHS = (7, 1, 4, 2, 7, 3)  # of the sequences in most laws: T = 7, with and without padding, and one of one step
EXTRA = (1, 7, 64)  # steps of padding beyond the longest sequence
WORDS = 40  # in the vocabulary of the laws that begin with tokens
TOLERANCE = 1e-5  # float32; a batch of another shape adds in another order

Law = Callable[..., None]
ARCHITECTURE_LAWS: dict[str, Law] = {}


def check_architecture(architecture: Architecture, *, input_width: int = 6) -> None:
    """Hold an architecture to every law; sequences have up to 7 steps, padded to as many as 71."""
    for law in ARCHITECTURE_LAWS.values():
        law(architecture, input_width=input_width)


def _law(check: Callable[[Architecture, int], None]) -> Law:
    """Register a law. It runs from a fixed seed and leaves the caller's random numbers alone; whatever goes wrong in
    it is an AssertionError with the name of the law."""

    @wraps(check)
    def held(architecture: Architecture, *, input_width: int = 6) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            try:
                check(architecture, input_width)
            except Exception as error:
                name = architecture.kind or type(architecture).__name__
                what = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
                raise AssertionError(f"'{name}' breaks the law '{check.__name__}': {what}") from error

    ARCHITECTURE_LAWS[check.__name__] = held
    return held


@_law
def settings_survive_json(architecture: Architecture, input_width: int) -> None:
    """The settings, written out and read again, are the same."""
    written = {key: value for key, value in architecture.to_dict().items() if key != "kind"}
    assert parse(type(architecture), written) == architecture, f"{written} reads as something else"


@_law
def shapes_are_as_declared(architecture: Architecture, input_width: int) -> None:
    """states (B, T, state_width), summary (B, width), weights (B, T) if any; float32, finite; the input untouched."""
    encoder = architecture.build(input_width)
    x, lengths = _batch(input_width)
    given = x.clone()
    encoded = encoder(x, lengths)
    batch, steps = x.shape[:2]
    _same_shape(encoded.states, (batch, steps, encoder.state_width), "states are (B, T, encoder.state_width)")
    _same_shape(encoded.summary, (batch, encoder.width), "the summary is (B, encoder.width)")
    for name, value in (("states", encoded.states), ("summary", encoded.summary)):
        assert value.dtype == torch.float32, f"{name} are {value.dtype}, not float32"
        assert bool(value.isfinite().all()), f"{name} are not finite"
    if encoded.weights is not None:
        _same_shape(encoded.weights, (batch, steps), "weights are (B, T)")
        _close(encoded.weights.sum(1), torch.ones(batch), "the weights of a sequence sum to 1")
    assert torch.equal(x, given), "the input was written to"


@_law
def padding_is_zero(architecture: Architecture, input_width: int) -> None:
    """States, and weights if any, are exactly zero at padding."""
    x, lengths = _batch(input_width)
    encoded = _frozen(architecture, input_width)(x, lengths)
    padding = ~_real(x, lengths)
    assert not encoded.states[padding].any(), "states at padding are not zero"
    if encoded.weights is not None:
        assert not encoded.weights[padding].any(), "weights at padding are not zero"


@_law
def alone_as_in_a_batch(architecture: Architecture, input_width: int) -> None:
    """A sequence gets the same states and summary by itself as among longer ones."""
    encoder = _frozen(architecture, input_width)
    x, lengths = _batch(input_width)
    together = encoder(x, lengths)
    for row, length in enumerate(LENGTHS):
        alone = encoder(x[row : row + 1, :length], lengths[row : row + 1])
        where = f"of a sequence of {length} steps, alone and in a batch of {x.shape[1]}"
        _close(together.summary[row], alone.summary[0], f"the summary {where}")
        _close(together.states[row, :length], alone.states[0], f"the states {where}")


@_law
def more_padding_changes_nothing(architecture: Architecture, input_width: int) -> None:
    """One, 7 or 64 more steps of padding give the same states and summary."""
    encoder = _frozen(architecture, input_width)
    x, lengths = _batch(input_width)
    for extra in EXTRA:
        longer = nn.functional.pad(x, (0, 0, 0, extra))
        _same_answers(encoder(x, lengths), encoder(longer, lengths), x, lengths, f"with {extra} more steps of padding")


@_law
def padded_tokens_change_nothing(architecture: Architecture, input_width: int) -> None:
    """From token ids to logits: a text gets the same answer alone, in a batch, and over-padded."""
    architecture = _with_embedding(architecture)
    if architecture.check("tokens"):
        return  # not for text
    network = _network(architecture).eval().requires_grad_(False)
    ids, lengths = _tokens()
    together = network(ids, lengths)
    for row, length in enumerate(LENGTHS):
        alone = network(ids[row : row + 1, :length], lengths[row : row + 1])
        _close(together[row], alone[0], f"the logits of a text of {length} tokens, alone and in a batch")
    for extra in EXTRA:
        longer = network(nn.functional.pad(ids, (0, extra)), lengths)
        _close(together, longer, f"logits with {extra} more steps of padding")


@_law
def garbage_in_padding_changes_nothing(architecture: Architecture, input_width: int) -> None:
    """What stands in the padding, small or huge, is never read."""
    encoder = _frozen(architecture, input_width)
    x, lengths = _batch(input_width)
    clean = encoder(x, lengths)
    for scale in (1.0, 1e4):
        garbage = torch.where(_real(x, lengths)[:, :, None], x, scale * torch.randn_like(x))
        what = f"with numbers of size {scale:g} in the padding"
        encoded = encoder(garbage, lengths)
        _same_answers(clean, encoded, x, lengths, what)
        assert not encoded.states[~_real(x, lengths)].any(), f"states at padding are not zero {what}"


@_law
def order_of_the_batch_is_free(architecture: Architecture, input_width: int) -> None:
    """Shuffling the sequences of a batch shuffles the answers, nothing else."""
    encoder = _frozen(architecture, input_width)
    x, lengths = _batch(input_width)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    straight, shuffled = encoder(x, lengths), encoder(x[order], lengths[order])
    _close(straight.summary[order], shuffled.summary, "summaries in another order of the batch")
    _close(straight.states[order], shuffled.states, "states in another order of the batch")


@_law
def causal_as_declared(architecture: Architecture, input_width: int) -> None:
    """States up to t ignore later inputs if ``causal``, and do depend on them if not."""
    encoder = _frozen(architecture, input_width)
    x, steps, changed = torch.randn(3, 6, input_width), torch.full((3,), 6), 3
    other = x.clone()
    other[:, changed:] = torch.randn(3, 6 - changed, input_width)
    before, after = encoder(x, steps).states[:, :changed], encoder(other, steps).states[:, :changed]
    if architecture.causal:
        _close(before, after, "declared causal, but early states depend on later inputs: they")
    else:
        difference = float((before - after).abs().max())
        assert difference > TOLERANCE, "declared not causal, but early states don't depend on later inputs"


@_law
def every_parameter_learns(architecture: Architecture, input_width: int) -> None:
    """The summary of sequences of more than one step gives the input and every parameter a finite gradient
    that isn't zero."""
    encoder = architecture.build(input_width).train()
    x, lengths = torch.randn(5, 7, input_width, requires_grad=True), torch.tensor([7, 3, 2, 5, 6])
    summary = encoder(x, lengths).summary
    (summary * torch.randn_like(summary)).sum().backward()
    for name, parameter in [("the input", x), *encoder.named_parameters()]:
        assert parameter.grad is not None, f"{name} has no gradient"
        assert bool(parameter.grad.isfinite().all()), f"the gradient of {name} is not finite"
        largest = float(parameter.grad.abs().max())
        assert largest > 1e-7, f"the gradient of {name} is zero (at most {largest:.1g})"


@_law
def eight_examples_are_learnt(architecture: Architecture, input_width: int) -> None:
    """Two classes of four random sequences each are told apart after at most 300 steps of Adam."""
    encoder = architecture.build(input_width).train()
    head = nn.Linear(encoder.width, 2)
    x, lengths = torch.randn(8, 7, input_width), torch.tensor([7, 1, 4, 2, 7, 3, 5, 6])
    x = x * _real(x, lengths)[:, :, None]
    targets = torch.arange(8) % 2
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
    loss = torch.tensor(torch.inf)
    for _ in range(300):
        loss = nn.functional.cross_entropy(head(encoder(x, lengths).summary), targets)
        if loss < 0.1:
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    raise AssertionError(f"the loss is still {loss.item():.3f} after 300 steps")


@_law
def saved_and_loaded_is_the_same(architecture: Architecture, input_width: int) -> None:
    """Weights written as safetensors and loaded into a fresh encoder give the same bits."""
    x, lengths = _batch(input_width)
    saved, loaded = _frozen(architecture, input_width), _frozen(architecture, input_width)
    weights = {name: value.contiguous() for name, value in saved.state_dict().items()}
    loaded.load_state_dict(safetensors.torch.load(safetensors.torch.save(weights)))
    _same_bits(saved(x, lengths), loaded(x, lengths), "before saving and after loading")


@_law
def same_seed_same_bits(architecture: Architecture, input_width: int) -> None:
    """Weights and dropout come from torch's global generator alone."""
    x, lengths = _batch(input_width)
    weights, answers = [], []
    for _ in range(2):
        torch.manual_seed(1)
        encoder = architecture.build(input_width).train()
        weights.append(encoder.state_dict())
        answers.append(encoder(x, lengths))
    different = [name for name, value in weights[0].items() if not torch.equal(value, weights[1][name])]
    assert not different, f"one seed, but different initial weights: {', '.join(different)}"
    _same_bits(answers[0], answers[1], "of two builds from one seed, in training mode")


@_law
def one_step_is_enough(architecture: Architecture, input_width: int) -> None:
    """Sequences of one step, in a batch of one step, have finite answers and gradients."""
    encoder = architecture.build(input_width).train()
    x = torch.randn(3, 1, input_width, requires_grad=True)
    encoded = encoder(x, torch.ones(3, dtype=torch.int64))
    assert bool(encoded.summary.isfinite().all()), "the summary is not finite"
    encoded.summary.square().sum().backward()
    for name, parameter in [("the input", x), *encoder.named_parameters()]:
        finite = parameter.grad is None or bool(parameter.grad.isfinite().all())
        assert finite, f"the gradient of {name} is not finite"


@_law
def evaluation_is_not_random(architecture: Architecture, input_width: int) -> None:
    """In evaluation mode two passes give the same bits and draw no random number: dropout is off."""
    encoder = _frozen(architecture, input_width)
    x, lengths = _batch(input_width)
    state = torch.get_rng_state()
    _same_bits(encoder(x, lengths), encoder(x, lengths), "of two passes in evaluation mode")
    assert torch.equal(state, torch.get_rng_state()), "random numbers were drawn in evaluation mode"


BESIDE = ("embedding", "lookup")  # settings that act before the encoder and after the answer


@_law
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
    ids, lengths = _tokens()
    readable = _with_embedding(architecture)
    if readable.check("tokens"):
        inputs = nn.functional.one_hot(ids, WORDS).float()
        network = build_network(architecture, words=None, features=WORDS, pretrained=None, head=_Head)
    else:
        inputs, network = ids, _network(readable)
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


def _with_embedding(architecture: Architecture) -> Architecture:
    """Ready for text."""
    if architecture.embedding is not None:
        return architecture
    if architecture.needs_vectors:
        return architecture.replace(embedding=Embedding(vectors="of the laws", channels="two", width=5))
    return architecture.replace(embedding=Embedding(width=6))


def _network(architecture: Architecture) -> Network:
    """Embedding, encoder and a head of three classes, for a vocabulary of `WORDS`."""
    embedding = architecture.embedding
    pretrained = torch.randn(WORDS, embedding.width) if embedding is not None and embedding.vectors else None
    return build_network(architecture, words=WORDS, features=None, pretrained=pretrained, head=_Head)


class _Head(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, 3)

    def forward(self, encoded: Encoded) -> Tensor:
        return self.linear(encoded.summary)


@_law
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
    ids, lengths = _tokens()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    network[1](embedding(ids), lengths).summary.square().mean().backward()
    optimizer.step()
    assert all(bool(p.isfinite().all()) for p in network.parameters()), f"{architecture} diverges in one update"


for _check in ADVANCING:
    _law(_check)


def _tokens() -> tuple[Tensor, Tensor]:
    """Random ids of `LENGTHS`, zero at padding."""
    ids = torch.randint(2, WORDS, (len(LENGTHS), max(LENGTHS)))
    lengths = torch.tensor(LENGTHS)
    return ids * _real(ids, lengths), lengths


def _batch(input_width: int) -> tuple[Tensor, Tensor]:
    """Random sequences of `LENGTHS`, zero at padding."""
    lengths = torch.tensor(LENGTHS)
    x = torch.randn(len(LENGTHS), max(LENGTHS), input_width)
    return x * _real(x, lengths)[:, :, None], lengths


def _real(x: Tensor, lengths: Tensor) -> Tensor:
    """(B, T) bool; written out here so that the suite doesn't share a mistake with the code it checks."""
    return torch.tensor([[step < length for step in range(x.shape[1])] for length in lengths.tolist()])


def _frozen(architecture: Architecture, input_width: int) -> nn.Module:
    """A fresh encoder in evaluation mode, without gradients."""
    return architecture.build(input_width).eval().requires_grad_(False)


def _same_answers(one: Encoded, other: Encoded, x: Tensor, lengths: Tensor, what: str) -> None:
    """The same summary, and the same states at the real positions of ``x``."""
    real = _real(x, lengths)
    _close(one.summary, other.summary, f"the summary {what}")
    _close(one.states[real], other.states[:, : x.shape[1]][real], f"the states {what}")


def _same_bits(one: Encoded, other: Encoded, what: str) -> None:
    assert torch.equal(one.summary, other.summary), f"summaries {what} differ"
    assert torch.equal(one.states, other.states), f"states {what} differ"


def _close(one: Tensor, other: Tensor, what: str) -> None:
    difference = float((one - other).detach().abs().max())
    close = torch.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)
    assert close, f"{what} differ by {difference:.2g}, more than {TOLERANCE:g}"


def _same_shape(value: Tensor, expected: tuple[int, ...], rule: str) -> None:
    assert tuple(value.shape) == expected, f"{rule}: {expected}, not {tuple(value.shape)}"
