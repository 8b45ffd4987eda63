"""How a text is cut into tokens, and which way of cutting suits the texts at hand."""

import importlib
import importlib.metadata
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

from rnnlab.core.errors import ConfigError, RunError, did_you_mean
from rnnlab.core.words import both, note, same
from rnnlab.data import bpe
from rnnlab.data.vocabulary import SPECIAL, UNKNOWN

VERSION = "1"  # of the rules below, to which a model is tied: whoever changes a rule raises it
TOKENIZERS = ("words", "chars", "whitespace", "jieba", "bpe")


# --- words: the conventions of the Penn Treebank, which the movie-review data already follows ---------------------

CJK = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
# Accents and vowel signs that Python's \w leaves out, though they stand inside words (Hebrew, Arabic, Indic, Thai …).
MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e4e\u0eb1-\u0ece\u0f71-\u0fbc\u102b-\u103e\u17b4-\u17d3\u200c"
)
_LETTER = rf"(?:[^\W_{CJK}]|[{MARKS}])"
_MERGED = rf"[^\W\d_]|[{MARKS}]"  # by byte-pair encoding
_END = rf"(?!(?!n't){_LETTER})"
_NOT = rf"n't{_END}"
_CLITIC = rf"(?:s|re|ve|ll|d|m){_END}"
_STEM = rf"(?:(?!{_NOT}){_LETTER})+"
TONE = "\ufe0f\u20e3\U0001f3fb-\U0001f3ff"  # variation selectors and skin tones belong to the emoji before them

