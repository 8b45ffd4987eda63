"""Requests that come at the same time are computed together, in a thread beside the event loop."""

import asyncio
import logging
import traceback
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from rnnlab.core.errors import RnnlabError, english
from rnnlab.data.sound.wav import Waveform
from rnnlab.serving.limits import Limits, Refusal
from rnnlab.serving.metrics import Metrics
from rnnlab.serving.models import ServedModel

log: logging.Logger = logging.getLogger(__name__)

Answers = list[dict[str, Any]]  # one a text, as they are sent


@dataclass(frozen=True, eq=False)
class Job:
    model: ServedModel
    texts: Sequence[Any]
    since: float  # on the clock of the loop
    answers: asyncio.Future[Answers]

    @cached_property
    def characters(self) -> int:
        return sum(map(_size, self.texts))


def _size(text: Any) -> int:
    """Characters; of a recording, its samples."""
    return len(text.samples) if isinstance(text, Waveform) else len(text)


class Batcher:
    """A bounded queue and one thread. A job waits a few milliseconds for others of its model, unless it has waited that
    long for the thread already: under load nothing is added. The model sorts a batch by length, and its answers don't
    depend on what else is in it.

    Explanations have a batcher of their own, and are computed one job at a time: they take long, and others shouldn't
    wait for them."""

    metrics: Metrics
    explain: bool
    seconds: float
    most_characters: int
    wait_ms: float
    batch: int
    most_texts: int

    def __init__(self, limits: Limits, metrics: Metrics, explain: bool = False):
        self.metrics, self.explain = metrics, explain
        self.seconds, self.wait_ms, self.batch = limits.answer_seconds, limits.wait_ms, limits.batch
        self.most_texts, self.most_characters = limits.queue, limits.queue_characters
        if explain:
            self.wait_ms, self.batch, self.most_texts = 0.0, 1, limits.explained_queue
        self._queue: deque[Job] = deque()
        self._texts = self._characters = 0  # in the queue
        self._arrival = asyncio.Event()
        self._worker = ThreadPoolExecutor(1, "model", initializer=torch.set_num_threads, initargs=(1,))
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._running = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def ask(self, model: ServedModel, texts: Sequence[Any]) -> Answers:
        loop = asyncio.get_running_loop()
        job = Job(model, texts, loop.time(), loop.create_future())
        self._enqueue(job)
        patience = loop.call_later(self.seconds, self._give_up, job)
        try:
            return await job.answers  # if whoever asks is cancelled, so is this, and it won't be computed
        finally:
            patience.cancel()

    def _give_up(self, job: Job) -> None:
        if not job.answers.done():
            reason = f"no answer within {self.seconds:g} s: the server is busy"
            job.answers.set_exception(Refusal(503, "timeout", reason, {"Retry-After": "5"}))

    def _enqueue(self, job: Job) -> None:
        texts, characters = self._texts + len(job.texts), self._characters + job.characters
        # what is larger than the whole queue may still come when nothing else waits
        if self._queue and (texts > self.most_texts or characters > self.most_characters):
            reason = f"{self._texts:,} texts are waiting already; ask again in a moment"
            raise Refusal(429, "busy", reason, {"Retry-After": "1"})
        self._queue.append(job)
        self._count(texts, characters)
        self._arrival.set()

    def _count(self, texts: int, characters: int) -> None:
        self._texts, self._characters = texts, characters
        self.metrics.queued["explain" if self.explain else "predict"] = texts

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._arrival.wait()
            await self._collect(loop.time())
            jobs = self._take()
            if not jobs:  # all of them have been given up
                continue
            outcomes, tokens = await loop.run_in_executor(self._worker, compute, jobs, self.explain)
            self.metrics.computed(jobs[0].model.name, sum(len(job.texts) for job in jobs), tokens)
            for job, outcome in zip(jobs, outcomes, strict=True):
                if job.answers.done():  # given up meanwhile
                    continue
                if isinstance(outcome, Refusal):
                    job.answers.set_exception(outcome)
                else:
                    job.answers.set_result(outcome)

    async def _collect(self, now: float) -> None:
        left = self._queue[0].since + self.wait_ms / 1000 - now
        if left > 0 and self._texts < self.batch:
            await asyncio.sleep(left)

    def _take(self) -> list[Job]:
        """The oldest job and what can be computed with it; the others keep their order."""
        taken: list[Job] = []
        left: deque[Job] = deque()
        texts = 0
        for job in self._queue:
            if job.answers.done():
                continue
            if not taken or (job.model is taken[0].model and texts + len(job.texts) <= self.batch):
                taken.append(job)
                texts += len(job.texts)
            else:
                left.append(job)
        self._queue = left
        self._count(sum(len(job.texts) for job in left), sum(job.characters for job in left))
        if not left:
            self._arrival.clear()
        return taken


def compute(jobs: Sequence[Job], explain: bool) -> tuple[list[Answers | Refusal], int]:
    """Answers for jobs of one model, and how many tokens were read. A text that the model can't take spoils the answer
    of its own job alone."""
    model = jobs[0].model
    texts = [text for job in jobs for text in job.texts]
    try:
        answers, tokens = model.explain(texts) if explain else model.answer(texts)
    except Exception as error:
        if len(jobs) == 1:
            return [_refused(model, error)], 0
        apart = [compute([job], explain) for job in jobs]
        return [outcome for outcomes, _ in apart for outcome in outcomes], sum(tokens for _, tokens in apart)
    taken = iter(answers)
    return [[next(taken) for _ in job.texts] for job in jobs], tokens


def _refused(model: ServedModel, error: Exception) -> Refusal:
    if isinstance(error, Refusal):
        return error
    if isinstance(error, RnnlabError):
        return Refusal(422, "invalid", english(error))
    log.error("%s failed with %s", model.name, described(error))
    return Refusal(500, "model_failed", f"the model {model.name!r} failed on this request; the server's log has more")


def described(error: Exception) -> str:
    """For the log: where, but not its message, which may quote a text."""
    where = "".join(traceback.format_tb(error.__traceback__))
    return f"{type(error).__name__}\nTraceback (most recent call last):\n{where.rstrip()}"
