"""Ids and names as a provider takes them: rewritten where it would refuse them, the same everywhere in a history."""

from __future__ import annotations

import re
from hashlib import sha256

from .traits import ProviderTraits

_DIGEST = 8
"""Hex digits of a digest in a rewritten id: enough to tell a history's ids apart, and collisions are looked for."""


class WireNames:
    """The wire forms of one history's ids, or of its tool names.

    An id that the provider takes stays as it is. Another becomes readable characters and a digest of the original;
    within a history no two originals share a wire form, and a form depends on what came before it only.
    """

    def __init__(self, pattern: str, longest: int) -> None:
        self._fits = re.compile(pattern).fullmatch
        self._longest = longest
        self._forms: dict[str, str] = {}
        self._taken: set[str] = set()

    def __call__(self, original: str) -> str:
        form = self._forms.get(original)
        if form is None:
            form = self._forms[original] = self._new_form(original)
            self._taken.add(form)
        return form

    def _new_form(self, original: str) -> str:
        if len(original) <= self._longest and original not in self._taken and self._fits(original):
            return original
        salt = 0
        while (form := self._rewritten(original, salt)) in self._taken:
            salt += 1
        return form

    def _rewritten(self, original: str, salt: int) -> str:
        seed = f"{original}\0{salt}" if salt else original
        digest = sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()
        readable = re.sub(r"[^a-zA-Z0-9_-]", "_", original)[: self._longest - _DIGEST - 1] or "call"
        form = f"{readable}_{digest[:_DIGEST]}"
        return form if len(form) <= self._longest and self._fits(form) else digest[: self._longest]


def call_ids(traits: ProviderTraits) -> WireNames:
    return WireNames(traits.call_id_pattern, traits.call_id_max)


def tool_names(traits: ProviderTraits) -> WireNames:
    return WireNames(traits.name_pattern, traits.name_max)
