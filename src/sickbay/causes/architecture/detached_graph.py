"""Parameters that are to be trained are cut off from the loss.

## What happens

Somewhere between the parameters and the loss the gradient is lost: `.detach()`, `.data`, `.item()`, a trip through numpy, an
`argmax`, a `torch.no_grad()` block, or `torch.tensor(value)` that copies numbers into a new tensor. The optimizer holds the
parameters and steps on them, but they never get a gradient and stay at their random start. No error is raised as long as some
other parameter still reaches the loss. A random draw has no gradient either: of `q.sample()` or `torch.normal(mean, std)` the decoder of a variational
autoencoder learns to make something, and the encoder never hears of it (`q.rsample()` lets it).

## How we know

Proof: the operations behind the loss are followed while the first steps run. Trainable parameters that an optimizer holds, whose
values went into the loss, and that no backward pass of the run ever gave a gradient are cut off; the operation where a value
that depended on them stopped depending on them is the place. A draw is told where weights make something of it that is trained on by the same optimizer, although
the parameters behind it may be reached around it (by a KL term).

## Looks like it but is not

- Stop-gradient on purpose (target networks, BYOL, VQ-VAE, truncated backpropagation): the parameters get their gradient from another
  loss or another step, or no optimizer holds them.
- Frozen parameters (`requires_grad=False`).
- A drawn action whose log-probability is part of the loss: the gradient goes that way (REINFORCE).
- Draws of discrete values, which have no gradient by nature and no `rsample`: scripts let it pass around them (straight-through).
- Parameters that are never used in any forward pass are `unused-parameters`.

## Fix

Remove the operation that cuts the graph, or move it behind the loss (for logging only).

## References

- https://docs.pytorch.org/docs/stable/notes/autograd.html
- Kingma and Welling 2014 (the reparametrisation trick).
- Straight-through estimators for argmax and rounding: Bengio et al. 2013.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.crashes import died_of
from sickbay.causes.evidence import at, first_place, listed, located, proof
from sickbay.causes.parameters import held, named, size
from sickbay.causes.registry import cause
from sickbay.facts import Crash, Cut, Loss
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.bindings import bound
from sickbay.script.fixing import Edit, Source, called, mend, receiver, source_at
from sickbay.script.guesses import guess
from sickbay.signs import Signs

NO_GRAPH = "does not require grad and does not have a grad_fn"
WORDS = {
    "detach": "`.detach()`", "data": "`.data`", "item": "`.item()`", "numpy": "a trip through numpy", "tolist": "`.tolist()`",
    "no_grad": "a block without gradients", "argmax": "`argmax`", "tensor": "a new tensor made of its numbers",
    "round": "rounding, whose gradient is zero", "floor": "rounding, whose gradient is zero", "ceil": "rounding, whose gradient is zero",
    "sign": "`sign`, whose gradient is zero", "float": "`float()`",
}  # fmt: skip
MINIMUM_BACKWARDS = 2


@cause(
    code="A203",
    level="architecture",
    title="trained parameters are cut off from the loss",
    why="No gradient comes through to them: they keep their random starting values, or follow only what reaches them another way.",
    explains={
        "flat-loss", "slow-descent", "early-plateau", "chance-level", "small-gradients", "gradient-decay-with-depth", "val-flat-from-start",
        "update-ratio-low", "lr-too-low", "vanishing-gradient", "unused-parameters", "missing-backward", "dead-units", "dead-relu",
    },
)  # fmt: skip
def detached_graph(record: Record, signs: Signs) -> Iterator[Evidence]:
    crash = record.facts.crash
    if crash is not None and NO_GRAPH in crash.message:
        yield _refused(record, crash)
    for loss in record.facts.losses:
        if loss.leaf and not any(loss.operations) and loss.backwards >= MINIMUM_BACKWARDS:
            yield proof(
                f"the loss of {at(loss.backward_at)} is a new tensor without a graph: its backward reaches no parameter", _made_at(record, loss)
            )
    yield from _drawn(record)
    cut_off = [p for p in held(record) if p.reached is False and p.called]
    if record.facts.run.backwards < MINIMUM_BACKWARDS or not cut_off:
        return
    explained: set[str] = set()
    for cut in _cuts(record):
        lost = [p for p in named(record, cut.parameters) if p in cut_off and p.name not in explained]
        if lost:
            explained |= {p.name for p in lost}
            how = WORDS.get(cut.op, f"`{cut.op}`")
            yield proof(
                f"{how}{located(cut.place)} cuts {listed([p.name for p in lost])} ({size(lost):,} values) off from the loss; no backward pass ever reached them",
                cut.place,
                parameters=len(lost),
                values=size(lost),
            )


def _drawn(record: Record) -> Iterator[Evidence]:
    """A code that is drawn without a gradient, from what the optimizer that steps on this loss is to train."""
    if record.facts.run.backwards < MINIMUM_BACKWARDS:
        return
    for loss in record.facts.losses:
        for draw in loss.drawn:
            behind = [p for p in named(record, draw.parameters) if p.trainable and p.optimizer in loss.optimizers]
            if behind:
                names = listed([p.name for p in behind])
                yield proof(
                    f"what is drawn{located(draw.place)} has no gradient: what the loss makes of it teaches {names} ({size(behind):,} values) nothing",
                    draw.place,
                    parameters=len(behind),
                    values=size(behind),
                )


def _refused(record: Record, crash: Crash) -> Evidence:
    loss = next((x for x in record.facts.losses if x.backward_at == crash.place), None)
    place = (_made_at(record, loss) if loss is not None else None) or crash.place
    where = f"; it is lost{located(place)}" if place != crash.place else ""
    return died_of(f"backward fails{located(crash.place)}: the loss has no graph behind it ({crash.kind}){where}", crash, place)


def _made_at(record: Record, loss: Loss) -> Place | None:
    """Where a loss lost its graph: the line of the cut, else the one that makes a new tensor of its numbers; where it is differentiated if neither is known."""
    if cut := next((c for c in loss.cuts if c.parameters and c.place is not None), None):
        return cut.place
    return _made_anew(record, loss) or loss.backward_at


@guess
def _made_anew(record: Record, loss: Loss) -> Place | None:
    """`loss = torch.tensor(total, requires_grad=True)`, `loss.requires_grad_()`: the only such line before the backward, in its function."""
    source = source_at(record, loss.backward_at)
    statement = source.statement(loss.backward_at.line) if source is not None and loss.backward_at is not None else None
    if source is None or statement is None or not loss.variable:
        return None
    made = [s for s, value, _ in bound(loss.variable, source.function(statement)) if s is not None and value is not None and _makes_a_leaf(value)]
    return source.place(made[0].lineno) if len(made) == 1 else None


def _makes_a_leaf(value: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and called(n) in ("tensor", "as_tensor", "Variable", "requires_grad_") for n in ast.walk(value))


def _cuts(record: Record) -> list[Cut]:
    """First those of the losses by which the optimizer of what is cut off steps: a discriminator's loss is cut off from the generator on purpose."""
    owner = {p.name: p.optimizer for p in record.facts.parameters}
    cuts = [(loss, c) for loss in record.facts.losses for c in loss.cuts if c.parameters]
    return [c for loss, c in sorted(cuts, key=lambda pair: not any(owner.get(name) in pair[0].optimizers for name in pair[1].parameters))]


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = first_place(evidence)
    source = source_at(record, place)
    if any(d.place == place for loss in record.facts.losses for d in loss.drawn):
        return _reparametrised(source, place)
    ops = {c.op for c in _cuts(record) if c.place == place}
    diff = source.diff(_attach(source, place.line if place else None, ops)) if source is not None else ""
    if "no_grad" in ops:
        return mend(
            "take the layers that are to learn out of the block without gradients", "", "# compute the trained part outside `with torch.no_grad():`"
        )
    if "argmax" in ops:
        return mend(
            "keep the scores differentiable: argmax has no gradient", "", "weights = scores.softmax(dim=-1)  # instead of scores.argmax(dim=-1)"
        )
    return mend(
        "keep the value attached to the graph",
        diff,
        "# give the loss the tensor itself: no .detach(), .data, .item(), .numpy() or torch.tensor(...)",
        "consent",
    )


