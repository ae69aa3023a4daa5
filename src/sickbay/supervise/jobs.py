"""A run of a recorded command as a job: watched, ordered what to do, and fenced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sickbay.runs import RunInfo
from sickbay.settings import Settings
from sickbay.supervise.child import environment
from sickbay.trials.fence import TRACKERS_OFF
from sickbay.trials.orders import Orders
from sickbay.trials.runner import Job


def make_job(name: str, info: RunInfo, folder: Path, orders: Orders, scratch: Path, base: Mapping[str, str] | None = None) -> Job:
    """The recorded command, fenced: what it writes goes to the scratch folder."""
    temporary = scratch / "tmp"
    temporary.mkdir(parents=True)
    fenced = replace(orders, scratch=str(scratch))
    env = environment(folder, Settings(blackbox=0), base) | TRACKERS_OFF | fenced.to_env()
    env |= {"TMPDIR": str(temporary), "MLFLOW_TRACKING_URI": (temporary / "mlflow").as_uri()}
    env.setdefault("PYTHONHASHSEED", "0")
    return Job(name, tuple(info.command), info.cwd, env, folder)
