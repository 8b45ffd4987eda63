"""The model card: what a trained model was made of, how well it does, and what it is not for."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from rnnlab.answers.calibration import Calibration
from rnnlab.core.errors import RunError
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.tokenizers import describe_scripts, scripts
from rnnlab.models.baselines import Baseline
from rnnlab.runs.directory import RunDirectory
from rnnlab.training.record import Recorded
from rnnlab.training.spec import RunSpec
from rnnlab.use.card_wording import Facts, intended_use_of, limits_of

FORMAT = 1
ALPHA = 0.05


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float
    seeds: int  # 1: the interval is from the test rows alone


@dataclass(frozen=True)
class Card:
    model: dict[str, Any]  # kind, parameters …
    data: dict[str, Any]  # name, fingerprint, rows by split, languages …
    metrics: dict[str, Any]  # valid and test scores of this run
    accuracy: Interval | None  # on the test rows
    calibration: Calibration | None  # None where answers aren't one label a sequence
    environment: dict[str, Any]
    intended_use: str
    limits: tuple[str, ...]

    @property
    def temperature(self) -> float:
        return self.calibration.temperature if self.calibration else 1.0

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        values = json.loads(text, parse_constant=_no_number)
        if values.pop("format", None) != FORMAT:
            raise RunError("the model card has another format; upgrade rnnlab")
        accuracy, calibration = values["accuracy"], values["calibration"]
        values["accuracy"] = accuracy and Interval(**accuracy)
        values["calibration"] = calibration and Calibration(**calibration)
        card = cls(**{**values, "limits": tuple(values["limits"])})
        if not 0 < card.temperature < math.inf:
            raise ValueError(f"an impossible temperature, {card.temperature}")
        if not all(isinstance(text, str) for text in (card.intended_use, *card.limits)):
            raise TypeError("its sentences must be texts")
        if not all(isinstance(part, dict) for part in (card.model, card.data, card.metrics, card.environment)):
            raise TypeError("its parts must be objects")
        return card


def card_of(
    run: RunDirectory, spec: RunSpec, preprocessor: Preprocessor, profile: Mapping[str, Any] | None = None
) -> Card:
    """From the files of a finished run. ``profile`` is of its data, where a caller has it; else it is that of a
    comparison in the same folder that holds the run, if there is one."""
    result = run.result()
    if result is None or result["status"] != "finished":
        raise RunError("{path}: not a finished run; there is nothing to say of its model", path=run.path)
    answers = Recorded.of(run, spec.task)
    recorded = _recorded_arm(run)
    if recorded is not None:
        profile = recorded.profile
    if profile is not None and "rows" not in profile:  # that of a generated task, which has no such figures
        profile = None
    one_label = answers.answer.classes(answers.kept("test")) is not None
    valid, test = ((answers.kept(part), answers.truth(part)) for part in ("valid", "test"))
    calibration = answers.answer.calibration(valid, test)
    accuracy = recorded.accuracy if recorded else interval_of(answers.per_row(), answers.groups)
    data = _data(spec, preprocessor, answers, profile, one_label)
    metrics = {part: result[part] for part in ("valid", "test")}
    facts = Facts(
        accuracy_name=spec.task.answer.judged.title,
        question=spec.task.question,
        one_label=one_label,
        is_baseline=isinstance(spec.model, Baseline),
        seed=spec.seed,
        data=data,
        metrics=metrics,
        profile=profile,
    )
    seeds = accuracy.seeds if accuracy else 1
    return Card(
        model={
            "kind": spec.model.kind,
            "parameters": result["parameters"]["total"],
            "run": run.path.resolve().name,
            "seed": spec.seed,
            "task": spec.task.kind,
            "measure": spec.task.answer.judged.title,
            "epochs": result.get("epochs"),
            "best_epoch": result.get("best_epoch"),
            **({"chosen": result["chosen"]} if "chosen" in result else {}),
        },
        data=data,
        metrics=metrics,
        accuracy=accuracy,
        calibration=calibration,
        environment=result["environment"],
        intended_use=intended_use_of(facts),
        limits=tuple(limits_of(facts, seeds, calibration)),
    )


def interval_of(right: np.ndarray, groups: np.ndarray) -> Interval:
    """The 95 % interval of one run's mean, from its test rows: right answers (N,), and which rows belong together (N,).

    What `judging.spread` gives for one seed, without scipy, for which every prediction would have to wait."""
    _, group = np.unique(groups, return_inverse=True)
    sizes = np.bincount(group).astype(np.float64)
    sums = np.bincount(group, right)
    rows, count = len(right), len(sizes)
    mean = float(sums.sum() / rows)
    deviation = sums - sizes * mean
    effective = rows**2 / float((sizes**2).sum())
    variance = count / max(count - 1, 1) / rows**2 * float((deviation**2).sum()) + 2 / (rows * effective)
    reach = _student_quantile(max(effective - 1, 1.0)) * math.sqrt(variance)
    return Interval(mean, max(0.0, mean - reach), min(1.0, mean + reach), 1)


def _student_quantile(df: float) -> float:
    """Student's t that is exceeded, on either side, with a chance of ``ALPHA``; df from 1."""
    t = np.linspace(0, 13, 26_001)  # 12.7 for one degree of freedom
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    density = scale * np.exp(-(df + 1) / 2 * np.log1p(t * t / df))
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2) * t[1]])
    return float(np.interp(0.5 - ALPHA / 2, below, t))


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


