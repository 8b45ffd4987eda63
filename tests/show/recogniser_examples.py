"""A chapter of recognisers made by hand: spoken digits, of which some are changed, missed and added."""

from dataclasses import replace

import chapter_examples as examples
import numpy as np

from rnnlab.comparing.chapters import (
    Chapter,
    ClassScore,
    Confusion,
    Differences,
    HeardBy,
    HeardRow,
    Hearing,
    HearingScore,
)

MODELS = ("lstm", "gru (bidirectional)", "textcnn", "majority", "n-grams")
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def digits() -> Chapter:
    said = ("seven", "three", "nine", "eight", "zero")
    none: tuple[tuple[str, ...], ...] = ((),) * 6
    changed = HeardBy("", ("seven", "five", None, "eight", "zero"), none, 0)
    added = HeardBy("", said, (("eight",), (), ("three", "three"), (), (), ("one",)), 2)
    missed = HeardBy("", (None,) * 5, none, 0)
    found = (HeardBy("", said, none, 0), changed, added, added, missed)
    answers = tuple(replace(one, arm=arm) for arm, one in zip(MODELS, found, strict=True))
    rows = tuple(HeardRow(row, "theo", said, answers) for row in range(6))
    counts = np.eye(11) * 80 + 4
    hearing = Hearing(
        rows=400,
        words=1_412,
        counts={2: 100, 3: 98, 4: 102, 5: 100},
        arms=tuple(HearingScore(arm, 0.05, 0.02, 0.01, dict.fromkeys(range(2, 6), 0.08)) for arm in MODELS),
        worst=rows,
        others=rows[:4],
    )
    differences = Differences(
        labels=DIGITS,
        classes=tuple(
            ClassScore(arm, word, 140 + at, 0.9 - 0.05 * at, 0.92 - 0.04 * at if at else None)
            for arm in MODELS
            for at, word in enumerate(DIGITS)
        ),
        confusions=tuple(Confusion(arm, 3, tuple(map(tuple, counts.tolist()))) for arm in MODELS),
        rows=(),
        counted="words",
        hearing=hearing,
    )
    return replace(examples.chapter("fsdd"), differences=differences)