def _reparametrised(source: Source | None, place: Place | None) -> Fix:
    """`q.sample()` as `q.rsample()`; of torch.normal, mean plus deviation times noise."""
    draws = source.calls("sample", line=place.line) if source is not None and place is not None else []
    edit = (
        source.replacing(draws[0].func, f"{source.segment(owner)}.rsample") if source and len(draws) == 1 and (owner := receiver(draws[0])) else None
    )
    diff = source.diff(edit) if source is not None and edit is not None else ""
    return mend(
        "draw in a way that lets the gradient through", diff, "z = mean + std * torch.randn_like(std)  # or distribution.rsample()", "consent"
    )


def _written_into(source: Source, data: ast.Attribute) -> bool:
    """`sums.data.index_add_(...)`"""
    method = source.parents.get(data)
    return isinstance(method, ast.Attribute) and method.attr.endswith("_") and isinstance(source.parents.get(method), ast.Call)


def _stacked(source: Source, line: int | None) -> Edit | None:
    """`torch.tensor([m.tolist() for m in memory])` as `torch.stack([m for m in memory])`."""
    made = [c for c in source.calls("tensor", "as_tensor", line=line) if len(c.args) == 1 and isinstance(c.args[0], ast.ListComp)]
    elements = made[0].args[0].elt if len(made) == 1 and isinstance(made[0].args[0], ast.ListComp) else None
    if not isinstance(elements, ast.Call) or called(elements) not in ("tolist", "item", "detach") or (owner := receiver(elements)) is None:
        return None
    kept = source.segment(made[0].args[0]).replace(source.segment(elements), source.segment(owner), 1)
    return source.replacing(made[0], f"torch.stack({kept})")


