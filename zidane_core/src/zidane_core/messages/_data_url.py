"""Data URLs, which OpenAI uses for every kind of content that is sent inline."""

from __future__ import annotations

import re

_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def read_data_url(url: str) -> tuple[str, str] | None:
    """Media type and base64 data; `None` for a URL that is not written exactly so."""
    found = _DATA_URL.fullmatch(url)
    return (found[1], found[2]) if found else None


def data_url(media_type: str, data: str) -> str:
    return f"data:{media_type};base64,{data}"
