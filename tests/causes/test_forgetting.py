"""forgetting: the same samples are answered worse since training went over to others, which it learns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sickbay.facts import EvaluationData, Loader, Phase, ScoredSet
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record, place_in

SOURCE = """def fit(model, loader):
    for x, y in loader:
        loss = criterion(model(x), y)
def score(model, loader):
    return (model(x).argmax(1) == y).float().mean()
fit(model, old_loader)
fit(model, new_loader)
"""
MODEL = place_in(SOURCE, "criterion(model(x)", "/x/train.py")
SCORE = place_in(SOURCE, "argmax", "/x/train.py")
OLD, NEW = place_in(SOURCE, "old_loader", "/x/train.py"), place_in(SOURCE, "new_loader", "/x/train.py")
PASSES = (50, 100, 150, 200, 250, 300)


def phases(**second: Any) -> list[Phase]:
    first = {"first": 0, "last": 149, "steps": 150, "rows": 4800, "labels": 5, "loader": 0, "place": MODEL, "called_from": OLD}
    then = {"first": 150, "last": 299, "steps": 150, "rows": 4800, "met": 0, "recognised": 1.0, "labels": 5, "labels_met": 5, "loader": 1}
    return [Phase(**first), Phase(**then | {"place": MODEL, "called_from": NEW} | second)]


def scored(accuracy: tuple[float | None, ...] = (0.8, 0.9, 0.93, 0.5, 0.3, 0.25), **changes: Any) -> ScoredSet:
    given = {"place": SCORE, "samples": 400, "steps": PASSES, "accuracy": accuracy, "loss": (None,) * len(accuracy)}
    return ScoredSet(**given | changes)


def run(*sets: ScoredSet, second: dict[str, Any] | None = None, losses: np.ndarray | None = None, **facts: Any) -> Record:
    losses = np.concatenate([falling(1.6, 0.1, 150), falling(2.5, 0.1, 150)]) if losses is None else losses
    return make_record(
        series={"loss/train": losses},
        sources={"/x/train.py": SOURCE},
        **{"phases": phases(**second or {}), "scored": list(sets) or [scored()]} | facts,
    )


def by_loss(*values: float) -> ScoredSet:
    return scored((None,) * len(values), loss=values)


class TestForgetting(CauseTestCase):
    cause = "forgetting"

    def sick(self) -> Iterable[Record]:
        yield run()
        yield run(by_loss(1.4, 0.5, 0.2, 1.0, 1.8, 2.4))
        yield run(second={"met": 4800, "labels_met": 0})  # other classes say it, whatever the rows
        yield run(second={"recognised": 0.3, "met": 20})

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "training's samples are the same all the time (overfitting)", run(phases=[])
        yield "old samples come along", run(second={"met": 900})
        yield "the same samples by another line", run(second={"met": 4800})
        yield "augmented samples: nobody knows", run(second={"recognised": 0.0})
        yield "too few rows to know", run(second={"rows": 40})
        yield "nothing is lost (a penalty, adapters, a curriculum)", run(scored((0.8, 0.9, 0.93, 0.92, 0.93, 0.94)))
        yield "within what so few samples tell", run(scored((0.8, 0.9, 0.93, 0.8, 0.8, 0.75), samples=30))
        yield "it is back at the end", run(scored((0.8, 0.9, 0.93, 0.5, 0.8, 0.92)))
        yield "the old task is given up", run(scored((0.8, 0.9, 0.93), steps=PASSES[:3], loss=(None,) * 3))
        yield "the new one is not learned either", run(losses=np.concatenate([falling(1.6, 0.1, 150), np.full(150, 2.5)]))
        yield "only evaluated since", run(scored((0.9, 0.5, 0.3), steps=PASSES[3:], loss=(None,) * 3))
        yield "a loss that creeps up", run(by_loss(1.4, 0.5, 0.2, 0.22, 0.26, 0.3))


def test_place_and_fix_are_in_the_users_names() -> None:
    suspicion = assert_suspects(run(loaders=[Loader(index=0, variable="loader"), Loader(index=1, variable="loader")]), "forgetting", "proven")
    assert suspicion.place is not None and suspicion.place.line == NEW.line
    assert "Subset(old_loader.dataset" in (suspicion.fix.diff) and "new_loader = DataLoader" in (suspicion.fix.diff)


def test_several_evaluations_are_counted() -> None:
    suspicion = assert_suspects(run(scored(), scored((0.7, 0.9, 0.9, 0.5, 0.6, 0.6), place=Place("/x/train.py", 5))), "forgetting")
    assert any("1 more evaluation falls" in e.text for e in suspicion.evidence)


def test_a_later_task_is_no_mismatch() -> None:
    """Training's features are those of its first batches; what is evaluated since they changed is compared with nothing."""
    assert_silent(run(evaluation_data=[EvaluationData(place=SCORE, first=200, last=300, rows=400)]), "train-val-mismatch")
