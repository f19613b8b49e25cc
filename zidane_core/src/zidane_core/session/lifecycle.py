"""The part of a session that keeps its run records."""

from __future__ import annotations

from zidane_core import codec
from zidane_core.records import RunErrorDetail, RunStatus, SessionRun, SessionRunAgent, Status
from zidane_core.run_owner import current_run_owner

from .facts import SessionFacts
from .run_records import RunStats, ended_run, stats_of


class RunLifecycle(SessionFacts):
    """Run records and the session's status: every transition is stored before it is shown."""

    async def start_run(
        self,
        run_id: str,
        prompt: str = "",
        *,
        agent: SessionRunAgent | None = None,
        depth: int | None = None,
        label: str | None = None,
        parent_run_id: str | None = None,
        parent_call_id: str | None = None,
        resumed_from_run_id: str | None = None,
    ) -> SessionRun:
        """Record a run that starts now. It neither claims the session nor moves its status: `run()` does."""
        run = SessionRun(
            id=run_id,
            status="running",
            prompt=prompt,
            started_at=self._link.clock(),
            agent=agent,
            depth=depth,
            label=label,
            parent_run_id=parent_run_id,
            parent_call_id=parent_call_id,
            resumed_from_run_id=resumed_from_run_id,
        )
        await self.update_run(run)
        return run

    async def complete_run(self, run_id: str, stats: RunStats | None = None) -> SessionRun:
        """Record that a run completed. `stats` are summed from its turns unless given."""
        return await self._end_run(run_id, "completed", stats)

    async def abort_run(self, run_id: str, stats: RunStats | None = None) -> SessionRun:
        """Record that a run was aborted, with what it used until then."""
        return await self._end_run(run_id, "aborted", stats)

    async def error_run(
        self, run_id: str, error: str, stats: RunStats | None = None, detail: RunErrorDetail | None = None
    ) -> SessionRun:
        """Record that a run failed: one line in `error`, the rest in `detail`."""
        return await self._end_run(run_id, "error", stats, error, detail)

    async def update_run(self, run: SessionRun) -> None:
        """Store a run record, replacing the one with its id.

        Raises:
            RunInProgressError: another run holds the session.
            RunFencedError: this session's own run lost its claim.
        """
        kept = codec.copy_of(run)
        await self._link.send(lambda store, create, guard: store.update_run(self.id, kept, create=create, guard=guard))
        self._link.state.put_run(kept)

    async def update_status(self, status: Status) -> None:
        """Store the session's status; `running` records this process as the owner. Raises as `update_run`."""
        owner = current_run_owner() if status == "running" else None
        await self._link.send(
            lambda store, create, guard: store.update_status(self.id, status, owner=owner, create=create, guard=guard)
        )
        self._link.state.status = status

    def totals(self, run_id: str | None = None) -> RunStats:
        """What the session's turns used, or those of one run, by what the turns themselves report."""
        turns = [turn for turn in self._link.state.turns if run_id is None or turn.run_id == run_id]
        return stats_of(len(turns), [turn.usage for turn in turns if turn.usage])

    async def _end_run(
        self,
        run_id: str,
        status: RunStatus,
        stats: RunStats | None,
        error: str | None = None,
        detail: RunErrorDetail | None = None,
    ) -> SessionRun:
        stats = self.totals(run_id) if stats is None else stats
        run = self._link.state.run(run_id)
        ended = ended_run(run, status, at=self._link.clock(), stats=stats, error=error, detail=detail)
        await self.update_run(ended)
        return ended
