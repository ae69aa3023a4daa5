"""What the script says of several trainings that it compares: that one is better than the other. It only reads the text; whether the difference means anything is asked elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, Source, calls_of, source_at, sources
from sickbay.script.guesses import guess

CLAIM = re.compile(r"\b(beats?|beating|better|outperforms?|wins?|winner|winning|uplift|improvement|superior)\b", re.IGNORECASE)
"""What is said of a result that decides. (Not "improved": that is what is said of an epoch. Not "best": that is what a search for a setting says.)"""
AGAIN = re.compile(r"seed|fold|repeat|repetition|rep\b|restart|replicate|n_runs|bootstrap", re.IGNORECASE)
"""Names of what one goes through to train the same several times."""

REPEATING = (ast.For, ast.While, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)


@guess
def claimed(record: Record) -> bool | None:
    """Whether the script itself says that one is better than the other."""
    return any(CLAIM.search(text) for source in sources(record) for text in _said(source))


@guess
def trained_again(record: Record, begun: Place) -> bool | None:
    """Whether a loop of the script goes through seeds or folds."""
    source = source_at(record, begun)
    loops = (n for n in ast.walk(source.tree) if isinstance(n, (ast.For, ast.comprehension))) if source is not None else ()
    return any(AGAIN.search(ast.unparse(loop.target)) or AGAIN.search(ast.unparse(loop.iter)) for loop in loops)


@guess
def compared_at(record: Record, begun: Place) -> Place | None:
    """The line that trains each of them: the call of the function in which their optimizer is made."""
    source = source_at(record, begun)
    made = source.statement(begun.line) if source is not None else None
    if source is None or made is None:
        return None
    called = made
    for _ in range(4):  # a function that is called by a function...
        inside = next((n for n in source.ancestors(called) if isinstance(n, Function)), None)
        calls = calls_of(source, inside) if inside is not None else []
        if not calls:
            break
        called = source.statement(calls[0].lineno) or called
        if len(calls) > 1 or any(isinstance(n, REPEATING) for n in source.ancestors(calls[0])):
            break
    return replace(source.place(called.lineno), guess=True)


def _said(source: Source) -> Iterator[str]:
    """The texts of calls that tell something (print, a logger)."""
    for call in source.calls("print", "info", "warning", "write", "echo", "log"):
        for node in ast.walk(call):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
