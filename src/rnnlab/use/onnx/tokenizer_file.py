"""How a text becomes ids, as data: all that a program in another language needs to feed an exported model.

The rules are those of `rnnlab.data.tokenizers`, as regular expressions that mean the same everywhere: what letters,
digits and spaces are is spelled out in ranges of code points, because it changes with every version of Unicode.
docs/export.md explains the fields.
"""

import importlib.metadata
import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

from rnnlab.answers.forecast import Forecast
from rnnlab.answers.tags import Tags
from rnnlab.answers.text import Text
from rnnlab.answers.translation import Translation
from rnnlab.answers.words import Words
from rnnlab.data import bpe, tokenizers
from rnnlab.data.calendar import calendar_turns
from rnnlab.data.spelling import Spelling
from rnnlab.data.tagged.schemes import SCHEMES
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import BEGIN, END, PADDING, SEPARATED, UNKNOWN
from rnnlab.models.search import Manner
from rnnlab.use.onnx import ExportError
from rnnlab.use.stored import StoredModel

FORMAT = 1
WRITTEN_FOR = "1"  # the version of the tokenisers' rules that `_WORDS` below spells out

# In a class of characters, %name% stands for the ranges of that name.
_LETTER = "(?:(?![_%cjk%])[%word%]|[%marks%])"
_INITIAL = "(?![_%digit%%cjk%])[%word%]"
_END = f"(?!(?![nN]'[tT]){_LETTER})"
_NOT = f"[nN]'[tT]{_END}"
_CLITIC = f"(?:[sSſ]|[rR][eE]|[vV][eE]|[lL][lL]|[dD]|[mM]){_END}"
_STEM = f"(?:(?!{_NOT}){_LETTER})+"
_WORDS = "|".join(
    [
        _NOT,
        f"'{_CLITIC}",
        "[%digit%]+(?:[.,:/][%digit%]+)+",
        rf"{_INITIAL}(?:\.{_INITIAL}(?!{_LETTER}))+\.?",
        f"{_STEM}(?:[-'](?!{_CLITIC}){_STEM})*",
        "[%cjk%]",
        r"\.\.\.|--",
        "[\U0001f1e6-\U0001f1ff]{2}",
        "(?:[^%word%%space%]|_)[%tone%]*(?:\u200d[^%word%%space%][%tone%]*)*",
    ]
)
# Tokens joined by spaces become a text where each match is replaced by its group.
_BESIDE = [
    " ([.,;:!?)\\]}%…]|(?:[nN]'[tT]|'(?:[sSſ]|[rR][eE]|[vV][eE]|[lL][lL]|[dD]|[mM]))(?![%word%]))",
    "([(\\[{$]) ",
    f"(?:(?<=[%cjk%]) (?=[%cjk%])|(?<={tokenizers.WIDE_SIGN}) | (?={tokenizers.WIDE_SIGN}))()",
]
_QUOTED = '" ([^"]*?) ?"'  # then, where a text is whole: the group, in quotes
_BETWEEN = r"(?<=(?![_%cjk%])[%word%])\0(?=(?![_%cjk%])[%word%])"  # where a space stands between two words of jieba
_MERGED = "(?:(?![_%digit%])[%word%]|[%marks%])"
_PARTS = f"{bpe.SPACE}?{_MERGED}+(?:['’]{_MERGED}+)*|{bpe.SPACE}?[^%space%]"  # within which symbols are merged

_CLASSES: dict[str, Callable[[str], bool]] = {
    "space": str.isspace,
    "word": lambda letter: letter.isalnum() or letter == "_",
    "digit": str.isdecimal,
    "assigned": lambda letter: unicodedata.category(letter) != "Cn",
    "upper": str.isupper,
    "letter": str.isalpha,
    "numeral": str.isdigit,
}
_SPELLED = {"cjk": tokenizers.CJK, "marks": tokenizers.MARKS, "tone": tokenizers.TONE}


