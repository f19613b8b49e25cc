"""The served OpenAPI document is true: schemathesis finds no 5xx and no answer that it does not describe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, seed, settings

from zidane_core.memory import MemoryStore
from zidane_store_remote._wire.texts import to_segment
from zidane_store_remote.server import create_app
from zidane_store_remote.server.openapi import openapi_document

from .serving import served

schemathesis = pytest.importorskip("schemathesis")
from schemathesis.checks import CHECKS  # noqa: E402 -- only where schemathesis is installed

SEED = 20_261_129
CASES = 4
"""For each operation and mode: 32 operations, with data that fits the document and with data that does not."""

CHECKED = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
]
KNOWN_SESSIONS = ("s", "a/b")
OPERATIONS = {
    each.ok().label: each.ok() for each in schemathesis.openapi.from_dict(openapi_document()).get_all_operations()
}


@pytest.fixture(scope="module")
def fuzzed_server() -> Iterator[str]:
    with served(create_app(MemoryStore(), tokens=None, opens_store=True)) as url:
        for each in KNOWN_SESSIONS:
            body = {"turns": [{"id": "t", "role": "user", "content": [], "createdAt": 1}],
                    "create": {"creationId": "c", "createdAt": 1}}  # fmt: skip
            httpx.post(f"{url}/v1/sessions/{to_segment(each)}/turns", json=body).raise_for_status()
        yield url


def fuzz(url: str, label: str, mode: Any, cases: int) -> None:
    operation = OPERATIONS[label]
    chosen = [CHECKS.get_one(name) for name in CHECKED]

    @seed(SEED)
    @settings(max_examples=cases, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def every_answer_is_described(case: Any) -> None:
        drawn = case.path_parameters.get("session") if case.path_parameters else None
        if isinstance(drawn, str) and len(drawn) % 3:  # two in three about a session that exists
            case.path_parameters["session"] = to_segment(KNOWN_SESSIONS[len(drawn) % 3 - 1])
        case.call_and_validate(base_url=url, checks=chosen)

    every_answer_is_described()


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", list(OPERATIONS))
def test_every_answer_is_one_that_the_document_describes(fuzzed_server: str, label: str, mode: Any) -> None:
    """Whatever is sent, no 5xx, and status, media type and body are as the document says."""
    fuzz(fuzzed_server, label, mode, CASES)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", list(OPERATIONS))
def test_every_answer_is_one_that_the_document_describes_in_many_cases(
    fuzzed_server: str, label: str, mode: Any
) -> None:
    fuzz(fuzzed_server, label, mode, 250)


def test_the_document_is_served(fuzzed_server: str) -> None:
    """The document that is tested is the one that is served, to everybody."""
    assert httpx.get(fuzzed_server + "/v1/openapi.json").json() == json.loads(json.dumps(openapi_document()))
