"""The model that the README's host asks."""


async def ask_model(messages):
    assert messages[-1]["role"] == "user"
    return {
        "role": "assistant",
        "model": "claude-example",
        "content": [{"type": "text", "text": "Green."}],
        "usage": {"input_tokens": 12, "output_tokens": 3},
    }