def _attach(source: Source, line: int | None, ops: set[str]) -> Edit | None:
    """Remove the one `.detach()`, `.data`, `.item()` or `torch.tensor(...)` of a line."""
    methods = [c for c in source.calls("detach", "item", line=line) if receiver(c) is not None and not c.args and (not ops or called(c) in ops)]
    copies = [c for c in source.calls("tensor", "as_tensor", line=line) if len(c.args) == 1 and not isinstance(c.args[0], (ast.List, ast.ListComp))]
    inside = [c for c in source.calls("tensor", "as_tensor", line=line) if any(m in ast.walk(c) for m in methods)]
    if len(methods) == 1 and not (inside and inside[0] not in copies) and (owner := receiver(methods[0])) is not None:
        # torch.tensor(loss.item()) cuts twice
        around = [c for c in copies if methods[0] in ast.walk(c)]
        kept = source.segment(around[0].args[0]).replace(source.segment(methods[0]), source.segment(owner), 1) if around else source.segment(owner)
        return source.replacing(around[0] if around else methods[0], kept)
    statement = source.statement(line)
    data = [n for n in ast.walk(statement) if isinstance(n, ast.Attribute) and n.attr == "data" and n.lineno == line] if statement else []
    if len(data) == 1 and ("data" in ops or _written_into(source, data[0])):
        return source.replacing(data[0], source.segment(data[0].value))
    return source.replacing(copies[0], source.segment(_with_its_graph(copies[0].args[0]))) if len(copies) == 1 else _stacked(source, line)


def _with_its_graph(value: ast.expr) -> ast.expr:
    """The `out` of `out.detach().cpu().tolist()`."""
    while isinstance(value, ast.Call) and called(value) in ("tolist", "numpy", "item", "detach", "cpu") and (owner := receiver(value)) is not None:
        value = owner
    return value
