"""accumulation-not-scaled, clipping-misplaced and clipping-too-tight."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from causes.scripts import added, at, loop_facts, removed
from sickbay.facts import Accumulation, Clipping, Optimizer
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record, model_facts

ACCUMULATING = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward()
    if (i + 1) % every == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def accumulates(source: str = ACCUMULATING, kind: str = "SGD", **given: Any) -> Record:
    facts = {"steps": 50, "backwards": 8, "regular": 48, "rows": 16, "scale": 1.0, "kept": 1.0} | given
    return make_record(series={"loss/train": falling(2.3, 0.3, 50)}, accumulations=[Accumulation(**facts)], **loop_facts(source, kind=kind))


class TestAccumulationNotScaled(CauseTestCase):
    cause = "accumulation-not-scaled"

    def sick(self) -> Iterable[Record]:
        yield accumulates()
        yield accumulates(rows=None, kept=None)
        yield accumulates(backwards=2, scale=1.0)
        yield accumulates(kept=0.8)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "divided", accumulates(scale=0.125)
        yield "divided by hand", accumulates(kept=0.125)
        yield "clipped to the same norm", accumulates(kept=0.05)
        yield "a sum", accumulates(scale=None)
        yield "one sample at a time", accumulates(rows=1)
        yield "several losses of one pass", accumulates(retained=300)
        yield "irregular", accumulates(regular=20)
        yield "too few steps", accumulates(steps=3, regular=3)
        yield "none", make_record(series={"loss/train": falling(2.3, 0.3, 50)}, **loop_facts())


def test_adam_rescales_it_away() -> None:
    assert_suspects(accumulates(kind="AdamW"), "accumulation-not-scaled", "possible")


def test_a_loop_over_tasks_needs_trouble() -> None:
    source = ACCUMULATING.replace("for i, (x, y) in enumerate(loader):", "for x, y in tasks:").replace(
        "    if (i + 1) % every == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n", "optimizer.step()\n"
    )
    assert_suspects(accumulates(source), "accumulation-not-scaled", "possible")
    assert_suspects(accumulates(source.replace("in tasks", "in micro_batches")), "accumulation-not-scaled", "proven")


def test_the_fix_divides_by_the_users_own_number() -> None:
    suspicion = assert_suspects(accumulates(), "accumulation-not-scaled")
    assert added(suspicion.fix.diff) == ["    (loss / every).backward()"]
    assert suspicion.place == at("loss.backward()", ACCUMULATING)


BEFORE = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    clip_grad_norm_(model.parameters(), 0.01)
    loss.backward()
    optimizer.step()
"""
INTIME = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip_grad_norm_(model.parameters(), LIMIT)
    optimizer.step()
""".replace("LIMIT", "0.01")


def clips(source: str = INTIME, losses: Any = None, norms: Any = 1.0, kind: str = "SGD", **given: Any) -> Record:
    facts = {
        "kind": "norm",
        "limit": 0.01,
        "calls": 100,
        "in_time": 100,
        "looks": 12,
        "tensors": 4,
        "shared": 12,
        "place": at("clip_grad", source),
    } | given
    losses = falling(2.3, 0.3, 100) if losses is None else losses
    return make_record(
        series={"loss/train": losses, "clip_norm": np.broadcast_to(norms, 100)}, clippings=[Clipping(**facts)], **loop_facts(source, kind=kind)
    )


class TestClippingMisplaced(CauseTestCase):
    cause = "clipping-misplaced"

    def sick(self) -> Iterable[Record]:
        yield clips(BEFORE, in_time=0, too_early=100, empty=12)
        yield clips(BEFORE, in_time=0, too_late=100)
        yield clips(tensors=0, empty=12, shared=0)
        yield clips(shared=0, foreign=12)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "in time", clips()
        yield "after each micro-batch", clips(calls=400, too_early=2)
        yield "only a part of the model", clips(tensors=1)
        yield "gradients that are zero", clips(empty=12)
        yield "once, before training", clips(calls=1, in_time=0, too_early=1)
        yield "one of two networks", clips(foreign=12)


def test_the_fix_moves_the_clip_behind_backward() -> None:
    suspicion = assert_suspects(clips(BEFORE, in_time=0, too_early=100, empty=12), "clipping-misplaced")
    changed = {line.strip() for line in removed(suspicion.fix.diff)} | {line.strip() for line in added(suspicion.fix.diff)}
    assert changed <= {"clip_grad_norm_(model.parameters(), 0.01)", "loss.backward()"} and changed


CREEPING = np.linspace(2.31, 2.2, 100) + np.random.default_rng(0).normal(0, 0.005, 100)


def dragging(losses: Any = None, norms: float = 0.6, ratio: float = 6e-4) -> Record:
    """A loss that falls in a straight line, by steps that are all cut to one length."""
    losses = np.linspace(0.9, 0.27, 100) + np.random.default_rng(0).normal(0, 0.01, 100) if losses is None else losses
    frames = np.arange(0, 100, 10)
    return make_record(
        series={"loss/train": losses, "clip_norm": np.full(100, norms)},
        families={"update_ratio": {"layer.weight": (frames, np.full(len(frames), ratio))}},
        clippings=[Clipping(kind="norm", limit=0.01, calls=100, in_time=100, looks=12, tensors=4, shared=12, place=at("clip_grad", INTIME))],
        **loop_facts(INTIME, kind="SGD"),
        **model_facts("layer"),
    )


class TestClippingTooTight(CauseTestCase):
    cause = "clipping-too-tight"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield clips(losses=CREEPING)
        yield clips(losses=CREEPING, kind="SGD", norms=np.linspace(5, 2, 100))
        yield clips(losses=CREEPING, norms=0.5)
        yield dragging()
        yield make_record(
            series={"loss/train": CREEPING},
            clippings=[Clipping(kind="value", limit=1e-5, calls=100, in_time=100, looks=12, clipped_share=0.99)],
            optimizers=[Optimizer(index=0, kind="SGD", steps=100)],
        )
        yield make_record(
            series={"loss/train": CREEPING},
            clippings=[Clipping(kind="hand", limit=1e-3, calls=12, in_time=12, looks=12, cut=800.0)],
            optimizers=[Optimizer(index=0, kind="SGD", steps=100)],
        )

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "it learns all the same", clips()
        yield "it levels off", dragging(losses=falling(0.9, 0.27, 100))
        yield "it gets where it is to go", dragging(losses=np.linspace(0.9, 0.05, 100))
        yield "steps of the usual length", dragging(ratio=3e-3)
        yield "it falls, and is cut to a tenth", dragging(norms=0.12)
        yield "Adam", clips(losses=CREEPING, kind="Adam")
        yield "cut by little", clips(losses=CREEPING, norms=0.03)
        yield "cut seldom", clips(losses=CREEPING, norms=np.where(np.arange(100) % 10, 0.005, 1.0))
        yield "never in time", clips(losses=CREEPING, in_time=0, too_early=100)
        yield "no clipping", make_record(series={"loss/train": CREEPING}, **loop_facts())


def test_the_fix_takes_the_percentile_of_the_norms() -> None:
    suspicion = assert_suspects(clips(losses=CREEPING, norms=np.linspace(1, 3, 100)), "clipping-too-tight")
    assert added(suspicion.fix.diff) == ["    clip_grad_norm_(model.parameters(), 2.9)"]
