"""The model card as Markdown, for people: ``card.md`` in a bundle."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rnnlab.core.numbers import count, percent, size
from rnnlab.use.card import Card
from rnnlab.use.card_wording import recalls_of

SCORES = {"accuracy": "accuracy", "macro_f1": "macro-F1", "loss": "loss"}


def card_markdown(card: Card, name: str) -> str:
    """``name`` is the digest of the run."""
    return "\n".join([*_lines(card, name)]) + "\n"


def accuracy_line(card: Card) -> str | None:
    """``98.7 % (95 % interval 97.9–99.5 %, over 3 seeds)``."""
    if card.accuracy is None:
        return None
    found = card.accuracy
    source = f"over {found.seeds} seeds" if found.seeds > 1 else "from the test rows of one run"
    return f"{percent(found.mean)} (95 % interval {100 * found.low:.1f}–{percent(found.high)}, {source})"


def calibration_line(card: Card) -> str | None:
    if card.calibration is None:
        return None
    found = card.calibration
    return (
        f"ECE {percent(found.ece_before)} before, {percent(found.ece_after)} after (temperature "
        f"{found.temperature:.2f}, fitted on {found.rows:,} validation rows; ECE on {found.test_rows:,} test rows)"
    )


def packed_lines(path: Path, card: Card, question: str | None) -> Iterator[str]:
    """What ``rnnlab pack`` says. ``question`` is what the model can be asked, for example."""
    what = f"{card.model['kind']}, {count(card.model['parameters'])} parameters, trained on {card.data['name']}"
    yield f"{path}: {size(path.stat().st_size)}, {what}"
    if (line := accuracy_line(card)) is not None:
        yield f"test: {card.model['measure']} {line}"
    if (line := calibration_line(card)) is not None:
        yield f"probabilities: {line}"
    yield ""
    yield "Limits:"
    yield from (f"- {limit}" for limit in card.limits)
    if question is not None:
        yield ""
        yield f'Use it:  rnnlab predict {path} "{question}"'
        yield f"         rnnlab serve {path}"


def _lines(card: Card, name: str) -> Iterator[str]:
    yield f"# Model card: {card.model['kind']} on {_cell(card.data['name'])}"
    yield ""
    yield card.intended_use
    yield ""
    yield from _table(("", ""), _facts(card, name))
    yield ""
    yield "## Scores"
    yield ""
    names = [key for key in SCORES if key in card.metrics["test"]]
    rows = [[part, *(_score(key, card.metrics[part][key]) for key in names)] for part in ("valid", "test")]
    yield from _table(["rows", *(SCORES[key] for key in names)], rows)
    yield ""
    if (line := accuracy_line(card)) is not None:
        yield f"Test: {card.model['measure']} {line}."
        yield ""
    if "confusion" in card.metrics["test"]:
        yield "## By label"
        yield ""
        yield "Recall: of the test rows with this label, the share that is found."
        yield ""
        labels = zip(card.data["labels"], card.data["test_labels"], recalls_of(card.metrics), strict=True)
        shown = [[label, f"{rows:,}", "–" if recall is None else percent(recall)] for label, rows, recall in labels]
        yield from _table(("label", "test rows", "recall"), shown)
        yield ""
    if (line := calibration_line(card)) is not None:
        yield "## Probabilities"
        yield ""
        yield f"{line}. ECE: the mean distance between how sure the answers are and how often they are right."
        yield ""
    yield "## Limits"
    yield ""
    yield from (f"- {limit}" for limit in card.limits)


def _facts(card: Card, name: str) -> Iterator[Sequence[str]]:
    yield "run", f"{name} (seed {card.model['seed']})"
    yield "parameters", count(card.model["parameters"])
    if "chosen" in card.model:
        yield "chosen on validation", ", ".join(f"{name} {value}" for name, value in card.model["chosen"].items())
    rows = ", ".join(f"{part} {number:,}" for part, number in card.data["rows"].items())
    yield "data", f"{card.data['name']}: {rows}"
    if card.data["fingerprint"]:
        yield "fingerprint of the data", card.data["fingerprint"]
    if "script" in card.data:
        yield "texts", f"{card.data['script']}; tokeniser {card.data['tokenizer']}; {card.data['vocabulary']:,} words"
    yield (
        "made with",
        ", ".join(f"{key} {card.environment[key]}" for key in ("rnnlab", "torch") if key in card.environment),
    )


def _score(name: str, value: float) -> str:
    return f"{value:.4f}" if name == "loss" else percent(value)


def _table(head: Sequence[str], rows: "Iterator[Sequence[str]] | list[list[str]]") -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)


def _cell(text: str) -> str:
    """A label may be any text."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