def describe(model: StoredModel) -> dict[str, Any]:
    """The content of ``model.tokenizer.json``."""
    preprocessor = model.preprocessor
    vocabulary = preprocessor.vocabulary
    found = {
        "format": FORMAT,
        "rnnlab": importlib.metadata.version("rnnlab"),
        "spec": model.spec.digest,
        "task": model.spec.task.kind,
        "input": {"name": "ids", "each": preprocessor.ids_per_step}
        if vocabulary is not None
        else {"name": "features", "each": preprocessor.features},
        "max_length": preprocessor.max_length,
        "labels": list(preprocessor.labels),
        "per_step": model.spec.task.answer.reads == "states",
        "temperature": model.card.temperature,
        "tokenizer": preprocessor.tokenizer and rules(preprocessor.tokenizer),
        "padding": PADDING,
        "unknown": UNKNOWN,
        "vocabulary": list(vocabulary.words) if vocabulary is not None else None,
    }
    if preprocessor.thresholds:
        found["thresholds"] = list(preprocessor.thresholds)  # of sigmoid(logits / temperature), one per label
    if vocabulary is not None and vocabulary.ngrams is not None:
        found["ngrams"] = vocabulary.ngrams.to_dict()  # further ids per step; docs/inputs.md says how they are found
    if vocabulary is not None and vocabulary.further:  # from here on n-grams are numbered, then marks, then other words
        found["learnt"] = len(vocabulary.learnt_words)
    if preprocessor.spelling is not None:
        found |= _of_tagger(model, preprocessor.spelling)
    if preprocessor.sound is not None:
        found["sound"] = preprocessor.sound.to_dict()
    if isinstance(model.spec.task.answer, Words):
        found["blank"] = len(preprocessor.labels)  # the last of the logits, which is no word
    if isinstance(model.spec.task.answer, Text):
        found["writing"] = {
            "begin": BEGIN,  # stands before the first token
            "end": None if model.spec.task.streams else END,  # of a row; a stream has none
            "never": [PADDING, UNKNOWN, BEGIN, *([END] if model.spec.task.streams else [])],  # are written
        }
    if isinstance(model.spec.task.answer, Translation):
        found["translating"] = _translating(model, model.spec.task.answer.manner)
    if isinstance(model.spec.task.answer, Forecast):
        found["forecasting"] = of_forecaster(model)
    if preprocessor.text_columns:  # each is tokenised by itself; this id stands between; docs/export.md
        found["text_columns"] = list(preprocessor.text_columns)
        found["separator"] = SEPARATED
    return found


def of_forecaster(model: StoredModel) -> dict[str, Any]:
    """How a table becomes features, and forecasts become values."""
    observed, answer = model.preprocessor.observed, model.spec.task.answer
    assert observed is not None
    assert isinstance(answer, Forecast)
    spacing = observed.spacing
    return {
        "channels": list(model.preprocessor.labels),
        "horizon": observed.horizon,
        "lookback": observed.lookback,
        "quantiles": list(answer.quantiles),
        "standardise": observed.standardise,
        "series": list(observed.series),
        "mean": observed.scales[:, 0].tolist(),  # by series and channel
        "std": observed.scales[:, 1].tolist(),
        "marks": observed.marks,
        "spacing": None if spacing is None else {"seconds": spacing.seconds, "months": spacing.months},
        "calendar": calendar_turns(spacing) if observed.calendar and spacing is not None else [],
    }


def _translating(model: StoredModel, manner: Manner) -> dict[str, Any]:
    """How the other text is written, how it is searched for, and how its tokens become a text."""
    writes = model.preprocessor.writes
    assert writes is not None
    assert writes.tokenizer is not None
    assert writes.vocabulary is not None
    return {
        "begin": BEGIN,
        "end": END,
        "never": [PADDING, BEGIN, *([] if manner.unknown else [UNKNOWN])],  # are written
        "beam": manner.beam,
        "length_penalty": manner.length_penalty,
        "longest": manner.longest,
        "tokenizer": joining(writes.tokenizer),
        "vocabulary": list(writes.vocabulary.words),
    }


