"""Imports go one way: errors · blocks → records → codec → store → memory · session → opening → conformance · cli."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import zidane_core
import zidane_store_redis
import zidane_store_remote
import zidane_store_sqlite

CORE = Path(zidane_core.__file__).parent
STORES = {package.__name__: package for package in (zidane_store_sqlite, zidane_store_redis, zidane_store_remote)}

LAYERS = (
    {"errors", "blocks", "clock", "extension_points"},
    {"records", "_json_check"},
    {"_unknown_keys", "run_owner", "messages"},
    {"codec"},
    {"store"},
    {"memory", "claims"},
    {"file_map", "cas", "session"},
    {"opening"},
    {"conformance", "demo"},
    {"cli"},
)
"""A module imports those of layers before its own, and of its own package."""

PUBLIC = {
    "zidane_core",
    "zidane_core.blocks",
    "zidane_core.cas",
    "zidane_core.clock",
    "zidane_core.codec",
    "zidane_core.conformance",
    "zidane_core.errors",
    "zidane_core.memory",
    "zidane_core.opening",
    "zidane_core.records",
    "zidane_core.store",
}
"""What a store package may import of the core."""


def modules(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)


def imports_of(path: Path, root: Path) -> Iterator[str]:
    """The modules that a file imports when it runs, inside functions too; not those for type checkers only."""
    package = (root.name, *path.relative_to(root).parts[:-1])
    for node in running_code(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join((*package[: len(package) - node.level + 1], *filter(None, [node.module])))
            origin = base if node.level else str(node.module)
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def running_code(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        children: list[ast.stmt] = node.orelse
    else:
        yield node
        children = list(ast.iter_child_nodes(node))  # type: ignore[arg-type] # statements or not, they are walked alike
    for child in children:
        yield from running_code(child)


def part_of(module: str) -> str:
    """The part of the core that a module belongs to, or "" for the package itself and the names in it.

    The plugin of a store belongs to opening, which it is for.
    """
    parts = module.split(".")
    if len(parts) == 1 or not ((CORE / parts[1]).is_dir() or (CORE / f"{parts[1]}.py").is_file()):
        return ""
    return "opening" if parts[2:3] == ["plugin"] else parts[1]


def layer_of(part: str) -> int:
    found = [number for number, layer in enumerate(LAYERS) if part in layer]
    assert found, f"zidane_core.{part} has no place in the order of layers: give it one"
    return found[0]


def dotted(path: Path, root: Path) -> str:
    return ".".join((root.name, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")


@cache
def core_imports() -> list[tuple[str, str, str]]:
    """(file, its part, the part that it imports), for each import within the core."""
    found: list[tuple[str, str, str]] = []
    for path in modules(CORE):
        source = dotted(path, CORE)
        targets = [target for target in imports_of(path, CORE) if target.split(".")[0] == "zidane_core"]
        found += [(source, part_of(source), part_of(target)) for target in targets if part_of(source)]
    return found


def test_no_module_of_the_core_imports_from_a_later_layer() -> None:
    """Those that users run, at the end of the line, take the public names from the package itself."""
    whole = {"conformance", "cli", "demo"}
    wrong = [
        f"{source} imports {target or 'the package itself'}"
        for source, part, target in core_imports()
        if (part not in whole if target == "" else target != part and layer_of(target) >= layer_of(part))
    ]
    assert not wrong


def test_the_message_formats_import_blocks_and_records_only() -> None:
    allowed = {"errors", "blocks", "records", "extension_points", "messages"}
    assert not [entry for entry in core_imports() if entry[1] == "messages" and entry[2] not in allowed]


def test_the_session_imports_no_store() -> None:
    stores = {"memory", "file_map", "cas", "opening"}
    assert not [entry for entry in core_imports() if entry[1] in {"session", "claims"} and entry[2] in stores]


@pytest.mark.parametrize("name", sorted(STORES))
def test_a_store_package_imports_public_names_of_the_core_and_no_other_store(name: str) -> None:
    root = Path(str(STORES[name].__file__)).parent
    others = set(STORES) - {name}
    wrong: list[str] = []
    for path in modules(root):
        for target in imports_of(path, root):
            top, _, attribute = target.rpartition(".")
            package = target.split(".")[0]
            if package in others or (package == "zidane_core" and not _is_public(top, attribute)):
                wrong.append(f"{dotted(path, root)} imports {target}")
    assert not wrong


def _is_public(module: str, attribute: str) -> bool:
    return (module in PUBLIC or f"{module}.{attribute}" in PUBLIC) and not attribute.startswith("_")
