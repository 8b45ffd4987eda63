"""From texts to numbers: tokenisers, the vocabulary, and encoding that looks at every distinct piece once."""

import hashlib
import importlib
import importlib.metadata
import json
import re
import sys
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from rnnlab.data.sequences import gather_rows, offsets_of
from rnnlab.errors import ConfigError, RunError, did_you_mean

PADDING, UNKNOWN = 0, 1
SPECIAL = ("<pad>", "<unk>")
_UTF32 = f"utf-32-{sys.byteorder[0]}e"

VERSION = "1"  # of the rules below, to which a model is tied: whoever changes a rule raises it
TOKENIZERS = ("words", "chars", "whitespace", "jieba")


# --- words: the conventions of the Penn Treebank, which the movie-review data already follows ---------------------

_CJK = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
# Accents and vowel signs that Python's \w leaves out, though they stand inside words (Hebrew, Arabic, Indic, Thai …).
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e4e\u0eb1-\u0ece\u0f71-\u0fbc\u102b-\u103e\u17b4-\u17d3\u200c"
)
_LETTER = rf"(?:[^\W_{_CJK}]|[{_MARKS}])"
_END = rf"(?!(?!n't){_LETTER})"
_NOT = rf"n't{_END}"
_CLITIC = rf"(?:s|re|ve|ll|d|m){_END}"
_STEM = rf"(?:(?!{_NOT}){_LETTER})+"
_TONE = "\ufe0f\u20e3\U0001f3fb-\U0001f3ff"  # variation selectors and skin tones belong to the emoji before them