def _of_tagger(model: StoredModel, spelling: Spelling) -> dict[str, Any]:
    """How tokens become ids, and logits become tags and entities."""
    preprocessor, answer = model.preprocessor, model.spec.task.answer
    assert preprocessor.tokenizer is not None
    assert preprocessor.vocabulary is not None
    cutting = rules(preprocessor.tokenizer)
    cutting["classes"] |= _classes("assigned")  # tokens stay as they stand there, and are looked up in lower case
    if cutting["name"] == "words":
        cutting["same_length"] = [pair for pair in cutting["replace"] if len(pair[0]) == len(pair[1]) == 1]
    found: dict[str, Any] = {"tokenizer": cutting, "spelling": spelling.to_dict()}
    if preprocessor.marks is not None:
        cutting["classes"] |= _classes("upper", "letter", "numeral")
        first = preprocessor.vocabulary.first_mark
        found["marks"] = {**preprocessor.marks.to_dict(), "first": first}
    if preprocessor.chain:
        found["chain"] = [list(row) for row in preprocessor.chain]
    if isinstance(answer, Tags) and answer.scheme is not None:
        scheme = SCHEMES[answer.scheme]
        found["scheme"] = {
            "name": answer.scheme,
            "letters": scheme.letters,
            "start": scheme.start,
            "inside": scheme.inside,
            "end": scheme.end,
        }
    return found


def rules(tokenizer: Tokenizer) -> dict[str, Any]:
    """What the tokeniser does, in the order in which it does it."""
    if tokenizers.VERSION != WRITTEN_FOR:
        raise ExportError(
            "the tokenisers have version {version} and export describes {written_for}; upgrade rnnlab",
            version=tokenizers.VERSION,
            written_for=WRITTEN_FOR,
        )
    found: dict[str, Any] = {
        **tokenizer.to_dict(),
        "unicode": unicodedata.unidata_version,
        "classes": _classes("space"),
    }
    if tokenizer.lowercase:
        found["classes"] |= _classes("assigned")
    if tokenizer.name == "words":
        found["classes"] |= _classes("word", "digit", "cjk", "marks", "tone")
        spellings = {chr(old): new or "" for old, new in tokenizers.ONE_SPELLING.items()}
        found |= {
            "line_break": "<[bB][rR][%space%]*/?>",
            "whole": "^[0-9A-Za-z]+$",
            "instead": tokenizers.TREEBANK,
            "replace": [*map(list, spellings.items()), ["''", '"'], ["\\/", "/"], ["\\*", "*"]],
            "runs": [[r"\.{2,}", "..."], ["-{2,}", "--"]],
            "pattern": _WORDS,
        }
        if tokenizer.verbatim:
            found["beside"] = _BESIDE
    if tokenizer.name == "bpe":
        found["classes"] |= _classes("word", "digit", "marks")
        found |= {"space": bpe.SPACE, "pattern": _PARTS}
    return found


def joining(tokenizer: Tokenizer) -> dict[str, Any]:
    """How tokens become a text, where texts aren't verbatim."""
    found: dict[str, Any] = {"name": tokenizer.name, "unicode": unicodedata.unidata_version}
    if tokenizer.name == "words":
        found |= {"classes": _classes("word", "cjk"), "beside": _BESIDE, "quoted": _QUOTED}
    if tokenizer.name == "jieba":
        found |= {"classes": _classes("word", "cjk"), "between": _BETWEEN}
    if tokenizer.name == "bpe":
        found["space"] = bpe.SPACE
    return found


def _classes(*names: str) -> dict[str, list[tuple[int, int]]]:
    return {name: ranges(name) for name in names}


@cache
def ranges(name: str) -> list[tuple[int, int]]:
    """The code points of a class, as (first, last). Kept: it takes a while to look at all of Unicode."""
    if name in _SPELLED:
        return _spelled(_SPELLED[name])
    belongs = bytes(map(_CLASSES[name], map(chr, range(sys.maxunicode + 1))))  # 0 or 1 each
    return [(run.start(), run.end() - 1) for run in re.finditer(b"\x01+", belongs)]


def _spelled(content: str) -> list[tuple[int, int]]:
    """The ranges in a class of characters: ``"a-cx"`` → [(a, c), (x, x)]."""
    found, at = [], 0
    while at < len(content):
        last = at + 2 if content[at + 1 : at + 2] == "-" else at
        found.append((ord(content[at]), ord(content[last])))
        at = last + 1
    return found
