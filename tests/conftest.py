"""What all tests share: where the repository is, how to run a command of ours, and reproducible property tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# The same examples every time, and no deadline: CI's two cores are shared.
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's folder."""
    return ROOT


Sickbay = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def sickbay(tmp_path: Path) -> Sickbay:
    """Runs the command line in a scratch folder: `sickbay("run", "train.py")`; `cwd=` and `timeout=` as in subprocess."""

    def run(*arguments: str | Path, cwd: Path = tmp_path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"NO_COLOR": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "80"}
        command = [sys.executable, "-m", "sickbay", *map(str, arguments)]
        return subprocess.run(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False
        )

    return run
