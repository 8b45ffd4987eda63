"""BLEU (Papineni et al. 2002), to the digit that of sacrebleu with its default settings: how many runs of one to four
tokens of a translation stand in a reference, and whether it is too short."""

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from rnnlab.answers.ngrams import matches
from rnnlab.answers.score import Score
from rnnlab.data.tokenizers import UNSPACED, scripts

LONGEST = 4
RULES = "2.6.0"  # the version of sacrebleu whose rules these are

# --- tokens ------------------------------------------------------------------------------------------------------

_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}  # in this order: "&amp;lt;" is "<"
_SIGNS = (  # each rule is applied to what the one before it made; a sign that one match took is not in the next
    (re.compile(r"([!-&(-+/:-@\[-`{-~])"), r" \1 "),  # ASCII, but not ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # 3.14 and 1,000 stay together
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])-"), r"\1 - "),  # 1990-95, but well-known stays
)
# Beside Chinese characters and full-width signs, all between U+2001 and U+2A6D: dashes, curly quotation marks, arrows,
# mathematical signs. Characters of extension B and emoji from U+1F300 on are not among them.
_STAND_ALONE = re.compile(
    "([\u2001-\u2a6d\u2e80-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31ef\u3200-\u4db5\u4e00-\u9fbb"
    "\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef])"
)


def _signs_apart(text: str) -> list[str]:
    for pattern, apart in _SIGNS:
        text = pattern.sub(apart, text)
    return text.split()


def _words(text: str) -> list[str]:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in _ENTITIES.items():
        text = text.replace(entity, sign)
    return _signs_apart(f" {text} ")


def _chinese(text: str) -> list[str]:
    """Chinese characters and full-width signs are tokens, what is between them is words. Text isn't put between spaces
    here, so that ``5.`` at the end of a text stays one token."""
    return _signs_apart(_STAND_ALONE.sub(r" \1 ", text.strip()))


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "13a": _words,
    "zh": _chinese,
    "char": lambda text: list("".join(text.split())),
    "none": str.split,
}


def bleu_tokenizer_for(texts: Sequence[str]) -> str:
    """Which of the `TOKENIZERS` such texts want: ``zh`` for Chinese, ``char`` for Japanese and other scripts without
    spaces between words, else ``13a``."""
    shares = scripts(texts)
    if sum(shares.get(script, 0.0) for script in UNSPACED) < 0.5:
        return "13a"
    return "zh" if shares.get("CJK", 0.0) >= 0.5 and _kana(shares) <= 0.1 else "char"


def _kana(shares: dict[str, float]) -> float:
    return shares.get("HIRAGANA", 0.0) + shares.get("KATAKANA", 0.0)


# --- counts and score --------------------------------------------------------------------------------------------


def bleu_counts(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenizer: str
) -> dict[str, np.ndarray]:
    """What BLEU is a function of, row by row: ``bleu_matches`` and ``bleu_totals`` (rows, 4), of runs of 1 to 4 tokens
    of the hypothesis, so that ``bleu_totals[:, 0]`` is its length; and ``bleu_reference`` (rows,), the length of the
    reference that is closest to it, of equally close ones the shorter. Each row has at least one reference."""
    if len(hypotheses) != len(references) or not all(references):
        raise ValueError("bleu_counts: each hypothesis needs at least one reference")
    cut, numbers = TOKENIZERS[tokenizer], dict[str, int]()

    def numbered(text: str) -> np.ndarray:
        return np.array([numbers.setdefault(token, len(numbers)) for token in cut(text)], np.int64)

    mine = [numbered(text) for text in hypotheses]
    theirs = [[numbered(text) for text in row] for row in references]
    found = matches(mine, theirs, LONGEST)
    closest = [
        min((len(text) for text in row), key=lambda length: (abs(length - len(one)), length))
        for one, row in zip(mine, theirs, strict=True)
    ]
    return {
        "bleu_matches": np.stack([each.with_any for each in found], axis=1),
        "bleu_totals": np.stack([each.hypothesis for each in found], axis=1),
        "bleu_reference": np.array(closest, np.int64),
    }


def _bleu(totals: np.ndarray) -> float:
    """Brevity penalty times the geometric mean of four precisions, between 0 and 1. Where no run of n tokens matches,
    half a match is taken for the first such n, a quarter for the second, and so on; where none is so long, or nothing
    matches at all, the score is 0."""
    right, all_, reference = totals[:LONGEST], totals[LONGEST : 2 * LONGEST], totals[-1]
    if not right.any() or not all_.all():
        return 0.0
    without = right == 0
    precisions = np.where(without, 0.5 ** without.cumsum(), right) / all_
    return float(math.exp(min(0.0, 1 - reference / all_[0]) + np.log(precisions).mean()))


def _slope(totals: np.ndarray) -> np.ndarray:
    """The derivative of `_bleu`. Of runs without a match it is 0: no row has any, so none can move the score by them.
    Differences would leave the counts there: half a match less than none."""
    right, all_, reference = totals[:LONGEST], totals[LONGEST : 2 * LONGEST], totals[-1]
    slope, value = np.zeros(len(totals)), _bleu(totals)
    if value:
        np.divide(1 / LONGEST, right, out=slope[:LONGEST], where=right > 0)
        slope[LONGEST:-1] = -1 / (LONGEST * all_)
        if all_[0] < reference:
            slope[LONGEST] += reference / all_[0] ** 2
            slope[-1] = -1 / all_[0]
    return value * slope


BLEU = Score("bleu", "BLEU", ("bleu_matches", "bleu_totals", "bleu_reference"), _bleu, unit="points", gradient=_slope)


def signature(tokenizer: str, references: Sequence[Sequence[str]]) -> str:
    """What one has to say beside a BLEU so that others can compare theirs, in sacrebleu's words."""
    return f"nrefs:{references_text(references)}|case:mixed|eff:no|tok:{tokenizer}|smooth:exp|version:{RULES}"


def references_text(references: Sequence[Sequence[str]]) -> str:
    """How many references each row has: a number, or ``var``."""
    numbers = {len(row) for row in references}
    return str(numbers.pop()) if len(numbers) == 1 else "var"