_WORDS = re.compile(
    rf"""
      {_NOT}                                                # is n't, do n't, ca n't
    | '{_CLITIC}                                            # it 's, we 're
    | \d+(?:[.,:/]\d+)+                                     # 1.8  10,000  8/10  7:30
    | [^\W\d_{_CJK}](?:\.[^\W\d_{_CJK}](?!{_LETTER}))+\.?   # u.s.  e.t.
    | {_STEM}(?:[-'](?!{_CLITIC}){_STEM})*                  # word  90  well-made  o'fallon
    | [{_CJK}]                                              # each of these is a word, or nearly
    | \.\.\. | --
    | [\U0001f1e6-\U0001f1ff]{{2}}                          # flags
    | (?:[^\w\s]|_)[{_TONE}]*(?:\u200d[^\w\s][{_TONE}]*)*   # any other sign alone; an emoji with all its parts
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_RUNS = re.compile(r"\.{2,}|-{2,}")
_ONE_SPELLING = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "“": '"', "”": '"', "…": "...", "—": "--"}
    | dict.fromkeys("\u200b\ufeff\u00ad")  # invisible: zero-width space, byte order mark, soft hyphen
)
_TREEBANK = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}


def _cut_words(piece: str) -> list[str]:
    """Tokens of a piece that has no space in it. A sign that the Treebank spells otherwise gets its everyday spelling,
    so that a model of Treebank text understands what a person types."""
    if piece.isascii() and piece.isalnum():
        return [piece]
    if piece.lower() in _TREEBANK:
        return [_TREEBANK[piece.lower()]]
    plain = piece.translate(_ONE_SPELLING).replace("''", '"').replace("\\/", "/").replace("\\*", "*")
    return _WORDS.findall(_RUNS.sub(lambda run: "..." if run[0][0] == "." else "--", plain))


def _cut_nothing(piece: str) -> list[str]:
    return [piece]


def _load_jieba() -> Callable[[str], list[str]]:
    try:
        cut = importlib.import_module("rjieba").cut
    except ImportError:
        raise ConfigError("tokenizer 'jieba' needs an extra package: pip install 'rnnlab[zh]'") from None

    def cut_text(text: str) -> list[str]:
        whole = text.encode("utf-8", "replace").decode()  # half a surrogate pair can't be handed over
        return [token for token in cut(whole) if not token.isspace()]

    return cut_text


def _current_version(name: str) -> str:
    """The segmenter's dictionary decides what jieba's tokens are, so its version counts too."""
    if name != "jieba":
        return VERSION
    try:
        return f"{VERSION}+rjieba-{importlib.metadata.version('rjieba')}"
    except importlib.metadata.PackageNotFoundError:
        raise ConfigError("tokenizer 'jieba' needs an extra package: pip install 'rnnlab[zh]'") from None


# --- the tokeniser: a name and a version, saved with the model ----------------------------------------------------


@dataclass(frozen=True)
class Tokenizer:
    """``words``, ``chars`` (a run of spaces is one character), ``whitespace`` or ``jieba``."""

    name: str
    lowercase: bool = True
    version: str = ""  # left empty: the version of the rules at hand

    def __post_init__(self) -> None:
        if self.name not in TOKENIZERS:
            hint = did_you_mean(self.name, TOKENIZERS)
            raise ConfigError(f"unknown tokenizer '{self.name}'{hint}\nknown: auto, {', '.join(TOKENIZERS)}")
        current = _current_version(self.name)
        if self.version not in ("", current):
            wanted = self.version.partition("+rjieba-")[2]
            todo = f"pip install rjieba=={wanted}" if wanted else "use the rnnlab that trained it, or train it again"
            raise RunError(
                f"this model was trained with version {self.version} of the tokenizer '{self.name}', and this is "
                f"version {current}, which may cut the same text differently: {todo}"
            )
        object.__setattr__(self, "version", current)

    def tokenize(self, text: str) -> list[str]:
        """At least one token: a text without any is unknown."""
        text = self._prepare(text)
        if self.name == "chars":
            tokens = list(text)
        elif self.name == "jieba":
            tokens = _load_jieba()(text)
        else:
            tokens = [token for piece in text.split() for token in self._cut_piece(piece)]
        return tokens or [SPECIAL[UNKNOWN]]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        return cls(**values)

    @property
    def _cut_piece(self) -> Callable[[str], list[str]]:
        return _cut_words if self.name == "words" else _cut_nothing

    def _prepare(self, text: str) -> str:
        if self.lowercase:
            text = text.lower()
        if self.name == "words" and "<" in text:
            return _LINE_BREAK.sub(" ", text)
        return " ".join(text.split()) if self.name == "chars" else text


# --- which tokeniser a text wants ---------------------------------------------------------------------------------

_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")  # no spaces between words
_SCRIPT_NAMES = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}


def scripts(texts: Sequence[str], sample: int = 2000) -> dict[str, float]:
    """Share of each script among the letters of an evenly spaced sample, largest first: ``{"Latin": 0.98, …}``."""
    step = max(1, len(texts) // sample)
    letters = Counter("".join(text[:200] for text in texts[::step]))
    found: Counter[str] = Counter()
    for letter, count in letters.items():
        if letter.isalpha():
            found[unicodedata.name(letter, "other").split()[0]] += count
    total = sum(found.values())
    return {script: count / total for script, count in found.most_common()}


def describe_scripts(shares: dict[str, float]) -> str:
    """``"Latin"``, or ``"Chinese 71 %, Latin 29 %"`` for a mixture; scripts under 5 % are passed over."""
    named: dict[str, float] = {}
    for script, share in shares.items():
        name = _SCRIPT_NAMES.get(script, script.capitalize())
        named[name] = named.get(name, 0) + share
    if named.get("Japanese", 0) > 0.1:  # kana among Chinese characters: all of it is Japanese
        named["Japanese"] += named.pop("Chinese", 0)
    main = [(name, share) for name, share in sorted(named.items(), key=lambda item: -item[1]) if share >= 0.05]
    if len(main) == 1:
        return main[0][0]
    return ", ".join(f"{name} {share:.0%}".replace("%", " %") for name, share in main) or "no letters"


def choose_tokenizer(texts: Sequence[str]) -> tuple[Tokenizer, str]:
    """``chars`` where most letters belong to scripts without spaces between words, else ``words``; and why."""
    shares = scripts(texts)
    unspaced = sum(share for script, share in shares.items() if script in _UNSPACED)
    percent = f"{unspaced:.0%}".replace("%", " %")
    if unspaced >= 0.5:
        reason = f"{percent} of the letters are of a script without spaces between words"
        mixed = "; the other letters become single characters too" if unspaced < 0.9 else ""
        return Tokenizer("chars"), reason + mixed
    if unspaced >= 0.1:
        return Tokenizer("words"), f"mixed text: {percent} of the letters are of a script without spaces, each a token"
    return Tokenizer("words"), "words are separated by spaces" if shares else "the texts have no letters"


# --- the vocabulary -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Vocabulary:
    """``words[i]`` has the number i; 0 is padding, 1 stands for every word that isn't here."""

    words: tuple[str, ...]

    @classmethod
    def build(
        cls, tokens: Sequence[str], counts: Iterable[int], *, min_count: int = 1, max_size: int | None = None
    ) -> Self:
        """The tokens counted at least ``min_count`` times (and at least once), the most frequent first, equals in
        alphabetical order; ``max_size`` counts padding and unknown too. Count in the training rows alone."""
        kept = [
            (-count, token)
            for token, count in zip(tokens, counts, strict=True)
            if count >= max(min_count, 1) and token not in SPECIAL
        ]
        ordered = (token for _, token in sorted(kept))
        return cls((*SPECIAL, *ordered)[:max_size])

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each word; the two special ones aren't words."""
        return {word: number for number, word in enumerate(self.words) if number > UNKNOWN}

    def encode(self, tokens: Iterable[str]) -> list[int]:
        return [self.index.get(token, UNKNOWN) for token in tokens]

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.words).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        return {"words": list(self.words)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        return cls(tuple(values["words"]))


# --- many texts at once -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tokenized:
    """Texts as numbers into ``tokens``. Text i is ``values[offsets[i]:offsets[i + 1]]``, which is never empty."""

    values: np.ndarray  # (N,) int32
    offsets: np.ndarray  # (texts + 1,) int64
    tokens: list[str]

    def numbers_in(self, vocabulary: Vocabulary) -> np.ndarray:
        """The number of each of ``tokens`` in a vocabulary: (tokens,) int32."""
        return np.array(vocabulary.encode(self.tokens), np.int32)


def tokenize_all(texts: Sequence[str], tokenizer: Tokenizer) -> Tokenized:
    """Every text tokenised, as ``tokenizer.tokenize`` would, but many times faster."""
    if tokenizer.name == "chars":
        values, lengths, tokens = _code_points(texts, tokenizer)
    elif tokenizer.name == "jieba":
        values, lengths, tokens = _whole_texts(texts, tokenizer)
    else:
        values, lengths, tokens = _pieces(texts, tokenizer)
    offsets = offsets_of(lengths)
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        values = np.insert(values, offsets[empty], len(tokens)).astype(np.int32, copy=False)
        tokens.append(SPECIAL[UNKNOWN])
        offsets = offsets_of(np.maximum(lengths, 1))
    return Tokenized(values, offsets, tokens)


def encode_texts(
    texts: Sequence[str], tokenizer: Tokenizer, vocabulary: Vocabulary, max_length: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """For prediction: ids (N,) int32 and offsets (texts + 1,) int64, texts cut to their first ``max_length`` tokens."""
    tokenized = tokenize_all(texts, tokenizer)
    values, offsets = gather_rows(tokenized.values, tokenized.offsets, np.arange(len(texts)), max_length)
    return translate(values, tokenized.numbers_in(vocabulary)), offsets


def translate(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """``numbers[values]``, written over ``values``: a second array of this size would be the peak of memory."""
    return np.take(numbers, values, out=values, mode="clip")


class _PieceTable(dict[str, int]):
    """Numbers the pieces between spaces as they come, and cuts each distinct piece once: of IMDB's 12 million, 4 %."""

    def __init__(self, cut: Callable[[str], list[str]]):
        super().__init__()
        self.cut = cut
        self.tokens: dict[str, int] = {}
        self.flat = array("i")  # the tokens of all distinct pieces, end to end
        self.ends = array("q", [0])

    def __missing__(self, piece: str) -> int:
        for token in self.cut(piece):
            self.flat.append(self.tokens.setdefault(token, len(self.tokens)))
        self.ends.append(len(self.flat))
        number = self[piece] = len(self)
        return number


def _pieces(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray, list[str]]:
    table = _PieceTable(tokenizer._cut_piece)
    number_of = table.__getitem__
    pieces = array("i")
    ends = array("q", [0])
    for text in texts:
        pieces.extend(map(number_of, tokenizer._prepare(text).split()))
        ends.append(len(pieces))
    table_ends = np.array(table.ends)
    values, token_ends = gather_rows(np.array(table.flat, np.int32), table_ends, np.array(pieces, np.int32))
    return values, np.diff(token_ends[np.array(ends)]), list(table.tokens)


def _whole_texts(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray, list[str]]:
    cut = _load_jieba()
    numbers: dict[str, int] = {}
    values = array("i")
    lengths = array("q")
    for text in texts:
        tokens = cut(tokenizer._prepare(text))
        values.extend([numbers.setdefault(token, len(numbers)) for token in tokens])
        lengths.append(len(tokens))
    return np.array(values, np.int32), np.array(lengths), list(numbers)


def _code_points(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray, list[str]]:
    lengths = np.zeros(len(texts), np.int64)
    points = array("i")
    for start in range(0, len(texts), 1000):
        block = [tokenizer._prepare(text) for text in texts[start : start + 1000]]
        lengths[start : start + len(block)] = [len(text) for text in block]
        points.frombytes("".join(block).encode(_UTF32, "surrogatepass"))
    values = np.frombuffer(points, np.int32)
    seen = np.flatnonzero(np.bincount(values))
    number_of = np.zeros(0x110000, np.int32)
    number_of[seen] = np.arange(len(seen))
    return translate(values, number_of), lengths, [chr(point) for point in seen]
