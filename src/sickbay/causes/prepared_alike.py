"""The line at which evaluation's data is prepared otherwise than training's, as far as the text tells (see lineage.py)."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from sickbay.causes.fixing import Function, Source, called
from sickbay.causes.prepared import Sides
from sickbay.causes.statement_kinds import alters, calls, inside, only_loads
from sickbay.nouns import Place

TRANSFORM = re.compile(r"(?<![a-z])(?:tf|tfm|tfms|transform|transforms|preprocess|prep|aug|augment)(?![a-z])", re.IGNORECASE)
NUMBERING = re.compile(r"vocab|fit|factorize|encoder|tokenizer|categor|build|index_of", re.IGNORECASE)
"""In the name of a call that learns from what it is given which number a word or class gets."""
LOADING = frozenset({"shuffle", "batch_size", "drop_last", "num_workers"})
"""Options of loaders, which differ between training and evaluation by right."""


def set_up(found: Sides | None) -> Place | None:
    """What prepares evaluation's data in a way that training's is not; the line after which a step is missing that training's has gone through;
    else the nearest line that prepares what is evaluated and nothing that is trained on."""
    if found is None:
        return None
    source = found.shown.source
    own = _alone(source, found.shown.statements, found.trained.statements)
    theirs = _alone(source, found.trained.statements, found.shown.statements)
    if not own:
        return None
    other = [s for s in own if _kind(source, s) not in {_kind(source, t) for t in theirs}]
    if not other and (place := _left_out(found, own, theirs)) is not None:
        return place
    chosen = (other or own)[0]
    transforms = {n.id for n in inside(chosen) if isinstance(n, ast.Name) and TRANSFORM.search(n.id)}
    changed = [s for s in source.tree.body if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id in transforms]
    return found.shown.place(changed[0] if len(changed) == 1 else chosen)


def numbered(found: Sides | None) -> Place | None:
    """The line that gives words or classes their numbers anew for what is evaluated: a vocabulary of its own, or one that a function or constructor makes
    of the rows it is given, each time."""
    if found is None:
        return None
    source = found.shown.source
    own = [s for s in _alone(source, found.shown.statements, found.trained.statements) if _learns(s)]
    each = [s for s in found.shown.statements if s in found.trained and isinstance(source.function(s), Function) and (_counts(s) or _learns(s))]
    return next((found.shown.place(s) for s in (*own, *each)), None)


def _alone(source: Source, side: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> list[ast.stmt]:
    """What changes or makes the data of one side and has nothing to do with the other's."""
    lines = {s.lineno for s in other}
    return [
        s
        for s in side
        if s.lineno not in lines and ((isinstance(s, ast.Expr) and alters(source, s)) or (isinstance(s, ast.Assign) and not only_loads(s)))
    ]


def _left_out(found: Sides, own: list[ast.stmt], theirs: list[ast.stmt]) -> Place | None:
    """Where a step is missing that only training's data goes through: after what comes before it there, as it is done to evaluation's; else that step itself."""
    source = found.shown.source
    done = {_kind(source, s): s for s in reversed(own)}
    missing = next((i for i, t in enumerate(theirs) if _kind(source, t) and _kind(source, t) not in done), None)
    if missing is None:
        return None
    before = next((done[_kind(source, t)] for t in theirs[missing + 1 :] if _kind(source, t) in done), None)
    return found.shown.place(before if before is not None else theirs[missing])


def _kind(source: Source, statement: ast.stmt) -> tuple[str, ...]:
    """What is done in a statement, whatever it is done to: calls, sums and products, functions and switches that are handed on."""
    own = {n.name for n in ast.walk(source.tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    found: list[str] = []
    for node in inside(statement):
        if isinstance(node, ast.Call):
            found.append(called(node))
            found += [f"{k.arg}={ast.unparse(k.value)}" for k in node.keywords if _switch(k)]
        elif isinstance(node, ast.Name) and (node.id in own or TRANSFORM.search(node.id)):
            found.append(node.id)
        elif isinstance(node, ast.BinOp):
            found.append(type(node.op).__name__)
    return tuple(found)


def _switch(given: ast.keyword) -> bool:
    return isinstance(given.value, ast.Constant) and isinstance(given.value.value, bool) and given.arg not in LOADING


def _learns(statement: ast.stmt) -> bool:
    """`Vocab(val_texts)`, `encoder.fit_transform(val_names)`"""
    return any(isinstance(n, ast.Call) and NUMBERING.search(called(n)) for n in inside(statement))


def _counts(statement: ast.stmt) -> bool:
    """`{word: i for i, word in enumerate(words)}`, `dict(zip(words, range(n)))`"""
    comprehended = any(isinstance(n, ast.DictComp) for n in inside(statement)) or calls(statement, frozenset({"dict"}))
    return comprehended and calls(statement, frozenset({"enumerate", "range", "count"}))
