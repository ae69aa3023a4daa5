"""Weights are NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import sign


@sign("nonfinite-weight")
def nonfinite_weight(record: Record) -> Iterator[Sign]:
    broken = [i for loss in record.facts.losses for i in loss.invalid if i.parameters_finite is False and not i.backward]
    for first in sorted(broken, key=lambda i: i.step)[:1]:
        at = first.updated_at if first.updated_at is not None else first.step
        name = f"{first.name!r} is" if first.name else "weights are"
        yield Sign(
            name="nonfinite-weight",
            where=first.name,
            steps=(at, max(first.step, at)),
            strength=1.0,
            numbers={"first": at, "seen": first.step},
            text=f"{name} not finite" + (f" since the update of step {at}" if first.updated_at is not None else f" at step {first.step}"),
        )
