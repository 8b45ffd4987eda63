"""The laws that every task obeys, for rnnlab's own and for a plugin's.

    from rnnlab.testing import check_task

    def test_my_task():
        check_task(MyTask(data="small.tsv"))

The task should be small: its data are encoded, and a few hundred of its rows are answered several times by a small
untrained network. A broken law is an AssertionError that names it.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np
import torch

from rnnlab.answers.base import Kept, References
from rnnlab.data import store
from rnnlab.data.batches import Batch, collate
from rnnlab.data.encoded import EncodedData
from rnnlab.data.preprocessor import Preprocessor
from rnnlab.data.sequences import IGNORE, Sequences, gather_rows, offsets_of
from rnnlab.models.base import ARCHITECTURES
from rnnlab.models.network import Network
from rnnlab.tasks.base import Task
from rnnlab.testing.suite import holding, survives_json
from rnnlab.training.assemble import assemble
from rnnlab.training.evaluate import evaluate
from rnnlab.training.spec import RunSpec

MOST_ROWS = 60  # of the validation rows, on which the laws are tried
TOLERANCE = 1e-4  # float32; a batch of another shape adds in another order

TASK_LAWS: dict[str, Callable[[Task], None]] = {}


@dataclass(frozen=True, eq=False)
class Subject:
    """A task with its data, some of its rows, and a small network that answers them."""

    task: Task
    data: EncodedData
    rows: Sequences
    network: Network

    @classmethod
    def of(cls, task: Task) -> "Subject":
        task = task.resolve()  # what the data say of its answers is filled in
        data = task.load()
        rows = some_rows(data.valid, np.arange(min(MOST_ROWS, len(data.valid))))
        return cls(task, data, rows, network_for(task, data))

    def answered(self, rows: Sequences) -> Kept:
        answer = self.task.answer
        kept = evaluate(self.network, answer, rows, torch.device("cpu"))
        return answer.completed(kept, self.network, rows, Preprocessor.of(self.data), self._references(rows))

    def _references(self, rows: Sequences) -> References:
        """What is to be written, where something is."""
        writes, offsets = self.data.writes, rows.target_offsets
        if writes is None or offsets is None:
            return ()
        return [(writes.written(rows.targets[a:b].tolist()),) for a, b in itertools.pairwise(offsets.tolist())]

    def counted(self, rows: Sequences) -> dict[str, np.ndarray]:
        return self.task.answer.counts(self.answered(rows), rows.truth)


def check_task(task: Task) -> None:
    """Hold a task to every law."""
    for law in TASK_LAWS.values():
        law(task)


def network_for(task: Task, data: EncodedData) -> Network:
    """A small recurrent network in evaluation mode, with fixed weights; it reads no step before its turn. Tags are
    scored by those beside them, too, where that can be."""
    settings: dict[str, Any] = {} if data.vocabulary is None else {"embedding": {"width": 5}}
    if task.answer.chains:
        settings["crf"] = True
    model = ARCHITECTURES.parse({"kind": "gru", "hidden": 7, **settings})
    return assemble(RunSpec(task, model, None, 0), Preprocessor.of(data)).eval()


def some_rows(data: Sequences, rows: np.ndarray) -> Sequences:
    """These rows, in this order; rows are views."""
    targets, target_offsets, unseen, characters = data.targets, data.target_offsets, data.unseen, data.characters
    if data.horizon is not None:
        pass  # targets lie where windows end
    elif target_offsets is None:
        targets = targets[rows]
    else:
        unseen = None if unseen is None else gather_rows(unseen, target_offsets, rows)[0]
        characters = None if characters is None else gather_rows(characters, target_offsets, rows)[0]
        targets, target_offsets = gather_rows(targets, target_offsets, rows)
    return replace(
        data,
        starts=data.starts[rows],
        ends=data.ends[rows],
        targets=targets,
        groups=data.groups[rows],
        tags=None if data.tags is None else data.tags[rows],
        target_offsets=target_offsets,
        unseen=unseen,
        characters=characters,
        scored_from=None if data.scored_from is None else data.scored_from[rows],
        series=None if data.series is None else data.series[rows],
    )


def _law(check: Callable[[Subject], None]) -> Callable[[Task], None]:
    @wraps(check)
    def held(task: Task) -> None:
        with holding(f"'{task.kind}'", check):
            check(Subject.of(task))

    TASK_LAWS[check.__name__] = held
    return held


@_law
def settings_survive_json(subject: Subject) -> None:
    """The settings, written out and read again, are the same."""
    survives_json(subject.task)


@_law
def data_depend_on_the_settings_alone(subject: Subject) -> None:
    """Encoded twice, they are the same; and the task says which they are."""
    again = store.fingerprint(subject.task.encoded())
    assert again == store.fingerprint(subject.data), "encoding the data twice gives two results"
    assert subject.task.resolve().fingerprint == again, "resolve() names other data"


@_law
def what_is_stored_is_what_was_encoded(subject: Subject) -> None:
    """Rows, targets and offsets survive the cache."""
    found = store.find(store.fingerprint(subject.data))
    if found is None:
        return  # this task keeps nothing
    for part in ("train", "valid", "test"):
        one, other = getattr(subject.data, part), getattr(found, part)
        for field in ("values", "starts", "ends", "targets", "groups"):
            kept, found_again = getattr(one, field), getattr(other, field)
            same = np.array_equal(kept, found_again, equal_nan=kept.dtype.kind == "f")
            assert same, f"{part}.{field} changed in the cache"


@_law
def every_row_is_counted_once(subject: Subject) -> None:
    """Counts have a row for each row, in its order; and no row counts for more, or less, in another company."""
    whole = subject.counted(subject.rows)
    rows = len(subject.rows)
    for name, column in whole.items():
        assert len(column) == rows, f"'{name}' has {len(column)} rows for {rows}"
    shuffled = np.random.default_rng(0).permutation(rows)
    _same_counts(subject.counted(some_rows(subject.rows, shuffled)), whole, shuffled, "in another order")
    twice = np.concatenate([np.arange(rows), np.arange(rows)])
    _same_counts(subject.counted(some_rows(subject.rows, twice)), whole, twice, "where every row stands twice")


@_law
def counts_add_over_any_partition(subject: Subject) -> None:
    """Scores are functions of sums, and the sums of parts are the sum of the whole."""
    answer, rows = subject.task.answer, len(subject.rows)
    kept = subject.answered(subject.rows)
    totals = answer.totals(kept, subject.rows.truth)
    parts = np.array_split(np.random.default_rng(1).permutation(rows), min(3, rows))
    summed = [subject.counted(some_rows(subject.rows, part)) for part in parts]
    for name, total in totals.items():
        found = sum(part[name].sum(0) for part in summed)
        assert np.allclose(total[0], found, rtol=1e-3, atol=1e-3), f"'{name}' is {total[0]} in all and {found} in parts"
    for score in answer.scores:
        missing = set(score.columns) - set(totals)
        assert not missing, f"the score '{score.name}' needs {', '.join(sorted(missing))}, which isn't counted"
        per_row = score.per_row(answer.counts(kept, subject.rows.truth))
        assert np.isclose(per_row.mean(), score.of(totals)), f"the influences on '{score.name}' have another mean"


@_law
def answers_do_not_depend_on_neighbours(subject: Subject) -> None:
    """A row alone is answered as among others that are longer."""
    together = subject.counted(subject.rows)
    for row in range(min(10, len(subject.rows))):
        alone = subject.counted(some_rows(subject.rows, np.array([row])))
        _same_counts(alone, together, np.array([row]), f"of row {row} alone")


@_law
def padding_does_not_change_the_loss(subject: Subject) -> None:
    """More padding to the right of a batch leaves its loss and what is right as they are."""
    answer = subject.task.answer
    batch = collate(subject.rows, np.arange(min(8, len(subject.rows))))
    wider = _padded(batch, 5, subject.rows.target_offsets is not None)
    with torch.inference_mode():
        outs = [subject.network(*answer.given(one)) for one in (batch, wider)]
        losses = [float(answer.loss(out, one)) for out, one in zip(outs, (batch, wider), strict=True)]
        right = [answer.right(out, one) for out, one in zip(outs, (batch, wider), strict=True)]
    assert np.isclose(*losses, rtol=TOLERANCE), f"the loss is {losses[0]:.6g}, and {losses[1]:.6g} with more padding"
    assert np.isclose(*right, rtol=TOLERANCE), f"{right[0]:g} rows are right, and {right[1]:g} with more padding"


@_law
def the_future_changes_nothing_before_it(subject: Subject) -> None:
    """Of a causal task that answers at every step: other inputs after a step leave its answer as it is."""
    if not subject.task.causal or subject.task.answer.reads != "states":
        return
    rows = some_rows(subject.rows, np.arange(min(8, len(subject.rows))))
    offsets = offsets_of(rows.lengths)
    values = np.concatenate([rows.row(row) for row in range(len(rows))])  # so that no row is part of another
    rows = replace(rows, values=values, starts=offsets[:-1], ends=offsets[1:])
    cuts = np.maximum(1, rows.lengths // 2)
    changed = rows.values.copy()
    for row, cut in enumerate(cuts):
        after = slice(rows.starts[row] + cut, rows.ends[row])
        several = len(np.unique(changed[after], axis=0)) > 1
        changed[after] = changed[after][::-1] if several else changed[rows.starts[row]]
    before, after = (_outputs(subject, replace(rows, values=values)) for values in (rows.values, changed))
    for row, cut in enumerate(cuts):
        gap = float((before[row, :cut] - after[row, :cut]).abs().max())
        assert gap < TOLERANCE, f"the answers to the first {cut} steps of row {row} changed by {gap:.3g}"


@_law
def a_forecast_depends_on_nothing_at_or_after_its_origin(subject: Subject) -> None:
    """Of a task that forecasts: other values from an origin on leave its forecast as it is, and others before don't."""
    rows = subject.rows
    if rows.horizon is None:
        return
    row = len(rows) // 2
    before = _outputs(subject, rows)[row]
    for place, same in ((slice(int(rows.ends[row]), None), True), (slice(None, int(rows.ends[row])), False)):
        values = rows.values.copy()
        columns = slice(None, rows.known_from) if same else slice(None)  # the calendar is known of steps ahead
        values[place, columns] += 1.0 + np.arange(len(values[place]))[:, None] % 7
        gap = float((_outputs(subject, replace(rows, values=values))[row] - before).abs().max())
        assert (gap < TOLERANCE) == same, (
            f"other values {'after' if same else 'before'} an origin change it by {gap:.3g}"
        )


