"""Every seed that the script sets, and the one it starts with, is another one."""

from __future__ import annotations

import random
from typing import Any

from sickbay.exams.randomness import seed_everything
from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention
from sickbay.trials.values import count

APART = 7919
"""Between the seeds of two runs: a script that counts its own seeds up by one does not meet itself again."""


@intervention("start from another random seed, also where the script sets its own", parse=count, label="seed {}")
def seed(control: Control, number: int) -> None:
    import numpy as np
    import torch

    seed_everything(number)

    def around(original: Call) -> Call:
        def moved(*args: Any, **kwargs: Any) -> Any:
            return original(*(a + APART * number if type(a) is int else a for a in args), **kwargs)

        return moved

    for owner, name in ((torch, "manual_seed"), (np.random, "seed"), (np.random, "default_rng"), (random, "seed")):
        control.wrap(owner, name, around)
