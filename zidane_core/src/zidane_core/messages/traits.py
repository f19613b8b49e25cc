"""What each provider takes: one entry of a table, so that a new provider is an entry and no code.

The converters, the wire projection and the id rewriting read it. Give a provider by its name, or hand in
`ProviderTraits` of your own, made from a bundled one with `msgspec.structs.replace`.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache

import msgspec

from zidane_core.extension_points import provider_sources

MEDIA = frozenset({"image", "document"})


class ProviderTraits(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about one provider that a history sent to it must respect."""

    name: str
    call_id_pattern: str = r"[\s\S]+"
    """What a call id must match entirely. Others are rewritten on the wire, alike in call and result."""
    call_id_max: int = 64
    name_pattern: str = r"[A-Za-z0-9_-]+"
    """What a tool's name must match entirely."""
    name_max: int = 64
    prefill: bool = False
    """The last message may be the assistant's."""
    system_anywhere: bool = True
    """System messages may stand within the list; where not, they become user text in place."""
    no_system_models: str | None = None
    """A pattern of the models that are the exception to `system_anywhere`."""
    result_types: frozenset[str] = frozenset({"text"})
    """Block types that a tool result may hold. What it may not is moved behind the results."""
    echo_reasoning: bool = False
    """`reasoning_content` must be sent back with the message it came with."""
    image_types: frozenset[str] = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
    """Media types of images that are taken as base64."""


_TRAITS: dict[str, ProviderTraits] = {
    traits.name: traits
    for traits in (
        ProviderTraits(
            name="anthropic",
            call_id_pattern=r"[a-zA-Z0-9_-]+",
            name_max=128,
            no_system_models=r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4(?:-[0-7])?(?:-20\d{6})?(?:-latest)?$)",
            result_types=frozenset({"text", "image", "document", "opaque"}),
        ),
        ProviderTraits(name="openai", result_types=frozenset({"text", "image", "document"})),
        ProviderTraits(name="openai_chat", call_id_max=40, prefill=True),
        ProviderTraits(name="deepseek", prefill=True, echo_reasoning=True),
        ProviderTraits(name="mistral", call_id_pattern=r"[a-zA-Z0-9]{9}", call_id_max=9),
    )
}


def provider_traits(provider: str | ProviderTraits) -> ProviderTraits:
    """The traits of a provider, by name or as given.

    Raises:
        ValueError: no provider has this name.
    """
    if isinstance(provider, ProviderTraits):
        return provider
    if provider not in _TRAITS:
        _ask_sources()
    try:
        return _TRAITS[provider]
    except KeyError:
        close = get_close_matches(provider, _TRAITS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(_TRAITS))}"
        raise ValueError(f"no provider traits named {provider!r}: {hint}") from None


def register_provider(traits: ProviderTraits) -> None:
    """Make `traits` known by its name. Registering the same again is harmless.

    Raises:
        ValueError: another provider has this name.
    """
    known = _TRAITS.setdefault(traits.name, traits)
    if known != traits:
        raise ValueError(f"provider traits named {traits.name!r} are registered already")


def known_providers() -> list[str]:
    """The names of all providers, plugins' included."""
    _ask_sources()
    return sorted(_TRAITS)


@cache
def _ask_sources() -> None:
    for source in provider_sources:
        for traits in source():
            register_provider(traits)


def takes_system(traits: ProviderTraits, model: str | None) -> bool:
    """Whether a system message may stand within the list that is sent to this model."""
    excluded = traits.no_system_models
    return traits.system_anywhere and not (model and excluded and re.match(excluded, model))


_SNAPSHOT = re.compile(r"(?:-20\d{6}|-20\d\d-\d\d-\d\d|-latest)$")


def same_model(made_by: str | None, target: str | None) -> bool:
    """Whether reasoning of one model may go to the other. A dated snapshot is its model; unknown is taken to agree."""
    if made_by is None or target is None or made_by == target:
        return True
    return _SNAPSHOT.sub("", made_by) == _SNAPSHOT.sub("", target)
