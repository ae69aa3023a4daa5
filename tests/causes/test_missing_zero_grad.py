from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from causes.scripts import LOOP, added, at, loop_facts, removed
from sickbay.facts import Cut, LinearMap, Loss, Optimizer
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, make_record

STALE = {"intervals": 99, "stale_intervals": 99, "stale_norm": 3.0, "stale_first": 1, "stale_last": 99}


class TestMissingZeroGrad(CauseTestCase):
    cause = "missing-zero-grad"

    def sick(self) -> Iterable[Record]:
        yield make_record(steps=100, **loop_facts(**STALE))
        yield make_record(steps=100, **loop_facts(**STALE | {"stale_intervals": 95, "zero_calls": 4}))
        yield make_record(steps=100, **loop_facts(**STALE | {"zero_calls": 99, "stale_parameters": ("proxies",)}))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "cleared each time", make_record(steps=100, **loop_facts(intervals=99, zero_calls=100))
        yield "cleared by hand", make_record(steps=100, **loop_facts(intervals=99, zero_calls=0))
        yield "accumulation", make_record(steps=25, **loop_facts(intervals=24, zero_calls=25, backwards_per_step=4.0))
        yield "one group carried over per epoch", make_record(steps=100, **loop_facts(intervals=99, stale_intervals=5, stale_norm=1.0))
        yield "the gradient that was there was zero", make_record(steps=100, **loop_facts(**STALE | {"stale_norm": 0.0}))
        gan = loop_facts(**STALE | {"zero_calls": 100})
        gan["losses"] = [Loss(index=0, optimizers=(0,)), Loss(index=1, optimizers=(1,))]
        gan["optimizers"] = [*gan["optimizers"], Optimizer(index=1, steps=100, intervals=99, zero_calls=100)]
        yield "GAN: the generator's backward adds to what is cleared later", make_record(steps=100, **gan)


def test_the_fix_goes_before_backward_in_the_users_words() -> None:
    suspicion = assert_suspects(make_record(steps=100, **loop_facts(**STALE)), "missing-zero-grad")
    assert added(suspicion.fix.diff) == ["        optimizer.zero_grad()"]
    assert suspicion.fix.safety == "safe"
    assert suspicion.place == at("loss.backward()")


def test_with_accumulation_it_goes_after_the_step() -> None:
    source = LOOP.replace("        optimizer.step()\n", "        if ready:\n            self.opt.step()\n")
    facts = loop_facts(source, stepped_at=at("self.opt.step()", source), backwards_per_step=4.0, **STALE)
    diff = assert_suspects(make_record(steps=100, **facts), "missing-zero-grad").fix.diff
    assert added(diff) == ["            self.opt.zero_grad()"]
    assert diff.index("self.opt.step()") < diff.index("self.opt.zero_grad()")


def test_with_accumulation_clearing_once_per_epoch_is_no_mistake() -> None:
    source = LOOP.replace("    for x, y", "    optimizer.zero_grad()\n    for x, y")
    facts = loop_facts(source, zeroed_at=at("zero_grad", source), zero_calls=4, **STALE)
    assert assert_suspects(make_record(steps=100, **facts), "missing-zero-grad").place == at("zero_grad", source)
    facts = loop_facts(source, zeroed_at=at("zero_grad", source), zero_calls=4, backwards_per_step=4.0, **STALE)
    assert assert_suspects(make_record(steps=100, **facts), "missing-zero-grad").place == at("optimizer.step()", source)


def test_where_several_losses_add_the_step_lacks_it() -> None:
    own, other = (LinearMap(parameter=name, op="linear", trainable=True) for name in ("d.weight", "g.weight"))
    facts = loop_facts(parameters=("d.weight",), **STALE)
    facts["losses"] = [replace(facts["losses"][0], linear_maps=(own,)), Loss(index=1, optimizers=(1,), linear_maps=(own, other))]
    assert assert_suspects(make_record(steps=100, **facts), "missing-zero-grad").place == at("optimizer.step()")
    facts["losses"][1] = replace(facts["losses"][1], cuts=(Cut(op="detach", parameters=("d.weight",)),))
    assert assert_suspects(make_record(steps=100, **facts), "missing-zero-grad").place == at("loss.backward()")


def test_in_different_functions_it_stays_where_the_name_is_known() -> None:
    source = "def back(loss):\n    loss.backward()\n\n\ndef move(opt):\n    opt.step()\n"
    facts = loop_facts(source, stepped_at=at("opt.step()", source), **STALE)
    assert added(assert_suspects(make_record(steps=100, **facts), "missing-zero-grad").fix.diff) == ["    opt.zero_grad()"]


def test_without_source_there_is_a_snippet() -> None:
    facts = loop_facts(**STALE)
    facts["sources"] = {}
    fix = assert_suspects(make_record(steps=100, **facts), "missing-zero-grad").fix
    assert fix.diff.startswith("optimizer.zero_grad()")
    assert fix.safety == "advice"


def test_a_part_of_the_run_is_likely_only() -> None:
    assert_suspects(make_record(steps=100, **loop_facts(**STALE | {"stale_intervals": 30})), "missing-zero-grad", "likely")


def test_gradients_of_another_optimizer_cleared_twice() -> None:
    source = LOOP.replace("        out = model(x)\n", "        other.zero_grad()\n        other.zero_grad()\n        out = model(x)\n")
    facts = loop_facts(source, **STALE)
    cleared = at("other.zero_grad()", source)
    facts["optimizers"] = [*facts["optimizers"], Optimizer(index=1, kind="SGD", steps=100, variable="other", zero_calls=200, zeroed_at=cleared)]
    s = assert_suspects(make_record(steps=100, **facts), "missing-zero-grad")
    assert s.place is not None and s.place.line == (cleared.line or 0) + 1
    assert added(s.fix.diff) == ["        optimizer.zero_grad()"] and removed(s.fix.diff) == ["        other.zero_grad()"]
