"""A run is its spec: the task, the model, how it is trained, and the seed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from rnnlab.core.config import Config, digest_of, parse
from rnnlab.core.errors import ConfigError, WrongValue
from rnnlab.models.base import ARCHITECTURES, Architecture
from rnnlab.models.baselines import BASELINES, Baseline
from rnnlab.tasks.base import TASKS, Task

SPEC_FORMAT = 1
EVAL_EVERY = 50  # updates between two evaluations, unless set, where batches are drawn afresh

_SHAPES: dict[str, dict[str, Any]] = {  # each shape of a schedule, and the settings it uses with their defaults
    "plateau": {"rise": 0, "decay": 0.5},
    "constant": {},
    "step": {"every": 5, "gamma": 0.5},
    "multi-step": {"at": (5, 8), "gamma": 0.5},
    "cosine": {"warmup": 0.0},
    "one-cycle": {"warmup": 0.3},
}


class Schedule(Config):
    """How the learning rate changes. A setting that the shape doesn't use is refused."""

    added: ClassVar[tuple[str, ...]] = ("rise", "decay")

    shape: Literal["plateau", "constant", "step", "multi-step", "cosine", "one-cycle"] = Field(
        default="plateau",
        description="plateau holds it until patience fires, then lets it fall to zero from the best weights on, which "
        "ends the run. step and multi-step cut it at epochs (at updates, where a task draws fresh batches and has "
        "none); cosine and one-cycle bend it every step.",
    )
    every: int | None = Field(default=None, ge=1, description="step: epochs (or updates) between two cuts (5).")
    at: tuple[int, ...] | None = Field(
        default=None, description="multi-step: the epochs (or updates) after which to cut ([5, 8])."
    )
    gamma: float | None = Field(default=None, gt=0, le=1, description="step, multi-step: the factor of a cut (0.5).")
    warmup: float | None = Field(
        default=None, ge=0, lt=1, description="cosine, one-cycle: share of steps spent rising."
    )
    rise: int | None = Field(default=None, ge=0, description="plateau: updates spent rising, at the beginning (0).")
    decay: float | None = Field(
        default=None, gt=0, le=2, description="plateau: epochs of the fall, per epoch up to the best one (0.5)."
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: Any) -> Any:
        if isinstance(values, str):
            values = {"shape": values}
        if not isinstance(values, dict):
            return values
        used = _SHAPES.get(values.get("shape", "plateau"), {})
        return {**used, **{k: v for k, v in values.items() if v is not None or k not in used}}

    @model_validator(mode="after")
    def _refuse_unused(self) -> Self:
        for name in ("every", "at", "gamma", "warmup", "rise", "decay"):
            if getattr(self, name) is not None and name not in _SHAPES[self.shape]:
                uses = ", ".join(_SHAPES[self.shape]) or "nothing else"
                raise WrongValue(
                    "the '{shape}' schedule would ignore '{name}' (it uses {uses})",
                    shape=self.shape,
                    name=name,
                    uses=uses,
                )
        return self


_MODES: dict[str, dict[str, Any]] = {  # each mode of forcing, and the settings it uses with their defaults
    "teacher": {},
    "own": {},
    "scheduled": {"decay": "linear", "start": 1.0, "end": 0.5, "length": 10.0},
}


class Forcing(Config):
    """Which token a model that writes reads at a step of training. A setting that the mode doesn't use is refused."""

    mode: Literal["teacher", "own", "scheduled"] = Field(
        default="teacher",
        description="teacher reads the true token, own the one that the model drew itself, and scheduled the true one "
        "with a probability that falls as training goes on. The first token of a row is always the true one.",
    )
    decay: Literal["linear", "inverse-sigmoid"] | None = Field(
        default=None, description="scheduled: how the probability of the true token falls (linear)."
    )
    start: float | None = Field(default=None, ge=0, le=1, description="scheduled: that probability at first (1).")
    end: float | None = Field(default=None, ge=0, le=1, description="scheduled: that probability in the end (0.5).")
    length: float | None = Field(
        default=None, gt=0, description="scheduled: epochs of the fall (10); weights are chosen from those after it."
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: Any) -> Any:
        if isinstance(values, str):
            values = {"mode": values}
        if not isinstance(values, dict):
            return values
        used = _MODES.get(values.get("mode", "teacher"), {})
        return {**used, **{k: v for k, v in values.items() if v is not None or k not in used}}

    @model_validator(mode="after")
    def _refuse_unused(self) -> Self:
        for name in ("decay", "start", "end", "length"):
            if getattr(self, name) is not None and name not in _MODES[self.mode]:
                raise WrongValue(
                    "forcing '{mode}' would ignore '{name}'; only 'scheduled' uses it", mode=self.mode, name=name
                )
        if self.start is not None and self.end is not None and self.start < self.end:
            raise WrongValue(
                "the probability of the true token falls: start = {start:g} must not be below end = {end:g}",
                start=self.start,
                end=self.end,
            )
        return self


class Monitor(Config):
    """What is watched while training."""

    gradients: bool = Field(
        default=False, description="After every epoch, how much of the gradient arrives from how many steps back."
    )


