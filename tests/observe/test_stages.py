"""A run that begins anew with another model and another loss on the same lines: its structure is read again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from observe.conftest import WatchScript
from sickbay.observe.graph import REPEATS, GraphWatch

SCRIPT = """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))


def fit(model, objective, steps):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        opt.zero_grad()
        loss = objective(model(x))
        loss.backward()
        opt.step()


teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
fit(teacher, lambda out: F.cross_entropy(out, y), 130)
fit(student, lambda out: F.kl_div(out, F.softmax(teacher(x).detach(), 1), reduction="batchmean"), 20)
"""


def test_the_second_stage_is_read_too(script: WatchScript) -> None:
    run = script(SCRIPT)
    assert {h.function for loss in run.facts.losses for h in loss.heads} == {"cross_entropy", "kl_div"}


def test_an_optimizer_for_each_task_does_not_make_every_step_dear(script: WatchScript) -> None:
    tasks = SCRIPT.partition("teacher, student")[0] + "for _ in range(60):\n    fit(nn.Linear(4, 3), lambda out: F.cross_entropy(out, y), 5)\n"
    (loss,) = script(tasks).facts.losses
    assert loss.graph_reads < 30


def test_passes_of_steps_that_were_slept_through_do_not_count_for_the_next_one() -> None:
    watch = GraphWatch(cast(Any, SimpleNamespace(at_forward=False)))
    watch.repeats["a place"] = 2 * REPEATS
    watch.resting = True
    watch.step_planned()
    assert not watch.repeats and not watch.resting
