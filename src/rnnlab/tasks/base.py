"""What a task is: it loads data and says what is read and what is answered. It knows no encoder."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from pydantic import Field

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.prediction import Prediction
from rnnlab.core.config import Config
from rnnlab.core.errors import DataError
from rnnlab.core.registry import Registry
from rnnlab.core.words import note, say
from rnnlab.data import store
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences


class Task(Config):
    """Pure data, like an architecture. What depends on the shape of its answers is settled in `answers`."""

    answer: ClassVar[Answer]
    """The shape of its answers, which owns head, loss, scores and predictions."""
    fresh_batches: ClassVar[bool] = False
    """Whether every training batch is drawn afresh by `draw`; there are no epochs then."""
    training_defaults: ClassVar[dict[str, Any]] = {}
    """How it is trained unless the user says otherwise."""
    recurrent_pooling: ClassVar[str] = "max"
    """How recurrences pool unless the user says otherwise: ``last`` where the question is what they still know at the
    end, and where nothing is pooled, since there is an answer at every step."""
    regularised: ClassVar[bool] = True
    """Whether texts are read with dropout unless the user says otherwise; not where rows are made by a rule, as many as
    one likes."""
    causal: ClassVar[bool] = False
    """Whether answers at step t may depend on inputs up to t only; architectures that look ahead are then refused."""
    question: ClassVar[str | None] = None
    """What a trained model can be asked, for example; None when it can't be asked."""
    split_by: ClassVar[str | None] = None
    """The setting whose number draws the rows that are held out. Where splits vary, the seed of a run is that number;
    None where they can't."""

    @property
    def rounds(self) -> str:
        """What lies between two evaluations."""
        return "evaluation" if self.fresh_batches else "epoch"

    @property
    def cost_unit(self) -> Literal["seconds", "milliseconds"]:
        """In what the cost of training is told: seconds per epoch, or milliseconds per update without epochs."""
        return "milliseconds" if self.fresh_batches else "seconds"

    @classmethod
    def ignored(cls, training: Mapping[str, Any], path: str) -> list[str]:
        """Why settings of the training, as a file says them, would have no effect: fresh batches have no epochs, and
        rows that are passed over again and again are evaluated after each pass."""
        gaps = {"path": path, "kind": cls.kind, "names": ", ".join(one.kind for one in TASKS if one.fresh_batches)}
        found = []
        if not cls.fresh_batches and training.get("eval_every") is not None:
            found.append(
                say(
                    "{path}.eval_every: '{kind}' is evaluated after every epoch; only tasks that draw fresh batches "
                    "({names}) have this",
                    **gaps,
                )
            )
        if cls.fresh_batches and training.get("epochs") not in (None, "none"):
            found.append(
                say(
                    "{path}.epochs: '{kind}' draws fresh batches, so there are no epochs; say how many updates with "
                    "steps",
                    **gaps,
                )
            )
        if cls.fresh_batches and training.get("batch_tokens") is not None:
            found.append(say("{path}.batch_tokens: '{kind}' draws as many rows as batch_size says; set that", **gaps))
        return found

    fingerprint: str | None = Field(default=None, description="Identifies the encoded data; filled in.")

    def encoded(self) -> EncodedData:
        """The data, read or generated, or from the cache if neither source nor settings changed."""
        raise NotImplementedError

    def resolve(self) -> Self:
        """Read the data once, fill in everything that was automatic, and set the fingerprint."""
        return self.replace(fingerprint=store.fingerprint(self.encoded()))

    def load(self) -> EncodedData:
        """The encoded data: from the cache, or from the source again."""
        found = store.find(self.fingerprint) if self.fingerprint else None
        if found is not None:
            return found
        data = self.encoded()
        if self.fingerprint and store.fingerprint(data) != self.fingerprint:
            name = getattr(self, "data", self.kind)
            raise DataError("{name}: the data changed since the run was planned; start the command again", name=name)
        return data

    def given_split(self) -> str | None:
        """Why no seed can draw the rows that are held out, and what to do; None where one can."""
        if self.split_by is None:
            return note(
                "no setting of the task '{kind}' draws the rows that are held out; leave vary_split out", kind=self.kind
            )
        return None

    def with_split(self, seed: int) -> Self:
        """The task with the rows held out that this seed draws; of one without a `given_split`."""
        assert self.split_by is not None
        return self.replace(**{self.split_by: seed, "fingerprint": None})

    def resolve_splits(self, seeds: Iterable[int]) -> Iterator[Self]:
        """The task with the split of each seed, resolved; one is made when it is asked for."""
        return (self.with_split(seed).resolve() for seed in seeds)

    def texts(self, rows: Sequence[int]) -> list[str] | None:
        """These test rows as a person would read them, texts as they stand in the data; None where there is no text,
        or none that anybody would read."""
        return None

    def draw(self, seed: int, step: int, rows: int) -> Sequences:
        """Fresh training rows for one update of the run with this seed; of a task with ``fresh_batches``."""
        raise NotImplementedError

    def details(self, kept: Kept, data: Sequences) -> dict[str, Any]:
        """More than a number per score, for the record of the test rows."""
        return self.answer.details(kept, data.truth)

    def encode(self, inputs: Sequence[Any], preprocessor: Preprocessor) -> tuple[Sequences, np.ndarray]:
        """New rows as the model was trained to see them, and the share of each row's tokens that it knows."""
        return preprocessor.encode(inputs)

    def predictions(
        self, outputs: np.ndarray, data: Sequences, known: np.ndarray, preprocessor: Preprocessor
    ) -> Sequence[Prediction]:
        """What to tell of each row that `encode` made, given all outputs; of a task that has a ``question``."""
        return self.answer.predictions(outputs, data, known, preprocessor)

    def identity(self) -> dict[str, Any]:
        """What a run's digest depends on: the encoded data alone, not where or how the file was found."""
        return {"kind": self.kind, "fingerprint": self.fingerprint} if self.fingerprint else self.to_dict()


TASKS: Registry[Task] = Registry("task", ("rnnlab.tasks.classify", "rnnlab.tasks.synthetic", "rnnlab.tasks.addition"))
T = TypeVar("T", bound=Task)


def task(name: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: ``@task("tagging")`` gives a subclass of `Task` its name."""

    def add(cls: type[T]) -> type[T]:
        if not hasattr(cls, "answer"):
            raise TypeError(f"the task '{name}' says no shape of its answers; add: answer: ClassVar[Answer] = Label()")
        TASKS.register(name)(cls)
        return cls

    return add
