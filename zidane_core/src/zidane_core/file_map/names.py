"""Which file names are safe on every file system."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from zidane_core.errors import InvalidIdError

NAME_MAX_BYTES = 200

_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])\s*(\..*)?", re.IGNORECASE)


def check_names(names: Iterable[str]) -> None:
    """Return when all the names are plain ones that Linux, macOS and Windows take, and tell apart.

    Raises:
        InvalidIdError: one is a path, a device of Windows, too long, or equal to another but for case.
    """
    seen: set[str] = set()
    for name in names:
        _check_name(name)
        folded = _folded(name)
        if folded in seen:
            raise InvalidIdError("the file name", name, "differs from another one by case or composition only")
        seen.add(folded)


def _check_name(name: str) -> None:
    compatible = unicodedata.normalize("NFKC", name)  # as some file systems see it: a one-dot leader is a dot
    if not name or len(name.encode("utf-8", "surrogatepass")) > NAME_MAX_BYTES:
        raise InvalidIdError("the file name", name, f"is empty or longer than {NAME_MAX_BYTES} bytes")
    if any("\ud800" <= character <= "\udfff" for character in name):
        raise InvalidIdError("the file name", name, "has a lone surrogate, which is no text")
    if _FORBIDDEN.search(compatible):
        raise InvalidIdError("the file name", name, "has a separator or another character that no file name has")
    if compatible[-1:] in {".", " ", ""} or name != name.strip():
        raise InvalidIdError("the file name", name, "ends with a dot, or begins or ends with a space")
    if _DEVICE.fullmatch(compatible):
        raise InvalidIdError("the file name", name, "is a device on Windows")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
