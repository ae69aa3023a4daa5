"""The ranks of a data-parallel run train models that are not the same.

## What happens

Data-parallel training keeps one model in many copies: they start equal, average their gradients, make the same update and so stay equal, to the bit. Where one of these links
is missing (the model is called past its wrapper, gradients are not exchanged or are exchanged after the update, copies start from different random numbers, a parameter is
in no wrapper, one rank leaves out a step) each rank drifts to a model of its own. Losses look well on every rank. What is saved by rank 0 has learned from its part of the data only,
or, worse, was moved by gradients that belong to other weights.

## How we know

Each rank takes a fixed sample of every weight in two numbers before the backward passes of fixed steps (0, 1, 2, 4, 8, 16, ... and every 256), and after collectives. Nothing is sent; the records are
compared after the run. Equal weights give equal numbers, so the first step at which they differ is known, and which tensors differ there: at step 0 the copies never were equal, later
they drifted. What the script does with its wrapper, `no_sync` and collectives tells which link is missing.

That the ranks are meant to train one model is asked first: a wrapper around all of them, gradients that are exchanged, or a sampler that deals one data set out to them.

## Looks like it but is not

- Federated learning and local SGD, which average now and then: the weights come back together at later steps.
- Ranks that hold different models or different parts of one (pipelines, sharded and tensor-parallel layers, a GAN's halves): their tensors or shapes differ, or they talk inside forward passes.
- Ensembles, sweeps and reinforcement-learning workers, each with weights of its own: nothing says that they are one model.
- Running statistics of batch normalisation, which follow each rank's own batches between two broadcasts.
- Rounding: differences far below what training moves are none.

## Fix

Wrap the model once, `model = DistributedDataParallel(model)`, after loading weights and before the optimizer, and call what is wrapped. By hand: broadcast the weights before the first step, average every gradient
between `backward()` and `step()`, and let all ranks decide together when to leave out a step.

## References

- https://docs.pytorch.org/docs/stable/notes/ddp.html (internal design: constructor broadcast, gradient reduction).
- https://docs.pytorch.org/tutorials/intermediate/dist_tuto.html
- https://github.com/huggingface/nanotron/issues/242 (ranks that drifted apart unnoticed).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from sickbay.causes.evidence import against, listed, located, proof, strong
from sickbay.causes.ranked import called, exchanged, fewer_updates
from sickbay.causes.registry import cause
from sickbay.facts import Apart, Rank, Ranks
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.bindings import argument, parameters
from sickbay.script.distributed import after_model, holder, line_calling, model_line
from sickbay.script.fixing import Function, Source, mend, source_at
from sickbay.script.guesses import guess
from sickbay.signs import Signs
from sickbay.signs.replicas import in_parts, one_model

SURE_STEPS = 2
"""Looks at which they must differ: one alone could be taken in the middle of something."""
MOSTLY = 0.9
"""Of the steps without exchange: the first steps of a script may be meant so."""


@cause(
    code="S507",
    level="system",
    title="the ranks train different models",
    why="Each rank drifts to a model of its own: what is saved has seen only a part of the data, or was moved by gradients of other weights.",
    explains={"rank-divergence"},
    cure=None,
)
def rank_desync(record: Record, signs: Signs) -> Iterator[Evidence]:
    ranks = record.facts.ranks
    apart = ranks.weights if ranks is not None else None
    if ranks is None or apart is None or in_parts(ranks):
        return
    meant = one_model(ranks)
    if not meant or apart.together_again is not None or _averaged_now_and_then(ranks):
        return
    if len(apart.differ) >= SURE_STEPS:
        told = list(_link(record, ranks, apart))
        own_part = _only_unwrapped(ranks, apart)
        yield (strong if own_part else proof)(
            _difference(ranks, apart, meant), None, (apart.differ[0], apart.differ[-1]), gap=apart.gap, moved=apart.moved, tensors=apart.last_count
        )
        yield from told or [strong("which link is missing could not be told from the calls that were seen", _stepped(record))]
        if own_part:
            yield against("all that is wrapped is equal; each rank may be meant to have these for itself")
    elif apart.buffers:
        yield strong(
            f"buffers of the same model ended far apart on the {apart.ranks} ranks ({listed(apart.buffers)}), though its weights are equal: each rank updates its own and none is broadcast",
            _stepped(record),
        )


def _averaged_now_and_then(ranks: Ranks) -> bool:
    """The script itself exchanges weights while it trains, and no wrapper claims to keep them alike."""
    return any(f.collectives.get("weights") for f in ranks.facts) and not any(f.wrapper for f in ranks.facts)


def _difference(ranks: Ranks, apart: Apart, meant: str) -> str:
    first = apart.differ[0]
    before = [s for s in apart.steps if s < first]
    which = f"{apart.count} of {apart.parameters} tensors ({listed(apart.names, 3)})"
    if before:
        begun = f"the weights of the {apart.ranks} ranks are equal up to step {before[-1]:,} and differ at step {first:,}, in {which}"
    else:
        begun = f"the weights of the {apart.ranks} ranks differ before the first update, in {which}"
    odd = f", {called(apart.others)} from all others" if apart.others else ""
    far = f"at step {apart.differ[-1]:,} they are {100 * apart.gap:.2g} % of their size apart"
    moved = f", and training had moved them by {100 * apart.moved:.2g} %" if apart.moved else ""
    return f"{begun}{odd}; {far}{moved}, though {meant}"


def _only_unwrapped(ranks: Ranks, apart: Apart) -> bool:
    left_out = {n for f in ranks.facts for n in f.unwrapped}
    return bool(left_out) and set(apart.names) <= left_out


def _link(record: Record, ranks: Ranks, apart: Apart) -> Iterator[Evidence]:
    """What is missing between the ranks, with its line."""
    fact = _seen(ranks, ranks.read)
    never = apart.differ[0] == apart.steps[0]
    behind, fewest, most = fewer_updates(ranks)
    if _only_unwrapped(ranks, apart):
        yield strong(
            f"{listed(apart.names)}: trained, and in no {fact.wrapper}, so that nothing exchanges the gradients", _made(record, apart.names[0])
        )
    elif fact.wrapper and fact.past and not fact.through:
        place = _given_at(record, fact) or fact.past_at
        yield proof(
            f"training calls the model inside {fact.wrapper}{located(place)}, which exchanges gradients only for calls of its own ({fact.past} passes went past it)",
            place,
        )
    elif fact.wrapper and fact.unsynced and fact.unsynced >= MOSTLY * (fact.unsynced + fact.synced):
        place = line_calling(record, "no_sync")
        yield proof(
            f"all backward passes of {fact.unsynced} of {fact.unsynced + fact.synced} steps ran inside no_sync(){located(place)}: no gradient was exchanged",
            place,
        )
    elif late := fact.collectives.get("late gradients", 0):
        place = fact.collective_at.get("late gradients")
        yield proof(f"gradients are exchanged{located(place)} after the step that should have used them ({late} calls)", place)
    elif behind:
        yield proof(f"{called(behind)} made {fewest:,} updates, the others {most:,}: steps were left out on a part of the ranks", _stepped(record))
    elif not exchanged(ranks):
        yield proof(
            "no gradient was exchanged between the ranks: no wrapper, and no collective was given any", model_line(record) or _stepped(record)
        )
    elif never and not fact.wrapper:
        first = any(f.collectives.get("first weights") for f in ranks.facts)
        text = (
            "gradients are exchanged, but"
            + (" not all of" if first else "")
            + " the weights were "
            + ("" if first else "never ")
            + "made equal before the first step"
        )
        yield proof(text, model_line(record) or _stepped(record))
    elif never and (place := _loaded(record)) is not None:
        yield strong(
            f"weights were loaded{located(place)} into a model that was wrapped before: the wrapper makes ranks equal only when it is made", place
        )


def _seen(ranks: Ranks, rank: int) -> Rank:
    return next((f for f in ranks.facts if f.rank == rank), Rank())


def _stepped(record: Record) -> Place | None:
    return next((o.stepped_at for o in record.facts.optimizers if o.stepped_at is not None), None)


def _made(record: Record, name: str) -> Place | None:
    line, _ = holder(record, name)
    if line is not None:
        return line
    weight = next((w for w in record.facts.weights if w.name == name and w.built_at is not None), None)
    return weight.built_at if weight is not None else next((o.built_at for o in record.facts.optimizers if o.built_at is not None), None)


def _loaded(record: Record) -> Place | None:
    return next((x.place for x in record.facts.state_loads if x.place is not None), None)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    ranks = record.facts.ranks
    fact = _seen(ranks, ranks.read) if ranks is not None else Rank()
    if fact.wrapper and fact.past and not fact.through:
        return mend(f"call what is wrapped in {fact.wrapper}, not the model inside it", _called_through(record, fact), "output = ddp_model(batch)")
    if fact.wrapper and fact.unsynced:
        return Fix(
            "leave no_sync() for the last backward pass before each step",
            "with nullcontext() if last_of_the_step else model.no_sync():\n    loss.backward()",
        )
    if fact.unwrapped:
        diff = holder(record, fact.unwrapped[0])[1]
        return mend(
            "wrap every module that is trained, also a loss function with parameters",
            diff,
            "criterion = DistributedDataParallel(criterion)",
            "consent",
        )
    if fact.collectives.get("late gradients"):
        return Fix("average the gradients between backward() and step()", "loss.backward()\naverage_gradients(model)\noptimizer.step()")
    if ranks is not None and fewer_updates(ranks)[0]:
        return Fix(
            "let all ranks decide together whether a step is left out",
            "ok = torch.isfinite(loss).float()\ndist.all_reduce(ok, op=dist.ReduceOp.MIN)\nif ok: optimizer.step()",
        )
    if fact.collectives.get("gradients"):
        text = "broadcast the weights of rank 0 before the first step"
        return mend(
            text,
            after_model(record, "for p in {model}.parameters(): torch.distributed.broadcast(p.data, src=0)"),
            "for p in model.parameters(): dist.broadcast(p.data, src=0)",
        )
    text = "wrap the model, which makes the ranks equal at the start and averages their gradients"
    return mend(
        text, after_model(record, "{model} = torch.nn.parallel.DistributedDataParallel({model})"), "model = DistributedDataParallel(model)", "consent"
    )


@guess
def _given_at(record: Record, fact: Rank) -> Place | None:
    """`loss = step(net, batch)`, where the function that calls the model is given the one inside the wrapper."""
    source = source_at(record, fact.past_at)
    found = _handed_over(source, fact) if source is not None else None
    return source.place(found.lineno) if source is not None and found is not None else None


def _handed_over(source: Source, fact: Rank) -> ast.expr | None:
    """The argument by which a function gets the model that it calls, if the script takes it out of the wrapper."""
    line, wrapped = fact.past_at.line if fact.past_at is not None else None, _wrapped_name(source, fact)
    for call in source.calls(line=line) if wrapped else ():
        function = source.function(call)
        if not isinstance(function, Function) or not isinstance(call.func, ast.Name) or call.func.id not in parameters(function):
            continue
        method = isinstance(source.parents.get(function), ast.ClassDef)
        given = [argument(c, function, call.func.id, method) for c in source.calls(function.name)]
        inside = [g[0] for g in given if g is not None and source.segment(g[0]) in _inner_names(source, wrapped)]
        if inside:
            return inside[0]
    return None


def _wrapped_name(source: Source, fact: Rank) -> str:
    """What the script calls the wrapper."""
    statement = source.statement(fact.wrapped_at.line) if fact.wrapped_at is not None else None
    return source.segment(statement.targets[0]) if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else ""


def _called_through(record: Record, fact: Rank) -> str:
    """The call of the model inside, made a call of what is wrapped."""
    source, made = source_at(record, fact.past_at), source_at(record, fact.wrapped_at)
    if source is None or made is None or fact.past_at is None or fact.wrapped_at is None:
        return ""
    name = _wrapped_name(made, fact)
    if (handed := _handed_over(source, fact)) is not None:
        return source.diff(source.replacing(handed, name))
    calls = [c for c in source.calls(line=fact.past_at.line) if source.segment(c.func) in _inner_names(source, name)]
    return source.diff(source.replacing(calls[0].func, name)) if name and len(calls) == 1 else ""


def _inner_names(source: Source, wrapped: str) -> set[str]:
    """What the script calls the model inside the wrapper: `model.module`, or a name that was given it."""
    inner = f"{wrapped}.module"
    given = [n for n in ast.walk(source.tree) if isinstance(n, ast.Assign) and source.segment(n.value) == inner]
    wraps = [
        n.value.args[0] for n in ast.walk(source.tree) if isinstance(n, ast.Assign) and source.segment(n.targets[0]) == wrapped and _wraps(n.value)
    ]
    return {
        inner,
        *(source.segment(t) for n in given for t in n.targets),
        *(source.segment(a) for a in wraps if isinstance(a, (ast.Name, ast.Attribute))),
    }


def _wraps(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and len(node.args) >= 1
