"""A finite loss whose gradient is not: noticed in its own step, before the weights are changed, with the operation and its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from observe.conftest import WatchScript
from observe.watched import exact, watching
from sickbay.observe.forensics import ForensicsWatch
from sickbay.record.reader import read_record
from sickbay.settings import Settings

LATE = 45
ASLEEP = 700
"""By then very short steps are slept through: nothing but the loss is looked at, and a few gradients."""
BACKWARD = {
    "sqrt of zero": ("sqrt", "d = ((z * on) ** 2).sum(1)\nd = torch.sqrt(d)  # HERE\nloss = loss + d.mean()"),
    "the distance of equal things": ("sqrt", "d = (z - (z.detach() if off else 0)).pow(2).sum(1).sqrt()  # HERE\nloss = loss + d.mean()"),
    "a root as a power": ("pow", "d = ((z * on) ** 2).sum(1) ** 0.5  # HERE\nloss = loss + d.mean()"),
    "a power below one": ("pow", "d = (z * on).abs().pow(0.3)  # HERE\nloss = loss + d.mean()"),
    "acos at one": ("acos", "c = torch.tanh(z) * on + off\nloss = loss + torch.acos(c).mean()  # HERE"),
    "where with a logarithm": ("log", "q = z.sigmoid() * on\nloss = loss + torch.where(q > 0, torch.log(q), torch.zeros(())).mean()  # HERE"),
    "where with a division": ("rdiv", "q = z.sigmoid() * on\nloss = loss + torch.where(q > 0, 1 / q, q).mean()  # HERE"),
    "where with an exponential": ("exp", "q = z.sigmoid() + 1000 * off\ne = torch.exp(q)  # HERE\nloss = loss + torch.where(q < 50, e, q).mean()"),
    "where with a root": ("sqrt", "q = z.sigmoid() - 2 * off\nloss = loss + torch.where(q > 0, q.sqrt(), q).mean()  # HERE"),
    "where with x over its norm": (
        "div",
        "q = z * on\nn = q.norm(dim=1, keepdim=True)\nu = q / n  # HERE\nloss = loss + torch.where(n > 0, u, q).sum()",
    ),
    "a logarithm, then clamped": ("log", "q = z.sigmoid() * on\nloss = loss - torch.log(q).clamp(min=-100).mean()  # HERE"),
    "x log x": ("xlogy", "q = z.sigmoid() * on\nloss = loss + torch.xlogy(q, q).mean()  # HERE"),
    "hypot": ("hypot", "loss = loss + torch.hypot(z[:, 0] * on, z[:, 1] * on).mean()  # HERE"),
    "zero times an overflow": ("exp", "e = torch.exp(z.sigmoid() + 1000 * off)  # HERE\nloss = loss + torch.nan_to_num(e * on).mean() * 0.01"),
    "root mean square": ("rsqrt", "q = z * on\nr = torch.rsqrt(q.pow(2).mean(1, keepdim=True))  # HERE\nloss = loss + torch.nan_to_num(q * r).sum()"),
}
PROGRAM = """
x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
model = MODEL
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
seen = []
for step in range(LATE + 3):
    off = int(step == LATE)
    on = 1 - off
    optimizer.zero_grad()
    z = model(x)
    loss = F.cross_entropy(z, y)
BODY
    loss.backward()
    if off:
        seen.append(loss.isfinite().item() and not all(p.grad.isfinite().all() for p in model.parameters()))
        for p in model.parameters():
            KEEP
    optimizer.step()
