"""The laws that every architecture obeys, for rnnlab's own and for a plugin's.

    from rnnlab.testing import check_architecture

    def test_my_architecture():
        check_architecture(MyArchitecture(hidden=16))

Each law is a function of its own, listed in `ARCHITECTURE_LAWS`, so that a test can be parametrised by them. A broken
law is an AssertionError that names it.
"""

from collections.abc import Callable
from functools import wraps

import safetensors.torch
import torch
from torch import Tensor, nn

from rnnlab.models.base import Architecture, Encoded
from rnnlab.testing.advance_laws import ADVANCING
from rnnlab.testing.option_laws import OPTION_LAWS
from rnnlab.testing.suite import LENGTHS, TOLERANCE, batch_of, close, holding, network_of, real, survives_json, tokens

EXTRA = (1, 7, 64)  # steps of padding beyond the longest sequence

Law = Callable[..., None]
ARCHITECTURE_LAWS: dict[str, Law] = {}


def check_architecture(architecture: Architecture, *, input_width: int = 6) -> None:
    """Hold an architecture to every law; sequences have up to 7 steps, padded to as many as 71."""
    for law in ARCHITECTURE_LAWS.values():
        law(architecture, input_width=input_width)


def _law(check: Callable[[Architecture, int], None]) -> Law:
    @wraps(check)
    def held(architecture: Architecture, *, input_width: int = 6) -> None:
        with holding(f"'{architecture.kind or type(architecture).__name__}'", check):
            check(architecture, input_width)

    ARCHITECTURE_LAWS[check.__name__] = held
    return held


@_law
def settings_survive_json(architecture: Architecture, input_width: int) -> None:
    """The settings, written out and read again, are the same."""
    survives_json(architecture)


@_law
def shapes_are_as_declared(architecture: Architecture, input_width: int) -> None:
    """states (B, T, state_width), summary (B, width), weights (B, T) if any; float32, finite; the input untouched."""
    encoder = architecture.build(input_width)
    x, lengths = batch_of(input_width)
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
        close(encoded.weights.sum(1), torch.ones(batch), "the weights of a sequence sum to 1")
    assert torch.equal(x, given), "the input was written to"


@_law
def padding_is_zero(architecture: Architecture, input_width: int) -> None:
    """States, and weights if any, are exactly zero at padding."""
    x, lengths = batch_of(input_width)
    encoded = _frozen(architecture, input_width)(x, lengths)
    padding = ~real(x, lengths)
    assert not encoded.states[padding].any(), "states at padding are not zero"
    if encoded.weights is not None:
        assert not encoded.weights[padding].any(), "weights at padding are not zero"


@_law
def alone_as_in_a_batch(architecture: Architecture, input_width: int) -> None:
    """A sequence gets the same states and summary by itself as among longer ones."""
    encoder = _frozen(architecture, input_width)
    x, lengths = batch_of(input_width)
    together = encoder(x, lengths)
    for row, length in enumerate(LENGTHS):
        alone = encoder(x[row : row + 1, :length], lengths[row : row + 1])
        where = f"of a sequence of {length} steps, alone and in a batch of {x.shape[1]}"
        close(together.summary[row], alone.summary[0], f"the summary {where}")
        close(together.states[row, :length], alone.states[0], f"the states {where}")


@_law
def more_padding_changes_nothing(architecture: Architecture, input_width: int) -> None:
    """One, 7 or 64 more steps of padding give the same states and summary."""
    encoder = _frozen(architecture, input_width)
    x, lengths = batch_of(input_width)
    for extra in EXTRA:
        longer = nn.functional.pad(x, (0, 0, 0, extra))
        _same_answers(encoder(x, lengths), encoder(longer, lengths), x, lengths, f"with {extra} more steps of padding")


@_law
def padded_tokens_change_nothing(architecture: Architecture, input_width: int) -> None:
    """From token ids to logits: a text gets the same answer alone, in a batch, and over-padded."""
    network = network_of(architecture)
    if network is None:
        return
    network.eval().requires_grad_(False)
    ids, lengths = tokens()
    together = network(ids, lengths)
    for row, length in enumerate(LENGTHS):
        alone = network(ids[row : row + 1, :length], lengths[row : row + 1])
        close(together[row], alone[0], f"the logits of a text of {length} tokens, alone and in a batch")
    for extra in EXTRA:
        longer = network(nn.functional.pad(ids, (0, extra)), lengths)
        close(together, longer, f"logits with {extra} more steps of padding")


