"""The kit on every bundled store: `python -m tests.conformance.stores [profile] [folder]`.

It prints the matrix of stores by capabilities, made from their JSON reports, which it leaves in the folder if one is
named. A store that needs a server gets one of its own.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

from tests.conformance import targets, test_redis, test_remote
from tests.conformance.test_cas import opener as on_a_dict
from tests.conformance.test_file_map import on_a_shelf
from tests.conformance.test_opened import wrapped
from tests.store_remote.serving import ServerProcess
from zidane_core.conformance import Target, run_conformance
from zidane_core.conformance.reports import matrix, to_json

Running: TypeAlias = Callable[[], AbstractContextManager[Any]]


def redis(running: Callable[[], AbstractContextManager[str]]) -> Running:
    @contextmanager
    def target() -> Iterator[Target]:
        with running() as url:
            yield test_redis.target_of(url)

    return target


def remote(running: Callable[[], AbstractContextManager[str]], query: str = "") -> Running:
    @contextmanager
    def target() -> Iterator[str]:
        with running() as url, ServerProcess(url) as server:
            yield server.url + query

    return target


STORES: dict[str, Running] = {
    "memory, of one handle": lambda: nullcontext(targets.memory),
    "memory, named": lambda: nullcontext("memory://matrix"),
    "memory behind middleware": lambda: nullcontext(wrapped),
    "file map": lambda: nullcontext(on_a_shelf),
    "CasStore on a dict": lambda: nullcontext(on_a_dict),
    "SQLite, full": lambda: nullcontext(targets.sqlite),
    "SQLite, normal": lambda: nullcontext(f"sqlite:///{targets.FOLDER}/matrix.db?synchronous=normal"),
    "Redis: Valkey": redis(test_redis.TestOneServer.running),
    "Redis: Debian's 7.0": redis(test_redis.TestDebianServer.running),
    "Redis: cluster": redis(test_redis.TestCluster.running),
    "Redis: Sentinel": redis(test_redis.TestSentinels.running),
    "remote over memory, httpx2": remote(test_remote.TestOverMemory.store),
    "remote over memory, httpx": remote(test_remote.TestOverMemory.store, "?library=httpx"),
    "remote over SQLite": remote(test_remote.TestOverSqlite.store),
    "remote over Redis": remote(test_remote.TestOverRedis.store),
}


def report_of(name: str, profile: str) -> dict[str, Any]:
    with STORES[name]() as target:
        report: dict[str, Any] = json.loads(to_json(run_conformance(target, profile=profile)))
    report["header"]["target"] = name
    return report


def main(profile: str = "quick", folder: str | None = None) -> int:
    reports: list[dict[str, Any]] = []
    for name in STORES:
        reports.append(report_of(name, profile))
        footer = reports[-1]["footer"]
        print(f"{name}: {footer['counts']} in {footer['seconds']} s", file=sys.stderr, flush=True)
        if folder is not None:
            path = Path(folder) / f"{re.sub('[^a-z0-9]+', '-', name.lower())}.json"
            path.write_text(json.dumps(reports[-1], indent=1), "utf-8")
    print(matrix(reports))
    return 0 if all(report["footer"]["passed"] for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
