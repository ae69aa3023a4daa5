"""Examinations: of numbers, of live objects, and of unmodified scripts."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from conftest import Sickbay
from sickbay.exams.range_test import BACK_OFF, read_sweep, rounded
from sickbay.exams.statistics import Spread, difference
from sickbay.report.plots import plot
from sickbay.supervise.repeating import first_operation

torch = pytest.importorskip("torch")

RATES = 1e-6 * (1e7) ** (np.arange(200) / 199)


def sweep(turn: float, noise: float = 0.0, floor: float = 0.3) -> np.ndarray:
    """A loss that falls from a hundredth of `turn` on and rises beyond it."""
    x = np.log10(RATES / turn)
    falls = 2.3 - (2.3 - floor) / (1 + np.exp(-4 * (x + 1)))
    return falls + np.where(x > 0, 10**x - 1, 0) + noise * np.random.default_rng(0).normal(size=len(x))


@pytest.mark.parametrize("turn", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_turn_is_found(turn: float, noise: float) -> None:
    found = read_sweep(RATES, sweep(turn, noise))
    assert found.turn is not None and found.suggestion is not None
    assert turn / 3 <= found.turn <= 3 * turn
    assert found.suggestion == pytest.approx(found.turn / BACK_OFF)


def test_a_sweep_that_shows_nothing_says_so() -> None:
    flat = read_sweep(RATES, 2.3 + 0.01 * np.random.default_rng(0).normal(size=200))
    assert flat.suggestion is None and "does not fall at any" in flat.reason
    broken = read_sweep(RATES, np.full(200, np.nan))
    assert broken.suggestion is None and "finite" in broken.reason
    still = read_sweep(RATES, sweep(20.0))
    assert still.turn is None and "still falls" in still.reason
    nan = sweep(1e-2)
    nan[150:] = np.nan
    assert read_sweep(RATES, nan).turn == pytest.approx(1e-2, rel=2)


def test_rates_are_rounded_as_people_write_them() -> None:
    assert [rounded(r) for r in (0.0031, 0.0007, 0.0147, 1.0)] == [0.002, 0.0005, 0.01, 1.0] or rounded(0.0031) in (0.002, 0.005)
    assert rounded(1.0) == 1.0


def test_seeds_say_whether_a_difference_is_more_than_noise() -> None:
    spread = Spread((1.0, 1.2, 0.8, 1.1, 0.9))
    assert spread.mean == pytest.approx(1.0) and spread.std == pytest.approx(0.158, abs=1e-3)
    assert spread.interval[0] == pytest.approx(1.0 - 2.776 * spread.std / math.sqrt(5))
    delta, (low, high) = difference([1.0, 1.2, 0.8, 1.1, 0.9], [0.5, 0.6, 0.4, 0.55, 0.45])
    assert delta == pytest.approx(-0.5) and high < 0
    _, (low, high) = difference([1.0, 1.2, 0.8], [1.1, 0.9, 1.05])
    assert low < 0 < high


def test_a_plot_has_its_extremes_and_its_mark() -> None:
    lines = plot([1e-3, 1e-2, 1e-1], [3.0, 1.0, 2.0], log_x=True, mark=1e-2, width=20, height=5)
    assert lines[0].startswith("3 •") and lines[4].startswith("1 ")
    assert "│" in lines[1] and lines[-1].split() == ["1e-03", "1e-01"]
    assert plot([1.0], [1.0]) == []


def batch() -> tuple[object, object]:
    return torch.randn(16, 6), torch.randint(0, 3, (16,))


def test_a_healthy_model_overfits_and_is_left_as_it_was() -> None:
    import sickbay

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 32), torch.nn.BatchNorm1d(32), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(32, 3)
    ).eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    one = batch()
    state = torch.random.get_rng_state()
    result = sickbay.overfit(model, one, torch.nn.functional.cross_entropy)
    assert result and result.last < 0.05
    assert all(bool((v == before[k]).all()) for k, v in model.state_dict().items())
    assert not model.training and model[2].p == 0.5
    assert bool((torch.random.get_rng_state() == state).all())


def test_a_sick_model_does_not_and_the_reason_is_told() -> None:
    import sickbay

    cross_entropy = torch.nn.functional.cross_entropy

    class Cut(torch.nn.Linear):
        def forward(self, x):  # type: ignore[no-untyped-def]
            return super().forward(x).detach()

    assert "cut off" in sickbay.overfit(Cut(6, 3), batch(), cross_entropy).reason
    frozen = torch.nn.Linear(6, 3).requires_grad_(False)
    assert "no trainable" in sickbay.overfit(frozen, batch(), cross_entropy).reason
    squashed = torch.nn.Sequential(torch.nn.Linear(6, 3), torch.nn.Softmax(dim=1))
    result = sickbay.overfit(squashed, batch(), cross_entropy, steps=150)
    assert not result and "only to" in result.reason


PLUGIN_TEST = """
import torch

