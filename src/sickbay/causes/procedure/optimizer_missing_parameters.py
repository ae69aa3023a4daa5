"""Trainable parameters that the loss reaches are in no optimizer.

## What happens

The optimizer was built with a part of the parameters (one of two networks, a list that missed a layer, layers kept in a plain Python
list), or *before* layers were replaced, so that it holds the old ones. The missing parameters get gradients and are never updated: they
stay at their random start while the rest tries to work around them.

## How we know

Proof, by identity of the tensors: a backward pass gives the parameter a gradient, no optimizer of the run holds it, and its values never
changed. Or: it was frozen when the optimizer began, was unfrozen later and gets gradients since, and no optimizer that still steps holds it. Or: an optimizer holds a tensor that belongs to no module any more, and a parameter of the same shape took its place.

## Looks like it but is not

- Fine-tuning a head over a loaded or frozen backbone: loaded parameters are left out.
- Another optimizer, or the script itself, updates them: they move.
- An image, a trigger or a latent code is optimised through a fixed network: the optimizer holds no parameter of any module.
- Momentum encoders and target networks: no loss reaches them.

## Fix

Give all parameters to the optimizer, after the model is complete.

## References

- https://docs.pytorch.org/docs/stable/optim.html#constructing-it
- https://github.com/microsoft/nni/issues/4521 (layers replaced after the optimizer was created).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import listed, located, proof
from sickbay.causes.parameters import held, named, optimises_inputs, size
from sickbay.causes.registry import cause
from sickbay.facts import Optimizer, Parameter
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.collected import collected_at
from sickbay.script.fixing import Source, called, mend, receiver, source_at
from sickbay.script.moving import moved_after
from sickbay.script.naming import constructor, model_name, optimizer_name
from sickbay.signs import Signs

MINIMUM_STEPS = 2


@cause(
    code="P304",
    level="procedure",
    title="trainable parameters are in no optimizer",
    why="They get gradients but are never updated, so a part of the model stays at its random start.",
    explains={
        "flat-loss", "slow-descent", "early-plateau", "chance-level", "val-flat-from-start", "update-ratio-low", "lr-too-low", "vanishing-gradient",
        "small-gradients", "gradient-decay-with-depth", "gradient-growth-with-depth", "dead-units", "dead-relu", "gradient-spike",
    },
    cure="add-parameters",
)  # fmt: skip
def optimizer_missing_parameters(record: Record, signs: Signs) -> Iterator[Evidence]:
    stepping = [o for o in record.facts.optimizers if o.steps >= MINIMUM_STEPS]
    if not stepping or record.facts.run.manual_updates or optimises_inputs(record):
        return
    for optimizer, orphans in _orphans(record):
        replaced = [p.replaced_by or "" for p in orphans]
        yield proof(
            f"`{optimizer_name(record, optimizer)}`{located(optimizer.built_at, ', built at')}, holds {len(orphans)} tensors that no module uses any more; "
            f"{listed(replaced)} took their place later{located(_put_at(record, replaced))} and are never updated",
            _put_at(record, replaced) or optimizer.built_at,
            parameters=len(orphans),
            values=size(orphans),
        )
    for optimizer, thawed in _thawed(record):
        yield proof(
            f"{listed([p.name for p in thawed])} ({size(thawed):,} values) were frozen when `{optimizer_name(record, optimizer)}`{located(optimizer.built_at, ', built at')}, "
            "began; they were unfrozen later and get gradients, but no optimizer that steps holds them",
            optimizer.built_at,
            parameters=len(thawed),
            values=size(thawed),
        )
    missing = _missing(record)
    if missing:
        optimizer = _twice_given(stepping) or stepping[0]
        listing = _plain_list(record, missing)
        built = constructor(record, optimizer)
        chosen = collected_at(*built) if built is not None else None
        where = listing[0].place(listing[1].lineno) if listing else chosen or optimizer.built_at
        yield proof(
            f"{listed([p.name for p in missing])} ({size(missing):,} of {size([*held(record), *missing]):,} trainable values) get gradients but are in no "
            f"optimizer{located(optimizer.built_at, '; see')}; they have not changed since the start"
            + (f"; what it holds is chosen by conditions{located(chosen)}" if chosen is not None and not listing else "")
            + ("; a plain Python list or dict hides layers from model.parameters()" if listing else ""),
            where,
            parameters=len(missing),
            values=size(missing),
        )


def _twice_given(stepping: Sequence[Optimizer]) -> Optimizer | None:
    """The optimizer that was given only what an earlier one holds: written after that one's line, and one name not changed."""
    for i, optimizer in enumerate(stepping):
        if optimizer.parameters and any(set(optimizer.parameters) <= set(earlier.parameters) for earlier in stepping[:i]):
            return optimizer
    return None


