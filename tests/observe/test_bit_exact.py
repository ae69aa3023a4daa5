"""Watching moves no needle: losses, weights and random numbers are the same to the last bit."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from observe.programs import PROGRAMS, Program
from observe.watched import exact, watching
from sickbay.settings import Settings


def outcome(program: Program) -> list[bytes]:
    """Everything a program yields, then what the three random generators would give next."""
    torch.manual_seed(7)
    np.random.seed(7)
    random.seed(7)
    yielded = [bytes(t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()) for t in program()]
    return [*yielded, torch.get_rng_state().numpy().tobytes(), np.random.rand(4).tobytes(), repr(random.getstate()).encode()]


@pytest.mark.filterwarnings(  # torch's own
    "ignore:The PyTorch API of nested tensors",
    "ignore:Using backward.* with create_graph=True",
    "ignore:`torch.jit",
    "ignore:Full backward hook is firing",
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_watching_changes_nothing(name: str, tmp_path: Path) -> None:
    plain = outcome(PROGRAMS[name])
    for settings in (Settings(), exact()):
        path = tmp_path / f"{settings.detail_steps}.sickbay"
        with watching(path, settings) as session:
            watched = outcome(PROGRAMS[name])
            failed = dict(session.limits)
        assert watched == plain
        assert not [why for why in failed.values() if "failed" in why]
