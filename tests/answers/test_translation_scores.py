"""BLEU and chrF against sacrebleu: its tokens, its scores and its signatures, for texts of all kinds."""

import os
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics.bleu import _get_tokenizer
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from rnnlab.answers.bleu import _STAND_ALONE, BLEU, RULES, TOKENIZERS, bleu_counts, bleu_tokenizer_for, signature
from rnnlab.answers.chrf import CHRF, chrf_counts, chrf_signature
from rnnlab.answers.score import Score, numeric_gradient

PIECES = [
    *("the", "cat", "sat", "a", "I", "well-known", "don't", "café", "naïve", "x"),
    *("3.14", "1,000", "1990-95", "5.", "-7", "٣", "２０２６", ".5", "..", "...", ",,", ". ."),
    *(".", ",", "-", "'", "!", "?", '"', "(", ")", "[", "`", "~", "/", "\\", "@", "_", "%", "&", "<", "+", "$"),
    *("&quot;", "&amp;", "&lt;", "&amp;lt;", "<skipped>", "-\n", "\n", "\t", "\u00a0", "\u3000", "\u2028"),
    *("我", "們", "猫", "〇", "。", "，", "！", "「", "—", "…", "“", "”", "Ａ", "ｶ", "ねこ", "カ", "고양이", "แมว"),
    *("😀", "👩‍👩‍👧", "☂", "→", "\U00020000", "\ufa2e", "\u2000", "\u2001", "\u2a6d", "\u2a6e"),
]


def made_up(rng: random.Random, most: int = 12) -> str:
    """Pieces with and without space between them."""
    return "".join(rng.choice(PIECES) + rng.choice(["", " ", "  "]) for _ in range(rng.randint(0, most)))