"""
MLP = "nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))"


def program(body: str, late: int, model: str = MLP, keep: str = "pass") -> str:
    text = PROGRAM.replace("LATE", str(late)).replace("MODEL", model).replace("KEEP", keep)
    return text.replace("BODY", "\n".join(f"    {line}" for line in body.splitlines()))


@pytest.mark.parametrize("late", [1, LATE, ASLEEP])
@pytest.mark.parametrize("name", BACKWARD)
def test_operation_and_line(name: str, late: int, script: WatchScript) -> None:
    op, body = BACKWARD[name]
    run = script(program(body, late), detail_steps=3)
    assert run.names["seen"] == [True], "no such gradient in this torch"
    (found,) = run.loss.invalid
    assert (found.step, found.backward, found.before_update, found.parameters_finite) == (late, True, True, True)
    assert (found.origin, found.op) == ("operation", op)
    assert run.at(found.place, "# HERE"), found.place
    assert found.count and found.parameters and found.times == 3


@pytest.mark.parametrize("late", [1, LATE])
def test_rows(late: int, script: WatchScript) -> None:
    body = "keep = torch.ones(16, 1); keep[[4, 9]] = float(on)\nd = torch.sqrt(((z * keep) ** 2).sum(1))  # HERE\nloss = loss + d.mean()"
    (found,) = script(program(body, late), detail_steps=3).loss.invalid
    assert (found.where, found.rows, found.lowest) == ((4,), (4, 9), 0.0)


MODELS = {
    "mlp": MLP,
    "without biases": "nn.Sequential(nn.Linear(6, 800, bias=False), nn.ReLU(), nn.Linear(800, 8, bias=False), nn.Tanh(), nn.Linear(8, 3, bias=False))",
    "cnn": "nn.Sequential(nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))",
    "cnn without biases": (
        "nn.Sequential(nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 80, 3, bias=False), nn.ReLU(), nn.Conv1d(80, 80, 3, bias=False), nn.ReLU(), "
        "nn.Flatten(), nn.Linear(160, 3, bias=False))"
    ),
    "rnn": "type('R', (nn.Module,), {'__init__': lambda s: (nn.Module.__init__(s), setattr(s, 'r', nn.LSTM(1, 8, batch_first=True)), "
    "setattr(s, 'o', nn.Linear(8, 3)))[0], 'forward': lambda s, x: s.o(s.r(x.unsqueeze(-1))[0][:, -1])})()",
    "transformer": "nn.Sequential(nn.Unflatten(1, (3, 2)), nn.Linear(2, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Flatten(), nn.Linear(24, 3))",
    "embedding": "type('E', (nn.Module,), {'__init__': lambda s: (nn.Module.__init__(s), setattr(s, 'e', nn.Embedding(5000, 4)), "
    "setattr(s, 'o', nn.Linear(24, 3)))[0], 'forward': lambda s, x: s.o(s.e((x.abs() * 1000).long().clamp(max=4999)).flatten(1))})()",
    "mostly dead units": "nn.Sequential(nn.Linear(6, 64), nn.Hardtanh(-0.01, 0.01), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))",
}


@pytest.mark.parametrize("late", [LATE, ASLEEP])
@pytest.mark.parametrize("model", MODELS)
def test_noticed_in_every_kind_of_net(model: str, late: int, script: WatchScript) -> None:
    """One sample of the batch is enough."""
    op, body = "sqrt", "keep = torch.ones(16, 1); keep[7] = float(on)\nd = torch.sqrt(((z * keep) ** 2).sum(1))  # HERE\nloss = loss + d.mean()"
    run = script(program(body, late, MODELS[model]), detail_steps=3)
    assert run.names["seen"] == [True]
    (found,) = run.loss.invalid
    assert (found.step, found.backward, found.op, found.rows) == (late, True, op, (7,))
    assert run.at(found.place, "# HERE")


def test_each_optimizer_for_itself(script: WatchScript) -> None:
    run = script(
        """
x = torch.randn(16, 4)
one, two = nn.Linear(4, 4), nn.Linear(4, 4)
first, second = torch.optim.Adam(one.parameters()), torch.optim.Adam(two.parameters())
for step in range(50):
    off = int(step == 41)
    first.zero_grad()
    (one(x) ** 2).mean().backward()
    first.step()
    second.zero_grad()
    out = two(x)
    loss = (out ** 2).mean() + torch.sqrt((out * (1 - off)).abs().sum(1)).mean()  # HERE
    loss.backward()
    second.step()
""",
        detail_steps=3,
    )
    fine, broken = run.facts.losses
    assert fine.invalid == () and len(broken.invalid) == 1
    assert broken.invalid[0].op == "sqrt" and run.at(broken.invalid[0].place, "# HERE")


@pytest.mark.parametrize("late", [20, 400])
@pytest.mark.parametrize(
    "update",
    [
        "loss.backward()\n    with torch.no_grad():\n        w -= 0.001 * w.grad; b -= 0.001 * b.grad\n    w.grad = b.grad = None",
        "gw, gb = torch.autograd.grad(loss, [w, b])\n    with torch.no_grad():\n        w -= 0.001 * gw; b -= 0.001 * gb",
    ],
)
def test_weights_updated_by_hand(update: str, late: int, script: WatchScript) -> None:
    run = script(
        f"""
