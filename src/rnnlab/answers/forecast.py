"""What comes next in a series, so many steps ahead: points, or quantiles, of each channel."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.heads import LinearBeside, SummaryHead
from rnnlab.answers.score import Score, ratio
from rnnlab.data.batches import Batch, collate
from rnnlab.data.encoded import EncodedData
from rnnlab.data.forecasting import FEWEST_BLOCKS
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences, Targets
from rnnlab.models.forecasting import Ridge, quantiles_of, read_before, spaced_evenly
from rnnlab.models.network import Network
from rnnlab.models.pooling import inside

MASE = ratio("mase", "MASE", "scaled", "values", lower_is_better=True, unit="number", least=0.0)
MAE = ratio("mae", "MAE", "absolute", "values", lower_is_better=True, unit="number", least=0.0)
MSE = ratio("mse", "MSE", "squared", "values", lower_is_better=True, unit="number", least=0.0)
SMAPE = ratio("smape", "sMAPE", "relative", "values", lower_is_better=True)
CRPS = ratio("crps", "scaled CRPS", "pinball", "values", lower_is_better=True, unit="number", least=0.0)
LOSS = ratio("loss", "loss", "lost", "values", lower_is_better=True, unit="number", least=0.0)
COVERAGE = ratio("coverage", "share within the outer quantiles", "inside", "values")
MOST_WINDOWS = 20_000  # by which the line begins
FOR_QUANTILES = 2_000  # of them
AT_A_TIME = 256  # windows that are rolled forward
LEAST_SPREAD = 0.05  # of a window, in standard deviations of its series: less is no reason to stretch it

Scaling = Literal["none", "last", "window"]


class Forecast(Answer):
    """Outputs (B, H · C · Q), targets (B, H, C) float, NaN where a value is missing and nothing is counted.

    All numbers are standardised by their series. ``scaling`` is what a window is measured by besides: ``last``, its
    last value, which is taken off what is read and put back on what is forecast; ``window``, the same, and by how much
    its values differ. What is kept of a row are the sums that scores are made of."""

    beside: str = MSE.name
    counts_whole: bool = False
    fewest_groups: int = FEWEST_BLOCKS
    baselines: tuple[str, ...] = (
        *("last-value", "seasonal-naive", "moving-average", "ridge"),
        *("auto-ets", "auto-arima", "theta", "lightgbm"),
    )

    def __init__(
        self,
        horizon: int,
        channels: int,
        quantiles: Sequence[float] = (),
        scaling: Scaling = "last",
        line_of: int | None = None,
        step_ahead: int | None = None,
    ):
        """Without ``quantiles`` the mean is forecast, by squared errors; else the quantiles, of which the middle one is
        the point. ``line_of``: a straight line of so many steps is added to what a network says; None: none is.
        ``step_ahead``: so many steps are forecast at a time, and the others from those; None: all at a time."""
        self.horizon: int = horizon
        self.channels: int = channels
        self.quantiles: tuple[float, ...] = tuple(quantiles)
        self.scaling: Scaling = scaling
        self.line_of: int | None = line_of
        self.at_a_time: int = min(step_ahead or horizon, horizon)
        self.chosen_by: str | None = CRPS.name if quantiles else None  # a median may be right before its quantiles are
        of_quantiles = (CRPS, COVERAGE) if quantiles else ()
        self.scores: tuple[Score, ...] = (MASE, MSE, MAE, SMAPE, *of_quantiles, LOSS)

    @property
    def numbers(self) -> int:
        """Per step and channel."""
        return max(1, len(self.quantiles))

    def outputs(self, preprocessor: Preprocessor) -> int:
        return self.at_a_time * self.channels * self.numbers

    @property
    def rolls(self) -> bool:
        """Whether forecasts are read as if they were values, to forecast what comes after them."""
        return self.at_a_time < self.horizon

    def head(self, width: int, outputs: int) -> nn.Module:
        if self.line_of is None:
            head = SummaryHead(width, outputs)
        else:
            head = LinearBeside(width, self.at_a_time, self.channels, self.numbers, self.line_of)
        if self.rolls:
            later = self.horizon - self.at_a_time
            head.register_buffer("off", torch.zeros(later, self.channels, self.numbers))
        return head

    def begin(self, head: nn.Module, data: EncodedData) -> None:
        """The line begins as least squares has it, and its quantiles as far from it as the training windows were; so
        that a network begins as good as a line is, and learns what is left."""
        if not isinstance(head, LinearBeside):
            return
        assert data.observed is not None
        train, valid = (replace(rows, horizon=self.at_a_time) for rows in (data.train, data.valid))
        windows = spaced_evenly(train, MOST_WINDOWS)
        learnt = Ridge().fit_line(train, valid, data.observed.season, windows, by_channel=False)
        weights = torch.from_numpy(learnt["weights"][0].T)  # (H, L)
        if self.scaling == "none":  # nothing is taken off before, and what the weights lack is of the last value
            weights[:, -1] += 1 - weights.sum(1)
        with torch.no_grad():
            line = head.line.weight.view(self.at_a_time, self.numbers, -1)
            line[:, :, line.shape[2] - weights.shape[1] :] = weights[:, None]
            if self.quantiles and self.scaling != "window":
                some = windows[:: -(-len(windows) // FOR_QUANTILES)]
                points = Ridge().points(learnt, read_before(train, some, weights.shape[1]), self.at_a_time)
                off = np.moveaxis(train.ahead(some) - points, 1, 0).reshape(self.at_a_time, -1)  # (H, windows · C)
                found = np.nan_to_num(np.nanquantile(off, self.quantiles, axis=1))  # (Q, H)
                head.line.bias.copy_(torch.from_numpy((found - found[self.numbers // 2]).T.reshape(-1)))

    def measured_by(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Level and spread of each window and channel, (B, 1, C) each: of what is read alone."""
        read, lengths = batch.inputs[:, :, : self.channels], batch.lengths
        if self.scaling == "none":
            level = read.new_zeros(len(read), 1, self.channels)
            return level, torch.ones_like(level)
        level = read[torch.arange(len(read)), lengths - 1][:, None]
        if self.scaling == "last":
            return level, torch.ones_like(level)
        real = inside(lengths, read.shape[1])[:, :, None]
        mean = (read * real).sum(1, keepdim=True) / lengths[:, None, None]
        spread = (((read - mean) * real) ** 2).sum(1, keepdim=True) / lengths[:, None, None]
        return level, spread.sqrt().clamp(min=LEAST_SPREAD)

    def given(self, batch: Batch) -> tuple[Tensor, ...]:
        """With windows measured by themselves; padding stays zero."""
        if self.scaling == "none":
            return batch.inputs, batch.lengths
        level, spread = self.measured_by(batch)
        own = batch.inputs[:, :, : self.channels] - level
        if self.scaling == "window":
            own = own / spread
        if batch.inputs.shape[1] > int(batch.lengths.min()):
            own = own * inside(batch.lengths, batch.inputs.shape[1])[:, :, None]
        return torch.cat([own, batch.inputs[:, :, self.channels :]], dim=2), batch.lengths

    def loss(self, out: Tensor, batch: Batch) -> Tensor:
        """Of windows as they are judged: where that is by MASE, an error counts by what the seasonal naive forecast is
        off by; else windows as they are measured by themselves."""
        level, spread = self.measured_by(batch)
        targets = batch.targets[:, : self.at_a_time]
        known = (~targets.isnan()).float()
        if self.judged in (MASE, CRPS):  # which count an error by what the seasonal naive forecast is off by
            assert batch.scales is not None
            known = known * spread * (batch.scales[:, 1] / batch.scales[:, 2])[:, None]
        asked = ((targets.nan_to_num() - level) / spread)[..., None]  # (B, H, C, 1)
        error = asked - out.view(*targets.shape, self.numbers)
        if self.quantiles:
            at = out.new_tensor(self.quantiles)
            error = torch.maximum(at * error, (at - 1) * error)
        else:
            error = error**2
        return (error.mean(3) * known).sum() / known.sum().clamp(min=1)

    def asked(self, network: Network, batch: Batch) -> Tensor:
        """(B, H · C · Q). Steps after the first ones are forecast from those, whose points are read as values, with the
        calendar of their dates and nothing missing: a window goes on by as many steps as it loses at its beginning. How
        far later steps may be off is what they were off by on validation windows: points say nothing of it."""
        if not self.rolls:
            return super().asked(network, batch)
        off = network.head.get_buffer("off")
        assert batch.known is not None
        rows, steps = batch.inputs.shape[:2]
        longer = F.pad(batch.inputs, (0, 0, 0, self.horizon))
        of_row, found = torch.arange(rows, device=longer.device)[:, None], []
        for done in range(0, self.horizon, self.at_a_time):
            window = replace(batch, inputs=longer[:, done : done + steps])
            own = self.forecasts(network(*self.given(window)), window)[:, : self.horizon - done]
            point = own[..., self.numbers // 2]  # (B, steps at a time, C)
            found.append(own if done == 0 else point[..., None] + off[done - self.at_a_time :][: own.shape[1]])
            at = (batch.lengths + done)[:, None] + torch.arange(own.shape[1], device=longer.device)
            longer[of_row, at, : self.channels] = point
            first = longer.shape[2] - batch.known.shape[2]
            longer[of_row, at, first:] = batch.known[:, done : done + own.shape[1]]
        level, spread = self.measured_by(batch)
        return ((torch.cat(found, 1) - level[..., None]) / spread[..., None]).flatten(1)

    def before_validation(self, network: Network, valid: Sequences, device: torch.device) -> None:
        """How far later steps are off, of each step and channel: as `residual_quantiles` of baselines."""
        if not self.rolls or not self.quantiles:
            return
        off = network.head.get_buffer("off")
        off.zero_()
        some = spaced_evenly(valid, FOR_QUANTILES)
        points = np.empty((len(some), self.horizon, self.channels), np.float32)
        was_training = network.training
        network.eval()
        with torch.inference_mode():
            for rows in np.array_split(np.arange(len(some)), -(-len(some) // AT_A_TIME)):
                batch = collate(valid, some[rows]).to(device)
                points[rows] = self.forecasts(self.asked(network, batch), batch)[..., self.numbers // 2].cpu().numpy()
        network.train(was_training)
        found = quantiles_of(valid.ahead(some) - points, self.quantiles)[self.at_a_time :]
        off.copy_(torch.from_numpy(found))

    def right(self, out: Tensor, batch: Batch) -> float:
        return 0.0

    def forecasts(self, out: Tensor, batch: Batch) -> Tensor:
        """(B, H, C, Q), or of as many steps as ``out`` has; standardised by the series; quantiles ascend."""
        level, spread = self.measured_by(batch)
        found = out.view(len(out), -1, self.channels, self.numbers) * spread[..., None] + level[..., None]
        return found.sort(dim=3).values if self.quantiles else found

    def keep(self, out: Tensor, batch: Batch) -> dict[str, Tensor]:
        assert batch.scales is not None
        found = self.counted(
            *(part.cpu().numpy() for part in (self.forecasts(out, batch), batch.targets, batch.scales))
        )
        return {name: torch.from_numpy(column) for name, column in found.items()}

    def counted(self, forecasts: np.ndarray, targets: np.ndarray, scales: np.ndarray) -> dict[str, np.ndarray]:
        """What scores are sums of, (B,) each, and ``by_step`` (B, H): of forecasts (B, H, C, Q), targets (B, H, C) and
        scales (B, 3, C). MASE and CRPS are in units of the seasonal naive forecast's mean error in the training part,
        sMAPE is of the values as they stand in the file, the others are of standardised values."""
        mean, std, naive = (scales[:, None, number].astype(np.float64) for number in range(3))  # (B, 1, C) each
        known = ~np.isnan(targets)
        truth = np.where(known, targets, 0.0).astype(np.float64)
        point = forecasts[..., self.numbers // 2].astype(np.float64)
        error = np.where(known, np.abs(truth - point), 0.0)
        unit = std / naive
        raw, raw_point = truth * std + mean, point * std + mean
        size = np.abs(raw) + np.abs(raw_point)
        relative = np.where(known & (size > 0), 2 * error * std / np.where(size > 0, size, 1.0), 0.0)

        def per_row(column: np.ndarray) -> np.ndarray:
            return column.sum((1, 2))

        found = {
            "values": per_row(known.astype(np.float64)),
            "absolute": per_row(error),
            "squared": per_row(error**2),
            "scaled": per_row(error * unit),
            "relative": per_row(relative),
            "by_step": (error * unit).sum(2).astype(np.float32),
            "lost": per_row(error**2),
        }
        if self.quantiles:
            at = np.array(self.quantiles)
            missed = truth[..., None] - forecasts.astype(np.float64)
            pinball = np.where(known, np.maximum(at * missed, (at - 1) * missed).mean(3), 0.0)
            within = (truth >= forecasts[..., 0]) & (truth <= forecasts[..., -1]) & known
            found |= {
                "lost": per_row(pinball),
                "pinball": per_row(2 * pinball * unit),
                "inside": per_row(within.astype(np.float64)),
            }
        return found

    def counts(self, kept: Kept, targets: Targets) -> dict[str, np.ndarray]:
        return {name: column for name, column in kept.items() if column.ndim == 1}
