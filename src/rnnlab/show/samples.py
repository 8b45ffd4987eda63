"""What language models write by themselves, with what they copied from the training text, while they learnt and after;
what they gain from what stands before a token, what their units follow, and which tokens they take for alike."""

from collections.abc import Sequence
from dataclasses import replace

from rnnlab.comparing.chapters import Continued, EpochText, NatsByContext, WritingByEpoch, WrittenText
from rnnlab.comparing.records import Record
from rnnlab.comparing.surprise import continued
from rnnlab.core.errors import RnnlabError, english
from rnnlab.core.words import note
from rnnlab.data.encoded import EncodedData
from rnnlab.data.sequences import Sequences
from rnnlab.inspecting.context import asked_tokens, network_by_context, ngrams_by_context
from rnnlab.inspecting.copying import TrainingText
from rnnlab.inspecting.neighbours import Neighbours, neighbours
from rnnlab.inspecting.units import Units, followed_units
from rnnlab.models.continuing import KneserNey
from rnnlab.training.run import own_process_state
from rnnlab.training.samples import epoch_sample
from rnnlab.use.copied import copied_text, least_run, training_text
from rnnlab.use.stored import at_first
from rnnlab.use.writing import Writer, load_writer

TEMPERATURES = (0.5, 0.8, 1.0)
OF_THE_BEST = (0.2, 0.5, 0.8, 1.0, 1.2)
LENGTH = {"chars": 300, "words": 60}  # tokens
SEED = 0


@own_process_state(threads=1)  # as in training
def continuations(
    records: Sequence[Record], chosen: Sequence[Record], data: EncodedData | None, remarks: list[str]
) -> Continued | None:
    """``chosen`` is a finished run per arm, the best arm first. What can't be told is said in ``remarks``."""
    if not chosen:
        return None
    writers = {record.label: load_writer(record.path) for record in chosen}
    first = next(iter(writers.values()))
    found = continued(records, chosen, first.vocabulary, first.tokenizer, first.task.streams)
    if found is None:
        return None
    try:
        trained = training_text(first.task)
    except (RnnlabError, OSError) as error:
        trained = None
        remarks.append(
            note(
                "the training text can't be read any more, so copied passages aren't shown: {error}",
                error=english(error),
            )
        )
    written = [
        _written(arm, writer, temperature, trained)
        for arm, writer in writers.items()
        for temperature in (OF_THE_BEST if writer is first else TEMPERATURES)
    ]
    by_epoch = [texts for record in chosen if (texts := _by_epoch(record, writers[record.label]))]
    by_context, asked = _by_context(writers, data.test) if data and first.task.streams else ([], 0)
    return replace(
        found,
        written=tuple(written),
        least=least_run(first.tokenizer),
        by_epoch=tuple(by_epoch),
        by_context=tuple(by_context),
        asked=asked,
        units=_units(writers, data.test) if data else None,
        neighbours=_neighbours(writers),
    )


def _written(arm: str, writer: Writer, temperature: float, trained: TrainingText | None) -> WrittenText:
    length = LENGTH["chars" if writer.tokenizer.name == "chars" else "words"]
    [sample] = writer.generate(length=length, temperature=temperature, seed=SEED)
    if trained is None:
        return WrittenText(arm, temperature, ((sample.text, False),), None, None)
    found = copied_text(writer, sample.text, trained)
    return WrittenText(arm, temperature, found.pieces, found.share, found.longest)


def _by_epoch(record: Record, writer: Writer) -> WritingByEpoch | None:
    """None where nothing was recorded. The weights that were kept write as they would have in their epoch."""
    epochs = [event for event in record.events if event.get("event") == "epoch"]
    texts = {event["epoch"]: event["sample"] for event in epochs if event.get("sample")}
    best = record.result.get("best_epoch")
    if not texts:
        return None
    if best not in texts:
        spec = record.spec
        texts[best] = epoch_sample(
            writer.stored.network, writer.preprocessor, spec.seed, spec.task.streams, spec.longest
        )
    return WritingByEpoch(
        record.label,
        tuple(
            EpochText(event["epoch"], event["valid_loss"], texts[event["epoch"]], event["epoch"] == best)
            for event in epochs
            if event["epoch"] in texts
        ),
    )


def _by_context(writers: dict[str, Writer], test: Sequences) -> tuple[list[NatsByContext], int]:
    places, contexts = asked_tokens(test)
    found = []
    for arm, writer in writers.items():
        spec = writer.stored.spec
        if isinstance(spec.model, KneserNey):
            found.append(NatsByContext(arm, ngrams_by_context(writer.stored.learnt, test, places, contexts)))
        elif not writer.stored.is_baseline:
            nats = network_by_context(writer.stored.network, test, places, contexts, spec.longest)
            found.append(NatsByContext(arm, nats))
    return (found, len(places)) if contexts else ([], 0)


def _units(writers: dict[str, Writer], test: Sequences) -> tuple[str, Units] | None:
    """Of the best arm that is a recurrence."""
    for arm, writer in writers.items():
        if not writer.stored.is_baseline and (found := units_of(writer, test)) is not None:
            return arm, found
    return None


def units_of(writer: Writer, test: Sequences) -> Units | None:
    stored = writer.stored
    first = at_first(stored.spec, stored.preprocessor)
    return followed_units(stored.network, first, test, writer.vocabulary, writer.tokenizer.name == "chars")


def _neighbours(writers: dict[str, Writer]) -> tuple[str, tuple[Neighbours, ...]] | None:
    for arm, writer in writers.items():
        if not writer.stored.is_baseline:
            found = neighbours(writer.stored.network, writer.vocabulary, writer.tokenizer.name == "chars")
            return (arm, found) if found else None
    return None
