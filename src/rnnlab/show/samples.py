"""What language models write by themselves, with what they copied from the training text."""

from collections.abc import Sequence
from dataclasses import replace

from rnnlab.comparing.chapters import Continued, WrittenText
from rnnlab.comparing.records import Record
from rnnlab.comparing.surprise import continued
from rnnlab.core.errors import RnnlabError, english
from rnnlab.core.words import note
from rnnlab.inspecting.copying import TrainingText
from rnnlab.training.run import own_process_state
from rnnlab.use.copied import copied_text, least_run, training_text
from rnnlab.use.writing import Writer, load_writer

TEMPERATURES = (0.5, 0.8, 1.0)
LENGTH = {"chars": 300, "words": 60}  # tokens
SEED = 0


@own_process_state(threads=1)  # as in training
def continuations(records: Sequence[Record], chosen: Sequence[Record], remarks: list[str]) -> Continued | None:
    """``chosen`` is a finished run per arm. What can't be told is said in ``remarks``."""
    if not chosen:
        return None
    writers = {record.label: load_writer(record.path) for record in chosen}
    first = next(iter(writers.values()))
    found = continued(records, chosen, first.vocabulary, first.tokenizer, first.task.streams)
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
        _written(arm, writer, temperature, trained) for arm, writer in writers.items() for temperature in TEMPERATURES
    ]
    return found and replace(found, written=tuple(written), least=least_run(first.tokenizer))


def _written(arm: str, writer: Writer, temperature: float, trained: TrainingText | None) -> WrittenText:
    length = LENGTH["chars" if writer.tokenizer.name == "chars" else "words"]
    [sample] = writer.generate(length=length, temperature=temperature, seed=SEED)
    if trained is None:
        return WrittenText(arm, temperature, ((sample.text, False),), None, None)
    found = copied_text(writer, sample.text, trained)
    return WrittenText(arm, temperature, found.pieces, found.share, found.longest)
