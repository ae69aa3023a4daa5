"""One set of samples is one set wherever it is evaluated, and several on one line are several."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

HEADER = """
from torch.utils.data import DataLoader, TensorDataset
x = torch.randn(120, 4); y = (x.sum(1) > 0).long()
sets = [(torch.randn(40, 4), torch.randint(0, 2, (40,))) for _ in range(3)]
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def fit():
    for i in range(0, 120, 20):
        optimizer.zero_grad(); loss = F.cross_entropy(model(x[i:i+20]), y[i:i+20]); loss.backward(); optimizer.step()
@torch.no_grad()
def right(a, b):
    return (model(a).argmax(1) == b).float().mean().item()
"""


def test_on_two_lines(script: WatchScript) -> None:
    run = script(HEADER + "fit()\nbefore = right(*sets[0])\nfit()\nafter = right(*sets[0])\n")
    (scored,) = run.facts.scored
    assert scored.steps == (6, 12) and scored.samples == 40
    assert scored.accuracy == pytest.approx((run.names["before"], run.names["after"]))


def test_in_a_loop(script: WatchScript) -> None:
    run = script(HEADER + "seen = []\nfor _ in range(2):\n    fit()\n    seen.append([right(*s) for s in sets])\n")
    assert [s.accuracy for s in run.facts.scored] == [pytest.approx(one) for one in zip(*run.names["seen"], strict=True)]


def test_slices_are_one_set(script: WatchScript) -> None:
    loop = "for _ in range(2):\n    fit()\n    [right(x[i:i+30], y[i:i+30]) for i in range(0, 120, 30)]\n"
    (scored,) = script(HEADER + loop).facts.scored
    assert scored.samples == 120


def test_losses_and_loaders(script: WatchScript) -> None:
    run = script(
        HEADER
        + """
loader = DataLoader(TensorDataset(*sets[1]), batch_size=16)
def validate():
    with torch.no_grad():
        return sum(F.cross_entropy(model(a), b, reduction="sum").item() for a, b in loader) / 40
fit()
before = validate()
fit()
after = validate()
"""
    )
    (scored,) = run.facts.scored
    assert scored.loader == 0 and scored.loss == pytest.approx((run.names["before"], run.names["after"]))
    assert scored.accuracy[0] is not None
