"""Graphs of earlier steps are kept alive: by a loss that is stored with its graph, or by a state that is carried on with its history.

## What happens

A loss tensor is the tip of a graph of every operation that made it. `total += loss` or `losses.append(loss)` keeps the tip, and with it the graph, of every
step: memory grows until the process is killed. A hidden state that is carried from step to step without `detach()` makes the graph itself longer
with every step, so that `retain_graph=True` is needed and each backward goes through the whole past: slower and slower.

## How we know

Proof: the graph behind each loss is marked when backward begins, and the marks that are still alive are counted some steps later. In a healthy
loop at most the last one is. So are the graphs of predictions, of which something else may be made and kept (an entropy, a score); that counts only while memory grows. For graphs that grow, the operations behind the loss are counted whenever `retain_graph=True` is given. When autograd refuses to go through a graph
a second time, the variables that had a graph behind them are still there, and the loop's source shows which of them goes from one step to the next.

## Looks like it but is not

- `loss.item()`, `loss.detach()`, keeping only the newest or the best loss.
- A handful of losses in a list that is emptied soon.
- `retain_graph=True` within a step (two losses of one forward pass), truncated backpropagation with `detach()`, second-order methods.

## Fix

Keep the number, not the tensor: `total += loss.item()`, or `.detach()` to stay on the device; `hidden = hidden.detach()` between steps. `retain_graph=True` is right only for
several losses of one forward pass.

## References

- https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory ("Don't accumulate history across your training loop").
- https://docs.pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.crashes import crash_of, died_of
from sickbay.causes.evidence import listed, located, proof, times
from sickbay.causes.registry import cause
from sickbay.facts import Crash, Kept, Loss
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.carried import Carried, carried
from sickbay.script.fixing import Edit, Function, Source, called, mend, source_at
from sickbay.script.moving import statement_at
from sickbay.signs import Signs

ALIVE = 20
"""Graphs of earlier steps alive at once. A loop that is not leaking has one or two; short lists that are emptied soon have a few more."""
SHARE = 0.05
"""...and no fewer than this share of those that were marked, so that a list of the best few of a long run does not count."""
FEW = 8
"""...where the script's text shows that they are added up (`total += loss`): an epoch of a dozen batches lets go of its sum when it ends. (A list of the newest few is none.)"""
GROWTHS = 3
GROWN = 2.0
RETAINS = 0.5


@cause(
    code="P319",
    level="procedure",
    title="a graph is used or kept beyond its backward pass",
    why="Whatever is kept with its graph holds all operations that made it: memory and time grow with every step, or backward runs into a graph that is gone.",
    explains={"inplace-modification", "out-of-memory", "memory-leak", "memory-growth", "step-time-drift"},
    cure=None,
)
def retained_graph(record: Record, signs: Signs) -> Iterator[Evidence]:
    for k in record.facts.kept:
        loss = _loss(record, k)
        if k.output and not signs.has("memory-growth"):
            continue  # a graph that backward has been through weighs little, and nobody here knows which of them have
        if _accumulates(k) and k.called_at is not None:
            keeper = _kept_value(record, k.called_at)
            stored = keeper[1] if keeper is not None else None
            what = "predictions that were made" if k.output else "losses that were computed"
            yield proof(
                f"the graphs of {k.alive:,} of {k.marked:,} {what}{located(k.called_at)} were alive at once, the oldest {times(k.oldest, 'step')} old: "
                f"what is made of them is kept with its graph{located(stored)}",
                stored or k.called_at,
                alive=k.alive,
                oldest=k.oldest,
            )
        elif k.called_at is None and _accumulates(k, FEW if _added_up(keeper := _keeper(record, loss)) else ALIVE):
            place = keeper[1] if keeper is not None else (loss.backward_at if loss is not None else None)
            yield proof(
                f"the graphs of {k.alive:,} of {k.marked:,} losses were alive at once, the oldest {times(k.oldest, 'step')} old: "
                f"the losses of{located(loss.backward_at if loss else None, ' the backward at')} are kept with their graphs{located(place)}",
                place,
                alive=k.alive,
                oldest=k.oldest,
            )
        if _grows(k):
            place = loss.backward_at if loss is not None else None
            yield proof(
                f"the graph behind the loss grew from {k.graph_first:,} to {k.graph_last:,} operations, and backward{located(place)} keeps it "
                f"(retain_graph=True, {k.retain:,} of {k.backwards:,} times): each step goes back through all steps before",
                place,
                first=k.graph_first or 0,
                last=k.graph_last or 0,
            )
    yield from _crashed(record)


def _accumulates(k: Kept, at_once: int = ALIVE) -> bool:
    return k.alive >= at_once and k.alive >= SHARE * k.marked


def _grows(k: Kept) -> bool:
    grown = k.graph_first is not None and k.graph_last is not None and k.graph_last >= GROWN * k.graph_first
    return grown and k.graph_growths >= GROWTHS and k.graph_growths >= 0.5 * (k.graph_counts - 1) and k.retain >= RETAINS * k.backwards


