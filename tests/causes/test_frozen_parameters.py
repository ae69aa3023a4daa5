"""frozen-parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from causes.scripts import added
from sickbay.facts import Layer, Model, Parameter, Weight
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record, place_in

STEPS = 300
FREEZING = "model = Net()\nfor p in model.body.parameters():\n    p.requires_grad = False\n"
TABLE = "start = torch.randn(100, 32)\nself.users = nn.Embedding.from_pretrained(start)\n"
FLAT = 2.3 + np.random.default_rng(0).normal(0, 0.02, STEPS)


def run(
    losses: np.ndarray = FLAT, source: str = FREEZING, kind: str = "Linear", size: int = 4096, weight: Any = None, switched: bool = False, **body: Any
) -> Record:
    """A frozen body under a trained head."""
    given = {"trainable": False, "reached": False, "moved": False} | body
    first = {"drawn": True, "feeds_trained": True, "trainable": False} | (weight or {})
    return make_record(
        series={"loss/train": losses},
        parameters=[
            Parameter(name="body.weight", shape=(64, size // 64), size=size, layer="body", layer_kind=kind, **given),
            Parameter(name="head.weight", shape=(10, 64), size=640, layer="head", layer_kind="Linear", optimizer=0, reached=True, moved=True),
        ],
        weights=[Weight(name="body.weight", layer_kind=kind, rms=0.1, **first), Weight(name="head.weight", drawn=True)],
        sources={"train.py": source},
        models=[
            Model(
                name="Net",
                layers=(Layer(name="", kind="Net"), Layer(name="body", kind=kind, switched_on=switched), Layer(name="head", kind="Linear")),
            )
        ],
    )


def test_a_switch_that_is_misspelt() -> None:
    suspicion = assert_suspects(run(source=FREEZING + "for p in model.body.parameters():\n    p.require_grad = True\n"), "frozen-parameters")
    assert suspicion.place is not None and suspicion.place.line == 5
    assert added(suspicion.fix.diff) == ["    p.requires_grad = True"]


def test_a_switch_on_the_module_itself() -> None:
    script = FREEZING + "if epoch == 3:\n    model.body.requires_grad = True\n"
    suspicion = assert_suspects(run(falling(2.3, 0.1, STEPS), script, switched=True, loaded=True), "frozen-parameters", "proven")
    assert suspicion.place is not None and suspicion.place.line == 5
    assert added(suspicion.fix.diff) == ["    model.body.requires_grad_(True)"]
    assert_silent(run(source=script, switched=True, loaded=True, trainable=True), "frozen-parameters", "they were let go in another way")


class TestFrozenParameters(CauseTestCase):
    cause = "frozen-parameters"

    def sick(self) -> Iterable[Record]:
        yield run()
        yield run(falling(2.3, 1.2, STEPS))
        yield run(falling(2.3, 1.2, STEPS), kind="GRU")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "loaded weights", run(loaded=True)
        yield "values that were not drawn here (copied from elsewhere, trained before)", run(weight={"drawn": False})
        yield "a target network that an average moves", run(moved=True)
        yield "a target network that feeds no trained layer", run(falling(2.3, 1.2, STEPS), weight={"feeds_trained": False})
        yield "frozen now, trained before", run(weight={"trainable": True})
        yield "a small fixed projection", run(size=128)
        yield "random features that are good enough", run(falling(2.3, 0.1, STEPS))
        yield "a reservoir, and it says so", run(source="# echo state network: the reservoir is fixed\n" + FREEZING)
        yield "not part of the forward pass", run(called=False)
        yield "trained", run(trainable=True, optimizer=0, reached=True, moved=True)


def test_the_line_and_the_fix() -> None:
    suspicion = assert_suspects(run(), "frozen-parameters", "proven")
    assert suspicion.place == place_in(FREEZING, "requires_grad")
    assert added(suspicion.fix.diff) == ["    p.requires_grad = True"]


def test_a_random_table_that_from_pretrained_froze() -> None:
    suspicion = assert_suspects(run(source=TABLE, kind="Embedding", weight={"drawn": False, "feeds_trained": False}), "frozen-parameters", "likely")
    assert suspicion.place == place_in(TABLE, "from_pretrained")
    assert added(suspicion.fix.diff) == ["self.users = nn.Embedding.from_pretrained(start, freeze=False)"]
