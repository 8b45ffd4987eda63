"""What may stand in a body, and what may not."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnlab.serving.limits import Limits, Refusal
from rnnlab.serving.requests import Question, read_json, read_question

LIMITS = Limits()


def refused(body: bytes) -> Refusal:
    with pytest.raises(Refusal) as found:
        read_question(body, LIMITS)
    return found.value


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"text": "a"}', Question(("a",), None, None, False)),
        (b' {"texts": ["a", ""], "model": "m", "top": 2}\n', Question(("a", ""), "m", 2, False)),
        (b'{"text": "a", "top": 1.0, "explain": true}', Question(("a",), None, 1, True)),
        ('{"text": "一部好电影 😀"}'.encode(), Question(("一部好电影 😀",), None, None, False)),
        (b'{"text": "\\ud83d\\ude00 \\u0000"}', Question(("😀 \0",), None, None, False)),
        (
            b'{"text": "[[[[[[[[[[[[[[[[[[[[[[[[ {{{ \\" ]"}',
            Question(('[[[[[[[[[[[[[[[[[[[[[[[[ {{{ " ]',), None, None, False),
        ),
        (json.dumps({"text": "x" * LIMITS.characters}).encode(), Question(("x" * 20_000,), None, None, False)),
    ],
)
def test_questions(body, expected):
    assert read_question(body, LIMITS) == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "isn't JSON"),
        (b'{"text": "a"', "isn't JSON"),
        (b'{"text": "a"} x', "isn't JSON"),
        (b"{'text': 'a'}", "isn't JSON"),
        (b'{"text": "a\nb"}', "isn't JSON"),
        (b'{"text": "\xff"}', "isn't UTF-8 (byte 10)"),
        ('{"text": "a"}'.encode("utf-16"), "isn't UTF-8"),
        (b'{"text": NaN}', "NaN is no JSON"),
        (b'{"text": "a", "top": Infinity}', "Infinity is no JSON"),
        (b'{"text": "a", "top": -Infinity}', "-Infinity is no JSON"),
        (b'{"text": "a", "text": "b"}', "'text' is there twice"),
        (b'{"text": "a", "top": ' + b"1" * 5000 + b"}", "5,000 digits"),
        (b'{"text": ' + b"[" * 20 + b"]" * 20 + b"}", "nested deeper than 20"),
    ],
)
def test_what_is_no_json(body, reason):
    found = refused(body)
    assert (found.status, reason in found.reason) == (400, True), found.reason


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "a JSON object is needed"),
        ("a", "a JSON object is needed"),
        (None, "got null"),
        ({}, "either 'text' or 'texts'"),
        ({"text": "a", "texts": ["a"]}, "either 'text' or 'texts'"),
        ({"text": "a", "lang": "en"}, "unknown key 'lang'"),
        ({"text": ["a"]}, "text: a string is needed (got a list)"),
        ({"text": None}, "text: a string is needed (got null)"),
        ({"texts": "a"}, "texts: a list of strings is needed (got a string)"),
        ({"texts": []}, "the list is empty"),
        ({"texts": ["a", 3]}, "texts[1]: a string is needed (got the number 3)"),
        ({"texts": ["a"] * 257}, "at most 256 in a request (got 257)"),
        ({"texts": ["a", "x" * 20_001]}, "texts[1]: at most 20,000 characters (got 20,001)"),
        ({"text": "a \ud800"}, "text: half of a surrogate pair"),
        ({"text": "a", "model": 3}, "model: a name is needed"),
        ({"text": "a", "model": None}, "model: a name is needed (got null)"),
        ({"text": "a", "top": 0}, "top: a whole number from 1 on"),
        ({"text": "a", "top": 1.5}, "top: a whole number"),
        ({"text": "a", "top": True}, "top: a whole number from 1 on is needed (got true)"),
        ({"text": "a", "top": "1"}, "top: a whole number"),
        ({"text": "a", "explain": 1}, "explain: true or false"),
        ({"texts": ["a"] * 9, "explain": True}, "explain: at most 8 texts"),
        ({"text": "a" * 1001, "explain": True}, "explain: at most 1,000 characters"),
    ],
)
def test_what_is_no_question(values, reason):
    found = refused(json.dumps(values).encode())
    assert (found.status, found.code) == (422, "invalid")
    assert reason in found.reason
    json.loads(found.body)


@pytest.mark.parametrize("body", [b'{"text": "a", "top": 1e999}', b'{"text": "a", "top": -1e999}'])
def test_numbers_that_are_too_large(body):
    assert refused(body).status == 422


def test_a_key_that_is_no_text():
    assert json.loads(refused(b'{"\\ud800": 1}').body)["error"]["code"] == "invalid"


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 900_000,
        b"[],{}" * 200_000,
        b'"' + b'\\"[' * 300_000,  # a string without an end
        b'"\\' * 450_000,
        b'["",' * 200_000,
    ],
    ids=["lists", "objects", "open", "many", "string", "backslashes", "strings"],
)
def test_no_body_takes_long_to_refuse(body):
    began = time.process_time()
    assert refused(body).status == 400
    assert time.process_time() - began < 1.0  # a quadratic search would take minutes


DEPTHS = st.recursive(
    st.just("[x]{y}") | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("[]{}"), inner, max_size=3),
    max_leaves=15,
)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


@given(value=DEPTHS, limit=st.integers(0, 6))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_depth_is_counted_as_json_nests(value, limit):
    body = json.dumps(value).encode()
    if depth(value) <= limit:
        assert read_json(body, limit) == value
    else:
        with pytest.raises(Refusal, match="nested deeper"):
            read_json(body, limit)


@given(body=st.binary(max_size=80) | st.text('[]{}",\\:1texs ', max_size=80).map(str.encode))
@settings(derandomize=True, deadline=None, max_examples=500)
def test_rubbish_is_refused_with_a_reason(body):
    try:
        outcome = read_question(body, LIMITS)
    except Refusal as refusal:
        outcome = refusal
    assert isinstance(outcome, Question) or (outcome.status in (400, 422) and outcome.reason)
