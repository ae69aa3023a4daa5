"""A tensor that the backward pass needs was overwritten after it had been used.

## What happens

Many operations keep their input or their result for the backward pass (sigmoid, tanh, relu and exp keep the result, products and squares their factors). `x += 1`, `x[mask] = 0`,
`x.relu_()` or `nn.ReLU(inplace=True)` write into the very same memory. Autograd counts the writes of each tensor, sees at `backward()` that the kept one has changed,
and stops. An optimizer step between the forward pass and the backward pass does the same to the weights.

## How we know

Proof: autograd's own exception, with the shape of the tensor, the operation that made it, and how often it was overwritten since. On traced steps (the first steps are) every
in-place operation was seen with its line: those that wrote to a tensor of this shape, at these counts, are named. Where weights fit instead, the optimizer that stepped them is.

## Looks like it but is not

- In-place operations on values that no operation has kept: autograd allows them.
- In-place updates of weights under `no_grad`, as optimizers make them, after the backward pass.
- A graph that is gone through twice (`retained-graph`).

## Fix

Write the result to a new tensor: `x = x + 1`, `x = torch.where(mask, 0, x)`, `F.relu(x)`; call `backward()` for all losses before any optimizer steps.

## References

- https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
- https://github.com/pytorch/pytorch/issues/15803
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.crashes import crash_of, died_of, says
from sickbay.causes.evidence import at, listed, located, shape
from sickbay.causes.registry import cause
from sickbay.facts import Crash, InplaceWrite
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, called, mend, source_at
from sickbay.signs import Signs

OVERWRITTEN = r"modified by an inplace operation"
AT_ONCE = (
    r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place operation",
    r"is a view and is being modified inplace",
    r"a view was created in no_grad mode and is being modified inplace",
)
"""Refused on the very line of the in-place operation."""
_DETAIL = r"modified by an inplace operation: \[[\w.]+ ?(?P<shape>\[[\d, ]*\])?\](?:, which is output \d+ of (?P<op>\w+?)(?:Backward\d*)?,)?.*?is at version (?P<version>\d+); expected version (?P<expected>\d+)"
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}


@cause(
    code="P331",
    level="procedure",
    title="a tensor that backward needs was overwritten",
    why="The gradient would be computed from values that are not there any more, so autograd stops the script.",
    explains=set(),
)
def inplace_modification(record: Record, signs: Signs) -> Iterator[Evidence]:
    crash = crash_of(record)
    if crash is None:
        return
    if any(says(crash, m) for m in AT_ONCE):
        yield died_of(f"`{crash.call or 'an operation'}` writes into a tensor whose gradient is wanted: {crash.kind}{located(crash.place)}", crash)
    elif says(crash, OVERWRITTEN):
        yield from _overwritten(record, crash)


def _overwritten(record: Record, crash: Crash) -> Iterator[Evidence]:
    found = says(crash, _DETAIL)
    what = f"a tensor of shape {_shape(found['shape'])}" if found is not None and found["shape"] else "a tensor"
    made = f" that {found['op'].lower()} made{located(crash.needed_at)}" if found is not None and found["op"] and not crash.stepped else ""
    kept = f"backward{located(crash.place)} needs {what}{made} as it was"
    writers = list(dict.fromkeys(w.place for w in crash.writes if w.place is not None))
    if writers:
        told = "; ".join(f"{_operation(w)}{located(w.place)}" for w in _distinct(crash.writes)[:3])
        yield died_of(f"{kept}, and it was overwritten in place by {told}", crash, writers[-1] if len(writers) == 1 else _after(crash, writers))
    elif crash.stepped:
        names = listed(list(crash.stepped), 3)
        yield died_of(
            f"{kept}: it is the weight {names}, which the optimizer{located(crash.stepped_at, ' changed at')} after the forward pass had used it",
            crash,
            crash.stepped_at,
        )
    else:
        candidates = list(_written(record, crash))
        place = candidates[0] if len(candidates) == 1 else crash.place
        where = f"; in-place operations in the script: {listed([at(p) for p in candidates], 6)}" if candidates else ""
        yield died_of(f"{kept}, and it was overwritten in place since{where}", crash, place)


def _shape(text: str) -> str:
    return shape([int(n) for n in text.strip("[]").split(",") if n.strip()])


def _operation(write: InplaceWrite) -> str:
    line = write.place.text if write.place is not None else None
    if line and len(line) <= 80 and write.operation in ("setitem", "index_put", "add", "sub", "mul", "div"):
        return f"`{line}`"
    return f"`{write.call}`" if write.call else f"{write.operation}{f' in layer {write.layer}' if write.layer else ''}"


def _distinct(writes: Sequence[InplaceWrite]) -> list[InplaceWrite]:
    return list({(w.place, w.operation): w for w in writes}.values())


def _after(crash: Crash, places: Sequence[Place]) -> Place:
    """Of several, the first one after the line that made the tensor."""
    made = crash.needed_at
    later = [p for p in places if made is not None and p.file == made.file and (p.line or 0) >= (made.line or 0)]
    return later[0] if later else places[0]


def _written(record: Record, crash: Crash) -> Iterator[Place]:
    """In-place operations that the source shows, where no trace tells."""
    source = source_at(record, crash.place)
    if source is None:
        return
    lines = sorted({node.lineno for node in ast.walk(source.tree) if isinstance(node, (ast.stmt, ast.Call)) and _writes(node)})
    yield from (source.place(n) for n in lines)


def _writes(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        method = (
            isinstance(node.func, ast.Attribute)
            and node.func.attr.endswith("_")
            and not node.func.attr.startswith(("clip_", "requires_", "zero", "__", "unscale"))
        )
        in_init = isinstance(node.func, ast.Attribute) and "init" in ast.unparse(node.func.value)
        inplace = any(k.arg == "inplace" and isinstance(k.value, ast.Constant) and k.value.value is True for k in node.keywords)
        return (method and not in_init) or inplace
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Subscript) and not isinstance(t.slice, ast.Constant) for t in node.targets)


# -- the fix --------------------------------------------------------------------------------------------------------


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    crash = crash_of(record)
    if crash is not None and crash.stepped:
        text = "call backward for every loss before the first optimizer steps, or run the forward pass of the second loss after the step"
        return Fix(text, "loss_a.backward()\nloss_b.backward()\noptimizer_a.step()\noptimizer_b.step()", "advice")
    if crash is not None and says(crash, AT_ONCE[0]):
        return Fix("change a tensor that is trained only where autograd does not look", "with torch.no_grad():\n    w += ...", "advice")
    place = next((e.place for e in evidence if e.kind == "proof"), None)
    if crash is not None and len(crash.writes) == 1 and crash.writes[0].built_at is not None:
        place = crash.writes[0].built_at
    source = source_at(record, place)
    diff = _out_of_place(source, place) if source is not None and place is not None else ""
    return mend(
        "write the result to a new tensor instead of over the old one",
        diff,
        "x = x + y                    # not x += y\nx = torch.where(mask, 0.0, x)  # not x[mask] = 0",
        "consent",
    )


def _out_of_place(source: Source, place: Place) -> str:
    statement = source.statement(place.line)
    if isinstance(statement, ast.AugAssign) and type(statement.op) in OPERATORS:
        target, value = source.segment(statement.target), source.segment(statement.value)
        if isinstance(statement.target, ast.Subscript):
            return _cloned(source, statement, statement.target)
        value = value if isinstance(statement.value, (ast.Name, ast.Call, ast.Attribute, ast.Constant, ast.Subscript)) else f"({value})"
        start, end = (statement.lineno, statement.col_offset), (statement.end_lineno or 0, statement.end_col_offset or 0)
        return source.diff(Edit(source.offset(*start), source.offset(*end), f"{target} = {target} {OPERATORS[type(statement.op)]} {value}"))
    for call in source.calls(line=place.line):
        if isinstance(call.func, ast.Attribute) and called(call).endswith("_") and not called(call).endswith("__"):
            owner = call.func.value
            plain = f"{source.segment(owner)}.{called(call)[:-1]}({', '.join([source.segment(a) for a in call.args] + [ast.unparse(k) for k in call.keywords])})"
            alone = isinstance(statement, ast.Expr) and statement.value is call
            return source.diff(source.replacing(call, f"{source.segment(owner)} = {plain}" if alone else plain))
        for given in call.keywords:
            if given.arg == "inplace" and isinstance(given.value, ast.Constant):
                return source.diff(source.replacing(given.value, "False"))
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        return _cloned(source, statement, statement.targets[0])
    return ""


def _cloned(source: Source, statement: ast.stmt, target: ast.Subscript) -> str:
    """`x[i] = v` writes into a copy of its own."""
    name = source.segment(target.value)
    return source.diff(source.before(statement, f"{name} = {name}.clone()"))
