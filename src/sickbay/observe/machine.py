"""The machine: versions, devices, memory."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.observer import Observer

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class MachineWatch(Observer):
    """The environment once; memory on every fourth sampled step."""

    name = "machine"
    sees = "the machine: versions and memory"

    def step_closed(self, _: int) -> None:
        if self.session.sampled and self.session.with_histograms and (size := resident_bytes()) is not None:
            self.session.pulse["memory/rss"] = size

    def report(self) -> None:
        self.session.writer.fact("environment", environment())


def environment() -> facts.Environment:
    from sickbay import __version__

    return facts.Environment(
        python=platform.python_version(),
        torch=str(torch.__version__),
        numpy=np.__version__,
        sickbay=__version__,
        platform=f"{platform.system()} {platform.machine()}",
        device="cuda" if torch.cuda.is_available() else "cpu",
        threads=torch.get_num_threads(),
        rank=_number("RANK", 0),
        world_size=_number("WORLD_SIZE", 1),
    )


def resident_bytes() -> int | None:
    """Memory of this process. Read from /proc: a thousand times cheaper than asking psutil."""
    if sys.platform != "linux":
        return None
    try:
        with open("/proc/self/statm", "rb") as f:
            return int(f.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return None


def _number(variable: str, default: int) -> int:
    value: Any = os.environ.get(variable, "")
    return int(value) if value.isdigit() else default
