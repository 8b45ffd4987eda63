"""Boosted trees on what was read: one model for all series, channels and steps ahead."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from rnnlab.data.sequences import Sequences
from rnnlab.models.baselines import Learnt, baseline
from rnnlab.models.classical_forecasting import library
from rnnlab.models.forecasting import AT_A_TIME, Forecasting, Work, read_before, spaced_evenly

RECENT = 24  # values before the origin that a tree may ask for
SEASONS = 4  # before the step that is asked, of which it may ask for the value at the same place
MOST_ROWS = 150_000  # (window, channel, step) that are learnt from
PATIENCE = 30  # trees without a better error on the validation windows


@baseline("lightgbm")
class LightGbm(Forecasting):
    """Gradient-boosted trees (LightGBM) for the absolute error. What is asked is how far a step is from the last value;
    what a tree knows are the last values, those of the seasons before the step, means, the step and the channel."""

    title: ClassVar[str] = "boosted trees (LightGBM)"
    extra: ClassVar[str] = "forecast"
    packages: ClassVar[tuple[str, ...]] = ("lightgbm",)

    trees: int = Field(default=400, ge=1, le=100_000, description="At most; how many is chosen on validation.")

    def seconds(self, work: Work) -> float:
        return 10.0 + 1.2e-5 * work.asked

    def fit_windows(self, train: Sequences, valid: Sequences, season: int) -> Learnt:
        lightgbm = library(self)
        learnt = {
            "season": np.array([season]),
            "lookback": np.array([int(train.lengths.max(initial=1))]),
        }
        known, asked = self._learnt_from(learnt, train, MOST_ROWS)
        held_out = self._learnt_from(learnt, valid, MOST_ROWS // 3)
        settings = {
            "objective": "l1",
            "learning_rate": 0.05,
            "num_leaves": 31,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "seed": 0,
            "verbosity": -1,
        }
        rows = lightgbm.Dataset(known, asked, params=settings)
        booster = lightgbm.train(
            settings,
            rows,
            self.trees,
            valid_sets=[rows.create_valid(*held_out)],
            callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
        )
        text = booster.model_to_string(num_iteration=booster.best_iteration)
        return {**learnt, "trees": np.frombuffer(text.encode(), np.uint8).copy()}

    def chosen(self, learnt: Learnt) -> dict[str, float | str]:
        return {"trees": float(learnt["trees"].tobytes().decode().count("\nTree="))}

    def reach(self, learnt: Learnt) -> int:
        return int(learnt["lookback"][0])

    def points(self, learnt: Learnt, read: np.ndarray, horizon: int) -> np.ndarray:
        booster = library(self).Booster(model_str=learnt["trees"].tobytes().decode())
        batch, _, channels = read.shape
        found = np.empty((batch, horizon, channels))
        for step in range(horizon):
            for channel in range(channels):
                known = _known(read[:, :, channel], step, channel, int(learnt["season"][0]))
                found[:, step, channel] = read[:, -1, channel] + booster.predict(known, num_threads=1)
        return found

    def _learnt_from(self, learnt: Learnt, data: Sequences, most: int) -> tuple[np.ndarray, np.ndarray]:
        """(N, F) of what is known and (N,) of what is asked: all windows and steps, or as many drawn."""
        assert data.horizon is not None
        channels = data.targets.shape[1]
        windows = spaced_evenly(data, most)
        share = min(1.0, most / (len(windows) * data.horizon * channels))
        random = np.random.default_rng(0)
        known, asked = [], []
        for rows in np.array_split(windows, max(1, -(-len(windows) // AT_A_TIME))):
            read, ahead = read_before(data, rows, self.reach(learnt)), data.ahead(rows)
            for step in range(data.horizon):
                for channel in range(channels):
                    taken = np.isfinite(ahead[:, step, channel])
                    if share < 1:
                        taken &= random.random(len(rows)) < share
                    own = read[taken, :, channel]
                    known.append(_known(own, step, channel, int(learnt["season"][0])))
                    asked.append(ahead[taken, step, channel] - own[:, -1])
        return np.concatenate(known), np.concatenate(asked)


def _known(read: np.ndarray, step: int, channel: int, season: int) -> np.ndarray:
    """(B, F) float32: of windows (B, L) of a channel, for a step ahead; all values less the last one."""
    length = read.shape[1]
    less = read - read[:, -1:]
    at = length + step - season * (step // season + 1 + np.arange(SEASONS))  # the same place, seasons ago
    seasons = np.where(at >= 0, less[:, np.maximum(at, 0)], np.nan)
    recent = np.full((len(read), RECENT), np.nan)
    recent[:, -min(RECENT, length) :] = less[:, -RECENT:]
    sizes = [less[:, -season * count :] for count in (1, 2, 7)]
    means = np.stack([one.mean(1) for one in sizes] + [less.std(1)], axis=1)
    place = np.tile([step, channel], (len(read), 1))
    return np.concatenate([recent, seasons, means, place], axis=1).astype(np.float32)
