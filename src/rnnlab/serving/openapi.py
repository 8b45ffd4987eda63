"""What the server does, as an OpenAPI 3.1 document: every route, every status, every limit."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from rnnlab.serving.limits import Limits
from rnnlab.serving.requests import MOST, WARMEST
from rnnlab.use.writing import LONGEST_STOP

ANY_ROUTE = {  # statuses that every route can answer with, and what they mean
    400: "The request isn't proper HTTP, or its Host header names another server.",
    403: "The request comes from another site's page (Origin).",
    404: "There is nothing at this address.",
    405: "The address doesn't know this method.",
    408: "The request took too long to arrive.",
    413: "The request has a body, and it is too large.",
    431: "The headers are too large.",
    500: "The server failed; its log says why.",
    503: "The server is stopping, or has too many connections. Try again later.",
}
PREDICT = {
    400: "The body isn't strict JSON: broken, not UTF-8, nested too deeply, a key twice, or NaN. "
    "Or the request isn't proper HTTP, or its Host header names another server.",
    404: "There is no model of this name.",
    413: "The body is larger than {body:,} bytes.",
    415: "The content type isn't application/json.",
    422: "JSON, but not what is asked for: an unknown key, a wrong type, too many or too long texts.",
    429: "Too many texts wait already. `Retry-After` says when to try again.",
    503: "No answer within {answer_seconds:g} seconds, the server is stopping, or it has too many connections.",
}
WRITE = {
    **{status: PREDICT[status] for status in (400, 404, 413, 415)},
    422: "JSON, but not what is asked for: an unknown key, a wrong type or number; or the model isn't one that writes.",
    429: "{writers} requests are written for already. `Retry-After` says when to try again.",
}
CONTINUE = {
    **{status: PREDICT[status] for status in (400, 404, 413, 415, 429, 503)},
    422: "JSON, but not what is asked for: an unknown key, a wrong type, too many values; or series that the model "
    "can't continue: other columns, irregular dates, another spacing; or the model isn't a forecaster.",
}
TOKEN = {401: "The token is missing or wrong."}
OF_FORECASTER = ("horizon", "lookback", "channels", "quantiles", "spacing", "reads_dates")
RETRIED = (429, 503)  # statuses that may tell when to try again


def document(
    limits: Limits,
    models: Sequence[str] = (),
    token: bool = False,
    columns: Sequence[str] = (),
    hears: bool = False,
    writers: Sequence[str] = (),
    forecasters: Sequence[str] = (),
) -> dict[str, Any]:
    """``models`` are the names of those that answer with labels or tags; ``token``: whether one is asked for;
    ``columns``: those of the first model of several text columns; ``hears``: whether a model is asked about recordings;
    ``writers``: the names of language models; ``forecasters``: of those that continue series. What no model does isn't
    told of."""
    answering: dict[str, Any] = {}
    schemas = _schemas([*models, *writers, *forecasters])
    if models:
        answering["/v1/predict"] = {"post": _predict(limits, models, token, columns)}
        schemas = {**_questions(limits, models, columns, hears), **_answers(models), **schemas}
    if writers:
        answering["/v1/generate"] = {"post": _generate(limits, writers, token)}
        answering["/v1/score"] = {"post": _score(limits, token)}
        schemas = {**_writing(limits, writers), **schemas}
    if forecasters:
        answering["/v1/forecast"] = {"post": _forecast(limits, token)}
        schemas = {**_series(limits, forecasters), **schemas}
    secured = {"security": [{"token": []}]} if token else {}
    schemes = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}} if token else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rnnlab serve",
            "version": version("rnnlab"),
            "summary": "Trained models, behind an address: labels for texts, texts, forecasts of series.",
            "description": f"A request may have {limits.body:,} bytes; its headers must arrive within "
            f"{limits.header_seconds:g} s and its body within {limits.body_seconds:g} s. "
            "Every refusal is JSON with a code for programs and a reason for people.",
        },
        **secured,
        "paths": {
            **answering,
            "/v1/models": {"get": _get("listModels", "The models and their cards", _json("Models"), token)},
            "/healthz": {"get": {**_get("health", "Whether the server is up", _json("Health"), False), "security": []}},
            "/metrics": {"get": _get("metrics", "Counters for Prometheus", _text("text/plain"), token)},
            "/openapi.json": {"get": _get("document", "This document", _json("Document"), token)},
            "/": {"get": {**_get("page", "A page to try the models", _text("text/html"), False), "security": []}},
        },
        "components": {"schemas": schemas, **schemes},
    }


def _predict(limits: Limits, models: Sequence[str], token: bool, columns: Sequence[str]) -> dict[str, Any]:
    refused = ANY_ROUTE | PREDICT | (TOKEN if token else {})
    one: dict[str, Any] = {"text": "An awfully slow film, and yet the ending moved me."}
    many = {"texts": ["Not good at all.", "一部好电影"], "model": models[0], "top": 1}
    if columns:
        one["text"] = dict.fromkeys(columns, "…")
        many["texts"] = [one["text"]]
    return {
        "operationId": "predict",
        "summary": "Labels for one text or for several",
        "description": "The same model and text give the same answer, whatever else is asked at the same time.",
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": _to("Question"),
                    "examples": {
                        "one": {"summary": "One text", "value": one},
                        "several": {"summary": "Several, each with its best label", "value": many},
                        "explained": {"summary": "With the tokens that mattered", "value": {**one, "explain": True}},
                    },
                }
            },
        },
        "responses": {
            "200": {"description": "One prediction a text, in their order.", "content": _json("Answer")},
            **_refusals({status: told.format_map(vars(limits)) for status, told in sorted(refused.items())}),
        },
    }


def _generate(limits: Limits, writers: Sequence[str], token: bool) -> dict[str, Any]:
    refused = ANY_ROUTE | WRITE | (TOKEN if token else {})
    some = {"prompt": "To be", "length": 40, "temperature": 0.8, "top_p": 0.9, "seed": 1, "samples": 2}
    events = {
        "type": "object",
        "properties": {"event": {"enum": ["message", "done", "error"]}, "data": {"type": "string"}},
        "required": ["data"],
        "description": 'Server-sent events: `data: {"sample": 0, "text": "…"}` for each piece, then `event: done` with '
        "a Writing, or `event: error` with an Error. The work ends when the client goes.",
    }
    return {
        "operationId": "generate",
        "summary": "A language model goes on with a text",
        "description": "A text depends on its prompt, the seed and its number alone. After "
        f"{limits.writing_seconds:g} seconds it ends where it is.",
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": _to("WritingQuestion"),
                    "examples": {
                        "whole": {"summary": "Two texts, as a whole", "value": some},
                        "streamed": {"summary": "One, as it is written", "value": {"prompt": "To be", "stream": True}},
                        "named": {"summary": "By a model of several", "value": {"model": writers[0], "stop": ["\n"]}},
                    },
                }
            },
        },
        "responses": {
            "200": {
                "description": "What was written.",
                "content": {**_json("Writing"), "text/event-stream": {"schema": events}},
            },
            **_refusals({status: told.format_map(vars(limits)) for status, told in sorted(refused.items())}),
        },
    }


def _score(limits: Limits, token: bool) -> dict[str, Any]:
    refused = ANY_ROUTE | WRITE | (TOKEN if token else {})
    example = {"text": "To be, or not to be"}
    content = {"schema": _to("ScoringQuestion"), "examples": {"one": {"summary": "A text", "value": example}}}
    return {
        "operationId": "score",
        "summary": "How surprised a language model is by each token of a text",
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": {
            "200": {"description": "Each token and its nats.", "content": _json("Scoring")},
            **_refusals({status: told.format_map(vars(limits)) for status, told in sorted(refused.items())}),
        },
    }


def _forecast(limits: Limits, token: bool) -> dict[str, Any]:
    refused = ANY_ROUTE | CONTINUE | (TOKEN if token else {})
    examples = {
        "columns": {"values": {"load": [41.5, None, 43.0]}, "start": "2024-01-01 00:00"},
        "table": {"csv": "date,load\n2024-01-01 00:00,41.5\n2024-01-01 01:00,\n2024-01-01 02:00,43.0\n"},
    }
    content = {
        "schema": _to("SeriesQuestion"),
        "examples": {name: {"summary": f"As {name}", "value": value} for name, value in examples.items()},
    }
    return {
        "operationId": "forecast",
        "summary": "The next steps of series, with quantiles",
        "description": "A forecast depends on its own series alone. What is sent is kept nowhere.",
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": {
            "200": {"description": "One forecast per series, in their order.", "content": _json("Forecasts")},
            **_refusals({status: told.format_map(vars(limits)) for status, told in sorted(refused.items())}),
        },
    }


def _series(limits: Limits, forecasters: Sequence[str]) -> dict[str, Any]:
    string, real = {"type": "string"}, {"type": "number"}
    column = {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 1, "maxItems": limits.values}
    asked = {
        "model": {
            "type": "string",
            "enum": list(forecasters),
            "default": forecasters[0],
            "description": "Default: the first.",
        },
        "history": {"type": "boolean", "default": False, "description": "Whether to tell what was read, too."},
    }
    values = {
        "oneOf": [
            {"type": "object", "additionalProperties": column, "minProperties": 1},
            column,
            {"type": "array", "items": {**column, "maxItems": 1000}, "minItems": 1},
        ],
        "description": "The values of each channel by its name; or of the only channel; or a list per step, in the "
        f"order of the model's channels. At most {limits.values:,}; null where one is missing.",
    }
    dates = {"type": "array", "items": string, "description": "One per step."}
    start = {**string, "description": "The first date; the others follow at the spacing of the model."}
    name = {**string, "description": "Of the series: one that the model learnt from is measured as it was there."}
    told: dict[str, Any] = {
        "dates": {"type": "array", "items": string},
        "first_step": {"type": "integer", "minimum": 1, "description": "Where there are no dates."},
    }
    known = {"type": "array", "items": {"type": ["number", "null"]}}
    figures = {"type": "array", "items": real}
    of_channel = _object({"point": figures, "quantiles": {"type": "object", "additionalProperties": figures}})
    history = _object(
        {**told, "channels": {"type": "object", "additionalProperties": known}}, optional=["dates", "first_step"]
    )
    forecast = {
        "series": {**string, "description": "Its name, if it has one."},
        **told,
        "channels": {"type": "object", "additionalProperties": of_channel},
        "history": {**history, "description": "The last steps before it, as many as the model reads."},
    }
    of_values = {"values": values, "dates": dates, "start": start, "series": name, **asked}
    table = {"type": "string", "maxLength": limits.body, "description": "A table with its header, of commas or tabs."}
    kinds = {
        "SeriesValues": _object(of_values, [key for key in of_values if key != "values"]),
        "SeriesTable": _object({"csv": table, **asked}, [*asked]),
    }
    return {
        "SeriesQuestion": {"oneOf": [_to(kind) for kind in kinds]},
        **kinds,
        "Forecasts": _object(
            {
                "model": {"enum": list(forecasters)},
                "forecasts": {
                    "type": "array",
                    "items": _object(forecast, optional=["series", "dates", "first_step", "history"]),
                },
            }
        ),
    }


def _writing(limits: Limits, writers: Sequence[str]) -> dict[str, Any]:
    string, real, count = {"type": "string"}, {"type": "number", "minimum": 0}, {"type": "integer", "minimum": 0}
    model = {"type": "string", "enum": list(writers), "default": writers[0], "description": "Default: the first."}
    stop = {"type": "string", "minLength": 1, "maxLength": LONGEST_STOP}
    question = {
        "prompt": {"type": "string", "maxLength": limits.characters, "default": ""},
        "model": model,
        "length": {"type": "integer", "minimum": 1, "maximum": limits.length, "description": "Tokens, at most."},
        "samples": {"type": "integer", "minimum": 1, "maximum": limits.samples, "default": 1},
        "temperature": {**real, "maximum": WARMEST, "default": 1, "description": "0 takes the likeliest token."},
        "top_k": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "Of the K likeliest tokens."},
        "top_p": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 1,
            "default": 1,
            "description": "Of the likeliest tokens that have this probability together.",
        },
        "stop": {"oneOf": [stop, {"type": "array", "items": stop, "maxItems": limits.stops}]},
        "seed": {"type": "integer", "minimum": 0, "maximum": MOST, "default": 0},
        "stream": {"type": "boolean", "default": False, "description": "As server-sent events."},
    }
    sample = {
        "text": {**string, "description": "Without the prompt, and without a stop text."},
        "tokens": count,
        "nats_per_token": {"type": "number", "description": "How surprising it is to the model itself."},
        "ended": {"enum": ["length", "end", "stop", "time"], "description": "By what."},
        "sample": {**count, "description": "Its number, which with the seed decides what is drawn."},
    }
    scoring = {
        "model": {"enum": list(writers)},
        "tokens": {"type": "array", "items": string},
        "nats": {"type": "array", "items": {"type": "number"}},
        "nats_per_token": real,
        "perplexity": real,
        "bits_per_character": real,
        "unknown": {"type": "array", "items": count, "description": "Places of tokens that the model doesn't know."},
    }
    return {
        "WritingQuestion": _object(question, optional=list(question)),
        "Writing": _object(
            {
                "model": {"enum": list(writers)},
                "samples": {"type": "array", "items": _object(sample)},
                "unknown": {
                    "type": "array",
                    "items": string,
                    "description": "Tokens of the prompt that the model doesn't know.",
                },
            }
        ),
        "ScoringQuestion": _object(
            {"text": {"type": "string", "minLength": 1, "maxLength": limits.characters}, "model": model}, ["model"]
        ),
        "Scoring": _object(scoring),
    }


def _get(name: str, summary: str, content: Mapping[str, Any], token: bool) -> dict[str, Any]:
    refused = ANY_ROUTE | (TOKEN if token else {})
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": f"{summary}.", "content": content}, **_refusals(refused)},
    }


def _refusals(refused: Mapping[int, str]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, told in sorted(refused.items()):
        responses[str(status)] = {"description": told, "content": _json("Error")}
        if status in RETRIED:
            seconds = {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}
            responses[str(status)]["headers"] = {"Retry-After": seconds}
    return responses


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": _to(schema)}}


def _text(kind: str) -> dict[str, Any]:
    return {kind: {"schema": {"type": "string"}}}


def _to(schema: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{schema}"}


def _object(properties: Mapping[str, Any], optional: Sequence[str] = ()) -> dict[str, Any]:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
    }


def _answers(models: Sequence[str]) -> dict[str, Any]:
    share = {"type": "number", "minimum": 0, "maximum": 1}
    string = {"type": "string"}
    return {
        "Answer": _object(
            {"model": {"enum": list(models)}, "predictions": {"type": "array", "items": _to("Prediction")}}
        ),
        "Prediction": _object(
            {
                "label": {**string, "description": "Where a text may have several, all of them in one text."},
                "labels": {
                    "type": "array",
                    "items": string,
                    "description": "Where a text may have several: those that reach their thresholds.",
                },
                "thresholds": {
                    "type": "object",
                    "additionalProperties": share,
                    "description": "Where a text may have several: from which probability on a label is given.",
                },
                "tags": {
                    "type": "array",
                    "items": {"type": "object"},
                    "description": "Of a tagger: each token, its tag and how probable that is.",
                },
                "entities": {
                    "type": "array",
                    "items": {"type": "object"},
                    "description": "Of a tagger of entities: type, text, start and end in characters, probability.",
                },
                "probability": {**share, "description": "Of the label; calibrated where the model's card says so."},
                "probabilities": {
                    "type": "object",
                    "additionalProperties": share,
                    "description": "Of every label, or of the `top` most probable.",
                },
                "known": {**share, "description": "The share of the text's tokens that the model knows."},
                "tokens": {
                    "type": "array",
                    "items": _to("Token"),
                    "description": "With `explain`, of models that can tell: what the answer rests on.",
                },
            },
            optional=["labels", "thresholds", "tags", "entities", "tokens"],
        ),
        "Token": _object(
            {
                "text": string,
                "weight": {"type": "number", "description": "Above 0 it speaks for the label, below 0 against it."},
                "known": {"type": "boolean", "description": "Whether the model has learnt this token."},
            },
            optional=["known"],
        ),
    }


def _schemas(models: Sequence[str]) -> dict[str, Any]:
    string, maybe = {"type": "string"}, {"type": ["number", "null"], "minimum": 0}
    strings, count = {"type": "array", "items": string}, {"type": "integer", "minimum": 1}
    return {
        "Models": _object({"models": {"type": "array", "items": _to("Model")}}),
        "Model": _object(
            {
                "name": {"enum": list(models)},
                "kind": {**string, "description": "The architecture or baseline."},
                "reads": {"enum": ["text", "recording", "series"]},
                "answers": {
                    "enum": ["label", "tags", "text", "translation", "forecast"],
                    "description": "One for all of it, a tag for every token, how the text may go on, another text "
                    "for it, which stands where a label would, or the next steps of a series.",
                },
                "horizon": {**count, "description": "Of a forecaster: how many steps it forecasts."},
                "lookback": {**count, "description": "… how many of the last steps it reads."},
                "channels": {**strings, "description": "… the columns that it reads and forecasts."},
                "quantiles": {"type": "array", "items": {"type": "number"}},
                "spacing": {"type": ["string", "null"], "description": "… how far steps are apart; null: no dates."},
                "reads_dates": {"type": "boolean", "description": "… whether it needs the dates."},
                "unit": {"enum": ["chars", "words"], "description": "Of a model that writes: what a token is."},
                "labels": {"type": "array", "items": string},
                "types": {"type": "array", "items": string, "description": "Of a tagger of entities: their types."},
                "columns": {"type": "array", "items": string, "description": "Of several text columns, their names."},
                "card": {"type": "object", "description": "What it was made of, how well it does, what it isn't for."},
                "by_label": {
                    "type": "array",
                    "items": _object(
                        {"rows": {"type": "integer"}, **dict.fromkeys(("recall", "precision", "f1", "loss"), maybe)}
                    ),
                    "description": "What the test rows say of each label, in their order; empty where rows have none.",
                },
            },
            optional=["unit", "types", "columns", *OF_FORECASTER],
        ),
        "Health": {"type": "object", "properties": {"status": string}, "required": ["status"]},
        "Document": {"type": "object", "properties": {"openapi": {"const": "3.1.0"}}, "required": ["openapi"]},
        "Error": _object({"error": _object({"code": string, "reason": string})}),
    }


def _questions(limits: Limits, models: Sequence[str], columns: Sequence[str], hears: bool) -> dict[str, Any]:
    """Explanations cost more, and have limits of their own: hence four kinds of question about texts."""
    asked = {
        "model": {"type": "string", "enum": list(models), "default": models[0], "description": "Default: the first."},
        "top": {"type": "integer", "minimum": 1, "description": "How many labels to tell of; default: all."},
    }

    def questions(explain: bool, texts: int, characters: int) -> list[dict[str, Any]]:
        options = {**asked, "explain": {"type": "boolean", "const": explain}}
        optional = [*asked, *([] if explain else ["explain"])]
        text: dict[str, Any] = {"type": "string", "maxLength": characters}
        if columns:  # of all of them together, the server takes as many characters
            each = {"type": "string", "maxLength": characters // len(columns)}
            text = _object(dict.fromkeys(columns, each))
        several = {"type": "array", "items": text, "minItems": 1, "maxItems": texts}
        return [_object({"text": text, **options}, optional), _object({"texts": several, **options}, optional)]

    text, texts = questions(False, limits.texts, limits.characters)
    explained_text, explained_texts = questions(True, limits.explained, limits.explained_characters)
    kinds = {"Text": text, "Texts": texts, "ExplainedText": explained_text, "ExplainedTexts": explained_texts}
    if hears:
        wav = {"type": "string", "contentEncoding": "base64", "contentMediaType": "audio/wav"}
        several = {"type": "array", "items": wav, "minItems": 1, "maxItems": limits.texts}
        kinds |= {
            "Wav": _object({"wav": wav, **asked}, [*asked]),
            "Wavs": _object({"wavs": several, **asked}, [*asked]),
        }
    return {"Question": {"oneOf": [_to(kind) for kind in kinds]}, **kinds}
