"""The search space that a model declares: what ``compare --tune`` may vary, one line per axis.

    space: ClassVar[Space] = {
        "model.hidden": Between(32, 256, log=True),                      # whole numbers, because both ends are
        "model.layers": Among(1, 2),
        "model.dropout": Between(0.0, 0.5, when={"model.layers": (2,)}),  # only where there is something to drop
        "training.lr": Between(3e-4, 1e-2, log=True),
    }

Paths are those of ``--set``. What a user sets is not searched. An axis of ``model.embedding`` is for tokens, one of
``model.pooling`` for tasks with one answer per sequence; elsewhere they are left out. Every combination must be a valid
setting: `rnnlab.testing.check_architecture` tries them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Needs = Mapping[str, tuple[Any, ...]]
"""Other settings by their paths, each with the values at which the axis has a meaning."""


@dataclass(frozen=True)
class Between:
    """From ``low`` to ``high``, both included; whole numbers if both are; ``log``: as many draws in every decade."""

    low: float
    high: float
    log: bool = False
    when: Needs = field(default_factory=dict)

    @property
    def ends(self) -> tuple[Any, ...]:
        return self.low, self.high


@dataclass(frozen=True, init=False)
class Among:
    """One of these values, each as likely as the others."""

    values: tuple[Any, ...]
    when: Needs

    def __init__(self, *values: Any, when: Needs | None = None):
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "when", when or {})

    @property
    def ends(self) -> tuple[Any, ...]:
        return self.values


Space = Mapping[str, Between | Among]
LEARNING_RATE: Space = {"training.lr": Between(5e-4, 1e-2, log=True)}
DROPOUT: Space = {"model.output_dropout": Between(0.0, 0.5), "model.embedding.dropout": Between(0.0, 0.5)}


def meaningful(space: Space, setting: Mapping[str, Any], value_at: Callable[[str], Any]) -> dict[str, Any]:
    """A setting without the axes that need another value elsewhere; ``value_at`` gives what the setting leaves as it
    is."""
    return {
        path: value
        for path, value in setting.items()
        if all(
            (setting[other] if other in setting else value_at(other)) in allowed
            for other, allowed in space[path].when.items()
        )
    }
