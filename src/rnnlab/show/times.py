"""How long training took, as the tables of a comparison say it: time per epoch, and in all beside it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rnnlab.core.numbers import TimeUnit
from rnnlab.core.words import Both, both

if TYPE_CHECKING:  # `rnnlab runs` need not wait for torch
    from rnnlab.comparing.comparison import ArmSummary, Comparison


@dataclass(frozen=True)
class TrainingTimes:
    """The units of two columns. Batches that are drawn afresh make no epochs: then it is the time per update."""

    epochs: bool
    round_unit: TimeUnit
    total_unit: TimeUnit

    @classmethod
    def of(cls, result: "Comparison") -> Self:
        epochs = all(arm.epoch_seconds is not None or arm.step_seconds is None for arm in result.arms)
        rounds = [arm.epoch_seconds if epochs else arm.step_seconds for arm in result.arms]
        return cls(epochs, TimeUnit.of(rounds), TimeUnit.of(arm.total_seconds for arm in result.arms))

    def round_seconds(self, arm: "ArmSummary") -> float | None:
        return arm.epoch_seconds if self.epochs else arm.step_seconds

    @property
    def round_name(self) -> Both:
        per = both("{unit}/epoch") if self.epochs else both("{unit}/update")
        return per.format(unit=self.round_unit.name)

    @property
    def total_name(self) -> Both:
        return both("total, {unit}", unit=self.total_unit.name)

    def round_text(self, arm: "ArmSummary") -> str:
        return _text(self.round_unit, self.round_seconds(arm))

    def total_text(self, arm: "ArmSummary") -> str:
        return _text(self.total_unit, arm.total_seconds)


def _text(unit: TimeUnit, seconds: float | None) -> str:
    return "" if seconds is None else unit.text(seconds)
