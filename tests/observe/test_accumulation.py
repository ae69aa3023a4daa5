"""Backward passes per step, and by what factor each loss is scaled."""

from __future__ import annotations

from typing import Any

import pytest

from observe.conftest import WatchScript

LOOP = """
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
    BACKWARD
    if (step + 1) % 4 == 0:
        BEFORE
        optimizer.step()
        optimizer.zero_grad()
"""


def loop(backward: str, before: str = "pass") -> str:
    return LOOP.replace("BACKWARD", backward.replace("\n", "\n    ")).replace("BEFORE", before)


SCALES = {
    "F.cross_entropy(model(x), y).backward()": 1.0,
    "(F.cross_entropy(model(x), y) / 4).backward()": 0.25,
    "(0.5 * F.cross_entropy(model(x), y)).backward()": 0.5,
    "loss = F.cross_entropy(model(x), y) * 0.25\nloss.backward()": 0.25,
    "(F.cross_entropy(model(x), y, reduction='sum') / 6).backward()": 1.0,
    "(F.cross_entropy(model(x), y, reduction='sum') / 24).backward()": 0.25,
    "F.cross_entropy(model(x), y, reduction='sum').backward()": None,
    "(model(x) - 1).pow(2).mean().backward()": 1.0,
    "((model(x) - 1).pow(2).sum() / 18).backward()": 1.0,
    "((model(x) - 1).pow(2).sum() / 72).backward()": 0.25,
    "F.mse_loss(model(x), torch.zeros(6, 3)).div(torch.tensor(4.0)).backward()": 0.25,
    "(F.cross_entropy(model(x), y) + 0.1 * model[0].weight.pow(2).mean()).backward()": 1.0,
    "((F.cross_entropy(model(x), y) + 16 * model(x).pow(2).mean()) / 4).backward()": 0.25,
    "F.binary_cross_entropy_with_logits(model(x), torch.ones(6, 3)).backward()": 1.0,
    "F.cross_entropy(model(x), y).backward(torch.tensor(0.25))": None,
    "torch.amp.GradScaler('cpu', enabled=True).scale(F.cross_entropy(model(x), y) / 4).backward()": 0.25,
}


@pytest.mark.parametrize("backward", SCALES)
def test_the_scale_of_the_loss(backward: str, script: WatchScript) -> None:
    (found,) = script(loop(backward)).facts.accumulations
    assert (found.backwards, found.regular, found.steps, found.rows) == (4, 10, 10, 6)
    assert found.scale == pytest.approx(SCALES[backward]) if SCALES[backward] else found.scale is None


@pytest.mark.parametrize(
    ("before", "kept"),
    [("pass", 1.0), ("for p in model.parameters(): p.grad /= 4", 0.25), ("for p in model.parameters(): p.grad.mul_(0.5)", 0.5)],
)
def test_what_is_left_of_the_gradient(before: str, kept: float, script: WatchScript) -> None:
    (found,) = script(loop("F.cross_entropy(model(x), y).backward()", before)).facts.accumulations
    assert found.kept == pytest.approx(kept, rel=1e-3)


SILENT: dict[str, Any] = {
    "one backward per step": "model = nn.Linear(4, 1)\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\nfor i in range(9):\n"
    "    opt.zero_grad(); model(torch.randn(5, 4)).mean().backward(); opt.step()",
    "two losses": "model = nn.Linear(4, 1)\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\nfor i in range(9):\n    opt.zero_grad()\n"
    "    model(torch.randn(5, 4)).mean().backward()\n    model(torch.randn(5, 4)).pow(2).mean().backward()\n    opt.step()",
    "one helper for two losses": "model = nn.Linear(4, 1)\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    "def back(x):\n    model(x).mean().backward()\nfor i in range(9):\n    opt.zero_grad()\n    back(torch.randn(5, 4))\n    back(torch.ones(5, 4))\n    opt.step()",
    "one head per task": "body, heads = nn.Linear(4, 5), nn.ModuleList([nn.Linear(5, 1) for _ in range(3)])\n"
    "opt = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)\nfor i in range(9):\n    opt.zero_grad()\n"
    "    for head in heads:\n        head(body(torch.randn(5, 4))).pow(2).mean().backward()\n    opt.step()",
}


@pytest.mark.parametrize("name", SILENT)
def test_other_loops_are_none(name: str, script: WatchScript) -> None:
    assert script(SILENT[name]).facts.accumulations == ()


def test_retained_graphs_are_told(script: WatchScript) -> None:
    text = loop("out = model(x)\nfor i in range(3):\n    out[:, i].mean().backward(retain_graph=True)").replace("% 4", "% 1")
    (found,) = script(text).facts.accumulations
    assert (found.backwards, found.retained) == (3, 120)
