"""A chapter made by hand: three arms and two baselines on 300 test rows of three classes. One run diverged, which
counts as answering the majority class. All scores follow from the answers below, so that they agree with each other."""

from typing import Any

import numpy as np

from rnnlab.comparing.chapters import (
    Answered,
    Chapter,
    ClassScore,
    Confusion,
    Curve,
    CurvePoint,
    Differences,
    DisputedRow,
    Ending,
    GateShare,
    Internals,
    Learning,
    Look,
    Provenance,
    Setting,
    Split,
    Terms,
    TokenWeight,
)
from rnnlab.comparing.comparison import ArmSummary, Cell, Comparison, Measure, RunSummary
from rnnlab.judging.findings import ArmScores, CostUnit, Verdict
from rnnlab.judging.verdict import judge

ROWS = 300
LABELS = ("negative", "neutral", "positive")
TAGS = ("plain", "negation", "contrast")
LENGTHS = ("3–7", "8–12", "13–20", "21–48")
TARGETS = np.arange(ROWS) % 3
TAG_OF = np.arange(ROWS) // 3 % 3
LENGTH_OF = np.arange(ROWS) // 75
WRONG = {  # arm → per finished seed, every how many rows one is wrong, from which one on
    "lstm": {0: (7, 2), 1: (8, 3)},  # seed 2 diverged
    "gru (bidirectional)": {0: (6, 1), 1: (7, 4), 2: (9, 0)},
    "textcnn": {0: (4, 0), 1: (4, 1), 2: (5, 2)},
    "majority": {0: (0, 0)},
    "n-grams": {0: (3, 1)},
}
BASELINES = ("majority", "n-grams")
FACTS: dict[str, dict[str, Any]] = {  # what doesn't follow from the answers
    "lstm": {"seconds": 2.5, "row": 0.0011, "parameters": 84_223, "kind": "lstm"},
    "gru (bidirectional)": {"seconds": 3.75, "row": 0.0017, "parameters": 126_403, "kind": "gru"},
    "textcnn": {"seconds": 0.4, "row": 0.0002, "parameters": 61_023, "kind": "textcnn"},
    "majority": {"seconds": 0.001, "row": 0.00001, "parameters": 3, "kind": "majority"},
    "n-grams": {"seconds": 0.05, "row": 0.00005, "parameters": 4_512, "kind": "ngrams"},
}
EPOCHS = 4


def answers(arm: str, seed: int) -> np.ndarray:
    """(ROWS,) numbers of labels: right but for every n-th row, which gets the next label; always 0 for the majority."""
    every, first = WRONG[arm][seed]
    if not every:
        return np.zeros(ROWS, np.int64)
    wrong = np.arange(ROWS) % every == first
    return (TARGETS + wrong) % 3


def correct(arm: str) -> np.ndarray:
    """(S, ROWS) of the finished runs."""
    return np.array([answers(arm, seed) == TARGETS for seed in WRONG[arm]], np.float64)


def chapter(name: str = "reviews", unit: CostUnit = "seconds") -> Chapter:
    return Chapter(
        name=name,
        comparison=comparison(unit),
        learning=learning(),
        differences=differences(),
        internals=internals(),
        terms=tuple(terms(label) for label in FACTS),
        provenance=provenance(),
        remarks=("The diverged run has no gates to look into.",),
    )


def comparison(unit: CostUnit = "seconds") -> Comparison:
    """With ``unit`` milliseconds, a task without epochs."""
    verdict = judge([scores(label, unit) for label in FACTS], np.arange(ROWS), cost_unit=unit)
    summaries = {label: _summary(label, verdict, unit) for label in FACTS}
    arms = [summaries[label] for label in FACTS if label not in BASELINES]
    return Comparison(
        profile=profile(),
        arms=tuple(sorted(arms, key=lambda arm: -verdict.estimates[arm.label].mean)),
        baselines=tuple(summaries[label] for label in BASELINES),
        verdict=verdict,
        question="this film is not bad",
        recommended_run="runs/00000000000000a1",
        use='rnnlab predict runs/00000000000000a1 "this film is not bad"',
        notes=("Made by hand.",),
        beside=Measure("macro_f1", "macro-F1", "percent"),
    )


def scores(label: str, unit: CostUnit) -> ArmScores:
    lost = [seed for seed in seeds_of(label) if seed not in WRONG[label]]
    rows = np.concatenate([correct(label), np.repeat(correct("majority"), len(lost), axis=0)])
    cost = FACTS[label]["seconds"] * (unit == "seconds" or 4)
    return ArmScores(label, [*WRONG[label], *lost], rows, cost, label in BASELINES, lost)


def seeds_of(label: str) -> tuple[int, ...]:
    return (0,) if label in BASELINES else (0, 1, 2)


