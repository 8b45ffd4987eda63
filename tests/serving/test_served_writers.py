"""Language models behind an address: what they write, as a whole and as it comes, within limits; and that the work
ends when the client goes."""

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from serving_process import Serving, serving

import rnnlab
from rnnlab.serving.app import Application
from rnnlab.serving.limits import Limits
from rnnlab.serving.metrics import Metrics
from rnnlab.serving.models import Models
from rnnlab.serving.openapi import document
from rnnlab.serving.security import Access
from rnnlab.use.writing import Writer

LOCAL = Access(frozenset({"localhost", "127.0.0.1", "::1"}), any_address=False)
LABELS = Path(__file__).parents[1] / "formats" / "v1"


@pytest.fixture(scope="module")
def served(writers: dict[str, str]) -> Models:
    return Models([f"labels={LABELS}", *(f"{name}={writers[name]}" for name in ("rnn", "kneser-ney"))])


def asked(served: Models, question: Callable[[httpx.AsyncClient], Awaitable[Any]], limits: Limits = Limits()) -> Any:
    async def ask() -> Any:
        app = Application(served, LOCAL, limits, Metrics())
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with app.lifespan(), httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await question(client)

    return asyncio.run(ask())


def post(served: Models, where: str = "generate", limits: Limits = Limits(), **body: Any) -> httpx.Response:
    return asked(served, lambda client: client.post(f"/v1/{where}", json=body), limits)


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The name and the data of each."""
    found = []
    for block in text.split("\n\n")[:-1]:
        lines = block.split("\n")
        name = lines[0].removeprefix("event: ") if len(lines) == 2 else ""
        found.append((name, json.loads(lines[-1].removeprefix("data: "))))
    return found


# --- what is written --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rnn", "kneser-ney"])
def test_it_writes_what_the_writer_writes(served: Models, writers: dict[str, str], name: str):
    how = {"length": 25, "samples": 3, "temperature": 0.8, "top_k": 12, "top_p": 0.95, "seed": 7, "stop": ["s ."]}
    expected = rnnlab.load(writers[name]).generate("the ", **how)
    found = post(served, model=name, prompt="the ", **how).json()
    assert found["model"] == name
    assert found["unknown"] == []
    assert [one["text"] for one in found["samples"]] == [one.text for one in expected]
    assert [one["ended"] for one in found["samples"]] == [one.ended for one in expected]
    assert [one["tokens"] for one in found["samples"]] == [one.tokens for one in expected]
    assert found["samples"][1]["nats_per_token"] == pytest.approx(expected[1].nats / expected[1].tokens)


def test_streamed_pieces_are_the_whole(served: Models):
    how = {"prompt": "the 猫", "length": 60, "samples": 2, "seed": 3, "stop": "at"}
    whole = post(served, **how).json()
    response = post(served, **how, stream=True)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert "content-length" not in response.headers
    *pieces, (last, done) = events(response.text)
    assert last == "done"
    assert done == whole
    assert done["unknown"] == ["猫"]
    for number in (0, 1):
        told = "".join(piece["text"] for name, piece in pieces if piece["sample"] == number)
        assert told == whole["samples"][number]["text"]


def test_without_a_name_the_first_that_can_is_asked(served: Models):
    assert post(served, length=3).json()["model"] == "rnn"
    assert post(served, "score", text="the dog").json()["model"] == "rnn"
    assert post(served, "predict", text="a film").json()["model"] == "labels"


def test_texts_are_scored(served: Models, writers: dict[str, str]):
    expected = rnnlab.load(writers["kneser-ney"]).score("the dog 猫").to_dict()
    found = post(served, "score", text="the dog 猫", model="kneser-ney").json()
    assert found == {"model": "kneser-ney", **expected}
    assert found["unknown"] == [8]


def test_models_say_that_they_write(served: Models):
    found = asked(served, lambda client: client.get("/v1/models")).json()["models"]
    assert [model["answers"] for model in found] == ["label", "text", "text"]
    assert found[1]["unit"] == "chars"


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"prompt": 3}, "prompt: a string is needed"),
        ({"prompt": "x" * 20_001}, "prompt: at most 20,000 characters"),
        ({"length": 10_001}, "length: a whole number from 1 to 10,000"),
        ({"length": 0}, "length: a whole number"),
        ({"samples": 17}, "samples: a whole number from 1 to 16"),
        ({"samples": True}, "samples: a whole number"),
        ({"temperature": -0.1}, "temperature: 0 or more"),
        ({"temperature": 1e9}, "temperature: at most 1000"),
        ({"temperature": "hot"}, "temperature: a number is needed"),
        ({"top_p": 0}, "top_p: above 0"),
        ({"top_k": 0}, "top_k: a whole number from 1"),
        ({"stop": [""]}, "stop: texts of 1"),
        ({"stop": ["a"] * 9}, "at most 8 texts"),
        ({"stop": 4}, "stop: a text"),
        ({"seed": -1}, "seed: a whole number from 0"),
        ({"stream": "yes"}, "stream: true or false"),
        ({"text": "the"}, "unknown key 'text'; the keys are prompt"),
        ({"model": "labels"}, "the model 'labels' isn't a language model"),
    ],
)
def test_wrong_questions(served: Models, body: dict[str, Any], told: str):
    response = post(served, **body)
    assert response.status_code == 422
    assert told in response.json()["error"]["reason"]


def test_a_language_model_has_no_labels(served: Models):
    response = post(served, "predict", text="the dog", model="rnn")
    assert (response.status_code, response.json()["error"]["code"]) == (422, "wrong_model")
    assert "which has no labels; ask POST /v1/generate" in response.json()["error"]["reason"]
    assert post(served, "score", text="").status_code == 422
    assert post(served, model="nobody").status_code == 404


def test_when_its_time_is_over_a_text_ends_where_it_is(served: Models):
    (said,) = post(served, limits=Limits(writing_seconds=0.0), length=50).json()["samples"]
    assert (said["ended"], said["tokens"], len(said["text"])) == ("time", 1, 1)


def test_a_failing_model_is_told_of_in_the_middle_of_a_stream(served: Models, monkeypatch: pytest.MonkeyPatch):
    def fails(self: Writer, *_: Any, **__: Any) -> Iterator[dict[int, str]]:
        yield {0: "the"}
        time.sleep(0.05)
        yield {0: " dog"}
        raise ValueError("private words")

    monkeypatch.setattr(Writer, "streams", fails)
    *_, (name, told) = events(post(served, stream=True).text)
    assert (name, told["error"]["code"]) == ("error", "model_failed")
    assert "private" not in str(told)
    assert post(served).status_code == 500


# --- at the same time -------------------------------------------------------------------------------------------------


def test_more_than_may_write_at_a_time_are_told_to_wait(served: Models, monkeypatch: pytest.MonkeyPatch):
    going = threading.Event()
    streams = Writer.streams

    def slowly(self: Writer, *given: Any, **named: Any) -> Iterator[Any]:
        going.wait(20)
        yield from streams(self, *given, **named)

    monkeypatch.setattr(Writer, "streams", slowly)

    async def question(client: httpx.AsyncClient) -> list[httpx.Response]:
        first = [asyncio.ensure_future(client.post("/v1/generate", json={"length": 2})) for _ in range(2)]
        while "rnnlab_writing 2" not in (await client.get("/metrics")).text:
            await asyncio.sleep(0.01)
        refused = await client.post("/v1/generate", json={"length": 2})
        going.set()
        told = [*await asyncio.gather(*first), refused, await client.post("/v1/generate", json={"length": 2})]
        return [*told, await client.get("/metrics")]

    *answers, metrics = asked(served, question, Limits(writers=2))
    assert [answer.status_code for answer in answers] == [200, 200, 429, 200]
    assert answers[2].headers["retry-after"] == "1"
    assert "rnnlab_writing 0" in metrics.text
    assert 'rnnlab_written_tokens_total{model="rnn"} 6' in metrics.text


@pytest.fixture(scope="module")
def server(writers: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    limits = {"length": 1_000_000, "writing_seconds": 600.0, "writers": 2}
    with serving(f"rnn={writers['rnn']}", limits=limits, folder=tmp_path_factory.mktemp("writing")) as started:
        yield started


@pytest.mark.parametrize("stream", [True, False])
def test_when_the_client_goes_the_work_ends(server: Serving, stream: bool):
    def measured(client: httpx.Client, name: str) -> float:
        lines = client.get("/metrics").text.splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith(f"rnnlab_{name}"))

    with server.client() as client:
        for _ in range(3):  # more than may write at a time
            body = {"length": 1_000_000, "samples": 16, "stream": stream}
            with httpx.Client(base_url=server.address, trust_env=False, timeout=1.0) as gone:
                try:
                    with gone.stream("POST", "/v1/generate", json=body) as response:
                        assert response.status_code == 200
                        next(response.iter_bytes())
                except httpx.ReadTimeout:
                    assert not stream
            deadline = time.monotonic() + 30
            while measured(client, "writing") > 0:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert client.post("/v1/generate", json={"length": 5}).status_code == 200
    assert "Traceback" not in server.log.read_text(encoding="utf-8")


def test_a_stop_ends_what_is_written(writers: dict[str, str], tmp_path: Path):
    limits = {"length": 1_000_000, "writing_seconds": 600.0, "drain_seconds": 1}
    with (
        serving(f"rnn={writers['rnn']}", limits=limits, folder=tmp_path) as started,
        started.client() as client,
        client.stream("POST", "/v1/generate", json={"length": 1_000_000, "stream": True}) as response,
    ):
        next(response.iter_bytes())
        started.process.terminate()
        assert started.process.wait(60) == 0


# --- the document -----------------------------------------------------------------------------------------------------


def test_the_document_tells_of_what_models_do():
    made = document(Limits(length=77, samples=3), ["labels"], writers=["rnn", "诗"])
    schemathesis.openapi.from_dict(made).validate()
    asked = made["components"]["schemas"]["WritingQuestion"]["properties"]
    assert (asked["length"]["maximum"], asked["samples"]["maximum"]) == (77, 3)
    assert asked["model"]["enum"] == ["rnn", "诗"]
    assert made["components"]["schemas"]["Text"]["properties"]["model"]["enum"] == ["labels"]
    assert made["components"]["schemas"]["Model"]["properties"]["name"]["enum"] == ["labels", "rnn", "诗"]
    assert "/v1/predict" not in document(Limits(), [], writers=["rnn"])["paths"]
    assert "/v1/generate" not in document(Limits(), ["labels"])["paths"]
