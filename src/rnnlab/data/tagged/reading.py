"""Tagged sentences from a file: which scheme the tags are in, and which sentences can't be used."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from rnnlab.core.errors import DataError
from rnnlab.core.words import both, joined, note, retold
from rnnlab.data.classes import SHOWN, short
from rnnlab.data.formats.base import BadRow
from rnnlab.data.formats.source import Source
from rnnlab.data.tagged import schemes
from rnnlab.data.tagged.conllu import NOTHING, ConllU
from rnnlab.data.tagged.finding import has_tags, is_tagged, open_layout, parts_of
from rnnlab.data.tagged.gathering import Gathered
from rnnlab.data.tagged.layout import Layout, Sentence, lines_of
from rnnlab.data.tagged.sentences import Sentences, Unit

__all__ = ["has_tags", "is_tagged", "parts_of", "read_sentences"]

MANY = 10_000  # bad sentences, from which on a file may be hopeless
RARE = 100  # one tag in so many that isn't in the scheme of the others is a mistake


def read_sentences(
    path: str | Path,
    *,
    tags: str | None = None,
    tokens: str | None = None,
    skip_bad: bool = False,
    tagged: bool = True,
    like: Sentences | None = None,
    unit: Unit | None = None,
) -> Sentences:
    """Read a tagged corpus, or with ``tagged=False`` sentences to be answered, whose tags aren't looked at.

    ``tags`` and ``tokens`` name columns: of CoNLL-U (``upos`` if none is given) or a key of its MISC, of a table, or
    the number of a column. Sentences that can't be used are one error that lists them, or with ``skip_bad`` go to
    ``skipped``. ``like`` is the corpus that this file is a further part of: columns, unit and scheme are as there.
    ``unit`` says how texts are cut, where a model has been trained."""
    if like is not None:
        tags, unit = tags or like.column or None, unit or like.unit
    layout = open_layout(Source.load(path), tags, tokens, unit, tagged)
    gathered = Gathered(_hopeful(layout.path, layout.sentences(tagged)))
    scheme = like.scheme if like is not None else None
    if tagged and gathered.tags:
        if isinstance(layout, ConllU) and layout.key and (scheme or schemes.recognise({*gathered.tags} - {NOTHING})):
            gathered.tags = ["O" if tag == NOTHING else tag for tag in gathered.tags]  # what has no key is outside
        if like is None:
            scheme = _scheme_of(layout, gathered)
        gathered = _without_strangers(gathered, scheme)
    if gathered.bad and not skip_bad:
        _refuse(layout.path, gathered)
    if not len(gathered):
        _none_left(layout.path, gathered.bad)
    if tagged and like is None:
        _check_tags(layout, gathered)
    notes = [*layout.notes, *layout.notes_read()]
    if tagged:
        notes += _notes_on_scheme(gathered, scheme)
    if gathered.bad:
        many = len(gathered.bad)
        notes.append(
            note("{count:,} bad sentences skipped", count=many) if many > 1 else note("1 bad sentence skipped")
        )
    return Sentences(
        source=str(path),
        tokens=gathered.tokens,
        offsets=gathered.offsets,
        tags=gathered.tags if tagged else None,
        lines=gathered.lines,
        scheme=scheme,
        unit=unit or layout.unit or gathered.unit,
        texts=gathered.texts,
        digest=layout.source.digest,
        skipped=tuple(gathered.bad),
        notes=tuple(notes),
        column=layout.column,
    )


def _hopeful(path: str, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences, as long as not most of very many are bad: that is another file, and a list of it would be long."""
    bad = 0
    for number, sentence in enumerate(sentences, 1):
        bad += bool(sentence.problem)
        if sentence.problem and bad > MANY and 2 * bad > number:
            raise DataError(
                "{path}: {bad:,} of the first {rows:,} sentences can't be used: is this a tagged corpus? "
                "{path}:{line}: {reason}",
                path=path,
                bad=bad,
                rows=number,
                line=sentence.line,
                reason=retold(sentence.problem),
            )
        yield sentence


