"""Histories of our own, one for each kind of content, for machines without the recorded ones."""

from __future__ import annotations

from typing import Any

from .transcripts import History

PNG = "iVBORw0KGgo="
PDF = "JVBERi0xLjQK"

_TOOLS = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"b": 1, "a": [None, {"é": "ü"}]}}

ANTHROPIC: dict[str, list[Any]] = {
    "thinking-then-call": [
        {"role": "user", "content": [{"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "cmVk"},
                _TOOLS,
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {"type": "text", "text": "seen"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    ],
                },
                {"type": "text", "text": "Well?"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Fine."}]},
    ],
    "parallel-calls-one-fails": [
        {"role": "user", "content": [{"type": "text", "text": "Both."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Trying."},
                {"type": "tool_use", "id": "a", "name": "one", "input": {}},
                {"type": "tool_use", "id": "b", "name": "two", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": True},
                {"type": "tool_result", "tool_use_id": "a", "content": "yes", "is_error": False},
            ],
        },
    ],
    "two-assistant-messages-answered-together": [
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "one", "input": {}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "b", "name": "two", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "1"},
                {"type": "tool_result", "tool_use_id": "b", "content": "2"},
            ],
        },
    ],
    "server-tool": [
        {"role": "user", "content": [{"type": "text", "text": "Search."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": [
                        {
                            "type": "web_search_result",
                            "title": "t",
                            "url": "https://example.com",
                            "encrypted_content": "ZW5j",
                        }
                    ],
                },
                {
                    "type": "text",
                    "text": "Found.",
                    "citations": [
                        {
                            "type": "web_search_result_location",
                            "cited_text": "x",
                            "encrypted_index": "aQ==",
                            "title": "t",
                            "url": "https://example.com",
                        }
                    ],
                },
            ],
        },
        {"role": "user", "content": [{"type": "text", "text": "Thanks."}]},
    ],
    "documents": [
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                    "title": "report.pdf",
                    "context": "last year's",
                    "citations": {"enabled": True},
                },
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}},
                {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
                {
                    "type": "document",
                    "source": {"type": "content", "content": [{"type": "text", "text": "inner"}]},
                },
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            ],
        },
    ],
    "system-within": [
        {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "system", "content": [{"type": "text", "text": "Be short."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "user", "content": [{"type": "text", "text": "Bye."}]},
    ],
}

CHAT: dict[str, list[Any]] = {
    "calls": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Go.", "name": "ann"},
        {
            "role": "assistant",
            "content": "Trying.",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "one", "arguments": '{"b":1,"a":2}'}},
                {"id": "call_2", "type": "custom", "custom": {"name": "two", "input": "free text"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "1"},
        {
            "role": "tool",
            "tool_call_id": "call_2",
            "content": [{"type": "text", "text": "2"}, {"type": "text", "text": "3"}],
        },
        {"role": "assistant", "refusal": "No."},
        {"role": "user", "content": "Then not."},
    ],
    "media": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See."},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            ],
        },
        {"role": "assistant", "audio": {"id": "audio_1"}},
        {"role": "user", "content": "And?"},
    ],
    "broken-arguments": [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "one", "arguments": "[1,2]"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "no object"},
    ],
}

RESPONSES: dict[str, list[Any]] = {
    "reasoning-then-call": [
        {"role": "user", "content": "Go."},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "ZW5j",
        },
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "one", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "1"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "ZW5j"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "final_answer",
            "content": [
                {"type": "output_text", "text": "Done.", "annotations": []},
                {"type": "refusal", "refusal": "Not that."},
            ],
        },
    ],
    "media": [
        {"role": "developer", "content": "Look closely."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "See."},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "high"},
                {"type": "input_image", "file_id": "file-1", "detail": "auto"},
                {"type": "input_file", "file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"},
                {"type": "input_file", "file_url": "https://example.com/a.pdf"},
            ],
        },
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "draw", "input": "a cat"},
        {
            "type": "custom_tool_call_output",
            "call_id": "call_1",
            "output": [{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}],
        },
        {"role": "assistant", "content": "A cat."},
    ],
    "server-and-client-items": [
        {"role": "user", "content": "Find."},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "tool_search_call", "call_id": "ts_1", "execution": "client", "status": "completed", "arguments": {}},
        {"type": "tool_search_output", "call_id": "ts_1", "execution": "client", "status": "completed", "tools": []},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "ZW5j"},
        {"role": "user", "content": "Go on."},
    ],
}


def own_histories() -> list[History]:
    kinds = {"anthropic": ANTHROPIC, "openai_chat": CHAT, "openai_responses": RESPONSES}
    models = {"anthropic": "claude-opus-4-8", "openai_chat": "gpt-4o", "openai_responses": "gpt-5.4"}
    return [
        History(f"own-{kind}-{name}", kind, models[kind], messages)
        for kind, named in kinds.items()
        for name, messages in named.items()
    ]
