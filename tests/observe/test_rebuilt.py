"""Optimizers that are made anew for the same weights."""

from __future__ import annotations

from observe.conftest import WatchScript

LOOP = """
model = nn.Linear(4, 1)
MAKE_ONCE
for epoch in range(8):
    MAKE
    for batch in range(5):
        optimizer.zero_grad()
        model(torch.randn(6, 4)).pow(2).mean().backward()
        optimizer.step()
"""


def loop(make: str = "pass", once: str = "pass") -> str:
    return LOOP.replace("MAKE_ONCE", once).replace("MAKE", make)


def test_each_epoch(script: WatchScript) -> None:
    run = script(loop("optimizer = torch.optim.Adam(model.parameters())"))
    (r,) = run.facts.rebuilt
    assert (r.kind, r.stateful, r.times, r.steps, r.rate_changed) == ("Adam", True, 6, 5.0, 0)
    assert run.at(r.built_at, "torch.optim.Adam")


def test_a_new_rate_each_time(script: WatchScript) -> None:
    (r,) = script(loop("optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * 0.9 ** epoch)")).facts.rebuilt
    assert (r.stateful, r.times, r.rate_changed) == (False, 6, 6)


def test_once(script: WatchScript) -> None:
    assert script(loop(once="optimizer = torch.optim.Adam(model.parameters())")).facts.rebuilt == ()


def test_a_new_model_each_time(script: WatchScript) -> None:
    assert script(loop("model = nn.Linear(4, 1); optimizer = torch.optim.Adam(model.parameters())")).facts.rebuilt == ()


def test_weights_that_were_reset(script: WatchScript) -> None:
    assert script(loop("model.reset_parameters(); optimizer = torch.optim.Adam(model.parameters())")).facts.rebuilt == ()
