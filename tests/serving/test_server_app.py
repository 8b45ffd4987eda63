"""The application, asked in this process: every route and every status."""

import asyncio
import base64
import io
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from serving_process import model_of_columns
from waves import folder_of_tones

import rnnlab
from rnnlab.serving.app import Application
from rnnlab.serving.limits import Limits
from rnnlab.serving.metrics import Metrics
from rnnlab.serving.models import EXPLAINED_POINTS, Models
from rnnlab.serving.security import Access

TOKEN = "a-token-of-some-length"
LOCAL = Access(frozenset({"localhost", "127.0.0.1", "::1"}), any_address=False)
PRIVATE = "private words"
TEXTS = ["the great film number 3", "the awful film number 4", ""]


@pytest.fixture(scope="module")
def served(models) -> Models:
    return Models([f"{name}={models[name]}" for name in ("rnn", "chinese", "tfidf", "majority")])


def asked(
    served: Models,
    question: Callable[[httpx.AsyncClient], Awaitable[Any]],
    access: Access = LOCAL,
    limits: Limits = Limits(),
) -> Any:
    """What the question gets, from an application of its own."""

    async def ask() -> Any:
        app = Application(served, access, limits, Metrics())
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with app.lifespan(), httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await question(client)

    return asyncio.run(ask())


def post(served: Models, **body: Any) -> httpx.Response:
    return asked(served, lambda client: client.post("/v1/predict", json=body))


