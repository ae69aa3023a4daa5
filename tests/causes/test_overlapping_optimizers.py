from __future__ import annotations

from collections.abc import Iterable

from causes.scripts import at, loop_facts
from sickbay.facts import Optimizer
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, make_record

NAMES = ("body.weight", "body.bias", "head.weight", "head.bias")


def pair(twice: int = 100, shared: tuple[str, ...] = NAMES[2:], second: tuple[str, ...] = NAMES[2:]) -> Record:
    facts = loop_facts()
    first = Optimizer(index=0, kind="Adam", steps=100, observed_steps=100, parameters=NAMES)
    other = Optimizer(
        index=1,
        kind="SGD",
        steps=100,
        observed_steps=100,
        parameters=second,
        twice=twice,
        shares_with=0,
        shared=shared,
        stepped_at=at("optimizer.step()"),
    )
    return make_record(steps=100, **facts | {"optimizers": [first, other]})


class TestOverlappingOptimizers(CauseTestCase):
    cause = "overlapping-optimizers"

    def sick(self) -> Iterable[Record]:
        yield pair()
        yield pair(shared=NAMES, second=NAMES)
        yield pair(shared=NAMES[:2], second=(*NAMES[:2], "value.weight", "value.bias"))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "each its own", pair(twice=0, shared=())
        yield "once, when one took over from the other", pair(twice=1)
        many = tuple(f"layer{i}.weight" for i in range(20))
        yield (
            "one tied tensor among many",
            make_record(
                steps=100,
                **loop_facts()
                | {
                    "optimizers": [
                        Optimizer(index=0, kind="Adam", observed_steps=100, parameters=many),
                        Optimizer(index=1, kind="Adam", observed_steps=100, parameters=many[:10], twice=100, shares_with=0, shared=many[:1]),
                    ]
                },
            ),
        )


def test_the_step_that_only_repeats_is_taken_out() -> None:
    suspicion = assert_suspects(pair(), "overlapping-optimizers")
    assert [line for line in suspicion.fix.diff.splitlines() if line.startswith("-") and not line.startswith("---")] == ["-        optimizer.step()"]
    assert suspicion.place == at("optimizer.step()")


def test_a_step_that_trains_something_else_too_stays() -> None:
    fix = assert_suspects(pair(shared=NAMES[:2], second=(*NAMES[:2], "value.weight")), "overlapping-optimizers").fix
    assert "params" in fix.diff and fix.safety == "advice"
