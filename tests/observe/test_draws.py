"""Random draws through which no gradient can pass, and those that are meant so."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

CODE = """
from torch.distributions import Bernoulli, Geometric, Independent, Laplace, Normal, OneHotCategorical, kl_divergence
encoder, mean, spread, decoder = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 2), nn.Linear(2, 6)
parts = nn.ModuleList([encoder, mean, spread, decoder])
optimizer = torch.optim.SGD(parts.parameters(), lr=0.01)
x = torch.randn(16, 6)
for step in range(3):
    h = torch.tanh(encoder(x))
    m, s = mean(h), F.softplus(spread(h)) + 0.1
    q = Normal(m, s)
    DRAW
    kl = kl_divergence(q, Normal(0.0, 1.0)).sum(1).mean()
    loss = (decoder(z) - x).pow(2).mean() + 0.1 * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BEHIND = {f"{part}.{kind}" for part in ("encoder", "mean", "spread") for kind in ("weight", "bias")}

POLICY = """
from torch.distributions import Normal
actor, critic, target = nn.Linear(4, 1), nn.Linear(5, 1), nn.Linear(5, 1)
parts = nn.ModuleList([actor, critic])
optimizer = torch.optim.SGD(parts.parameters(), lr=0.01)
state, reward = torch.randn(16, 4), torch.randn(16, 1)
for step in range(3):
    policy = Normal(actor(state), 0.5)
    LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "draw",
    [
        "z = q.sample()",
        "z = torch.normal(m, s)",
        "z = Independent(q, 1).sample()",
        "z = Laplace(m, s).sample()",
        "z = q.sample((3,)).mean(0)",
    ],
)
def test_a_code_that_is_drawn_without_a_gradient(script: WatchScript, draw: str) -> None:
    run = script(CODE.replace("DRAW", draw))
    (found,) = run.loss.drawn
    assert found.place is not None
    assert (found.place.text or "").strip() == draw
    assert {name.partition(".")[2] if name.startswith("parts.") else name for name in found.parameters} & {"0.weight", "encoder.weight"}


@pytest.mark.parametrize(
    "draw",
    [
        "z = q.rsample()",
        "z = m + s * torch.randn_like(s)",
        "z = m + torch.normal(torch.zeros_like(s), 1.0) * s",
        "p = torch.softmax(m, 1); d = OneHotCategorical(p).sample(); z = d + p - p.detach()",
        "p = torch.softmax(m, 1); z = OneHotCategorical(probs=p).sample() + p - p.detach()",
        "p = torch.sigmoid(m); z = Geometric(p).sample() + p - p.detach()",
        "p = torch.sigmoid(m); z = Bernoulli(p).sample() + p - p.detach()",
        "with torch.no_grad(): noise = Normal(torch.zeros(16, 2), 1.0).sample()\n    z = m + s * noise",
    ],
)
def test_a_draw_that_lets_the_gradient_through(script: WatchScript, draw: str) -> None:
    assert script(CODE.replace("DRAW", draw)).loss.drawn == ()


@pytest.mark.parametrize(
    "loss",
    [
        "action = policy.sample(); loss = -(policy.log_prob(action) * reward).mean()",
        "action = policy.sample(); value = critic(torch.cat([state, action], 1))\n"
        "    loss = (value - reward).pow(2).mean() - (policy.log_prob(action) * reward).mean()",
        "action = policy.sample(); aim = reward + target(torch.cat([state, action], 1)).detach()\n"
        "    loss = (critic(torch.cat([state, policy.mean], 1)) - aim).pow(2).mean()",
        "with torch.no_grad(): action = policy.sample()\n    loss = (critic(torch.cat([state, action], 1)) - reward).pow(2).mean() + policy.mean.pow(2).mean()",
    ],
)
def test_a_drawn_action(script: WatchScript, loss: str) -> None:
    assert script(POLICY.replace("LOSS", loss)).loss.drawn == ()
