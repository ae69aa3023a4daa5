"""The triangle that a causal mask is made of, read from the text: the wrong one of the two?"""

from __future__ import annotations

import ast

from sickbay.script.fixing import Source, called, is_number, keyword
from sickbay.script.guesses import guess

MASKING = ("masked_fill", "masked_fill_")


@guess
def wrong_triangle(source: Source, line: int | None) -> ast.Call | None:
    """The one `triu` (or `tril`) whose ones say what is kept, where the past is the other triangle. The diagonal tells that the triangle is wrong, not the way it is used:
    what is kept has its own position in it, what is hidden has not."""
    statement = source.statement(line)
    made = source.calls("triu", "tril")
    if statement is None or len(made) != 1:
        return None
    keeps = [keep for use in _uses(source, source.function(statement), made[0]) if (keep := _keeps(source, use, made[0])) is not None]
    diagonal = _diagonal(source, made[0])
    if len(set(keeps)) != 1 or diagonal is None:
        return None
    wrong = (called(made[0]) == "triu" and diagonal == 0) if keeps[0] else (called(made[0]) == "tril" and diagonal < 0)
    return made[0] if wrong else None


def _diagonal(source: Source, call: ast.Call) -> int | None:
    given = keyword(call, "diagonal")
    positional = call.args[(1 if source.segment(call.func) in ("torch.triu", "torch.tril") else 0) :]
    value = given.value if given is not None else positional[0] if positional else ast.Constant(0)
    sign = -1 if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) else 1
    number = value.operand if isinstance(value, ast.UnaryOp) else value
    return sign * number.value if is_number(number) and isinstance(number.value, int) else None


def _uses(source: Source, function: ast.AST, made: ast.Call) -> list[ast.expr]:
    """The mask where a function reads it: by its name, or made right there."""
    inside = [n for n in ast.walk(function) if n is made]
    name = _name(source, made)
    read = (n for n in ast.walk(function) if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load))
    return [*inside, *(n for n in read if name and (n.id if isinstance(n, ast.Name) else n.attr) == name)]


def _name(source: Source, made: ast.Call) -> str:
    for around in source.ancestors(made):
        if isinstance(around, ast.Call) and called(around) == "register_buffer" and around.args and isinstance(around.args[0], ast.Constant):
            return str(around.args[0].value)
        if isinstance(around, ast.Assign) and len(around.targets) == 1 and isinstance(target := around.targets[0], (ast.Name, ast.Attribute)):
            return target.id if isinstance(target, ast.Name) else target.attr
    return ""


def _keeps(source: Source, use: ast.expr, made: ast.Call) -> bool | None:
    """Whether ones of the triangle are positions that are looked at; None where that is not told."""
    turned = _turned(source, use) + (_turned(source, made) if use is not made else 0)
    child: ast.AST = use
    for around in source.ancestors(use):
        if isinstance(around, ast.Call) and called(around) in MASKING and around.args and child is around.args[0]:
            return turned % 2 == 1
        if isinstance(around, ast.keyword) and around.arg == "attn_mask":
            call = source.parents.get(around)
            return turned % 2 == 0 if isinstance(call, ast.Call) and called(call) == "scaled_dot_product_attention" else None
        if isinstance(around, ast.stmt):
            return None
        child = around
    return None


def _turned(source: Source, node: ast.AST) -> int:
    """How often yes and no change places around it: `mask == 0`, `~mask`, `logical_not(mask)`."""
    times = 0
    for around in source.ancestors(node):
        if isinstance(around, ast.stmt) or (isinstance(around, ast.Call) and called(around) in (*MASKING, "register_buffer")):
            break
        zero = isinstance(around, ast.Compare) and isinstance(around.ops[0], ast.Eq) and ast.unparse(around.comparators[0]) in ("0", "0.0", "False")
        times += zero or (isinstance(around, ast.UnaryOp) and isinstance(around.op, ast.Invert))
        times += isinstance(around, ast.Call) and called(around) == "logical_not"
    return times
