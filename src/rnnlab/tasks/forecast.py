"""Forecast: what comes next in a series, or in many."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from rnnlab.answers.base import Answer
from rnnlab.answers.forecast import MASE, Forecast
from rnnlab.core.config import digest_of
from rnnlab.core.errors import WrongValue
from rnnlab.core.words import note
from rnnlab.data import catalogue, store
from rnnlab.data.encoded import EncodedData
from rnnlab.data.forecasting import encode_observations
from rnnlab.data.made_series import VERSION, MadeSeries, made_series
from rnnlab.data.observations import Observations, read_observations
from rnnlab.data.unchanged import Changed, Content, forget_contents, until_unchanged
from rnnlab.tasks.base import Task, task

MADE = 11_680  # steps: eight years
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
ENCODING = 5  # raised whenever the same series would be encoded differently
RECURRENT: dict[str, Any] = {"hidden": 64}


@task("forecast")
class ForecastTask(Task):
    """The next steps of a series, so many as the horizon says, from the last ones."""

    shape: ClassVar[Answer] = Forecast(1, 1)
    default_models: ClassVar[tuple[str, ...]] = ("gru", "lstm", "dilated")
    training_defaults: ClassVar[dict[str, Any]] = {"batch_size": 64, "lr": 0.001, "patience": 10}
    recurrent_pooling: ClassVar[str] = "last"
    model_defaults: ClassVar[dict[str, dict[str, Any]]] = {"rnn": RECURRENT, "lstm": RECURRENT, "gru": RECURRENT}

    data: str | None = Field(
        default=None,
        min_length=1,
        description="A table of numbers over time, or a name of the catalogue; else a series is made by rules that are "
        "known, and so is what a model can at best achieve.",
    )
    test: str | None = Field(
        default=None, min_length=1, description="A file that goes on where the data end: its steps are the test."
    )
    columns: tuple[str, ...] | None = Field(default=None, description="Names of the columns, if there is no header.")
    steps_made: int | None = Field(
        default=None, ge=200, le=1_000_000, description="Without data: so many steps are made (11,680)."
    )
    horizon: int | None = Field(default=None, ge=1, le=10_000, description="Steps to forecast; else by the dates.")
    lookback: int | None = Field(default=None, ge=1, le=100_000, description="Steps that are read; else by the season.")
    season: int | None = Field(default=None, ge=1, description="Steps after which it begins anew; else by the dates.")
    targets: tuple[str, ...] = Field(default=(), description="Columns to forecast; else all that are numbers.")
    date: str | int | None = Field(default=None, description="The column with the dates; else guessed.")
    series: str | None = Field(default=None, description="The column that names the series, where there are several.")
    skip_bad: bool = Field(default=False, description="Leave bad rows out and count them.")
    calendar: bool = Field(default=True, description="Whether the dates are read, too: hour, weekday, day of the year.")
    scaling: Literal["none", "last", "window"] = Field(
        default="last",
        description="What a window is measured by, besides the mean and spread of its series in the training part: its "
        "last value; or that and its own spread (window).",
    )
    standardise: Literal["series", "global"] = Field(
        default="series",
        description="By whose mean and spread, in the training part: those of each series, or of all (global).",
    )
    line: bool = Field(
        default=True,
        description="Whether a straight line of what is read is added to what a network says (as NLinear has it).",
    )
    quantiles: tuple[float, ...] = Field(
        default=QUANTILES, description="That are forecast, the middle one being the point; none: the mean."
    )
    strategy: Literal["direct", "recursive"] = Field(
        default="direct",
        description="How networks forecast: all steps at a time; or the first ones, which are then read as if they "
        "were values to forecast the others (recursive).",
    )
    step_ahead: int | None = Field(default=None, ge=1, description="recursive: steps that are forecast at a time (1).")
    valid_fraction: float = Field(default=0.1, gt=0, lt=0.5, description="Share of the steps, before the test part.")
    test_fraction: float = Field(default=0.2, gt=0, lt=0.5, description="Share of the steps, at the end.")
    borders: tuple[int, ...] = Field(
        default=(), description="Instead: the steps at which training, validation and test end."
    )
    last_only: bool | None = Field(
        default=None, description="Whether the last horizon of each series is the test; else for 20 series or more."
    )
    windows_per_epoch: int = Field(
        default=10_000, ge=1, description="Of more windows than these, other ones are read in every epoch."
    )
    channels: int | None = Field(default=None, ge=1, description="How many are forecast; filled in.")

    @model_validator(mode="after")
    def _made_or_read(self) -> Self:
        if self.data is not None and self.steps_made is not None:
            raise WrongValue("steps_made = {made} would be ignored: the series is that of data", made=self.steps_made)
        if self.data is None and (self.targets or self.date is not None or self.series or self.skip_bad):
            raise WrongValue(
                "targets, date, series and skip_bad are for files that are read; give data, or leave them out"
            )
        return self

    @model_validator(mode="after")
    def _rolls(self) -> Self:
        if self.step_ahead is not None and self.strategy == "direct":
            raise WrongValue(
                "step_ahead = {steps} would be ignored: all steps are forecast at a time; set strategy = 'recursive'",
                steps=self.step_ahead,
            )
        return self

    @field_validator("quantiles")
    @classmethod
    def _around_the_middle(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if value and (len(value) % 2 == 0 or value[len(value) // 2] != 0.5 or list(value) != sorted(set(value))):
            raise WrongValue("quantiles ascend, and the middle one is 0.5: for example [0.1, 0.5, 0.9]")
        if any(not 0 < one < 1 for one in value):
            raise WrongValue("quantiles lie between 0 and 1")
        return value

    @field_validator("borders")
    @classmethod
    def _three(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if value and len(value) != 3:
            raise WrongValue("borders are three numbers of steps: where training, validation and test end")
        return value

    @classmethod
    def usual_training(cls, settings: Mapping[str, Any], kind: str | None) -> dict[str, Any]:
        """A series by rule shows what a model can do in few epochs."""
        return cls.training_defaults | ({"patience": 3} if settings.get("data") is None else {})

    def usual_model(self, kind: str) -> dict[str, Any]:
        """A series by rule has little to learn: a small convolution is as good, and takes a fifth of the time."""
        found = super().usual_model(kind)
        return {**found, "hidden": 32, "layers": 3} if self.data is None and kind == "dilated" else found

    def use(self, run: str | PathLike[str]) -> str | None:
        return f"rnnlab predict {run} --file recent.csv"

    @property
    def settled(self) -> bool:
        return self.channels is not None and self.horizon is not None

    @property
    def most_rows(self) -> int:
        return self.windows_per_epoch

    def answered(self) -> Answer:
        return Forecast(
            self.horizon or 1,
            self.channels or 1,
            self.quantiles,
            self.scaling,
            (self.lookback or 1) if self.line else None,
            None if self.strategy == "direct" else self.step_ahead or 1,
        )

    def resolve(self) -> Self:
        data = self.encoded()
        return self.replace(channels=len(data.labels), fingerprint=store.fingerprint(data), **data.profile["settled"])

    def encoded(self) -> EncodedData:
        if self.data is None:
            return store.cached(digest_of([ENCODING, VERSION, self._encoding()]), self._made)
        return until_unchanged(self._attempt, self.data)

    def _encoding(self) -> dict[str, Any]:
        """The settings on which the encoded data depend, besides the file."""
        left_out = (
            "fingerprint",
            "data",
            "test",
            "metric",
            "scaling",
            "quantiles",
            "line",
            "channels",
            "windows_per_epoch",
            "strategy",
            "step_ahead",
        )
        return {name: value for name, value in self.to_dict().items() if name not in left_out}

    def _series_made(self) -> MadeSeries:
        return made_series(self.steps_made or MADE, 0)

    def _made(self) -> EncodedData:
        """Of a series by rule, with the MASE that nobody can do better than."""
        made = self._series_made()
        data = self.encode_all(made.observations)
        test = data.test
        assert test.horizon is not None
        assert test.series is not None
        assert test.scales is not None
        end = self.borders[2] if self.borders else len(made.rule)
        rows = np.arange(len(test))
        scales = test.scales[test.series]  # (rows, 3, 1)
        medians = made.medians(test.ends + end - len(test.values), test.horizon)
        best = ((medians - scales[:, 0]) / scales[:, 1])[:, :, None, None]
        floor = MASE.of(Forecast(test.horizon, 1).counted(best, test.ahead(rows), scales))
        line = note(
            "made by rules that are known: no forecaster can have less than a MASE of {floor:.4f} on the test part, on "
            "average",
            floor=floor,
        )
        profile = {**data.profile, "lines": [*data.profile["lines"], line], "floor": floor, "floor_of": MASE.title}
        return replace(data, profile=profile)

    def _attempt(self) -> EncodedData:
        paths = {"train": self._path()} | ({} if self.test is None else {"test": Path(self.test)})
        files = {f"{part} {path.suffix.lower()}": path for part, path in paths.items()}
        content = Content.of(files)

        def make() -> EncodedData:
            try:
                seen, later = self.read(), None if self.test is None else self._read(Path(self.test))
            finally:
                if Content.of(files) != content:
                    raise Changed
            return self.encode_all(seen, later)

        try:
            return store.cached(digest_of([ENCODING, self._encoding(), content.lines]), make)
        finally:
            forget_contents()

    def _path(self) -> Path:
        assert self.data is not None
        if self.data in catalogue.names():
            [file] = catalogue.entry(self.data).files
            return catalogue.get(self.data) / file
        return Path(self.data)

    def read(self) -> Observations:
        if self.data is None:
            return self._series_made().observations
        return self._read(self._path())

    def _read(self, path: Path) -> Observations:
        return read_observations(
            path,
            date=self.date,
            targets=self.targets,
            series=self.series,
            columns=self.columns,
            skip_bad=self.skip_bad,
        )

    def encode_all(self, seen: Observations, later: Observations | None = None) -> EncodedData:
        return encode_observations(
            seen,
            horizon=self.horizon,
            lookback=self.lookback,
            season=self.season,
            valid_fraction=self.valid_fraction,
            test_fraction=self.test_fraction,
            borders=self.borders,
            last_only=self.last_only,
            calendar=self.calendar,
            standardise=self.standardise,
            later=later,
        )

    def identity(self) -> dict[str, Any]:
        """How a window is measured, and which quantiles are asked for, decide a run."""
        found = super().identity()
        own = {"scaling": self.scaling, "quantiles": list(self.quantiles), "line": self.line}
        own["windows_per_epoch"] = self.windows_per_epoch
        if self.strategy == "recursive":
            own["step_ahead"] = self.step_ahead or 1
        return {**found, **own} if self.fingerprint else found
