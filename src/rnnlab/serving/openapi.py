"""What the server does, as an OpenAPI 3.1 document: every route, every status, every limit."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from rnnlab.serving.limits import Limits

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
TOKEN = {401: "The token is missing or wrong."}
RETRIED = (429, 503)  # statuses that may tell when to try again


def document(
    limits: Limits,
    models: Sequence[str] = (),
    token: bool = False,
    columns: Sequence[str] = (),
    hears: bool = False,
) -> dict[str, Any]:
    """``models`` are the names of those that are served; ``token``: whether one is asked for; ``columns``: those of the
    first model of several text columns; ``hears``: whether a model is asked about recordings."""
    secured = {"security": [{"token": []}]} if token else {}
    schemes = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}} if token else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rnnlab serve",
            "version": version("rnnlab"),
            "summary": "Labels for texts, with calibrated probabilities and the tokens that mattered.",
            "description": f"A request may have {limits.body:,} bytes; its headers must arrive within "
            f"{limits.header_seconds:g} s and its body within {limits.body_seconds:g} s. "
            "Every refusal is JSON with a code for programs and a reason for people.",
        },
        **secured,
        "paths": {
            "/v1/predict": {"post": _predict(limits, models, token, columns)},
            "/v1/models": {"get": _get("listModels", "The models and their cards", _json("Models"), token)},
            "/healthz": {"get": {**_get("health", "Whether the server is up", _json("Health"), False), "security": []}},
            "/metrics": {"get": _get("metrics", "Counters for Prometheus", _text("text/plain"), token)},
            "/openapi.json": {"get": _get("document", "This document", _json("Document"), token)},
            "/": {"get": {**_get("page", "A page to try the models", _text("text/html"), False), "security": []}},
        },
        "components": {"schemas": _schemas(limits, models, columns, hears), **schemes},
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


def _schemas(limits: Limits, models: Sequence[str], columns: Sequence[str], hears: bool) -> dict[str, Any]:
    share = {"type": "number", "minimum": 0, "maximum": 1}
    string, maybe = {"type": "string"}, {"type": ["number", "null"], "minimum": 0}
    return {
        **_questions(limits, models, columns, hears),
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
        "Models": _object({"models": {"type": "array", "items": _to("Model")}}),
        "Model": _object(
            {
                "name": {"enum": list(models)},
                "kind": {**string, "description": "The architecture or baseline."},
                "reads": {"enum": ["text", "recording"]},
                "answers": {"enum": ["label", "tags"], "description": "One for all of it, or a tag for every token."},
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
            optional=["types", "columns"],
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
