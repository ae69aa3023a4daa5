"""The line that takes the numbers for scaling from what is evaluated itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from sickbay.nouns import Place
from sickbay.script.fixing import called
from sickbay.script.guesses import guess
from sickbay.script.prepared import CALLED_LABELS, Sides
from sickbay.script.statement_kinds import calls, inside

FITTING = frozenset({"fit_transform", "fit", "minmax_scale", "zscore"})
HELD_OUT = re.compile(r"(?<![a-z])(?:val|va|valid|validation|test|tst|te|dev)(?![a-z])", re.IGNORECASE)
MEASURING = frozenset({"std", "nanstd", "std_mean", "ptp"})


@guess
def fitted_anew(found: Sides | None, labels: bool = False) -> Place | None:
    """`scaler.fit_transform(x_val)`; else the same in a function or constructor that each side goes through by itself; else the spread that is taken by hand."""
    if found is None:
        return None
    source = found.shown.source
    own = [s for s in found.shown.statements if s not in found.trained]
    both = [s for s in found.shown.statements if s in found.trained]
    for names in (FITTING, MEASURING):
        each = [s for s in both if source.function(s) is not source.tree or len(_made(s, names)) > 1]
        lines = [s for s in (*own, *each) if calls(s, names)]
        of_side = [s for s in lines if any(CALLED_LABELS.match(n) is not None for n in _scaled(s, names)) is labels]
        if of_side or (lines and not labels):
            return found.shown.place((of_side or lines)[0])
    named = [
        s for c in source.calls(*FITTING) if (s := source.statement(c.lineno)) is not None and any(_held_out_label(n) for n in _scaled(s, FITTING))
    ]
    return found.shown.place(named[0]) if labels and len(named) == 1 else None


def _held_out_label(name: str) -> bool:
    return CALLED_LABELS.match(name) is not None and HELD_OUT.search(name.replace("_", " ")) is not None


def _scaled(statement: ast.stmt, names: frozenset[str]) -> Iterator[str]:
    """What is given to the call."""
    for call in _made(statement, names):
        given = call.args[0] if call.args else call.func
        yield from (n.id for n in ast.walk(given) if isinstance(n, ast.Name))


def _made(statement: ast.stmt, names: frozenset[str]) -> list[ast.Call]:
    return [n for n in inside(statement) if isinstance(n, ast.Call) and called(n) in names]


def applied(found: Sides | None, place: Place | None) -> str:
    """The diff that only applies, on validation's own line, what was fitted on training's."""
    source = found.shown.source if found is not None else None
    statement = source.statement(place.line) if source is not None and place is not None and place.line is not None else None
    if found is None or source is None or statement is None or statement in found.trained:
        return ""
    made = _made(statement, frozenset({"fit_transform"}))
    scaler = made[0].func.value if len(made) == 1 and isinstance(made[0].func, ast.Attribute) else None
    fitted = [c.func.value for s in found.trained.statements for c in _made(s, FITTING) if isinstance(c.func, ast.Attribute)]
    if scaler is None or ast.unparse(scaler) not in {ast.unparse(f) for f in fitted}:  # `StandardScaler().fit_transform(...)`, or a scaler of its own
        return ""
    return source.diff(source.replacing(made[0].func, f"{source.segment(scaler)}.transform"))
