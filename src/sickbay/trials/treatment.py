"""What a run is treated with, as people and programs write it: `lr=x0.1`, or several, `lr=x0.1,clip=1.0`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sickbay.errors import UsageError
from sickbay.trials.registry import Intervention, catalogue, find

LONGEST = 40
"""Characters of a value that a label shows."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """One intervention and its value, as written."""

    name: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.text}" if self.text else self.name

    @property
    def intervention(self) -> Intervention:
        return find(self.name)

    @property
    def value(self) -> tuple[Any, ...]:
        """The parsed value as the arguments that `install` wants; empty if it takes none."""
        chosen = self.intervention
        if chosen.parse is None:
            if self.text:
                raise UsageError(f"the treatment {self.name} takes no value; write just {self.name}, not {self}")
            return ()
        text = self.text or chosen.default
        if text is None:
            raise UsageError(f"the treatment {self.name} needs a value: {self.name}=..., to {chosen.describe}")
        try:
            return (chosen.parse(text),)
        except UsageError as e:
            raise UsageError(f"{self.name}: {e}") from None

    @property
    def label(self) -> str:
        """For reports: "learning rate ×0.1"."""
        text = (self.text or self.intervention.default or "").replace("x", "×", 1 if self.text.startswith("x") else 0)
        return " ".join(self.intervention.label.format(_short(text)).split())


def _short(text: str) -> str:
    """A long list by its beginning and its length."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2].rpartition(',')[0]}... ({text.count(',') + 1} in all)" if "," in text else f"{text[: LONGEST - 3]}..."


def parse(text: str) -> tuple[Treatment, ...]:
    """`lr=x0.1,clip=1.0`; what stands between commas and is no treatment belongs to the value before it (`drop-samples=3,17`)."""
    found: list[Treatment] = []
    for piece in filter(None, (p.strip() for p in text.split(","))):
        name, equals, value = piece.partition("=")
        if not equals and found and name.replace("_", "-") not in catalogue() and found[-1].text:
            found[-1] = Treatment(found[-1].name, f"{found[-1].text},{name}")
            continue
        found.append(Treatment(find(name).name, value.strip()))
    for treatment in found:
        _ = treatment.value  # raises if it cannot be read
    if not found:
        raise UsageError("no treatment was given; write for example --treat lr=x0.1")
    return tuple(found)


def labels(treatments: Iterable[Treatment]) -> str:
    return " and ".join(t.label for t in treatments)
