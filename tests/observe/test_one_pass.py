"""Whether one pass over a set was scaled by that set itself; and what a map of training's samples misses in evaluation."""

from __future__ import annotations

import numpy as np

from observe.conftest import WatchScript
from sickbay.observe.examples.across import across
from sickbay.observe.one_pass import OnePass

RNG = np.random.default_rng(5)


def passed(x: np.ndarray, batch: int = 50) -> OnePass:
    one = OnePass()
    for at in range(0, len(x), batch):
        one.add(x[at : at + batch].astype(np.float32))
    return one


def table(rows: int = 600) -> np.ndarray:
    return RNG.normal(3.0, 2.0, (rows, 6)) * [1, 10, 0.1, 1, 5, 1]


def test_scaled_by_itself() -> None:
    x = table()
    for ddof in (0, 1):
        fact = passed((x - x.mean(0)) / x.std(0, ddof=ddof)).fact()
        assert fact is not None and (fact.kind, fact.features, fact.of, fact.rows) == ("standardised", 6, 6, 600)
    fact = passed((x - x.min(0)) / (x.max(0) - x.min(0))).fact()
    assert fact is not None and fact.kind == "min-max"
    beside = np.column_stack([(x - x.mean(0)) / x.std(0), x[:, :2] > 3, np.ones(600)])
    fact = passed(beside).fact()
    assert fact is not None and (fact.features, fact.of) == (6, 8)


def test_scaled_otherwise() -> None:
    x, train = table(), table(20_000)
    assert passed((x - train.mean(0)) / train.std(0)).fact() is None
    assert passed((x - train.min(0)) / (train.max(0) - train.min(0))).fact() is None
    assert passed(RNG.integers(0, 2, (600, 6)).astype(float)).fact() is None  # categories run from 0 to 1 by nature
    assert passed(np.clip(RNG.normal(0.5, 0.5, (600, 6)), 0, 1)).fact() is None  # shares that end there, too
    part = passed(((x - x.mean(0)) / x.std(0))[:450]).fact()
    assert part is None  # a pass that was cut off
    broken = (x - x.mean(0)) / x.std(0)
    broken[3, 2] = np.nan
    assert passed(broken).fact() is None


def test_a_map_that_is_off() -> None:
    def rows(n: int, level: float) -> tuple[np.ndarray, np.ndarray]:
        x = RNG.normal(level, 1.0, (n, 4))
        return x, x @ [1.0, -0.5, 2.0, 0.0] + 0.3 * RNG.normal(size=n)

    x, y = rows(800, 0.0)
    alike = across(x, y, *rows(300, 0.0))
    assert alike is not None and alike.error < 0.05 and abs(alike.error - alike.straightened) < 0.02
    other, target = rows(300, 1.0)
    told = across(x, y, other, target)
    assert told is not None and told.error < 0.1
    hidden = across(x, y, other - other.mean(0), target)
    assert hidden is not None and hidden.error > 5 * hidden.straightened and hidden.shift > 0.5 and not hidden.own_scale
    own = across(x, y, other, (target - target.mean()) / target.std())
    assert own is not None and own.own_scale
    assert across(x, y, other[:, :3], target) is None and across(x, y, other[:20], target[:20]) is None


SCRIPT = """
X = torch.randn(300, 4, dtype=torch.float64) * 3 + 5
V = torch.randn(200, 4, dtype=torch.float64) * 2 + 7
Y = X[:, :1].float()
X = ((X - X.mean(0)) / X.std(0)).float()
V = ((V - V.mean(0)) / V.std(0)).float()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    for ids in torch.randperm(300).split(30):
        optimizer.zero_grad()
        F.mse_loss(model(X[ids]), Y[ids]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for part in V.SPLIT:
            model(part)
    model.train()
"""


def test_one_pass_of_an_evaluation(script: WatchScript) -> None:
    (data,) = script(SCRIPT.replace("SPLIT", "split(64)")).facts.evaluation_data
    assert data.own_scale is not None and data.own_scale.rows == 200
    (data,) = script(SCRIPT.replace("SPLIT", "split(64)[:2]")).facts.evaluation_data
    assert data.own_scale is None
