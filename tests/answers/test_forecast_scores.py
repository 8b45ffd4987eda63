"""Scores of forecasts are those of their formulas, whatever is missing; and what a window is measured by is what it
read."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rnnlab.answers.forecast import Forecast
from rnnlab.data.batches import Batch

HORIZON, CHANNELS, QUANTILES = 3, 2, (0.1, 0.5, 0.9)


@pytest.fixture
def made():
    random = np.random.default_rng(0)
    forecasts = np.sort(random.normal(size=(5, HORIZON, CHANNELS, len(QUANTILES))), axis=3)
    targets = random.normal(size=(5, HORIZON, CHANNELS))
    targets[1, 2, 0] = np.nan
    scales = np.stack([random.normal(size=(5, CHANNELS)) * 10, *random.uniform(0.5, 2, (2, 5, CHANNELS))], axis=1)
    return forecasts, targets, scales


def test_scores_are_those_of_their_formulas(made):
    forecasts, targets, scales = made
    answer = Forecast(HORIZON, CHANNELS, QUANTILES)
    found = {score.name: score.of(answer.counted(*made)) for score in answer.scores}
    mean, std, naive = (scales[:, number][:, None] for number in range(3))
    error = targets - forecasts[..., 1]
    raw, point = targets * std + mean, forecasts[..., 1] * std + mean
    at = np.array(QUANTILES)
    missed = targets[..., None] - forecasts
    pinball = np.where(missed > 0, at * missed, (at - 1) * missed).mean(3)
    assert found["mase"] == pytest.approx(np.nanmean(np.abs(raw - point) / naive))
    assert found["mse"] == pytest.approx(np.nanmean(error**2))
    assert found["mae"] == pytest.approx(np.nanmean(np.abs(error)))
    assert found["smape"] == pytest.approx(np.nanmean(2 * np.abs(raw - point) / (np.abs(raw) + np.abs(point))))
    assert found["crps"] == pytest.approx(np.nanmean(2 * pinball * std / naive))
    known = ~np.isnan(targets)
    within = (targets >= forecasts[..., 0]) & (targets <= forecasts[..., 2])
    assert found["coverage"] == pytest.approx(within[known].mean())


def test_counts_add_over_any_partition(made):
    answer = Forecast(HORIZON, CHANNELS, QUANTILES)
    whole = answer.counted(*made)
    parts = [answer.counted(*(part[rows] for part in made)) for rows in (slice(0, 2), slice(2, 5))]
    for name, column in whole.items():
        assert np.array_equal(column, np.concatenate([part[name] for part in parts]))


def batch_of(targets: np.ndarray) -> Batch:
    random = torch.Generator().manual_seed(1)
    inputs, lengths = torch.randn(5, 6, CHANNELS + 1, generator=random), torch.tensor([6, 4, 6, 2, 5])
    inputs[torch.arange(6) >= lengths[:, None]] = 0
    return Batch(inputs, lengths, torch.from_numpy(targets).float(), scales=torch.ones(5, 3, CHANNELS))


def test_where_mase_judges_an_error_counts_by_what_the_seasonal_naive_forecast_is_off_by(made):
    """Of windows that are off by as much, in standard deviations of their series."""
    batch = batch_of(np.zeros_like(made[1]))
    scales = torch.ones(5, 3, CHANNELS)
    scales[0, 2] = 0.1
    batch = replace(batch, scales=scales)
    off = torch.zeros(5, HORIZON, CHANNELS)
    off[0] = 1.0
    by_mase, by_mae = (Forecast(HORIZON, CHANNELS, QUANTILES, "none").judged_by(name) for name in ("mase", "mae"))
    out = off[..., None].expand(-1, -1, -1, len(QUANTILES)).flatten(1)
    shares = [float(answer.loss(out, batch)) for answer in (by_mase, by_mae)]
    assert shares[0] / shares[1] == pytest.approx((10 / 14) / (1 / 5))


@pytest.mark.parametrize("scaling", ["none", "last", "window"])
def test_a_loss_of_zero_is_a_forecast_that_is_right(made, scaling):
    """What is forecast is the inverse of how targets are measured."""
    answer = Forecast(HORIZON, CHANNELS, (), scaling).judged_by("mse")
    batch = batch_of(made[1])
    level, spread = answer.measured_by(batch)
    right = ((batch.targets.nan_to_num() - level) / spread).flatten(1)
    assert float(answer.loss(right, batch)) == pytest.approx(0, abs=1e-10)
    found = answer.forecasts(right, batch)[..., 0]
    assert torch.allclose(found[~batch.targets.isnan()], batch.targets[~batch.targets.isnan()], atol=1e-5)
    assert float(answer.loss(right + 1, batch)) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("scaling", ["last", "window"])
def test_padding_stays_zero_and_a_shift_is_not_seen(made, scaling):
    answer = Forecast(HORIZON, CHANNELS, QUANTILES, scaling)
    batch = batch_of(made[1])
    read, lengths = answer.given(batch)
    padding = torch.arange(6) >= lengths[:, None]
    assert not read[padding].any()
    moved = batch.inputs.clone()
    moved[:, :, :CHANNELS] += 100.0
    moved[padding] = 0
    again, _ = answer.given(Batch(moved, lengths, batch.targets))
    assert torch.allclose(read, again, atol=1e-3)


def test_quantiles_ascend(made):
    answer = Forecast(HORIZON, CHANNELS, QUANTILES)
    out = torch.randn(5, HORIZON * CHANNELS * 3, generator=torch.Generator().manual_seed(2))
    found = answer.forecasts(out, batch_of(made[1]))
    assert bool((found.diff(dim=3) >= 0).all())
