"""Where a script adds to a container, and whether any line keeps it from growing without end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sickbay.facts import Hoard
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Function, Source, called, source_at, sources

ADDING = frozenset({"append", "extend", "insert", "setdefault", "update", "appendleft", "add", "put", "register_buffer"})
GLUING = frozenset({"cat", "concat", "concatenate", "vstack", "hstack", "stack", "append", "row_stack"})
TAKING = frozenset({"pop", "popleft", "popitem", "remove"})
EMPTY = frozenset({"list", "dict", "set", "deque", "defaultdict", "OrderedDict", "Counter"})


def adds_to(record: Record, name: str, kind: str = "container", function: Place | None = None) -> Place | None:
    """The line that adds to it: `history.append(x)`, `self.cache[i] = x`, `kept += [x]`, `outputs[name].append(x)`, `features = torch.cat([features, x])`. For the cache of a function, the function."""
    if kind == "cache":
        return function
    short = name.rpartition(".")[2]
    found = [(s, node) for s in sources(record) for node in _adding(s, short)]
    if function is not None:  # several lists may have that name: the one that stands in the hook
        inside = [(s, n) for s, n in found if _within(s, n, record, function)]
        found = inside or found
    return next((s.place(n.lineno) for s, n in found), function)


def _within(source: Source, node: ast.AST, record: Record, function: Place) -> bool:
    if source_at(record, function) is None or source.place(1).file != function.file:
        return False
    around = (a for a in source.ancestors(node) if isinstance(a, (Function, ast.Lambda)))
    return any(function.line in (a.lineno, *(d.lineno for d in getattr(a, "decorator_list", ()))) for a in around)


def _adding(source: Source, name: str) -> Iterator[ast.expr | ast.stmt]:
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.expr, ast.stmt)) and _adds(node, name):
            yield node


def _adds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ADDING and _named(node.func.value) == name
    if isinstance(node, ast.AugAssign):
        return _named(node.target) == name
    if isinstance(node, ast.Assign):
        kept = any(isinstance(t, ast.Subscript) and _named(t.value) == name for t in node.targets)
        return (kept and not _empty(node.value)) or (any(_named(t) == name for t in node.targets) and _glues(node.value, name))
    return False


def _glues(value: ast.expr, name: str) -> bool:
    """`torch.cat([features, x])`, `kept + [x]`: itself and something more."""
    more = [
        n for n in ast.walk(value) if (isinstance(n, ast.Call) and called(n) in GLUING) or (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add))
    ]
    return any(isinstance(m, (ast.Name, ast.Attribute)) and _named(m) == name for n in more for m in ast.walk(n))


def _empty(value: ast.expr) -> bool:
    """`[]`, `{}`, `list()`: what is to be filled later."""
    return (
        (isinstance(value, (ast.List, ast.Tuple)) and not value.elts)
        or (isinstance(value, ast.Dict) and not value.keys)
        or (isinstance(value, ast.Call) and called(value) in EMPTY)
    )


def _named(node: ast.expr) -> str:
    """`cache` of `self.cache` and of `self.cache[name]`."""
    if isinstance(node, ast.Subscript):
        return _named(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_bounded(record: Record, name: str) -> bool:
    """A line takes out of it again or asks how long it has become: a replay buffer that is not full yet grows, too."""
    short = name.rpartition(".")[2]
    return any(_bounds(s, node, short) for s in sources(record) for node in ast.walk(s.tree))


def _bounds(source: Source, node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TAKING:
        return _named(node.func.value) == name
    if isinstance(node, ast.Delete):
        return any(isinstance(t, ast.Subscript) and _named(t.value) == name for t in node.targets)
    if isinstance(node, ast.Assign) and any(_named(t) == name for t in node.targets):
        return any(isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice) and _named(n.value) == name for n in ast.walk(node.value))
    return isinstance(node, ast.Compare) and _asks_length(source, node, name)


def _asks_length(source: Source, node: ast.Compare, name: str) -> bool:
    """`if len(buffer) > size:`; not `if len(buffer) >= batch_size:` before a sample is drawn, which lets it grow on."""
    length = [n for n in (node.left, *node.comparators) if isinstance(n, ast.Call) and called(n) == "len" and n.args and _named(n.args[0]) == name]
    owner = next((a for a in source.ancestors(node) if isinstance(a, (ast.If, ast.While))), None)
    if not length or owner is None:
        return False
    return any(_adds(n, name) or (isinstance(n, ast.Call) and called(n) in TAKING) for s in (*owner.body, *owner.orelse) for n in ast.walk(s))


def without_cache(record: Record, hoard: Hoard) -> str:
    """The function without its decorator."""
    source = source_at(record, hoard.place)
    made = source.defined.get(hoard.name, ()) if source is not None else ()
    caches = [d for f in made for d in f.decorator_list if "cache" in ast.unparse(d)]
    if source is None or len(caches) != 1:
        return ""
    line = caches[0].lineno
    return source.diff(Edit(source.line_starts[line - 1], source.line_starts[line], ""))
