"""Arms × seeds and the baselines, through an executor: finished runs are found again, the others computed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from rnnlab.comparing.comparison import SEEN_SHARE
from rnnlab.comparing.records import Record
from rnnlab.core.errors import Interrupted
from rnnlab.data.encoded import EncodedData
from rnnlab.execute.executors import Executor
from rnnlab.models.baselines import BASELINES, LookedUp, Majority
from rnnlab.models.nbsvm import NbSvm
from rnnlab.runs.directory import Failed, Outcome, RunDirectory, Stopped
from rnnlab.sweeps.experiment import Experiment
from rnnlab.training.spec import RunSpec


class Display(Protocol):
    """Something that shows how the runs are coming on."""

    def begin(self, runs: Sequence[tuple[str, RunSpec]]) -> None: ...
    def event(self, number: int, event: dict[str, Any]) -> None: ...
    def outcome(self, number: int, outcome: Outcome, again: bool) -> None: ...
    def end(self) -> None: ...


class Silent:
    """Shows nothing."""

    def begin(self, runs: Sequence[tuple[str, RunSpec]]) -> None: ...
    def event(self, number: int, event: dict[str, Any]) -> None: ...
    def outcome(self, number: int, outcome: Outcome, again: bool) -> None: ...
    def end(self) -> None: ...


def baseline_specs(experiment: Experiment, data: EncodedData) -> list[tuple[str, RunSpec]]:
    """Every baseline that fits this kind of input and this shape of answer. They have no luck of their own, so each
    split needs one run of them. `lookup` runs where a share of the test rows stands in train; where every
    model looks rows up, so do they, but for the majority class, which is there to be beaten."""
    kinds = {"any", "tokens" if data.vocabulary else "features", "any" if data.sound is None else "sound"}
    seen = data.profile.get("overlap", {}).get("test", 0) / len(data.test)
    beside = experiment.task.answer.baselines
    by_characters = data.tokenizer is not None and data.tokenizer.name == "chars"
    everywhere = bool(experiment.arms) and all(arm.model.lookup for arm in experiment.arms.values())
    baselines = []
    for cls in BASELINES:
        if cls.kind not in beside or cls.inputs not in kinds or (cls is LookedUp and seen < SEEN_SHARE):
            continue
        if cls.extra and cls.kind not in experiment.baselines:
            continue  # `sweeps.plan` decides, and says so
        settings = dict(cls.model_defaults)
        if cls is NbSvm and by_characters:
            settings["ngrams"] = 4  # characters say less than words, one by one
        if everywhere and cls is not Majority:
            settings["lookup"] = True
        asked = experiment.baselines.get(cls.kind)
        if asked is not None:  # by the user, or by tuning
            settings |= {name: getattr(asked, name) for name in asked.model_fields_set}
        baselines.append(cls(**settings))
    seeds = experiment.seeds if experiment.vary_split else (0,)
    return [(one.kind, RunSpec(experiment.task_of(seed), one, None, seed)) for seed in seeds for one in baselines]


def run_all(
    runs: Sequence[tuple[str, RunSpec]],
    folder: Path,
    executor: Executor,
    display: Display,
    may_begin: Callable[[str, RunSpec], bool] = lambda label, spec: True,
    too_late: Callable[[], bool] = lambda: False,
    seconds: Mapping[str, float] | None = None,
) -> list[Record]:
    """Do what isn't done yet. Interrupted: what is finished stays, and the same call goes on from there. Runs that
    ``may_begin`` refuses, asked when there is a place for one, have no record. Once it is ``too_late``, those under way
    are stopped. ``seconds`` are what a run of each arm is likely to take: of a seed, the longest run begins first, so
    that it isn't left alone at the end. The records keep the order of ``runs``."""
    outcomes: dict[int, Outcome] = {}
    display.begin(runs)
    for number, (_, spec) in enumerate(runs):
        known = RunDirectory(folder / spec.digest).outcome()
        if known is not None:
            outcomes[number] = known
            display.outcome(number, known, again=True)
    todo = [number for number in range(len(runs)) if number not in outcomes]
    if seconds:
        seeds = list(dict.fromkeys(spec.seed for _, spec in runs))

        def turn(number: int) -> tuple[bool, int, float]:
            """Baselines first, then seed by seed, the longest run of each first."""
            label, spec = runs[number]
            return spec.training is not None, seeds.index(spec.seed), -seconds.get(label, 0.0)

        todo.sort(key=turn)
    begun: list[int] = []

    def specs() -> Iterator[RunSpec]:
        for number in todo:
            if may_begin(*runs[number]):
                begun.append(number)
                yield runs[number][1]

    def sink(position: int, event: dict[str, Any]) -> bool:
        display.event(begun[position], event)
        return too_late()

    try:
        for position, outcome in executor.map(specs(), folder, sink):
            outcomes[begun[position]] = outcome
            display.outcome(begun[position], outcome, again=False)
    except KeyboardInterrupt:
        raise Interrupted(
            "stopped: {done} of {count} runs are finished and kept in {folder}; the same command goes "
            "on where this one stopped",
            done=sum(not isinstance(outcome, Stopped | Failed) for outcome in outcomes.values()),
            count=len(runs),
            folder=folder,
        ) from None
    finally:
        display.end()
    return [
        Record(label, spec, outcomes[n], folder / spec.digest) for n, (label, spec) in enumerate(runs) if n in outcomes
    ]
