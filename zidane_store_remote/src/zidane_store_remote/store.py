"""`RemoteStore`: a session store behind HTTP, with the contract of a local one."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from msgspec.structs import replace

from zidane_core.errors import (
    RevisionConflictError,
    RunFencedError,
    SessionNotFoundError,
    StoreOptionError,
    StoreURLError,
)
from zidane_core.records import RunOwner, SessionData, SessionHeader, SessionMetaRow, SessionTurn, Status
from zidane_core.store import (
    AppendRequest,
    Capabilities,
    Guard,
    Health,
    HistoryRequest,
    MetadataChange,
    Page,
    RunClaim,
    SessionFilter,
    SnapshotRequest,
    Written,
    check_count,
)

from ._calls import given
from ._client.answers import history_reader
from ._client.in_flight import to_its_end
from ._client.library import Library, LibraryName
from ._client.transport import Settings, Transport
from ._collections import RemoteCollections
from ._requests import append_body, history_body, patch_body, run_body, snapshot_body
from ._wire.bodies import ClaimRun, Truncate, UpdateStatus
from ._wire.json_text import text_of

if TYPE_CHECKING:
    import httpx

TIMEOUT_SECONDS = 30.0
RETRY_FOR_SECONDS = 10.0
MAX_CONNECTIONS = 64
MAX_ANSWER_BYTES = 1 << 30


class RemoteStore(RemoteCollections):
    """The store that a zidane server serves at `url`. Works under asyncio and trio.

    A call that gets no answer is repeated, for as long as `retry_for`, where that is safe: every read is, and so is
    every write, as long as the served store has the capability `operations`. A write that fails in the end with
    `outcome_unknown` may have taken effect.

    Args:
        url: `http://` or `https://`, with the path that the server is mounted at, if any.
        token: the bearer token; no message and no `repr` ever shows it.
        headers: to be sent with every request.
        timeout: seconds for a call with all of its tries. A server that is silent for a third of it is asked again.
        retry_for: seconds after which a call is not tried once more.
        client: an `AsyncClient` of httpx or httpx2 to use. It stays open; its own settings are its owner's affair.
        library: which of the two libraries to use; by default httpx2 where it is installed.
        trust_env: use proxies and certificates that the environment names.
        compress: gzip in both directions; by default not when the server is on this machine.
        max_connections: calls at once; more of them wait.
        max_answer_bytes: of an answer, decompressed.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retry_for: float = RETRY_FOR_SECONDS,
        client: httpx.AsyncClient | None = None,
        library: LibraryName | None = None,
        trust_env: bool = False,
        compress: bool | None = None,
        max_connections: int = MAX_CONNECTIONS,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        base_url = _checked(url)
        super().__init__(base_url)
        settings = Settings(
            base_url=base_url,
            headers=_sendable(headers or {}, token),
            timeout=timeout,
            retry_for=retry_for,
            compress=not _is_local(base_url) if compress is None else compress,
            trust_env=trust_env,
            max_connections=max_connections,
            max_answer_bytes=max_answer_bytes,
        )
        chosen = Library.preferred(library) if client is None else Library.of(client)
        self._transport = Transport(settings, chosen, client)

    @property
    def capabilities(self) -> Capabilities:
        """The served store's, as they are when seen through the server: fetched on entry."""
        return self._service.capabilities if hasattr(self, "_service") else Capabilities()

    async def _open(self) -> None:
        await self._transport.open()
        try:
            self._service = await self._ask("service")
        except BaseException:
            await self._close()
            raise
        self._transport.max_body_bytes = self._service.max_body_bytes

    async def _close(self) -> None:
        await to_its_end(self._transport.aclose)  # once begun, it leaves nothing behind

    async def _health(self) -> Health:
        served: Health = await self._ask("health")
        details = {"url": self._name, "served": served.backend, **served.details}
        return Health(ok=served.ok, backend="http", version=served.version, details=details)

    # -- the core -----------------------------------------------------------------------------

    async def _load(self, session_id: str, *, skip_damaged: bool) -> SessionData | None:
        query = {"damaged": "skip"} if skip_damaged else {}
        try:
            reader = await self._ask_lines("load", history_reader, query=query, session=session_id)
        except SessionNotFoundError:  # said by the server itself, in so many words
            return None
        return reader.session()

    async def _save(self, request: SnapshotRequest, guard: Guard) -> Written:
        name = "save_meta" if request.turns is None else "save"
        answer = await self._ask(name, guard=guard, body=snapshot_body(request), session=request.session.id)
        return cast("Written", answer)

    async def _delete(self, session_id: str, guard: Guard) -> bool:
        return cast("bool", (await self._ask("delete", guard=guard, session=session_id)).changed)

    async def _list_ids(self, where: SessionFilter, *, limit: int | None, after: str | None) -> list[str]:
        ids, _ = await self._pages("list_ids", where, limit=limit, after=after)
        return ids

    async def _append_turns(self, request: AppendRequest, guard: Guard) -> Written:
        body = append_body(request)
        return cast("Written", await self._ask("append_turns", guard=guard, body=body, session=request.session_id))

    async def _get_turns(
        self, session_id: str, *, start: int, limit: int | None, last: int | None
    ) -> list[SessionTurn]:
        query = {"start": start} if last is None else {"last": last}
        reader = await self._ask_lines(
            "get_turns", history_reader, query={**query, "limit": given(limit)}, session=session_id
        )
        return reader.turns()

    async def _update_run(self, request: AppendRequest, guard: Guard) -> Written:
        body = run_body(request)
        return cast("Written", await self._ask("update_run", guard=guard, body=body, session=request.session_id))

    async def _update_status(
        self,
        session_id: str,
        status: Status,
        *,
        owner: RunOwner | None,
        touch: bool,
        create: SessionHeader | None,
        guard: Guard,
    ) -> Written:
        body = text_of(UpdateStatus(status=status, owner=owner, touch=touch, create=create))
        return cast("Written", await self._ask("update_status", guard=guard, body=body, session=session_id))

    # -- meta ---------------------------------------------------------------------------------

    async def _get_meta(self, session_id: str) -> SessionMetaRow | None:
        try:
            return cast("SessionMetaRow", await self._ask("get_meta", session=session_id))
        except SessionNotFoundError:
            return None

    async def list_meta(
        self, where: SessionFilter | None = None, *, limit: int | None = None, after: str | None = None
    ) -> Page[SessionMetaRow]:
        """As every store's. The cursor is the served store's own, and goes through unread."""
        self._begin("list_meta", "meta")
        check_count("limit", limit)
        if limit == 0:
            return Page([], after)
        return Page(*await self._pages("list_meta", where or SessionFilter(), limit=limit, after=after))

    async def _patch_meta(self, session_id: str, change: MetadataChange, guard: Guard) -> Written:
        body = patch_body(change)
        return cast("Written", await self._ask("patch_meta", guard=guard, body=body, session=session_id))

    # -- history ------------------------------------------------------------------------------

    async def _replace_history(self, request: HistoryRequest, guard: Guard) -> Written | None:
        if guard.expected_rev is not None and guard.expected_rev != request.read_at:
            await self._refuse_stale(request, guard)
        guard = replace(guard, expected_rev=request.read_at)
        answer = await self._ask("replace_history", guard=guard, body=history_body(request), session=request.session_id)
        return cast("Written | None", answer.written)

    async def _refuse_stale(self, request: HistoryRequest, guard: Guard) -> None:
        """Two revisions are asked for and If-Match carries one, so this conflict is told here, in the usual order."""
        session_id, expected = request.session_id, guard.expected_rev or 0
        now = await self._load(session_id, skip_damaged=True)
        if now is None:
            raise SessionNotFoundError(session_id)
        if guard.fence is not None and guard.fence != now.epoch:
            raise RunFencedError(session_id, fence=guard.fence, epoch=now.epoch)
        found = request.read_at if now.rev == expected else now.rev or 0
        raise RevisionConflictError(session_id, expected=expected, found=found)

    async def _recall_mutation(self, session_id: str, op_id: str) -> Written | None:
        answer = await self._ask("recall_mutation", session=session_id, operation=op_id)
        return cast("Written | None", answer.written)

    async def _truncate(self, session_id: str, turn_id: str, guard: Guard) -> list[SessionTurn]:
        body = text_of(Truncate(turn_id=turn_id))
        return (await self._ask_lines("truncate", history_reader, guard=guard, body=body, session=session_id)).turns()

    # -- claims -------------------------------------------------------------------------------

    async def _claim_run(
        self,
        session_id: str,
        *,
        owner: RunOwner | None,
        displaces: int | None,
        create: SessionHeader | None,
        guard: Guard,
    ) -> RunClaim:
        body = text_of(ClaimRun(owner=owner, displaces=displaces, create=create))
        return cast("RunClaim", await self._ask("claim_run", guard=guard, body=body, session=session_id))

    async def _renew_run(self, session_id: str, fence: int) -> None:
        await self._ask("renew_run", guard=Guard(fence=fence), session=session_id)


def _checked(url: str) -> str:
    """The base URL. Its errors repeat nothing of the URL that may be a secret."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise StoreURLError("a remote store's URL begins with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise StoreURLError("a remote store's URL has no user and password: give a token, as in ?token=...")
    if parts.query or parts.fragment:
        raise StoreURLError("RemoteStore takes options as arguments; open_store also takes them from the URL's query")
    return url.rstrip("/")


def _sendable(headers: Mapping[str, str], token: str | None) -> dict[str, str]:
    """The headers of every request. What HTTP cannot carry is refused here: later errors would show the value."""
    for name, value in {**headers, "token": token or "-"}.items():
        if not (value.isascii() and value.isprintable() and value == value.strip()):
            raise StoreOptionError(name, "has a space at its end or a character that HTTP headers cannot hold")
    return {**headers, **({} if token is None else {"authorization": f"Bearer {token}"})}


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
