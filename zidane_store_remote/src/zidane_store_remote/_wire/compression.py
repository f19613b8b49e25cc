"""gzip with a bound: a small body cannot become an unbounded one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

WORTH_IT_BYTES = 4_096
"""Below it, compressing costs more than it saves."""

_GZIP = 31  # zlib's number for the gzip format with the largest window
_STEP = 1 << 20


class TooLargeError(Exception):
    """The body is longer than it may be, once decompressed."""


class BoundedBody:
    """Takes the pieces of a body, and gives them decompressed, up to `limit` bytes in all.

    Raises:
        TooLargeError: there is more.
        ValueError: it is not gzip, or its end is missing.
    """

    def __init__(self, limit: int, *, gzipped: bool) -> None:
        self._left = limit
        self._inflate = zlib.decompressobj(_GZIP) if gzipped else None

    def feed(self, piece: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            yield self._counted(piece)
            return
        while piece:
            try:
                yield self._counted(self._inflate.decompress(piece, _STEP))
            except zlib.error as error:
                raise ValueError(f"not gzip: {error}") from error
            piece = self._inflate.unconsumed_tail

    def end(self) -> None:
        """Check that the body is whole."""
        if self._inflate is not None and not self._inflate.eof:
            raise ValueError("the gzip stream is cut off")

    def _counted(self, piece: bytes) -> bytes:
        self._left -= len(piece)
        if self._left < 0:
            raise TooLargeError
        return piece


def compress(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces as one gzip stream, each flushed as soon as there is something to send."""
    deflate = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
    for piece in pieces:
        packed = deflate.compress(piece)
        if packed:
            yield packed
    yield deflate.flush()
