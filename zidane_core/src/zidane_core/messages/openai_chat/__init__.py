"""The OpenAI Chat Completions format."""
