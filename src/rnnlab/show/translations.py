"""What a report shows of translators: attention beside the alignment of words, exposure bias, and sentences that one
translates and another doesn't."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from rnnlab.comparing.records import Record
from rnnlab.comparing.translated import SentenceMap, Translated, translated
from rnnlab.core.errors import RnnlabError, english
from rnnlab.core.words import note
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import Sequences
from rnnlab.data.vocabulary import END, PADDING
from rnnlab.inspecting.translating import Grid, WritingExposure, attention_map, writing_exposure
from rnnlab.models.network import Network
from rnnlab.models.translating import Ibm1, Translating
from rnnlab.runs.directory import RunDirectory
from rnnlab.tasks.base import Task
from rnnlab.training.run import own_process_state
from rnnlab.use.stored import open_model, open_run

LENGTHS = (0.15, 0.5, 0.9)  # of the test rows, in the order of their lengths: those whose maps are shown
LONGEST_MAP = 40  # tokens of either side
EXPOSED = 300  # test rows


@own_process_state(threads=1)  # as in training
def translations(
    records: Sequence[Record], chosen: Sequence[Record], ours: str | None, data: EncodedData, remarks: list[str]
) -> Translated | None:
    """``chosen``: a finished run per arm; ``ours``: the arm that the others are compared with. What can't be told is
    said in ``remarks``."""
    if not chosen:
        return None
    task, preprocessor = chosen[0].spec.task, Preprocessor.of(data)
    sources_of = partial(_sources, task, data, remarks)
    texts_of = partial(_written, data.test, preprocessor)
    found = translated(records, chosen, ours, data.references["test"], sources_of, texts_of)
    if found is None:
        return None
    first = sorted(chosen, key=lambda record: record.label != ours)
    networks = [(one, open_run(RunDirectory(one.path))[2]) for one in first if one.spec.training]
    looked, maps = _maps(networks, records, data, preprocessor)
    exposures = tuple((one.label, of) for one, network in networks if (of := _exposed(network, data)) is not None)
    return replace(found, looked=looked, maps=maps, exposures=exposures)


def _sources(task: Task, data: EncodedData, remarks: list[str], rows: Sequence[int]) -> list[str]:
    """As they stand in the data; where that changed since, as the model read them."""
    try:
        texts = task.texts(rows)
    except (RnnlabError, OSError) as error:
        said = note("the texts of the test rows can't be read any more: {error}", error=english(error))
        if said not in remarks:
            remarks.append(said)
        texts = None
    if texts is not None:
        return texts
    assert data.vocabulary is not None
    assert data.tokenizer is not None
    return [data.tokenizer.join(data.vocabulary.spelled(data.test.row(row).tolist())) for row in rows]


def _written(test: Sequences, preprocessor: Preprocessor, record: Record, rows: Sequence[int]) -> list[str]:
    """What a run wrote for test rows. A baseline writes it again."""
    assert preprocessor.writes is not None
    if isinstance(record.spec.model, Translating):
        learnt = open_model(record.path).learnt
        return record.spec.model.texts(learnt, test.chosen(np.array(rows)), preprocessor)
    kept = record.answers.kept("test")["written"]
    return [preprocessor.writes.written(_ids(kept[row])) for row in rows]


def _ids(row: np.ndarray) -> list[int]:
    """Without padding."""
    return row[row != PADDING].tolist()


def _exposed(network: Network, data: EncodedData) -> WritingExposure | None:
    found = writing_exposure(network, data.test, EXPOSED)
    return found if found.groups > 1 else None


# --- maps -------------------------------------------------------------------------------------------------------------


def _maps(
    networks: Sequence[tuple[Record, Network]],
    records: Sequence[Record],
    data: EncodedData,
    preprocessor: Preprocessor,
) -> tuple[str | None, tuple[SentenceMap, ...]]:
    """Of the first network that has attention."""
    by_words = next((one for one in records if one.finished and isinstance(one.spec.model, Ibm1)), None)
    learnt = None if by_words is None else open_model(by_words.path).learnt
    for record, network in networks:
        written = record.answers.kept("test")["written"]
        found = []
        for row in _chosen_rows(data.test, written):
            read, ids = data.test.row(row).tolist(), [*_ids(written[row]), END]
            weights = attention_map(network, read, ids)
            if weights is None:
                break
            aligned = None if learnt is None else _aligned(by_words, learnt, read, ids)
            found.append(SentenceMap(row, *_spelled(preprocessor, read, ids), weights, aligned))
        if found:
            return record.label, tuple(found)
    return None, ()


def _chosen_rows(test: Sequences, written: np.ndarray) -> list[int]:
    """Short, middling and long ones, among those that fit a map: the first of a length, whatever its translation is
    worth."""
    lengths = test.lengths
    fitting = np.flatnonzero((lengths <= LONGEST_MAP) & ((written != PADDING).sum(1) < LONGEST_MAP))
    if not len(fitting):
        return []
    wanted = np.quantile(lengths[fitting], LENGTHS, method="nearest")
    found = [int(fitting[np.flatnonzero(lengths[fitting] == length)[0]]) for length in wanted]
    return list(dict.fromkeys(found))


def _aligned(record: Record | None, learnt: dict[str, np.ndarray], read: list[int], ids: list[int]) -> Grid:
    """Of the same tokens; the end isn't aligned with anything."""
    assert record is not None
    assert isinstance(record.spec.model, Ibm1)
    found = record.spec.model.alignment(learnt, read, ids[:-1])
    return (*map(tuple, found.tolist()), (0.0,) * len(read))


def _spelled(
    preprocessor: Preprocessor, read: Sequence[int], written: Sequence[int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    assert preprocessor.vocabulary is not None
    assert preprocessor.writes is not None
    assert preprocessor.writes.vocabulary is not None
    return tuple(preprocessor.vocabulary.spelled(read)), tuple(preprocessor.writes.vocabulary.spelled(written))
