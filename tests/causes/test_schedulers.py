"""scheduler-misuse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from causes.scripts import added, at, loop_facts, removed
from sickbay.facts import Crash, Evaluation, EvaluationData, Run, Scheduler, StateLoad
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record

SOURCE = """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = StepLR(optimizer, step_size=5, gamma=0.3)
for epoch in range(12):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    report(epoch)
"""
PER_EPOCH = SOURCE.replace("        scheduler.step()\n    report", "    scheduler.step()\n    report")
NEVER = SOURCE.replace("        scheduler.step()\n", "")


def run(
    rates: Any, source: str = SOURCE, epochs: int = 12, backwards: int = 240, crash: Crash | None = None, evaluations: Any = (), **scheduler: Any
) -> Record:
    given: dict[str, Any] = {"kind": "StepLR", "optimizer": 0, "steps": 240, "optimizer_steps": 240, "stepped_gaps": 240}
    given |= {"built_at": at("scheduler = ", source)} | scheduler
    if given["steps"]:
        given.setdefault("stepped_at", at("scheduler.step(", source))
        given.setdefault("variable", "scheduler")
    facts = loop_facts(source)
    state = Run(script="train.py", steps=240, backwards=backwards, forwards=240, epochs=epochs, exit=0, finished=True)
    return make_record(
        series={"lr": np.broadcast_to(rates, 240), "loss/train": falling(2.3, 0.5, 240)},
        run=state,
        schedulers=[Scheduler(**given)],
        crash=crash,
        evaluations=evaluations,
        **facts,
    )


STEPS = np.arange(240)
DECAYING = 0.1 * 0.3 ** (STEPS // 5)
COSINE = 0.05 * (1 + np.cos(np.pi * STEPS / 240))
STEPLR = {"step_size": 5.0, "gamma": 0.3, "base_lr": 0.1}
ONCE = {"steps": 12, "stepped_gaps": 12}


def cosine(period: float) -> np.ndarray:
    return np.asarray(0.05 * (1 + np.cos(np.pi * STEPS / period)))


def plateau(given: str, lowest: float = 0.44) -> Record:
    """ReduceLROnPlateau in its mode "min", stepped with a number that rises from 0.44 to 0.8."""
    source = PER_EPOCH.replace("    scheduler.step()", f"    scheduler.step({given})")
    return run(
        0.1 * 0.2 ** (STEPS // 40), source, kind="ReduceLROnPlateau", mode="min", metric_first=0.44, metric_last=0.8, metric_lowest=lowest,
        metric_highest=0.8, **ONCE,
    )  # fmt: skip


class TestSchedulerMisuse(CauseTestCase):
    cause = "scheduler-misuse"

    def sick(self) -> Iterable[Record]:
        yield run(DECAYING, settings=STEPLR)
        yield run(DECAYING, epochs=0, evaluations=[Evaluation(index=0, passes=12)], settings=STEPLR)
        yield with_facts(run(DECAYING, epochs=0, settings=STEPLR), evaluation_data=(EvaluationData(passes=12),))
        yield run(cosine(12), kind="CosineAnnealingLR", settings={"T_max": 12.0, "eta_min": 0.0})
        yield run(0.004, PER_EPOCH, kind="OneCycleLR", settings={"total_steps": 240.0, "base_lr": 0.1}, **ONCE)
        yield run(0.1, NEVER, steps=0, stepped_gaps=0, settings=STEPLR)
        yield run(
            cosine(120),
            kind="CosineAnnealingLR",
            steps=480,
            doubled_gaps=240,
            settings={"T_max": 240.0},
            also_stepped_at=(at("report(epoch)", SOURCE),),
        )
        yield run(0.1, kind="StepLR", optimizer=1, optimizer_steps=0, settings=STEPLR)
        yield run(0.1, crash=Crash(kind="ValueError", message="Tried to step 12 times. The specified number of total steps is 10"))
        yield run(
            0.1 * 0.1 ** (STEPS // 60), PER_EPOCH, kind="ReduceLROnPlateau", mode="max", metric_first=1.0, metric_last=0.3, metric_lowest=0.3,
            metric_highest=1.0, **ONCE,
        )  # fmt: skip
        yield plateau("accuracy")
        yield plateau("metrics['val_f1']")
        yield run(COSINE * 0.5 + 0.05, kind="OneCycleLR", backwards=960, settings={"total_steps": 960.0})

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "cosine over all batches", run(COSINE, kind="CosineAnnealingLR", settings={"T_max": 240.0})
        yield "one cycle over all batches", run(np.minimum(STEPS / 60, 1.3 - STEPS / 190) / 10, kind="OneCycleLR", settings={"total_steps": 240.0})
        yield "step decay per epoch", run(0.1 * 0.3 ** (STEPS // 100), PER_EPOCH, settings=STEPLR, **ONCE)
        yield (
            "cosine per epoch",
            run(0.05 * (1 + np.cos(np.pi * (STEPS // 20) / 12)), PER_EPOCH, kind="CosineAnnealingLR", settings={"T_max": 12.0}, **ONCE),
        )
        yield "slow decay per batch", run(0.1 * 0.995**STEPS, kind="ExponentialLR", settings={"gamma": 0.995})
        yield "restarts", run(0.05 * (1 + np.cos(np.pi * (STEPS % 40) / 40)), kind="CosineAnnealingWarmRestarts", settings={"T_0": 40.0})
        yield "stopped early", run(COSINE * 0.1 + 0.09, kind="CosineAnnealingLR", settings={"T_max": 2400.0})
        yield "short run of a long plan, per epoch", run(0.1, PER_EPOCH, kind="CosineAnnealingLR", settings={"T_max": 100.0}, **ONCE)
        yield "a part of another", run(0.1, NEVER, steps=0, stepped_gaps=0, part=True)
        yield "a step of the user's own", run(0.1, NEVER, steps=0, stepped_gaps=0, observed=False)
        yield "a plateau that was met", run(
            0.1 * 0.1 ** (STEPS // 100), PER_EPOCH, kind="ReduceLROnPlateau", mode="min", metric_first=1.0, metric_last=0.3, metric_lowest=0.3,
            metric_highest=1.0, **ONCE,
        )  # fmt: skip
        yield "a validation loss that rises", plateau("val_loss")
        yield "a score that falls first", plateau("accuracy", lowest=0.2)
        yield "stepped per micro-batch, planned so", run(COSINE, kind="CosineAnnealingLR", steps=960, doubled_gaps=240, settings={"T_max": 960.0})
        yield "a warm-up that is over", run(np.minimum(1.0, (STEPS + 1) / 50) / 10, kind="LambdaLR", settings={"base_lr": 0.1})


def test_a_warm_up_that_never_ends() -> None:
    record = run((STEPS // 20 + 1) / 1000, PER_EPOCH, kind="LambdaLR", settings={"base_lr": 0.1}, **ONCE)
    assert_suspects(record, "scheduler-misuse", "likely")


def test_a_cosine_that_goes_up_again_is_likely_an_accident() -> None:
    record = run(cosine(130), kind="CosineAnnealingLR", epochs=0, settings={"T_max": 130.0})
    assert_suspects(record, "scheduler-misuse", "likely")


def test_the_fix_moves_it_out_of_the_loop() -> None:
    suspicion = assert_suspects(run(DECAYING, settings=STEPLR), "scheduler-misuse")
    assert (removed(suspicion.fix.diff), added(suspicion.fix.diff)) == (["        scheduler.step()"], ["    scheduler.step()"])
    assert suspicion.place == at("scheduler.step()", SOURCE)


def test_or_into_the_loop() -> None:
    suspicion = assert_suspects(run(0.004, PER_EPOCH, kind="OneCycleLR", settings={"total_steps": 240.0}, **ONCE), "scheduler-misuse")
    assert (removed(suspicion.fix.diff), added(suspicion.fix.diff)) == (["    scheduler.step()"], ["        scheduler.step()"])


def test_or_adds_it() -> None:
    suspicion = assert_suspects(run(0.1, NEVER, steps=0, stepped_gaps=0, settings=STEPLR), "scheduler-misuse")
    assert added(suspicion.fix.diff) == ["    scheduler.step()"]
    assert suspicion.place == at("scheduler = ", NEVER)


def test_a_call_that_waits_for_a_condition_is_no_proof() -> None:
    waiting = NEVER.replace("    report(epoch)", "    if epoch > 50:\n        scheduler.step()")
    assert_suspects(run(0.1, waiting, steps=0, stepped_gaps=0, stepped_at=None, settings=STEPLR), "scheduler-misuse", "likely")


REBUILT = "def warm(optimizer):\n    return LambdaLR(optimizer, lambda step: min(1.0, step / 80))\n\n\n" + SOURCE.replace(
    "scheduler = StepLR(optimizer, step_size=5, gamma=0.3)\n", ""
).replace("in range(12):\n", "in range(12):\n    scheduler = warm(optimizer)\n")


def again(rates: np.ndarray, **given: Any) -> Record:
    """Twelve schedulers, one after the other, each stepped twenty times."""
    record = run(rates, REBUILT, **{"kind": "LambdaLR", "steps": 20, "settings": {"base_lr": 0.1}, "built_at": at("LambdaLR", REBUILT)} | given)
    return with_facts(record, schedulers=tuple(record.facts.schedulers) * 12)


def test_a_scheduler_that_is_built_anew_in_every_epoch() -> None:
    suspicion = assert_suspects(again(0.1 * (STEPS % 20) / 80), "scheduler-misuse", "proven")
    assert "built anew 12 times" in suspicion.evidence[0].text and "0.24 of the 0.1" in suspicion.evidence[0].text
    assert suspicion.place is not None and suspicion.place.text is not None and "scheduler = warm(optimizer)" in suspicion.place.text
    assert_suspects(again(cosine(240)[STEPS % 20], kind="CosineAnnealingLR", settings={"T_max": 240.0}), "scheduler-misuse", "proven")


def test_warm_restarts_are_meant() -> None:
    assert_silent(again(cosine(20)[STEPS % 20], kind="CosineAnnealingLR", settings={"T_max": 20.0}), "scheduler-misuse")
    assert_silent(again(cosine(20)[STEPS % 20]), "scheduler-misuse", "of unknown length: the rate falls in each")


def test_the_constructor_is_given_what_it_lacks() -> None:
    source = "scheduler = ReduceLROnPlateau(optimizer, factor=0.2)\n" + PER_EPOCH.replace("    scheduler.step()", "    scheduler.step(accuracy)")
    record = run(
        0.1 * 0.2 ** (STEPS // 40), source, kind="ReduceLROnPlateau", mode="min", metric_first=0.44, metric_last=0.8, metric_lowest=0.44,
        metric_highest=0.8, built_at=Place("train.py", 1), **ONCE,
    )  # fmt: skip
    diff = assert_suspects(record, "scheduler-misuse").fix.diff
    assert added(diff) == ['scheduler = ReduceLROnPlateau(optimizer, factor=0.2, mode="max")']


FOLDS = """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=10)
for fold in folds:
    model.load_state_dict(start)
    for epoch in range(10):
        for x, y in fold:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