def _summary(label: str, verdict: Verdict, unit: CostUnit) -> ArmSummary:
    facts, right = FACTS[label], correct(label)
    return ArmSummary(
        label=label,
        model={"kind": facts["kind"]},
        score=verdict.estimates[label],
        scores={"macro_f1": float(right.mean()) - 0.01, "loss": 1.2 - float(right.mean())},
        epoch_seconds=facts["seconds"] if unit == "seconds" else None,
        step_seconds=facts["seconds"] / 250,
        tokens_per_second=30_000 / facts["seconds"],
        best_epoch=None if label in BASELINES else 3.0,
        parameters=facts["parameters"],
        peak_memory_mb=312.5,
        row_seconds=facts["row"],
        by_tag=_parts(right, TAG_OF, TAGS),
        by_length=_parts(right, LENGTH_OF, LENGTHS),
        runs=tuple(_run(label, seed) for seed in seeds_of(label)),
        in_best_group=label in verdict.best_group,
        failed_seeds=verdict.failures[label].failed if label in verdict.failures else (),
        total_seconds=None if label in BASELINES else EPOCHS * facts["seconds"],
    )


def _parts(right: np.ndarray, part: np.ndarray, names: tuple[str, ...]) -> dict[str, Cell]:
    return {
        name: Cell(float(right[:, part == number].mean()), int((part == number).sum()))
        for number, name in enumerate(names)
    }


def digest(label: str, seed: int) -> str:
    return f"{1000 * list(FACTS).index(label) + seed:016x}"


def _run(label: str, seed: int) -> RunSummary:
    place: dict[str, Any] = {"seed": seed, "digest": digest(label, seed), "path": f"runs/{digest(label, seed)}"}
    if seed not in WRONG[label]:
        none: dict[str, Any] = dict.fromkeys(("valid_score", "score", "best_epoch")) | {"scores": {}}
        return RunSummary(**place, status="diverged", reason="step 620: the loss passed 10000", **none)
    score = float((answers(label, seed) == TARGETS).mean())
    scores: dict[str, Any] = {"valid_score": score - 0.02, "score": score, "scores": {"macro_f1": score - 0.01}}
    return RunSummary(**place, status="finished", best_epoch=3, reason=None, **scores)


def learning() -> Learning:
    """The accuracy climbs towards the arm's score, the loss falls; validation turns back after epoch 3."""
    curves = []
    for arm in (label for label in FACTS if label not in BASELINES):
        top, seconds = float(correct(arm).mean()), FACTS[arm]["seconds"]
        parts: tuple[Split, ...] = ("valid", "train")
        for split in parts:
            climb = [0.4 + (top - 0.4) * (1 - 0.35**epoch) for epoch in range(1, EPOCHS + 1)]
            if split == "valid":
                climb[-1] = climb[-2] - 0.01
            for quantity, values in (("accuracy", climb), ("loss", [1.6 * (1 - value) + 0.1 for value in climb])):
                points = tuple(
                    CurvePoint(
                        epoch=epoch,
                        step=250.0 * epoch,
                        seconds=seconds * epoch,
                        runs=3 if arm != "lstm" or epoch < 3 else 2,
                        mean=value,
                        least=value - 0.03,
                        most=value + 0.02,
                    )
                    for epoch, value in enumerate(values, 1)
                )
                curves.append(Curve(arm, split, quantity, points))
    best = [Ending(arm, "best", 3, 750.0, 3 * FACTS[arm]["seconds"]) for arm in FACTS if arm not in BASELINES]
    diverged = Ending("lstm", "diverged", 2, 620.0, 6.2, seed=2, reason="the loss passed 10000")
    return Learning(("accuracy", "loss"), False, "epoch", tuple(curves), (*best, diverged))


def differences() -> Differences:
    classes, confusions = [], []
    for arm in FACTS:
        runs = [_confusion(answers(arm, seed)) for seed in WRONG[arm]]
        counts = np.mean(runs, axis=0)
        confusions.append(Confusion(arm, len(runs), tuple(tuple(map(float, line)) for line in counts)))
        for number, label in enumerate(LABELS):
            said = counts[:, number].sum()
            classes.append(
                ClassScore(
                    arm=arm,
                    label=label,
                    rows=int(np.sum(number == TARGETS)),
                    recall=float(counts[number, number] / counts[number].sum()),
                    precision=float(counts[number, number] / said) if said else None,
                )
            )
    return Differences(LABELS, tuple(classes), tuple(confusions), (disputed(12), disputed(1, looked=False)), "lstm")


def _confusion(said: np.ndarray) -> np.ndarray:
    """(3, 3) rows by true label and answer."""
    return np.bincount(3 * TARGETS + said, minlength=9).reshape(3, 3)


