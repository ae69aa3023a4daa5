"""Regularisers written by hand are told from the rest of the loss."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

SCRIPT = """
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
scale = nn.Parameter(torch.zeros(()))
optimizer = torch.optim.SGD([*model.parameters(), scale], lr=0.01)
for step in range(20):
    x = torch.randn(32, 8)
    fit = ((model(x) - x[:, :1]) ** 2).mean()
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "penalty",
    [
        "fit + 0.01 * sum(p.abs().sum() for p in model.parameters())",
        "fit + sum(0.01 * w.pow(2).sum() for w in model.parameters())",
        "1e-2 * torch.cat([p.flatten() for p in model.parameters()]).norm() + fit",
    ],
)
def test_a_term_of_weights_alone(script: WatchScript, penalty: str) -> None:
    (loss,) = script(SCRIPT.replace("LOSS", penalty)).record.facts.losses
    (found,) = loss.penalties
    assert 0 < found.last < found.last_loss and 0 < found.first < found.first_loss
    assert found.place is not None and found.place.text is not None and "loss =" in found.place.text


@pytest.mark.parametrize(
    "loss",
    [
        "fit",
        "fit + 0.1 * model(x).abs().mean()",  # of what the model says, not of its weights
        "fit * torch.exp(-scale) + scale",  # a noise level that is learned
        "fit + 0.1 * (model[0](x)).pow(2).mean()",
    ],
)
def test_everything_else_is_none(script: WatchScript, loss: str) -> None:
    (found,) = script(SCRIPT.replace("LOSS", loss)).record.facts.losses
    assert not found.penalties