_WORDS = re.compile(
    rf"""
      [{CJK}]                                              # each of these is a word, or nearly
    | {_NOT}                                                # is n't, do n't, ca n't
    | '{_CLITIC}                                            # it 's, we 're
    | \d+(?:[.,:/]\d+)+                                     # 1.8  10,000  8/10  7:30
    | [^\W\d_{CJK}](?:\.[^\W\d_{CJK}](?!{_LETTER}))+\.?   # u.s.  e.t.
    | {_STEM}(?:[-'](?!{_CLITIC}){_STEM})*                  # word  90  well-made  o'fallon
    | \.\.\. | --
    | [\U0001f1e6-\U0001f1ff]{{2}}                          # flags
    | (?:[^\w\s]|_)[{TONE}]*(?:\u200d[^\w\s][{TONE}]*)*   # any other sign alone; an emoji with all its parts
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_RUNS = re.compile(r"\.{2,}|-{2,}")
ONE_SPELLING = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "“": '"', "”": '"', "…": "...", "—": "--"}
    | dict.fromkeys("\u200b\ufeff\u00ad")  # invisible: zero-width space, byte order mark, soft hyphen
)
_OTHER_SPELLING = re.compile(f"[{''.join(map(chr, ONE_SPELLING))}]")
TREEBANK = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}


def _cut_words(piece: str) -> list[str]:
    """Tokens of a piece that has no space in it. A sign that the Treebank spells otherwise gets its everyday spelling,
    so that a model of Treebank text understands what a person types."""
    if piece.isascii() and piece.isalnum():
        return [piece]
    if piece.lower() in TREEBANK:
        return [TREEBANK[piece.lower()]]
    plain = piece.translate(ONE_SPELLING) if _OTHER_SPELLING.search(piece) else piece  # looking is quicker
    plain = plain.replace("''", '"').replace("\\/", "/").replace("\\*", "*")
    if ".." in plain or "--" in plain:
        plain = _RUNS.sub(lambda run: "..." if run[0][0] == "." else "--", plain)
    return _WORDS.findall(plain)


def word_places(text: str) -> list[tuple[int, int]]:
    """Where the words of a text are, in characters: cut by the same rules, with every character left as it is."""
    return [found.span() for found in _WORDS.finditer(text.translate(_SAME_LENGTH))]


LINE_END = "\n"
_LINE_MARK = "\ue00a"  # of no script: stands for a line end while words are parted at spaces


_SAME_LENGTH = {at: spelling for at, spelling in ONE_SPELLING.items() if spelling is not None and len(spelling) == 1}


def _cut_nothing(piece: str) -> list[str]:
    return [piece]


def load_jieba() -> Callable[[str], list[str]]:
    """The segmenter: a prepared text to its tokens, without the spaces."""
    try:
        cut = importlib.import_module("rjieba").cut
    except ImportError:
        raise ConfigError("tokenizer 'jieba' needs an extra package: pip install 'rnnlab[zh]'") from None

    def cut_text(text: str) -> list[str]:
        whole = text.encode("utf-8", "replace").decode()  # half a surrogate pair can't be handed over
        return [token for token in cut(whole) if not token.isspace()]

    return cut_text


def load_jieba_tagger() -> Callable[[str], list[tuple[str, str]]]:
    """A text to its words and what part of speech each is, by the dictionary."""
    load_jieba()  # which says what to install
    tag = importlib.import_module("rjieba").tag
    return lambda text: tag(text.encode("utf-8", "replace").decode())


def _current_version(name: str) -> str:
    """The segmenter's dictionary decides what jieba's tokens are, so its version counts too."""
    if name != "jieba":
        return VERSION
    try:
        return f"{VERSION}+rjieba-{importlib.metadata.version('rjieba')}"
    except importlib.metadata.PackageNotFoundError:
        raise ConfigError("tokenizer 'jieba' needs an extra package: pip install 'rnnlab[zh]'") from None


_BEFORE = re.compile(r" ([.,;:!?)\]}%…]|n't\b|'(?:s|re|ve|ll|d|m)\b)", re.IGNORECASE)  # beside the word before
_AFTER = re.compile(r"([(\[{$]) ")  # beside the word behind
WIDE_SIGN = "[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
_NO_SPACE = re.compile(rf"(?<=[{CJK}]) (?=[{CJK}])|(?<={WIDE_SIGN}) | (?={WIDE_SIGN})")
_QUOTED = re.compile(r'" ([^"]*?) ?"')
_BETWEEN = re.compile(r"(?<=[^\W_{CJK}.,!?])\0(?=[^\W_{CJK}])".replace("{CJK}", CJK))  # two words of jieba

# --- the tokeniser: a name and a version, saved with the model ----------------------------------------------------


@dataclass(frozen=True)
class Tokenizer:
    """``words``, ``chars`` (a run of spaces is one character), ``whitespace``, ``jieba``, or ``bpe``, which is learnt
    (`Tokenizer.learnt`). ``verbatim``, for texts
    that go on: characters as they stand, spaces and all; of words, a line end is a token, too."""

    name: str
    lowercase: bool = True
    version: str = ""  # left empty: the version of the rules at hand
    verbatim: bool = False
    merges: tuple[str, ...] = ()  # of bpe: as `bpe.learn_merges` found them

    @classmethod
    def learnt(cls, texts: Iterable[str], merges: int = bpe.MERGES, lowercase: bool = True) -> Self:
        """Byte-pair encoding, learnt from texts."""
        untaught = cls("bpe", lowercase)
        words = Counter(word for text in texts for word in untaught.prepare(text).split())
        parts: Counter[str] = Counter()
        for word, count in words.items():
            for part in bpe.parts_of(word, _MERGED):
                parts[part] += count
        return cls("bpe", lowercase, merges=bpe.learn_merges(parts, merges))

    def __post_init__(self) -> None:
        if self.name not in TOKENIZERS:
            hint = did_you_mean(self.name, TOKENIZERS)
            raise ConfigError(
                "unknown tokenizer '{name}'{hint}\nknown: auto, {names}",
                name=self.name,
                hint=hint,
                names=", ".join(TOKENIZERS),
            )
        current = _current_version(self.name)
        if self.version not in ("", current):
            wanted = self.version.partition("+rjieba-")[2]
            todo = both("use the rnnlab that trained it, or train it again")
            if wanted:
                todo = same(f"pip install rjieba=={wanted}")
            raise RunError(
                "this model was trained with version {version} of the tokenizer '{name}', and this is "
                "version {current}, which may cut the same text differently: {todo}",
                version=self.version,
                name=self.name,
                current=current,
                todo=todo,
            )
        object.__setattr__(self, "version", current)

    def tokenize(self, text: str) -> list[str]:
        """At least one token: a text without any is unknown."""
        text = self.prepare(text)
        if self.name == "chars":
            tokens = list(text)
        elif self.name == "jieba":
            tokens = [LINE_END if token == _LINE_MARK else token for token in load_jieba()(text)]
        else:
            cut = self.cut_piece
            tokens = [token for piece in text.split() for token in cut(piece)]
        return tokens or [SPECIAL[UNKNOWN]]

    @cached_property
    def cut_piece(self) -> Callable[[str], list[str]]:
        """What makes tokens of a piece between spaces; ``words``, ``whitespace`` and ``bpe`` cut so."""
        if self.name == "bpe":
            if not self.merges:
                raise ConfigError("tokenizer 'bpe' is learnt from pairs of texts; the task 'translate' alone has it")
            ranks = bpe.ranks_of(self.merges)
            return lambda piece: [s for part in bpe.parts_of(piece, _MERGED) for s in bpe.apply_merges(part, ranks)]
        cut = _cut_words if self.name == "words" else _cut_nothing
        return (lambda piece: [LINE_END] if piece == _LINE_MARK else cut(piece)) if self.verbatim else cut

    def prepare(self, text: str) -> str:
        """The text as it is before it is cut."""
        if self.lowercase:
            text = text.lower()
        if self.verbatim:
            return text if self.name == "chars" else text.replace(LINE_END, f" {_LINE_MARK} ")
        if self.name == "bpe":
            return text.replace(bpe.SPACE, " ")
        if self.name == "words" and "<" in text:
            return _LINE_BREAK.sub(" ", text)
        return " ".join(text.split()) if self.name == "chars" else text

    def join(self, tokens: Sequence[str]) -> str:
        """Tokens as a text that a person would read: signs beside their words, and line ends as such."""
        if self.name == "chars":
            return "".join(tokens)
        if self.name == "bpe":
            return bpe.joined(tokens)
        if self.name == "jieba":
            return _BETWEEN.sub(" ", "\0".join(tokens)).replace("\0", "")
        text = " ".join(tokens)
        if self.name == "words":
            text = _NO_SPACE.sub("", _AFTER.sub(r"\1", _BEFORE.sub(r"\1", text)))
            if not self.verbatim:  # of a text that goes on, nothing that was told is changed by what comes later
                text = _QUOTED.sub(r'"\1"', text)
        return text.replace(f" {LINE_END}", LINE_END).replace(f"{LINE_END} ", LINE_END)

    def to_dict(self) -> dict[str, Any]:
        """Without ``verbatim`` and ``merges`` where they aren't: those weren't there from the first."""
        values = asdict(self)
        return {key: value for key, value in values.items() if value or key not in ("verbatim", "merges")}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        return cls(**{**values, "merges": tuple(values.get("merges", ()))})


# --- which tokeniser a text wants ---------------------------------------------------------------------------------

UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""Scripts without spaces between words."""
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


def tokenizer_of_columns(columns: Mapping[str, Sequence[str]]) -> tuple[Tokenizer, str]:
    """One for all columns: ``chars`` where each of them asks for it. Where one has words between spaces and another
    hasn't, ``words`` suits both: a character of a script without spaces is a token there, too."""
    chosen = {name: choose_tokenizer(texts)[0].name for name, texts in columns.items()}
    if len(set(chosen.values())) == 1:
        return choose_tokenizer([text for texts in columns.values() for text in texts])
    unspaced = ", ".join(name for name, tokenizer in chosen.items() if tokenizer == "chars")
    reason = note(
        "the columns differ: {names} of a script without spaces between words, where each character is a token",
        names=unspaced,
    )
    return Tokenizer("words"), reason


def choose_tokenizer(texts: Sequence[str]) -> tuple[Tokenizer, str]:
    """``chars`` where most letters belong to scripts without spaces between words, else ``words``; and why."""
    shares = scripts(texts)
    unspaced = sum(share for script, share in shares.items() if script in UNSPACED)
    percent = f"{unspaced:.0%}".removesuffix("%")
    if unspaced >= 0.9:
        reason = note("{percent} % of the letters are of a script without spaces between words", percent=percent)
        return Tokenizer("chars"), reason
    if unspaced >= 0.5:
        reason = note(
            "{percent} % of the letters are of a script without spaces between words; the other letters become single "
            "characters too",
            percent=percent,
        )
        return Tokenizer("chars"), reason
    if unspaced >= 0.1:
        reason = note(
            "mixed text: {percent} % of the letters are of a script without spaces, each a token", percent=percent
        )
        return Tokenizer("words"), reason
    return Tokenizer("words"), note("words are separated by spaces") if shares else note("the texts have no letters")
