"""The recurrences themselves, forward and backward: against `torch.nn`, against the matrix product, in both directions.

A pass is `states = cell(x)` and `states.backward(g)` with a fixed random g, gradients of all weights and of x; that is
the loss ⟨states, g⟩ without the cost of the loss. Both sides have the same weights and float32; numbers below 1e-38
count as zero on both, as in every run. A side's time in a turn is that of its fastest pass.
"""

import itertools
from collections.abc import Callable, Iterator

import torch
from table import Row
from torch import Tensor, nn
from turns import Effort, best_of, median_ms, passes_for, ratios, say

from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.cells import Cell
from rnnlab.models.recurrent import Recurrent

Shape = tuple[int, int, int, int]  # B, T, D, H
SHAPES: tuple[Shape, ...] = ((64, 25, 50, 128), (256, 10, 50, 128), (64, 200, 100, 256))
PEAK_SHAPE: Shape = (256, 10, 50, 128)
MODULES: dict[str, Callable[..., nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
TARGETS = {"rnn": 2.0, "gru": 1.7, "lstm": 1.2}
PEAK_TARGETS = {"rnn": 0.6, "gru": 0.6, "lstm": 0.7}
PASS_SECONDS = 0.04  # of the passes of one side in a turn, about


def against_torch(effort: Effort) -> Iterator[Row]:
    """`torch.nn` over ours at every shape, with 1 and 2 threads; and the least of all these ratios."""
    torch.set_flush_denormal(True)
    least: tuple[float, str] = (float("inf"), "")
    cases = list(itertools.product(MODULES, SHAPES, (1, 2)))
    for kind, shape, threads in cases:
        torch.set_num_threads(threads)
        theirs, ours = paired(kind, shape)
        passes = [passes_for(job, PASS_SECONDS) for job in (theirs, ours)]
        seconds: tuple[list[float], list[float]] = ([], [])
        for _ in effort.turns(quick=5, full=25, share=1 / len(cases)):
            seconds[0].append(best_of(theirs, passes[0]))
            seconds[1].append(best_of(ours, passes[1]))
        row = Row(
            "recurrence",
            f"{kind} {shape}, {threads} thread{'s' if threads > 1 else ''}, vs torch.nn",
            TARGETS[kind],
            ratios(*seconds),
            details={"torch_ms": median_ms(seconds[0]), "ours_ms": median_ms(seconds[1])},
        )
        assert row.measured is not None
        least = min(least, (row.measured, row.what))
        yield row
    yield Row("recurrence", "the least of these, never below 1", 1.0, (least[0],), note=least[1])


def share_of_peak(effort: Effort) -> Iterator[Row]:
    """Products a second of a pass over those of a plain 1024² matrix product, both at their best within a turn."""
    torch.set_flush_denormal(True)
    torch.set_num_threads(2)
    square = torch.randn(1024, 1024)
    batch, steps, width, hidden = PEAK_SHAPE
    for kind in MODULES:
        cell = new_cell(kind, PEAK_SHAPE)
        job = whole_pass(lambda x, cell=cell: cell(x)[0], list(cell.parameters()), PEAK_SHAPE)
        flops = 3 * 2 * batch * steps * len(cell.gates) * hidden * (width + hidden)
        peaks, reached = [], []
        passes = passes_for(job, 0.1)
        for _ in effort.turns(quick=5, full=15, share=1 / len(MODULES)):
            peaks.append(2 * 1024**3 / best_of(lambda: torch.mm(square, square), 10))
            reached.append(flops / best_of(job, passes))
        yield Row(
            "peak",
            f"{kind} {PEAK_SHAPE}, 2 threads, of the matrix-product peak",
            PEAK_TARGETS[kind],
            ratios(reached, peaks),
            unit="share",
            details={"peak_gflops": max(peaks) / 1e9, "ours_gflops": max(reached) / 1e9},
        )


def both_directions(effort: Effort) -> Iterator[Row]:
    """A bidirectional encoder over two passes of one with a single direction."""
    torch.set_flush_denormal(True)
    torch.set_num_threads(2)
    cases = list(itertools.product(MODULES, SHAPES))
    for kind, shape in cases:
        both, single = (encoder_pass(kind, shape, bidirectional) for bidirectional in (True, False))
        passes = passes_for(single, PASS_SECONDS)
        seconds: tuple[list[float], list[float]] = ([], [])
        for _ in effort.turns(quick=5, full=15, share=1 / len(cases)):
            seconds[0].append(best_of(both, passes))
            seconds[1].append(best_of(single, passes))
        yield Row(
            "bidirectional",
            f"bi{kind} {shape}, 2 threads, vs twice a single direction",
            1.05,
            tuple(ratio / 2 for ratio in ratios(*seconds)),
            better="lower",
            details={"both_ms": median_ms(seconds[0]), "single_ms": median_ms(seconds[1])},
        )


def paired(kind: str, shape: Shape) -> tuple[Callable[[], None], Callable[[], None]]:
    """A pass of torch's module and one of ours, with the same weights; their answers are the same."""
    _, _, width, hidden = shape
    module, cell = MODULES[kind](width, hidden, batch_first=True), new_cell(kind, shape)
    cell.load_state_dict(module.state_dict())
    theirs = whole_pass(lambda x: module(x)[0], list(module.parameters()), shape)
    ours = whole_pass(lambda x: cell(x)[0], list(cell.parameters()), shape)
    theirs()
    ours()
    for name, parameter in module.named_parameters():
        expected, found = parameter.grad, cell.get_parameter(name).grad
        assert expected is not None
        assert found is not None
        far = float((found - expected).abs().max() / expected.abs().max())
        if far > 1e-3:
            say(f"    {kind} {shape}: the gradient of {name} is {far:.1e} from torch's")
    return theirs, ours


def new_cell(kind: str, shape: Shape) -> Cell:
    settings = ARCHITECTURES.parse({"kind": kind, "hidden": shape[3]})
    assert isinstance(settings, Recurrent)
    return settings.cell(settings, shape[2])


def encoder_pass(kind: str, shape: Shape, bidirectional: bool) -> Callable[[], None]:
    """Of an encoder, over lengths from nine tenths of T to T: buckets leave little padding."""
    batch, steps, width, hidden = shape
    encoder = ARCHITECTURES.parse({"kind": kind, "hidden": hidden, "bidirectional": bidirectional}).build(width)
    lengths = torch.linspace(steps - steps // 10, steps, batch).long()
    wide = (batch, steps, width, encoder.state_width)
    return whole_pass(lambda x: encoder(x, lengths).states, list(encoder.parameters()), wide)


def whole_pass(forward: Callable[[Tensor], Tensor], weights: list[nn.Parameter], shape: Shape) -> Callable[[], None]:
    """Forward and backward over one fixed input."""
    batch, steps, width, out = shape
    random = torch.Generator().manual_seed(0)
    x = torch.randn(batch, steps, width, generator=random).requires_grad_()
    g = torch.randn(batch, steps, out, generator=random)

    def job() -> None:
        for tensor in (x, *weights):
            tensor.grad = None
        forward(x).backward(g)

    return job