@_law
def forced_scores_are_stepwise_scores(subject: Subject) -> None:
    """Where a text is written for another: token by token, the network says what it says of all at a time."""
    if subject.network.decoder is None:
        return
    batch = collate(subject.rows, np.arange(min(8, len(subject.rows))))
    read = subject.task.answer.given(batch)[2]
    with torch.inference_mode():
        whole = subject.network(*subject.task.answer.given(batch))
        memory = subject.network.remember(batch.inputs, batch.lengths)
        state = subject.network.decoder.begin(memory)
        for step in range(read.shape[1]):
            out, state = subject.network.go_on_writing(memory, read[:, step], state)
            asked = batch.targets[:, step] != IGNORE
            gap = float((out - whole[:, step])[asked].abs().max()) if asked.any() else 0.0
            assert gap < TOLERANCE, f"token {step} is scored otherwise, by {gap:.3g}, when texts are written stepwise"


@_law
def fresh_rows_depend_on_seed_and_step_alone(subject: Subject) -> None:
    """Of a task that draws its training batches: the same numbers give the same rows, other numbers others."""
    if not subject.task.fresh_batches:
        return
    first, again, later, other = (subject.task.draw(*numbers, 8) for numbers in ((0, 3), (0, 3), (0, 4), (1, 3)))
    assert np.array_equal(first.values, again.values), "the same seed and step draw other rows"
    for name, drawn in (("step", later), ("seed", other)):
        assert not np.array_equal(first.values, drawn.values), f"another {name} draws the same rows"


