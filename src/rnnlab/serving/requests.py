"""The body of a request, checked: from bytes that anybody may have sent to texts that a model can be asked."""

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from rnnlab.core.errors import DataError, english
from rnnlab.serving.limits import Limits, Refusal
from rnnlab.use.writing import Manner

KEYS = ("text", "texts", "wav", "wavs", "model", "top", "explain")
WRITING_KEYS = (
    "prompt", "model", "length", "samples", "temperature", "top_k", "top_p", "stop", "seed", "stream",
)  # fmt: skip
SCORING_KEYS = ("text", "model")
WARMEST = 1000  # then every token is as likely as any other, for long
MOST = 2**53  # the largest whole number that every reader of JSON has
SHOWN = 40  # characters of what was sent, in a reason

# A string, which may lack its end. Possessive: there is one way to read it, so that no body takes long to look through.
STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
INNERMOST = re.compile(rb"\[\]|\{\}")
SURROGATE = re.compile("[\ud800-\udfff]")


Text = str | dict[str, str] | bytes
"""What is asked about: of a model of several text columns, the text of each by its name; of one that hears recordings,
the bytes of a WAV file."""


@dataclass(frozen=True)
class Question:
    texts: tuple[Text, ...]
    model: str | None  # None: the first
    top: int | None  # None: all labels
    explain: bool


@dataclass(frozen=True)
class WritingQuestion:
    prompt: str
    model: str | None  # None: the first that writes
    length: int
    samples: int
    manner: Manner
    stream: bool


def read_writing(body: bytes, limits: Limits) -> WritingQuestion:
    values = object_of(body, limits, WRITING_KEYS, "prompt")
    prompt = values.get("prompt", "")
    check_text("prompt", prompt, limits.characters)
    stops = values.get("stop", [])
    stops = [stops] if isinstance(stops, str) else stops
    if not isinstance(stops, list) or len(stops) > limits.stops:
        raise unfit(f"stop: a text, or a list of at most {limits.stops} texts, is needed (got {kind_of(stops)})")
    for number, text in enumerate(stops):
        check_text(f"stop[{number}]", text, limits.characters)
    stream = values.get("stream", False)
    if not isinstance(stream, bool):
        raise unfit(f"stream: true or false is needed (got {kind_of(stream)})")
    if isinstance(values.get("temperature"), int | float) and values["temperature"] > WARMEST:
        raise unfit(f"temperature: at most {WARMEST} (got {values['temperature']})")
    length = _whole(values, "length", 1, limits.length, min(400, limits.length))
    samples = _whole(values, "samples", 1, limits.samples, 1)
    top_k = _whole(values, "top_k", 1, MOST, 0) or None
    seed = _whole(values, "seed", 0, MOST, 0)
    try:
        manner = Manner(_real(values, "temperature"), top_k, _real(values, "top_p"), seed, tuple(stops))
    except DataError as error:
        raise unfit(english(error)) from None
    return WritingQuestion(prompt, model_of(values), length, samples, manner, stream)


def read_scoring(body: bytes, limits: Limits) -> tuple[str, str | None]:
    """The text, and the name of the model."""
    values = object_of(body, limits, SCORING_KEYS, "text")
    if not values.get("text"):
        raise unfit("text: a text to be scored is needed, and it may not be empty")
    check_text("text", values["text"], limits.characters)
    return values["text"], model_of(values)


def check_text(where: str, text: Any, characters: int) -> None:
    if not isinstance(text, str):
        raise unfit(f"{where}: a string is needed (got {kind_of(text)})")
    if not text.isascii() and SURROGATE.search(text):
        raise unfit(f"{where}: half of a surrogate pair is no character")
    if len(text) > characters:
        raise unfit(f"{where}: at most {characters:,} characters (got {len(text):,})")


def _whole(values: dict[str, Any], key: str, least: int, most: int, default: int) -> int:
    value = values.get(key, default)
    whole = (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    )
    if key in values and not (whole and least <= value <= most):
        raise unfit(f"{key}: a whole number from {least} to {most:,} is needed (got {kind_of(value)})")
    return int(value)


