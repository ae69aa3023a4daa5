"""missing-warmup."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from causes.scripts import added
from sickbay.conclude import diagnose
from sickbay.facts import Head, Layer, Loss, Model, Optimizer, Parameter, Scheduler
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record, place_in

POST = """\
import torch
from torch import nn
block = nn.TransformerEncoderLayer(48, 4, 96, batch_first=True)
model = Net(nn.TransformerEncoder(block, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for x, y in loader:
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PRE = POST.replace("batch_first=True", "batch_first=True, norm_first=True")
OWN = POST.replace("block = nn.TransformerEncoderLayer(48, 4, 96, batch_first=True)", "def forward(self, x):\n    x = self.norm1(x + self.attn(x))")
STEPS = 300
COLLAPSE = ([0, 1, 2, 4, 8, 32, 128, 256], [0.12, 0.08, 0.07, 0.05, 0.03, 0.01, 5e-4, 2e-4])
STEADY = ([0, 1, 2, 4, 8, 32, 128, 256], [0.12, 0.08, 0.07, 0.06, 0.05, 0.04, 0.04, 0.04])
CHANCE = math.log(20) + 0.01 * np.random.default_rng(0).standard_normal(STEPS)


SAMPLED = [0, 1, 2, 4, 8, 32, 128, 256]
BELOW_MARGINAL = falling(2.4, 1.5, STEPS)
"""It learns how often each answer is given, and no more: above guessing, so that no sign says it."""


def gradients(lower: list[float]) -> dict[str, tuple[list[int], list[float]]]:
    """Of the six blocks: the lower three as given, the upper ones steady."""
    return {f"enc.layers.{i}.linear1.weight": (SAMPLED, lower if i < 3 else [0.2] * 8) for i in range(6)}


CUT = gradients([0.1, 0.05, 0.02, 0.01, 2e-3, 1e-4, 1e-5, 1e-5])


def choked(typical: list[float], losses: Any = BELOW_MARGINAL, **given: Any) -> Record:
    """Twelve blocks whose gradients all go the same way."""
    norms = {f"enc.layers.{i}.linear1.weight": (SAMPLED, typical) for i in range(12)}
    return run(losses=losses, norms=norms, blocks=12, **given)


LATE = np.concatenate([falling(2.9, 2.2, 150), falling(2.2, 0.6, 150)])
"""It stands for half of the run, and comes down late."""
GONE = [0.5, 0.2, 0.1, 0.05, 0.03, 0.05, 0.03, 0.04]


def run(
    source: str = POST,
    losses: Any = CHANCE,
    updates: Any = COLLAPSE,
    lr: Any = 0.01,
    optimizer: str = "Adam",
    attention: bool = True,
    norms: dict[str, Any] | None = None,
    blocks: int = 6,
) -> Record:
    names = [f"enc.layers.{i}" for i in range(blocks)]
    layers = [Layer(name=f"{n}.self_attn", kind="MultiheadAttention" if attention else "Linear") for n in names]
    layers += [Layer(name=f"{n}.norm1", kind="LayerNorm") for n in names]
    parameters = [
        Parameter(name=f"{n}.linear1.weight", shape=(96, 48), size=96 * 48, layer=f"{n}.linear1", layer_kind="Linear", optimizer=0) for n in names
    ]
    parameters += [Parameter(name=f"{n}.norm1.weight", shape=(48,), size=48, layer=f"{n}.norm1", layer_kind="LayerNorm", optimizer=0) for n in names]
    rates = np.full(STEPS, lr) if isinstance(lr, float) else lr
    held = Optimizer(index=0, kind=optimizer, steps=STEPS, built_at=place_in(source, "torch.optim"), stepped_at=place_in(source, "optimizer.step"))
    head = Head(function="cross_entropy", classes=20, reduction="mean", target_dtype="int64")
    return make_record(
        series={"loss/train": losses, "lr": rates},
        families={"update_ratio": {f"{n}.linear1.weight": updates for n in names}} | ({"grad_norm": norms} if norms else {}),
        models=[Model(name="Net", layers=tuple(layers))],
        parameters=parameters,
        optimizers=[held],
        losses=[Loss(index=0, heads=(head,), backwards=STEPS, optimizers=(0,))],
        sources={"train.py": source},
    )


def thrown() -> np.ndarray:
    losses = falling(3.0, 1.0, STEPS)
    losses[1:60] += np.linspace(8, 0.5, 59)
    return losses


class TestMissingWarmup(CauseTestCase):
    cause = "missing-warmup"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run()
        yield run(OWN)
        yield run(losses=BELOW_MARGINAL, norms=CUT)
        yield choked(GONE)
        yield choked([0.5, 0.2, 0.1, 0.05, 0.03, 0.04, 0.3, 0.5], losses=LATE)
        yield choked([0.5, 0.2, 0.1, 0.05, 0.03, 0.3, 0.4, 0.3], losses=falling(2.4, 1.2, STEPS))
        yield run(losses=thrown(), updates=([0, 1, 2, 4, 8, 32, 128, 256], [0.12, 0.08, 0.07, 0.05, 0.03, 0.02, 0.01, 0.01]))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "it learns", run(losses=falling(3, 0.5, STEPS))
        yield "it learns, and gradients reach all layers", run(losses=BELOW_MARGINAL, norms=gradients([0.1, 0.1, 0.09, 0.1, 0.08, 0.06, 0.05, 0.05]))
        yield "lower gradients go late", run(losses=BELOW_MARGINAL, norms=gradients([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1e-4, 1e-5]))
        yield "lower gradients go as it is solved", run(losses=falling(2.4, 0.01, STEPS), norms=CUT)
        yield "it warms up, lower gradients go", run(losses=BELOW_MARGINAL, norms=CUT, lr=np.minimum(1, (np.arange(STEPS) + 1) / 30) * 0.01)
        yield "it warms up", run(lr=np.minimum(1, (np.arange(STEPS) + 1) / 30) * 0.01)
        yield "gradients fall to a fifth and stay there", choked([0.5, 0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.1])
        yield "gradients go and come back", choked([0.5, 0.2, 0.1, 0.05, 0.03, 0.3, 0.4, 0.3], losses=LATE)
        yield "gradients go as it learns", choked(GONE, losses=falling(2.4, 1.2, STEPS))
        yield "gradients go, and it is solved in the end", choked(GONE, losses=np.concatenate([LATE[:150], falling(2.2, 0.05, 150)]))
        yield "gradients fall to a quarter and come back", choked([0.5, 0.3, 0.2, 0.13, 0.12, 0.3, 0.4, 0.3], losses=falling(2.4, 1.2, STEPS))
        yield "gradients go and come back a little", choked([0.5, 0.2, 0.1, 0.05, 0.04, 0.06, 0.08, 0.06], losses=falling(2.4, 1.2, STEPS))
        yield "gradients go by small steps", choked(GONE, updates=([0, 1, 2, 4, 8, 256], [2e-3, 2e-3, 2e-3, 2e-3, 1e-3, 1e-5]))
        yield "plain gradient descent", run(optimizer="SGD")
        yield "no attention", run(attention=False)
        yield "a task that cannot be learned: updates stay as large", run(updates=STEADY)
        yield "small steps from the start", run(updates=([0, 1, 2, 4, 8, 256], [2e-3, 2e-3, 2e-3, 2e-3, 1e-3, 1e-5]))
        yield "a rate that no warm-up makes good", run(PRE, lr=0.5)


def test_norms_before_are_only_a_possibility() -> None:
    assert_suspects(run(PRE), "missing-warmup", "possible")


def test_a_rate_beyond_all_schedules_stays_the_first_suspect() -> None:
    s = assert_suspects(run(lr=0.5), "missing-warmup", "possible")
    assert "a tenth of the rate decides" in s.evidence[-1].text


def test_the_warm_up_is_written_into_the_loop() -> None:
    s = assert_suspects(run(), "missing-warmup")
    assert added(s.fix.diff) == [
        "warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=30)",
        "    warmup.step()",
    ]
    assert "a run with a tenth of it decides" in s.fix.text and s.place is not None and s.place.line == 5


SCHEDULED = POST.replace("for x, y", "schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, falls)\nfor x, y")


@pytest.mark.parametrize("stepped", [STEPS, 3])
def test_a_warm_up_belongs_before_the_schedule(stepped: int) -> None:
    built = place_in(SCHEDULED, "LambdaLR")
    schedule = Scheduler(kind="LambdaLR", optimizer=0, built_at=built, steps=stepped, optimizer_steps=STEPS)
    s = assert_suspects(with_facts(run(SCHEDULED), schedulers=(schedule,)), "missing-warmup")
    rises = "torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=30)"
    line = f"schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [{rises}, schedule], milestones=[30])"
    assert s.place == built and added(s.fix.diff) == ([line] if stepped == STEPS else [])


@pytest.mark.parametrize(
    ("function", "place"),
    [
        ("def falls(step):\n    done = step / 300\n    return 1 - done\n", "return 1 - done"),
        ("def falls(step):\n    if step < 100:\n        return 1.0\n    return 1 - step / 300\n", "LambdaLR"),
        ("from rates import falls\n", "LambdaLR"),
    ],
)
def test_it_belongs_into_the_function_that_computes_the_schedule(function: str, place: str) -> None:
    source = function + SCHEDULED
    schedule = Scheduler(kind="LambdaLR", optimizer=0, built_at=place_in(source, "LambdaLR"), steps=STEPS, optimizer_steps=STEPS)
    s = assert_suspects(with_facts(run(source), schedulers=(schedule,)), "missing-warmup")
    assert s.place == place_in(source, place)


def test_the_rest_folds_under_it() -> None:
    assert [c.cause for c in diagnose(run()).causes] == ["missing-warmup"]


def test_a_warm_up_of_no_steps_is_the_place() -> None:
    source = "warmup_steps = 0\n" + POST
    place = assert_suspects(choked(GONE, source=source), "missing-warmup").place
    assert place is not None and place.line == 1
