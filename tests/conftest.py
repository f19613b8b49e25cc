"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

import zidane_core
from zidane_core import SessionHeader, SessionTurn, text
from zidane_core.conformance import StoreConformance

settings.register_profile("repeatable", derandomize=True, deadline=None)  # the same examples at every run, no timing
settings.load_profile("repeatable")

StoreConformance.seed = 1  # the same walks at every run; the command line and the long runs draw others

assert zidane_core.__file__ is not None, "zidane_core is a bare folder on the path, not the installed package"


@pytest.fixture
def turn() -> Callable[..., SessionTurn]:
    """Makes turns: `turn("t1", "hello", role="assistant")`."""

    def make(turn_id: str, words: str = "hello", **fields: Any) -> SessionTurn:
        return SessionTurn(**{"id": turn_id, "role": "user", "content": [text(words)], "created_at": 1, **fields})

    return make


@pytest.fixture
def header() -> Callable[..., SessionHeader]:
    """Makes creations: `header("creation-1", agent_id="a")`."""

    def make(creation_id: str = "creation", **fields: Any) -> SessionHeader:
        return SessionHeader(creation_id=creation_id, created_at=1, **fields)

    return make
