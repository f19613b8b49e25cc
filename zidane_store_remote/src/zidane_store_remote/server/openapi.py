"""The OpenAPI 3.1 document, made from the route table and the problem table."""

from __future__ import annotations

from collections import defaultdict
from importlib.metadata import version
from typing import Any

import msgspec

from zidane_core.records import EXTRA_KEY
from zidane_store_remote._wire import headers as names
from zidane_store_remote._wire import json_text, lines, problems
from zidane_store_remote._wire.bodies import HistoryHead
from zidane_store_remote._wire.problems import BY_SLUG
from zidane_store_remote._wire.route import Query, Route
from zidane_store_remote._wire.routes import BODY_PROBLEMS, COMMON_PROBLEMS, ROUTES
from zidane_store_remote._wire.texts import SEGMENT_PATTERN

Schema = dict[str, Any]

_REF = "#/components/schemas/{name}"
_TEXT = {"type": "string", "pattern": "^([A-Za-z0-9._:-]+|~[A-Za-z0-9_-]*)$"}


def openapi_document() -> Schema:
    """The document that `/v1/openapi.json` serves."""
    paths: dict[str, Schema] = defaultdict(dict)
    for route in ROUTES:
        paths[route.path][route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "zidane session store",
            "version": version("zidane-store-remote"),
            "description": "Sessions of AI agents over HTTP. Ids in paths are `~` and the base64url of their UTF-8.",
        },
        "paths": dict(paths),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}, {}],
    }


def _operation(route: Route) -> Schema:
    slugs = {*COMMON_PROBLEMS, *route.problems, *(BODY_PROBLEMS if route.body is not None else ())}
    operation: Schema = {
        "operationId": route.name,
        "summary": route.doc,
        "parameters": [
            *(_path_parameter(name) for name in route.ids),
            *(_query_parameter(query) for query in route.query),
            *_header_parameters(route),
        ],
        "responses": {"200": _answer(route), **_problems(slugs)},
    }
    if not route.writes:
        operation["responses"]["304"] = {"description": "Unchanged since the revision in If-None-Match"}
    if route.body is not None:
        schema = {"$ref": _REF.format(name=route.body.__name__)}
        operation["requestBody"] = {"required": True, "content": {json_text.MEDIA_TYPE: {"schema": schema}}}
    return operation


def _answer(route: Route) -> Schema:
    content: Schema = {json_text.MEDIA_TYPE: {"schema": {"$ref": _REF.format(name=route.answer.__name__)}}}
    if route.streams:
        content[lines.MEDIA_TYPE] = {"schema": {"type": "string"}}
    return {"description": route.doc, "content": content}


def _problems(slugs: set[str]) -> Schema:
    by_status: dict[int, list[str]] = defaultdict(list)
    for slug in slugs:
        by_status[BY_SLUG[slug].status].append(slug)
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}}
    return {
        str(status): {
            "description": "; ".join(f"`{slug}`: {BY_SLUG[slug].title}" for slug in sorted(found)),
            "content": content,
        }
        for status, found in sorted(by_status.items())
    }


def _path_parameter(name: str) -> Schema:
    schema = {"type": "string", "pattern": SEGMENT_PATTERN}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameter(query: Query) -> Schema:
    schema: Schema = {"type": "integer"}
    match query.kind:
        case "text" | "text or null":
            schema = _TEXT
        case "word":
            schema = {"type": "string", "enum": list(query.words)}
        case "count":
            schema = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
        case "integer":
            schema = {"type": "integer", "minimum": -(10**18) + 1, "maximum": 10**18 - 1}
    return {"name": query.name, "in": "query", "description": query.doc, "schema": schema}


def _header_parameters(route: Route) -> list[Schema]:
    found: list[Schema] = [_header(names.SCOPE, "The tenant whose data this is", _TEXT)]
    if route.writes:
        found.append(
            _header(names.OPERATION, "The operation's id; a call that repeats it gets the first answer", _TEXT)
        )
    if route.moves_session:
        etag = {"type": "string", "pattern": '^"[0-9]{1,18}"$'}
        found += [
            _header(names.IF_MATCH, "The revision that the session must still have", etag),
            _header(names.FENCE, "The epoch of the claim that this write belongs to", {"type": "integer"}),
        ]
    return found


def _header(name: str, doc: str, schema: Schema) -> Schema:
    return {"name": name.title(), "in": "header", "description": doc, "schema": schema}


def _schemas() -> Schema:
    kinds = [*{route.body for route in ROUTES if route.body}, *{route.answer for route in ROUTES}, HistoryHead]
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    for schema in schemas.values():
        schema.get("properties", {}).pop(EXTRA_KEY, None)  # unknown members are kept among the known ones
        schema.pop("additionalProperties", None)
    return {**schemas, "Problem": _PROBLEM}


_PROBLEM: Schema = {
    "type": "object",
    "description": "RFC 9457; the error's own facts are further members.",
    "properties": {
        "type": {"type": "string", "enum": [problems.TYPE_PREFIX + slug for slug in BY_SLUG]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "requestId": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail", "requestId"],
}
