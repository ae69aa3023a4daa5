"""Checksums of what every operation of the first steps was given and gave: two runs can then be told apart at the operation, not only at the loss."""

from __future__ import annotations

import atexit
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sickbay.observe.places import place_of

if TYPE_CHECKING:
    import torch

    from sickbay.observe.session import Session
    from sickbay.observe.trace import Node

FILE = "fingerprints.json"
STEPS = 4
"""Operations are followed in the first steps of every run. What does not repeat itself does so there, or is told by the losses alone."""
MOST = 20_000


def take(session: Session) -> None:
    """From here on; written into the run's folder when the process ends."""
    noted: list[dict[str, Any]] = []

    def passed(node: Node, output: torch.Tensor) -> None:
        if session.step >= STEPS or len(noted) >= MOST or node.index < 0:
            return
        place = place_of(*node.key) if node.key is not None else None
        noted.append(
            {
                "step": session.step,
                "operation": node.name.strip("_"),
                "file": place.file if place is not None else None,
                "line": place.line if place is not None else None,
                "given": [[list(t.shape), t.requires_grad and t.is_leaf, checksum(t)] for t in node.sources],
                "gave": checksum(output),
            }
        )

    session.on_output.append(passed)
    file = Path(session.recording.path).parent / FILE
    atexit.register(lambda: file.write_text(json.dumps(noted), encoding="utf-8"))


def checksum(tensor: torch.Tensor) -> int:
    """Of its bits; 0 where there are none to look at."""
    import torch

    if tensor.layout is not torch.strided or tensor.is_meta or tensor.is_quantized:
        return 0
    return zlib.crc32(tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy().data)
