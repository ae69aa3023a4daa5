"""Small edits of the user's own source, shown as a unified diff.

Everything works on the text that was recorded when the script ran. An edit that cannot be made with certainty (the file
is not there, does not parse, or the line looks otherwise than expected) is not made: the fix then shows a snippet instead.
"""

from __future__ import annotations

import ast
import bisect
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import TypeGuard

from sickbay.nouns import Fix, Place, Safety
from sickbay.record.reader import Record

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.While | ast.AsyncFor


@dataclass(frozen=True)
class Edit:
    """Replace the characters from `start` to `end` of a text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, eq=False)
class Source:
    """One of the user's files with its syntax tree."""

    file: str
    text: str
    tree: ast.Module

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    @cached_property
    def line_starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def defined(self) -> dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
        """The functions and classes of the file by their names."""
        found: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.setdefault(node.name, []).append(node)
        return found

    def segment(self, node: ast.AST) -> str:
        """The node as the user wrote it, on one line."""
        raw = ast.get_source_segment(self.text, node) or ast.unparse(node)
        return raw if "\n" not in raw else ast.unparse(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def offset(self, line: int, column: int) -> int:
        """Position in the text of a line and a column (which Python counts in UTF-8 bytes)."""
        before = self.lines[line - 1].encode()[:column].decode(errors="replace")
        return self.line_starts[line - 1] + len(before)

    def place(self, line: int) -> Place:
        """One of its lines, with the line's text."""
        return Place(self.file, line, text=self.lines[line - 1].strip())

    def line_of(self, edit: Edit) -> int:
        """The line on which an edit begins."""
        return bisect.bisect_right(self.line_starts, edit.start)

    # -- finding ------------------------------------------------------------------------------------------------

    def statement(self, line: int | None) -> ast.stmt | None:
        """The innermost statement that covers a line."""
        found: ast.stmt | None = None
        for node in ast.walk(self.tree):
            covers = line is not None and isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
            if covers and isinstance(node, ast.stmt) and (found is None or (node.lineno, node.col_offset) >= (found.lineno, found.col_offset)):
                found = node
        return found

    def function(self, node: ast.AST) -> ast.AST:
        """The function around a node, or the module."""
        return next((a for a in self.ancestors(node) if isinstance(a, Function)), self.tree)

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops around a node within its own function, innermost first."""
        found: list[Loop] = []
        for a in self.ancestors(node):
            if isinstance(a, Function):
                break
            if isinstance(a, Loop):
                found.append(a)
        return found

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements that it stands among: one body, one `else`."""
        fields = (getattr(self.parents.get(statement), f, None) for f in ("body", "orelse", "finalbody"))
        return next((b for b in fields if isinstance(b, list) and statement in b), [statement])

    def calls(self, *names: str, line: int | None = None, within: ast.AST | None = None) -> list[ast.Call]:
        """Calls of functions or methods with one of these names, in the order of the text."""
        found = [n for n in ast.walk(within or self.tree) if isinstance(n, ast.Call) and (not names or called(n) in names)]
        if line is not None:
            found = [n for n in found if n.lineno <= line <= (n.end_lineno or n.lineno)]
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))

    # -- editing ------------------------------------------------------------------------------------------------

    def replacing(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        return Edit(self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno or 0, node.end_col_offset or 0), text)

    def giving(self, call: ast.Call, name: str, value: str) -> Edit:
        """A call with one more keyword argument, or another value of it."""
        if (given := keyword(call, name)) is not None:
            return self.replacing(given.value, value)
        last = max([*call.args, *(k.value for k in call.keywords)], key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0), default=None)
        inside = last or call
        end = self.offset(inside.end_lineno or 0, inside.end_col_offset or 0) - (0 if last is not None else 1)
        return Edit(end, end, f"{', ' if last is not None else ''}{name}={value}")

    def before(self, statement: ast.stmt, text: str) -> Edit | None:
        """A new line before a statement, with its indentation."""
        indent = self._indent(statement)
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
        start = self.line_starts[first - 1]
        return None if indent is None else Edit(start, start, f"{indent}{text}\n")

    def after(self, statement: ast.stmt, text: str) -> Edit | None:
        """A new line after a statement, with its indentation."""
        indent = self._indent(statement)
        last = statement.end_lineno or statement.lineno
        line = self.lines[last - 1]
        rest = line.encode()[statement.end_col_offset or 0 :].decode(errors="replace").strip()
        if indent is None or (rest and not rest.startswith("#")):
            return None
        start = self.line_starts[last]
        return Edit(start, start, ("" if line.endswith("\n") else "\n") + f"{indent}{text}\n")

    def _indent(self, statement: ast.stmt) -> str | None:
        indent = self.lines[statement.lineno - 1].encode()[: statement.col_offset].decode(errors="replace")
        return indent if not indent.strip() else None

    def diff(self, *edits: Edit | None) -> str:
        """The unified diff of the edits (at one and the same place in their order); "" if one could not be made or the result is not Python any more."""
        changed = self.text
        for edit in sorted((e for e in reversed(edits) if e is not None), key=lambda e: (-e.start, -e.end)):
            changed = changed[: edit.start] + edit.text + changed[edit.end :]
        if None in edits or changed == self.text or not _parses(changed):
            return ""
        name = PurePath(self.file).name
        lines = difflib.unified_diff(_lines(self.text), _lines(changed), f"a/{name}", f"b/{name}", n=2)
        return "".join(lines)


def _lines(text: str) -> list[str]:
    return [line if line.endswith("\n") else line + "\n" for line in text.splitlines(keepends=True)]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def source_at(record: Record, place: Place | None) -> Source | None:
    """The file that a place points into; None if it was not recorded, does not parse or the line is not the one seen."""
    if place is None or place.file is None:
        return None
    text = record.sources.get(place.file)
    if text is None:
        same = [t for f, t in record.sources.items() if PurePath(f).name == PurePath(place.file).name]
        text = same[0] if len(same) == 1 else None
    if text is None:
        return None
    try:
        return Source(place.file, text, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def sources(record: Record) -> Iterator[Source]:
    """The user's files that were recorded, as far as they parse."""
    for file in record.sources:
        if (source := source_at(record, Place(file, 1))) is not None:
            yield source


def mend(text: str, diff: str, snippet: str, safety: Safety = "safe") -> Fix:
    """A fix: the diff if there is one, else the snippet as advice."""
    return Fix(text, diff, safety) if diff else Fix(text, snippet, "advice")


def called(call: ast.Call) -> str:
    """The last word of what is called: "softmax" for `F.softmax(x)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def calls_of(source: Source, function: Function) -> list[ast.Call]:
    """Calls of a function by its name, of a method on an object, of a constructor by its class. (`train(...)` is not `model.train()`.)"""
    owner = source.parents.get(function)
    method = isinstance(owner, ast.ClassDef)
    if isinstance(owner, ast.ClassDef) and function.name == "__init__":
        return source.calls(owner.name)
    return [c for c in source.calls(function.name) if isinstance(c.func, ast.Attribute if method else ast.Name)]


def receiver(call: ast.Call) -> ast.expr | None:
    """What a method is called on: `opt` of `opt.step()`."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    return next((k for k in call.keywords if k.arg == name), None)


def is_number(node: ast.AST | None) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def number(value: float) -> str:
    """A number as a person writes it in code: 0.003, 1e-05."""
    return f"{value:.6g}"
