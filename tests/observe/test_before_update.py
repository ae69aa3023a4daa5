"""However a script updates its weights: what is not finite is noticed in its own step, and the incident holds the weights from before it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from observe.conftest import WatchScript
from sickbay.incidents import load_incident

BEGIN = """
class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (float("nan") if off else 1.0)

def deep():
    return nn.Sequential(*[layer for _ in range(12) for layer in (nn.Linear(6, 6), nn.Tanh())], nn.Linear(6, 3))

x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
off, before = False, None
def begin(step, parameters):
    global off, before
    off = step == LATE
    if off:
        before = [p.detach().clone() for p in parameters]
def root(z):  # its slope is infinite at zero
    return torch.sqrt(((z * (not off)) ** 2).sum(1)).mean()
def log(z):  # NaN itself, with a finite slope
    return torch.log(z.sigmoid().mean() - 2 * off)
"""
CLOSURE = """
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = OPTIMIZER
def closure():
    optimizer.zero_grad()
    z = model(x)
    loss = F.cross_entropy(z, y) + root(z)
    loss.backward()
    return loss
for step in range(LATE + 2):
    begin(step, model.parameters())
    optimizer.step(closure)
"""
LOOP = """
MODEL
optimizer = torch.optim.SGD(parameters, lr=1e-3)
for step in range(LATE + 2):
    begin(step, parameters)
    optimizer.zero_grad()
    LOSS
    optimizer.step()
"""
NET = "model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)); parameters = list(model.parameters())"
ONE = "z = model(x); loss = F.cross_entropy(z, y) + TERM; "
BY_HAND = """
MODEL
for step in range(LATE + 2):
    begin(step, parameters)
    z = model(x)
    loss = F.cross_entropy(z, y) + TERM
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for p, g in zip(parameters, gradients):
            p -= 1e-3 * g
"""
GIVEN = "[setattr(p, 'grad', g) for p, g in zip(parameters, torch.autograd.grad(loss, parameters))]"


def loop(loss: str, model: str = NET) -> str:
    return LOOP.replace("MODEL", model).replace("LOSS", loss)


def by_hand(term: str) -> str:
    return BY_HAND.replace("MODEL", NET).replace("TERM", term)


WAYS = {
    "a closure": CLOSURE.replace("OPTIMIZER", "torch.optim.SGD(model.parameters(), lr=1e-3)"),
    "LBFGS": CLOSURE.replace("OPTIMIZER", "torch.optim.LBFGS(model.parameters(), lr=1e-4, max_iter=3)"),
    "autograd.grad": by_hand("root(z)"),
    "autograd.grad of NaN": by_hand("log(z)"),
    "autograd.grad and an optimizer": loop(ONE.replace("TERM", "root(z)") + GIVEN),
    "autograd.grad of NaN and an optimizer": loop(ONE.replace("TERM", "log(z)") + GIVEN),
    "several losses at once": loop("z = model(x); torch.autograd.backward([F.cross_entropy(z, y), log(z)])"),
    "sparse gradients": loop(
        "z = model(x.abs().long().clamp(max=8)[:, 0]); (F.cross_entropy(z, y) + root(z)).backward()",
        "model = nn.Embedding(9, 3, sparse=True); parameters = list(model.parameters())",
    ),
    "a second branch": loop(
        "(F.cross_entropy(one(x), y) + F.cross_entropy(Bad.apply(two(x)), y)).backward()",
        "one, two = deep(), deep(); parameters = [*one.parameters(), *two.parameters()]",
    ),
    "one bias": loop(
        "F.cross_entropy(F.linear(model[:-1](x), model[-1].weight, Bad.apply(model[-1].bias)), y).backward()",
        "model = deep(); parameters = list(model.parameters())",
    ),
}


def weights(folder: Path) -> tuple[int, list[torch.Tensor]]:
    (path,) = folder.glob("*.incident.json")
    incident = load_incident(path)
    return incident.description.step, [w for model in incident.weights.values() for w in model.values()]


@pytest.mark.parametrize("late", [0, 5, 130])
@pytest.mark.parametrize("way", WAYS)
def test_in_its_own_step(way: str, late: int, script: WatchScript, tmp_path: Path) -> None:
    run = script((BEGIN + WAYS[way]).replace("LATE", str(late)), detail_steps=3)
    step, kept = weights(tmp_path)
    assert step == late
    assert all(any(torch.equal(w, k) for k in kept) for w in run.names["before"])


@pytest.mark.parametrize("late", [0, 5, 130])
def test_tensors_of_no_module(late: int, script: WatchScript, tmp_path: Path) -> None:
    """On the first step nothing is known of them but that the loss was made from them."""
    text = """
