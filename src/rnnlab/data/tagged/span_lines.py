"""JSON lines of a text and the spans in it that are entities, by characters. Layouts that are known:

``{"text": …, "label": {type: {surface: [[first, last], …]}}}``, the last character inclusive (CLUENER);
``{"text": …, "spans": [[start, end, type], …]}``, and ``[{"start": …, "end": …, "label": …}, …]``, the end exclusive,
unless the surfaces that stand beside say otherwise. The key may be label, labels, entities or ents, too."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from rnnlab.core.errors import DataError
from rnnlab.core.words import note
from rnnlab.data.formats.base import field_problem
from rnnlab.data.formats.json_lines import parse
from rnnlab.data.formats.source import Source
from rnnlab.data.tagged import schemes
from rnnlab.data.tagged.cutting import Place, places_of
from rnnlab.data.tagged.layout import HEAD, LONGEST, Layout, Sentence, Unusable, lines_of
from rnnlab.data.tagged.schemes import Span
from rnnlab.data.tagged.sentences import Unit
from rnnlab.data.tokenizers import choose_tokenizer

SCHEME = "BIOES"
TEXTS = ("text", "sentence", "content")
SPANS = ("label", "labels", "spans", "entities", "ents", "ner")
STARTS = ("start", "start_offset", "start_idx", "begin")
ENDS = ("end", "end_offset", "end_idx")
KINDS = ("label", "type", "entity_type", "entity_group", "category")
SURFACES = ("surface", "text", "entity", "word", "mention")


class Marked(NamedTuple):
    """A span as it stands in the file, and what it says its text is."""

    start: int
    end: int
    kind: str
    surface: str | None


class SpanLines(Layout):
    """Spans become tags of the scheme BIOES. One that cuts a token is widened to all of it; of two that overlap, the
    longer one is kept."""

    marks_spans: ClassVar[bool] = True

    def __init__(self, source: Source, spans: str | None = None, text: str | None = None, unit: Unit | None = None):
        super().__init__(source)
        self.notes.extend(source.notes)
        filled = ((number, line) for number, line in enumerate(source.lines(), 1) if line.strip())
        head = list(itertools.islice(filled, HEAD))
        rows = [row for _, line in head if isinstance(row := parse(line), dict)]
        if not rows:
            raise DataError(
                "{path}:{line}: this is no JSON object, nor is any other of the first {count:,} lines; a line is an "
                "object with a text and its spans",
                path=self.path,
                line=head[0][0] if head else 1,
                count=len(head),
            )
        found = (key for key in TEXTS if any(isinstance(row.get(key), str) for row in rows))
        self.text_key: str = text or next(found, "text")
        likely = [key for key in SPANS if any(is_spans(row.get(key)) for row in rows)]
        empty = [key for key in SPANS if all(row.get(key) in ([], {}) for row in rows)]
        self.spans_key: str = spans or next(iter(likely + empty), "")
        self.has_spans: bool = bool(likely)  # in the head, where empty lists may be anything
        texts = [value for row in rows if isinstance(value := row.get(self.text_key), str)]
        if not texts:
            raise DataError("{path}: no object has the key {key!r} with a text", path=self.path, key=self.text_key)
        self.unit: Unit | None = unit or ("characters" if choose_tokenizer(texts)[0].name == "chars" else "words")
        values = [row.get(self.spans_key) for row in rows]
        self.by_type: bool = any(isinstance(value, dict) and value for value in values)
        given = (value[0] for value in values if isinstance(value, list) and value)
        self.names: tuple[str, str, str, str] | None = next(map(names_of, given), None)
        self.inclusive: bool = self.by_type or self._ends_are_inclusive(rows)
        self.widened: list[int] = []  # lines, of each span
        self.dropped: list[int] = []

    @property
    def has_tags(self) -> bool:
        return bool(self.spans_key)

    def _ends_are_inclusive(self, rows: list[dict[str, Any]]) -> bool:
        """As most surfaces say; without any, an end is exclusive."""
        votes = 0
        for row in rows:
            try:
                found = marked(row.get(self.spans_key))
            except Unusable:
                continue
            for start, end, _, surface in found:
                text = str(row.get(self.text_key))
                votes += surface is not None and (text[start : end + 1] == surface) - (text[start:end] == surface)
        if votes > 0:
            self.notes.append(note("the ends of spans are inclusive, as their texts show"))
        return votes > 0

    def sentences(self, tagged: bool) -> Iterator[Sentence]:
        self.widened, self.dropped = [], []
        if tagged and not self.spans_key:
            raise DataError(
                "{path}: no object has spans under one of the keys {keys}; there are no tags to learn from",
                path=self.path,
                keys=", ".join(SPANS),
            )
        for number, line in enumerate(self.source.lines(), 1):
            if line.strip():
                try:
                    yield self._sentence(number, line, tagged)
                except Unusable as error:
                    yield Sentence(number, problem=str(error))

    def _sentence(self, number: int, line: str, tagged: bool) -> Sentence:
        row = parse(line)
        if isinstance(row, str):
            raise Unusable(row)
        text = row.get(self.text_key)
        if not isinstance(text, str):
            raise Unusable(note("no text under the key {key!r}", key=self.text_key))
        if problem := field_problem([text]):
            raise Unusable(problem)
        places = places_of(text, self.unit or "words")
        if not places:
            raise Unusable(note("no text"))
        if len(places) > LONGEST:
            raise Unusable(note("a text of more than {limit:,} tokens", limit=LONGEST))
        tokens = [text[start:end] for start, end in places]
        tags = schemes.tags_of_spans(self._spans(number, row, text, places), len(tokens), SCHEME) if tagged else []
        return Sentence(number, tokens, tags, text)

    def _spans(self, number: int, row: dict[str, Any], text: str, places: list[Place]) -> list[Span]:
        """By tokens, without overlaps."""
        if self.spans_key not in row:
            raise Unusable(note("no key {key!r}", key=self.spans_key))
        found: list[Span] = []
        for start, end, kind, surface in marked(row[self.spans_key]):
            end += self.inclusive
            if not 0 <= start < end <= len(text):
                raise Unusable(
                    note(
                        "the span {start}–{end} isn't within the text of {count} characters",
                        start=start,
                        end=end,
                        count=len(text),
                    )
                )
            if surface is not None and text[start:end] != surface:
                raise Unusable(
                    note(
                        "the span {start}–{end} is {got!r} in the text, not {surface!r}",
                        start=start,
                        end=end,
                        got=text[start:end][:40],
                        surface=surface[:40],
                    )
                )
            covering = [at for at, (first, last) in enumerate(places) if first < end and start < last]
            if not covering:
                raise Unusable(note("the span {start}–{end} holds no token", start=start, end=end))
            if text[places[covering[0]][0] : places[covering[-1]][1]].strip() != text[start:end].strip():
                self.widened.append(number)
            found.append((covering[0], covering[-1] + 1, kind))
        kept: list[Span] = []
        for span in sorted(set(found), key=lambda span: (span[0] - span[1], span)):
            if all(span[1] <= other[0] or other[1] <= span[0] for other in kept):
                kept.append(span)
            else:
                self.dropped.append(number)
        return kept

    def notes_read(self) -> list[str]:
        widened = note(
            "spans that cut a word, widened to all of it: {count:,} (lines {lines})",
            count=len(self.widened),
            lines=lines_of(self.widened),
        )
        dropped = note(
            "spans that overlap a longer one, left out: {count:,} (lines {lines})",
            count=len(self.dropped),
            lines=lines_of(self.dropped),
        )
        return [widened] * bool(self.widened) + [dropped] * bool(self.dropped)

    def answered(self, answers: Iterator[Sequence[str]], scheme: str | None) -> Iterator[bytes]:
        """Spans in the layout of the file, as lists of start, end and type where it has none."""
        yield self.source.mark
        for line in self.source.lines():
            try:
                sentence = self._sentence(0, line, tagged=False)
            except Unusable:
                yield self.source.encode(line)
                continue
            text, row = sentence.text or "", parse(line)
            assert isinstance(row, dict)
            places = places_of(text, self.unit or "words")
            found = schemes.spans(next(answers), scheme or SCHEME)
            spans = [(places[first][0], places[end - 1][1], kind) for first, end, kind in found]
            row[self.spans_key or "label"] = self._as_in_the_file(spans, text)
            bare = json.dumps(row, ensure_ascii=line.isascii())
            yield self.source.encode(bare + line[len(line.rstrip("\r\n")) :])

    def _as_in_the_file(self, spans: list[Span], text: str) -> Any:
        if self.by_type:
            found: dict[str, dict[str, list[list[int]]]] = {}
            for start, end, kind in spans:
                found.setdefault(kind, {}).setdefault(text[start:end], []).append([start, end - self.inclusive])
            return found
        if not self.names:
            return [[start, end - self.inclusive, kind] for start, end, kind in spans]
        start_key, end_key, kind_key, surface_key = self.names
        named = [{start_key: start, end_key: end - self.inclusive, kind_key: kind} for start, end, kind in spans]
        if surface_key:
            for found_span, (start, end, _) in zip(named, spans, strict=True):
                found_span[surface_key] = text[start:end]
        return named


def is_spans(value: Any) -> bool:
    """Whether a value is one of the layouts, with a span in it."""
    try:
        return bool(marked(value))
    except Unusable:
        return False


def marked(value: Any) -> list[Marked]:
    """The spans of a value in any of the layouts; `Unusable` if it is in none of them."""
    if isinstance(value, Mapping):
        return [
            _marked(place[0], place[1], kind, surface)
            for kind, by_surface in value.items()
            for surface, places in _object(by_surface).items()
            for place in _places(places)
        ]
    if not isinstance(value, list):
        raise Unusable(note("the spans aren't a list"))
    found = []
    for span in value:
        names = names_of(span)
        if names is not None:
            start, end, kind, surface = names
            said = span.get(surface)
            found.append(_marked(span[start], span[end], span[kind], said if isinstance(said, str) else None))
        elif isinstance(span, list) and len(span) == 3:
            found.append(_marked(span[0], span[1], span[2], None))
        else:
            raise Unusable(note("a span isn't [start, end, type] or an object with start, end and label"))
    return found


def names_of(span: Any) -> tuple[str, str, str, str] | None:
    """The keys of an object that is a span: of its start, its end, its type, and its text or nothing."""
    if not isinstance(span, Mapping):
        return None
    start, end, kind = (next((name for name in names if name in span), "") for names in (STARTS, ENDS, KINDS))
    surface = next((name for name in SURFACES if name in span and name != kind), "")
    return (start, end, kind, surface) if start and end and kind else None


def _marked(start: Any, end: Any, kind: Any, surface: str | None) -> Marked:
    if type(start) is not int or type(end) is not int:
        raise Unusable(note("the start or the end of a span isn't a whole number"))
    if not isinstance(kind, str) or not kind.strip() or any(character.isspace() for character in kind.strip()):
        raise Unusable(note("the type of a span isn't a word"))
    return Marked(start, end, kind.strip(), surface)


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unusable(note("the spans of a type aren't an object by surface"))
    return value


def _places(value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(place, list) and len(place) == 2 for place in value):
        raise Unusable(note("the places of a surface aren't a list of [first, last]"))
    return value