def _orphans(record: Record) -> Iterator[tuple[Optimizer, list[Parameter]]]:
    """The latest optimizer that holds what was replaced by parameters that nobody updates."""
    left_out = {p.name for p in record.facts.parameters if p.optimizer is None and p.moved is not True}
    for optimizer in reversed(record.facts.optimizers):
        orphans = [p for p in named(record, optimizer.parameters) if not p.in_model and p.replaced_by in left_out]
        if orphans and optimizer.steps >= MINIMUM_STEPS:
            yield optimizer, orphans
            return


def _thawed(record: Record) -> Iterator[tuple[Optimizer, list[Parameter]]]:
    for optimizer in record.facts.optimizers:
        if optimizer.thawed_looks >= MINIMUM_STEPS and (thawed := named(record, optimizer.thawed)):
            yield optimizer, thawed
            return


def _put_at(record: Record, names: list[str]) -> Place | None:
    """The line that put new parameters in place of those that the optimizer holds."""
    return next((p.put_at for p in record.facts.parameters if p.in_model and p.name in names and p.put_at is not None), None)


def _missing(record: Record) -> list[Parameter]:
    taken = {p.replaced_by for p in record.facts.parameters if p.replaced_by}
    return [
        p
        for p in record.facts.parameters
        if p.trainable and p.optimizer is None and p.reached and _of_a_layer(p) and not p.loaded and p.moved is not True and p.name not in taken
    ]


def _of_a_layer(p: Parameter) -> bool:
    """It belongs to a layer, inside the model or kept beside it in a plain list; a bare tensor (an input whose gradient is asked for) does not."""
    return p.in_model or bool(p.layer_kind)


def _plain_list(record: Record, missing: list[Parameter]) -> tuple[Source, ast.Assign] | None:
    """The assignment `self.blocks = [...]` that keeps the missing layers where the model does not see them."""
    kept = {p.layer.partition("[")[0].rpartition(".")[2] for p in missing if not p.in_model and "[" in p.layer}
    for file in record.sources if kept else ():
        source = source_at(record, Place(file, 1))
        for node in ast.walk(source.tree) if source is not None else ():
            if source is not None and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute) and node.targets[0].attr in kept:
                return source, node
    return None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    orphaned = next(_orphans(record), None)
    if orphaned is not None:
        built = constructor(record, orphaned[0])
        line = built[0].segment(_statement(built[0], built[1])) if built is not None else "optimizer = ..."
        put = _put_at(record, [p.replaced_by or "" for p in orphaned[1]])
        diff = _built_later(*built, put) if built is not None and put is not None else ""
        return mend("build the optimizer after the last change of the model", diff, f"{line}  # below it", "consent")
    thawed = next(_thawed(record), None)
    missing = thawed[1] if thawed is not None else _missing(record)
    if (listing := _plain_list(record, missing)) is not None:
        source, assignment = listing
        held_in = "ModuleDict" if isinstance(assignment.value, (ast.Dict, ast.DictComp)) else "ModuleList"
        value = source.segment(assignment.value)
        diff = source.diff(source.replacing(assignment.value, f"nn.{held_in}({value})"))
        snippet = f"{source.segment(assignment.targets[0])} = nn.{held_in}(...)"
        return mend(f"keep the layers in an nn.{held_in}, so that parameters() gives them to the optimizer", diff, snippet)
    stepping = [o for o in record.facts.optimizers if o.steps]
    twice = _twice_given(stepping) if thawed is None else None
    optimizer = thawed[0] if thawed is not None else twice or next(iter(stepping), None)
    built = constructor(record, optimizer) if optimizer is not None else None
    modules = list(dict.fromkeys((p.layer.partition(".")[0] or p.layer) if p.layer else p.name for p in missing))
    if twice is not None and built is not None and (diff := _other_module(*built, modules)):
        return mend(f"give this optimizer the parameters of {listed(modules)}; another one holds what it was given", diff, "", "consent")
    diff = _whole_model(*built, missing) if built is not None else ""
    name = optimizer_name(record, optimizer) if optimizer is not None else "optimizer"
    owner = model_name(record, record.facts.timeline.places.get("forward")) if any("." in p.name for p in missing) else ""
    module = modules[0] if modules else "module"
    module = owner if owner.rpartition(".")[2] == module else ".".join(part for part in (owner, module) if part)
    snippet = f'{name}.add_param_group({{"params": {module}.parameters()}})'
    return mend(f"give the optimizer the parameters of {listed(modules)} too", diff, snippet, "consent")


