"""The same samples in two ways: the map is found, and nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from observe.conftest import WatchScript
from sickbay.observe.maps.in_order import in_order
from sickbay.observe.maps.nearly import nearly

HEADER = """
x = 3 + 5 * torch.rand(160, 6); y = (x.sum(1) > 33).long()
mean, std = x.mean(0), x.std(0)
z = (x - mean) / std
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), 0.05)
for epoch in range(4):
    for i in range(0, 120, 20):
        optimizer.zero_grad(); loss = F.cross_entropy(model(z[i:i+20]), y[i:i+20]); loss.backward(); optimizer.step()
    with torch.no_grad():
        validation = (model(z[120:]).argmax(1) == y[120:]).float().mean().item()
def serve(rows):
    with torch.no_grad():
        return model(rows).argmax(1)
"""


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ("x[120:]", "standardised"),
        ("z[120:] * 255", "255"),
        ("z[120:, [3, 1, 0, 5, 4, 2]]", "another order"),
        ("torch.round(z[120:, [3, 1, 0, 5, 4, 2]] * 1e4) / 1e4", "another order"),
    ],
)
def test_the_map_is_named(rows: str, word: str, script: WatchScript) -> None:
    run = script(HEADER + f"serve({rows})\n")
    (served,) = run.facts.served
    assert word in served.map and served.back and served.rows == served.answers == 40
    assert run.at(served.place, "return model(rows)") and run.at(served.reference, "model(z[120:]).argmax(1)")


@pytest.mark.parametrize(
    "served",
    [
        "serve(z[120:])",
        "serve(torch.randn(40, 6))",
        "serve(z[120:] + 0.3 * torch.randn(40, 6))",
        "serve(x[120:124])",
        "serve(torch.flip(x[120:], [0]))",
    ],
)
def test_other_predictions_are_no_image(served: str, script: WatchScript) -> None:
    assert not script(HEADER + served + "\n").facts.served


def test_single_rows(script: WatchScript) -> None:
    (served,) = script(HEADER + "[serve(row[None]) for row in x[120:150]]\n").facts.served
    assert served.rows == 30


def test_nearly() -> None:
    a = np.random.default_rng(0).normal(size=(12, 5))
    order = [2, 0, 4, 1, 3]
    found = nearly(a, np.round(a[:, order], 3))
    assert found is not None and found.code == f"x = x[:, {np.argsort(order).tolist()}]"
    assert nearly(a, np.round(a, 3)) is None
    assert nearly(a, np.round(a * [2, 3, 1, 5, 9] + 1, 3)) is not None
    assert nearly(a, np.random.default_rng(1).normal(size=(12, 5))) is None


def test_calls_that_are_scaled_by_their_own_numbers(script: WatchScript) -> None:
    served = "def own(rows):\n    return serve((rows - rows.mean(0)) / (rows.std(0, unbiased=False) + 1e-6))\n[own(x[i:i+5]) for i in range(120, 160, 5)]\n"
    (found,) = script(HEADER + served).facts.served
    assert "scaled by their own mean and spread (8 calls)" in found.map and found.rows == found.answers == 40 and found.changed


def test_a_logarithm_on_one_side() -> None:
    a = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    found = in_order(a, np.exp(a), [40])
    assert found is not None and "logarithm" in found.text


def test_the_same_order_by_chance_or_by_sorting() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(40, 4)).astype(np.float32), rng.normal(size=(40, 4)).astype(np.float32)
    assert in_order(a, b, [40]) is None
    assert in_order(a, b, [1] * 40) is None, "single samples have no order"
    assert in_order(np.sort(a, 0), np.sort(b, 0), [40]) is None, "both are sorted"
    one, other = a[:, :1] * [1, 2, 3, 4], np.exp(a[:, :1]) * [1, 2, 3, 4]
    assert in_order(one.astype(np.float32), other.astype(np.float32), [40]) is None, "one column four times"
    assert in_order(a, np.where(np.arange(4) < 2, np.exp(a), a).astype(np.float32), [40]) is None, "two columns only"
