"""Forecasts that are read again: what is fed back, what is known of steps ahead, and how far later steps are off."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from corpora import write_hours

from rnnlab.answers.forecast import Forecast
from rnnlab.core.config import parse
from rnnlab.core.errors import ConfigError
from rnnlab.data.batches import Batch, collate
from rnnlab.data.sequences import Sequences
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import Network
from rnnlab.tasks.forecast import ForecastTask
from rnnlab.testing.task_laws import Subject
from rnnlab.training.spec import RunSpec

CPU = torch.device("cpu")
HORIZON, LOOKBACK = 6, 12


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> str:
    """With a value that is missing, so that marks are read."""
    path = Path(write_hours(tmp_path_factory.mktemp("hours") / "hours.csv", 400))
    lines = path.read_text().splitlines()
    lines[380] = lines[380].rsplit(",", 1)[0] + ","
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def subject(hours: str, **more) -> Subject:
    settings = {"horizon": HORIZON, "lookback": LOOKBACK, "strategy": "recursive", **more}
    return Subject.of(ForecastTask(data=hours, **settings))


def answered(network: Network, answer: Forecast, data: Sequences, rows: list[int]) -> np.ndarray:
    """(rows, H, C, Q)"""
    batch = collate(data, np.array(rows))
    with torch.inference_mode():
        return answer.forecasts(answer.asked(network, batch), batch).numpy()


@pytest.mark.parametrize("scaling", ["none", "last", "window"])
@pytest.mark.parametrize("steps", [1, 4])
def test_each_step_is_what_the_network_says_of_the_steps_before(hours: str, scaling: str, steps: int):
    """Rolled by hand, one row at a time; of windows that are as long as the look-back, and shorter."""
    one = subject(hours, scaling=scaling, step_ahead=steps)
    answer, data = one.task.answer, one.data.valid
    assert isinstance(answer, Forecast)
    data = replace(data, starts=data.starts + np.arange(len(data)) % 5)
    channels, known_from = answer.channels, data.known_from
    assert known_from == 2 * channels < data.values.shape[1]
    rows = [0, 3, 4]
    found = answered(one.network, answer, data, rows)
    for row, ours in zip(rows, found, strict=True):
        read, points = data.row(row), []
        ahead = data.values[data.steps_ahead(np.array([row]))[0]]
        while len(points) < HORIZON:
            batch = Batch(torch.from_numpy(read)[None], torch.tensor([len(read)]), torch.zeros(1, HORIZON, channels))
            with torch.inference_mode():
                own = answer.forecasts(one.network(*answer.given(batch)), batch)[0, :, :, answer.numbers // 2].numpy()
            fed = np.zeros((len(own), read.shape[1]), np.float32)[: HORIZON - len(points)]
            fed[:, :channels] = own[: len(fed)]
            fed[:, known_from:] = ahead[len(points) :][: len(fed), known_from:]
            points += list(own[: len(fed)])
            read = np.concatenate([read, fed])[-len(read) :]
        assert np.allclose(ours[:, :, answer.numbers // 2], np.stack(points), atol=1e-5)


def test_the_calendar_of_steps_ahead_is_read_and_their_values_are_not(hours: str):
    one = subject(hours)
    answer, data = one.task.answer, one.data.valid
    assert isinstance(answer, Forecast)
    assert data.known_from is not None
    end = int(data.ends[0])
    before = answered(one.network, answer, data, [0])[0]
    for columns, same in ((slice(0, data.known_from), True), (slice(data.known_from, None), False)):
        values = data.values.copy()
        values[end, columns] += 1
        after = answered(one.network, answer, replace(data, values=values), [0])[0]
        assert np.array_equal(before[0], after[0])
        assert np.array_equal(before[1:], after[1:]) == same


def test_later_steps_are_as_far_off_as_they_were_on_validation_windows(hours: str):
    one = subject(hours)
    answer, data = one.task.answer, one.data.valid
    assert isinstance(answer, Forecast)
    rows = list(range(len(data)))
    points = answered(one.network, answer, data, rows)[..., answer.numbers // 2]
    answer.before_validation(one.network, data, CPU)
    found, truth = answered(one.network, answer, data, rows), data.ahead(np.array(rows))
    assert np.array_equal(found[..., answer.numbers // 2], points)
    off = np.nanquantile(truth - points, answer.quantiles, axis=0)  # (Q, H, C)
    spread = np.moveaxis(found - points[..., None], 3, 0)
    for number, quantile in enumerate(answer.quantiles):
        expected = np.minimum(off[number], 0) if quantile < 0.5 else np.maximum(off[number], 0)
        if quantile != 0.5:
            assert np.allclose(spread[number, :, 1:], expected[1:], atol=1e-5)
    assert not np.allclose(spread[0, :, 0], off[0, 0], atol=1e-3)  # the first step has its own


def test_options_that_would_be_ignored_are_refused_and_the_strategy_decides_a_run(hours: str):
    with pytest.raises(ConfigError, match="step_ahead = 2 would be ignored"):
        parse(ForecastTask, {"data": hours, "step_ahead": 2})
    direct = ForecastTask(data=hours, horizon=HORIZON, lookback=LOOKBACK).resolve()
    tasks = [direct, direct.replace(strategy="recursive"), direct.replace(strategy="recursive", step_ahead=2)]
    gru = ARCHITECTURES.parse({"kind": "gru", "hidden": 4})
    assert len({task.fingerprint for task in tasks}) == 1
    assert len({RunSpec(task, gru, None, 0).digest for task in tasks}) == 3