def _crashed(record: Record) -> Iterator[Evidence]:
    """Backward ran into a graph that an earlier backward had gone through and freed (or whose weights have been stepped since)."""
    crash = crash_of(record)
    if crash is None or not _second_time(crash):
        return
    found = carried(record, crash)
    if found is not None:
        yield died_of(
            f"backward{located(crash.place)} ran into the graph of an earlier step (step {record.facts.run.steps}): "
            f"`{found.name}`, set{located(found.place)}, is carried from step to step with its history",
            crash,
            found.place,
        )
    elif crash.others and crash.backwards <= 1:
        shared = listed([f"`{a.name}`" for a in crash.attached], 4)
        yield died_of(
            f"backward{located(crash.place)} goes through a graph that the backward{located(crash.others[-1])} had gone through and freed"
            + (f"; with a graph are {shared}" if shared else ""),
            crash,
        )
    elif record.facts.run.steps >= 1:
        yield died_of(
            f"backward{located(crash.place)} ran into the graph of an earlier step (step {record.facts.run.steps}): a value is carried from step to step with its history",
            crash,
        )
    else:
        yield died_of(f"backward{located(crash.place)} was called again on a graph that it had gone through and freed", crash)


def _second_time(crash: Crash) -> bool:
    again = "backward through the graph a second time" in crash.message
    stepped_since = "modified by an inplace operation" in crash.message and bool(crash.stepped) and not crash.others and crash.backwards >= 2
    return again or stepped_since


def _loss(record: Record, k: Kept) -> Loss | None:
    return next((x for x in record.facts.losses if x.index == k.loss), None)


# -- who keeps it ---------------------------------------------------------------------------------------------------


def _keeper(record: Record, loss: Loss | None) -> tuple[Source, Place, ast.expr] | None:
    """The line that keeps the loss, and the expression that it keeps: in the function of the backward, or where that function's result goes."""
    source = source_at(record, loss.backward_at) if loss is not None else None
    statement = statement_at(source, loss.backward_at) if source is not None and loss is not None else None
    if source is None or loss is None or statement is None:
        return None
    around = source.function(statement)
    names = {loss.variable, *_terms(source, around, loss.variable)} - {""}
    if (found := _kept_in(source, around, names)) is not None:
        return found
    return _kept_result(record, around.name) if isinstance(around, Function) and _gives_back(around, names) else None


def _added_up(keeper: tuple[Source, Place, ast.expr] | None) -> bool:
    """Whether that line adds it to a sum, not to a container."""
    statement = statement_at(keeper[0], keeper[1]) if keeper is not None else None
    return isinstance(statement, ast.AugAssign) or (
        isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Name, ast.Attribute, ast.Tuple))
    )


def _kept_value(record: Record, called_at: Place) -> tuple[Source, Place, ast.expr] | None:
    """The line that puts something made of the loss into a container: in the same function, or where that function's result goes."""
    source = source_at(record, called_at)
    statement = statement_at(source, called_at) if source is not None else None
    if source is None or statement is None:
        return None
    around = source.function(statement)
    names = {t.id for t in statement.targets if isinstance(t, ast.Name)} if isinstance(statement, ast.Assign) else set()
    if names and (found := _kept_in(source, around, names)) is not None:
        return found
    return _kept_result(record, around.name) if isinstance(around, Function) and _gives_back(around, names, statement) else None


def _gives_back(function: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str], made: ast.stmt | None = None) -> bool:
    """Whether a function returns one of these names, or what this statement makes, with its graph."""
    returned = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    return any((n is made and n.value is not None and not _detaches(n.value)) or (n.value is not None and _is_kept(n.value, names)) for n in returned)


