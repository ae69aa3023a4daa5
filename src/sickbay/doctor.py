"""Examines the environment sickbay runs in. Every check gives one line: what was found and, if it is not well, what to do."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sickbay import __version__
from sickbay.runs import bootstrap_errors, open_run, runs_root
from sickbay.settings import Settings
from sickbay.supervise.child import environment
from sickbay.supervise.command import interpreter

TESTED_TORCH = ((2, 5), (2, 13))
OLDEST_PYTHON = (3, 11)
ENOUGH_DISK = 2**30
TRIAL_SECONDS = 180
TRIAL = """\
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    loss.backward()
    optimizer.step()
"""


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: Literal["ok", "warning", "failed"]
    text: str


def examine() -> Iterator[Check]:
    """All checks, cheapest first; the last really starts a script that trains."""
    checks: tuple[Callable[[], Check], ...] = (_sickbay, _python, _torch, _numpy, _extras, _disk, _watching)
    for check in checks:
        try:
            yield check()
        except Exception as e:
            yield Check(check.__name__.strip("_"), "failed", f"the check itself failed: {type(e).__name__}: {e}")


def _sickbay() -> Check:
    return Check("sickbay", "ok", f"{__version__} in {Path(__file__).parent}")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        return Check("python", "failed", f"{version}: expected 3.11 or newer")
    return Check("python", "ok", f"{version} ({sys.executable})")


def _torch() -> Check:
    version = _version("torch")
    if version is None:
        other = interpreter()
        if other != sys.executable:
            return Check("torch", "warning", f"not installed beside sickbay; scripts are run with {other}")
        return Check("torch", "warning", "not installed: recorded runs can be diagnosed, scripts cannot be run; `pip install torch`")
    oldest, newest = (".".join(map(str, v)) for v in TESTED_TORCH)
    if not TESTED_TORCH[0] <= release(version) <= TESTED_TORCH[1]:
        return Check(
            "torch", "warning", f"{version} is outside the tested range {oldest} to {newest}: it may work; the last check shows whether it does"
        )
    return Check("torch", "ok", f"{version} (tested: {oldest} to {newest})")


def release(version: str) -> tuple[int, int]:
    """ "2.13.0+cpu" -> (2, 13)"""
    major, minor, *_ = (*version.split("+")[0].split("."), "0")
    return int(major), int("".join(c for c in minor if c.isdigit()) or 0)


def _numpy() -> Check:
    version = _version("numpy")
    return Check("numpy", "ok", version) if version else Check("numpy", "failed", "not installed: `pip install numpy`")


def _extras() -> Check:
    """What the package itself declares, so that this never goes stale."""
    wanted: dict[str, list[str]] = {}
    for line in _requirements():
        if extra := re.search(r"extra == ['\"]([\w-]+)['\"]", line):
            wanted.setdefault(extra[1], []).append(re.split(r"[^\w.-]", line)[0])
    wanted.pop("dev", None)
    there = [name for name, packages in wanted.items() if all(map(_version, packages))]
    missing = [name for name in wanted if name not in there]
    return Check(
        "extras", "ok", f"installed: {', '.join(there) or 'none'}; not installed: {', '.join(missing) or 'none'} (none is needed for a diagnosis)"
    )


def _requirements() -> list[str]:
    """Empty when sickbay runs from its source folder without being installed."""
    try:
        return importlib.metadata.requires("sickbay") or []
    except importlib.metadata.PackageNotFoundError:
        return []


def _disk() -> Check:
    root = runs_root().absolute()
    place = next(p for p in (root, *root.parents) if p.exists())
    free = shutil.disk_usage(place).free
    text = f"{free / 2**30:.1f} GB free for runs in {root}"
    if not os.access(place, os.W_OK):
        return Check("disk", "failed", f"{place} cannot be written to: choose another folder with --runs or $SICKBAY_RUNS")
    return Check("disk", "ok" if free > ENOUGH_DISK else "warning", text)


def _watching() -> Check:
    """Really start a script that trains three steps, as `sickbay run` does."""
    with tempfile.TemporaryDirectory(prefix="sickbay doctor ") as temporary:
        folder = Path(temporary)
        (folder / "train.py").write_text(TRIAL, encoding="utf-8")
        begun = time.monotonic()
        child = subprocess.run(
            [interpreter(), str(folder / "train.py")],
            env=environment(folder, Settings()),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TRIAL_SECONDS,
            check=False,
        )
        seconds = time.monotonic() - begun
        if child.returncode:
            last = (child.stderr.strip().splitlines() or ["no message"])[-1]
            return Check("watching", "failed", f"a three-step script ended with {child.returncode}: {last}")
        if errors := bootstrap_errors(folder):
            return Check("watching", "failed", f"a three-step script ran, but sickbay could not get in: {errors[0]}")
        if not any(folder.glob("*.sickbay")):
            return Check(
                "watching", "failed", "a three-step script ran, but nothing was recorded: is there a sitecustomize that PYTHONPATH cannot reach?"
            )
        steps = open_run(folder).facts.run.steps
        if steps != 3:
            return Check("watching", "failed", f"a three-step script ran, but {steps} steps were recorded")
        return Check("watching", "ok", f"a three-step script was run and all its steps were recorded ({seconds:.1f} s)")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
