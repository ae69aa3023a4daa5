"""The line that should have kept training's data and evaluation's apart, as far as the text tells (see lineage.py)."""

from __future__ import annotations

import ast

from sickbay.causes.guesses import guess
from sickbay.causes.prepared import Sides
from sickbay.causes.statement_kinds import (
    COPYING,
    RESAMPLING,
    SPLITTING,
    calls,
    deals_out,
    doubles,
    given_names,
    named_in,
    returns_to_itself,
)
from sickbay.nouns import Place


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
