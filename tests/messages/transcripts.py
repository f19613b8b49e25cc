"""Real histories, read from `../shared/transcripts` beside the repository; `ZIDANE_TRANSCRIPTS` names another place."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

_BESIDE = Path(__file__).parents[2].parent / "shared" / "transcripts"
FOLDER = Path(os.environ.get("ZIDANE_TRANSCRIPTS") or _BESIDE)

needs_transcripts = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no transcripts at {FOLDER}")


class History(NamedTuple):
    """One recorded conversation in the format of its provider."""

    name: str
    format: str
    """`anthropic`, `openai_chat` or `openai_responses`."""
    model: str | None
    messages: list[Any]


@cache
def accepted() -> list[History]:
    """The 320 histories that a provider's API answered."""
    return [
        History(f"{kind}-{number}", kind, entry["model"], entry["messages"])
        for kind in ("anthropic", "openai_chat", "openai_responses")
        for number, entry in enumerate(_json(f"pydanticai_{kind}_accepted.json"))
    ]


@cache
def rejected() -> list[tuple[History, str]]:
    """The 13 histories that were refused, with the reason given."""
    return [
        (History(f"rejected-{number}", entry["kind"], entry["model"], entry["messages"]), _reason(entry["error"]))
        for number, entry in enumerate(_json("pydanticai_rejected_400.json"))
    ]


@cache
def taubench() -> list[History]:
    return [
        History(f"taubench-{number}", "openai_chat", "gpt-4o", entry["traj"])
        for number, entry in enumerate(_json("taubench_gpt4o_airline_first.json"))
    ]


@cache
def swe_agent() -> list[History]:
    """SWE-agent and mini-swe-agent trajectories, without the columns that their logs add."""
    names = [
        "sweagent_function_calling_marshmallow-1867.traj.json",
        "sweagent_function_calling_replace_marshmallow-1867.traj.json",
    ]
    found = [History(name, "openai_chat", None, [_swe(m) for m in _json(name)["history"]]) for name in names]
    plain = _json("miniswe_github_issue.traj.json")
    return [*found, History("miniswe", "openai_chat", None, plain)]


@cache
def claude_code() -> list[History]:
    """Claude Code logs: the Anthropic messages within their lines. Lines that hold none are left out."""
    names = [
        "claudecodelog_edge_cases.jsonl",
        "claudecodelog_representative_messages.jsonl",
        "claudecodelog_todowrite_examples.jsonl",
        "simonw_sample_session.jsonl",
    ]
    return [History(name, "anthropic", None, _claude_messages(name)) for name in names]


def all_histories() -> list[History]:
    return [*accepted(), *taubench(), *swe_agent(), *claude_code()]


def _json(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


def _reason(error: dict[str, Any]) -> str:
    return str(error["error"]["message"])


_CHAT_KEYS = {"role", "content", "tool_calls", "tool_call_id"}


def _swe(message: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if key in _CHAT_KEYS}
    if message["role"] == "tool":
        kept["tool_call_id"] = message["tool_call_ids"][0]
    return kept


def _claude_messages(name: str) -> list[Any]:
    messages: list[Any] = []
    for line in (FOLDER / name).read_text().splitlines():
        entry = json.loads(line) if line.strip() else None
        message = entry.get("message") if isinstance(entry, dict) else None
        if isinstance(message, dict) and "content" in message:
            messages.append(message)
    return messages
