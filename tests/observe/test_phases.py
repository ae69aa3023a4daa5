"""Training that goes over to other samples is told from training that goes on."""

from __future__ import annotations

import numpy as np
import pytest

from observe.conftest import WatchScript
from sickbay.observe.phases import Look, met_before, recognised, stretches

A, B = ("a", None, None), ("b", None, None)


def look(step: int, rows: list[int], source: object = A, epoch: int = 0) -> Look:
    return Look(step, source, np.array(rows, np.uint64), epoch)  # type: ignore[arg-type]


def test_rows_are_met_by_an_earlier_look_only() -> None:
    assert met_before([look(0, [1, 2]), look(1, [2, 2]), look(2, [7, 1])]) == pytest.approx([0, 1, 0.5])


def test_a_stretch_begins_where_known_rows_give_way_to_new_ones() -> None:
    first = [look(i, [i % 5, 9]) for i in range(20)]
    assert stretches(first) == [0]
    assert stretches(first + [look(20 + i, [100 + i % 5, 109 + i]) for i in range(20)]) == [0, 20]


def test_a_stretch_begins_where_samples_come_from_elsewhere() -> None:
    assert stretches([look(i, [i]) for i in range(10)] + [look(i, [i], B) for i in range(10, 20)]) == [0, 10]
    assert stretches([look(i, [i], (A, B)[i % 2]) for i in range(30)])[:1] == [0]
    assert len(stretches([look(i, [i], (A, B)[i % 2]) for i in range(30)])) <= 2


def test_augmented_rows_are_not_recognised() -> None:
    assert recognised([look(i, [i], A, i // 5) for i in range(20)]) == 0.0
    assert recognised([look(i, [i]) for i in range(20)]) == 1.0
    assert recognised([look(3 * i, [i % 4]) for i in range(40)]) == pytest.approx(1.0)


HEADER = """
xa, xb = torch.randn(60, 4), torch.randn(60, 4) + 1
ya, yb = torch.randint(0, 2, (60,)), torch.randint(2, 4, (60,))
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def fit(x, y, epochs=4):
    for _ in range(epochs):
        for i in range(0, 60, 12):
            optimizer.zero_grad(); loss = F.cross_entropy(model(x[i:i+12]), y[i:i+12]); loss.backward(); optimizer.step()
"""


def test_two_tasks(script: WatchScript) -> None:
    run = script(HEADER + "fit(xa, ya)\nfit(xb, yb)\n")
    first, second = run.facts.phases
    assert (first.first, second.first, second.rows, second.met, second.recognised) == (0, 20, 240, 0, 1.0)
    assert (second.labels, second.labels_met) == (2, 0)
    assert run.at(second.called_from, "fit(xb, yb)")


def test_a_rehearsal_is_counted(script: WatchScript) -> None:
    run = script(HEADER + "fit(xa, ya)\nfit(torch.cat([xb[:30], xa[:30]]), torch.cat([yb[:30], ya[:30]]))\n")
    assert run.facts.phases[1].met == 120


def test_the_same_samples_are_one_phase_or_known(script: WatchScript) -> None:
    run = script(HEADER + "fit(xa, ya)\nfit(xa, ya)\n")
    assert all(p.met == p.rows for p in run.facts.phases[1:])


def test_another_model_begins_anew(script: WatchScript) -> None:
    again = "model = nn.Linear(4, 4)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
    assert not script(HEADER + "fit(xa, ya)\n" + again + "fit(xb, yb)\n").facts.phases


def test_a_copy_goes_on(script: WatchScript) -> None:
    again = "import copy\nbase = model\nmodel = copy.deepcopy(base)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
    assert len(script(HEADER + "fit(xa, ya)\n" + again + "fit(xb, yb)\n").facts.phases) == 2
