"""Schedulers as seen: where built, how often stepped against their optimizer, from which lines, with which numbers."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

LOOP = """
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = MAKE
for epoch in range(5):
    for batch in range(8):
        optimizer.zero_grad()
        model(torch.randn(6, 4)).pow(2).mean().backward()
        optimizer.step()
        BATCH
    EPOCH
"""


def loop(make: str, batch: str = "pass", epoch: str = "pass") -> str:
    return "from torch.optim.lr_scheduler import *\n" + LOOP.replace("MAKE", make).replace("BATCH", batch).replace("EPOCH", epoch)


def test_once_per_batch(script: WatchScript) -> None:
    run = script(loop("StepLR(optimizer, step_size=3, gamma=0.5)", "schedule.step()"))
    (s,) = run.facts.schedulers
    assert (s.kind, s.variable, s.optimizer, s.steps, s.optimizer_steps) == ("StepLR", "schedule", 0, 40, 40)
    assert (s.stepped_gaps, s.doubled_gaps, s.before_first) == (40, 0, 0)
    assert s.settings == {"step_size": 3, "gamma": 0.5, "base_lr": 0.1}
    assert run.at(s.built_at, "StepLR(") and run.at(s.stepped_at, "schedule.step()")


def test_once_per_epoch_and_without_sampling(script: WatchScript) -> None:
    (s,) = script(loop("CosineAnnealingLR(optimizer, 5)", epoch="schedule.step()"), detail_steps=1).facts.schedulers
    assert (s.steps, s.optimizer_steps, s.stepped_gaps, s.settings["T_max"]) == (5, 40, 5, 5)


def test_never(script: WatchScript) -> None:
    (s,) = script(loop("LambdaLR(optimizer, lambda n: min(1, (n + 1) / 100))")).facts.schedulers
    assert (s.steps, s.optimizer_steps, s.stepped_at) == (0, 40, None)


def test_two_lines(script: WatchScript) -> None:
    run = script(
        loop("ExponentialLR(optimizer, 0.99)", "schedule.step(); tick()").replace("for epoch", "def tick():\n    schedule.step(None)\nfor epoch")
    )
    (s,) = run.facts.schedulers
    assert (s.steps, s.stepped_gaps, s.doubled_gaps, len(s.also_stepped_at)) == (80, 40, 40, 1)
    assert run.at(s.also_stepped_at[0], "schedule.step(None)")


def test_parts_of_another(script: WatchScript) -> None:
    made = "SequentialLR(optimizer, [LinearLR(optimizer, 0.1, total_iters=4), ExponentialLR(optimizer, 0.9)], milestones=[4])"
    parts = script(loop(made, "schedule.step()")).facts.schedulers
    assert [(s.kind, s.part, s.steps) for s in parts] == [("LinearLR", True, 0), ("ExponentialLR", True, 0), ("SequentialLR", False, 40)]


def test_what_a_plateau_is_given(script: WatchScript) -> None:
    (s,) = script(loop("ReduceLROnPlateau(optimizer, mode='max')", epoch="schedule.step(1.0 / (1 + epoch))")).facts.schedulers
    assert (s.mode, s.metric_first, s.metric_last, s.metric_lowest, s.metric_highest) == ("max", 1.0, 0.2, 0.2, 1.0)


def test_a_step_of_the_users_own_is_not_seen(script: WatchScript) -> None:
    own = "class Own(StepLR):\n    def step(self, epoch=None):\n        self.last_epoch = 1\nmodel = nn"
    (s,) = script(loop("Own(optimizer, 3)", "schedule.step()").replace("model = nn", own, 1)).facts.schedulers
    assert not s.observed


@pytest.mark.filterwarnings("ignore:Detected call of")  # torch's own
def test_another_optimizer_trains(script: WatchScript) -> None:
    (s,) = script(loop("StepLR(torch.optim.SGD(model.parameters(), lr=0.1), 3)", "schedule.step()")).facts.schedulers
    assert (s.optimizer, s.optimizer_steps, s.steps) == (1, 0, 40)
