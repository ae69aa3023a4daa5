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
    """The environment, once."""

    name = "machine"
    sees = "the machine and its versions"

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
        memory=memory_bytes(),
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


def device_bytes() -> int:
    """What tensors hold on the device, as torch's own allocator counts it: nothing is waited for."""
    return int(torch.cuda.memory_allocated()) if torch.cuda.is_available() and torch.cuda.is_initialized() else 0


def memory_bytes() -> int | None:
    """What this process may use: the machine's memory, less if its container (cgroup, version 2 or 1) or its own limit allow less."""
    limits = [os.sysconf("SC_PHYS_PAGES") * _PAGE] if sys.platform == "linux" else []
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as f:
                text = f.read().strip()
        except OSError:
            continue
        limits += [int(text)] if text.isdigit() else []
    return min(limits + [n for n in (_own_limit(),) if n], default=None)


def _own_limit() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return soft if soft != resource.RLIM_INFINITY else None


def _number(variable: str, default: int) -> int:
    value: Any = os.environ.get(variable, "")
    return int(value) if value.isdigit() else default
