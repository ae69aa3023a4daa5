"""Reads our own source as the tests of the codebase need it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "sickbay"


@dataclass(frozen=True)
class Import:
    """One imported module, by its full name: `from sickbay import facts` is "sickbay.facts"."""

    importer: str
    module: str
    line: int
    lazy: bool
    """Inside a function: it runs only when needed."""
    typing_only: bool
    """Inside `if TYPE_CHECKING:`: it never runs."""


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name ("sickbay.record.reader"). `observe/entry/` holds no modules of
    ours: Python itself runs the script there, in the user's process."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name == "entry":
            continue
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def imports(module: str) -> tuple[Import, ...]:
    return tuple(_imports(module, tree(modules()[module]), lazy=False, typing_only=False))


def _imports(module: str, node: ast.AST, *, lazy: bool, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(module, alias.name, child.lineno, lazy, typing_only)
        elif isinstance(child, ast.ImportFrom):
            for name in _from(module, child):
                yield Import(module, name, child.lineno, lazy, typing_only)
        else:
            inside = lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            typed = typing_only or (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"))
            yield from _imports(module, child, lazy=inside, typing_only=typed)


def _from(module: str, node: ast.ImportFrom) -> set[str]:
    base = node.module or ""
    if node.level:
        package = module if modules()[module].name == "__init__.py" else module.rpartition(".")[0]
        for _ in range(node.level - 1):
            package = package.rpartition(".")[0]
        base = f"{package}.{base}".rstrip(".")
    return {full if (full := f"{base}.{alias.name}") in modules() else base for alias in node.names}
