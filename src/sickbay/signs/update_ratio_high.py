"""Steps change the weights by a tenth of their size or more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.layers import nanmedian, weights
from sickbay.signs.registry import share, sign

# |update| / |weight|: about 1e-3 is healthy; at 1e-1 ten steps replace the weights. The median over layers, so that one
# small or freshly started layer does not speak for the net.
UNSTABLE = 0.1
FRAMES = 3
"""On at least three observed steps: the first one or two of Adam are always large against small initial weights."""


@sign("update-ratio-high")
def update_ratio_high(record: Record) -> Iterator[Sign]:
    columns = weights(record, record.family("update_ratio"))
    if not columns.parameters:
        return
    typical = nanmedian(columns.values, axis=1)
    high = np.flatnonzero(typical > UNSTABLE)
    if len(high) < FRAMES:
        return
    peak = float(np.max(typical[high]))
    late = nanmedian(typical[None, -max(1, len(typical) // 3) :], axis=1)[0]
    yield Sign(
        name="update-ratio-high",
        where=columns.parameters[int(np.nanargmax(nanmedian(columns.values[high], axis=0)))].name,
        steps=(int(columns.steps[high[0]]), int(columns.steps[high[-1]])),
        strength=share(np.log10(peak), np.log10(UNSTABLE), 1.0),
        numbers={"peak": peak, "late": float(late), "frames": len(high), "observed": len(typical)},
        text=f"single steps change the weights by up to {peak:.2g} of their size in the median layer (healthy: about 1e-3), on {len(high)} of {len(typical)} observed steps",
    )
