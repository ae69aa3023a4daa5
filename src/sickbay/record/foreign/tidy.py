"""Tables in which a column of words says what a row is about: its phase ("train", "val"), or the name of its one value.

epoch,phase,loss          step,metric,value
0,train,2.30              0,train_loss,2.30
0,val,2.41                0,val_loss,2.41
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sickbay.record.foreign.batches import Columns
from sickbay.record.foreign.names import EVAL, TRAIN, meaning, words

PHASES = frozenset("phase split mode set subset stage type".split())
NAMES = frozenset({"metric", "metric name", "name", "tag", "key", "variable"})
AXES = frozenset({"step", "epoch", "lr"})
MOST_NAMES = 1000


@dataclass(frozen=True)
class Sorter:
    """Gives the numbers of a row the name that its words say."""

    place: int
    """Of the column of words."""
    value: str
    """The column of values that it names; "" if it says the phase of all of them."""

    @classmethod
    def of(cls, names: Sequence[str]) -> Sorter | None:
        """None for a plain table, whose header says it all."""
        plain = [" ".join(words(n)) for n in names]
        value = next((n for n, p in zip(names, plain, strict=True) if p == "value"), "")
        for i, p in enumerate(plain):
            if p in PHASES or (value and p in NAMES):
                return cls(i, value if p in NAMES else "")
        return None

    def sorted(self, columns: Columns, rows: Sequence[Sequence[str]]) -> Columns:
        """The columns of some rows, parted by the words of those rows; as they are if the words say nothing."""
        said = np.array([row[self.place].strip() for row in rows])
        labels = [str(label) for label in np.unique(said)[:MOST_NAMES]]
        if not self.value and not any((TRAIN | EVAL) & set(words(label)) for label in labels):
            return columns
        found: Columns = {}
        for name, (places, values) in columns.items():
            if meaning(name).kind in AXES or (self.value and name != self.value):
                found[name] = (places, values)
                continue
            for label in labels:
                chosen = said[places] == label
                if label and chosen.any():
                    found[label if self.value else f"{label}/{name}"] = (places[chosen], values[chosen])
        return found
