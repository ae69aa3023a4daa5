"""Parameters that a script collects for its optimizer one by one, as the text shows it: which conditions they have to meet."""

from __future__ import annotations

import ast

from sickbay.nouns import Place
from sickbay.script.fixing import Function, Source, called
from sickbay.script.guesses import guess
from sickbay.script.prepared import guessed

GIVES = frozenset({"named_parameters", "parameters", "modules", "named_modules", "children", "named_children"})
PUTS = frozenset({"append", "add", "extend", "update"})


@guess
def collected_at(source: Source, call: ast.Call) -> Place | None:
    """The one `if` without `else`, in a loop over a model's parameters, that decides what the optimizer of this call is given."""
    asked = [f for c in source.calls(within=call) for f in source.defined.get(called(c), ()) if isinstance(f, Function)]
    scopes = [source.function(call), *asked]
    found = [
        node
        for loop in ast.walk(source.tree)
        if isinstance(loop, ast.For) and source.function(loop) in scopes and any(called(c) in GIVES for c in source.calls(within=loop.iter))
        for node in ast.walk(loop)
        if isinstance(node, ast.If) and _heads_a_chain(source, node) and not _has_else(node) and source.calls(*PUTS, within=node)
    ]
    heads = list(dict.fromkeys(found))
    return guessed(source, heads[0]) if len(heads) == 1 else None


def _heads_a_chain(source: Source, node: ast.If) -> bool:
    above = source.parents.get(node)
    return not (isinstance(above, ast.If) and above.orelse == [node])


def _has_else(node: ast.If) -> bool:
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
    return bool(node.orelse)