def made_up_rows(seed: int, rows: int, references: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Hypotheses that share parts with a reference: as it is, shorter, repeated, with another end, or empty."""
    rng = random.Random(seed)
    rows_of_references = [[made_up(rng) for _ in range(rng.choice(references))] for _ in range(rows)]
    hypotheses = []
    for row in rows_of_references:
        text = rng.choice(row)
        kept = text[: rng.randint(0, len(text))]
        hypotheses.append(rng.choice([text, kept, kept + made_up(rng, 4), kept + kept, made_up(rng, 2), ""]))
    return hypotheses, rows_of_references


def by_number(references: Sequence[Sequence[str]]) -> list[list[Any]]:
    """As sacrebleu takes them: the first of each row, the second of each row, …, None where a row has fewer."""
    return [[row[k] if k < len(row) else None for row in references] for k in range(max(map(len, references)))]


def tatoeba() -> dict[str, list[str]]:
    """All Chinese translations of each English sentence."""
    found: dict[str, list[str]] = defaultdict(list)
    path = Path(os.environ["RNNLAB_DATA"]) / "tatoeba-eng-cmn" / "cmn.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        english, chinese = line.split("\t")[:2]
        found[english].append(chinese)
    return found


needs_data = pytest.mark.skipif("RNNLAB_DATA" not in os.environ, reason="needs the public data sets")


# --- tokens ---


@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokens_are_those_of_sacrebleu(name: str):
    rng, theirs = random.Random(5), _get_tokenizer(name)()
    for _ in range(4000):
        text = made_up(rng)
        assert TOKENIZERS[name](text) == theirs(text.rstrip()).split(), repr(text)


def test_every_character_stands_alone_or_not_as_in_sacrebleu():
    """All 196,608 of the first three planes; behind them, some."""
    for number in [*range(0x30000), *range(0x30000, 0x110000, 101)]:
        character = chr(number)
        assert bool(_STAND_ALONE.fullmatch(character)) == TokenizerZh._is_chinese_char(character), hex(number)


def test_the_tokenizer_follows_the_script():
    assert bleu_tokenizer_for(["The cat sat.", "I have 3 cats."]) == "13a"
    assert bleu_tokenizer_for(["那只猫坐着。", "我有 iPhone。"]) == "zh"
    assert bleu_tokenizer_for(["猫が座っている。", "私は東京大学の学生です。"]) == "char"
    assert bleu_tokenizer_for(["แมวนั่งอยู่"]) == "char"
    assert bleu_tokenizer_for(["고양이가 앉아 있다."]) == "13a"
    assert bleu_tokenizer_for(["12", "…", ""]) == "13a"
    assert bleu_tokenizer_for([]) == "13a"


# --- scores ---


@pytest.mark.parametrize("references", [[1], [3], [1, 2, 5]])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_bleu_is_that_of_sacrebleu(name: str, references: list[int]):
    for seed, rows in enumerate([1, 2, 3, 5, 10, 40, 200]):
        hypotheses, true = made_up_rows(seed, rows, references)
        theirs = sacrebleu.BLEU(tokenize=name)
        expected = theirs.corpus_score(hypotheses, by_number(true))
        counts = bleu_counts(hypotheses, true, name)
        assert 100 * BLEU.of(counts) == pytest.approx(expected.score, abs=1e-9)
        assert counts["bleu_matches"].sum(0).tolist() == expected.counts
        assert counts["bleu_totals"].sum(0).tolist() == expected.totals
        assert counts["bleu_reference"].sum() == expected.ref_len
        assert signature(name, true) == str(theirs.get_signature())


@pytest.mark.parametrize("references", [[1], [3], [1, 2, 5]])
def test_chrf_is_that_of_sacrebleu(references: list[int]):
    for seed, rows in enumerate([1, 2, 3, 5, 10, 40, 400]):
        hypotheses, true = made_up_rows(seed, rows, references)
        theirs = sacrebleu.CHRF()
        expected = theirs.corpus_score(hypotheses, by_number(true)).score
        assert 100 * CHRF.of(chrf_counts(hypotheses, true)) == pytest.approx(expected, abs=1e-9)
        assert chrf_signature(true) == str(theirs.get_signature())


@pytest.mark.data
@needs_data
def test_scores_of_tatoeba_are_those_of_sacrebleu():
    """Every third sentence is answered by the translation of the one before it, of nearly the same length."""
    true = list(tatoeba().items())[::27]
    chinese = [row for _, row in true]
    english = [[text] for text, _ in true]
    for rows, name in [(chinese, "zh"), (chinese, "char"), (english, "13a"), (english, "none")]:
        answers = [row[-1] if k % 3 else rows[k - 1][0] for k, row in enumerate(rows)]
        assert bleu_tokenizer_for([row[0] for row in rows]) == ("zh" if rows is chinese else "13a")
        expected = sacrebleu.BLEU(tokenize=name).corpus_score(answers, by_number(rows)).score
        assert expected > 10
        assert 100 * BLEU.of(bleu_counts(answers, rows, name)) == pytest.approx(expected, abs=1e-9)
        expected = sacrebleu.CHRF().corpus_score(answers, by_number(rows)).score
        assert 100 * CHRF.of(chrf_counts(answers, rows)) == pytest.approx(expected, abs=1e-9)


def test_the_rules_are_those_of_the_installed_sacrebleu():
    assert sacrebleu.__version__ == RULES


# --- laws ---

Counted = Callable[[list[str], list[list[str]]], Mapping[str, np.ndarray]]
SCORES: list[tuple[Score, Counted]] = [
    (BLEU, lambda texts, references: bleu_counts(texts, references, "zh")),
    (CHRF, chrf_counts),
]


@pytest.mark.parametrize(("score", "counted"), SCORES, ids=["bleu", "chrf"])
def test_a_row_counts_the_same_beside_any_others(score: Score, counted: Counted):
    """So counts add over any partition: those of all rows together are those of each row alone, in any order."""
    hypotheses, true = made_up_rows(7, 60, [1, 2, 4])
    together = counted(hypotheses, true)
    alone = [counted([text], [row]) for text, row in zip(hypotheses, true, strict=True)]
    turned = counted(hypotheses[::-1], true[::-1])
    for name in score.columns:
        assert np.array_equal(together[name], np.concatenate([each[name] for each in alone]))
        assert np.array_equal(together[name], turned[name][::-1])


@pytest.mark.parametrize(("score", "counted"), SCORES, ids=["bleu", "chrf"])
def test_slopes_are_the_derivatives(score: Score, counted: Counted):
    """Of translations that are too short, and of some that aren't."""
    assert score.gradient is not None
    for end in (3, 1):
        _, true = made_up_rows(11, 400, [2])
        counts = counted([row[0][: -end or None] + row[1][:end] for row in true], true)
        totals = np.concatenate([counts[name].sum(0).ravel() for name in score.columns]).astype(float)
        for factor in (1.0, 0.9, 1.1):  # of the last column, the length of the references of BLEU
            totals[-1] *= factor
            assert score.gradient(totals) == pytest.approx(numeric_gradient(score.value, totals), rel=1e-4, abs=1e-12)


@pytest.mark.parametrize(("score", "counted"), SCORES, ids=["bleu", "chrf"])
@pytest.mark.parametrize(
    "answers",
    [
        ["", ""],
        ["x", "y"],
        ["那只", "猫"],
        ["那只狗在", "没有人"],
        ["那只猫在", "没有人"],
        ["那只猫坐着。", "我有一本书。"],
    ],
    ids=["empty", "nothing right", "short", "no run of three", "no run of four", "all right"],
)
def test_influences_are_finite_where_there_are_few_matches(score: Score, counted: Counted, answers: list[str]):
    """Their mean is the score, that of sacrebleu. Where nothing matches it is 0, and every row has 0."""
    true = [["那只猫坐着。"], ["我有一本书。"]]
    counts = counted(answers, true)
    theirs = sacrebleu.BLEU(tokenize="zh") if score is BLEU else sacrebleu.CHRF()
    assert 100 * score.of(counts) == pytest.approx(theirs.corpus_score(answers, by_number(true)).score, abs=1e-9)
    influences = score.per_row(counts)
    assert np.isfinite(influences).all()
    assert influences.mean() == pytest.approx(score.of(counts))
    if score.of(counts) == 0:
        assert not influences.any()


@pytest.mark.parametrize(("score", "counted"), SCORES, ids=["bleu", "chrf"])
def test_no_rows_have_no_counts(score: Score, counted: Counted):
    assert all(len(counted([], [])[name]) == 0 for name in score.columns)


@pytest.mark.parametrize(("score", "counted"), SCORES, ids=["bleu", "chrf"])
def test_a_row_without_a_reference_is_an_error(score: Score, counted: Counted):
    with pytest.raises(ValueError, match="at least one reference"):
        counted(["a"], [[]])
    with pytest.raises(ValueError, match="at least one reference"):
        counted(["a", "b"], [["a"]])
