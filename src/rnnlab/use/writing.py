"""A language model writes, token by token, and says how surprised it is by a text."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, Literal, Protocol

import numpy as np
import torch

from rnnlab.answers.stepping import ByRecurrence, Recurrence, recurrence_of
from rnnlab.answers.text import Text
from rnnlab.core.errors import DataError, RunError
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences, offsets_of
from rnnlab.data.text import encode_texts
from rnnlab.data.tokenizers import Tokenizer
from rnnlab.data.vocabulary import BEGIN, END, PADDING, UNKNOWN, Vocabulary
from rnnlab.models.base import State, select_rows
from rnnlab.models.continuing import Continuing
from rnnlab.models.network import Network
from rnnlab.models.sampling import choose, uniforms
from rnnlab.tasks.base import Task
from rnnlab.training.evaluate import evaluate
from rnnlab.use.stored import StoredModel, open_model

MOST_ROWS = 256  # that are written at the same time
LONGEST_STOP = 1000  # characters of a text at which writing stops
Ended = Literal["length", "end", "stop", "time"]


@dataclass(frozen=True)
class Sample:
    """What a model wrote after a prompt."""

    prompt: str
    text: str  # without the prompt
    tokens: int  # that were written
    nats: float  # of all of them, as the model has it at temperature 1
    ended: Ended  # by the length that was asked for, the end of a row, a stop text, or because the time was over
    number: int = 0  # of the sample, from 0, which with the seed decides what is drawn

    def to_dict(self) -> dict[str, Any]:
        return {
            "prompt": self.prompt,
            "text": self.text,
            "tokens": self.tokens,
            "nats_per_token": self.nats / max(1, self.tokens),
            "ended": self.ended,
            "sample": self.number,
        }


@dataclass(frozen=True)
class Surprise:
    """A text as a model reads it: its tokens, and the nats of each."""

    tokens: tuple[str, ...]
    nats: np.ndarray  # (tokens,)
    unknown: tuple[int, ...]  # places of tokens that the vocabulary lacks
    characters: int
    join: Callable[[Sequence[str]], str]  # tokens as a text

    @property
    def per_token(self) -> float:
        return float(self.nats.mean())

    @property
    def perplexity(self) -> float:
        return math.exp(min(700.0, self.per_token))

    def highest(self, count: int) -> list[int]:
        """The most surprising tokens, by their places."""
        return np.argsort(-self.nats, kind="stable")[:count].tolist()

    def before(self, at: int, characters: int) -> str:
        """What stands before a token."""
        return self.join(self.tokens[max(0, at - characters) : at])[-characters:]

    @property
    def bits_per_character(self) -> float:
        return float(self.nats.sum() / self.characters / math.log(2))

    def to_dict(self) -> dict[str, Any]:
        return {
            "tokens": list(self.tokens),
            "nats": [round(float(value), 5) for value in self.nats],
            "nats_per_token": self.per_token,
            "perplexity": self.perplexity,
            "bits_per_character": self.bits_per_character,
            "unknown": list(self.unknown),
        }


@dataclass(frozen=True)
class Manner:
    """How tokens are chosen."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise DataError("temperature: 0 or more (got {value})", value=self.temperature)
        if self.top_k is not None and self.top_k < 1:
            raise DataError("top_k: at least 1 (got {value})", value=self.top_k)
        if not 0 < self.top_p <= 1:
            raise DataError("top_p: above 0, at most 1 (got {value})", value=self.top_p)
        if any(not text or len(text) > LONGEST_STOP for text in self.stop):
            raise DataError("stop: texts of 1 to {most:,} characters", most=LONGEST_STOP)


