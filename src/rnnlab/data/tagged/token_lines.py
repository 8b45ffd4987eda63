"""Files of one token per line, with a blank line between sentences."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rnnlab.core.errors import DataError
from rnnlab.core.words import note
from rnnlab.data.formats.base import FIELD_CAP
from rnnlab.data.tagged.layout import LONGEST, Layout, Sentence, Unusable


@dataclass
class _Block:
    """Lines that belong together, with their ends: a sentence with what is said about it, or blank ones."""

    first: int  # number of its first line
    lines: list[str]
    is_blank: bool = False
    goes_on: bool = False  # it is the rest of one that is far too long


class TokenLines(Layout):
    """A subclass says what a line is."""

    delimiter: str = "\t"
    token_at: int = 0
    tag_at: int = 1

    @abstractmethod
    def fields_of(self, line: str, begun: bool) -> list[str] | None:
        """The columns of a line, which isn't blank and has no end; None if it isn't a token. ``begun``: the sentence
        has a token already. `Unusable`, if the line makes the sentence so."""

    @abstractmethod
    def tag_of(self, fields: list[str]) -> str:
        """`Unusable` where there is none."""

    def text_of(self, line: str) -> str | None:
        """The text of the sentence, in a line that isn't a token."""
        return None

    def with_tag(self, fields: list[str], tag: str) -> list[str]:
        """The columns of a token with another tag."""
        if self.delimiter in tag or "\n" in tag:
            raise DataError(
                "{path}: the tag {tag!r} can't stand in this file, where {delimiter!r} is between the columns",
                path=self.path,
                tag=tag,
                delimiter=self.delimiter,
            )
        missing = [""] * (self.tag_at - len(fields))
        return [*fields[: self.tag_at], *missing, tag, *fields[self.tag_at + 1 :]]

    def sentences(self, tagged: bool) -> Iterator[Sentence]:
        for block in self._blocks():
            if not block.is_blank and not block.goes_on:
                sentence = self._sentence(block, tagged)
                if sentence.problem or sentence.tokens:
                    yield sentence

    def answered(self, answers: Iterator[Sequence[str]], scheme: str | None) -> Iterator[bytes]:
        """Every line but the tokens' stays as it is, and so does a sentence with a problem."""
        yield self.source.mark
        for block in self._blocks():
            if not block.is_blank and not block.goes_on:
                sentence = self._sentence(block, tagged=False)
                tags = next(answers) if sentence.tokens else ()
                for number, tag in zip(sentence.token_lines, tags, strict=True):
                    line = block.lines[number - block.first]
                    bare = line.rstrip("\r\n")
                    fields = self.fields_of(bare, begun=True) or []
                    tagged = self.delimiter.join(self.with_tag(fields, tag))
                    block.lines[number - block.first] = tagged + line[len(bare) :]
            yield self.source.encode("".join(block.lines))

    def _blocks(self) -> Iterator[_Block]:
        block = _Block(1, [])
        for number, line in enumerate(self.source.lines(), 1):
            is_blank, is_full = not line.strip(" \t\r\n"), len(block.lines) >= 2 * LONGEST
            if block.lines and (is_blank != block.is_blank or is_full):
                yield block
                block = _Block(number, [], goes_on=is_blank == block.is_blank)
            block.is_blank = is_blank
            block.lines.append(line)
        if block.lines:
            yield block

    def _sentence(self, block: _Block, tagged: bool) -> Sentence:
        tokens, tags, lines, text = list[str](), list[str](), list[int](), None
        for number, line in enumerate(block.lines, block.first):
            line = line.rstrip("\r\n")
            try:
                fields = self.fields_of(line, bool(tokens))
                if fields is None:
                    text = self.text_of(line) or text
                    continue
                tokens.append(self._token_of(fields))
                if tagged:
                    tags.append(self.tag_of(fields))
            except Unusable as error:
                return Sentence(number, problem=str(error))
            lines.append(number)
        if len(tokens) > LONGEST or len(block.lines) >= 2 * LONGEST:
            return Sentence(block.first, problem=note(
                "a sentence of more than {limit:,} tokens; a blank line ends a sentence", limit=LONGEST
            ))  # fmt: skip
        return Sentence(lines[0] if lines else block.first, tokens, tags, text, lines)

    def _token_of(self, fields: list[str]) -> str:
        token = fields[self.token_at] if self.token_at < len(fields) else ""
        if not token:
            raise Unusable(note("a line without a token"))
        if "\0" in token:
            raise Unusable(note("a NUL character"))
        if len(token) > FIELD_CAP:
            raise Unusable(note("a token of {count:,} characters", count=len(token)))
        return token.strip() or token
