"""The line that should have kept training's data and evaluation's apart, as far as the text tells (see lineage.py)."""

from __future__ import annotations

import ast

from sickbay.nouns import Place
from sickbay.script.fixing import Function, Source, called, calls_of, keyword, receiver
from sickbay.script.guesses import guess
from sickbay.script.prepared import Sides
from sickbay.script.statement_kinds import (
    COPYING,
    JOINING,
    ORDERS,
    RESAMPLING,
    SPLITTING,
    calls,
    deals_out,
    doubles,
    given_names,
    named_in,
    returns_to_itself,
)


@guess
def copied(found: Sides | None) -> Place | None:
    """The line that makes several of one sample before training and evaluation are parted."""
    if found is None:
        return None
    trained, shown = found.trained, found.shown
    both = [s for s in trained.statements if s in shown]
    for statement in (s for s in both if calls(s, COPYING) or doubles(s, both)):
        # x, y = oversampled(x, y): the line that asks for it, not one inside the function
        function = getattr(trained.source.function(statement), "name", "")
        asking = [s for s in both if calls(s, frozenset({function}))] if function else []
        # x = x[idx], of an idx in which rows come several times
        taking = [s for s in both if isinstance(s, ast.Assign) and named_in(s.value) & given_names(statement) and returns_to_itself(s)]
        kept = [s for s in (*asking, statement, *taking) if isinstance(s, ast.Assign) and (returns_to_itself(s) or calls(s, RESAMPLING))]
        if kept:
            return trained.place(kept[0])
    return None


@guess
def joined(found: Sides | None) -> Place | None:
    """`x = np.concatenate([e.x for e in exports])` right before one split that both went through: a split shares no row, so what it is given holds rows twice."""
    if found is None:
        return None
    source, trained = found.trained.source, found.trained.statements
    both = [s for s in trained if s in found.shown]
    splits = [s for s in both if calls(s, SPLITTING)]
    if len(splits) != 1 or source.loops(splits[0]):
        return None
    before = [s for s in both if isinstance(s, ast.Assign) and s.lineno < splits[0].lineno and source.function(s) is source.function(splits[0])]
    several = [s for s in before if _joins_several(s)]
    return found.trained.place(several[0]) if several else None


def _joins_several(statement: ast.Assign) -> bool:
    """One after the other what several origins gave: named one by one, or gone through."""
    call = statement.value
    if not isinstance(call, ast.Call) or called(call) not in JOINING or not call.args:
        return False
    parts = call.args[0]
    return isinstance(parts, (ast.ListComp, ast.GeneratorExp)) or (isinstance(parts, (ast.List, ast.Tuple)) and len(parts.elts) > 1)


@guess
def drawn_twice(found: Sides | None) -> Place | None:
    """`train = permutation(n)[:k]`, `val = permutation(n)[k:]`: an order that each side draws for itself, where one order should have been cut in two."""
    if found is None:
        return None
    for own in (s for s in found.shown.statements if s not in found.trained):
        if any(_drawn(own) & _drawn(other) for other in found.trained.statements):  # statistics of training may be among evaluation's statements
            return found.shown.place(own)
    anew = [s for s in found.shown.statements if s in found.trained and _drawn_at_each_call(found.shown.source, s)]
    return found.shown.place(anew[0]) if anew else None


def _drawn_at_each_call(source: Source, statement: ast.stmt) -> bool:
    """`order = torch.randperm(n)` from a generator that all share, in a function or constructor that each side calls for itself."""
    function = source.function(statement)
    if not isinstance(statement, ast.Assign) or not isinstance(function, Function):
        return False
    shared = [n for n in ast.walk(statement.value) if isinstance(n, ast.Call) and called(n) in ORDERS and _from_all(n)]
    return bool(shared) and len(calls_of(source, function)) > 1


def _from_all(call: ast.Call) -> bool:
    """Not from a generator of its own, which may begin alike each time."""
    owner = receiver(call)
    return keyword(call, "generator") is None and (owner is None or ast.unparse(owner) in ("torch", "np.random", "numpy.random", "random"))


def _drawn(statement: ast.stmt) -> set[str]:
    """Random orders that are drawn and cut in one assignment, as they are written."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    cut = [n.value for n in ast.walk(value) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice)] if value is not None else []
    return {ast.unparse(n) for n in cut if isinstance(n, ast.Call) and called(n) in ORDERS}


@guess
def parted(found: Sides | None) -> Place | None:
    """The line that should have kept them apart: a split that both went through; or the one that gives training the whole, where evaluation alone has a part of it."""
    if found is None:
        return None
    trained, shown = found.trained, found.shown
    both = [s for s in shown.statements if s in trained and calls(s, SPLITTING)]
    only = [s for s in shown.statements if s not in trained and calls(s, SPLITTING)]
    if both:
        return shown.place(both[0])
    if own := [s for s in shown.statements if s in trained and deals_out(trained.source, s)]:
        return shown.place(own[0])
    return trained.place(trained.statements[0]) if only and calls(trained.statements[0], frozenset({"DataLoader"})) else None


@guess
def dealt_at_random(found: Sides | None) -> Place | None:
    """`order = rng.permutation(len(x))`, `random.shuffle(indices)`: the only random order that both sides come from."""
    if found is None:
        return None
    source = found.shown.source
    both = [s for s in found.shown.statements if s in found.trained and calls(s, ORDERS | {"shuffle"}) and not source.loops(s)]
    return found.shown.place(both[0]) if len(both) == 1 else None
