"""The model card for people: ``card.md`` in a bundle, and what ``rnnlab pack`` says."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rnnlab.core.numbers import count, percent_text, score_text, size
from rnnlab.core.terms import POINTS, metric_text
from rnnlab.core.words import COMMAS, Both, both, joined, retold, say
from rnnlab.data.profile import script_text
from rnnlab.use.card import Card, by_label, by_type
from rnnlab.use.card_forecasts import told_facts

SCORES = (
    *("entity_f1", "accuracy", "unknown_words", "micro_f1", "macro_f1", "balanced_accuracy", "bleu", "chrf", "exact"),
    *("mase", "mse", "mae", "smape", "crps", "coverage"),
    *("wer", "cer", "token_accuracy", "loss"),
)
NUMBERS = ("bits_per_character", "perplexity")  # of language models, beside the loss
PLAIN = ("loss", "mase", "mse", "mae", "crps", *NUMBERS)  # numbers that are no shares


def card_markdown(card: Card, name: str) -> str:
    """``name`` is the digest of the run."""
    return "\n".join(str(line) for line in _lines(card, name)) + "\n"


def packed_lines(path: Path, card: Card, commands: Sequence[str]) -> Iterator[str]:
    """What ``rnnlab pack`` says. ``commands`` use the bundle."""
    yield say(
        "{path}: {size}, {kind}, {parameters} parameters, trained on {data}",
        path=path,
        size=size(path.stat().st_size),
        kind=card.model["kind"],
        parameters=count(card.model["parameters"]),
        data=card.data["name"],
    )
    if card.accuracy is not None:
        yield say("test: {measure} {figures}", **_accuracy(card))
    if card.calibration is not None:
        yield say("probabilities: {figures}", figures=_calibration(card))
    yield ""
    yield say("Limits:")
    yield from (f"- {limit}" for limit in card.limits)
    if commands:
        yield ""
        yield say("Use it:  {command}", command="\n         ".join(commands))


def _lines(card: Card, name: str) -> Iterator[Both | str]:
    yield both("# Model card: {kind} on {data}", kind=card.model["kind"], data=_cell(card.data["name"]))
    yield from ("", card.intended_use, "")
    yield from _table(("", ""), _facts(card, name))
    yield from ("", both("## Scores"), "")
    names = [key for key in (*SCORES, *NUMBERS) if key in card.metrics["test"]]
    titles = [metric_text(card.model["measure"] if key == card.model["score"] else key) for key in names]
    rows = [[retold(part), *(_score(key, card.metrics[part][key]) for key in names)] for part in ("valid", "test")]
    yield from _table([both("rows", _context="of a split"), *titles], rows)
    yield ""
    if card.accuracy is not None:
        yield from (both("Test: {measure} {figures}.", **_accuracy(card)), "")
    for key, text in card.model.get("signatures", {}).items():
        signed = say("Signature of {score}, in sacrebleu's words:", score=metric_text(key))
        yield from (f"{signed} `{text}`", "")
    if by_label(card.metrics):
        yield from (both("## By label"), "")
        yield from _by_label(card)
        yield ""
    if by_type(card.metrics):
        yield from (both("## By type"), "")
        yield from _by_type(card)
        yield ""
    if card.calibration is not None:
        explained = both(
            "{figures}. ECE: the mean distance between how sure the answers are and how often they are right.",
            figures=_calibration(card),
        )
        yield from (both("## Probabilities"), "", explained, "")
    yield from (both("## Limits"), "")
    yield from (f"- {limit}" for limit in card.limits)


def _by_label(card: Card) -> Iterator[Both | str]:
    yield both(
        "Recall: of the test rows with this label, the share that is found. Precision: of the answers with this label, "
        "the share that is right. F1 is high where both are."
    )
    yield ""
    found = by_label(card.metrics)
    columns: dict[Both, list[Any]] = {both("label"): card.data["labels"]}
    if "thresholds" in card.data:
        columns[both("threshold")] = [f"{threshold:.2f}" for threshold in card.data["thresholds"]]
    columns[both("test rows")] = [f"{one.rows:,}" for one in found]
    columns[both("recall")] = [_share(one.recall) for one in found]
    columns[both("precision")] = [_share(one.precision) for one in found]
    columns[both("F1")] = [_share(one.f1) for one in found]
    if card.model["score"] == "loss":
        columns[both("loss")] = ["–" if one.loss is None else f"{one.loss:.4f}" for one in found]
    yield from _table(list(columns), list(zip(*columns.values(), strict=True)))


def _by_type(card: Card) -> Iterator[Both | str]:
    yield both(
        "An entity is found where its first and last token and its type are right. Recall: of the entities of this "
        "type, the share that is found. Precision: of the answers of this type, the share that is right."
    )
    yield ""
    found = by_type(card.metrics)
    head = [both("type"), both("test entities"), both("recall"), both("precision"), both("F1")]
    rows = [
        [kind, f"{one.rows:,}", _share(one.recall), _share(one.precision), _share(one.f1)]
        for kind, one in found.items()
    ]
    yield from _table(head, rows)


def _share(value: float | None) -> Both | str:
    return "–" if value is None else percent_text(value)


def _accuracy(card: Card) -> dict[str, Both]:
    """``accuracy``, and ``98.7 % (95 % interval 97.9–99.5 %, over 3 seeds)``."""
    found = card.accuracy
    assert found is not None
    figures = both(
        "{mean} (95 % interval {low}–{high}, {source})",
        mean=card.figure(found.mean),
        low=card.figure(found.low) if card.model["unit"] == "number" else f"{100 * found.low:.1f}",
        high=card.figure(found.high),
        source=both("over {seeds} seeds", seeds=found.seeds)
        if found.seeds > 1
        else both("from the test rows of one run"),
    )
    return {"measure": metric_text(card.model["measure"]), "figures": figures}


def _calibration(card: Card) -> Both:
    found = card.calibration
    assert found is not None
    text = both(
        "ECE {before} before, {after} after (temperature {temperature:.2f}, fitted on {rows:,} validation rows; ECE on "
        "{test_rows:,} test rows)"
    )
    if "scheme" in card.data:
        text = both(
            "ECE {before} before, {after} after (temperature {temperature:.2f}, fitted on {rows:,} tokens of "
            "validation rows; ECE on {test_rows:,} tokens of test rows)"
        )
    return text.format(
        before=percent_text(found.ece_before),
        after=percent_text(found.ece_after),
        temperature=found.temperature,
        rows=found.rows,
        test_rows=found.test_rows,
    )


def _facts(card: Card, name: str) -> Iterator[Sequence[Any]]:
    model, data, made_with = card.model, card.data, card.environment
    yield both("run"), both("{name} (seed {seed})", name=name, seed=model["seed"])
    yield both("parameters"), count(model["parameters"])
    if "chosen" in model:
        yield both("chosen on validation"), ", ".join(f"{name} {value}" for name, value in model["chosen"].items())
    rows = [both("{part} {count:,}", part=retold(part), count=number) for part, number in data["rows"].items()]
    yield both("data"), both("{name}: {rows}", name=data["name"], rows=joined(rows, COMMAS))
    if data["fingerprint"]:
        yield both("fingerprint of the data"), data["fingerprint"]
    if "script" in data:
        texts = both(
            "{script}; tokeniser {tokenizer}; {words:,} words",
            script=script_text(data["script"]),
            tokenizer=data["tokenizer"],
            words=data["vocabulary"],
        )
        yield both("texts"), texts
    if "forecast" in data:
        yield from told_facts(data["forecast"])
    if data.get("scheme"):
        yield both("scheme of the tags"), data["scheme"]
    yield both("made with"), ", ".join(f"{key} {made_with[key]}" for key in ("rnnlab", "torch") if key in made_with)


def _score(name: str, value: float) -> Both | str:
    if name in POINTS:
        return score_text(value, "points")
    return f"{value:.4f}" if name in PLAIN else percent_text(value)


def _table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(map(str, head))} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(_cell(str(cell)) for cell in row)} |" for row in rows)


def _cell(text: str) -> str:
    """A label may be any text."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