def _real(values: dict[str, Any], key: str) -> float:
    value = values.get(key, 1.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > MOST:
        raise unfit(f"{key}: a number is needed (got {kind_of(value)})")
    return float(value)


def object_of(body: bytes, limits: Limits, keys: tuple[str, ...], example: str) -> dict[str, Any]:
    values = read_json(body, limits.depth)
    if not isinstance(values, dict):
        raise unfit(f'a JSON object is needed, like {{"{example}": "…"}} (got {kind_of(values)})')
    for key in values:
        if key not in keys:
            raise unfit(f"unknown key {shown(key)}; the keys are {', '.join(keys)}")
    return values


def read_question(body: bytes, limits: Limits) -> Question:
    values = object_of(body, limits, KEYS, "text")
    texts = _sounds(values, limits) if {"wav", "wavs"} & values.keys() else _texts(values, limits)
    explain = _explain(values, texts, limits)
    return Question(texts, model_of(values), _top(values), explain)


def read_json(body: bytes, depth: int) -> Any:
    """Strict JSON: UTF-8, no NaN, no key twice, not nested deeper than so."""
    if _deeper(body, depth):
        raise Refusal(400, "bad_json", f"the body is JSON nested deeper than {depth}, or its brackets don't match")
    try:
        return json.loads(
            body.decode("utf-8"), parse_constant=_no_constant, parse_int=_integer, object_pairs_hook=_once
        )
    except UnicodeDecodeError as error:
        raise Refusal(400, "bad_encoding", f"the body isn't UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise Refusal(400, "bad_json", f"the body isn't JSON: {error.msg} (character {error.pos})") from None


def _deeper(body: bytes, depth: int) -> bool:
    """Whether JSON is nested deeper than `depth`, without reading it: a parser would recurse. Also true of brackets
    that don't match."""
    if body.count(b"[") + body.count(b"{") <= depth:
        return False
    brackets = STRING.sub(b"", body).translate(None, NOT_BRACKETS)
    for _ in range(depth):
        if not brackets:
            return False
        brackets = INNERMOST.sub(b"", brackets)
    return bool(brackets)


def _no_constant(name: str) -> Any:
    raise Refusal(400, "bad_json", f"{name} is no JSON")


def _integer(digits: str) -> int:
    if len(digits) > 100:
        raise Refusal(400, "bad_json", f"a number of {len(digits):,} digits")
    return int(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen = set[str]()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise Refusal(400, "bad_json", f"the key {shown(twice)} is there twice")
    return values


def _texts(values: dict[str, Any], limits: Limits) -> tuple[Text, ...]:
    if ("text" in values) == ("texts" in values):
        raise unfit("give either 'text' or 'texts'")
    texts = [values["text"]] if "text" in values else values["texts"]
    if not isinstance(texts, list):
        raise unfit(f"texts: a list of strings is needed (got {kind_of(texts)})")
    if not texts:
        raise unfit("texts: the list is empty")
    if len(texts) > limits.texts:
        raise unfit(f"texts: at most {limits.texts:,} in a request (got {len(texts):,})")
    for number, text in enumerate(texts):
        place = "text" if "text" in values else f"texts[{number}]"
        columns = text if isinstance(text, dict) else {place: text}
        for name, column in columns.items():
            where = place if columns is not text else f"{place}.{shown(name)}"
            if not isinstance(column, str):
                raise unfit(f"{where}: a string is needed (got {kind_of(column)})")
            if not column.isascii() and SURROGATE.search(column):
                raise unfit(f"{where}: half of a surrogate pair is no character")
        if length_of(text) > limits.characters:
            raise unfit(f"{place}: at most {limits.characters:,} characters (got {length_of(text):,})")
    return tuple(texts)


def _sounds(values: dict[str, Any], limits: Limits) -> tuple[bytes, ...]:
    """WAV files in base64; how large they are, the limit of a body says."""
    if len({"text", "texts", "wav", "wavs"} & values.keys()) > 1:
        raise unfit("give one of 'text', 'texts', 'wav' and 'wavs'")
    sent = [values["wav"]] if "wav" in values else values["wavs"]
    if not isinstance(sent, list):
        raise unfit(f"wavs: a list of strings is needed (got {kind_of(sent)})")
    if not sent:
        raise unfit("wavs: the list is empty")
    if len(sent) > limits.texts:
        raise unfit(f"wavs: at most {limits.texts:,} in a request (got {len(sent):,})")
    found = []
    for number, text in enumerate(sent):
        place = "wav" if "wav" in values else f"wavs[{number}]"
        if not isinstance(text, str):
            raise unfit(f"{place}: a WAV file in base64 is needed, as a string (got {kind_of(text)})")
        try:
            found.append(base64.b64decode(text, validate=True))
        except ValueError:
            raise unfit(f"{place}: this isn't base64") from None
    return tuple(found)


def length_of(text: Text) -> int:
    return sum(map(len, text.values())) if isinstance(text, dict) else len(text)


def model_of(values: dict[str, Any]) -> str | None:
    name = values.get("model")
    if "model" in values and not isinstance(name, str):
        raise unfit(f"model: a name is needed (got {kind_of(name)})")
    return name


def _top(values: dict[str, Any]) -> int | None:
    if "top" not in values:
        return None
    top = values["top"]
    whole = (isinstance(top, int) and not isinstance(top, bool)) or (isinstance(top, float) and top.is_integer())
    if not whole or top < 1:
        raise unfit(f"top: a whole number from 1 on is needed (got {kind_of(top)})")
    return int(top)


def _explain(values: dict[str, Any], texts: tuple[Text, ...], limits: Limits) -> bool:
    explain = values.get("explain", False)
    if explain is True and isinstance(texts[0], bytes):
        raise unfit("explain: tokens of texts are explained, and a recording has none")
    if not isinstance(explain, bool):
        raise unfit(f"explain: true or false is needed (got {kind_of(explain)})")
    if explain and len(texts) > limits.explained:
        raise unfit(f"explain: at most {limits.explained} texts in a request (got {len(texts):,})")
    if explain and max(map(length_of, texts)) > limits.explained_characters:
        raise unfit(f"explain: at most {limits.explained_characters:,} characters a text")
    return explain


def unfit(reason: str) -> Refusal:
    return Refusal(422, "invalid", reason)


def shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def kind_of(value: Any) -> str:
    """In JSON's words; the value itself may be long, or private."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {value}"
    kinds = {dict: "an object", list: "a list", str: "a string", type(None): "null"}
    return kinds[type(value)]