@_law
def texts_are_read_as_the_rows_were(subject: Subject) -> None:
    """Of a task that can be asked: its test rows as people read them, encoded again, are its test rows."""
    if subject.task.question is None:
        return
    task = subject.task.resolve()
    numbers = list(range(min(5, len(subject.data.test))))
    texts = task.texts(numbers)
    if texts is None:
        return
    read, _ = task.encode(texts, Preprocessor.of(subject.data))
    for number in numbers:
        same = np.array_equal(read.row(number), subject.data.test.row(number))
        assert same, f"test row {number} reads {texts[number][:60]!r}, which is encoded as other tokens"


def _outputs(subject: Subject, rows: Sequences) -> torch.Tensor:
    batch = collate(rows, np.arange(len(rows)))
    with torch.inference_mode():
        return subject.task.answer.asked(subject.network, batch)


def _same_counts(found: dict[str, np.ndarray], whole: dict[str, np.ndarray], rows: np.ndarray, where: str) -> None:
    for name, column in found.items():
        expected = whole[name][rows]
        off = ~np.isclose(column, expected, rtol=1e-3, atol=TOLERANCE).reshape(len(rows), -1).all(1)
        assert not off.any(), f"'{name}' {where} is {column[off][0]}, and {expected[off][0]} otherwise"


def _padded(batch: Batch, extra: int, targets_too: bool) -> Batch:
    def wider(values: torch.Tensor, fill: int) -> torch.Tensor:
        more = torch.full((values.shape[0], extra, *values.shape[2:]), fill, dtype=values.dtype)
        return torch.cat([values, more], 1)

    targets = wider(batch.targets, IGNORE) if targets_too else batch.targets
    return replace(batch, inputs=wider(batch.inputs, 0), targets=targets)