def _without_strangers(gathered: Gathered, scheme: str | None) -> Gathered:
    """Sentences with a tag that isn't in the scheme are bad."""
    strangers = [tag for tag in set(gathered.tags) if scheme and not _is_of(tag, scheme)]
    if not strangers:
        return gathered
    return gathered.without(
        {tag: note("the tag {tag} isn't of the scheme {scheme}", tag=short(tag), scheme=scheme) for tag in strangers}
    )


def _is_of(tag: str, scheme: str) -> bool:
    return schemes.parts(tag)[0] in ("O", *schemes.SCHEMES[scheme].letters)


def _scheme_of(layout: Layout, gathered: Gathered) -> str | None:
    """Of nearly all tags: a few that aren't in it are mistakes."""
    if layout.marks_spans:
        return "BIOES"
    found = schemes.recognise(gathered.tags, gathered.offsets)
    if found is not None:
        return found
    counts = Counter(gathered.tags)
    strangers = {name: sum(count for tag, count in counts.items() if not _is_of(tag, name)) for name in schemes.SCHEMES}
    nearest = min(strangers, key=strangers.__getitem__)
    typed = sum(count for tag, count in counts.items() if tag != "O" and _is_of(tag, nearest))
    return nearest if strangers[nearest] * RARE < typed else None


def _check_tags(layout: Layout, gathered: Gathered) -> None:
    if len(set(gathered.tags)) > 1:
        return
    raise DataError(
        "{path}: all {count:,} tokens have the tag {tag}: there is nothing to learn; --tags names another column",
        path=layout.path,
        count=len(gathered.tags),
        tag=short(gathered.tags[0]),
    )


def _notes_on_scheme(gathered: Gathered, scheme: str | None) -> list[str]:
    labels = sorted(set(gathered.tags))
    if scheme is None:
        return [note("plain tags, not entities: {count:,} different ones", count=len(labels))]
    types = schemes.types_of(labels, scheme)
    said = [note("tags are entities in the scheme {scheme} ({count} types)", scheme=scheme, count=len(types))]
    if len(types) == 1:
        said = [note("tags are entities in the scheme {scheme} (1 type)", scheme=scheme)]
    wrong = schemes.illegal(schemes.ids_of(gathered.tags, labels), gathered.offsets, labels, scheme)
    if wrong.any():
        lines = [gathered.line_of(at) for at in np.flatnonzero(wrong)[:6].tolist()]
        said.append(
            note(
                "tags that mustn't follow each other in the scheme {scheme}: {count:,} (lines {lines})",
                scheme=scheme,
                count=int(wrong.sum()),
                lines=lines_of(lines),
            )
        )
    return said


def _none_left(path: str, bad: Sequence[BadRow]) -> NoReturn:
    if not bad:
        raise DataError("{path}: no line has a token, only comments", path=path)
    raise DataError(
        "{path}: all {count:,} sentences are bad, none is left; {path}:{line}: {reason}",
        path=path,
        count=len(bad),
        line=bad[0].line,
        reason=retold(bad[0].reason),
    )


def _refuse(path: str, gathered: Gathered) -> NoReturn:
    bad = gathered.bad
    lines = [
        both("{path}:{line}: {reason}", path=path, line=row.line, reason=retold(row.reason)) for row in bad[:SHOWN]
    ]
    if len(bad) > SHOWN:
        lines.append(both("... and {more:,} more", more=len(bad) - SHOWN))
    raise DataError(
        "{path}: {bad:,} of {rows:,} sentences can't be used\n{listed}\nmend these lines, or pass --skip-bad to leave "
        "the sentences out",
        path=path,
        bad=len(bad),
        rows=len(gathered) + len(bad),
        listed=joined(lines, "\n"),
    )