def _other_module(source: Source, call: ast.Call, modules: list[str]) -> str:
    """`self.actor.parameters()` becomes `self.critic.parameters()`, if that is a name in the file."""
    owners = [o for c in source.calls("parameters", within=call) if (o := receiver(c)) is not None]
    if len(owners) != 1 or len(modules) != 1 or not isinstance(owners[0], (ast.Name, ast.Attribute)):
        return ""
    other = f"{source.segment(owners[0].value)}.{modules[0]}" if isinstance(owners[0], ast.Attribute) else modules[0]
    known = any(isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) == other for n in ast.walk(source.tree))
    return source.diff(source.replacing(owners[0], other)) if known else ""


def _built_later(source: Source, call: ast.Call, put: Place) -> str:
    """The optimizer's line moved below the statement that changes the model, directly or by a function; made once more there if it was needed before."""
    line = _statement(source, call)
    if not isinstance(line, ast.Assign) or put.file != source.file or source.loops(line):
        return ""
    inner = source.statement(put.line)
    function = getattr(source.function(inner), "name", "") if inner is not None else ""
    block = source.block(line)
    after = block[block.index(line) + 1 :]
    changes = next(
        (s for s in after if s.lineno <= (put.line or 0) <= (s.end_lineno or s.lineno) or (function and source.calls(function, within=s))), None
    )
    if changes is None or isinstance(changes, (ast.FunctionDef, ast.ClassDef)):
        return ""
    name = source.segment(line.targets[0])
    used = any(isinstance(n, ast.expr) and ast.unparse(n) == name for s in after[: after.index(changes)] for n in ast.walk(s))
    return source.diff(source.after(changes, source.segment(line))) if used else moved_after(source, line, changes)


def _statement(source: Source, call: ast.Call) -> ast.AST:
    return next((a for a in source.ancestors(call) if isinstance(a, ast.stmt)), call)


def _whole_model(source: Source, call: ast.Call, missing: list[Parameter]) -> str:
    """`model.head.parameters()` becomes `model.parameters()` when what is missing lies in the same model."""
    inner = [c for c in source.calls("parameters", within=call) if called(c) == "parameters"]
    owner = receiver(inner[0]) if len(inner) == 1 else None
    if not isinstance(owner, ast.Attribute) or not missing or any("." not in p.name for p in missing):
        return ""
    # self.model.head: `self` alone is the trainer, not a module
    whole = owner.value
    if isinstance(whole, ast.Name) and whole.id == "self":
        return ""
    return source.diff(source.replacing(owner, source.segment(whole)))
