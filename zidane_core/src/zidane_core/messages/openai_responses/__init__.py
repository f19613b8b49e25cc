"""The OpenAI Responses format: a list of items."""
