"""`pytest --sickbay` and the fixtures, in a pytest of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

TESTS = """
import pytest
import torch
from torch import nn


def train(*more, steps=60, lr=1e-2):
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    y = x[:, :4].argmax(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4), *more)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def test_well():
    assert train(steps=100) < 0.5


def test_sick():
    train(nn.Softmax(dim=1))


@pytest.mark.sickbay(allow=["softmax-before-cross-entropy"])
def test_allowed():
    train(nn.Softmax(dim=1))


@pytest.mark.sickbay(watch=False)
def test_not_watched():
    train(nn.Softmax(dim=1))


def test_sick_and_failing():
    assert train(nn.Softmax(dim=1)) < 0.1


@pytest.fixture
def trained():
    return train(nn.Softmax(dim=1))


def test_with_a_sick_fixture(trained):
    pass


@pytest.fixture
def broken():
    train(nn.Softmax(dim=1))
    raise ValueError("not today")


def test_with_a_broken_fixture(broken):
    pass


def test_no_training():
    assert torch.ones(3).sum() == 3


def test_random_labels():
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

"""
SCRIPTS = """
def test_well(sickbay_healthy):
    assert sickbay_healthy("train.py", steps=60).verdict in ("healthy", "undecided")

def test_sick(sickbay_healthy):
    sickbay_healthy("train.py", "sick")

def test_allowed(sickbay_healthy):
    sickbay_healthy("train.py", "sick", allow="softmax-before-cross-entropy")

def test_broken(sickbay_healthy):
    sickbay_healthy("train.py", "broken")

def test_absent(sickbay_healthy):
    sickbay_healthy("tain.py")
"""
TRAIN = """
import sys
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(64, 8)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4), *([nn.Softmax(dim=1)] if "sick" in sys.argv else []))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(120):
    loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if "broken" in sys.argv and step == 50:
        raise OSError("the disk is on fire")
torch.save(model.state_dict(), "model.pt")
"""

Pytest = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Pytest:
    def start(text: str, *options: str, ini: str = "") -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_it.py").write_text(text)
        (tmp_path / "pytest.ini").write_text("[pytest]\n" + ini)
        command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "sickbay.integrations.pytest_plugin", "-p", "no:cacheprovider"]
        # Installed, the package gives the plugin to pytest by itself: named twice it would be refused.
        env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "100", "TMPDIR": str(tmp_path)}
        return subprocess.run([*command, *options], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=280, check=False)

    return start


def failures(done: subprocess.CompletedProcess[str]) -> set[str]:
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return {line.split("::")[1].split()[0] for line in lines}


def test_without_the_option_nothing_is_watched(run: Pytest) -> None:
    done = run(TESTS)
    assert failures(done) == {"test_sick_and_failing", "test_with_a_broken_fixture"}, done.stdout


def test_tests_that_train_sickly_fail_with_the_diagnosis(run: Pytest, tmp_path: Path) -> None:
    done = run(TESTS, "--sickbay")
    assert failures(done) == {"test_sick", "test_sick_and_failing", "test_with_a_sick_fixture", "test_with_a_broken_fixture"}, done.stdout
    assert "softmax-before-cross-entropy" in done.stdout and "loss that expects logits at test_it.py:26 (proven)" in done.stdout
    assert "Captured sickbay call" in done.stdout, "a failing test has the diagnosis as a section of its own"
    assert not list(tmp_path.glob("sickbay-*"))


def test_what_is_allowed(run: Pytest) -> None:
    ini = "sickbay = true\nsickbay_allow = softmax-before-cross-entropy\n"
    assert failures(run(TESTS, "-k", "test_sick or fixture", ini=ini)) == {"test_sick_and_failing", "test_with_a_broken_fixture"}
    assert failures(run(TESTS, "-k", "test_sick", "--sickbay", "--sickbay-allow", "softmax-before-cross-entropy")) == {"test_sick_and_failing"}
    wrong = run(TESTS, "--sickbay", "--sickbay-allow", "sofmax")
    assert wrong.returncode == 4 and "--sickbay-allow: " in wrong.stderr, wrong.stderr


def test_scripts(run: Pytest, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    done = run(SCRIPTS)
    assert failures(done) == {"test_sick", "test_broken", "test_absent"}, done.stdout
    assert "the disk is on fire" in done.stdout and "did you mean train.py?" in done.stdout
    assert not (tmp_path / "model.pt").exists(), "what the script writes is fenced"
