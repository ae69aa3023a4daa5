"""Random numbers that come again."""

from __future__ import annotations

from observe.conftest import WatchScript

SCRIPT = """
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    SEED
    x = DRAW
    optimizer.zero_grad()
    F.cross_entropy(model(x), torch.zeros(16, dtype=torch.long)).backward()
    optimizer.step()
"""


def test_seeded_anew(script: WatchScript) -> None:
    seeded = SCRIPT.replace("SEED", "if step % 5 == 0: torch.manual_seed(7)").replace("DRAW", "torch.randn(16, 6)")
    run = script(seeded).facts
    assert (run.randomness.seen, run.randomness.again, run.batches.repeated) == (40, 35, 35)
    by_numpy = seeded.replace("torch.manual_seed(7)", "np.random.seed(7)").replace(
        "torch.randn(16, 6)", "torch.tensor(np.random.rand(16, 6)).float()"
    )
    assert script("import numpy as np\n" + by_numpy).facts.randomness.again == 35


def test_drawn_on(script: WatchScript) -> None:
    assert script(SCRIPT.replace("SEED", "pass").replace("DRAW", "torch.randn(16, 6)")).facts.randomness.again == 0


def test_nothing_drawn(script: WatchScript) -> None:
    fixed = "data = torch.randn(80, 6)\n" + SCRIPT.replace("SEED", "torch.manual_seed(7)").replace(
        "DRAW", "data[(step % 5) * 16 : (step % 5 + 1) * 16]"
    )
    facts = script(fixed).facts
    assert facts.batches.repeated == 35 and facts.randomness.again == 0
