"""What is told of an operation beside its name: its line, the values that went in, where the first bad one is, who carries it."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.batches import BatchWatch
from sickbay.observe.forensics.values import NAN, Values, kind_of
from sickbay.observe.observer import Site
from sickbay.observe.places import expression_of, place_of
from sickbay.observe.readers.invalid import LAYERS
from sickbay.observe.reading import SHAPE_ONLY, Reading
from sickbay.observe.trace import Node

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_ROWS = 16
MOST_LINKS = 8
"""Operations of the chain that are told."""


def named(fact: facts.FirstInvalid, session: Session, operation: Node | None) -> facts.FirstInvalid:
    """With name, line and text of an operation."""
    if operation is None:
        return fact
    return replace(
        fact,
        op=operation.name,
        place=placed(session, operation),
        call=expression_of(*operation.key) if operation.key is not None else "",
        in_layer=operation.name in LAYERS,
    )


def placed(session: Session, operation: Node) -> Any:
    assert session.trace is not None
    return Reading(session, session.trace, [], Site(-1, None), torch.empty(0)).place(operation)


def with_values(fact: facts.FirstInvalid, session: Session, values: Values, index: int, batch: int | None) -> facts.FirstInvalid:
    """With what went into a node and what came out of it."""
    went_in = [v for v in values.inputs(index) if v.is_floating_point() and not kind_of(v)]
    ends = [torch.aminmax(v) for v in went_in]
    value = values.value(index)
    fact = replace(
        fact,
        lowest=min((low.item() for low, _ in ends), default=fact.lowest),
        highest=max((high.item() for _, high in ends), default=fact.highest),
        dtype=dtype_of(values, index),
        fits_single=values.fits_single(index),
    )
    if value is None:
        return fact
    kind = kind_of(value)
    wrong = torch.isnan(value) if kind == NAN else ~torch.isfinite(value)  # beside a NaN, infinities may be there on purpose (what a mask leaves out)
    return with_elements(replace(fact, kind=kind or fact.kind), session, wrong, batch)


def dtype_of(values: Values, index: int) -> str:
    value = values.value(index)
    try:
        dtype = value.dtype if value is not None else values.live.nodes[index]._input_metadata[0].dtype
    except (AttributeError, IndexError):
        return ""
    return str(dtype).removeprefix("torch.")


def with_elements(
    fact: facts.FirstInvalid, session: Session, wrong: torch.Tensor, batch: int | None, indices: Sequence[int] | None = None
) -> facts.FirstInvalid:
    """With the elements that are wrong: how many, the first, and the rows of the batch they are in (the newest one, unless its indices are given)."""
    count = int(wrong.sum())
    if not count:
        return fact
    first = int(wrong.flatten().to(torch.uint8).argmax())
    where = tuple(int(i) for i in torch.unravel_index(torch.tensor(first), wrong.shape)) if wrong.dim() else ()
    rows: list[int] = []
    indices = indices if indices is not None else drawn(session)
    size = len(indices) if indices is not None else batch
    if wrong.dim() and size is not None and wrong.shape[0] == size and size > 1:
        rows = wrong.reshape(size, -1).any(1).nonzero().flatten().tolist()[:MOST_ROWS]
    samples = tuple(int(indices[r]) for r in rows) if indices is not None else ()
    return replace(fact, where=where, count=count, total=wrong.numel(), rows=tuple(rows), samples=samples)


def data_at_fault(session: Session, operation: Node, path: Sequence[Node | None], source: torch.Tensor | None, step: int) -> None:
    """Tell of a batch whose values were not finite, as batches.py does on steps on which it looks itself. It is the target if no layer comes after it."""
    watch = next((o for o in session.observers if isinstance(o, BatchWatch)), None)
    if watch is None or operation.key is None:
        return
    role = "input" if any(n is not None and n.name in LAYERS for n in path) else "target"
    text = expression_of(*operation.key)
    batch = facts.NonfiniteBatch(
        role=role, step=step, batches=1, loss_nonfinite=True, kind="nan", place=place_of(*operation.key), variable=_variable(text, role)
    )
    if source is not None:
        wrong = ~torch.isfinite(source)
        rows = wrong.reshape(wrong.shape[0], -1)
        at = with_elements(facts.FirstInvalid(), session, wrong, wrong.shape[0])
        columns = tuple(rows.any(0).nonzero().flatten().tolist()[:MOST_ROWS])
        batch = replace(
            batch, kind=kind_of(source), count=at.count, total=at.total, rows=at.rows, samples=at.samples, columns=columns, columns_total=rows.shape[1],
            shape=tuple(source.shape),
        )  # fmt: skip
    session.keep_source(batch.place)
    watch.bad.setdefault(role, batch)


def batch_at_fault(session: Session, source: torch.Tensor, key: Any) -> None:
    """Tell of an input whose values are not finite."""
    watch = next((o for o in session.observers if isinstance(o, BatchWatch)), None)
    if watch is not None and "input" not in watch.bad:
        watch.note_nonfinite("input", source, ~torch.isfinite(source), key)


def _variable(text: str, role: str) -> str:
    """What the user calls the data, in the call in which they are used."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    if isinstance(node, ast.Call) and node.args:
        return ast.unparse(node.args[min(int(role == "target"), len(node.args) - 1)])
    return ast.unparse(node.right) if isinstance(node, ast.BinOp) else ""


def tensors_in(values: Any) -> list[torch.Tensor]:
    """The floating-point tensors among arguments, a few."""
    flat = [*values[0], *values[1].values()]
    return [v for v in flat if isinstance(v, torch.Tensor) and v.is_floating_point() and v.layout == torch.strided and v.numel()][:4]


def drawn(session: Session) -> Sequence[int] | None:
    """The data set indices of the newest batch, where a loader drew them."""
    watch = next((o for o in session.observers if isinstance(o, BatchWatch)), None)
    return as_indices(watch.indices if watch is not None else None)


def as_indices(drawn: Any) -> Sequence[int] | None:
    """What a loader drew, if these are indices of a data set."""
    return drawn if isinstance(drawn, (list, tuple)) and all(isinstance(i, int) for i in drawn) else None


def chain(session: Session, operations: Sequence[Node | None]) -> tuple[facts.Op, ...]:
    """From an operation to the loss, without views: the first few and the last."""
    links: list[Node] = []
    for node in operations:
        if node is not None and node.name not in SHAPE_ONLY and (not links or links[-1].index != node.index):
            links.append(node)
    if len(links) > MOST_LINKS:
        links = [*links[: MOST_LINKS - 1], links[-1]]
    return tuple(facts.Op(name=n.name, place=placed(session, n), shape=n.shape) for n in links)


def finite_parameters(session: Session) -> tuple[str | None, float | None]:
    """The first parameter that is not finite, and the largest absolute weight of the others."""
    broken, largest = None, None
    for tensor, entry in session.registry.entries():
        if not tensor.is_floating_point() or not tensor.numel() or tensor.is_meta or tensor.layout != torch.strided:
            continue
        low, high = (v.item() for v in torch.aminmax(tensor.detach()))
        size = max(abs(low), abs(high))
        if math.isfinite(size):
            largest = size if largest is None else max(largest, size)
        else:
            broken = broken or entry.name
    return broken, largest
