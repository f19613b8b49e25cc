"""Distributions made on the spot: a folder with modules and the metadata that an installer would write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

STORE_PLUGIN = """
from typing import Literal
import msgspec
from zidane_core import MEMORY_CAPABILITIES, MemoryStore, Seconds, hookimpl

ZIDANE_STORE_API = 1
opened = []


class Options(msgspec.Struct, frozen=True, kw_only=True):
    shards: int = 1
    busy_timeout: Seconds = Seconds(5)
    mode: Literal["full", "normal"] = "full"
    eager: bool = False
    token: int | None = None
    client: object = None
    prefix: str | None = None

    def __post_init__(self):
        if self.eager and self.client is not None:
            raise ValueError("eager and client exclude one another")


class Store(MemoryStore):
    def __init__(self, url, options):
        super().__init__()
        self.url, self.options = url, options


@hookimpl
def zidane_store_options():
    return Options


@hookimpl
def zidane_store_capabilities(url):
    return MEMORY_CAPABILITIES


@hookimpl
def zidane_open_store(url, options):
    opened.append(url)
    return Store(url, options)
"""


def install(
    folder: Path, name: str, *, group: str = "zidane.stores", entries: Mapping[str, str], modules: Mapping[str, str]
) -> None:
    """Put a distribution `name` 1.2.3 with these entry points and modules into a folder of `sys.path`."""
    info = folder / f"{name.replace('-', '_')}-1.2.3.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2.3\n", encoding="utf-8")
    lines = "".join(f"{entry} = {module}\n" for entry, module in entries.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}", encoding="utf-8")
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
