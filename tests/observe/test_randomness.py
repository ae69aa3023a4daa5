"""Random numbers that come again."""

from __future__ import annotations

from observe.conftest import WatchScript
from observe.watched import Run

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


def generators(run: Run) -> dict[str, tuple[bool, int]]:
    return {g.name: (g.before, g.moved) for g in run.facts.randomness.generators}


def test_which_generators_are_drawn_from(script: WatchScript) -> None:
    text = "import random\n" + SCRIPT.replace("SEED", "random.random()").replace("DRAW", "torch.randn(16, 6)")
    run = script(text)
    assert generators(run) == {"torch": (True, 39), "numpy": (False, 0), "python": (True, 31)}
    assert run.facts.randomness.again == 0
    quiet = "import numpy as np\nnp.random.rand()\n" + SCRIPT.replace("SEED", "pass").replace("DRAW", "torch.ones(16, 6)")
    assert generators(script(quiet)) == {"torch": (True, 0), "numpy": (True, 0), "python": (False, 0)}


TWICE = """
import random
def train(rate, rows):
    model = nn.Linear(6, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(4):
        optimizer.zero_grad()
        model(rate * torch.randn(16, 6)).pow(2).mean().backward()
        optimizer.step()
LOOP
"""


def starts(run: Run) -> list[tuple[int, str, str, str]]:
    return [(s.step, s.weights, s.given, s.states["torch"]) for s in run.facts.randomness.starts]


def test_trainings_that_begin_alike(script: WatchScript) -> None:
    one, other = starts(script(TWICE.replace("LOOP", "for again in range(2):\n    torch.manual_seed(1)\n    print(again)\n    train(1.0, [1, 2])")))
    assert one[0] == 0 and other[0] == 4 and one[1:] == other[1:]


def test_trainings_that_begin_otherwise(script: WatchScript) -> None:
    by_argument = starts(script(TWICE.replace("LOOP", "for rate in (1.0, 2.0):\n    torch.manual_seed(1)\n    train(rate, [1])")))
    assert by_argument[0][1] == by_argument[1][1] and by_argument[0][2] != by_argument[1][2]
    by_data = starts(script(TWICE.replace("LOOP", "for fold in range(2):\n    torch.manual_seed(1)\n    train(1.0, [fold])")))
    assert by_data[0][2] != by_data[1][2]
    by_seed = starts(script(TWICE.replace("LOOP", "for again in range(2):\n    train(1.0, [1])")))
    assert by_seed[0][1] != by_seed[1][1] and by_seed[0][3] != by_seed[1][3]


def test_one_training_has_no_starts_to_tell(script: WatchScript) -> None:
    assert not starts(script(TWICE.replace("LOOP", "train(1.0, [1])")))
