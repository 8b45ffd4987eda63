"""What a model card says in sentences: each is computed from a fact, and stands only where the fact is so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rnnlab.answers.calibration import Calibration
from rnnlab.core.numbers import counted, percent

NO_LETTERS = "no letters"  # as `describe_scripts` says it
NAMED = 8  # labels that a sentence names
WEAK = 0.5  # a class of which fewer rows are recognised is a weakness to speak of
UNKNOWN = 0.01  # a share of unknown tokens worth a sentence
IMBALANCE = 5  # rows of the largest class to the smallest
FEW_TESTS = 200  # test rows below which every figure is rough
NOTICEABLE = 0.001  # a change of the ECE
UNSURE = 0.05  # an ECE after calibration that is still worth a warning


@dataclass(frozen=True)
class Facts:
    accuracy_name: str
    question: str | None  # what it can be asked, for example
    one_label: bool
    is_baseline: bool
    seed: int
    data: Mapping[str, Any]  # of the card
    metrics: Mapping[str, Any]
    profile: Mapping[str, Any] | None


def intended_use_of(facts: Facts) -> str:
    data = facts.data
    rows = ", ".join(f"{count:,} for {_PURPOSES[part]}" for part, count in data["rows"].items())
    if not facts.one_label:
        example = f", such as {facts.question}" if facts.question else ""
        return f"Answers what the task '{data['name']}' asks{example}, and nothing else. Rows: {rows}."
    labels = _listed(data["labels"], "or")
    if "channels" in data:
        what = f"sequences of {counted(data['channels'], 'number')} a step"
    else:
        what = f"texts ({data['script']})" if _has_letters(data) else "sequences of symbols"
    return (
        f"Gives {what} like those of '{data['name']}' one of {counted(len(data['labels']), 'label')}: {labels}. "
        f"Rows of that data: {rows}."
    )


def limits_of(facts: Facts, seeds: int, calibration: Calibration | None) -> Iterator[str]:
    """The weightiest first."""
    yield from _of_other_data(facts)
    if facts.one_label:
        yield from _of_classes(facts)
    yield from _of_chance(facts, seeds)
    yield from _of_probabilities(calibration)
    if facts.profile is not None:
        yield from (f"The data: {warning}." for warning in facts.profile["warnings"])


def _of_other_data(facts: Facts) -> Iterator[str]:
    data = facts.data
    if facts.one_label:
        yield "Every input gets one of these labels, also one that has nothing to do with them."
    if _has_letters(data):
        yield (
            f"Texts unlike those of '{data['name']}' were not tested: another subject, style or script than "
            f"{data['script']} may be answered worse than the figures say."
        )
        share = (data.get("unknown") or {}).get("test", 0.0)
        if share >= UNKNOWN:
            yield f"{percent(share)} of the tokens of the test rows are unknown to the model."
    else:
        yield f"Sequences unlike those of '{data['name']}' were not tested."
    unit = "token" if "script" in data else "step"
    if data["max_length"] is not None:
        text = f"Only the first {counted(data['max_length'], unit)} of a row are read"
        if facts.profile is not None:
            text += f"; {facts.profile['cut_rows']:,} of the {sum(facts.profile['rows'].values()):,} rows were cut"
        yield text + "."
    else:
        longest = counted(data["length"]["longest"], unit)
        yield f"The longest test row has {longest}; longer ones were not tested."


def _of_classes(facts: Facts) -> Iterator[str]:
    labels, counts = facts.data["labels"], facts.data["test_labels"]
    recalls = recalls_of(facts.metrics)
    weak = [
        f"'{label}' ({percent(recall)})"
        for label, recall in zip(labels, recalls, strict=True)
        if recall is not None and recall < WEAK
    ]
    if weak:
        yield f"Of these labels it finds fewer than half of the rows: {_shortened(weak)}."
    missing = [f"'{label}'" for label, recall in zip(labels, recalls, strict=True) if recall is None]
    if missing:
        yield f"No test row has the label {_shortened(missing)}: how well it is found is unknown."
    largest, smallest = max(counts), min(count for count in counts if count)
    if largest > IMBALANCE * smallest:
        yield (
            f"Labels are out of balance: {largest:,} test rows of '{labels[counts.index(largest)]}', {smallest:,} of "
            f"'{labels[counts.index(smallest)]}'. Accuracy speaks mostly of the large ones."
        )


def _of_chance(facts: Facts, seeds: int) -> Iterator[str]:
    rows = facts.data["rows"]["test"]
    if rows < FEW_TESTS:
        yield f"Tested on {counted(rows, 'row')} only: the figures are rough."
    if facts.is_baseline:
        return
    if seeds == 1:
        yield (
            "One seed only: the interval is from the test rows alone, and leaves open how much another training run "
            "would differ."
        )
    else:
        own = facts.metrics["test"]["accuracy"]
        yield (
            f"The interval is of the mean over {seeds} training runs; this model is the one with seed {facts.seed}, "
            f"whose own {facts.accuracy_name} is {percent(own)}."
        )


def _of_probabilities(calibration: Calibration | None) -> Iterator[str]:
    if calibration is None:
        return
    if calibration.ece_after > UNSURE:
        yield (
            f"Probabilities are off by {percent(calibration.ece_after)} on average (ECE on test rows), also after "
            "calibration."
        )
    elif calibration.ece_after > calibration.ece_before + NOTICEABLE:
        yield (
            f"Calibration, fitted on {counted(calibration.rows, 'validation row')}, made the probabilities of the test "
            f"rows worse: ECE {percent(calibration.ece_before)} before, {percent(calibration.ece_after)} after."
        )


def recalls_of(metrics: Mapping[str, Any]) -> list[float | None]:
    """Of each label, the share of its test rows that are found; None without any."""
    confusion = metrics["test"]["confusion"]
    return [row[label] / sum(row) if sum(row) else None for label, row in enumerate(confusion)]


def _has_letters(data: Mapping[str, Any]) -> bool:
    return data.get("script", NO_LETTERS) != NO_LETTERS


_PURPOSES = {"train": "training", "valid": "validation", "test": "testing"}


def _listed(labels: Sequence[str], word: str) -> str:
    quoted = [f"'{label}'" for label in labels]
    if len(quoted) > NAMED:
        return _shortened(quoted)
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}" if len(quoted) > 1 else quoted[0]


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
