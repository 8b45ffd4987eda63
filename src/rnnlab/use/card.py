"""The model card: what a trained model was made of, how well it does, and what it is not for."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from rnnlab.answers.calibration import Calibration
from rnnlab.answers.forecast import Forecast
from rnnlab.answers.tags import Tags
from rnnlab.answers.text import Text
from rnnlab.core.errors import RunError
from rnnlab.core.numbers import percent_text, score_text
from rnnlab.core.terms import metric_text
from rnnlab.core.words import Both, both, listed, plural, retold, same, say
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.profile import rows_text, script_text
from rnnlab.data.tokenizers import describe_scripts, scripts
from rnnlab.models.baselines import Baseline
from rnnlab.runs.directory import RunDirectory
from rnnlab.training.record import Recorded
from rnnlab.training.spec import RunSpec
from rnnlab.use.card_forecasts import facts_of_forecaster, limits_of_forecaster, use_of_forecaster

FORMAT = 1
ALPHA = 0.05
NO_LETTERS = "no letters"  # as `describe_scripts` says it
NAMED = 8  # labels that a sentence names
WEAK = 0.5  # a class of which fewer rows are recognised is a weakness to speak of
UNKNOWN = 0.01  # a share of unknown tokens worth a sentence
IMBALANCE = 5  # rows of the largest class to the smallest
FEW_TESTS = 200  # test rows below which every figure is rough
FEW_TOKENS = 20_000  # … of a text that is continued
NOTICEABLE = 0.001  # a change of the ECE
UNSURE = 0.05  # an ECE after calibration that is still worth a warning


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
    accuracy: Interval | None  # of the score that is judged, on the test rows
    calibration: Calibration | None  # None where answers aren't one label a sequence
    environment: dict[str, Any]
    intended_use: str = ""  # in the language of the command that made the card, as the limits are
    limits: tuple[str, ...] = ()

    @property
    def temperature(self) -> float:
        return self.calibration.temperature if self.calibration else 1.0

    def figure(self, value: float) -> Both:
        """A value of the score that is judged."""
        unit = self.model["unit"]
        return percent_text(value) if unit == "percent" else same(score_text(value, unit))

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
        if isinstance(card.model, dict):  # earlier versions judged by accuracy alone
            card.model.setdefault("score", "accuracy")
            card.model.setdefault("unit", "percent")
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
    answers, judged = Recorded.of(run, spec.task), spec.task.answer.judged
    accuracy, recorded = _recorded_arm(run) or (interval_of(answers.per_row(), answers.groups, judged.unit), profile)
    profile = recorded if recorded is not None and "rows" in recorded else None  # a generated task has no such figures
    valid, test = ((answers.kept(part), answers.truth(part)) for part in ("valid", "test"))
    card = Card(
        model={
            "kind": spec.model.kind,
            "parameters": result["parameters"]["total"],
            "run": run.path.resolve().name,
            "seed": spec.seed,
            "task": spec.task.kind,
            "measure": judged.title,
            "score": judged.name,
            "unit": judged.unit,
            "epochs": result.get("epochs"),
            "best_epoch": result.get("best_epoch"),
            **{name: result[name] for name in ("chosen", "signatures") if name in result},
        },
        data=_data(spec, preprocessor, answers, profile),
        metrics={part: result[part] for part in ("valid", "test")},
        accuracy=accuracy,
        calibration=answers.answer.calibration(valid, test),
        environment=result["environment"],
    )
    if "forecast" in card.data:
        limits = [*limits_of_forecaster(card.data, card.metrics["test"])]
    else:
        limits = [*_limits_of_data(card, profile), *_limits_of_classes(card), *_limits_of_tags(card)]
    judged = spec.task.answer.judged
    limits += _limits_of_figures(card, None if isinstance(spec.model, Baseline) else accuracy.seeds)
    if profile is not None:
        limits += [both("The data: {warning}.", warning=retold(warning)) for warning in profile["warnings"]]
    return replace(card, intended_use=_intended_use(card, spec.task.example), limits=tuple(map(str, limits)))


def interval_of(scores: np.ndarray, groups: np.ndarray, unit: str = "percent") -> Interval:
    """The 95 % interval of one run's mean, from its test rows: scores (N,), and which rows belong together (N,).

    What `judging.spread` gives for one seed, without scipy, for which every prediction would have to wait."""
    _, group = np.unique(groups, return_inverse=True)
    sizes = np.bincount(group).astype(np.float64)
    sums = np.bincount(group, scores)
    rows, count = len(scores), len(sizes)
    mean = float(sums.sum() / rows)
    deviation = sums - sizes * mean
    effective = rows**2 / float((sizes**2).sum())
    variance = count / max(count - 1, 1) / rows**2 * float((deviation**2).sum()) + 2 / (rows * effective)
    reach = _student_quantile(max(effective - 1, 1.0)) * math.sqrt(variance)
    return Interval(mean, max(0.0, mean - reach), mean + reach if unit == "number" else min(1.0, mean + reach), 1)


def _student_quantile(df: float) -> float:
    """Student's t that is exceeded, on either side, with a chance of ``ALPHA``; df from 1."""
    t = np.linspace(0, 13, 26_001)  # 12.7 for one degree of freedom
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    density = scale * np.exp(-(df + 1) / 2 * np.log1p(t * t / df))
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2) * t[1]])
    return float(np.interp(0.5 - ALPHA / 2, below, t))


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _recorded_arm(run: RunDirectory) -> tuple[Interval, dict[str, Any]] | None:
    """The interval and the profile of the comparison with the most seeds that holds this run. What can't be read isn't
    counted: the card doesn't depend on it."""
    found: list[tuple[Interval, dict[str, Any]]] = []
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
                    found.append((Interval(**score, seeds=len(finished)), saved["profile"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return max(reversed(found), key=lambda arm: arm[0].seeds, default=None)


def _data(
    spec: RunSpec, preprocessor: Preprocessor, answers: Recorded, profile: Mapping[str, Any] | None
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
    if preprocessor.text_columns:
        found["text_columns"] = list(preprocessor.text_columns)
    if isinstance(answers.answer, Forecast) and preprocessor.observed is not None:
        found["forecast"] = facts_of_forecaster(
            preprocessor.observed, answers.answer, preprocessor.labels, answers.groups
        )
    elif preprocessor.features is not None:
        found["channels"] = preprocessor.features
    if isinstance(answers.answer, Tags) and preprocessor.spelling is not None:
        found["scheme"] = answers.answer.scheme  # None: plain tags
    if preprocessor.writes is not None and preprocessor.writes.vocabulary is not None:
        written = preprocessor.writes.vocabulary
        found["written"] = describe_scripts(scripts(written.words[len(written.special) :]))  # the script of its texts
    if isinstance(answers.answer, Text):
        found["tokens"] = int(answers.counts["tokens"].sum())  # of the test that are scored
        found["streams"] = spec.task.streams
    if answers.answer.classes(answers.kept("test")) is not None:
        classes = len(preprocessor.labels)
        found["test_labels"] = np.bincount(answers.truth("test").values, minlength=classes).tolist()
    if preprocessor.thresholds:
        found["test_labels"] = answers.truth("test").values.sum(0, dtype=np.int64).tolist()
        found["thresholds"] = list(preprocessor.thresholds)
    return found


# --- sentences: each is computed from a fact, and stands only where the fact is so ---------------------------------


def _intended_use(card: Card, question: str | None) -> str:
    """``question`` is what the model can be asked, for example."""
    data = card.data
    purposes = {
        "train": both("{count:,} for training"),
        "valid": both("{count:,} for validation"),
        "test": both("{count:,} for testing"),
    }
    rows = listed([purposes[part].format(count=count) for part, count in data["rows"].items()], "comma")
    if "forecast" in data:
        return str(use_of_forecaster(data, rows))
    if "scheme" in data:
        return str(_use_of_tags(card, rows))
    if "tokens" in data:
        return say(
            "Continues texts ({script}) like those of '{name}', token by token. Tested on {count:,} tokens.",
            script=script_text(data["script"]),
            name=data["name"],
            count=data["tokens"],
        )
    if "written" in data:
        return say(
            "Writes a text ({written}) for a text ({script}), as the pairs of '{name}' show. Tested on {count:,} "
            "texts.",
            written=script_text(data["written"]),
            script=script_text(data["script"]),
            name=data["name"],
            count=data["rows"]["test"],
        )
    if "test_labels" not in data:
        return say(
            "Answers what the task '{name}' asks{example}, and nothing else. Rows: {rows}.",
            name=data["name"],
            example=both(", such as {question}", question=question) if question else "",
            rows=rows,
        )
    if "channels" in data:
        what = plural("sequences of {count:,} number a step", "sequences of {count:,} numbers a step", data["channels"])
    elif _has_letters(data):
        what = both("texts ({script})", script=script_text(data["script"]))
    else:
        what = both("sequences of symbols")
    if "text_columns" in data:
        what = both("{what} of the columns {names}", what=what, names=", ".join(data["text_columns"]))
    if "thresholds" in data:
        return say(
            "Gives {what} like those of '{name}' any of {count}, or none: {labels}. Rows of that data: {rows}.",
            what=what,
            name=data["name"],
            count=plural("{count:,} label", "{count:,} labels", len(data["labels"])),
            labels=_named([_quoted(label) for label in data["labels"]]),
            rows=rows,
        )
    return say(
        "Gives {what} like those of '{name}' one of {count}: {labels}. Rows of that data: {rows}.",
        what=what,
        name=data["name"],
        count=plural("{count:,} label", "{count:,} labels", len(data["labels"])),
        labels=_named([_quoted(label) for label in data["labels"]], "or"),
        rows=rows,
    )


def _use_of_tags(card: Card, rows: Both) -> Both:
    data, types = card.data, list(by_type(card.metrics))
    gaps = {"script": script_text(data["script"]), "name": data["name"], "rows": rows}
    if data["scheme"] is not None:
        return both(
            "Finds entities of {count} in texts ({script}) like those of '{name}': {types}. Tags are of the scheme "
            "{scheme}. Sentences of that data: {rows}.",
            count=plural("{count:,} type", "{count:,} types", len(types)),
            types=_named([_quoted(kind) for kind in types]),
            scheme=data["scheme"],
            **gaps,
        )
    return both(
        "Gives every token of texts ({script}) like those of '{name}' one of {count}: {tags}. Sentences of that data: "
        "{rows}.",
        count=plural("{count:,} tag", "{count:,} tags", len(data["labels"])),
        tags=_named([_quoted(tag) for tag in data["labels"]]),
        **gaps,
    )


def _limits_of_data(card: Card, profile: Mapping[str, Any] | None) -> Iterator[Both]:
    """Other data than those of the training."""
    data = card.data
    if "thresholds" in data:
        yield both(
            "Each label is decided by itself: it is given from its threshold on, which the validation rows chose."
        )
    elif "test_labels" in data:
        yield both("Every input gets one of these labels, also one that has nothing to do with them.")
    if _has_letters(data):
        yield both(
            "Texts unlike those of '{name}' were not tested: another subject, style or script than {script} may be "
            "answered worse than the figures say.",
            name=data["name"],
            script=script_text(data["script"]),
        )
        share = (data.get("unknown") or {}).get("test", 0.0)
        if share >= UNKNOWN:
            yield both("{share} of the tokens of the test rows are unknown to the model.", share=percent_text(share))
    else:
        yield both("Sequences unlike those of '{name}' were not tested.", name=data["name"])
    if data.get("streams"):  # its rows are blocks of one text
        return
    longest = data["max_length"] or data["length"]["longest"]
    if "script" in data:
        steps = plural("{count:,} token", "{count:,} tokens", longest)
    else:
        steps = plural("{count:,} step", "{count:,} steps", longest)
    if data["max_length"] is None:
        yield both("The longest test row has {steps}; longer ones were not tested.", steps=steps)
    elif profile is None:
        yield both("Only the first {steps} of a row are read.", steps=steps)
    else:
        yield both(
            "Only the first {steps} of a row are read; {cut:,} of the {rows:,} rows were cut.",
            steps=steps,
            cut=profile["cut_rows"],
            rows=sum(profile["rows"].values()),
        )


def _limits_of_tags(card: Card) -> Iterator[Both]:
    """Types of entities that are hard to find, and words that training never saw."""
    if "scheme" not in card.data:
        return
    found = by_type(card.metrics)
    weak = [
        both("{label} ({recall})", label=_quoted(kind), recall=percent_text(one.recall))
        for kind, one in found.items()
        if one.recall is not None and one.recall < WEAK
    ]
    if weak:
        yield both("Of these types it finds fewer than half of the entities: {types}.", types=_named(weak))
    missing = [_quoted(kind) for kind, one in found.items() if not one.rows]
    if missing:
        yield both("No test sentence has an entity of the type {types}: how well it is found is unknown.",
                   types=_named(missing))  # fmt: skip
    test = card.metrics["test"]
    unseen, every = test.get("unknown_words"), test.get("accuracy")
    if unseen is not None and every is not None and unseen < every - NOTICEABLE:
        yield both(
            "Of tokens that the training rows lack, {unseen} get the right tag; of all, {every}.",
            unseen=percent_text(unseen),
            every=percent_text(every),
        )


def _limits_of_classes(card: Card) -> Iterator[Both]:
    if "test_labels" not in card.data:
        return
    labels, counts = card.data["labels"], card.data["test_labels"]
    recalls = [(label, found.recall) for label, found in zip(labels, by_label(card.metrics), strict=True)]
    weak = [
        both("{label} ({recall})", label=_quoted(label), recall=percent_text(recall))
        for label, recall in recalls
        if recall is not None and recall < WEAK
    ]
    if weak:
        yield both("Of these labels it finds fewer than half of the rows: {labels}.", labels=_named(weak))
    missing = [_quoted(label) for label, recall in recalls if recall is None]
    if missing:
        yield both("No test row has the label {labels}: how well it is found is unknown.", labels=_named(missing))
    largest, smallest = max(counts), min(count for count in counts if count)
    if largest > IMBALANCE * smallest and card.model["score"] in ("accuracy", "micro_f1"):
        figures = {
            "most": largest,
            "large": labels[counts.index(largest)],
            "least": smallest,
            "small": labels[counts.index(smallest)],
        }
        if "thresholds" in card.data:
            yield both(
                "Labels are out of balance: {most:,} test rows of '{large}', {least:,} of '{small}'. Micro-F1 speaks "
                "mostly of the large ones.",
                **figures,
            )
        else:
            yield both(
                "Labels are out of balance: {most:,} test rows of '{large}', {least:,} of '{small}'. Accuracy speaks "
                "mostly of the large ones.",
                **figures,
            )


def _limits_of_figures(card: Card, seeds: int | None) -> Iterator[Both]:
    """``seeds`` that the accuracy is over; None for a baseline, which has none."""
    rows, calibration = card.data["rows"]["test"], card.calibration
    if "tokens" in card.data:
        if card.data["tokens"] < FEW_TOKENS:
            yield both("Tested on {count:,} tokens only: the figures are rough.", count=card.data["tokens"])
    elif rows < FEW_TESTS and "forecast" not in card.data:
        yield both("Tested on {rows} only: the figures are rough.", rows=rows_text(rows))
    if seeds == 1:
        yield both(
            "One seed only: the interval is from the test rows alone, and leaves open how much another training run "
            "would differ."
        )
    elif seeds is not None:
        yield both(
            "The interval is of the mean over {seeds} training runs; this model is the one with seed {seed}, whose own "
            "{measure} is {own}.",
            seeds=seeds,
            seed=card.model["seed"],
            measure=metric_text(card.model["measure"]),
            own=card.figure(card.metrics["test"][card.model["score"]]),
        )
    if calibration is None:
        return
    if calibration.ece_after > UNSURE:
        yield both(
            "Probabilities are off by {ece} on average (ECE on test rows), also after calibration.",
            ece=percent_text(calibration.ece_after),
        )
    elif calibration.ece_after > calibration.ece_before + NOTICEABLE:
        yield both(
            "Calibration, fitted on {rows}, made the probabilities of the test rows worse: ECE {before} before, "
            "{after} after.",
            rows=plural("{count:,} validation row", "{count:,} validation rows", calibration.rows),
            before=percent_text(calibration.ece_before),
            after=percent_text(calibration.ece_after),
        )


@dataclass(frozen=True)
class OfLabel:
    """What the test rows say of one label; None where there are no rows to say it."""

    rows: int
    recall: float | None  # the share of its rows that is found
    precision: float | None  # the share of the answers with this label that is right
    f1: float | None  # of both
    loss: float | None  # of its rows, on average, where that is judged


def by_label(metrics: Mapping[str, Any]) -> list[OfLabel]:
    """Of the test rows, label by label; none where answers are no labels."""
    test = metrics["test"]
    counts = test.get("by_label")
    if counts is None and "confusion" in test:
        cells = np.array(test["confusion"])
        counts = {"right": np.diag(cells).tolist(), "rows": cells.sum(1).tolist(), "answered": cells.sum(0).tolist()}
    if counts is None:
        return []
    losses = test.get("loss_by_class") or [None] * len(counts["rows"])
    return [
        OfLabel(
            rows,
            right / rows if rows else None,
            right / answered if answered else None,
            2 * right / (rows + answered) if rows + answered else None,
            loss if rows else None,
        )
        for right, rows, answered, loss in zip(counts["right"], counts["rows"], counts["answered"], losses, strict=True)
    ]


def by_type(metrics: Mapping[str, Any]) -> dict[str, OfLabel]:
    """Of the entities of the test sentences, type by type; ``rows`` are entities."""
    return {
        kind: OfLabel(
            one["true"],
            one["right"] / one["true"] if one["true"] else None,
            one["right"] / one["answered"] if one["answered"] else None,
            2 * one["right"] / (one["true"] + one["answered"]) if one["true"] + one["answered"] else None,
            None,
        )
        for kind, one in metrics["test"].get("types", {}).items()
    }


def _has_letters(data: Mapping[str, Any]) -> bool:
    return data.get("script", NO_LETTERS) != NO_LETTERS


def _quoted(label: str) -> Both:
    return both("'{label}'", label=label)


def _named(labels: Sequence[Both], last: Literal["or", "comma"] = "comma") -> Both:
    if len(labels) <= NAMED:
        return listed(labels, last)
    return both("{names} and {more:,} more", names=listed(labels[:NAMED], "comma"), more=len(labels) - NAMED)