x = torch.randn(16, 4)
w, b = torch.randn(4, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
for step in range({late + 2}):
    off = int(step == {late})
    out = (x @ w + b) * (1 - off)
    loss = torch.sqrt((out ** 2).sum(1)).mean()  # HERE
    {update}
""",
        detail_steps=3,
    )
    (found,) = run.loss.invalid
    assert (found.backward, found.op) == (True, "sqrt") and abs(found.step - late) <= 1
    assert run.at(found.place, "# HERE")


def test_healthy_gradients_are_not_noted(script: WatchScript) -> None:
    run = script(
        program("d = torch.sqrt((z ** 2).sum(1) + 1e-12)\nn = z.norm(dim=1)\nloss = loss + d.mean() + (z * on * 0).norm() + z.std(0).mean()", 300)
    )
    assert run.names["seen"] == [False] and run.loss.invalid == ()


def test_accumulated_passes(script: WatchScript) -> None:
    """The bad one is not the last before the step."""
    run = script(
        """
x = torch.randn(16, 4)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(50):
    optimizer.zero_grad()
    for part in range(4):
        off = int(step == 41 and part == 1)
        loss = torch.sqrt(((model(x) * (1 - off)) ** 2).sum(1)).mean() / 4  # HERE
        loss.backward()
    optimizer.step()
""",
        detail_steps=3,
    )
    (found,) = run.loss.invalid
    assert (found.step, found.op, found.lowest) == (41, "sqrt", 0.0) and run.at(found.place, "# HERE")


def test_scalers_skip_steps_on_purpose(script: WatchScript) -> None:
    run = script(
        """
x = torch.randn(16, 4)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 127)
for step in range(50):
    optimizer.zero_grad()
    loss = (model(x) * 100).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
    )
    assert run.loss.invalid == () and run.facts.precision.skipped > 0


def test_nothing_is_held_after_a_step(script: WatchScript) -> None:
    run = script(
        """
import weakref
from sickbay.observe import starting
x = torch.randn(16, 4)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
left = []
for step in range(400):
    optimizer.zero_grad()
    d = torch.sqrt((model(x) ** 2).sum(1) + 1e-6)
    seen = weakref.ref(d)
    loss = d.mean()
    loss.backward()
    optimizer.step()
    del d, loss
    left.append(seen() is not None)
held = [len(o.held) for o in starting.current.observers if o.name == "forensics"]
"""
    )
    assert not any(run.names["left"][16:]) and run.names["held"] == [0]


@pytest.mark.parametrize("moment", ["glance", "hold", "gradients_broken"])
def test_a_mistake_of_ours_is_contained(moment: str, script: WatchScript, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise ZeroDivisionError("injected")

    if moment == "gradients_broken":
        monkeypatch.setattr(ForensicsWatch, moment, fails)
    else:
        monkeypatch.setattr(f"sickbay.observe.forensics.{'gradients.Guard.broken' if moment == 'glance' else 'slopes.Path.hold'}", fails)
    run = script(program(BACKWARD["sqrt of zero"][1], 40), detail_steps=3)
    (failed,) = [limit for limit in run.facts.limits if "injected" in limit.why]
    assert "forensics" in failed.why and run.facts.run.steps == 43


def test_looking_changes_nothing(tmp_path: Path) -> None:
    """Asleep or awake, with hooks on saved tensors, under checkpointing, up to NaN and beyond: every number and every call of a hook is the same."""

    def train() -> list[bytes]:
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        seen, unpacked = [], [0]

        def unpack(t: torch.Tensor) -> torch.Tensor:
            unpacked[0] += 1
            return t

        for step in range(600):
            x, y = torch.randn(8, 6), torch.randint(0, 4, (8,))
            optimizer.zero_grad()
            z = model(x)
            if step % 3 == 0:
                with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
                    loss = F.cross_entropy(z, y) + torch.sqrt((z**2).sum(1)).mean()
            else:
                loss = F.cross_entropy(z, y) + checkpoint(lambda h: torch.sqrt((h**2).sum(1)), z, use_reentrant=False).mean()
            if step == 580:
                loss = loss + torch.sqrt(z * 0).sum()
            loss.backward()
            optimizer.step()
            seen += [loss.detach().numpy().tobytes(), model[0].weight.detach().numpy().tobytes()]
        return [*seen, repr(unpacked).encode(), torch.get_rng_state().numpy().tobytes()]

    plain = train()
    for number, settings in enumerate((exact(), Settings())):
        with watching(tmp_path / f"{number}.sickbay", settings) as session:
            assert train() == plain
            assert not [why for why in session.limits.values() if "forensics" in why]
        (loss,) = read_record(tmp_path / f"{number}.sickbay").facts.losses
        assert [(i.step, i.backward) for i in loss.invalid] == [(580, True)]
