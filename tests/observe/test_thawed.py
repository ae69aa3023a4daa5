"""Parameters that are unfrozen on the way: is there an optimizer for them?"""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

SCRIPT = """
body, head = nn.Linear(6, 8), nn.Linear(8, 2)
body.requires_grad_(False)
optimizer = torch.optim.SGD([p for m in (body, head) for p in m.parameters() if p.requires_grad], lr=0.1)

def train(optimizer):
    for _ in range(6):
        loss = F.cross_entropy(head(torch.relu(body(torch.randn(16, 6)))), torch.randint(0, 2, (16,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

train(optimizer)
body.requires_grad_(True)
THEN
train(optimizer)
"""


def test_nobody_trains_what_was_unfrozen(script: WatchScript) -> None:
    (optimizer,) = script(SCRIPT.replace("THEN", ""), detail_steps=20).facts.optimizers
    assert optimizer.thawed == ("body.weight", "body.bias")
    assert optimizer.thawed_looks > 1


def test_one_look_asks_for_more(script: WatchScript) -> None:
    """Where most steps are slept through, the next one may come when the run is over."""
    text = SCRIPT.replace("THEN", "").replace("range(6)", "range(40)")
    (optimizer,) = script(text, detail_steps=4, budget=1e-6).facts.optimizers
    assert optimizer.thawed_looks > 1


@pytest.mark.parametrize(
    "then",
    [
        "optimizer.add_param_group({'params': body.parameters()})",
        "optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)",
        "body.requires_grad_(False)",
    ],
)
def test_somebody_does_or_nobody_should(script: WatchScript, then: str) -> None:
    assert not any(o.thawed for o in script(SCRIPT.replace("THEN", then), detail_steps=20).facts.optimizers)
