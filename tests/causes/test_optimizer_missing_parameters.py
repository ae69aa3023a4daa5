from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from causes.scripts import added, loop_facts, removed
from sickbay.facts import Parameter, Run
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_suspects, make_record, model_facts

SOURCE = """\
model = Net()
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


def with_body(**body: Any) -> Record:
    """A head in the optimizer, a body that is not."""
    facts = model_facts("body.0", "head")
    missing = replace(facts["parameters"][0], **{"optimizer": None, "moved": False} | body)
    facts["parameters"] = (missing, facts["parameters"][1])
    return make_record(steps=100, **facts, **loop_facts(SOURCE, parameters=("head.weight",)))


def orphaned() -> Record:
    facts = model_facts("body.0", "head")
    old = Parameter(name="(orphan 0)", shape=(32, 32), optimizer=0, in_model=False, reached=False, replaced_by="body.0.weight")
    facts["parameters"] = (old, replace(facts["parameters"][0], optimizer=None, moved=False), facts["parameters"][1])
    return make_record(steps=100, **facts, **loop_facts(SOURCE, parameters=("(orphan 0)", "head.weight")))


def thawed(looks: int = 4) -> Record:
    """A body that another optimizer trained before; it was frozen for the head's sake and is unfrozen again."""
    record = with_body(optimizer=1, moved=True)
    (optimizer,) = record.facts.optimizers
    return with_facts(record, optimizers=(replace(optimizer, thawed=("body.0.weight",), thawed_looks=looks),))


class TestOptimizerMissingParameters(CauseTestCase):
    cause = "optimizer-missing-parameters"

    def sick(self) -> Iterable[Record]:
        yield with_body()
        yield with_body(moved=None)
        yield orphaned()
        yield thawed()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "unfrozen at the very end", thawed(looks=1)
        yield "loaded backbone, head only", with_body(loaded=True)
        yield "frozen backbone", with_body(trainable=False)
        yield "momentum encoder: no loss reaches it", with_body(reached=False)
        yield "moved by another hand", with_body(moved=True)
        yield "another optimizer holds it", with_body(optimizer=1)
        picture = Parameter(name="image", shape=(3, 64, 64), optimizer=0, in_model=False, reached=True, moved=True)
        net = [replace(p, optimizer=None, moved=False) for p in model_facts("features")["parameters"]]
        yield "style transfer", make_record(steps=100, parameters=[picture, *net], **loop_facts(SOURCE, parameters=("image",)))
        held = orphaned()
        new = tuple(replace(p, optimizer=1) if p.name == "body.0.weight" else p for p in held.facts.parameters)
        yield "a new optimizer holds what was replaced", with_facts(held, parameters=new)
        manual = Run(steps=0, backwards=50, manual_updates=True)
        yield "no optimizer at all", make_record(run=manual, **model_facts("a", optimizer=None))


def test_the_fix_gives_the_optimizer_the_whole_model() -> None:
    suspicion = assert_suspects(with_body(), "optimizer-missing-parameters")
    assert added(suspicion.fix.diff) == ["optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"]
    assert suspicion.place is not None and suspicion.place.line == 2


def test_for_orphans_it_is_told_to_build_later_and_one_finding_is_enough() -> None:
    suspicion = assert_suspects(orphaned(), "optimizer-missing-parameters")
    assert len(suspicion.evidence) == 1
    assert "body.0.weight" in suspicion.evidence[0].text
    assert suspicion.fix.diff == "optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)  # below it"


BUILT = """\
def shrink(model):
    model.body = nn.Linear(8, 4)

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
shrink(model)
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("source", "line", "moves"),
    [
        (BUILT, 2, True),
        (BUILT.replace("shrink(model)\nfor", "model.body = nn.Linear(8, 4)\nfor"), 6, True),
        (BUILT.replace("shrink(model)\nfor", "pretrain(model, optimizer)\nshrink(model)\nfor"), 2, False),
    ],
)
def test_the_optimizer_is_built_below_what_changes_the_model(source: str, line: int, moves: bool) -> None:
    held = orphaned()
    parameters = tuple(replace(p, put_at=Place("train.py", line)) if p.name == "body.0.weight" else p for p in held.facts.parameters)
    facts = loop_facts(source, parameters=("(orphan 0)", "head.weight"))
    record = with_facts(replace(held, sources=facts["sources"]), parameters=parameters, optimizers=tuple(facts["optimizers"]))
    diff = assert_suspects(record, "optimizer-missing-parameters").fix.diff
    # The two lines change places, whichever of them the diff shows as moved.
    assert len(added(diff)) == 1 and removed(diff) == (added(diff) if moves else [])


def test_an_optimizer_that_was_given_what_another_one_holds() -> None:
    source = SOURCE.replace(
        "model.head.parameters(), lr=0.1)", "head.parameters(), lr=0.1)\nsecond = torch.optim.SGD(head.parameters(), lr=0.3)"
    ).replace("model(x)", "body(head(x))")
    record = with_body()
    first = replace(record.facts.optimizers[0], built_at=Place("train.py", 2))
    facts = with_facts(record, optimizers=(first, replace(first, index=1, built_at=Place("train.py", 3), variable="second"))).facts
    both = make_record(steps=100, sources={"train.py": source}, parameters=facts.parameters, optimizers=facts.optimizers, losses=facts.losses)
    suspicion = assert_suspects(both, "optimizer-missing-parameters")
    assert suspicion.place is not None and suspicion.place.line == 3
    assert added(suspicion.fix.diff) == ["second = torch.optim.SGD(body.parameters(), lr=0.3)"]


COLLECTING = """\
def groups(model):
    decay, rest = [], []
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            rest.append(p)
        elif name.startswith("fc"):
            decay.append(p)
    return [{"params": decay}, {"params": rest}]
optimizer = torch.optim.SGD(groups(model), lr=0.1)
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("change", "line"), [(("", ""), 4), (('elif name.startswith("fc")', "else"), 9)])
def test_conditions_that_choose_what_the_optimizer_is_given(change: tuple[str, str], line: int) -> None:
    source = COLLECTING.replace(*change)
    facts = with_body().facts
    record = make_record(steps=100, parameters=facts.parameters, **loop_facts(source, parameters=("head.weight",)))
    place = assert_suspects(record, "optimizer-missing-parameters").place
    assert place is not None and place.line == line