def error(response: httpx.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/json"
    (said,) = response.json().values()
    assert list(said) == ["code", "reason"]
    assert said["reason"]
    return response.status_code, said["code"]


# Answers


@pytest.mark.parametrize("name", ["rnn", "tfidf", "majority"])
def test_answers_are_those_of_predict(served, models, name):
    expected = rnnlab.load(models[name]).predict(TEXTS)
    found = post(served, texts=TEXTS, model=name).json()
    assert list(found) == ["model", "predictions"]
    assert found["model"] == name
    for one, said in zip(expected, found["predictions"], strict=True):
        assert list(said) == ["label", "probability", "probabilities", "known"]
        assert (said["label"], said["known"]) == (one.label, one.known)
        assert said["probability"] == pytest.approx(one.probability, abs=1e-6)
        assert said["probabilities"] == pytest.approx(one.probabilities, abs=1e-6)


def test_one_text_asks_the_first_model(served):
    found = post(served, text="the great film number 3").json()
    assert found["model"] == "rnn"
    assert [said["label"] for said in found["predictions"]] == ["good"]


def test_chinese(served):
    response = post(served, texts=["第3部电影很好看", "第3部电影很难看"], model="chinese")
    assert [said["label"] for said in response.json()["predictions"]] == ["好", "差"]
    assert "好" in response.text  # as it is, not as \u597d


@pytest.mark.parametrize(("top", "labels"), [(1, ["good"]), (2, ["good", "bad"]), (99, ["good", "bad"])])
def test_the_most_probable_first(served, top, labels):
    (said,) = post(served, text="the great film number 3", top=top).json()["predictions"]
    assert list(said["probabilities"]) == labels
    assert said["probability"] == said["probabilities"]["good"]


def test_tokens_that_mattered(served, models):
    text = "the great unheard film"
    (said,) = post(served, text=text, explain=True).json()["predictions"]
    assert [token["text"] for token in said["tokens"]] == text.split()
    assert [token["known"] for token in said["tokens"]] == [True, True, False, True]
    expected = rnnlab.load(models["rnn"]).explain(text, most_points=EXPLAINED_POINTS).tokens
    assert [token["weight"] for token in said["tokens"]] == pytest.approx([weight for _, weight in expected], abs=1e-6)
    plain = post(served, text=text).json()["predictions"][0]
    assert plain["label"] == said["label"]
    assert plain["probabilities"] == pytest.approx(said["probabilities"], abs=1e-6)


def test_tokens_of_baselines(served):
    (said,) = post(served, text="the great film", model="tfidf", explain=True).json()["predictions"]
    assert {token["text"]: token["weight"] for token in said["tokens"]}["great"] > 0
    (said,) = post(served, text="the great film", model="majority", explain=True).json()["predictions"]
    assert "tokens" not in said  # it doesn't look at them


def test_models_are_listed_with_their_cards(served):
    found = asked(served, lambda client: client.get("/v1/models")).json()["models"]
    assert [(model["name"], model["kind"]) for model in found] == [
        ("rnn", "rnn"),
        ("chinese", "textcnn"),
        ("tfidf", "tfidf"),
        ("majority", "majority"),
    ]
    assert found[1]["labels"] == ["好", "差"]
    assert found[0]["card"]["accuracy"]["mean"] > 0.5
    assert found[0]["card"]["limits"]


def test_health_page_and_document(served):
    assert asked(served, lambda client: client.get("/healthz")).json() == {"status": "ok"}
    page = asked(served, lambda client: client.get("/"))
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "script-src" in page.headers["content-security-policy"]
    document = asked(served, lambda client: client.get("/openapi.json")).json()
    assert set(document["paths"]) == {"/v1/predict", "/v1/models", "/healthz", "/metrics", "/openapi.json", "/"}


def test_metrics(served):
    async def question(client: httpx.AsyncClient) -> str:
        await client.post("/v1/predict", json={"texts": ["the great film", "dull"]})
        await client.post("/v1/predict", json={"text": "好看", "model": "chinese"})
        await client.post("/v1/predict", json={"text": 3})
        await client.get("/secret/path?text=private")
        return (await client.get("/metrics")).text

    lines = asked(served, question).splitlines()
    for expected in (
        'rnnlab_requests_total{route="/v1/predict",status="200"} 2',
        'rnnlab_requests_total{route="/v1/predict",status="422"} 1',
        'rnnlab_requests_total{route="(unknown)",status="404"} 1',
        'rnnlab_request_seconds_count{route="/v1/predict"} 3',
        'rnnlab_batch_texts_bucket{le="1"} 1',
        'rnnlab_batch_texts_bucket{le="2"} 2',
        "rnnlab_batch_texts_sum 3.0",
        'rnnlab_texts_total{model="rnn"} 2',
        'rnnlab_tokens_total{model="rnn"} 4',
        'rnnlab_queued_texts{for="predict"} 0',
        'rnnlab_model_info{model="chinese",kind="textcnn"} 1',
    ):
        assert expected in lines
    for line in lines:  # the format of Prometheus
        if not line.startswith("#"):
            float(line.rpartition(" ")[2])


# Refusals


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "bad_json"),
        (b'{"text": "\xff"}', 400, "bad_encoding"),
        (b'{"text": NaN}', 400, "bad_json"),
        (b"[" * 100_000 + b"]" * 100_000, 400, "bad_json"),
        (b'{"text": 3}', 422, "invalid"),
        (b'{"text": "a", "model": "other"}', 404, "unknown_model"),
        (b'{"text": "' + b"a" * 1_000_000 + b'"}', 413, "too_large"),
    ],
)
def test_bodies(served, body, status, code):
    headers = {"Content-Type": "application/json"}
    response = asked(served, lambda client: client.post("/v1/predict", content=body, headers=headers))
    assert error(response) == (status, code)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=gbk"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_content_types(served, headers):
    response = asked(served, lambda client: client.post("/v1/predict", content=b'{"text": "a"}', headers=headers))
    assert error(response) == (415, "wrong_content_type")
    assert response.headers["connection"] == "close"  # the body wasn't read


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']
)
def test_content_types_that_are_json(served, kind):
    headers = {"Content-Type": kind}
    response = asked(served, lambda client: client.post("/v1/predict", content=b'{"text": "a"}', headers=headers))
    assert response.status_code == 200


@pytest.mark.parametrize("path", ["/v1", "/v1/predict/", "/v2/predict", "/%2e%2e/etc/passwd", "/%00"])
def test_unknown_addresses(served, path):
    assert error(asked(served, lambda client: client.get(path))) == (404, "unknown_address")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", "/v1/predict", "POST"), ("POST", "/healthz", "GET, HEAD"), ("OPTIONS", "/v1/predict", "POST")],
)
def test_wrong_methods(served, method, path, allowed):
    response = asked(served, lambda client: client.request(method, path))
    assert error(response) == (405, "wrong_method")
    assert sorted(response.headers["allow"].split(", ")) == allowed.split(", ")


