from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from causes.scripts import LOOP, added, at, loop_facts, removed
from sickbay.facts import Loss, Optimizer, Run, Scheduler
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_suspects, make_record, model_facts

NO_STEP = LOOP.replace("        optimizer.step()\n", "")
RUN = Run(script="train.py", steps=0, backwards=100, exit=0, finished=True)


def idle(source: str = NO_STEP, moved: bool | None = False, run: Run = RUN, **optimizer: object) -> Record:
    facts = loop_facts(source, steps=0, parameters=("a.weight",), **optimizer)
    facts["losses"] = [Loss(index=0, backward_at=at(".backward()", source), backwards=run.backwards)]
    return make_record(run=run, **facts, **model_facts("a", moved=moved))


class TestMissingOptimizerStep(CauseTestCase):
    cause = "missing-optimizer-step"

    def sick(self) -> Iterable[Record]:
        yield idle()
        yield idle(moved=None)
        yield idle(run=replace(RUN, finished=False, exit="SIGKILL", backwards=500))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "weights moved by hand", idle(run=replace(RUN, manual_updates=True))
        yield "another optimizer moves them", idle(moved=True)
        yield "stopped within its first accumulation", idle(run=replace(RUN, finished=False, exit="SIGINT", backwards=6))
        record = make_record(run=RUN, **loop_facts(NO_STEP, steps=0, parameters=("a.weight",)), **model_facts("a", reached=False, moved=False))
        yield "an optimizer over what no loss reaches", record


def fix_of(source: str) -> str:
    return assert_suspects(idle(source), "missing-optimizer-step").fix.diff


def test_the_fix_adds_the_call_after_backward() -> None:
    assert added(fix_of(NO_STEP)) == ["        optimizer.step()"]


def test_clipping_comes_first() -> None:
    source = NO_STEP + "        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        total += loss.item()\n"
    diff = fix_of(source)
    assert diff.index("clip_grad_norm_") < diff.index("+        optimizer.step()") < diff.index("total +=")


def test_missing_parentheses() -> None:
    diff = fix_of(NO_STEP + "        optimizer.step\n")
    assert removed(diff) == ["        optimizer.step"] and added(diff) == ["        optimizer.step()"]


def test_a_branch_that_is_never_taken_is_told_not_patched() -> None:
    source = NO_STEP + "        if never:\n            optimizer.step()\n"
    fix = assert_suspects(idle(source, stepped_at=None), "missing-optimizer-step").fix
    assert "never reached" in fix.text and not fix.diff
    place = assert_suspects(idle(source, stepped_at=None), "missing-optimizer-step").place
    assert place is not None and place.text == "if never:"


def test_a_scheduler_that_is_stepped_instead() -> None:
    source = NO_STEP + "        scheduler.step()\n"
    stepped = at("scheduler.step()", source)
    record = with_facts(idle(source), schedulers=(Scheduler(kind="StepLR", optimizer=0, stepped_at=stepped, steps=100),))
    s = assert_suspects(record, "missing-optimizer-step")
    assert s.place == stepped and added(s.fix.diff) == ["        optimizer.step()"]


def test_the_wrong_optimizer() -> None:
    source = NO_STEP + "        teacher_opt.step()\n"
    facts = loop_facts(source, index=1, steps=0, parameters=("a.weight",), stepped_at=None)
    teacher = Optimizer(index=0, kind="Adam", steps=120, empty_steps=100, variable="teacher_opt", stepped_at=at("teacher_opt.step()", source))
    facts |= {"optimizers": [teacher, *facts["optimizers"]], "losses": [Loss(index=0, backward_at=at(".backward()", source), backwards=100)]}
    record = make_record(run=replace(RUN, steps=120), **facts, **model_facts("a", moved=False, optimizer=1))
    diff = assert_suspects(record, "missing-optimizer-step").fix.diff
    assert added(diff) == ["        optimizer.step()"]


TWO = """\
def train_step(x, y, encoder_opt, decoder_opt):
    decoder_opt.zero_grad()
    loss = F.cross_entropy(decoder(encoder(x)), y)
    loss.backward()
    encoder_opt.step()
    encoder_opt.step()
    return loss.item()
"""


def two(source: str) -> Record:
    encoder = Optimizer(index=0, kind="Adam", steps=200, variable="encoder_opt", stepped_at=at("encoder_opt.step()", source))
    decoder = Optimizer(index=1, kind="Adam", variable="decoder_opt", zeroed_at=at("decoder_opt.zero_grad()", source), parameters=("a.weight",))
    losses = [Loss(index=0, backward_at=at(".backward()", source), backwards=100, optimizers=(0,))]
    run = replace(RUN, steps=200)
    facts = model_facts("a", moved=False, optimizer=1)
    return make_record(run=run, sources={"train.py": source}, optimizers=[encoder, decoder], losses=losses, **facts)


def test_a_step_that_stands_twice_was_meant_for_the_other_optimizer() -> None:
    s = assert_suspects(two(TWO), "missing-optimizer-step")
    assert s.place is not None and s.place.line == 6
    assert added(s.fix.diff) == ["    decoder_opt.step()"] and removed(s.fix.diff) == ["    encoder_opt.step()"]


def test_steps_of_two_branches_or_two_losses_are_not_in_a_row() -> None:
    branches = TWO.replace(
        "    encoder_opt.step()\n    encoder_opt.step()\n", "    if x:\n        encoder_opt.step()\n    else:\n        encoder_opt.step()\n"
    )
    losses = TWO.replace("    encoder_opt.step()\n    encoder", "    encoder_opt.step()\n    other(x).backward()\n    encoder")
    for source, line in ((losses, 5), (branches, 4)):
        s = assert_suspects(two(source), "missing-optimizer-step")
        assert s.place is not None and s.place.line == line


def test_it_belongs_beside_the_step_of_the_other_optimizer() -> None:
    s = assert_suspects(two(TWO.replace("    encoder_opt.step()\n    encoder", "    encoder")), "missing-optimizer-step")
    assert s.place is not None and s.place.line == 5
    assert s.fix.diff.index("encoder_opt.step()") < s.fix.diff.index("+    decoder_opt.step()")


def test_a_counter_that_only_grows_where_it_is_waited_for() -> None:
    source = NO_STEP + "        if n % 4 == 3:\n            optimizer.step()\n            n += 1\n"
    s = assert_suspects(idle(source, stepped_at=None), "missing-optimizer-step")
    assert s.place is not None and s.place.text == "n += 1"
    assert added(s.fix.diff) == ["        n += 1"] and removed(s.fix.diff) == ["            n += 1"]
