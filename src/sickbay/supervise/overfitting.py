"""Whether a run on one batch learned it by heart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sickbay.exams.by_heart import memorised
from sickbay.nouns import Diagnosis, Suspicion
from sickbay.record.reader import Record
from sickbay.trials.levels import start_of

STILL_FALLING = 0.9
"""The last tenth of the run is below this share of the tenth before: more steps would go on."""
FALLS = 0.8
"""A loss that falls further than this share of its start teaches something: losses with a floor (a VAE's) stop at half of it in healthy scripts of the ward."""
FEWEST = 20


@dataclass(frozen=True, slots=True)
class Judged:
    memorised: bool
    word: str
    """YES, PARTLY, NOT YET, NO or TOO SHORT."""
    text: str

    @property
    def alarming(self) -> bool:
        return self.word == "NO"

    def held_against(self, diagnosis: Diagnosis) -> list[Suspicion]:
        """Causes that this run speaks of. One batch over and over is repeated, unshuffled and overfitted on purpose; and where it was
        memorised, only a proof in the model or the loop counts."""
        structural = [c for c in diagnosis.causes if c.level in ("architecture", "procedure") or c.cause.startswith("nonfinite")]
        return [c for c in structural if c.certainty == "proven" or not self.memorised]


def judge(record: Record) -> Judged:
    values = record.series("loss/train").values
    finite = values[np.isfinite(values)]
    if len(finite) < len(values):
        return Judged(False, "NO", f"the loss is not finite from step {int(np.argmin(np.isfinite(values))):,}, on one batch")
    if len(finite) < FEWEST:
        return Judged(False, "TOO SHORT", f"only {len(finite)} steps were made; {FEWEST} or more are needed to say anything")
    first, tail = start_of(finite), max(3, len(finite) // 20)
    last, before = float(np.median(finite[-tail:])), float(np.median(finite[-2 * tail : -tail]))
    told = f"the loss on one batch went from {first:.3g} to {last:.3g} in {len(finite):,} steps"
    if memorised(first, last):
        return Judged(True, "YES", f"{told}: the model can learn, and the loss and the loop teach it.")
    if last < STILL_FALLING * before:
        return Judged(False, "NOT YET", f"{told} and still falls: more steps (--steps) or a higher learning rate would tell.")
    if last < FALLS * first:
        return Judged(
            False,
            "PARTLY",
            f"{told} and stays there; more steps or a higher rate bring a healthy model near zero, unless its loss has a floor (VAE, noise).",
        )
    return Judged(False, "NO", f"{told} and stays there; a healthy model learns one batch by heart.")