def test_every_answer_has_the_headers(served):
    async def question(client: httpx.AsyncClient) -> list[httpx.Response]:
        paths = ("/", "/healthz", "/nope", "/v1/predict")
        return [await client.get(path) for path in paths] + [await client.post("/v1/predict", json={"text": "a"})]

    for response in asked(served, question):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert not any(name.startswith("access-control") or name == "server" for name in response.headers)


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """All that rnnlab logs, with the name of who says it."""
    told = io.StringIO()
    handler, logger = logging.StreamHandler(told), logging.getLogger("rnnlab")
    before = logger.level
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield told
    logger.setLevel(before)
    logger.removeHandler(handler)


def test_a_model_that_fails(served, monkeypatch, logged):
    """500 without a word of what went wrong; the log says where, and never the text."""
    model = served.find("rnn")

    def failing(data):
        raise ValueError(PRIVATE)

    monkeypatch.setattr(model.predictor, "logits", failing)
    response = post(served, text=PRIVATE)
    assert error(response) == (500, "model_failed")
    assert "ValueError" not in response.text
    assert "ValueError\nTraceback" in logged.getvalue()
    assert "private" not in logged.getvalue()


def test_texts_are_never_logged(served, logged):
    post(served, text=PRIVATE)
    asked(served, lambda client: client.get("/v1/models?text=private"))
    ours = logged.getvalue().splitlines()
    assert [line.split(" ")[2:5] for line in ours] == [["POST", "/v1/predict", "200"], ["GET", "/v1/models", "200"]]
    assert "private" not in str(ours)


# Who may ask


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True),
        ("LOCALHOST:8000", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("evil.example", False),
        ("evil.example:8000", False),
        ("localhost.evil.example", False),
        ("localhost@evil.example", False),
        ("evil.example/localhost", False),
        ("192.168.1.5", False),
        ("localhost:port", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_hosts(served, host, allowed):
    response = asked(served, lambda client: client.get("/healthz", headers={"Host": host}))
    assert response.status_code == 200 if allowed else error(response) == (400, "wrong_host")


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://localhost:8000", True),
        ("https://localhost:8000", True),
        ("http://localhost", False),
        ("http://localhost:8001", False),
        ("http://127.0.0.1:8000", False),
        ("http://evil.example", False),
        ("file://localhost:8000", False),
        ("null", False),
        ("", False),
    ],
)
def test_origins(served, origin, allowed):
    headers = {"Host": "localhost:8000", "Origin": origin}
    response = asked(served, lambda client: client.post("/v1/predict", json={"text": "a"}, headers=headers))
    assert response.status_code == 200 if allowed else error(response) == (403, "foreign_origin")


