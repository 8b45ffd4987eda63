"""All that a report tells, as plain data: the page, the figures and the notebook show these numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rnnlab.comparing.comparison import Comparison
from rnnlab.comparing.studies import Study

if TYPE_CHECKING:  # plain data need not wait for torch
    from rnnlab.comparing.forecasted import Forecasted
    from rnnlab.comparing.translated import Translated
    from rnnlab.inspecting.exposure import Exposure
    from rnnlab.inspecting.neighbours import Neighbours
    from rnnlab.inspecting.units import Units

Split = Literal["train", "valid"]
Counted = Literal["rows", "tokens", "entities", "words"]  # what has a class


@dataclass(frozen=True)
class CurvePoint:
    """One evaluation, all runs of an arm that got so far together."""

    epoch: int  # or the number of the evaluation, where there are no epochs
    step: float  # updates up to here, the mean of the runs
    seconds: float  # of training up to here, the mean of the runs
    runs: int
    mean: float
    least: float
    most: float


@dataclass(frozen=True)
class Curve:
    arm: str
    split: Split
    quantity: str  # "loss", "accuracy", "exact" …
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class Ending:
    """Where an arm was at its best on validation (the median of its runs), or where one of its runs diverged."""

    arm: str
    kind: Literal["best", "diverged"]
    epoch: int  # 0: before the first evaluation
    step: float
    seconds: float
    seed: int | None = None  # of a run that diverged
    reason: str | None = None


@dataclass(frozen=True)
class Learning:
    quantities: tuple[str, ...]  # that curves have, the one that validation chooses by first, then the loss
    lower_is_better: bool  # of the first quantity
    rounds: str  # "epoch" or "evaluation"
    curves: tuple[Curve, ...]
    endings: tuple[Ending, ...]


@dataclass(frozen=True)
class ClassScore:
    """How an arm does on one class, the mean of its runs. Of taggers, a tag or a type of entities."""

    arm: str
    label: str
    rows: int  # test rows of the class; of taggers, tokens or entities
    recall: float  # of its rows, how many were found
    precision: float | None  # of the rows said to be of it, how many are; None when none was

    @property
    def f1(self) -> float:
        """The harmonic mean of the two; 0 for a class that was never answered."""
        precision = self.precision or 0.0
        return 2 * precision * self.recall / (precision + self.recall) if precision + self.recall else 0.0


@dataclass(frozen=True)
class Confusion:
    arm: str
    runs: int
    counts: tuple[tuple[float, ...], ...]  # [true label][answer]: test rows, the mean of the runs; of entities as
    # `schemes.confuse_spans` counts them; of spoken words, the last line is what was added, the last column missed


@dataclass(frozen=True)
class Answered:
    """What an arm said of one row."""

    arm: str
    label: str  # what most of its runs said
    runs: int  # that said so
    of: int  # runs
    right: bool


@dataclass(frozen=True)
class TokenWeight:
    text: str
    weight: float  # what it adds to the output for the answer: integrated gradients
    known: bool  # to the model's vocabulary


@dataclass(frozen=True)
class Look:
    """What a run's answer to a row rests on."""

    label: str  # its answer
    probability: float
    tokens: tuple[TokenWeight, ...]
    cut: int  # tokens that are left out at the end


@dataclass(frozen=True)
class DisputedRow:
    """A test row on which arms disagree."""

    row: int  # its place among the test rows, from 0
    text: str | None  # as it stands in the data; None when that can't be found any more, and for numbers
    cut: bool  # whether the text goes on
    label: str  # the right one
    tag: str | None
    disagreement: float  # the chance that two arms, drawn at random with a run each, answer differently
    answers: tuple[Answered, ...]
    look: Look | None = None


@dataclass(frozen=True)
class TaggerScore:
    """How an arm does on the tokens that training had, on others, and on whole sentences; the mean of its runs."""

    arm: str
    seen: float | None  # share of right tags among tokens that stand in the training rows; None where there are none
    unseen: float | None  # … among all others
    whole: float  # share of sentences all of whose tags are right
    illegal: float | None  # steps that the scheme of entities doesn't know; None without entities


