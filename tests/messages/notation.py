"""Short names for histories in tests: `A(c("a"))`, `U(r("a"), t("hi"))`."""

from __future__ import annotations

from typing import Any

from zidane_core.messages import PairingRepair, message_turn, to_wire_messages_sync
from zidane_core.records import SessionMessage, SessionTurn


def A(*blocks: Any) -> SessionMessage:
    return SessionMessage(role="assistant", content=list(blocks))


def U(*blocks: Any) -> SessionMessage:
    return SessionMessage(role="user", content=list(blocks))


def S(*blocks: Any) -> SessionMessage:
    return SessionMessage(role="system", content=list(blocks))


def c(call_id: str, name: str = "tool", **extra: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "input": {}, **extra}


def r(call_id: str, output: Any = "ok", **extra: Any) -> dict[str, Any]:
    return {"type": "tool_result", "callId": call_id, "output": output, **extra}


def t(text: str = "text") -> dict[str, Any]:
    return {"type": "text", "text": text}


def think(signature: str = "sig", text: str = "hm", **extra: Any) -> dict[str, Any]:
    return {"type": "thinking", "text": text, "signature": signature, "provider": "anthropic", **extra}


def reasoning(item_id: str = "rs_1", **extra: Any) -> dict[str, Any]:
    return {
        "type": "thinking",
        "text": "hm",
        "summary": [],
        "itemId": item_id,
        "encrypted": "ZW5j",
        "provider": "openai",
        **extra,
    }


PNG: dict[str, Any] = {"type": "image", "source": {"kind": "base64", "mediaType": "image/png", "data": "iVBORw0KGgo="}}
PDF: dict[str, Any] = {
    "type": "document",
    "source": {"kind": "base64", "mediaType": "application/pdf", "data": "JVBERi0xLjQK"},
    "title": "a.pdf",
}


def turns(*messages: SessionMessage, run_id: str | None = None) -> list[SessionTurn]:
    return [message_turn(m, turn_id=f"t{at}", created_at=at, run_id=run_id) for at, m in enumerate(messages)]


def wire(*messages: SessionMessage, **options: Any) -> list[SessionMessage]:
    return to_wire_messages_sync(list(messages), system="keep", **options)


def repairs(*messages: SessionMessage, **options: Any) -> list[tuple[int, str, int, str | None]]:
    found: list[PairingRepair] = []
    wire(*messages, on_repair=found.append, **options)
    return [(repair.mode, repair.kind, repair.index, repair.call_id) for repair in found]


def shape(messages: list[SessionMessage]) -> list[Any]:
    """Roles with the ids of calls and results: `A:a`, `U:a!` (synthetic), and the types of other blocks."""
    return [f"{message.role[0].upper()}:{' '.join(map(_block, message.content))}" for message in messages]


def _block(block: Any) -> str:
    if block["type"] == "tool_call":
        return str(block["id"])
    if block["type"] == "tool_result":
        return f"{block['callId']}{'!' if block.get('synthetic') else '='}"
    return str(block["text"] if block["type"] == "text" else block["type"])
