"""What a script deals its batches out of, where no loader does: `for x, y in zip(Xv.split(200), Yv.split(200)): model(x)`."""

from __future__ import annotations

import ast

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import source_at
from sickbay.script.guesses import guess


@guess
def dealt_from(record: Record, place: Place | None, text: str) -> str | None:
    """The texts of what the loops and comprehensions around a call go through, as far as their variables stand in it."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    if source is None or statement is None:
        return None
    around = [(n.target, n.iter) for n in source.loops(statement) if isinstance(n, ast.For)]
    around += [(n.target, n.iter) for n in ast.walk(statement) if isinstance(n, ast.comprehension)]
    wanted = _names(ast.parse(text))
    return " ".join(ast.unparse(source_of) for target, source_of in around if wanted & _names(target)) or None


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