w, b = torch.randn(6, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
for step in range(LATE + 2):
    begin(step, [w, b])
    root(x @ w + b).backward()
    with torch.no_grad():
        for p in (w, b):
            p -= 1e-3 * p.grad
            p.grad = None
"""
    run = script((BEGIN + text).replace("LATE", str(late)), detail_steps=3)
    step, kept = weights(tmp_path)
    assert step == late and all(any(torch.equal(w, k) for k in kept) for w in run.names["before"])


def test_what_is_compiled(script: WatchScript, tmp_path: Path) -> None:
    text = loop("z = compiled(x); (F.cross_entropy(z, y) + root(z)).backward()", NET + "; compiled = torch.compile(model, backend='aot_eager')")
    run = script((BEGIN + text).replace("LATE", "30"), detail_steps=3)
    step, kept = weights(tmp_path)
    assert step == 30 and all(any(torch.equal(w, k) for k in kept) for w in run.names["before"])


def test_the_norm_that_a_script_clips_by_tells_of_all_gradients(script: WatchScript, tmp_path: Path) -> None:
    """Seven branches: more than are looked at one by one."""
    clip = "torch.nn.utils.clip_grad_norm_(parameters, 1.0)"
    losses = "sum(F.cross_entropy(m(x), y) for m in nets[:-1]) + F.cross_entropy(Bad.apply(nets[-1](x)), y)"
    text = loop(
        f"({losses}).backward(); {clip}", "nets = [nn.Linear(6, 3) for _ in range(7)]; parameters = [p for m in nets for p in m.parameters()]"
    )
    run = script((BEGIN + text).replace("LATE", "130"), detail_steps=3)
    step, kept = weights(tmp_path)
    assert step == 130 and all(any(torch.equal(w, k) for k in kept) for w in run.names["before"])


def test_gradients_that_are_written_over_are_no_old_ones(script: WatchScript) -> None:
    """By torch.autograd.grad, beside an optimizer: nothing is added up, and the loss is training's."""
    text = loop(ONE.replace("TERM", "0") + GIVEN).replace("    optimizer.zero_grad()\n", "")
    run = script((BEGIN + text).replace("LATE", "60"), detail_steps=100)
    (optimizer,) = run.facts.optimizers
    assert optimizer.stale_intervals == 0
    assert len(run.record.series("loss/train").steps) >= 60


def test_gradients_that_are_asked_for_beside_backward_are_no_training(script: WatchScript) -> None:
    """Weights for several losses (GradNorm, meta-learning): the backward pass is what trains."""
    grad = "gradients = torch.autograd.grad(loss, parameters, retain_graph=True); loss.backward()"
    run = script((BEGIN + loop(ONE.replace("TERM", "0") + grad)).replace("LATE", "40"), detail_steps=100)
    assert len(run.facts.losses) == 1 and run.facts.run.backwards == 42


def test_losses_that_are_no_plain_numbers_are_left_alone(script: WatchScript) -> None:
    """Complex ones, and those inside torch.func: asking them whether they are finite would raise in the middle of the user's script."""
    text = """
import torch
from torch import nn
from torch.func import functional_call, grad, vmap
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def loss_of(weights, x):
    return functional_call(model, weights, (x,)).pow(2).mean()
for _ in range(12):
    x = torch.randn(8, 4)
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        each = vmap(grad(loss_of), in_dims=(None, 0))({k: v.detach() for k, v in model.named_parameters()}, x)
z = torch.randn(3, dtype=torch.cfloat, requires_grad=True)
a, b = (z * z).sum(), (z * 2).sum()
torch.autograd.grad(a, z, grad_outputs=torch.ones_like(a), retain_graph=True)
torch.autograd.backward([a, b], [torch.ones_like(a), torch.ones_like(b)])
"""
    assert script(text).record.facts.run.steps >= 12
