"""Where later layers hand earlier ones what plugins offer. It stands on the ground, so that imports go one way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

provider_sources: list[Callable[[], Iterable[Any]]] = []
"""Each gives further `ProviderTraits`; asked once, when a provider is named that is not known."""
