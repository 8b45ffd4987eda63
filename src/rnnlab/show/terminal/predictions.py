"""What ``rnnlab predict`` prints: plain lines, so that one answer need not wait for tables and colours to be loaded."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rnnlab.answers.prediction import Explanation, Prediction
from rnnlab.core.words import CLAUSES, Both, both, joined, retold, say
from rnnlab.data.formats.base import BadRow
from rnnlab.use.writing import Surprise

MOST_SURPRISING = 10  # places of a text that are shown
AROUND = 30  # characters before a place


def print_predictions(
    names: Iterable[str], answers: Iterable[Any], as_json: bool = False, top: int | None = None
) -> None:
    """One line per input, as it comes; of an explained one two, or three with a runner-up. An answer may be a bad
    row."""
    for name, answer in zip(names, answers, strict=True):
        if as_json:
            print(json.dumps({"input": name, **_values(answer, top)}, ensure_ascii=False), flush=True)
        else:
            print("\n".join(_lines(name, answer, top)), flush=True)


def _values(answer: Prediction | Explanation | BadRow, top: int | None) -> dict[str, Any]:
    if isinstance(answer, BadRow):
        return {"line": answer.line, "label": None, "problem": answer.reason}
    values = answer.to_dict()
    if top is not None and "probabilities" in values:
        best = sorted(values["probabilities"].items(), key=lambda item: -item[1])[:top]
        values["probabilities"] = dict(best)
    return values


def _lines(name: str, answer: Prediction | Explanation | BadRow, top: int | None) -> Iterator[str]:
    if isinstance(answer, BadRow):
        problem = say("line {line}: {reason}", line=answer.line, reason=retold(answer.reason))
        yield f"\t\t{name}  ({problem})"
        return
    told = answer.prediction if isinstance(answer, Explanation) else answer
    remark = f"  ({retold(told.remark)})" if told.remark else ""
    best = [f"{label}\t{probability:.3f}" for label, probability in told.top(top)] if top is not None else told.told
    yield "\t".join([*best, f"{name}{remark}"])
    if isinstance(answer, Explanation):
        yield f"    {_told(answer) if answer.of is None else joined([_explained(answer), _told(answer)], CLAUSES)}"
        if answer.runner_up is not None:
            second = both("runner-up {tag}", tag=answer.runner_up.label)
            yield f"    {joined([second, _told(answer.runner_up)], CLAUSES)}"


def _told(answer: Explanation) -> Both:
    """What speaks for the label, and what against it."""
    sides = zip((both("for: {tokens}"), both("against: {tokens}")), answer.strongest(), strict=True)
    told_sides = [
        side.format(tokens=", ".join(f"{token} {weight:+.2f}" for token, weight in tokens))
        for side, tokens in sides
        if tokens
    ]
    return joined(told_sides, CLAUSES) if told_sides else both("no token counts")


def _explained(answer: Explanation) -> Both:
    """The token whose tag is explained."""
    assert answer.of is not None
    tokens = getattr(answer.prediction, "tokens", ())
    return both("token {number} ({token}), {tag}", number=answer.of + 1, token=tokens[answer.of], tag=answer.label)


def print_surprise(surprise: Surprise, as_json: bool = False) -> None:
    """How surprised a language model is by a text; and where the most, a line each, with what stands before."""
    if as_json:
        print(json.dumps(surprise.to_dict(), ensure_ascii=False))
        return
    print(
        say(
            "{tokens:,} tokens: {nats:.4f} nats per token, perplexity {perplexity:,.2f}, {bits:.4f} bits per character",
            tokens=len(surprise.tokens),
            nats=surprise.per_token,
            perplexity=surprise.perplexity,
            bits=surprise.bits_per_character,
        )
    )
    if surprise.unknown:
        print(say("{count:,} tokens are unknown to the model", count=len(surprise.unknown)))
    print(say("The most surprising places:"))
    for at in surprise.highest(MOST_SURPRISING):
        before = surprise.before(at, AROUND)
        print(f"  {surprise.nats[at]:6.2f}  {_visible(before)}[{_visible(surprise.tokens[at])}]")


def _visible(text: str) -> str:
    return text.replace("\n", "⏎")