class Continuation(Protocol):
    """Several texts that grow side by side; none depends on another."""

    def start(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Read the beginning of each, which is never empty; logits (B, V) of what comes next."""
        ...

    def go_on(self, ids: np.ndarray) -> np.ndarray:
        """Read one more token of each (B,); logits of what comes next."""
        ...

    def keep(self, rows: np.ndarray) -> None:
        """Go on with some of them alone."""
        ...


class ByNetwork:
    """A network with its state. One that knows no more steps than it was trained on begins anew with the last half of
    them, again and again."""

    network: Network
    longest: int | None
    state: State
    recent: list[list[int]]  # the tokens of each row so far, where they may be read again

    def __init__(self, network: Network, longest: int | None):
        self.network, self.longest = network, longest
        self.state, self.recent = (), []

    def start(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        longest = self.longest
        rows = [row if longest is None else row[-longest:] for row in rows]
        lengths = np.array([len(row) for row in rows])
        ids = np.zeros((len(rows), lengths.max()), np.int64)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
        with torch.inference_mode():
            out, self.state = self.network.advance(
                torch.from_numpy(ids), torch.from_numpy(lengths), self.network.begin(len(rows))
            )
        self.recent = [row.tolist() for row in rows] if longest is not None else []
        return out[torch.arange(len(rows)), torch.from_numpy(lengths - 1)].numpy()

    def go_on(self, ids: np.ndarray) -> np.ndarray:
        if self.longest is not None:
            for row, token in zip(self.recent, ids.tolist(), strict=True):
                row.append(token)
            if max(map(len, self.recent)) > self.longest:
                half = max(1, self.longest // 2)  # each by its own length, whatever stands beside it
                return self.start([np.array(row[-half:] if len(row) > self.longest else row) for row in self.recent])
        with torch.inference_mode():
            lengths = torch.ones(len(ids), dtype=torch.int64)
            out, self.state = self.network.advance(torch.from_numpy(ids[:, None]), lengths, self.state)
        return out[:, 0].numpy()

    def keep(self, rows: np.ndarray) -> None:
        self.state = select_rows(self.state, torch.from_numpy(rows))
        self.recent = [self.recent[row] for row in rows.tolist()] if self.recent else []


class ByCounts:
    """A baseline that knows how likely each token is after the last few."""

    model: Continuing
    learnt: dict[str, np.ndarray]

    def __init__(self, model: Continuing, learnt: dict[str, np.ndarray]):
        self.model, self.learnt = model, learnt
        self.rows: list[list[int]] = []

    def start(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        self.rows = [[int(token) for token in row if token != BEGIN] for row in rows]  # it has one of its own
        return self._logits()

    def go_on(self, ids: np.ndarray) -> np.ndarray:
        for row, token in zip(self.rows, ids.tolist(), strict=True):
            row.append(token)
        return self._logits()

    def keep(self, rows: np.ndarray) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]

    def _logits(self) -> np.ndarray:
        recent = [row[-16:] for row in self.rows]
        contexts = np.zeros((len(recent), 16), np.int32)
        for at, row in enumerate(recent):
            contexts[at, : len(row)] = row
        shares = self.model.next_shares(self.learnt, contexts, np.array([len(row) for row in recent]))
        return np.log(np.maximum(shares, 1e-300))


@dataclass
class _Row:
    """A text that is being written."""

    prompt: str
    number: int  # of the sample, which decides what is drawn
    ids: list[int] = field(default_factory=list)
    nats: float = 0.0


@dataclass
class _Telling:
    """What of a text that is being written was told."""

    row: _Row
    stop: tuple[str, ...]
    text: str = ""
    tokens: int = 0  # that are in it
    told: int = 0  # characters

    @property
    def held(self) -> int:
        """Characters at the end with which a stop text may begin."""
        return max((len(text) for text in self.stop), default=1) - 1


class Writer:
    """A language model that is asked to go on, or what it makes of a text."""

    def __init__(self, stored: StoredModel):
        self.stored = stored
        self.task: Task = stored.spec.task
        self.preprocessor: Preprocessor = stored.preprocessor
        if not isinstance(self.task.answer, Text):
            raise RunError(
                "{name}: it was trained for '{kind}', and only language models write; ask it with 'rnnlab predict'",
                name=stored.name,
                kind=self.task.kind,
            )

    @property
    def vocabulary(self) -> Vocabulary:
        assert self.preprocessor.vocabulary is not None
        return self.preprocessor.vocabulary

    @property
    def tokenizer(self) -> Tokenizer:
        assert self.preprocessor.tokenizer is not None
        return self.preprocessor.tokenizer

    @cached_property
    def forbidden(self) -> np.ndarray:
        """Ids that are never written. A stream has no end."""
        return np.array([PADDING, UNKNOWN, BEGIN, *([END] if self.task.streams else [])])

    def ids_of(self, text: str) -> np.ndarray:
        """``<s>`` and the tokens of a text."""
        if not text:
            return np.array([BEGIN], np.int64)
        values, _ = encode_texts([text], self.tokenizer, self.vocabulary)
        return np.append(BEGIN, values).astype(np.int64)

    def unknown_in(self, text: str) -> list[str]:
        """Tokens of a text that the model doesn't know."""
        known = self.vocabulary.index
        return (
            list(dict.fromkeys(token for token in self.tokenizer.tokenize(text) if token not in known)) if text else []
        )

    def generate(
        self,
        prompts: Sequence[str] = ("",),
        *,
        length: int = 400,
        samples: int = 1,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        seed: int = 0,
    ) -> list[Sample]:
        """``samples`` of each prompt in turn, each up to ``length`` tokens. Sample k of a prompt depends on the prompt,
        the seed and k alone. A text of which the model ends a row, or that comes to one of the ``stop`` texts (which
        is left out), is shorter."""
        manner = Manner(temperature, top_k, top_p, seed, tuple(stop))
        rows = [_Row(prompt, number) for prompt in prompts for number in range(_at_least_one("samples", samples))]
        _at_least_one("length", length)
        found: list[Sample] = []
        for first in range(0, len(rows), MOST_ROWS):
            found += self._write(rows[first : first + MOST_ROWS], length, manner)
        return found

    def stream(
        self, prompt: str = "", *, length: int = 400, number: int = 0, manner: Manner | None = None
    ) -> Iterator[str | Sample]:
        """One sample as it is written: pieces of text, which are all that `generate` gives, and at last the sample."""
        for step in self._side_by_side([_Row(prompt, number)], length, manner or Manner()):
            yield from (step.values() if isinstance(step, dict) else step)

    def streams(
        self,
        prompt: str = "",
        *,
        length: int = 400,
        samples: int = 1,
        manner: Manner | None = None,
        seconds: float = math.inf,
    ) -> Iterator[dict[int, str] | list[Sample]]:
        """Several samples side by side: with every step the pieces that are new, by the number of the sample (it may be
        none), and at last the samples. After so many ``seconds`` they end where they are."""
        rows = [_Row(prompt, number) for number in range(_at_least_one("samples", samples))]
        yield from self._side_by_side(rows, length, manner or Manner(), time.monotonic() + seconds)

    def _side_by_side(
        self, rows: list[_Row], length: int, manner: Manner, until: float = math.inf
    ) -> Iterator[dict[int, str] | list[Sample]]:
        _at_least_one("length", length)
        told = [_Telling(row, manner.stop) for row in rows]
        for _ in self._steps(rows, length, manner):
            yield {row.number: piece for row, one in zip(rows, told, strict=True) if (piece := self._new(one))}
            if time.monotonic() >= until:
                break
        found = [self._sample(row, length, manner) for row in rows]
        yield {one.number: rest for one, known in zip(found, told, strict=True) if (rest := one.text[known.told :])}
        yield found

    def _new(self, telling: "_Telling") -> str:
        """What can be told by now: not yet what a stop text may have begun with."""
        row = telling.row
        if len(row.ids) == telling.tokens:
            return ""
        telling.tokens = len(row.ids)
        if self.tokenizer.name == "chars":  # which are joined one by one; a sign moves to its word
            telling.text += "".join(self._words(row.ids[-1:]))
        else:
            telling.text = self._text(row)
        end, begun = self._stopped(telling.text, telling.stop), telling.told
        known = len(telling.text) - telling.held if end is None else end
        telling.told = max(begun, known)
        return telling.text[begun : telling.told]

    def score(self, text: str) -> Surprise:
        """How surprised the model is by each token of a text."""
        ids = self.ids_of(text)
        if len(ids) < 2:
            raise DataError("there is nothing to score: the text is empty")
        row = self.task.streams or not text
        targets = ids[1:] if row else np.append(ids[1:], END)
        values = ids[:-1] if row else ids
        offsets = offsets_of(np.array([len(values)]))
        data = Sequences.end_to_end(
            values.astype(np.int32), offsets, targets, np.zeros(1, np.int64), target_offsets=offsets
        )
        tokens = [self.vocabulary.words[target] for target in targets.tolist()]
        model = self.stored.spec.model
        if isinstance(model, Continuing):
            nats = model.surprise(self.stored.learnt, data)
        else:
            kept = evaluate(self.stored.network, self.task.answer, data, torch.device("cpu"), self.stored.spec.longest)
            nats = kept["nats"].astype(np.float64)
        unknown = tuple(np.flatnonzero(targets == UNKNOWN).tolist())
        return Surprise(tuple(tokens), nats, unknown, len(text) + (0 if row else 1), self.tokenizer.join)

    def _write(self, rows: list[_Row], length: int, manner: Manner) -> list[Sample]:
        for _ in self._steps(rows, length, manner):
            pass
        return [self._sample(row, length, manner) for row in rows]

    def _steps(self, rows: list[_Row], length: int, manner: Manner) -> Iterator[None]:
        """Writes into the rows, a token each per step; those that came to their end are left alone."""
        writing = np.arange(len(rows))
        going = self._continuation()
        logits = going.start([self.ids_of(row.prompt) for row in rows])
        numbers = np.array([row.number for row in rows])
        for step in range(length):
            ids = choose(
                logits,
                manner.temperature,
                manner.top_k,
                manner.top_p,
                uniforms(manner.seed, numbers[writing], step),
                self.forbidden,
            )
            nats = surprise_of(logits, ids)
            for at, token, own in zip(writing.tolist(), ids.tolist(), nats.tolist(), strict=True):
                rows[at].ids.append(token)
                rows[at].nats += own
            yield
            over = np.array([self._is_over(rows[at], manner) for at in writing.tolist()])
            if over.all() or step + 1 == length:
                return
            if over.any():
                left = np.flatnonzero(~over)
                going.keep(left)
                writing, ids = writing[left], ids[left]
            logits = going.go_on(ids)

    @cached_property
    def _recurrence(self) -> Recurrence | None:
        return None if self.stored.spec.longest is not None else recurrence_of(self.stored.network)

    def _continuation(self) -> Continuation:
        model = self.stored.spec.model
        if isinstance(model, Continuing):
            return ByCounts(model, self.stored.learnt)
        if self._recurrence is not None:
            return ByRecurrence(self._recurrence)
        return ByNetwork(self.stored.network, self.stored.spec.longest)

    def _words(self, ids: Sequence[int]) -> list[str]:
        words = self.vocabulary.words
        return [words[token] for token in ids if token != END]

    def _text(self, row: _Row) -> str:
        return self.tokenizer.join(self._words(row.ids))

    def _is_over(self, row: _Row, manner: Manner) -> bool:
        if row.ids[-1] == END:
            return True
        if not manner.stop:
            return False
        recent = row.ids[-LONGEST_STOP:] if self.tokenizer.name == "chars" else row.ids
        text = self.tokenizer.join([self.vocabulary.words[token] for token in recent])
        return self._stopped(text, manner.stop) is not None

    @staticmethod
    def _stopped(text: str, stop: Sequence[str]) -> int | None:
        """Where the first stop text begins."""
        found = [at for at in (text.find(one) for one in stop) if at >= 0]
        return min(found) if found else None

    def _sample(self, row: _Row, length: int, manner: Manner) -> Sample:
        text = self._text(row)
        ended: Ended = "end" if row.ids[-1] == END else "length" if len(row.ids) == length else "time"
        if (at := self._stopped(text, manner.stop)) is not None:
            text, ended = text[:at], "stop"
        return Sample(row.prompt, text, len(row.ids), row.nats, ended, row.number)


def surprise_of(logits: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """(B,) nats of tokens, by logits (B, V)."""
    wide = logits.astype(np.float64)
    highest = wide.max(axis=1)
    whole = np.log(np.exp(wide - highest[:, None]).sum(axis=1)) + highest
    return whole - wide[np.arange(len(ids)), ids]


def _at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise DataError("{name}: at least 1 (got {value})", name=name, value=value)
    return value


def load_writer(path: str | PathLike[str]) -> Writer:
    """A language model from a run directory or a bundle."""
    return Writer(open_model(path))
