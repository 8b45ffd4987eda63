"""The straight line beside a network begins as least squares has it, however windows are measured."""

import numpy as np
import pytest
import torch

from rnnlab.answers.forecast import Forecast, Scaling
from rnnlab.answers.heads import LinearBeside
from rnnlab.data.batches import collate
from rnnlab.data.encoded import EncodedData
from rnnlab.data.forecasting import encode_observations
from rnnlab.data.observations import Observations
from rnnlab.models.base import Encoded
from rnnlab.models.forecasting import Ridge

QUANTILES = (0.1, 0.5, 0.9)
HORIZON, LOOKBACK = 4, 12


@pytest.fixture(scope="module")
def data() -> EncodedData:
    steps = np.arange(400)
    random = np.random.default_rng(0)
    waves = np.stack([np.sin(steps / 3), np.cos(steps / 5) + steps / 100], 1) + 0.1 * random.normal(size=(400, 2))
    seen = Observations("waves", waves, np.array([0, 400]), ("",), ("a", "b"), None, None, ())
    return encode_observations(seen, horizon=HORIZON, lookback=LOOKBACK, season=1)


@pytest.mark.parametrize("scaling", ["none", "last", "window"])
def test_before_training_the_median_is_that_of_ridge(data: EncodedData, scaling: Scaling):
    answer = Forecast(HORIZON, 2, QUANTILES, scaling, LOOKBACK)
    head = answer.head(5, 0)
    assert isinstance(head, LinearBeside)
    answer.begin(head, data)
    batch = collate(data.test, np.arange(20))
    inputs, lengths, *_ = answer.given(batch)
    told = Encoded(torch.zeros(20, 1, 5), torch.zeros(20, 5), read=(inputs, lengths))
    found = answer.forecasts(head(told) - head.linear.bias, batch).detach().numpy()
    learnt = Ridge().fit_line(data.train, data.valid, 1, np.arange(len(data.train)), by_channel=False)
    expected = Ridge().forecast(learnt, data.test)[:20]
    assert np.allclose(found[..., 1], expected, atol=1e-4)
    assert not np.allclose(found[..., 1], found[:, :1, :, 1], atol=1e-2)
    if scaling != "window":  # where quantiles begin beside it, as often above and below as they say
        off = answer.forecasts(head(told) - head.linear.bias, batch).detach().numpy() - expected[..., None]
        assert (off[..., 0] < 0).all()
        assert (off[..., 2] > 0).all()


def test_without_a_line_there_is_nothing_to_begin_with(data: EncodedData):
    answer = Forecast(HORIZON, 2, QUANTILES, "last", None)
    head = answer.head(5, HORIZON * 2 * 3)
    before = [weight.clone() for weight in head.parameters()]
    answer.begin(head, data)
    assert all(torch.equal(a, b) for a, b in zip(before, head.parameters(), strict=True))
