"""The document says what the server does: checked from outside, with hundreds of requests made from the document."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from serving_process import Serving, serving

from rnnlab.serving.limits import Limits
from rnnlab.serving.openapi import document

MODEL = Path(__file__).parents[1] / "formats" / "v1"
TOKEN = "a-token-for-the-tests"
SEED = 7
EXAMPLES = [25, pytest.param(150, marks=pytest.mark.long)]  # for each operation, at most
# A body that breaks a limit of the document may break that of the whole body first.
SETTINGS = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 404, 405, 413, 415, 422]
[checks.positive_data_acceptance]
expected-statuses = [200]
"""


@pytest.fixture(scope="module", params=[False, True], ids=["open", "with a token"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, bool]]:
    environment = {"RNNLAB_TOKEN": TOKEN if request.param else ""}
    models = [f"{name}={MODEL}" for name in ("first", "第二")]
    with serving(*models, environment=environment, folder=tmp_path_factory.mktemp("served")) as started:
        yield started, request.param


@pytest.mark.parametrize("token", [False, True])
def test_the_document_is_valid(token):
    schemathesis.openapi.from_dict(document(Limits(), ["a", "b"], token)).validate()


def test_it_tells_of_limits_and_models():
    limits = Limits(texts=7, characters=11, explained=3, explained_characters=5, body=1234, answer_seconds=9)
    made = document(limits, ["reviews", "电影"])
    schemas = made["components"]["schemas"]
    assert schemas["Texts"]["properties"]["texts"]["maxItems"] == 7
    assert schemas["Text"]["properties"]["text"]["maxLength"] == 11
    assert schemas["ExplainedTexts"]["properties"]["texts"]["maxItems"] == 3
    assert schemas["ExplainedText"]["properties"]["text"]["maxLength"] == 5
    assert schemas["Text"]["properties"]["model"]["enum"] == ["reviews", "电影"]
    responses = made["paths"]["/v1/predict"]["post"]["responses"]
    assert "1,234 bytes" in responses["413"]["description"]
    assert "9 seconds" in responses["503"]["description"]


def test_the_token_is_told_of():
    made = document(Limits(), ["a"], token=True)
    assert made["security"] == [{"token": []}]
    for path in ("/v1/predict", "/v1/models", "/metrics", "/openapi.json"):
        (operation,) = made["paths"][path].values()
        assert "401" in operation["responses"]
        assert "security" not in operation
    for path in ("/", "/healthz"):
        assert made["paths"][path]["get"]["security"] == []
        assert "401" not in made["paths"][path]["get"]["responses"]
    assert "401" not in str(document(Limits(), ["a"]))


def test_the_served_document(server):
    running, token = server
    headers = {"Authorization": f"Bearer {TOKEN}"} if token else {}
    with running.client(headers=headers) as client:
        assert client.get("/openapi.json").json() == document(Limits(), ["first", "第二"], token)
        examples = client.get("/openapi.json").json()["paths"]["/v1/predict"]["post"]["requestBody"]["content"]
        for example in examples["application/json"]["examples"].values():
            assert client.post("/v1/predict", json=example["value"]).status_code == 200


@pytest.mark.parametrize("examples", EXAMPLES)
def test_schemathesis(server, tmp_path, examples):
    running, token = server
    assert "Tested: 5" in told_after_testing(running, token, tmp_path, examples)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_schemathesis_of_models_that_write(writers, tmp_path, examples):
    """Short texts: what is tested is what is taken and refused."""
    limits = {"length": 20, "samples": 2}
    with serving(*(f"{name}={writers[name]}" for name in ("rnn", "kneser-ney")), limits=limits, folder=tmp_path) as one:
        assert "Tested: 6" in told_after_testing(one, False, tmp_path, examples)


def told_after_testing(running: Serving, token: bool, tmp_path: Path, examples: int) -> str:
    """What schemathesis says, once it has found nothing."""
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS, encoding="utf-8")
    command = [Path(sys.executable).with_name("schemathesis"), "--config-file", settings, "run"]
    options = ["--checks", "all", "--seed", SEED, "--max-examples", examples, "--phases", "examples,coverage,fuzzing"]
    headers = ["--header", f"Authorization: Bearer {TOKEN}"] if token else []
    quiet = ["--generation-database", "none", "--no-color", "--suppress-health-check", "all"]
    done = subprocess.run(
        [*map(str, (*command, f"{running.address}/openapi.json", *options, *headers, *quiet))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, "\n".join(line[:300] for line in (done.stdout + done.stderr).splitlines()[-150:])
    return done.stdout
