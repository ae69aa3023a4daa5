"""Taking an activation out of a line of the user's source: the call's argument remains, a layer of nn.Sequential goes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from sickbay.script.fixing import Edit, Source, called, is_number, receiver


def without(source: Source, line: int | None, *functions: str, held: Sequence[str] = ()) -> Edit | None:
    """The line without its call of one of these activations: `F.relu(x)`, `x.relu()`, `nn.ReLU()`, or of a layer that holds one, `self.act(x)`.

    `held` are words by which such a layer may go besides the functions' own names.
    """
    plain = {f.replace("_", "") for f in functions}
    calls = [c for c in source.calls(line=line) if called(c).lower().rstrip("_").removesuffix("2d") in plain and line in (c.lineno, c.end_lineno)]
    if not calls:
        words = (*functions, *held, "act")
        holding = [c for c in source.calls(line=line) if len(c.args) == 1 and any(word in called(c).lower() for word in words)]
        return source.replacing(holding[0], source.segment(holding[0].args[0])) if len(holding) == 1 else None
    call = calls[-1]
    if called(call)[0].isupper():
        return _layer(source, call)
    argument = receiver(call) if _is_method(call) else call.args[0] if call.args else None
    return source.replacing(call, source.segment(argument)) if argument is not None else None


def renamed(source: Source, call: ast.Call, name: str) -> Edit:
    """The call with another function of the same module: `nn.NLLLoss(...)` as `nn.CrossEntropyLoss(...)`."""
    owner = receiver(call)
    return source.replacing(call.func, f"{source.segment(owner)}.{name}" if owner is not None else name)


def _is_method(call: ast.Call) -> bool:
    """`x.relu()`, `x.softmax(-1)`, and not `F.relu(x)` or a layer's `self.softmax(x)`: its argument, if any, is a number."""
    return receiver(call) is not None and (not call.args or is_number(_positive(call.args[0])))


def _positive(node: ast.expr) -> ast.expr:
    return node.operand if isinstance(node, ast.UnaryOp) else node


def _layer(source: Source, call: ast.Call) -> Edit | None:
    """`nn.ReLU()` as an argument of nn.Sequential: take it out with its comma."""
    parent = source.parents.get(call)
    if isinstance(parent, ast.Assign):
        return source.replacing(call, "nn.Identity()")
    items = parent.args if isinstance(parent, ast.Call) else parent.elts if isinstance(parent, ast.List) else []
    if call not in items or len(items) < 2:
        return None
    edit, i = source.replacing(call, ""), items.index(call)
    if i:
        return Edit(source.replacing(items[i - 1], "").end, edit.end, "")
    return Edit(edit.start, source.replacing(items[1], "").start, "")
