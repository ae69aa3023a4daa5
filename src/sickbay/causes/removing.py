"""Taking an activation out of a line of the user's source: the call's argument remains, a layer of nn.Sequential goes."""

from __future__ import annotations

import ast

from sickbay.causes.fixing import Edit, Source, called, is_number, receiver


def without(source: Source, line: int | None, function: str) -> Edit | None:
    """The line without its call of an activation: `F.relu(x)`, `x.relu()`, `nn.ReLU()`, or of a layer that holds one, `self.act(x)`."""
    calls = [c for c in source.calls(line=line) if called(c).lower().rstrip("_") == function.replace("_", "")]
    if not calls:
        held = [c for c in source.calls(line=line) if len(c.args) == 1 and any(word in called(c).lower() for word in (function, "act"))]
        return source.replacing(held[0], source.segment(held[0].args[0])) if len(held) == 1 else None
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
    """`x.relu()`, and not `F.relu(x)`: its argument, if any, is a number."""
    return receiver(call) is not None and (not call.args or is_number(call.args[0]))


def _layer(source: Source, call: ast.Call) -> Edit | None:
    """`nn.ReLU()` as an argument of nn.Sequential: take it out with its comma."""
    parent = source.parents.get(call)
    if isinstance(parent, (ast.Call, ast.List)):
        items = parent.args if isinstance(parent, ast.Call) else parent.elts
        i = items.index(call) if call in items else 0
        if i:
            return Edit(source.replacing(items[i - 1], "").end, source.replacing(call, "").end, "")
    return source.replacing(call, "nn.Identity()") if isinstance(parent, ast.Assign) else None
