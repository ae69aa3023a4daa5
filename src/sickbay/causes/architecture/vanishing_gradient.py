"""Gradients shrink layer by layer until the first layers hardly learn.

## What happens

Backpropagation multiplies by each layer's slope and weights. Sigmoid has a slope of at most 0.25, saturated tanh nearly none, small
weights shrink further; over ten layers the product is a millionth. The last layers learn, the first keep their random
values, and the loss stays near where guessing would be.

## How we know

The gradient of each weight matrix (per element, median over many steps) falls from the last layer to the first by a hundredfold
or more, layer by layer, *and* the loss does not get away from its start. Sigmoid or tanh in the graph adds to it. In a plain
recurrent net gradients vanish over time steps, which a profile over layers does not show: there it remains a possibility.

## Looks like it but is not

- Zero gradients in the first steps behind zero-initialised branches or LoRA matrices: those steps and those weights are left out.
- Small gradients everywhere late in a run: the model has converged. Only the profile over depth counts, not the size.
- A profile that falls while the loss falls well (Adam rescales each layer): not reported.
- Exact zeros: dead units or a cut graph, with causes of their own.

## Fix

ReLU or GELU instead of sigmoid/tanh between layers, normalisation layers, residual connections, He or Xavier initialisation.

## References

- Hochreiter 1991; Glorot and Bengio 2010; He et al. 2016 (residual connections).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sickbay.causes.evidence import against, first_place, from_sign, hint
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, mend, source_at, sources
from sickbay.script.guesses import guess
from sickbay.signs import Signs

SHRINKING = ("sigmoid", "tanh", "softsign", "hardsigmoid", "hardtanh")
VANISHED = 1e-3
"""First layers against last: a thousandth is beyond any healthy profile; a hundredth needs the activations as a witness."""
SEVERAL = 3


@cause(
    code="A202",
    level="architecture",
    title="gradients vanish on their way to the first layers",
    why="The first layers get gradients thousands of times smaller than the last, so most of the network stays at its random start.",
    explains={
        "gradient-decay-with-depth", "small-gradients", "flat-loss", "slow-descent", "early-plateau", "chance-level", "class-imbalance", "saturated-units",
        "update-ratio-low", "lr-too-low", "val-flat-from-start", "activation-collapse",
    },
    cure="relu-and-normalisation",
)  # fmt: skip
def vanishing_gradient(record: Record, signs: Signs) -> Iterator[Evidence]:
    trouble = stuck(signs)
    for sign in signs.named("gradient-decay-with-depth"):
        if trouble is None or trouble.name == "diverging-loss":
            return
        name, count = _shrinking(record)
        certain = sign.numbers["ratio"] < VANISHED or count >= SEVERAL
        yield from_sign("strong" if certain else "hint", sign, _place(record, name, sign.where))
        yield hint(trouble.text, steps=trouble.steps)
        if count:
            yield hint(f"{count} {name} activations follow each other in the graph", activations=count)
        if signs.has("dead-units"):
            yield against("units of a layer in between are dead, which stops gradients altogether")
    recurrent = [x for m in record.facts.models for x in m.layers if x.kind in ("RNN", "RNNCell")]
    if recurrent and trouble is not None and trouble.name in ("chance-level", "flat-loss"):
        yield hint(
            f"{recurrent[0].name} is a plain recurrent layer, in which gradients vanish over many time steps; {trouble.text}",
            _made(record, recurrent[0].kind, recurrent[0].name),
        )


def _made(record: Record, kind: str, layer: str) -> Place:
    """The only line that makes a layer of this kind, with the layer."""
    lines = {(source, call.lineno) for source in sources(record) for call in source.calls(kind)}
    source, line = lines.pop() if len(lines) == 1 else (None, 0)
    return replace(source.place(line), layer=layer) if source is not None else Place(layer=layer)


def _place(record: Record, activation: str, layer: str | None) -> Place:
    """The line of the activation that shrinks the most often, or the one that should lead around it; the layer alone where there is none."""
    lines = [op.place for loss in record.facts.losses for op in loss.activations if op.name == activation and op.place is not None]
    by_line = Counter((p.file, p.line) for p in lines)
    if not by_line:
        return _plain(record, layer)
    most = by_line.most_common(1)[0][0]
    place = next(p for p in lines if (p.file, p.line) == most)
    around = _straight_on(record, place)
    return replace(around[0].place(around[1].lineno) if around is not None else place, layer=layer, guess=around is not None)


def _plain(record: Record, layer: str | None) -> Place:
    """Of layers that do not squash: what a block gives back without what it was given, else the line that made the first layer."""
    block = _block(record)
    if block is not None:
        return replace(block[0].place(block[1].lineno), layer=layer, guess=True)
    if (own := _own_activation(record, layer)) is not None:
        return replace(own[0].place(own[1].lineno), layer=layer, guess=True)
    built = next((w.built_at for w in record.facts.weights if w.name == layer and w.built_at is not None), None)
    return replace(built, layer=layer) if built is not None else Place(layer=layer)


@guess
def _own_activation(record: Record, layer: str | None) -> tuple[Source, ast.Call] | None:
    """`for lin in self.hidden: x = squash(lin(x))` around "hidden.0.weight": the call of a function of the script's own that every layer of a list goes through."""
    held, _, rest = (layer or "").partition(".")
    found = [
        (source, outer)
        for source in sources(record)
        for loop in ast.walk(source.tree)
        if isinstance(loop, ast.For) and rest[:1].isdigit() and ast.unparse(loop.iter).rpartition(".")[2] == held
        for inner in source.calls(within=loop)
        if ast.unparse(inner.func) == ast.unparse(loop.target)
        and isinstance(outer := source.parents.get(inner), ast.Call)
        and isinstance(outer.func, ast.Name)
        and outer.func.id in source.defined
    ]
    return found[0] if len(found) == 1 else None