@pytest.mark.parametrize(
    ("authorization", "allowed"),
    [
        (f"Bearer {TOKEN}", True),
        (f"bearer {TOKEN}", True),
        (f"Bearer {TOKEN}x", False),
        (f"Bearer {TOKEN[:-1]}", False),
        (f"Basic {TOKEN}", False),
        (TOKEN, False),
        ("Bearer", False),
        ("Bearer é".encode(), False),
        (None, False),
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/openapi.json", "/nope"])
def test_tokens(served, path, authorization, allowed):
    access = Access(LOCAL.hosts, any_address=False, token=TOKEN)
    headers = {} if authorization is None else {"Authorization": authorization}
    response = asked(served, lambda client: client.get(path, headers=headers), access)
    if allowed:
        assert response.status_code == (404 if path == "/nope" else 200)
    else:
        assert error(response) == (401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/", "/healthz"])
def test_what_needs_no_token(served, path):
    access = Access(LOCAL.hosts, any_address=False, token=TOKEN)
    response = asked(served, lambda client: client.get(path), access)
    assert response.status_code == 200
    assert "chinese" not in response.text  # nor does it tell which models there are


def test_the_document_tells_of_the_token(served):
    access = Access(LOCAL.hosts, any_address=False, token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    document = asked(served, lambda client: client.get("/openapi.json", headers=headers), access).json()
    assert "token" in json.dumps(document["components"]["securitySchemes"])


# Models of several text columns


@pytest.fixture(scope="module")
def in_columns(tmp_path_factory: pytest.TempPathFactory, models: dict[str, str]) -> Models:
    return Models([f"tickets={model_of_columns(tmp_path_factory.mktemp('columns'))}", f"rnn={models['rnn']}"])


def test_columns_are_sent_by_name(in_columns: Models):
    columns = {"title": "a great film", "body": "seen twice"}
    said = post(in_columns, text=columns).json()["predictions"]
    assert said == post(in_columns, text="a great film‖seen twice").json()["predictions"]
    several = post(in_columns, texts=[columns, {"body": "", "title": "awful"}], explain=True).json()["predictions"]
    assert [token["text"] for token in several[0]["tokens"]] == ["a", "great", "film", "‖", "seen", "twice"]
    info = asked(in_columns, lambda client: client.get("/v1/models")).json()["models"]
    assert info[0]["columns"] == ["title", "body"]
    assert "columns" not in info[1]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"text": "one text"}, "this model reads the columns title, body"),
        ({"text": {"title": "a"}}, "this model reads the columns title, body"),
        ({"text": {"title": "a", "body": "b", "more": "c"}}, "an object with title, body, more"),
        ({"text": {"title": "a", "body": 7}}, "text.'body': a string is needed (got the number 7)"),
        ({"text": {"title": "a", "body": "b"}, "model": "rnn"}, "this model reads one text"),
        ({"text": {"title": "a" * 60_000, "body": "b" * 60_000}}, "characters"),
    ],
)
def test_columns_that_do_not_fit_are_refused(in_columns: Models, body: dict[str, Any], reason: str):
    answer = post(in_columns, **body)
    assert answer.status_code == 422
    assert reason in answer.json()["error"]["reason"]


def test_the_document_has_the_columns(in_columns: Models):
    document = asked(in_columns, lambda client: client.get("/openapi.json")).json()
    text = document["components"]["schemas"]["Text"]["properties"]["text"]
    assert list(text["properties"]) == text["required"] == ["title", "body"]


# Recordings


@pytest.fixture(scope="module")
def hearing(models, tmp_path_factory: pytest.TempPathFactory):
    """A model of tones beside one of texts, and the folder of tones."""
    folder = tmp_path_factory.mktemp("hearing")
    tones = folder_of_tones(folder / "tones", 2, 3, 6)
    task = {"pattern": "{label}_{speaker}_{n}.wav"}
    result = rnnlab.compare(tones, models=["textcnn"], seeds=1, task=task, training={"epochs": 4}, out=folder, jobs=0)
    return Models([f"tones={result.arms[0].runs[0].path}", f"rnn={models['rnn']}"]), tones


def test_recordings_are_sent_in_base64(hearing):
    served, tones = hearing
    sent = [base64.b64encode((tones / name).read_bytes()).decode() for name in ("0_anna_1.wav", "1_bert_2.wav")]
    expected = served.find("tones").predictor.predict([tones / "0_anna_1.wav", tones / "1_bert_2.wav"])
    found = post(served, wavs=sent).json()["predictions"]
    assert [one["probabilities"] for one in found] == [pytest.approx(one.probabilities, abs=1e-6) for one in expected]
    assert post(served, wav=sent[1]).json()["predictions"][0]["label"] == expected[1].label
    assert post(served, text="a text", model="rnn").status_code == 200
    schemas = asked(served, lambda client: client.get("/openapi.json")).json()["components"]["schemas"]
    assert {"Wav", "Wavs", "Text"} <= set(schemas)


@pytest.mark.parametrize(
    "body",
    [
        {"text": "a text"},
        {"wav": "no base64!"},
        {"wav": base64.b64encode(b"RIFF, and no WAVE").decode()},
        {"wav": 3},
        {"wavs": []},
        {"wavs": "UklGRg=="},
        {"wav": "UklGRg==", "text": "both"},
        {"wav": "UklGRg==", "explain": True},
        {"wav": "UklGRg==", "model": "rnn"},
    ],
)
def test_what_is_no_recording_is_refused(hearing, body):
    assert error(post(hearing[0], **body)) == (422, "invalid")