@dataclass(frozen=True)
class _Recorded:
    accuracy: Interval
    profile: dict[str, Any]


def _recorded_arm(run: RunDirectory) -> _Recorded | None:
    """Of the comparison with the most seeds that holds this run. What can't be read isn't counted: the card doesn't
    depend on it."""
    found = sorted(_recorded_arms(run), key=lambda arm: arm.accuracy.seeds)
    return found[-1] if found else None


def _recorded_arms(run: RunDirectory) -> Iterator[_Recorded]:
    folder, name = run.path.resolve().parent, run.path.resolve().name
    for file in sorted(folder.glob("comparisons/*/comparison.json")):
        try:
            content = file.read_bytes()
            if name.encode() not in content:  # hundreds of comparisons are searched in no time
                continue
            saved = json.loads(content)
            for arm in saved["arms"] + saved["baselines"]:
                finished = [one["digest"] for one in arm["runs"] if one["status"] == "finished"]
                score = arm.get("score") or arm.get("accuracy")  # as it was called up to format 2
                if name in finished and score:
                    yield _Recorded(Interval(**score, seeds=len(finished)), saved["profile"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _data(
    spec: RunSpec, preprocessor: Preprocessor, answers: Recorded, profile: Mapping[str, Any] | None, one_label: bool
) -> dict[str, Any]:
    source, lengths = getattr(spec.task, "data", None), answers.lengths
    rows = {"valid": len(answers.truth("valid")), "test": len(answers)}
    if spec.task.answer.reads == "states":
        del rows["valid"]  # earlier versions kept targets of steps, and not of how many rows
    found: dict[str, Any] = {
        "name": Path(source).name if source else spec.task.kind,
        "fingerprint": spec.task.fingerprint,
        "rows": profile["rows"] if profile else rows,
        "labels": list(preprocessor.labels),
        "length": {"median": float(np.median(lengths)), "longest": int(lengths.max())},  # of test rows, after cutting
        "max_length": preprocessor.max_length,
    }
    if preprocessor.vocabulary is not None and preprocessor.tokenizer is not None:
        words = preprocessor.vocabulary.words[2:]
        found |= {
            "script": (profile or {}).get("script") or describe_scripts(scripts(words)),
            "tokenizer": preprocessor.tokenizer.name,
            "vocabulary": len(preprocessor.vocabulary),
        }
        if profile:
            found["unknown"] = profile["unknown"]
    if preprocessor.features is not None:
        found["channels"] = preprocessor.features
    if one_label:
        classes = len(preprocessor.labels)
        found["test_labels"] = np.bincount(answers.truth("test").values, minlength=classes).tolist()
    return found
