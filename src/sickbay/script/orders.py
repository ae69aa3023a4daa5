"""Sets of texts whose order something depends on: it is another one in every process, since Python salts the hash of a text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sickbay.record.reader import Record
from sickbay.script.bindings import Comprehension, parameters
from sickbay.script.draws import HARMLESS, NUMPY, PYTHON, Draw
from sickbay.script.fixing import Function, Source, called, receiver, sources
from sickbay.script.texts import COMBINING, holds_text

ORDERLESS = frozenset(
    "sorted set frozenset len sum max min any all isdisjoint issubset issuperset update union intersection difference symmetric_difference Counter "
    "count get discard remove bool isinstance assertEqual".split()
)
"""Calls to which the order of what they are given makes no difference, and which do not hand it on."""
INTO_ORDER = frozenset(
    "list tuple enumerate zip array fromkeys extend islice chain cycle map filter iter sample choice choices shuffle permutation".split()
)
VIEWS = frozenset({"items", "keys", "values", "copy"})
DRAWN = PYTHON | NUMPY | {"next", "rand_like", "randn_like", "randperm", "normal_", "uniform_"}
"""Calls that give something else each time: in which order they are made is what the names get."""
JOINING = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
DEEP = 6
Seen = set[ast.AST]


def set_orders(record: Record) -> list[Draw]:
    """A set of texts that becomes a list, a dictionary or numbers in the order in which it happens to come."""
    found = {}
    for source in sources(record):
        for origin in _sets(source):
            whole = _combined(source, origin)
            use = _ordered(source, whole, set())
            if use is not None and (holds_text(source, whole) or holds_text(source, use)):
                site = use if _is_filled(source, whole) else whole
                found[site] = Draw("set", source, site)
    return list(found.values())


def _sets(source: Source) -> Iterator[ast.expr]:
    for node in ast.walk(source.tree):
        plain = isinstance(node, ast.Call) and receiver(node) is None and called(node) in ("set", "frozenset")
        if isinstance(node, (ast.Set, ast.SetComp)) or (isinstance(node, ast.Call) and plain and called(node) not in source.defined):
            yield node


def _combined(source: Source, node: ast.expr) -> ast.expr:
    """`set(a) | set(b)`, `set().union(*rows)`: as far as it is one set."""
    around = source.parents.get(node)
    if isinstance(around, ast.BinOp) and isinstance(around.op, JOINING):
        return _combined(source, around)
    if isinstance(around, ast.Attribute) and around.attr in (*COMBINING, "copy") and isinstance(call := source.parents.get(around), ast.Call):
        return _combined(source, call)
    if isinstance(around, ast.Call) and called(around) in COMBINING and node in around.args:
        return _combined(source, around)
    return node


def _is_filled(source: Source, made: ast.expr) -> bool:
    """What it is called is also used as a set (added to, joined with others): to sort it where it is made would break that."""
    statement = source.parents.get(made)
    target = _target(statement)
    name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    if not name:
        return not isinstance(made, (ast.Set, ast.SetComp)) and isinstance(made, ast.Call) and not made.args
    within = source.function(made) if isinstance(target, ast.Name) else source.tree
    uses = [n for n in ast.walk(within) if isinstance(n, (ast.Name, ast.Attribute)) and (n.id if isinstance(n, ast.Name) else n.attr) == name]
    around = [source.parents.get(n) for n in uses]
    joined = any(isinstance(a, (ast.AugAssign, ast.BinOp)) and isinstance(a.op, JOINING) for a in around)
    return joined or any(isinstance(a, ast.Attribute) and a.attr in (*COMBINING, "add", "update") for a in around)


def _target(statement: ast.AST | None) -> ast.expr | None:
    if isinstance(statement, ast.Assign):
        return statement.targets[0]
    return statement.target if isinstance(statement, (ast.AnnAssign, ast.NamedExpr)) else None


# -- what becomes of it ---------------------------------------------------------------------------------------------


def _ordered(source: Source, node: ast.expr, seen: Seen) -> ast.expr | None:
    """The expression that is gone through in the order of the set (or of a dictionary that was made in its order) so that something depends on it."""
    if node in seen or len(seen) > 200:
        return None
    seen.add(node)
    around = source.parents.get(node)
    if isinstance(around, ast.comprehension):
        return _comprehended(source, node, around, seen)
    if isinstance(around, ast.For) and around.iter is node:
        return node if _tells_order(source, around) else None
    if isinstance(around, ast.Call) and node is not around.func:
        return _given(source, node, around, seen)
    if isinstance(around, ast.Starred) and isinstance(source.parents.get(around), (ast.List, ast.Tuple)):
        return node if _matters(source, source.parents[around], set()) else None
    if isinstance(around, ast.Attribute) and around.attr in VIEWS and isinstance(call := source.parents.get(around), ast.Call):
        return _ordered(source, call, seen)
    if isinstance(around, ast.IfExp) and around.test is not node:
        return _ordered(source, around, seen)
    if isinstance(around, ast.Return) and isinstance(function := source.function(node), Function):
        return next((u for c in source.calls(function.name) if (u := _ordered(source, c, seen)) is not None), None)
    if (target := _target(around)) is not None:
        return next((u for n in _uses(source, around, target) if (u := _ordered(source, n, seen)) is not None), None)
    return None


def _comprehended(source: Source, node: ast.expr, loop: ast.comprehension, seen: Seen) -> ast.expr | None:
    made = source.parents.get(loop)
    if loop.iter is not node or not isinstance(made, Comprehension) or isinstance(made, ast.SetComp):
        return None
    if isinstance(made, ast.ListComp):
        return node if _matters(source, made, set()) else None
    if isinstance(made, ast.DictComp) and any(map(_differs, ast.walk(made.value))):
        return node
    return node if _ordered(source, made, seen) is not None else None


def _given(source: Source, node: ast.expr, call: ast.Call, seen: Seen) -> ast.expr | None:
    """To `list`, `enumerate`...; or to a function of the script, for what it does with it."""
    name = called(call)
    if name in ("fromkeys", "dict", "iter", "map", "filter", "chain", "zip", "enumerate", "OrderedDict"):
        passed = isinstance(source.parents.get(call), (ast.For, ast.comprehension)) and name in ("enumerate", "zip")
        if name in ("enumerate", "zip"):  # numbers are given out, or neighbours: whatever takes them
            return node if not passed or _taken(source, call) else None
        return node if _ordered(source, call, seen) is not None else None
    if name in INTO_ORDER:
        return node if _matters(source, call, set()) else None
    for function in (f for f in source.defined.get(name, ()) if isinstance(f, Function) and node in call.args):
        method = isinstance(source.parents.get(function), ast.ClassDef)
        named = parameters(function)[method:]
        at = call.args.index(node)
        loads = [n for n in ast.walk(function) if at < len(named) and isinstance(n, ast.Name) and n.id == named[at] and isinstance(n.ctx, ast.Load)]
        rebound = any(isinstance(n, ast.Name) and at < len(named) and n.id == named[at] and isinstance(n.ctx, ast.Store) for n in ast.walk(function))
        if not rebound and any(_ordered(source, n, seen) is not None for n in loads):
            return node
    return None


def _taken(source: Source, call: ast.Call) -> bool:
    """`for i, w in enumerate(words)`: unless it only prints, or all of it is put in order."""
    around = source.parents.get(call)
    if isinstance(around, ast.For):
        return not all(isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and called(s.value) in HARMLESS for s in around.body)
    made = source.parents.get(around) if isinstance(around, ast.comprehension) else None
    return made is None or isinstance(made, ast.DictComp) or (isinstance(made, ast.expr) and _matters(source, made, set()))


def _matters(source: Source, made: ast.AST, seen: Seen) -> bool:
    """Whether the order of a list is used: not if it is only counted, searched, printed or sorted."""
    if made in seen or len(seen) > DEEP:
        return True
    seen.add(made)
    child = made
    if isinstance(numbered := source.parents.get(made), ast.Call) and made in numbered.args and called(numbered) in ("enumerate", "zip"):
        return _taken(source, numbered)
    for around in source.ancestors(made):
        if isinstance(around, ast.Call) and child is around.func:
            return called(around) in ("index", "pop")
        if isinstance(around, ast.Call) and called(around) in ORDERLESS | HARMLESS:
            return False
        if isinstance(around, (ast.Compare, ast.JoinedStr, ast.SetComp)):
            return False
        if (target := _target(around)) is not None:
            return not _sorted_later(source, target) and any(_matters(source, n, seen) for n in _uses(source, around, target))
        if isinstance(around, ast.stmt):
            return isinstance(around, (ast.Return, ast.For, ast.AugAssign)) or _kept(around)
        child = around
    return False


def _kept(statement: ast.stmt) -> bool:
    """`rows.extend(list(names))`, `train(list(names))`."""
    return (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and called(statement.value) not in ORDERLESS | HARMLESS | {"sort"}
    )


def _sorted_later(source: Source, target: ast.expr) -> bool:
    name = ast.unparse(target)
    return any(ast.unparse(c.func) == f"{name}.sort" or (called(c) == "sorted" and c.args and ast.unparse(c.args[0]) == name) for c in source.calls())


def _tells_order(source: Source, loop: ast.For) -> bool:
    """What a loop over the set does depends on how often it was done before: it numbers, lists, draws or counts and keeps the count."""
    counted = {ast.unparse(n.target) for s in loop.body for n in ast.walk(s) if isinstance(n, ast.AugAssign)}
    return any(_numbers(source, n, counted) for s in loop.body for n in ast.walk(s))


def _numbers(source: Source, node: ast.AST, counted: set[str]) -> bool:
    """`vocabulary[word] = len(vocabulary)` (or a count), `vocabulary.setdefault(word, len(vocabulary))`, `names.append(name)`."""
    if isinstance(node, ast.Assign):
        values = [*ast.walk(node.value)]
        numbered = any(_differs(c) or (isinstance(c, ast.Call) and called(c) == "len") for c in values)
        return isinstance(node.targets[0], ast.Subscript) and (numbered or any(isinstance(n, ast.expr) and ast.unparse(n) in counted for n in values))
    if isinstance(node, ast.Call) and called(node) == "setdefault":
        return any(isinstance(c, ast.Call) and called(c) == "len" for c in ast.walk(node))
    return isinstance(node, ast.Call) and called(node) == "append" and (owner := receiver(node)) is not None and not _sorted_later(source, owner)


def _differs(node: ast.AST) -> bool:
    """A call that draws, or that makes weights, which are drawn."""
    if not isinstance(node, ast.Call):
        return False
    return called(node) in DRAWN or ast.unparse(node.func).startswith(("nn.", "torch.nn.", "torch.rand"))


def _uses(source: Source, statement: ast.AST | None, target: ast.expr) -> Iterator[ast.expr]:
    """Where what a name holds is read, until it is given something else."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _uses(source, statement, part)
    if isinstance(target, ast.Attribute):
        yield from (n for n in ast.walk(source.tree) if isinstance(n, ast.Attribute) and n.attr == target.attr and isinstance(n.ctx, ast.Load))
    if not isinstance(target, ast.Name) or statement is None:
        return
    scope, line = source.function(statement), getattr(statement, "lineno", 0)
    names = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == target.id]
    again = [n.lineno for n in names if isinstance(n.ctx, ast.Store) and not isinstance(source.parents.get(n), ast.AugAssign) and n.lineno > line]
    hidden = {f for f in ast.walk(scope) if isinstance(f, Function) and target.id in parameters(f)}
    for n in names:
        inside = source.function(n)
        if not isinstance(n.ctx, ast.Load) or inside in hidden:
            continue
        if (inside is not scope and not again) or (inside is scope and line < n.lineno <= min(again, default=n.lineno)):
            yield n