"""


def in_folds(losses: Any, rates: Any, first: int = 0) -> Record:
    """Three folds of 80 steps; the weights are set back at steps 0, 80 and 160."""
    record = run(rates, FOLDS, kind="LinearLR", settings={"total_iters": 10.0, "base_lr": 0.1}, steps=30, stepped_gaps=30)
    loads = [
        StateLoad(
            module="Net", place=at("load_state_dict", FOLDS), step=step, own=4, given=4, matched=4, weights=2, kept=2, trained=True, called=True
        )
        for step in (first, 80, 160)
    ]
    return with_series(with_facts(record, state_loads=tuple(loads)), losses)


def with_series(record: Record, losses: Any) -> Record:
    return make_record(
        series={"lr": record.series("lr").values, "loss/train": losses}, sources=dict(record.sources),
        **{name: getattr(record.facts, name) for name in ("run", "schedulers", "optimizers", "losses", "state_loads")},
    )  # fmt: skip


ONE_FOLD = falling(0.7, 0.05, 80)
ONLY_THE_FIRST = np.concatenate([ONE_FOLD, np.full(160, 0.7)])
LINEAR = 0.1 * np.clip(1 - STEPS // 8 / 10, 0.0, None)


def test_a_schedule_that_ended_with_the_first_fold() -> None:
    suspicion = assert_suspects(in_folds(ONLY_THE_FIRST, LINEAR), "scheduler-misuse", certainty="proven")
    assert suspicion.place is not None and suspicion.place.line == 4
    assert [line.strip().partition(" ")[0] for line in added(suspicion.fix.diff)] == ["optimizer", "scheduler"]
    assert all(line.startswith("    ") for line in added(suspicion.fix.diff))


def test_weights_that_are_set_back_to_the_best_are_no_new_beginning() -> None:
    assert_silent(in_folds(np.concatenate([ONE_FOLD, np.full(160, 0.05)]), LINEAR), "scheduler-misuse")
    assert_silent(in_folds(ONLY_THE_FIRST, LINEAR, first=40), "scheduler-misuse")


def test_a_schedule_over_all_folds_is_long_enough() -> None:
    assert_silent(in_folds(np.tile(ONE_FOLD, 3), 0.1 * (1 - STEPS / 240)), "scheduler-misuse")


def test_a_rate_that_is_gone_altogether_needs_no_epochs() -> None:
    """Nothing tells how long an epoch is, and the loss is low."""
    assert_suspects(run(0.1 * 0.5 ** (STEPS // 5), epochs=0, settings=STEPLR), "scheduler-misuse", "likely")
    assert_silent(run(0.1 * 0.5 ** (STEPS // 12), epochs=0, settings=STEPLR), "scheduler-misuse")
