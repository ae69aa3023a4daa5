"""Where scripts without modules and optimizers make and move their weights."""

from __future__ import annotations

import pytest

from sickbay.script.by_hand import made_at, updated_at
from sickbay.testing import make_record

STEPS = {
    "a rate by name": (
        "LR = 4.0\nfor x in data:\n    g = torch.autograd.grad(f(x), w)\n    with torch.no_grad():\n        w -= LR * g[0]\n",
        "LR = 4.0",
    ),
    "a number in place": ("loss.backward()\nw.data -= 0.5 * w.grad\n", "w.data -= 0.5 * w.grad"),
    "a method": ("loss.backward()\nwith torch.no_grad():\n    w.sub_(0.5 * v)\n", "w.sub_(0.5 * v)"),
    "alpha": ("w.data.add_(w.grad, alpha=-rate)\n", "w.data.add_(w.grad, alpha=-rate)"),
    "behind a running mean of the gradients": (
        "alpha = 1e-3\nbeta = 0.9\np = 0.5\nfor p, v, g in zip(params, velocity, torch.autograd.grad(f(x), params)):\n    with torch.no_grad():\n        v.mul_(beta).add_(g, alpha=1 - beta)\n"
        "        p.sub_(alpha * v)\n",
        "alpha = 1e-3",
    ),
    "written out": ("w.data = w.data - 0.1 * w.grad\n", "w.data = w.data - 0.1 * w.grad"),
}


@pytest.mark.parametrize("name", STEPS)
def test_where_weights_are_moved(name: str) -> None:
    text, line = STEPS[name]
    place = updated_at(make_record(sources={"train.py": text}))
    assert place is not None and place.text == line


@pytest.mark.parametrize(
    "text",
    ["total -= 0.5 * share\n", "with torch.no_grad():\n    ema.copy_(0.9 * ema + 0.1 * w)\n", "left = left - 2 * width\n"],
)
def test_other_subtractions_are_none(text: str) -> None:
    assert updated_at(make_record(sources={"train.py": text})) is None


def test_where_weights_are_made() -> None:
    text = "for a, b in sizes:\n    w = torch.zeros(a, b, requires_grad=True)\n    c = torch.zeros(b, requires_grad=True)\nx = torch.zeros(3, 4)\n"
    place = made_at(make_record(sources={"train.py": text}))
    assert place is not None and place.line == 2
    wrapped = "def uniform(a, b):\n    return ((torch.rand(a, b) - 1.0) * 0.1).requires_grad_()\n"
    place = made_at(make_record(sources={"train.py": wrapped}))
    assert place is not None and place.line == 2
    two = "w = torch.zeros(3, 4, requires_grad=True)\nv = torch.zeros(4, 2, requires_grad=True)\n"
    assert made_at(make_record(sources={"train.py": two})) is None
