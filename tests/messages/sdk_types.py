"""The SDKs' own parameter types as a judge of what we send.

`TypeAdapter(MessageParam)` accepts garbage: the types say `Iterable`, which pydantic checks when it is iterated, and
extra keys pass. Here every `Iterable` becomes a `list`, extra keys are refused, and nothing is coerced.
"""

from __future__ import annotations

import collections.abc
import json
import types
import typing
from functools import cache
from typing import Any, Union, get_args, get_origin

import typing_extensions
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

_DICTS: dict[type, Any] = {}


def refusals(format_name: str, messages: list[Any]) -> list[str]:
    """What the SDK's types have against the messages; empty where they pass."""
    return [f"[{at}] {refusal}" for at, message in enumerate(messages) if (refusal := _refusal(format_name, message))]


_SEEN: dict[tuple[str, str], str] = {}
"""Histories share most of their messages, and the unions of the SDKs are slow to try."""


def _refusal(format_name: str, message: Any) -> str:
    key = format_name, json.dumps(message, sort_keys=True)
    if key not in _SEEN:
        _SEEN[key] = _judged(format_name, message)
    return _SEEN[key]


def _judged(format_name: str, message: Any) -> str:
    try:
        _adapter(format_name).validate_python(message)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{len(error.errors())} errors, first {first['loc']}: {first['msg']} in {message!r:.300}"
    return ""


@cache
def _adapter(format_name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_eager(_param(format_name)), config=ConfigDict(strict=True))


def _param(format_name: str) -> Any:
    match format_name:
        case "anthropic":
            from anthropic.types import MessageParam as param
        case "anthropic_beta":
            from anthropic.types.beta import BetaMessageParam as param
        case "openai_chat":
            from openai.types.chat import ChatCompletionMessageParam as param
        case "openai_responses":
            from openai.types.responses import ResponseInputItemParam as param
    return param


def _eager(annotation: Any) -> Any:
    if typing_extensions.is_typeddict(annotation):
        return _eager_dict(annotation)
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        members = [_eager(member) for member in get_args(annotation) if not _is_no_json(member)]
        return Union[tuple(members)]  # noqa: UP007  # built at run time
    if origin in (collections.abc.Iterable, collections.abc.Sequence, list):
        return list[_eager(get_args(annotation)[0])]  # type: ignore[misc]  # built at run time
    if origin is dict:
        return dict[str, Any]
    return Any if annotation is object else annotation


def _eager_dict(original: Any) -> Any:
    """The same TypedDict with eager fields. It is known before its fields are made: the types are recursive."""
    if original in _DICTS:
        return _DICTS[original]
    eager: Any = typing_extensions.TypedDict(f"Eager{original.__name__}", {}, total=False)
    _DICTS[original] = eager
    # The hints, not `__required_keys__`: under `from __future__ import annotations` that one misses every `Required`.
    hints = typing.get_type_hints(original, include_extras=True)
    required = {key for key, hint in hints.items() if get_origin(hint) in _REQUIRED}
    eager.__annotations__ = {key: _eager(_unqualified(hint)) for key, hint in hints.items()}
    eager.__required_keys__ = frozenset(required)
    eager.__optional_keys__ = frozenset(hints.keys() - required)
    eager.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    return eager


_REQUIRED = (typing.Required, typing_extensions.Required)
_QUALIFIERS = (*_REQUIRED, typing.NotRequired, typing_extensions.NotRequired)


def _unqualified(hint: Any) -> Any:
    return _unqualified(get_args(hint)[0]) if get_origin(hint) in _QUALIFIERS else hint


def _is_no_json(member: Any) -> bool:
    """SDK objects and open files, which the types accept beside JSON."""
    kind = get_origin(member) or member
    return isinstance(kind, type) and (issubclass(kind, BaseModel) or kind.__module__ in ("typing", "os", "io"))
