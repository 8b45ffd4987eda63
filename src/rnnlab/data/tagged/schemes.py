"""Schemes in which tags mark entities: ``B-PER I-PER O``. Strict: an entity is what seqeval finds in mode "strict".

Every scheme is told by its letters, and by the pairs of neighbouring tags at which an entity starts, goes on and
ends. So one vectorised search (`find`) does for all of them."""

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

PORTION = 4096  # sentences that are looked at together, so that a large corpus takes little more room
LETTERS = "OBIES"  # what the letters of every scheme stand for: outside, begin, inside, end, single


@dataclass(frozen=True)
class Scheme:
    """Pairs are of the letters before and here, ``?`` being any letter: ``"BI="`` with the same type, ``"BI!"`` with
    another, ``"BI"`` with either. Outside stands before the first tag and behind the last."""

    letters: dict[str, str]  # of the scheme, and which of `LETTERS` each stands for
    start: str
    inside: str
    end: str
    allowed: str  # the pairs of a well-formed sequence

    def letter(self, meaning: str) -> str:
        """The scheme's own letter; inside, where the scheme has none for this."""
        own = {stands_for: letter for letter, stands_for in self.letters.items()}
        return own.get(meaning, own["I"])


_IOB1 = Scheme(
    {"B": "B", "I": "I"},
    start="OI II! BI IB= BB=",
    inside="BI= II=",
    end="II! IO IB BO BI! BB=",
    allowed="?O ?I BB= IB=",
)
_BIO = Scheme(
    {"B": "B", "I": "I"},
    start="?B",
    inside="BI= II=",
    end="IO II! IB BO BI! BB",
    allowed="?O ?B BI= II=",
)
_IOE2 = Scheme(
    {"I": "I", "E": "E"},
    start="OI OE EI EE II! IE!",
    inside="IE= II=",
    end="E?",
    allowed="OO OI OE EO EI EE II= IE=",
)
_WHOLE = "OO OB OS EO EB ES SO SB SS BI= BE= II= IE="
_BIOES = Scheme(
    {"B": "B", "I": "I", "E": "E", "S": "S"},
    start="?B ?S",
    inside="BI= BE= II= IE=",
    end="S? E?",
    allowed=_WHOLE,
)


def _with_letters(letters: str) -> Scheme:
    """As BIOES, with other letters for begin, inside, end and single."""
    return Scheme(dict(zip(letters, "BIES", strict=True)), _BIOES.start, _BIOES.inside, _BIOES.end, _BIOES.allowed)


SCHEMES: dict[str, Scheme] = {
    "BIO": _BIO,  # IOB2
    "IOB1": _IOB1,
    "IOE2": _IOE2,
    "BIOES": _BIOES,  # IOBES
    "BMES": _with_letters("BMES"),
    "BMEWO": _with_letters("BMEW"),
    "BILOU": _with_letters("BILU"),
}


def parts(tag: str) -> tuple[str, str]:
    """``"B-PER"`` is B and PER, ``"B"`` is B and nothing, ``"O"`` is O and nothing. A plain tag has no letter."""
    if len(tag) == 1 or tag[1:2] in ("-", "_"):
        return tag[0], tag[2:]
    return "", tag


def types_of(labels: Collection[str], scheme: str) -> list[str]:
    """The types of entities that these tags mark, sorted: the columns of `count_spans`."""
    found = (parts(label) for label in labels)
    return sorted({kind for letter, kind in found if letter in SCHEMES[scheme].letters})


# --- which scheme -------------------------------------------------------------------------------------------------


def recognise(tags: Collection[str], offsets: np.ndarray | None = None) -> str | None:
    """The scheme of a set of tags; None where they are plain. With ``offsets``, ``tags`` are those of whole sentences,
    and IOB1, where an entity begins with I, is told from BIO."""
    distinct = set(tags) - {"O"}
    split = [parts(tag) for tag in distinct]
    letters = {letter for letter, _ in split}
    if not split or "" in letters or not letters <= set("BIMESWLU"):
        return None
    if not any(kind for _, kind in split) and not ("B" in letters and len(set(tags)) > 1):
        return None  # single letters are plain tags, unless they look like begin and something else
    if letters <= {"B", "I"}:
        if "B" not in letters or (offsets is not None and isinstance(tags, Sequence) and _is_iob1(tags, offsets)):
            return "IOB1"
        return "BIO"
    if letters <= {"I", "E"}:
        return "IOE2"
    return next((name for name in ("BIOES", "BMES", "BMEWO", "BILOU") if letters <= SCHEMES[name].letters.keys()), None)


def _is_iob1(tags: Sequence[str], offsets: np.ndarray) -> bool:
    """Whether it is rather so that B stands only where an entity follows another of its type."""
    labels = sorted(set(tags))
    ids = ids_of(tags, labels)
    return bool(illegal(ids, offsets, labels, "IOB1").sum() < illegal(ids, offsets, labels, "BIO").sum())