@_law
def garbage_in_padding_changes_nothing(architecture: Architecture, input_width: int) -> None:
    """What stands in the padding, small or huge, is never read."""
    encoder = _frozen(architecture, input_width)
    x, lengths = batch_of(input_width)
    clean = encoder(x, lengths)
    for scale in (1.0, 1e4):
        garbage = torch.where(real(x, lengths)[:, :, None], x, scale * torch.randn_like(x))
        what = f"with numbers of size {scale:g} in the padding"
        encoded = encoder(garbage, lengths)
        _same_answers(clean, encoded, x, lengths, what)
        assert not encoded.states[~real(x, lengths)].any(), f"states at padding are not zero {what}"


@_law
def order_of_the_batch_is_free(architecture: Architecture, input_width: int) -> None:
    """Shuffling the sequences of a batch shuffles the answers, nothing else."""
    encoder = _frozen(architecture, input_width)
    x, lengths = batch_of(input_width)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    straight, shuffled = encoder(x, lengths), encoder(x[order], lengths[order])
    close(straight.summary[order], shuffled.summary, "summaries in another order of the batch")
    close(straight.states[order], shuffled.states, "states in another order of the batch")


@_law
def causal_as_declared(architecture: Architecture, input_width: int) -> None:
    """States up to t ignore later inputs if ``causal``, and do depend on them if not."""
    encoder = _frozen(architecture, input_width)
    x, steps, changed = torch.randn(3, 6, input_width), torch.full((3,), 6), 3
    other = x.clone()
    other[:, changed:] = torch.randn(3, 6 - changed, input_width)
    before, after = encoder(x, steps).states[:, :changed], encoder(other, steps).states[:, :changed]
    if architecture.causal:
        close(before, after, "declared causal, but early states depend on later inputs: they")
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
    x = x * real(x, lengths)[:, :, None]
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
    x, lengths = batch_of(input_width)
    saved, loaded = _frozen(architecture, input_width), _frozen(architecture, input_width)
    weights = {name: value.contiguous() for name, value in saved.state_dict().items()}
    loaded.load_state_dict(safetensors.torch.load(safetensors.torch.save(weights)))
    _same_bits(saved(x, lengths), loaded(x, lengths), "before saving and after loading")


@_law
def same_seed_same_bits(architecture: Architecture, input_width: int) -> None:
    """Weights and dropout come from torch's global generator alone."""
    x, lengths = batch_of(input_width)
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
    x, lengths = batch_of(input_width)
    state = torch.get_rng_state()
    _same_bits(encoder(x, lengths), encoder(x, lengths), "of two passes in evaluation mode")
    assert torch.equal(state, torch.get_rng_state()), "random numbers were drawn in evaluation mode"


for _check in (*OPTION_LAWS, *ADVANCING):
    _law(_check)


def _frozen(architecture: Architecture, input_width: int) -> nn.Module:
    """A fresh encoder in evaluation mode, without gradients."""
    return architecture.build(input_width).eval().requires_grad_(False)


def _same_answers(one: Encoded, other: Encoded, x: Tensor, lengths: Tensor, what: str) -> None:
    """The same summary, and the same states at the real positions of ``x``."""
    read = real(x, lengths)
    close(one.summary, other.summary, f"the summary {what}")
    close(one.states[read], other.states[:, : x.shape[1]][read], f"the states {what}")


def _same_bits(one: Encoded, other: Encoded, what: str) -> None:
    assert torch.equal(one.summary, other.summary), f"summaries {what} differ"
    assert torch.equal(one.states, other.states), f"states {what} differ"


def _same_shape(value: Tensor, expected: tuple[int, ...], rule: str) -> None:
    assert tuple(value.shape) == expected, f"{rule}: {expected}, not {tuple(value.shape)}"
