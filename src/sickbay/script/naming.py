"""What the user calls things at a line of their source: the optimizer, the model, the learning rate."""

from __future__ import annotations

import ast

from sickbay.facts import Optimizer
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.bindings import argument, parameters
from sickbay.script.fixing import Function, Source, called, is_number, keyword, receiver, source_at


def optimizer_name(record: Record, optimizer: Optimizer) -> str:
    """The optimizer in the user's words, as its step or zero_grad call shows it; "optimizer" if nothing does."""
    for place, method in ((optimizer.stepped_at, "step"), (optimizer.zeroed_at, "zero_grad")):
        source = source_at(record, place)
        if source is not None and place is not None:
            for call in source.calls(method, line=place.line):
                if (owner := receiver(call)) is not None:
                    # scaler.step(optimizer)
                    return (
                        source.segment(call.args[0])
                        if method == "step" and call.args and "scaler" in ast.unparse(owner).lower()
                        else source.segment(owner)
                    )
    return optimizer.variable or assigned(record, optimizer.built_at) or "optimizer"


def assigned(record: Record, place: Place | None) -> str:
    """The name that the statement at a place gives to what it makes."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    if source is not None and isinstance(statement, ast.Assign) and len(statement.targets) == 1 and not isinstance(statement.targets[0], ast.Tuple):
        return source.segment(statement.targets[0])
    return ""


def constructor(record: Record, optimizer: Optimizer) -> tuple[Source, ast.Call] | None:
    """The call that built the optimizer."""
    source, place = source_at(record, optimizer.built_at), optimizer.built_at
    if source is None or place is None:
        return None
    calls = [c for c in source.calls(line=place.line) if called(c) == optimizer.kind] or [
        c for c in source.calls(line=place.line) if keyword(c, "lr") or called(c).lower().endswith(("sgd", "adam", "adamw", "lbfgs", "rmsprop"))
    ]
    return (source, calls[0]) if calls else None


def model_name(record: Record, forward: Place | None, switch: Place | None = None) -> str:
    """What the model is called at the line of a forward pass; `switch` is a line with `model.eval()` or `.train()`."""
    source = source_at(record, forward)
    if source is None or forward is None:
        return ""
    known = _switched(record, switch)
    candidates = [c for c in source.calls(line=forward.line) if isinstance(c.func, (ast.Name, ast.Attribute)) and c.args]
    names = [source.segment(c.func) for c in candidates]
    if known and (same := [n for n in names if n.rpartition(".")[2] == known.rpartition(".")[2]]):
        return same[0]
    plain = [n for n in names if _looks_like_a_model(n)]
    return plain[-1] if plain else ""


def _switched(record: Record, place: Place | None) -> str:
    source = source_at(record, place)
    if source is None or place is None:
        return ""
    owners = [receiver(c) for c in source.calls("train", "eval", line=place.line)]
    return next((source.segment(o) for o in owners if o is not None), "")


_NOT_MODELS = frozenset(
    "criterion loss loss_fn loss_func crit mse bce ce accuracy len sum list dict float int range enumerate zip print append item "
    "cross_entropy mse_loss softmax sigmoid to cuda argmax mean cat stack float tensor".split()
)


def _looks_like_a_model(name: str) -> bool:
    head, _, last = name.rpartition(".")
    return last not in _NOT_MODELS and head.partition(".")[0] not in ("torch", "F", "nn", "np", "functional") and not last[:1].isupper()


def learning_rate(source: Source, call: ast.Call) -> tuple[ast.Constant | None, str]:
    """The number behind the `lr` of an optimizer's constructor, where one can be found, and the expression that stands there."""
    given = keyword(call, "lr")
    value = given.value if given is not None else (call.args[1] if len(call.args) > 1 else None)
    if value is None:
        return None, ""
    if is_number(value):
        return value, source.segment(value)
    text = source.segment(value)
    if (passed := _passed(source, value)) is not None:
        return passed, text
    key = value.slice if isinstance(value, ast.Subscript) else None  # config["lr"]
    found = named_numbers(source, str(key.value) if isinstance(key, ast.Constant) else text.rpartition(".")[2])
    return (found[0] if len(found) == 1 else None), text


def _passed(source: Source, value: ast.expr) -> ast.Constant | None:
    """`Trainer(net, lr=0.01)`: what the only call of the function or class around gives to the parameter of this name."""
    function = source.function(value)
    if not isinstance(value, ast.Name) or not isinstance(function, Function) or value.id not in parameters(function):
        return None
    owner = source.parents.get(function)
    method = isinstance(owner, ast.ClassDef)
    name = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
    given = [argument(call, function, value.id, method) for call in source.calls(name)]
    one = given[0] if len(given) == 1 else None
    return one[0] if one is not None and is_number(one[0]) else None


def named_numbers(source: Source, name: str) -> list[ast.Constant]:
    """Numbers given to a name anywhere in the file: assignments, defaults, keyword arguments, dict entries, --options."""
    found: list[ast.Constant] = []
    for node in ast.walk(source.tree):
        for key, value in _bindings(node):
            if key == name and is_number(value):
                found.append(value)
    return found


def named_lists(source: Source, name: str) -> list[ast.expr]:
    """The same of lists and tuples of numbers."""
    given = [value for node in ast.walk(source.tree) for key, value in _bindings(node) if key == name]
    return [v for v in given if isinstance(v, (ast.List, ast.Tuple)) and v.elts and all(map(is_number, v.elts))]


def _bindings(node: ast.AST) -> list[tuple[str, ast.AST | None]]:
    if isinstance(node, ast.Assign):
        return [pair for target in node.targets for pair in _targets(target, node.value)]
    if isinstance(node, ast.AnnAssign):
        return _targets(node.target, node.value) if node.value is not None else []
    if isinstance(node, ast.Dict):
        return [(str(k.value), v) for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)]
    if isinstance(node, ast.arguments):
        plain = node.args[len(node.args) - len(node.defaults) :]
        return [(a.arg, d) for a, d in zip(plain, node.defaults, strict=True)] + [
            (a.arg, d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True)
        ]
    if isinstance(node, ast.Call):
        return _given(node)
    return []


def _targets(target: ast.AST, value: ast.AST) -> list[tuple[str, ast.AST | None]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [pair for t, v in zip(target.elts, value.elts, strict=True) for pair in _targets(t, v)]
    name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    return [(name, value)] if name else []


def _given(call: ast.Call) -> list[tuple[str, ast.AST | None]]:
    if called(call) == "add_argument":
        options = [str(a.value).lstrip("-").replace("-", "_") for a in call.args if isinstance(a, ast.Constant)]
        default = keyword(call, "default")
        return [(o, default.value) for o in options] if default is not None else []
    return [(k.arg, k.value) for k in call.keywords if k.arg]
