"""What a task is: it loads data and says what is read and what is answered. It knows no encoder."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from pydantic import Field, model_validator

from rnnlab.answers.base import Answer, Kept
from rnnlab.answers.prediction import Asked, Prediction
from rnnlab.core.config import Config
from rnnlab.core.errors import DataError, WrongValue, did_you_mean, known_are
from rnnlab.core.registry import Registry
from rnnlab.core.words import note, say
from rnnlab.data import store
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences


class Task(Config):
    """Pure data, like an architecture. What depends on the shape of its answers is settled in `answers`."""

    shape: ClassVar[Answer]
    """The shape of its answers, which owns head, loss, scores and predictions."""
    added: ClassVar[tuple[str, ...]] = ("metric",)
    fresh_batches: ClassVar[bool] = False
    """Whether every training batch is drawn afresh by `draw`; there are no epochs then."""
    default_models: ClassVar[tuple[str, ...]] = ()
    """What is compared unless the user says otherwise; none: the usual ones."""
    training_defaults: ClassVar[dict[str, Any]] = {}
    """How it is trained unless the user says otherwise."""
    text_defaults: ClassVar[dict[str, Any]] = {}
    """Settings of models that read texts, unless the user says otherwise, over those of the architecture."""
    model_defaults: ClassVar[dict[str, dict[str, Any]]] = {}
    """Settings of models by their kind, unless the user says otherwise."""
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

    metric: str | None = Field(
        default=None,
        description="The score by which epochs and trials are chosen and models are judged, for example macro-f1.",
    )

    @model_validator(mode="before")
    @classmethod
    def _as_options_say(cls, values: Any) -> Any:
        if isinstance(values, dict) and isinstance(values.get("metric"), str):
            return {**values, "metric": values["metric"].strip().lower().replace("_", "-")}
        return values

    @model_validator(mode="after")
    def _known_metric(self) -> Self:
        answer = self.answered()
        metrics = answer.metrics
        if self.metric is None:
            return self
        if self.metric not in metrics:
            raise WrongValue(
                "no score of '{kind}' is called '{metric}'{hint}",
                kind=self.kind,
                metric=self.metric,
                hint=did_you_mean(self.metric, metrics) or known_are(metrics),
            )
        if metrics[self.metric] is answer.judged is answer.chosen and self.settled:
            object.__setattr__(self, "metric", None)  # as if nobody had said it: the same runs
        return self

    @property
    def settled(self) -> bool:
        """Whether the settings alone tell the shape of the answers; else the data must be read first."""
        return True

    def answered(self) -> Answer:
        """The shape of the answers that these settings ask for, whatever they are judged by."""
        return self.shape

    @property
    def answer(self) -> Answer:
        """The same, judged by the ``metric``."""
        return self.answered().judged_by(self.metric)

    @property
    def streams(self) -> bool:
        """Whether the training rows are one long text, of which every update reads the next `steps`. Recurrences then
        carry their state from update to update, unless the user says otherwise."""
        return False

    @property
    def steps(self) -> int:
        """Of a task that `streams`: tokens per row of an update."""
        raise NotImplementedError

    @property
    def most_rows(self) -> int | None:
        """That are read in an epoch, other ones each time; None: all of them."""
        return None

    def epoch_tokens(self, train: Sequences) -> int:
        """Steps that are read in an epoch."""
        every = int(train.lengths.sum())
        return every if self.most_rows is None else round(every * min(1.0, self.most_rows / len(train)))

    @property
    def example(self) -> str | None:
        """The question as a person would type it; None when the model can't be asked."""
        return self.question

    def use(self, run: str | PathLike[str]) -> str | None:
        """The command that asks a run or a bundle; None when it can't be asked."""
        return None if self.example is None else f'rnnlab predict {run} "{self.example}"'

    @property
    def rounds(self) -> str:
        """What lies between two evaluations."""
        return "evaluation" if self.fresh_batches else "epoch"

    @property
    def cost_unit(self) -> Literal["seconds", "milliseconds"]:
        """In what the cost of training is told: seconds per epoch, or milliseconds per update without epochs."""
        return "milliseconds" if self.fresh_batches else "seconds"

    @classmethod
    def usual_training(cls, settings: Mapping[str, Any], kind: str | None) -> dict[str, Any]:
        """How a model of this kind is trained unless the user says otherwise; ``settings`` are the task's own, as a
        file says them."""
        return cls.training_defaults

    def usual_model(self, kind: str) -> dict[str, Any]:
        """Settings of a model of this kind unless the user says otherwise."""
        return self.model_defaults.get(kind, {})

    @classmethod
    def ignored(cls, training: Mapping[str, Any], path: str, settings: Mapping[str, Any]) -> list[str]:
        """Why settings of the training, as a file says them, would have no effect: fresh batches have no epochs, and
        rows that are passed over again and again are evaluated after each pass. ``settings`` are the task's own."""
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
        if training.get("class_weights") not in (None, "none") and (cls.fresh_batches or not cls.shape.balances):
            found.append(
                say("{path}.class_weights: '{kind}' has no rows of classes to be balanced; leave it out", **gaps)
            )
        if _mode_of(training.get("forcing")) != "teacher" and not (cls.shape.continues or cls.shape.writes):
            found.append(
                say(
                    "{path}.forcing: '{kind}' answers with something else than the next token, so that a model has no "
                    "tokens of its own to read; leave it out",
                    **gaps,
                )
            )
        watched = training.get("monitor")
        if isinstance(watched, Mapping) and watched.get("gradients") and cls.shape.writes:
            found.append(
                say(
                    "{path}.monitor.gradients: the task '{kind}' writes a text for another, of which no gradients "
                    "by step are recorded; leave it out",
                    **gaps,
                )
            )
        if training.get("label_smoothing") and not cls.shape.writes:
            found.append(
                say("{path}.label_smoothing: the task '{kind}' writes no text for another; leave it out", **gaps)
            )
        if training.get("softmax_samples") not in (None, "none") and not (cls.shape.continues or cls.shape.writes):
            found.append(
                say(
                    "{path}.softmax_samples: the task '{kind}' doesn't continue a text, so that there are no words to "
                    "sample; leave it out",
                    **gaps,
                )
            )
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

    def sentences(self, rows: Sequence[int]) -> list[list[str]] | None:
        """The tokens of these test rows as they stand in the data; None where steps aren't tokens of texts."""
        return None

    @property
    def augments(self) -> bool:
        """Whether training rows are changed whenever they are read, by `varied`."""
        return False

    def varied(self, rows: Sequences, preprocessor: Preprocessor, rng: np.random.Generator) -> Sequences:
        """Training rows of one update, each changed a little; of a task that `augments`."""
        raise NotImplementedError

    def draw(self, seed: int, step: int, rows: int) -> Sequences:
        """Fresh training rows for one update of the run with this seed; of a task with ``fresh_batches``."""
        raise NotImplementedError

    def details(self, kept: Kept, data: Sequences) -> dict[str, Any]:
        """More than a number per score, for the record of the test rows."""
        return self.answer.details(kept, data.truth)

    def encode(self, inputs: Sequence[Any], preprocessor: Preprocessor) -> tuple[Sequences, np.ndarray]:
        """New rows as the model was trained to see them, and the share of each row's tokens that it knows."""
        return preprocessor.encode(inputs)

    def predictions(self, outputs: np.ndarray, asked: Asked) -> Sequence[Prediction]:
        """What to tell of each row that `encode` made, given all outputs; of a task that has a ``question``."""
        return self.answer.predictions(outputs, asked)

    def identity(self) -> dict[str, Any]:
        """What a run's digest depends on: the encoded data and what chooses epochs, not where or how the file was
        found."""
        if not self.fingerprint:
            return self.to_dict()
        metric = {} if self.metric is None else {"metric": self.metric}
        return {"kind": self.kind, "fingerprint": self.fingerprint, **metric}


def _mode_of(forcing: Any) -> str:
    """Of `training.forcing` as a file says it, a word or a table."""
    mode = forcing.get("mode") if isinstance(forcing, Mapping) else forcing
    return "teacher" if mode is None else str(mode)


TASKS: Registry[Task] = Registry(
    "task",
    (
        "rnnlab.tasks.classify",
        "rnnlab.tasks.tag",
        "rnnlab.tasks.speech",
        "rnnlab.tasks.recognise",
        "rnnlab.tasks.language_model",
        "rnnlab.tasks.translate",
        "rnnlab.tasks.forecast",
        "rnnlab.tasks.synthetic",
        "rnnlab.tasks.addition",
    ),
)
T = TypeVar("T", bound=Task)


def task(name: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: ``@task("tagging")`` gives a subclass of `Task` its name."""

    def add(cls: type[T]) -> type[T]:
        if not hasattr(cls, "shape"):
            raise TypeError(f"the task '{name}' says no shape of its answers; add: shape: ClassVar[Answer] = Label()")
        TASKS.register(name)(cls)
        return cls

    return add