@dataclass(frozen=True)
class TaggedBy:
    arm: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class DisputedSentence:
    """A test row that arms tag differently."""

    row: int  # its place among the test rows, from 0
    tokens: tuple[str, ...]
    tags: tuple[str, ...]  # the right ones
    answers: tuple[TaggedBy, ...]  # of the best run of each arm by validation


@dataclass(frozen=True)
class Tagging:
    """What there is to tell of taggers alone."""

    sentences: int  # test rows
    tokens: int  # in them
    unseen: int  # of these, those that the training rows lack
    scheme: str | None  # how tags are parts of entities
    arms: tuple[TaggerScore, ...]
    disputed: tuple[DisputedSentence, ...] = ()  # those whose tags differ most first
    spaced: bool = True  # whether a space stands between tokens


@dataclass(frozen=True)
class HeardBy:
    """What an arm heard of a row."""

    arm: str
    words: tuple[str | None, ...]  # each true word as it was heard; None: missed
    added: tuple[tuple[str, ...], ...]  # what was heard besides: before the first true word, after it, after the second
    unknown: int  # words that were heard besides, but which ones wasn't recorded

    @property
    def heard(self) -> int:
        """Words that were heard besides."""
        return sum(map(len, self.added)) + self.unknown


@dataclass(frozen=True)
class HeardRow:
    row: int  # its place among the test rows, from 0
    tag: str | None  # the speaker, say
    words: tuple[str, ...]  # that were said
    answers: tuple[HeardBy, ...]  # of the best run of each arm by validation


@dataclass(frozen=True)
class HearingScore:
    """The mean of an arm's runs."""

    arm: str
    changed: float  # per word that was said
    missed: float
    added: float
    by_words: dict[int, float]  # the word error rate on rows of so many words


@dataclass(frozen=True)
class Hearing:
    """What there is to tell of words in their order alone."""

    rows: int  # test rows
    words: int  # said in them
    counts: dict[int, int]  # test rows by how many words were said
    arms: tuple[HearingScore, ...]
    worst: tuple[HeardRow, ...] = ()  # those that were heard worst first
    others: tuple[HeardRow, ...] = ()  # some of all others, from bad to good


@dataclass(frozen=True)
class Surprised:
    """How an arm reads a passage: the nats of each token, of its best run by validation."""

    arm: str
    nats: tuple[float, ...]


@dataclass(frozen=True)
class ContestedToken:
    """A test token that some arms expect, and others don't."""

    before: str
    token: str
    nats: tuple[float, ...]  # by arm, as `Continued.passage` has them


@dataclass(frozen=True)
class FromBeginning:
    """The nats per token of an arm by the number of tokens since the beginning of a row, the mean of its runs."""

    arm: str
    parts: tuple[tuple[str, float, int], ...]  # which tokens ("1", "2", "3–4" …), the mean, how many there are


@dataclass(frozen=True)
class WrittenText:
    """What the best run of an arm wrote by itself."""

    arm: str
    temperature: float
    pieces: tuple[tuple[str, bool], ...]  # and whether they stand in the training text
    share: float | None  # of the tokens, how many do; None where the training text isn't there any more
    longest: int | None  # tokens of the longest run that does


@dataclass(frozen=True)
class EpochText:
    epoch: int
    nats: float  # per token of the validation text
    text: str
    best: bool  # whether its weights were kept


@dataclass(frozen=True)
class WritingByEpoch:
    """What the best run of an arm wrote while it learnt, from the first epoch on."""

    arm: str
    texts: tuple[EpochText, ...]


@dataclass(frozen=True)
class NatsByContext:
    """How surprised the best run of an arm is by the same test tokens, by how many tokens it reads before each."""

    arm: str
    nats: dict[int, float]


@dataclass(frozen=True)
class Continued:
    """What there is to tell of language models alone."""

    tokens: tuple[str, ...]  # of a passage of the test text
    passage: tuple[Surprised, ...]
    contested: tuple[ContestedToken, ...]  # those on which arms differ most first
    from_beginning: tuple[FromBeginning, ...]  # none for a stream
    written: tuple[WrittenText, ...] = ()
    least: int = 0  # tokens from which on a run counts as copied
    spaced: bool = False  # whether a space stands between tokens
    by_epoch: tuple[WritingByEpoch, ...] = ()  # none of runs that recorded nothing
    by_context: tuple[NatsByContext, ...] = ()  # of a stream alone
    asked: int = 0  # tokens whose mean `by_context` is
    exposures: "tuple[tuple[str, Exposure], ...]" = ()  # by arm, of its best run; none where texts are rows
    units: "tuple[str, Units] | None" = None  # an arm, the best that is a recurrence, and what its units follow
    neighbours: "tuple[str, tuple[Neighbours, ...]] | None" = None  # the best arm that has vectors


