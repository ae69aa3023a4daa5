"""What can be found in the trace behind a loss: one file per finding, each with a function `read(reading)`."""

from __future__ import annotations

from collections.abc import Callable

from sickbay.observe.readers import (
    broadcasts,
    cuts,
    differences,
    draws,
    entrances,
    fragile,
    heads,
    invalid,
    linear_chains,
    masks,
    operations,
    penalties,
    squashes,
    waists,
)
from sickbay.observe.reading import Reading


def readers() -> tuple[Callable[[Reading], None], ...]:
    return (
        operations.read,
        cuts.read,
        draws.read,
        squashes.read,
        broadcasts.read,
        heads.read,
        differences.read,
        fragile.read,
        invalid.read,
        linear_chains.read,
        waists.read,
        penalties.read,
        entrances.read,
        masks.read,
    )