def _block(record: Record) -> tuple[Source, ast.Return, str] | None:
    """The `return` of the forward method that the most activations stand in, if it is gone through several times and takes one thing: a block without a way around it."""
    lines = Counter((p.file, p.line) for loss in record.facts.losses for op in loss.activations if (p := op.place) is not None)
    (file, line), times = lines.most_common(1)[0] if lines else ((None, None), 0)
    source = source_at(record, Place(file, line)) if times >= SEVERAL else None
    statement = source.statement(line) if source is not None else None
    function = source.function(statement) if source is not None and statement is not None else None
    if source is None or not isinstance(function, ast.FunctionDef) or function.name != "forward" or len(function.args.args) != 2:
        return None
    ends = [n for n in ast.walk(function) if isinstance(n, ast.Return)]
    return (source, ends[0], function.args.args[1].arg) if len(ends) == 1 else None


def _straight_on(record: Record, activation: Place) -> tuple[Source, ast.Assign, str] | None:
    """`for block in blocks: h = block(h)` around gates: a gate (tanh times sigmoid) is meant to shrink, and it is the sum with what came in that is missing."""
    source = source_at(record, activation)
    statement = source.statement(activation.line) if source is not None else None
    if source is None or statement is None or not _gates(statement):
        return None
    loops = [n for n in ast.walk(source.tree) if isinstance(n, ast.For)]
    found = [(s, name) for loop in loops for s in loop.body if isinstance(s, ast.Assign) and (name := _handed_on(loop, s))]
    return (source, *found[0]) if len(found) == 1 else None


def _gates(statement: ast.stmt) -> bool:
    products = [n for n in ast.walk(statement) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)]
    sides = [{called(c).lower() for side in (p.left, p.right) for c in ast.walk(side) if isinstance(c, ast.Call)} for p in products]
    return any("sigmoid" in names and len(names) > 1 for names in sides)


def _handed_on(loop: ast.For, statement: ast.Assign) -> str:
    """The name that a block of the loop is given and gives back."""
    call, name = statement.value, ast.unparse(statement.targets[0])
    same = isinstance(call, ast.Call) and ast.unparse(call.func) == ast.unparse(loop.target) and [ast.unparse(a) for a in call.args] == [name]
    return name if same else ""


def _shrinking(record: Record) -> tuple[str, int]:
    """The most frequent squashing activation of the graph and how often it is there."""
    kinds = Counter(x.name for loss in record.facts.losses for x in loss.activations if x.name in SHRINKING)
    return kinds.most_common(1)[0] if kinds else ("", 0)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    gates = [a for loss in record.facts.losses for x in loss.activations if x.place is not None and (a := _straight_on(record, x.place)) is not None]
    if gates:
        script, statement, name = gates[0]
        added = script.replacing(statement.value, f"{name} + {script.segment(statement.value)}")
        return mend("add what goes into each block to what comes out of it", script.diff(added), f"{name} = {name} + block({name})", "consent")
    op = next((x for loss in record.facts.losses for x in loss.activations if x.name in SHRINKING and x.place), None)
    block = _block(record) if op is None else None
    if block is not None and block[1].value is not None:
        script, _, given = block
        added = script.replacing(block[1].value, f"{given} + {script.segment(block[1].value)}")
        text = "add what goes into each block to what comes out of it, and normalise"
        return mend(text, script.diff(added), f"return {given} + ...", "consent")
    source = source_at(record, op.place) if op is not None else None
    diff = ""
    place = first_place(evidence)
    own = _own_activation(record, place.layer) if op is None and place is not None else None
    if own is not None:
        diff = own[0].diff(own[0].replacing(own[1].func, "torch.relu"))
    if source is not None and op is not None and op.place is not None:
        calls = source.calls("Sigmoid", "Tanh", "sigmoid", "tanh", line=op.place.line)
        edits = [
            source.replacing(c.func, source.segment(c.func).rpartition(".")[0] + (".ReLU" if c.func.attr[0].isupper() else ".relu"))
            for c in calls
            if hasattr(c.func, "attr")
        ]
        diff = source.diff(*edits) if edits else ""
    return mend(
        "use ReLU or GELU between the layers, with normalisation or residual connections",
        diff,
        "nn.Linear(d, d), nn.LayerNorm(d), nn.ReLU()",
        "consent",
    )
