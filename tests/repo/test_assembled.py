"""Scripts put together from parts: they run, none of the healthy is accused, and mistakes are made where they can be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from assembled.__main__ import script
from assembled.loops import STYLES
from assembled.mistakes import MISTAKES
from assembled.tasks import TASKS

WARD = Path(__file__).resolve().parents[2] / "ward"


def assembled(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assembled", *options],
        cwd=WARD,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("style", [s.__name__ for s in STYLES])
def test_every_script_is_python_and_the_same_every_time(style: str) -> None:
    for seed in range(40):
        like, text = script(seed, style)
        compile(text, like, "exec")
        assert script(seed, style) == (like, text) and like.endswith(style)


def test_every_mistake_can_be_made_somewhere_and_changes_the_script() -> None:
    for name, mistake in MISTAKES.items():
        changed = [(text, new) for seed in range(120) if (new := mistake.change(text := script(seed)[1])) is not None]
        assert len(changed) >= 2, name
        for text, new in changed:
            assert new != text
            compile(new, name, "exec")


def test_all_tasks_are_drawn() -> None:
    assert {Random(seed).choice(TASKS).__name__ for seed in range(60)} == {t.__name__ for t in TASKS}


def test_healthy_ones_are_not_accused_and_a_mistake_is_found() -> None:
    done = assembled("--healthy", "3", "--mistakes", "1", "--only", "never cleared")
    assert (done.returncode, done.stdout) == (0, "3 of 3 right\n1 of 1 right\n"), done.stdout + done.stderr
