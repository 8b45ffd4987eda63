"""Chapters of taggers made by hand: entities in Chinese characters, and parts of speech of English words."""

from dataclasses import replace

import chapter_examples as examples
import numpy as np

from rnnlab.comparing.chapters import (
    Chapter,
    ClassScore,
    Confusion,
    Differences,
    DisputedSentence,
    TaggedBy,
    TaggerScore,
    Tagging,
)

MODELS = ("lstm", "gru (bidirectional)", "textcnn", "majority", "n-grams")
TYPES = ("address", "book", "company", "game", "government", "movie", "name", "organization", "position", "scene")
TAGS = ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ")
TEXT = tuple("浙商银行企业信贷部叶老桂博士则从另一个角度对五道门槛进行了解读。" * 2)
WORDS = ("From", "the", "AP", "comes", "this", "story", ":", "President", "Bush", "nominated", "two", "individuals") * 4


def entities() -> Chapter:
    """Of the model that recommends itself all are right; another finds a wrong one and misses one."""
    true = _spans(len(TEXT), ((0, 4, "company"), (9, 12, "name"), (31, 35, "company")))
    wrong = _spans(len(TEXT), ((0, 9, "organization"), (31, 35, "company")))
    said = (true, true, wrong, wrong, _spans(len(TEXT), ()))
    return _chapter(TYPES, "BIO", _disputed(TEXT, true, said), spaced=False)


def words() -> Chapter:
    true = tuple(TAGS[at * 5 % len(TAGS)] for at in range(len(WORDS)))
    wrong = tuple("NOUN" if at % 7 == 3 else tag for at, tag in enumerate(true))
    return _chapter(
        TAGS, None, _disputed(WORDS, true, (true, wrong, wrong, wrong, ("PUNCT",) * len(true))), spaced=True
    )


def _spans(length: int, found: tuple[tuple[int, int, str], ...]) -> tuple[str, ...]:
    tags = ["O"] * length
    for start, end, kind in found:
        tags[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return tuple(tags)


def _disputed(
    tokens: tuple[str, ...], true: tuple[str, ...], said: tuple[tuple[str, ...], ...]
) -> tuple[DisputedSentence, ...]:
    answers = tuple(TaggedBy(arm, tags) for arm, tags in zip(MODELS, said, strict=True))
    return tuple(DisputedSentence(row, tokens, true, answers) for row in range(6))


def _chapter(
    labels: tuple[str, ...], scheme: str | None, disputed: tuple[DisputedSentence, ...], *, spaced: bool
) -> Chapter:
    size = len(labels)
    counts = np.eye(size) * 80 + 4
    if scheme:
        counts = np.pad(counts, ((0, 1), (0, 2)), constant_values=3)
        counts[-1, -2:] = 0
    found = Differences(
        labels=labels,
        classes=tuple(
            ClassScore(arm, label, 40 + 7 * at, 0.9 - 0.05 * at, 0.92 - 0.04 * at if at else None)
            for arm in MODELS
            for at, label in enumerate(labels)
        ),
        confusions=tuple(Confusion(arm, 3, tuple(map(tuple, counts.tolist()))) for arm in MODELS),
        rows=(),
        counted="entities" if scheme else "tokens",
        tagging=Tagging(
            sentences=300,
            tokens=12_543,
            unseen=871,
            scheme=scheme,
            arms=tuple(TaggerScore(arm, 0.95, 0.8, 0.5, 1_234.5 if scheme else None) for arm in MODELS),
            disputed=disputed,
            spaced=spaced,
        ),
    )
    return replace(examples.chapter("cluener" if scheme else "ewt"), differences=found)