class Training(Config):
    """How a run is trained: until the validation score stops improving, or until the first limit is reached: epochs,
    steps, minutes, or until."""

    added: ClassVar[tuple[str, ...]] = (
        "until",
        "eval_every",
        "batch_tokens",
        "class_weights",
        "forcing",
        "softmax_samples",
        "label_smoothing",
    )

    epochs: int | None = Field(default=100, ge=1, description="Passes over the training rows, at most.")
    steps: int | None = Field(default=None, ge=1, description="Updates.")
    minutes: float | None = Field(default=None, gt=0, description="Training time; results then depend on the machine.")
    until: float | None = Field(default=None, description="Stop at the evaluation whose score is at least as good.")
    eval_every: int | None = Field(
        default=None, ge=1, description="Updates between two evaluations, where batches are drawn afresh (50)."
    )
    batch_size: int = Field(default=64, ge=1, description="Rows per update.")
    batch_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Tokens per update, about, instead of batch_size: many short rows or a few long ones.",
    )
    optimizer: Literal["lazy-adam", "adam", "adamw", "sgd", "lazy-sgd"] = Field(
        default="lazy-adam",
        description="lazy-adam and lazy-sgd update only the embedding rows in use; lazy-sgd has no momentum.",
    )
    lr: float = Field(default=0.003, gt=0, description="Learning rate; the highest one of a schedule.")
    weight_decay: float | None = Field(default=None, ge=0, description="adamw and sgd only.")
    momentum: float | None = Field(default=None, ge=0, lt=1, description="sgd only.")
    class_weights: Literal["balanced"] | None = Field(
        default=None,
        description="balanced: rows of rare classes count more, so that all classes count the same in all; none: every "
        "row counts the same.",
    )
    label_smoothing: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Where a text is written for another: the share of the probability that training spreads over all "
        "tokens.",
    )
    softmax_samples: int | None = Field(
        default=None,
        ge=1,
        description="Where a text is continued: words drawn per update, against which those that come next are scored, "
        "for large vocabularies; none: against all. Evaluation always scores all.",
    )
    schedule: Schedule = Field(default=Schedule(), description="How the learning rate changes.")
    forcing: Forcing = Field(
        default=Forcing(), description="Which token a model that writes reads: the true one, or its own."
    )
    clip: float | None = Field(default=5.0, gt=0, description="Largest gradient norm; none switches it off.")
    patience: int | None = Field(
        default=5,
        ge=1,
        description="Evaluations without a better validation score; then the rate of a plateau falls, and with any "
        "other schedule the run ends. Before a plateau, it doesn't count until the run beats the majority class, nor "
        "in its first 300 updates.",
    )
    monitor: Monitor = Field(default=Monitor(), description="What else is recorded after every epoch.")
    device: str = Field(default="auto", description="auto, cpu, cuda, mps …; resolved before the run.")
    threads: int = Field(default=1, ge=1, description="Of one run. Bits repeat only for the same number.")

    @field_validator("clip", "patience", "epochs", "class_weights", "softmax_samples", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return None if value == "none" else value  # TOML has no null

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.weight_decay is not None and self.optimizer not in ("adamw", "sgd"):
            raise WrongValue("'{optimizer}' would ignore 'weight_decay': use adamw or sgd", optimizer=self.optimizer)
        if self.momentum is not None and self.optimizer != "sgd":
            raise WrongValue("'{optimizer}' would ignore 'momentum': use sgd", optimizer=self.optimizer)
        if self.batch_tokens is not None and self.batch_size != type(self).model_fields["batch_size"].default:
            raise WrongValue(
                "'batch_tokens' would ignore 'batch_size' = {batch_size}: leave one of them out",
                batch_size=self.batch_size,
            )
        if self.label_smoothing and self.softmax_samples is not None:
            raise WrongValue(
                "label_smoothing is over all tokens, and softmax_samples scores some; leave one of them out"
            )
        if self.epochs is None and self.steps is None and self.minutes is None:
            raise WrongValue("one of epochs, steps and minutes must end the training")
        if self.schedule.shape in ("cosine", "one-cycle") and self.epochs is None and self.steps is None:
            raise WrongValue("a '{shape}' schedule needs epochs or steps to know its length", shape=self.schedule.shape)
        return self


def parse_model(values: dict[str, Any], path: str = "model") -> Architecture | Baseline:
    """An architecture or a baseline by its ``kind``."""
    registry = BASELINES if values.get("kind") in BASELINES.names() else ARCHITECTURES
    return registry.parse(values, path)


@dataclass(frozen=True)
class RunSpec:
    """All that a run depends on. Same spec, same bits."""

    task: Task
    model: Architecture | Baseline
    training: Training | None  # None for a baseline: there is nothing to choose
    seed: int

    def to_dict(self) -> dict[str, Any]:
        training = self.training.to_dict() if self.training else None
        return {
            "format": SPEC_FORMAT,
            "task": self.task.to_dict(),
            "model": self.model.to_dict(),
            "training": training,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        if values.get("format") != SPEC_FORMAT:
            found = values.get("format")
            raise ConfigError(
                "this spec has format {found!r}; this version of rnnlab reads format {spec_format}",
                found=found,
                spec_format=SPEC_FORMAT,
            )
        training = values["training"]
        return cls(
            TASKS.parse(values["task"], "task"),
            parse_model(values["model"]),
            parse(Training, training, "training") if training is not None else None,
            values["seed"],
        )

    @property
    def longest(self) -> int | None:
        """Steps that the model can read at a time, where longer rows are read in windows; None: any number."""
        strange = isinstance(self.model, Architecture) and self.model.knows_no_longer
        return self.task.steps if strange and self.task.streams else None

    @cached_property
    def digest(self) -> str:
        return digest_of(self.to_dict() | {"task": self.task.identity()})
