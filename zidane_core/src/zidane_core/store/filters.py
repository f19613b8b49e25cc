"""Which sessions a listing shows."""

from __future__ import annotations

from msgspec import UNSET

from .head import Head
from .values import SessionFilter


def matches_session_filter(head: Head, where: SessionFilter) -> bool:
    """Whether the filter's fields all match: None only a session without the value, UNSET any."""
    return (
        (where.agent_id is UNSET or where.agent_id == head.agent_id)
        and (where.project_root is UNSET or where.project_root == head.project_root)
        and (where.status is UNSET or where.status == head.status)
    )
