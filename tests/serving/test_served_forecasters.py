"""Forecasters behind an address: the next steps of series, as `predict` has them; what is refused; nothing stays."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import schemathesis
from serving_process import forecasting_models, hourly

import rnnlab
from rnnlab.cli.serve import tell
from rnnlab.core.cache import cache_dir
from rnnlab.serving.app import Application
from rnnlab.serving.limits import Limits
from rnnlab.serving.metrics import Metrics
from rnnlab.serving.models import Models
from rnnlab.serving.openapi import document
from rnnlab.serving.security import Access

LOCAL = Access(frozenset({"localhost", "127.0.0.1", "::1"}), any_address=False)
LABELS = Path(__file__).parents[1] / "formats" / "v1"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return forecasting_models(tmp_path_factory.mktemp("series"))


@pytest.fixture(scope="module")
def served(trained: dict[str, str]) -> Models:
    return Models([f"labels={LABELS}", *(f"{name}={path}" for name, path in trained.items())])


def asked(served: Models, question: Callable[[httpx.AsyncClient], Awaitable[Any]], limits: Limits = Limits()) -> Any:
    async def ask() -> Any:
        app = Application(served, LOCAL, limits, Metrics())
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with app.lifespan(), httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await question(client)

    return asyncio.run(ask())


def post(served: Models, where: str = "forecast", limits: Limits = Limits(), **body: Any) -> httpx.Response:
    return asked(served, lambda client: client.post(f"/v1/{where}", json=body), limits)


def columns(steps: int) -> dict[str, list[float | None]]:
    """Of `hourly`."""
    cells = [line.split(",") for line in hourly(steps, hole=steps - 5)[1:]]
    return {
        "load": [float(row[1]) if row[1] else None for row in cells],
        "heat": [float(row[2]) for row in cells],
    }


@pytest.mark.parametrize("name", ["gru", "ridge", "recursive"])
def test_a_table_is_continued_as_predict_does_it(served: Models, trained: dict[str, str], tmp_path: Path, name: str):
    lines = hourly(90, hole=85)
    (tmp_path / "recent.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    [expected] = rnnlab.load(trained[name]).forecast(str(tmp_path / "recent.csv"))
    found = post(served, csv="\n".join(lines), model=name).json()
    assert found == {"model": name, "forecasts": [expected.to_dict()]}
    tabs = post(served, csv="\n".join(lines).replace(",", "\t"), model=name).json()
    assert tabs == found
    assert found["forecasts"][0]["dates"][0] == "2024-02-28 18:00:00"


def test_values_are_the_table_in_other_words(served: Models):
    values, steps = columns(90), 90
    csv = "\n".join(hourly(90, hole=85))
    [expected] = post(served, csv=csv, model="gru").json()["forecasts"]
    start = "2024-02-25 00:00"
    rows = [list(step) for step in zip(*values.values(), strict=True)]
    dates = [line.split(",")[0] for line in hourly(steps)[1:]]
    for body in ({"values": values, "start": start}, {"values": rows, "dates": dates}):
        assert post(served, **body, model="gru").json() == {"model": "gru", "forecasts": [expected]}
    named = post(served, values=values, dates=dates, series="ours", model="gru").json()["forecasts"][0]
    assert named["series"] == "ours"
    assert named["channels"] != expected["channels"]  # measured by itself, since the model never saw such a series


def test_series_without_dates_are_known_by_their_names(served: Models, trained: dict[str, str]):
    numbers = [100 + 3 * (step % 4) + step % 7 / 3 for step in range(30)]
    found = post(served, values=numbers, series="S2", model="rows").json()["forecasts"][0]
    table = "id," + ",".join(f"V{n}" for n in range(30)) + "\nS2," + ",".join(map(str, numbers)) + "\n"
    [of_table] = post(served, csv=table, model="rows").json()["forecasts"]
    assert found == of_table
    assert found["first_step"] == 31
    [expected] = rnnlab.load(trained["rows"]).forecast(numbers)
    assert found["channels"]["value"]["point"] == pytest.approx(expected.points[:, 0].tolist(), rel=1e-5)


def test_history_is_what_was_read(served: Models):
    [found] = post(served, csv="\n".join(hourly(90, hole=85)), model="gru", history=True).json()["forecasts"]
    history = found["history"]
    assert history["dates"] == [f"{line.split(',')[0]}:00" for line in hourly(90)[61:]]
    assert history["channels"] == {name: column[60:] for name, column in columns(90).items()}
    [rows] = post(served, values=[1.0, 2, 3, 4, 5], model="rows", history=True).json()["forecasts"]
    assert rows["history"] == {"first_step": 1, "channels": {"value": [1, 2, 3, 4, 5]}}


def test_models_say_what_they_read(served: Models):
    found = asked(served, lambda client: client.get("/v1/models")).json()["models"]
    told = {model["name"]: model for model in found}
    assert [model["answers"] for model in found] == ["label", *["forecast"] * 4]
    wanted = ("reads", "horizon", "lookback", "channels", "quantiles", "spacing", "reads_dates")
    assert [told["gru"][key] for key in wanted] == [
        "series", 6, 30, ["load", "heat"], [0.1, 0.25, 0.5, 0.75, 0.9], "1 hour", True,
    ]  # fmt: skip
    assert (told["rows"]["spacing"], told["rows"]["reads_dates"], told["rows"]["channels"]) == (None, False, ["value"])


def test_the_command_says_how_to_ask(served: Models, trained: dict[str, str], capsys: pytest.CaptureFixture[str]):
    tell("http://127.0.0.1:8000", Models([f"hours={trained['gru']}"]))
    first, *_, command = capsys.readouterr().out.splitlines()
    assert first == "hours: gru, forecasts 6 steps"
    assert command.startswith("  jq -Rs '{csv: .}' recent.csv | curl http://127.0.0.1:8000/v1/forecast ")
    assert rnnlab.load(trained["gru"]).task.use("x.rnnlab") == "rnnlab predict x.rnnlab --file recent.csv"


def test_nothing_that_is_sent_stays(served: Models, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("RNNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert post(served, values=columns(60), start="2024-02-25", model="gru").status_code == 200
    assert post(served, csv="\n".join(hourly(60)), model="gru").status_code == 200
    assert cache_dir().is_relative_to(tmp_path)
    assert list(tmp_path.rglob("*")) == []


def test_what_is_continued_is_counted(served: Models):
    async def question(client: httpx.AsyncClient) -> str:
        two = ["id,date,load,heat", *(f"{name},{line}" for name in "ab" for line in hourly(40)[1:])]
        await client.post("/v1/forecast", json={"csv": "\n".join(two), "model": "gru"})
        return (await client.get("/metrics")).text

    told = asked(served, question)
    assert 'rnnlab_forecast_series_total{model="gru"} 2' in told
    assert 'rnnlab_requests_total{route="/v1/forecast",status="200"} 1' in told
    assert 'rnnlab_tokens_total{model="gru"} 60' in told  # steps that were read


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "give either 'values' or 'csv'"),
        ({"csv": "a", "values": [1]}, "give either 'values' or 'csv'"),
        ({"csv": 3}, "csv: a string is needed"),
        ({"csv": ""}, "data.csv: the file is empty"),
        ({"csv": "load,heat\n1,2\n"}, "reads the dates, too, and there are none"),
        ({"csv": "date,load,heat\n2024-01-01,a,2\n2024-01-02,b,2\n"}, "data.csv:2"),
        ({"csv": "date,load\n2024-01-01,1\n2024-01-02,2\n"}, "heat"),
        ({"csv": "\n".join(hourly(20)[:1] + hourly(20)[1::2])}, "one step is 2 hours"),
        ({"csv": "x", "start": "2024-01-01"}, "start: goes with 'values'"),
        ({"csv": "x", "horizon": 9}, "unknown key 'horizon'; the keys are values, csv"),
        ({"values": 3}, "values: an object of lists, or a list of numbers"),
        ({"values": []}, "values: there are none"),
        ({"values": {"load": [], "heat": []}}, "values: there are none"),
        ({"values": {"load": [1], "heat": [1, 2]}}, "equally long ('load' has 1, 'heat' has 2)"),
        ({"values": {"load": ["1"]}}, "values.'load'[0]: a number is needed, or null where it is missing"),
        ({"values": {"load": [True]}}, "values.'load'[0]: a number is needed"),
        ({"values": {"load": [1]}, "start": "2024-01-01"}, "'heat' is missing"),
        ({"values": {"load": [1], "heat": [1], "rain": [1]}}, "knows no 'rain'; it reads load, heat"),
        ({"values": [1, 2, 3]}, "2 per step are needed, load, heat (got 1)"),
        ({"values": [[1, 2], [3]]}, "equally long"),
        ({"values": [[1, 2], [3, 4]]}, "reads dates, too: send 'dates'"),
        ({"values": [[1, 2], [3, 4]], "dates": ["2024-01-01"]}, "dates: one per step is needed (1 dates, 2 steps)"),
        ({"values": [[1, 2]], "dates": ["2024-01-01"], "start": "2024-01-01"}, "give either 'dates' or 'start'"),
        ({"values": [[1, 2], [3, 4]], "dates": ["x", "y"]}, "2 of 2"),
        ({"values": [[1, 2], [3, 4]], "start": "soon"}, "1 of 1 dates can't be read"),
        ({"values": [[1, 2], [3, 4]], "start": "9999-12-31 23:00"}, "too far ahead"),
        ({"values": [[1e300, 2], [3, 4]], "start": "2024-01-01"}, "is no number: its values are too far"),
        ({"values": [[None, 2], [None, 4]], "start": "2024-01-01"}, "'load' has no value at all"),
        ({"values": [1, 2], "model": "labels"}, "the model 'labels' isn't a forecaster, and only those continue"),
        ({"values": [1, 2], "start": "2024-01-01", "model": "rows"}, "learnt from series without dates"),
        ({"values": [1, 2], "history": 1}, "history: true or false"),
    ],
)
def test_wrong_questions(served: Models, body: dict[str, Any], told: str):
    response = post(served, **{"model": "gru", **body})
    assert response.status_code == 422, response.text
    assert told in response.json()["error"]["reason"]


def test_numbers_too_large_for_json_are_noticed(served: Models):
    async def question(client: httpx.AsyncClient) -> httpx.Response:
        body = b'{"values": [1e999], "model": "rows"}'
        return await client.post("/v1/forecast", content=body, headers={"Content-Type": "application/json"})

    response = asked(served, question)
    assert (response.status_code, response.json()["error"]["reason"]) == (422, "values[0]: a number too large")


def test_a_forecaster_has_no_labels_and_writes_no_text(served: Models, trained: dict[str, str]):
    response = post(served, "predict", text="a film", model="gru")
    assert (response.status_code, response.json()["error"]["code"]) == (422, "wrong_model")
    assert "is a forecaster, which has no labels; ask POST /v1/forecast" in response.json()["error"]["reason"]
    assert "isn't a language model" in post(served, "generate", model="gru").json()["error"]["reason"]
    assert post(served, csv="x", model="nobody").status_code == 404
    assert post(served, values=[1, 2, 3, 4, 5, 6, 7, 8]).json()["error"]["reason"].startswith("values: 2 per step")


def test_there_are_limits(served: Models):
    many = {"load": [1.0] * 60, "heat": [1.0] * 60}
    few = Limits(values=100, series=2)
    told = post(served, values=many, start="2024-01-01", model="gru", limits=few)
    assert "at most 100 in a request (got 120)" in told.json()["error"]["reason"]
    told = post(served, csv="\n".join(hourly(60)), model="gru", limits=few)
    assert "at most 100 values in a request (got 120)" in told.json()["error"]["reason"]
    three = ["id,date,load,heat", *(f"{name},{line}" for name in "abc" for line in hourly(3)[1:])]
    told = post(served, csv="\n".join(three), model="gru", limits=few)
    assert "at most 2 series in a request (got 3)" in told.json()["error"]["reason"]


def test_a_failing_forecaster_is_told_of_without_its_data(
    served: Models, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError("secret 123.5")

    monkeypatch.setattr("rnnlab.use.forecasting.Forecaster.continued", fails)
    response = post(served, csv="\n".join(hourly(60)), model="gru")
    assert (response.status_code, response.json()["error"]["code"]) == (500, "model_failed")
    assert "secret" not in response.text
    assert "123.5" not in capsys.readouterr().err.replace('raise ZeroDivisionError("secret 123.5")', "")


# --- the document -----------------------------------------------------------------------------------------------------


def test_the_document_tells_of_forecasters(served: Models):
    made = document(Limits(values=77), ["labels"], forecasters=["gru", "电"])
    schemathesis.openapi.from_dict(made).validate()
    schemas = made["components"]["schemas"]
    assert schemas["SeriesTable"]["properties"]["model"]["enum"] == ["gru", "电"]
    assert schemas["SeriesValues"]["properties"]["values"]["oneOf"][1]["maxItems"] == 77
    assert schemas["Model"]["properties"]["name"]["enum"] == ["labels", "gru", "电"]
    assert "/v1/predict" not in document(Limits(), [], forecasters=["gru"])["paths"]
    assert "/v1/forecast" not in document(Limits(), ["labels"])["paths"]


def test_answers_are_what_the_document_says(served: Models):
    import jsonschema

    async def question(client: httpx.AsyncClient) -> list[Any]:
        body = {"csv": "\n".join(hourly(60)), "model": "gru", "history": True}
        paths = ["/openapi.json", "/v1/models"]
        return [
            *[(await client.get(path)).json() for path in paths],
            (await client.post("/v1/forecast", json=body)).json(),
            (await client.post("/v1/forecast", json={"values": [1, 2, None, 4], "model": "rows"})).json(),
        ]

    made, models, *answers = asked(served, question)
    for schema, found in [("Models", models), *(("Forecasts", answer) for answer in answers)]:
        jsonschema.validate(found, {"$ref": f"#/components/schemas/{schema}", "components": made["components"]})
    assert json.dumps(answers[0], allow_nan=False)
    assert np.array(answers[0]["forecasts"][0]["channels"]["load"]["quantiles"]["0.9"]).shape == (6,)
