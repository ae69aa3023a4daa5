"""Every option of a run, once: its type, its default, what it means and what is allowed.

The command line makes its options from these fields, and the supervisor hands them to the user's process through one
environment variable. This file is imported in that process, so it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from sickbay.errors import SettingsError

ENVIRONMENT_VARIABLE = "SICKBAY_SETTINGS"
UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def parse_share(value: object) -> float:
    """A share of step time: `2%` or `0.02`."""
    text = str(value).strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if isinstance(value, bool) or not 0 <= share <= 1:
        raise SettingsError(f"{value!r} is not a share of step time: expected 0% to 100%; write for example 2% or 0.02")
    return share


def parse_size(value: object) -> int:
    """A number of bytes: `64MB`, `1.5 GB` or `67108864`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", str(value).strip(), re.IGNORECASE)
    if not match or (unit := match[2].upper()) not in UNITS:
        raise SettingsError(f"{value!r} is not a size: expected a number with KB, MB or GB; write for example 64MB")
    size = int(float(match[1]) * UNITS[unit])
    if size < 2**20:
        raise SettingsError(f"{value!r} is too small for a record: expected at least 1MB; the default is 64MB")
    return size


def parse_room(value: object) -> int:
    """A number of bytes, or 0 for none: `256MB`, `1.5 GB`, `0`."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", str(value).strip(), re.IGNORECASE)
    if isinstance(value, bool) or not match or (unit := match[2].upper()) not in UNITS:
        raise SettingsError(f"{value!r} is not a size: expected 0 or a number with KB, MB or GB; write for example 256MB")
    return int(float(match[1]) * UNITS[unit])


def parse_count(value: object) -> int:
    """A number of steps: 0 or more."""
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,12}", str(value).strip()):
        raise SettingsError(f"{value!r} is not a number of steps: expected a whole number from 0; write for example 20")
    return int(str(value))


def _option(default: Any, parse: Callable[[object], Any], show: str, metavar: str, describe: str) -> Any:
    return field(default=default, metadata={"parse": parse, "show": show, "metavar": metavar, "help": describe})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a run is watched. Values may be given as the command line writes them (`budget="2%"`)."""

    budget: float = _option(0.01, parse_share, "1%", "SHARE", "Share of step time that watching may cost.")
    record_bytes: int = _option(64 * 2**20, parse_size, "64MB", "SIZE", "Largest size of one process's record on disk.")
    blackbox: int = _option(
        256 * 2**20,
        parse_room,
        "256MB",
        "SIZE",
        "Most that is kept of the first step with a NaN or infinity: its batch, weights and random state, in the run's folder only; 0 keeps nothing.",
    )
    detail_steps: int = _option(4, parse_count, "4", "STEPS", "First steps that are measured in full, whatever they cost.")

    def __post_init__(self) -> None:
        for f in fields(self):
            try:
                object.__setattr__(self, f.name, f.metadata["parse"](getattr(self, f.name)))
            except SettingsError as e:
                raise SettingsError(f"{f.name}: {e}") from None

    def to_env(self) -> dict[str, str]:
        """The environment variables that carry these settings into another process."""
        return {ENVIRONMENT_VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """The settings a supervisor left for this process; the defaults if none did."""
        text = (os.environ if environ is None else environ).get(ENVIRONMENT_VARIABLE, "{}")
        try:
            given = json.loads(text)
            known = {f.name: given[f.name] for f in fields(cls) if f.name in given}
        except (ValueError, TypeError) as e:
            raise SettingsError(f"{ENVIRONMENT_VARIABLE}={text!r} is not a JSON object ({e}): unset it or write {{}}") from None
        return cls(**known)