@dataclass(frozen=True)
class Differences:
    """Where arms differ; empty for tasks that ask for other answers than labels."""

    labels: tuple[str, ...]
    classes: tuple[ClassScore, ...]
    confusions: tuple[Confusion, ...]
    rows: tuple[DisputedRow, ...]  # the most disputed first
    looked: str | None = None  # the arm whose looks are shown
    counted: Counted = "rows"  # what has a label
    tagging: Tagging | None = None
    hearing: Hearing | None = None
    continued: Continued | None = None
    translated: "Translated | None" = None
    forecasted: "Forecasted | None" = None


@dataclass(frozen=True)
class GateShare:
    layer: str
    gate: str  # as `inspecting.gates.Gate.name`
    closed: float  # share of its values near the lower limit
    open: float  # … near the upper limit
    mean: float


@dataclass(frozen=True)
class Internals:
    """Inside the best run (by validation) of an arm, on some validation rows."""

    arm: str
    run: str  # its digest
    rows: int
    longest: int  # steps
    norms: tuple[float | None, ...]  # mean ‖∂ highest output / ∂ x_t‖ by distance from the end, 0 first
    memory: int | None  # distance from which on less than 1 % of the largest arrives; None: further than was looked
    memory_at_first: int | None  # the same before training
    gates: tuple[GateShare, ...]
    dead_units: int
    epochs: tuple[dict[str, Any], ...]  # {epoch, lags, norms, rows, memory}, where the training recorded them


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seeds alone."""

    spec: dict[str, Any]  # spec.json of its runs, without the seed
    runs: tuple[tuple[int, str], ...]  # (seed, digest)


@dataclass(frozen=True)
class Terms:
    """On which terms an arm took part, and what identifies its runs."""

    arm: str
    baseline: bool
    parameters: dict[str, int]  # total, and of each part where that is known; empty when no run finished
    flops: int | None  # of a forward pass over a row of median length; None where there is no formula
    flops_length: int  # that median length
    settings_tried: int  # different settings of this kind of model on this data, among all runs of the folder
    stopping: dict[str, int]  # why runs ended: epochs, steps, minutes, until, patience, diverged, failed → how many
    epochs: tuple[int, int] | None  # fewest and most that a run trained
    seconds: float  # of training, all runs together
    settings: tuple[Setting, ...]  # of its runs: one, or one for each seed where the split varies
    advance_seconds: float | None = None  # to read one more step of a row alone; None where a model reads ahead


@dataclass(frozen=True)
class Provenance:
    command: str | None  # as it was typed, where that was recorded
    experiment: str | None  # a TOML file: 'rnnlab compare FILE' repeats the comparison, run for run
    environments: tuple[dict[str, Any], ...]  # the different ones among the runs
    task: dict[str, Any]
    seconds: float  # of training, all runs together
    signatures: tuple[tuple[str, str], ...] = ()  # of scores: what one has to say beside them; the different ones


@dataclass(frozen=True)
class Chapter:
    """One comparison with all there is to show of it."""

    name: str  # of the data
    comparison: Comparison
    learning: Learning
    differences: Differences
    internals: tuple[Internals, ...]
    terms: tuple[Terms, ...]
    provenance: Provenance
    remarks: tuple[str, ...] = ()  # what couldn't be shown, and why


@dataclass(frozen=True)
class SweepChapter:
    """A sweep file with its studies, done."""

    name: str
    studies: tuple[Study, ...]
    command: str | None
    settings: tuple[Setting, ...]
    environments: tuple[dict[str, Any], ...]
    seconds: float  # of training, all runs together


@dataclass(frozen=True)
class Report:
    chapters: tuple[Chapter, ...]
    sweeps: tuple[SweepChapter, ...]
    remarks: tuple[str, ...] = ()  # what was left out, and why
