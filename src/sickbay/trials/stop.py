"""Ends the script after so many steps, as `sys.exit()` on that line would: its own `finally` blocks and exit handlers run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sickbay.trials.control import Call, Control

PATIENCE = 20
"""How often the script may swallow our exception (`except BaseException: continue`) before the process is ended outright."""


class Enough(SystemExit):
    """The trial has seen what it needs."""


def stop_after(control: Control, steps: int) -> None:
    import torch

    session = control.session
    asked = 0

    def check() -> None:
        nonlocal asked
        if session.step < steps or session.off or os.getpid() != session.pid:
            return
        asked += 1
        session.shortened = True
        if session.trace is not None:
            session.trace.end()
        if asked > PATIENCE:
            session.close()
            os._exit(0)
        raise Enough(0)

    def around(original: Call) -> Call:
        def backward(*args: Any, **kwargs: Any) -> Any:
            if not session.busy:
                check()  # weights that are updated by hand tell of no step
            return original(*args, **kwargs)

        return backward

    control.after_step(lambda optimizer: check())
    control.wrap(torch.autograd, "backward", around)