def disputed(row: int, looked: bool = True) -> DisputedRow:
    said = []
    for arm in FACTS:
        votes = np.bincount([answers(arm, seed)[row] for seed in WRONG[arm]], minlength=3)
        most = int(votes.argmax())
        said.append(Answered(arm, LABELS[most], int(votes[most]), len(WRONG[arm]), bool(most == TARGETS[row])))
    words = (("not", 0.84, True), ("a", 0.02, True), ("<b>bad</b>", -1.31, False), ("film", 0.11, True))
    look = Look(LABELS[TARGETS[row]], 0.87, tuple(TokenWeight(*word) for word in words), cut=0)
    return DisputedRow(
        row=row,
        text="not a <b>bad</b> film",
        cut=False,
        label=LABELS[TARGETS[row]],
        tag=TAGS[TAG_OF[row]],
        disagreement=0.6,
        answers=tuple(said),
        look=look if looked else None,
    )


def internals() -> tuple[Internals, ...]:
    """The lstm remembers further than was looked; the other recurrence forgets; the convolution has no gates."""
    slow = tuple(2.0 * 0.93**lag for lag in range(21))
    fast = tuple(0.8 * 0.7**lag for lag in range(21))
    window = (*(0.5,) * 5, *(None,) * 16)
    gates = (
        GateShare("layer 1", "input", 0.22, 0.31, 0.52),
        GateShare("layer 1", "forget", 0.04, 0.61, 0.83),
        GateShare("layer 1", "output", 0.15, 0.2, 0.5),
    )
    both = tuple(
        GateShare(layer, gate, closed, opened, mean)
        for layer in ("layer 1", "layer 1 backward")
        for gate, closed, opened, mean in (("reset", 0.1, 0.3, 0.58), ("update", 0.05, 0.55, 0.74))
    )
    recorded = tuple(
        {"epoch": epoch, "lags": [0, 10, 20], "norms": [1.0, 0.1, 0.01], "rows": 20, "memory": memory}
        for epoch, memory in enumerate((8, 13, 17, None), 1)
    )
    common: dict[str, Any] = {"rows": 40, "longest": 48}
    return (
        Internals(
            "lstm",
            digest("lstm", 0),
            **common,
            norms=slow,
            memory=None,
            memory_at_first=9,
            gates=gates,
            dead_units=1,
            epochs=recorded,
        ),
        Internals(
            "gru (bidirectional)",
            digest("gru (bidirectional)", 0),
            **common,
            norms=fast,
            memory=13,
            memory_at_first=11,
            gates=both,
            dead_units=0,
            epochs=(),
        ),
        Internals(
            "textcnn",
            digest("textcnn", 0),
            **common,
            norms=window,
            memory=5,
            memory_at_first=5,
            gates=(),
            dead_units=0,
            epochs=(),
        ),
    )


def terms(label: str) -> Terms:
    baseline = label in BASELINES
    seeds = seeds_of(label)
    total = FACTS[label]["parameters"]
    spec = {"format": 1, "task": {"kind": "classify"}, "model": {"kind": FACTS[label]["kind"]}, "training": {}}
    return Terms(
        arm=label,
        baseline=baseline,
        parameters={"total": total}
        if baseline
        else {"embedding": 50_000, "encoder": total - 50_150, "head": 150} | {"total": total},
        flops=None if baseline else 12 * total,
        flops_length=11,
        settings_tried=1,
        stopping={"epochs": 2, "diverged": 1} if label == "lstm" else {"epochs": len(seeds)},
        epochs=None if baseline else (3 if label == "lstm" else EPOCHS, EPOCHS),
        seconds=len(seeds) * EPOCHS * FACTS[label]["seconds"],
        settings=(Setting(spec, tuple((seed, digest(label, seed)) for seed in seeds)),),
    )


def provenance() -> Provenance:
    return Provenance(
        command="rnnlab compare reviews.csv --models lstm,gru,textcnn --seeds 3",
        experiment='name = "reviews"\nseeds = 3\n\n[task]\nkind = "classify"\n',
        environments=({"rnnlab": "0.1.0", "python": "3.11", "torch": "2.13.0", "cpu": "a processor", "threads": 1},),
        task={"kind": "classify", "data": "reviews.csv"},
        seconds=80.0,
    )


def profile() -> dict[str, Any]:
    """As `data.profile.Profile.to_dict` gives it."""
    rows = {"train": 900, "valid": 150, "test": ROWS}
    return {
        "source": "reviews.csv",
        "rows": rows,
        "labels": {split: dict.fromkeys(LABELS, count // 3) for split, count in rows.items()},
        "unit": "tokens",
        "lengths": {"min": 3, "p50": 11, "p90": 22, "p99": 40, "max": 48, "total": 16_240},
        "max_length": None,
        "cut_rows": 0,
        "channels": None,
        "script": "Latin",
        "tokenizer": "words",
        "tokenizer_reason": "most letters are Latin",
        "vocabulary": 1_204,
        "unknown": {"valid": 0.031, "test": 0.034},
        "duplicates": 4,
        "conflicts": 0,
        "overlap": {"valid": 0, "test": 0},
        "groups": None,
        "largest_group": None,
        "straddling_groups": 0,
        "skipped": 0,
        "notes": [],
        "warnings": [],
    }
