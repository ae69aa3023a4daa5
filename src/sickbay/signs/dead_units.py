"""Most units of a layer never fire, over a whole window of samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign

# Units, not elements: under ReLU half of the elements are zero in a healthy layer, but each unit fires for some sample.
# A few dead units are normal; the catalogue calls a layer sick above one half.
SICK = 0.5


@sign("dead-units")
def dead_units(record: Record) -> Iterator[Sign]:
    family = record.family("activation_dead")
    for j, site in enumerate(family.names):
        seen = np.flatnonzero(np.isfinite(family.values[:, j]))
        values, steps = family.values[seen, j], family.steps[seen]
        late = float(np.median(values[-max(2, len(values) // 4) :])) if len(values) else 0.0
        if late <= SICK:
            continue
        since = int(steps[np.flatnonzero(values <= SICK)[-1] + 1]) if np.any(values[:-1] <= SICK) and values[-1] > SICK else int(steps[0])
        yield Sign(
            name="dead-units",
            where=site,
            steps=(since, int(steps[-1])),
            strength=share(late, SICK, 1.0),
            numbers={"share": late, "at_start": float(values[0]), "start": float(steps[0]), "since": float(since)},
            text=f"{late:.0%} of the units of {site} never fire (since step {since}; {values[0]:.0%} at step {steps[0]})",
        )
