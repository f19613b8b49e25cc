"""The table of what happens to the recorded histories: `python -m tests.messages.report`."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path

from zidane_core.messages import drop_invalid_tool_pairings
from zidane_core.records import SessionMessage
from zidane_store_sqlite import SqliteStore

from . import transcripts
from .damage import all_damage
from .own_histories import own_histories
from .projection import FORMATS, NORMALISATIONS, as_turns, loaded, normalised, projected, read, with_reused_ids, write
from .sdk_types import refusals
from .transcripts import History
from .validity import problems

COLUMNS = ("histories", "messages", "calls", "equal", "repairs", "reused ids", "crossed", "damaged", "mended")


async def counted(histories: list[History], store: SqliteStore) -> Counter[str]:
    found: Counter[str] = Counter()
    for history in histories:
        turns = await loaded(store, history)
        kept = list(drop_invalid_tool_pairings(turns, reused_call_ids="keep"))
        messages, repairs = projected(kept)
        reused = [repair for repair in repairs if repair.kind == "reused-call-id"]
        found["histories"] += 1
        found["messages"] += len(history.messages)
        found["calls"] += sum(block["type"] == "tool_call" for turn in kept for block in turn.content)
        found["repairs"] += len(repairs) - len(reused)
        found["reused ids"] += len(reused)
        written = with_reused_ids(write(history.format, messages, history.model), repairs)
        found["equal"] += written == normalised(history.format, history.messages)
        found["crossed"] += all(_sendable(history, target, messages) for target in FORMATS if target != history.format)
        for damaged in all_damage(turns):
            found["damaged"] += 1
            found["mended"] += all(_sendable(history, target, projected(damaged)[0]) for target in FORMATS)
    return found


def _sendable(history: History, target: str, messages: list[SessionMessage]) -> bool:
    own = target == history.format
    written = write(target, messages, history.model if own else "another-model")
    typed = "anthropic_beta" if own and target == "anthropic" else target
    refused_anyway = own and refusals(typed, history.messages)
    return not problems(target, written) and (bool(refused_anyway) or not refusals(typed, written))


async def main() -> None:
    families: dict[str, list[History]] = {"own": own_histories()}
    for kind in FORMATS:
        families[f"accepted {kind}"] = [history for history in transcripts.accepted() if history.format == kind]
    families["tau-bench"] = transcripts.taubench()
    families["SWE-agent"] = transcripts.swe_agent()
    families["Claude Code"] = transcripts.claude_code()
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteStore(Path(folder) / "s.db", synchronous="normal") as store:
            print(f"{'':26}", *(f"{column:>10}" for column in COLUMNS))
            for name, histories in families.items():
                found = await counted(histories, store)
                print(f"{name:26}", *(f"{found[column]:>10}" for column in COLUMNS))
    print("\nRefused originals:")
    for history, reason in transcripts.rejected():
        messages, repairs = projected(as_turns(read(history)))
        changed = write(history.format, messages, history.model) != normalised(history.format, history.messages)
        judged = problems(history.format, history.messages) or ["no structural fault"]
        outcome = f"changed={changed!s:5} repairs={len(repairs)}"
        print(f"  {history.name:12} {history.format:17} {outcome} {judged[0]} | {reason[:70]}")
    print("\nNormalisations:")
    for words, formats in NORMALISATIONS.items():
        print(f"  {words} ({formats})")


if __name__ == "__main__":
    asyncio.run(main())
