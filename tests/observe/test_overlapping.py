"""Two optimizers that hold the same tensors."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

SCRIPT = """
body, head, other = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 2)
first = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
second = torch.optim.SGD([*SECOND.parameters()], lr=0.01)
def loss():
    return F.cross_entropy(head(torch.relu(body(torch.randn(6, 4)))) + OTHER, torch.randint(0, 2, (6,)))
for step in range(8):
    first.zero_grad(); second.zero_grad()
    loss().backward()
    first.step()
    BETWEEN
    second.step()
"""


def script_of(second: str = "head", between: str = "pass", other: str = "0") -> str:
    return SCRIPT.replace("SECOND", second).replace("BETWEEN", between).replace("OTHER", other)


def test_the_same_gradient_twice(script: WatchScript) -> None:
    run = script(script_of())
    first, second = run.facts.optimizers
    assert (second.twice, second.shares_with, len(second.shared)) == (8, 0, 2)
    assert first.twice == 0
    assert run.at(second.stepped_at, "second.step()")


@pytest.mark.parametrize(
    ("second", "between"),
    [("other", "pass"), ("head", "second.zero_grad(); loss().backward()"), ("head", "loss().backward()"), ("head", "first.zero_grad()")],
    ids=["its own", "its own gradient", "a gradient on top", "cleared"],
)
def test_not_so(script: WatchScript, second: str, between: str) -> None:
    run = script(script_of(second, between, "0 * other(torch.relu(body(torch.randn(6, 4))))" if second == "other" else "0"))
    assert [o.twice for o in run.facts.optimizers] == [0, 0]