def _terms(source: Source, around: ast.AST, name: str) -> set[str]:
    """What the loss is made of, and what is made of it: `loss = ce + reg`, `scaled = loss / 4`."""
    found: set[str] = set()
    for node in ast.walk(around):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and not _detaches(node.value):
            target, used = node.targets[0].id, {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
            plain = isinstance(node.value, (ast.BinOp, ast.Name))
            if plain and target == name:
                found |= used
            elif plain and name in used:
                found.add(target)
    return found


def _kept_result(record: Record, function: str) -> tuple[Source, Place, ast.expr] | None:
    for file in record.sources:
        source = source_at(record, Place(file))
        for call in source.calls(function) if source is not None else []:
            if source is None:
                continue
            around = source.function(call)
            assigned = {
                t.id
                for n in ast.walk(around)
                if isinstance(n, ast.Assign) and n.value is call
                for target in n.targets
                for t in ast.walk(target)
                if isinstance(t, ast.Name)
            }
            if (found := _kept_in(source, around, assigned, call)) is not None:
                return found
    return None


def _kept_in(source: Source, around: ast.AST, names: set[str], result: ast.Call | None = None) -> tuple[Source, Place, ast.expr] | None:
    for node in (n for n in ast.walk(around) if isinstance(n, ast.stmt) and source.function(n) is around):
        for kept in _stored(node):
            if _is_kept(kept, names, result):
                return source, source.place(node.lineno), kept
    return None


def _stored(node: ast.stmt) -> list[ast.expr]:
    """What a node adds to something that outlives it: `total += x`, `total = total + x`, `log["x"] = x`, `history.append(x)`, `meters.add(x=x)`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return [node.value]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
        return _added(node.targets[0], node.value)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and isinstance(targets := node.targets[0], ast.Tuple):
        return [x for t, v in zip(targets.elts, node.value.elts, strict=False) for x in _added(t, v)]  # `a, b = a + x, b + y`
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return [node.value]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and called(node.value) not in ("print", "backward", "write"):
        return [*node.value.args, *(k.value for k in node.value.keywords)]
    return []


def _added(target: ast.expr, value: ast.expr) -> list[ast.expr]:
    """The `x` of `total = total + x`."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return []
    name = ast.unparse(target)
    return [value.right] if ast.unparse(value.left) == name else [value.left] if ast.unparse(value.right) == name else []


def _is_kept(value: ast.expr, names: set[str], result: ast.Call | None = None) -> bool:
    """Whether an expression passes one of these on with its graph."""
    if _detaches(value):
        return False
    return any((isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) in names) or n is result for n in ast.walk(value))


def _detaches(value: ast.expr) -> bool:
    words = {called(n) for n in ast.walk(value) if isinstance(n, ast.Call)} | {n.attr for n in ast.walk(value) if isinstance(n, ast.Attribute)}
    return bool(words & {"item", "detach", "float", "tolist", "numpy", "data", "detach_"})


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    for k in record.facts.kept:
        keeper = _kept_value(record, k.called_at) if k.called_at is not None else _keeper(record, _loss(record, k))
        if _accumulates(k, FEW if k.called_at is None and _added_up(keeper) else ALIVE):
            diff = ""
            if keeper is not None:
                source, place, kept = keeper
                diff = source.diff(*(_as_number(source, k) for k in _with_its_neighbours(source, place, kept)))
            if keeper is not None and not diff and k.called_at is not None:  # of a pass that is not trained on
                line = (keeper[1].text or "").strip()
                return Fix("keep numbers, not tensors with their graphs: compute them without one", f"with torch.no_grad():\n    {line}", "advice")
            return mend("keep the number, not the tensor with its graph", diff, "total += loss.item()", "consent")
    return _cut(record)


def _as_number(source: Source, kept: ast.expr) -> Edit:
    text = source.segment(kept)
    plain = isinstance(kept, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return source.replacing(kept, f"{text}.item()" if plain else f"({text}).item()")


def _with_its_neighbours(source: Source, place: Place, kept: ast.expr) -> list[ast.expr]:
    """What `a, b = a + x, b + y` adds came from one call: none of it is a number if one is not."""
    statement = statement_at(source, place)
    several = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple)
    return [x for x in _stored(statement) if not _detaches(x)] if several and statement is not None else [kept]


def _cut(record: Record) -> Fix:
    crash = crash_of(record)
    found = carried(record, crash) if crash is not None and _second_time(crash) else None
    if found is not None and found.adds_up:
        return Fix(
            f"call backward on the loss of the step, and add up only numbers in `{found.name}`",
            f"loss.backward()\n{found.name} += loss.item()",
            "advice",
        )
    if found is not None:
        cut = _detached(found, crash)
        return mend(
            "cut the history of what is carried from step to step", found.source.diff(found.source.before(found.statement, cut)), cut, "consent"
        )
    if crash is not None and crash.others and crash.backwards <= 1:
        if len(record.facts.optimizers) > 1:
            text = "each optimizer's loss needs a graph of its own: detach what the first loss only looks at (fake.detach()), or give the first backward retain_graph=True"
            return Fix(text, "loss_d = criterion(d(fake.detach()), zeros)", "advice")
        return Fix("add the losses and call backward once, or give the first backward retain_graph=True", "(loss_a + loss_b).backward()", "advice")
    return Fix("cut the history of what is carried from step to step", "hidden = hidden.detach()", "advice")


def _detached(found: Carried, crash: Crash | None) -> str:
    """Before it is used again: what the step itself makes of it keeps its graph."""
    name = found.name
    several = any(a.several for a in (crash.attached if crash is not None else ()) if a.name == name)
    cut = f"tuple(t.detach() for t in {name})" if several else f"{name}.detach()"
    starts_empty = any(
        isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant) and n.value.value is None and any(ast.unparse(t) == name for t in n.targets)
        for n in ast.walk(found.source.tree)
    )
    return f"{name} = None if {name} is None else {cut}" if starts_empty else f"{name} = {cut}"
