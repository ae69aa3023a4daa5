"""Values that are others in every process: the hash of a text, the order of a set of texts, the clock, what the operating system gives for chance."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sickbay.record.reader import Record
from sickbay.script.draws import Draw, reaches_training
from sickbay.script.fixing import Source, called, receiver, sources
from sickbay.script.seeding import seedings
from sickbay.script.texts import holds_text

CLOCK = frozenset("time time_ns perf_counter monotonic now utcnow urandom uuid1 uuid4 randbits getpid token_bytes id seed SystemRandom".split())
ORDERLESS = frozenset(
    {
        "sorted",
        "set",
        "frozenset",
        "len",
        "sum",
        "max",
        "min",
        "any",
        "all",
        "isdisjoint",
        "issubset",
        "update",
        "union",
        "intersection",
        "difference",
    }
)
"""Calls to which the order of what they are given makes no difference."""
INTO_ORDER = frozenset({"list", "tuple", "enumerate", "zip", "array", "fromkeys"})


def hashes(record: Record) -> list[Draw]:
    """`hash(name) % 1000` of a text: as a seed, as an index."""
    found = (Draw("hash", s, c) for s in sources(record) for c in s.calls("hash") if receiver(c) is None and "hash" not in s.defined and c.args)
    return [d for d in found if isinstance(d.node, ast.Call) and holds_text(d.source, d.node.args[0]) and reaches_training(d.source, d.node)]


def set_orders(record: Record) -> list[Draw]:
    """A set of texts that becomes a list, a dictionary or numbers in the order in which it happens to come."""
    return [Draw("set", s, node) for s in sources(record) for node in _sets(s) if _is_ordered(s, node) and _holds_text(s, node)]


def _sets(source: Source) -> Iterator[ast.expr]:
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Set, ast.SetComp)) or (
            isinstance(node, ast.Call) and receiver(node) is None and called(node) in ("set", "frozenset") and node.args
        ):
            yield node


def _holds_text(source: Source, node: ast.expr) -> bool:
    return holds_text(source, node.args[0] if isinstance(node, ast.Call) else node)


def _is_ordered(source: Source, node: ast.expr, depth: int = 0) -> bool:
    around = source.parents.get(node)
    if isinstance(around, ast.BinOp) and isinstance(around.op, (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)):
        return _is_ordered(source, around, depth)
    if isinstance(around, ast.Call) and node in around.args and called(around) in INTO_ORDER:
        return not _put_in_order(source, around)
    if isinstance(around, ast.comprehension) and around.iter is node:
        made = source.parents.get(around)
        return isinstance(made, (ast.ListComp, ast.DictComp)) and not _put_in_order(source, made)
    if isinstance(around, ast.For) and around.iter is node:
        return any(_numbers(n) for s in around.body for n in ast.walk(s))
    if isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Name) and depth == 0:
        name = around.targets[0].id
        return any(
            _is_ordered(source, n, 1) for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        )
    return False


def _put_in_order(source: Source, node: ast.expr) -> bool:
    """...by what is done with it at once, or by `names.sort()` later."""
    for around in source.ancestors(node):
        if isinstance(around, ast.Call) and called(around) in ORDERLESS:
            return True
        if isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Name):
            name = around.targets[0].id
            return any(
                ast.unparse(c.func) == f"{name}.sort" or (called(c) == "sorted" and c.args and ast.unparse(c.args[0]) == name) for c in source.calls()
            )
        if isinstance(around, ast.stmt):
            return not isinstance(around, (ast.Assign, ast.AnnAssign, ast.Return, ast.For))
    return False


def _numbers(node: ast.AST) -> bool:
    """`vocabulary[word] = len(vocabulary)`, `names.append(name)`, `count += 1`."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Subscript) and any(isinstance(c, ast.Call) and called(c) == "len" for c in ast.walk(node.value))
    return isinstance(node, ast.Call) and called(node) == "append"


def clock_seeds(record: Record) -> list[Draw]:
    """A generator that is seeded by the clock or by the operating system, with a seed that nobody is told."""
    found = []
    for seeding in seedings(record):
        source = seeding.source
        for value in seeding.call.args[:1]:
            for origin in (value, *_assigned(source, value)):
                calls = [c for c in ast.walk(origin) if isinstance(c, ast.Call) and called(c) in CLOCK]
                if calls and not _is_told(source, value):
                    found.append(Draw("clock", source, calls[0]))
    return found


def _assigned(source: Source, value: ast.expr) -> Iterator[ast.expr]:
    name = value.id if isinstance(value, ast.Name) else ""
    for node in ast.walk(source.tree):
        if name and isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            yield node.value


def _is_told(source: Source, value: ast.expr) -> bool:
    """The seed is printed, logged or kept: then a run can be made again."""
    name = value.id if isinstance(value, ast.Name) else ""
    uses = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return any(
        isinstance(a, (ast.JoinedStr, ast.Dict)) or (isinstance(a, ast.Call) and called(a) in ("print", "info", "log", "write"))
        for n in uses
        for a in source.ancestors(n)
    )