def ids_of(tags: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """(N,) int32: the place of each tag among the labels."""
    place = {label: at for at, label in enumerate(labels)}
    return np.fromiter(map(place.__getitem__, tags), np.int32, len(tags))


# --- pairs of tags ------------------------------------------------------------------------------------------------


class _Pairs(NamedTuple):
    """(C + 1, C + 1) bool each: from the tag before to the tag here; the last row and column are outside."""

    start: np.ndarray
    inside: np.ndarray
    end: np.ndarray
    allowed: np.ndarray
    kinds: np.ndarray  # (C + 1,): the place among `types_of`


@functools.lru_cache(maxsize=64)
def _pairs(labels: tuple[str, ...], scheme: str) -> _Pairs:
    own = SCHEMES[scheme]
    types = {kind: at for at, kind in enumerate(types_of(labels, scheme))}
    split = [parts(label) for label in labels] + [("O", "")]
    letters = np.array([LETTERS.index(own.letters.get(letter, "O")) for letter, _ in split])
    kinds = np.array([types[kind] if letter in own.letters else -1 for letter, kind in split])
    same = (kinds[:, None] == kinds[None, :]).astype(np.int64)

    def table(patterns: str) -> np.ndarray:
        return _of_letters(patterns)[letters[:, None], letters[None, :], same]

    return _Pairs(table(own.start), table(own.inside), table(own.end), table(own.allowed), kinds)


@functools.cache
def _of_letters(patterns: str) -> np.ndarray:
    """(5, 5, 2) bool by letter before, letter here, and whether the types are the same."""
    found = np.zeros((len(LETTERS), len(LETTERS), 2), bool)
    for pattern in patterns.split():
        before, here = (slice(None) if letter == "?" else LETTERS.index(letter) for letter in pattern[:2])
        found[before, here, {"=": 1, "!": 0}.get(pattern[2:], slice(None))] = True
    return found


def allowed(labels: Sequence[str], scheme: str) -> np.ndarray:
    """(C + 2, C) bool: from tag i to tag j; row C: from the start to j; row C + 1: from j to the end."""
    pairs = _pairs(tuple(labels), scheme).allowed
    return np.concatenate([pairs[:, :-1], pairs[:-1, -1][None, :]])


def illegal(ids: np.ndarray, offsets: np.ndarray, labels: Sequence[str], scheme: str) -> np.ndarray:
    """(N,) bool: the steps that mustn't follow the one before (or begin a sentence), or mustn't end one."""
    pairs, found = _pairs(tuple(labels), scheme).allowed, np.zeros(len(ids), bool)
    for rows in range(0, len(offsets) - 1, PORTION):
        within = offsets[rows : rows + PORTION + 1]
        own = ids[within[0] : within[-1]]
        before, behind = _neighbours(own, within - within[0], len(labels))
        found[within[0] : within[-1]] = ~pairs[before, own] | ((behind == len(labels)) & ~pairs[own, behind])
    return found


def _neighbours(ids: np.ndarray, offsets: np.ndarray, outside: int) -> tuple[np.ndarray, np.ndarray]:
    """(N,) each: the tag before and the tag behind each step, ``outside`` beyond its sentence."""
    filled = np.diff(offsets) > 0
    before, behind = np.empty_like(ids), np.empty_like(ids)
    before[1:], behind[:-1] = ids[:-1], ids[1:]
    before[offsets[:-1][filled]] = outside
    behind[offsets[1:][filled] - 1] = outside
    return before, behind


# --- spans --------------------------------------------------------------------------------------------------------

Span = tuple[int, int, str]  # first token, the one behind the last, type


class Found(NamedTuple):
    """The entities of all sentences, in their order: (K,) each, places counted through all sentences."""

    starts: np.ndarray
    ends: np.ndarray
    kinds: np.ndarray  # the place among `types_of`


def find(ids: np.ndarray, offsets: np.ndarray, labels: Sequence[str], scheme: str) -> Found:
    """As seqeval does: from each start that isn't inside of what came before, as far as tags go on; kept if the pair
    there is an end."""
    pairs = _pairs(tuple(labels), scheme)
    ids = np.asarray(ids, np.int64)
    before, behind = _neighbours(ids, offsets, len(labels))
    places = np.arange(len(ids))
    start, inside = pairs.start[before, ids], pairs.inside[before, ids]
    last_start = np.maximum.accumulate(np.where(start, places, -1))
    last_break = np.maximum.accumulate(np.where(inside, -1, places))
    open_here = last_start >= last_break  # an entity has started, and every tag since went on
    open_before = np.concatenate([[False], open_here[:-1]]) if len(ids) else open_here
    starts = np.flatnonzero(start & ~(open_before & inside))
    breaks = np.append(np.flatnonzero(~inside), len(ids))
    ends = breaks[np.searchsorted(breaks, starts, "right")]
    closed = pairs.end[ids[ends - 1], behind[ends - 1]]
    starts, ends = starts[closed], ends[closed]
    return Found(starts, ends, pairs.kinds[ids[starts]])


def spans(tags: Sequence[str], scheme: str) -> list[Span]:
    """The entities of one sentence."""
    labels = sorted(set(tags))
    found = find(ids_of(tags, labels), np.array([0, len(tags)]), labels, scheme)
    types = types_of(labels, scheme)
    return [(int(a), int(b), types[kind]) for a, b, kind in zip(*found, strict=True)]


class SpanCounts(NamedTuple):
    """(rows, types) int64 each, types as `types_of` has them."""

    right: np.ndarray
    answered: np.ndarray
    true: np.ndarray


def count_spans(
    answers: np.ndarray, targets: np.ndarray, offsets: np.ndarray, labels: Sequence[str], scheme: str
) -> SpanCounts:
    """Of each sentence and type: the entities that were answered, that there are, and that are right, of which first
    and last token and type agree. ``answers`` and ``targets`` are (N,) places among the labels."""
    answered, true = find(answers, offsets, labels, scheme), find(targets, offsets, labels, scheme)
    shape = len(offsets) - 1, len(types_of(labels, scheme))
    answer_at = np.full((len(targets), 2), -1)  # end and type of the one entity that begins here
    answer_at[answered.starts, 0], answer_at[answered.starts, 1] = answered.ends, answered.kinds
    right = (answer_at[true.starts, 0] == true.ends) & (answer_at[true.starts, 1] == true.kinds)

    def tally(found: Found, which: np.ndarray | slice) -> np.ndarray:
        rows = np.searchsorted(offsets, found.starts[which], "right") - 1
        return np.bincount(rows * shape[1] + found.kinds[which], minlength=shape[0] * shape[1]).reshape(shape)

    return SpanCounts(tally(true, right), tally(answered, slice(None)), tally(true, slice(None)))


def confuse_spans(
    answers: np.ndarray, targets: np.ndarray, offsets: np.ndarray, labels: Sequence[str], scheme: str
) -> np.ndarray:
    """(types + 1, types + 2) int64, what entities are taken for. Lines: the true type, and last the answers that touch
    no true entity. Columns: the type of the answer with the same first and last token, or, where none has the same
    type, of the first answer that touches the entity; then those that another answer of their type touches, whose
    boundaries are wrong; last those that no answer touches."""
    answered, true = find(answers, offsets, labels, scheme), find(targets, offsets, labels, scheme)
    types = len(types_of(labels, scheme))
    boundaries, none = types, types + 1
    first, behind = _touching(true, answered)
    before = np.zeros((len(answered.starts) + 1, types), np.int64)  # answers of each type before each answer
    before[1:] = np.cumsum(np.eye(types, dtype=np.int64)[answered.kinds], axis=0)
    of_its_type = before[behind, true.kinds] > before[first, true.kinds]
    said = np.full(len(true.starts), none)
    touched = np.flatnonzero(behind > first)
    at = first[touched]
    same = (answered.starts[at] == true.starts[touched]) & (answered.ends[at] == true.ends[touched])
    said[touched] = np.where(of_its_type[touched] & ~same, boundaries, answered.kinds[at])
    nothing = np.equal(*_touching(answered, true))
    cells = np.concatenate([true.kinds * (types + 2) + said, types * (types + 2) + answered.kinds[nothing]])
    return np.bincount(cells, minlength=(types + 1) * (types + 2)).reshape(types + 1, types + 2)


def _touching(found: Found, others: Found) -> tuple[np.ndarray, np.ndarray]:
    """Of each, which of the others it has a token in common with: from the first to the one before the second."""
    return np.searchsorted(others.ends, found.starts, "right"), np.searchsorted(others.starts, found.ends, "left")


def tags_of_spans(found: Sequence[Span], length: int, scheme: str) -> list[str]:
    """The tags of one sentence whose entities don't overlap."""
    own, tags = SCHEMES[scheme], ["O"] * length
    behind: tuple[int, str] = (-1, "")  # where the last entity ended, and its type
    for start, end, kind in sorted(found):
        letters = [own.letter("I")] * (end - start)
        if scheme != "IOB1" or behind == (start, kind):
            letters[0] = own.letter("B")
        if "E" in own.letters.values():
            letters[-1] = own.letter("E")
        if end - start == 1 and "S" in own.letters.values():
            letters[0] = own.letter("S")
        tags[start:end] = [f"{letter}-{kind}" if kind else letter for letter in letters]
        behind = end, kind
    return tags
