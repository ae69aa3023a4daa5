"""Most outputs of a sigmoid or tanh layer are at the rails, where no gradient passes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs.registry import share, sign

# A hidden layer that works uses its slope; with nine in ten values at the rails nearly no gradient passes. The output
# of a well-trained binary classifier is there too, so on its own the sign accuses nobody.
SICK = 0.9


@sign("saturated-units")
def saturated_units(record: Record) -> Iterator[Sign]:
    family = record.family("activation_saturated")
    for j, site in enumerate(family.names):
        seen = np.flatnonzero(np.isfinite(family.values[:, j]))
        values, steps = family.values[seen, j], family.steps[seen]
        if len(values) < 2 or float(np.median(values[-max(2, len(values) // 4) :])) <= SICK:
            continue
        late = float(np.median(values[-max(2, len(values) // 4) :]))
        yield Sign(
            name="saturated-units",
            where=site,
            steps=(int(steps[np.flatnonzero(values > SICK)[0]]), int(steps[-1])),
            strength=share(late, SICK, 1.0),
            numbers={"share": late, "at_start": float(values[0])},
            text=f"{late:.0%} of the outputs of {site} are saturated ({values[0]:.0%} at step {steps[0]})",
        )