def test_well(sickbay_overfits):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    sickbay_overfits(net, (torch.randn(8, 4), torch.randint(0, 2, (8,))), torch.nn.functional.cross_entropy)

def test_sick(sickbay_overfits):
    net = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Softmax(dim=1))
    sickbay_overfits(net, (torch.randn(8, 4), torch.randint(0, 2, (8,))), torch.nn.functional.cross_entropy, steps=30)
"""


def test_the_pytest_fixture(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "test_net.py").write_text(PLUGIN_TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "sickbay.integrations.pytest_plugin", "-p", "no:cacheprovider", str(tmp_path)]
    # Installed, the package gives the plugin to pytest by itself: named twice it would be refused.
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=120, check=False)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "Sequential does not overfit one batch: the loss went from" in done.stdout


SCRIPT = """
import sys
import torch
from torch import nn

if "seeded" in sys.argv:
    torch.manual_seed(0)
x = torch.randn(512, 8)
y = x[:, :4].argmax(1)
layers = [nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)] + ([nn.Softmax(dim=1)] if "sick" in sys.argv else [])
model = nn.Sequential(*layers)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 32, shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(13):
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""


@pytest.fixture
def train(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def test_overfit_tells_sick_from_healthy(train: Path, sickbay: Sickbay) -> None:
    well = sickbay("overfit", "--steps", "200", "train.py")
    assert well.returncode == 0 and well.stdout.startswith("YES  the loss on one batch went from 1."), well.stdout + well.stderr
    sick = sickbay("overfit", "--steps", "200", "train.py", "sick")
    assert sick.returncode == 1 and "Softmax before a loss that expects logits" in sick.stdout, sick.stdout + sick.stderr
    assert sorted(p.name for p in train.iterdir()) == [".sickbay", "train.py"]


def test_lr_suggests_a_rate_that_learns(train: Path, sickbay: Sickbay) -> None:
    done = sickbay("lr", "--steps", "150", "train.py", "seeded")
    assert done.returncode == 0, done.stderr
    told = next(line for line in done.stdout.splitlines() if line.startswith("lr "))
    assert 5e-4 <= float(told.split()[1]) <= 0.1, done.stdout
    assert "the script itself uses 0.003" in done.stdout


def test_deterministic(train: Path, sickbay: Sickbay) -> None:
    same = sickbay("deterministic", "--steps", "20", "train.py", "seeded")
    assert (same.returncode, same.stdout.split()[0]) == (0, "REPEATABLE"), same.stdout + same.stderr
    other = sickbay("deterministic", "--steps", "20", "train.py")
    told = " ".join(other.stdout.split())
    assert other.returncode == 1 and "differ first at step 0" in told, other.stdout + other.stderr
    assert "the first tensor that differs is data of shape (32, 8), given to linear" in told, told


def noted(step: int, operation: str, gave: int, given: int = 1, line: int = 3) -> dict[str, object]:
    return {"step": step, "operation": operation, "file": "/x/train.py", "line": line, "given": [[[2, 3], True, given]], "gave": gave}


def test_the_first_operation_that_differs_is_named() -> None:
    same = [noted(0, "linear", 5), noted(0, "index_add", 6, line=4)]
    assert first_operation(same, same, 0) is None
    told = first_operation(same, [same[0], noted(0, "index_add", 7, line=4)], 0)
    assert told == "the first operation that differs is index_add at train.py:4, which gives another result from the same input at step 0"
    assert "a weight of shape (2, 3), given to linear" in str(first_operation(same, [noted(0, "linear", 9, given=2)], None))
    assert "draws other random numbers" in str(first_operation([noted(1, "dropout", 1)], [noted(1, "dropout", 2)], 3))
    assert first_operation([noted(2, "linear", 1)], [noted(2, "linear", 2)], 1) is None, "the losses differ before that"
    assert "part at step 0" in str(first_operation(same, [noted(0, "relu", 5)], 0))


def test_seeds_and_compare(train: Path, sickbay: Sickbay) -> None:
    done = sickbay("seeds", "-n", "2", "--steps", "30", "train.py", "seeded")
    assert done.returncode == 0 and "over 2 seeds" in done.stdout, done.stderr
    for name, words in (("one", ("seeded",)), ("two", ("seeded", "sick"))):
        assert sickbay("run", "--quiet", "--name", name, "train.py", *words).returncode == 0
    compared = sickbay("compare", "one", "two")
    assert compared.returncode == 0 and "WORSE" in compared.stdout, compared.stdout + compared.stderr


def test_checklist(train: Path, sickbay: Sickbay) -> None:
    done = sickbay("checklist", "--steps", "60", "train.py", "sick", timeout=240)
    assert done.returncode == 0, done.stderr
    assert "First: softmax before a loss that expects logits" in done.stdout
    assert "full precision" in done.stdout and "NOT NEEDED" in done.stdout
