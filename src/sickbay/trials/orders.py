"""What a supervisor asks of a process that it treats, carried by one environment variable. Needs the standard library alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sickbay.observe.variables import TRIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    treat: str = ""
    """As on the command line: `lr=x0.1,clip=1.0`; empty for an untreated run."""
    steps: int | None = None
    """Stop after so many steps; None lets the script come to its own end."""
    total: int | None = None
    """Steps that the whole run has, if known: what a share of the steps is a share of."""
    seed: int | None = None
    """For scripts that set none themselves."""
    fingerprints: bool = False
    """Keep checksums of what the operations of the first steps gave."""
    scratch: str = ""
    """Where the fence sends what the script writes; empty for no fence."""

    def to_env(self) -> dict[str, str]:
        return {TRIAL: json.dumps(asdict(self))}

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Orders | None:
        """None in a process that is only watched."""
        text = (os.environ if environ is None else environ).get(TRIAL)
        return cls(**json.loads(text)) if text else None
