"""The line that computes the rate of a schedule which the script gives as a function (`LambdaLR(optimizer, rate_at)`), and the one that says when or how fast it falls."""

from __future__ import annotations

import ast

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, Source, called, keyword, source_at
from sickbay.script.length import EPOCHS, STEPS
from sickbay.script.naming import named_lists, named_numbers

BY_A_FUNCTION = ("LambdaLR", "MultiplicativeLR")
FALLS_BY = {"MultiStepLR": "milestones", "StepLR": "step_size", "ExponentialLR": "gamma", "CosineAnnealingLR": "T_max"}
"""What says when or how fast the rate falls, the second argument of each,"""
FALLS_WITHIN = {"PolynomialLR": "total_iters", "LinearLR": "total_iters"}
"""...or an argument by name only."""


def computed_at(record: Record, built_at: Place | None) -> Place | None:
    """The only `return` of a function of the script's that the schedule built there is given; None of a lambda, which stands on the line itself, and where several lines may be meant."""
    source = source_at(record, built_at)
    calls = source.calls(*BY_A_FUNCTION, line=built_at.line) if source is not None and built_at is not None else []
    if source is None or len(calls) != 1:
        return None
    by_name = keyword(calls[0], "lr_lambda")
    given = by_name.value if by_name is not None else calls[0].args[1] if len(calls[0].args) > 1 else None
    made = source.defined.get(given.id, []) if isinstance(given, ast.Name) else []
    returns = _returns(source, made[0]) if len(made) == 1 else []
    return source.place(returns[0].lineno) if len(returns) == 1 else None


def set_at(record: Record, built_at: Place | None) -> Place | None:
    """Where the numbers stand that make its rate fall, if the schedule built there is given them by a name that has them once (`milestones=args.milestones`)."""
    source = source_at(record, built_at)
    calls = source.calls(*FALLS_BY, *FALLS_WITHIN, line=built_at.line) if source is not None and built_at is not None else []
    if source is None or len(calls) != 1:
        return None
    kind = called(calls[0])
    setting = FALLS_BY.get(kind) or FALLS_WITHIN[kind]
    by_name, second = keyword(calls[0], setting), calls[0].args[1] if len(calls[0].args) > 1 and kind in FALLS_BY else None
    unpacked = any(k.arg is None for k in calls[0].keywords)  # **settings
    given = by_name.value if by_name is not None else second
    if isinstance(given, ast.Call) and called(given) in ("list", "tuple", "sorted") and len(given.args) == 1:
        given = given.args[0]
    name = setting if given is None and unpacked else _name(given)
    if name in EPOCHS or name in STEPS:
        return None  # it ends with the run
    found = [*named_lists(source, name), *named_numbers(source, name)] if name else []
    return source.place(found[0].lineno) if len(found) == 1 else None


def _name(given: ast.AST | None) -> str:
    """Of `milestones`, `args.milestones`, `HP["milestones"]`."""
    if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Constant):
        return str(given.slice.value)
    return given.id if isinstance(given, ast.Name) else given.attr if isinstance(given, ast.Attribute) else ""


def _returns(source: Source, function: ast.AST) -> list[ast.Return]:
    found = [n for n in ast.walk(function) if isinstance(n, ast.Return)]
    return found if isinstance(function, Function) and all(source.function(n) is function for n in found) else []
