"""Requests computed together: the same answers, a bounded queue, and no job that spoils another."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest

from rnnlab.core.errors import DataError
from rnnlab.serving.batching import Batcher
from rnnlab.serving.limits import Limits, Refusal
from rnnlab.serving.metrics import Metrics
from rnnlab.serving.models import Models, ServedModel


class Recorder:
    """A model that notes its batches, and answers with the length of a text when it is let."""

    name = "recorder"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.free = threading.Event()
        self.free.set()

    def answer(self, texts: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
        self.free.wait(10)
        self.batches.append(list(texts))
        if "spoilt" in texts:
            raise DataError("not this one")
        if "broken" in texts:
            raise ValueError("a mistake")
        return [{"label": str(len(text))} for text in texts], len(texts)

    explain = answer


def working(
    limits: Limits, job: Callable[[Batcher], Awaitable[Any]], metrics: Metrics | None = None, explain: bool = False
) -> Any:
    async def work() -> Any:
        batcher = Batcher(limits, metrics or Metrics(), explain)
        batcher.start()
        try:
            return await job(batcher)
        finally:
            await batcher.stop()

    return asyncio.run(work())


def served(recorder: Recorder) -> ServedModel:
    return cast(ServedModel, recorder)


@pytest.mark.parametrize("name", ["rnn", "textcnn", "tfidf"])
def test_answers_do_not_depend_on_the_neighbours(models, name):
    """200 texts at once, of very different lengths, each as if it were alone."""
    model = next(iter(Models([models[name]])))
    generator = np.random.default_rng(0)
    words = ["the", "great", "awful", "film", "lovely", "unheard", "好"]
    texts = [" ".join(generator.choice(words, size=n % 50 * (20 if n % 40 == 7 else 1))) for n in range(200)]
    alone = [model.predictor.predict([text])[0] for text in texts]
    metrics = Metrics()
    limits = Limits(wait_ms=20)
    together = working(limits, lambda batcher: asyncio.gather(*(batcher.ask(model, [text]) for text in texts)), metrics)
    assert sum(metrics.batches.counts) < 5  # they were computed together
    for one, (said,) in zip(alone, together, strict=True):
        assert said["label"] == one.label
        assert said["probabilities"] == pytest.approx(one.probabilities, abs=1e-6)
        assert said["known"] == one.known


def test_jobs_are_collected_and_answered_in_order():
    recorder, metrics = Recorder(), Metrics()
    jobs = [["a"], ["bb", "ccc"], ["dddd"]]

    async def ask(batcher: Batcher) -> Any:
        return await asyncio.gather(*(batcher.ask(served(recorder), texts) for texts in jobs))

    found = working(Limits(wait_ms=20), ask, metrics)
    assert [[answer["label"] for answer in answers] for answers in found] == [["1"], ["2", "3"], ["4"]]
    assert recorder.batches == [["a", "bb", "ccc", "dddd"]]
    assert (metrics.texts["recorder"], metrics.queued["predict"]) == (4, 0)


def test_batches_have_a_size_and_one_model():
    first, second = Recorder(), Recorder()

    async def ask(batcher: Batcher) -> Any:
        order = [first, first, second, first, second, first]
        return await asyncio.gather(*(batcher.ask(served(one), [str(n), "x"]) for n, one in enumerate(order)))

    working(Limits(wait_ms=20, batch=4), ask)
    assert first.batches == [["0", "x", "1", "x"], ["3", "x", "5", "x"]]
    assert second.batches == [["2", "x", "4", "x"]]


def test_a_job_larger_than_a_batch_or_the_queue():
    recorder = Recorder()
    (answers,) = working(
        Limits(wait_ms=0, batch=4, queue=8),
        lambda batcher: asyncio.gather(batcher.ask(served(recorder), ["x"] * 20)),
    )
    assert len(answers) == 20


@pytest.mark.parametrize(
    ("limits", "size"), [(Limits(queue=10, wait_ms=0), 1), (Limits(queue_characters=50, wait_ms=0), 5)]
)
def test_a_full_queue_refuses_at_once(limits, size):
    recorder = Recorder()
    recorder.free.clear()

    async def ask(batcher: Batcher) -> Any:
        waiting = [asyncio.ensure_future(batcher.ask(served(recorder), ["x" * size]))]
        await asyncio.sleep(0.05)  # this one is with the worker
        waiting += [asyncio.ensure_future(batcher.ask(served(recorder), ["x" * size])) for _ in range(14)]
        await asyncio.sleep(0.05)
        refused = [task for task in waiting if task.done()]
        recorder.free.set()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        return len(refused), outcomes

    refused, outcomes = working(limits, ask)
    assert refused == 4  # 1 with the worker, 10 in the queue
    for outcome in outcomes[11:]:
        assert isinstance(outcome, Refusal)
        assert (outcome.status, outcome.code, outcome.headers["Retry-After"]) == (429, "busy", "1")
    assert all(isinstance(outcome, list) for outcome in outcomes[:11])


def test_a_job_that_waits_too_long():
    recorder = Recorder()
    recorder.free.clear()

    async def ask(batcher: Batcher) -> Any:
        slow = [asyncio.ensure_future(batcher.ask(served(recorder), [name])) for name in "ab"]
        outcomes = await asyncio.gather(*slow, return_exceptions=True)
        recorder.free.set()
        return outcomes, await batcher.ask(served(recorder), ["next"])

    (first, second), after = working(Limits(answer_seconds=0.2, wait_ms=0, batch=1), ask)
    assert (first.status, first.code) == (second.status, second.code) == (503, "timeout")
    assert after == [{"label": "4"}]
    assert recorder.batches == [["a"], ["next"]]  # what nobody waits for isn't computed


@pytest.mark.parametrize(("text", "status"), [("spoilt", 422), ("broken", 500)])
def test_a_text_that_spoils_its_own_job_alone(text, status):
    recorder = Recorder()

    async def ask(batcher: Batcher) -> Any:
        jobs = [["a"], ["bb", text], ["ccc"]]
        return await asyncio.gather(*(batcher.ask(served(recorder), job) for job in jobs), return_exceptions=True)

    first, second, third = working(Limits(wait_ms=20), ask)
    assert (first, third) == ([{"label": "1"}], [{"label": "3"}])
    assert isinstance(second, Refusal)
    assert second.status == status


def test_explanations_come_one_job_at_a_time():
    recorder = Recorder()

    async def ask(batcher: Batcher) -> Any:
        return await asyncio.gather(*(batcher.ask(served(recorder), [name]) for name in "abc"))

    working(Limits(), ask, explain=True)
    assert recorder.batches == [["a"], ["b"], ["c"]]
