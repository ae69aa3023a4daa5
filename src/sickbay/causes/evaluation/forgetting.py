"""What the model could do is lost while it learns something else.

## What happens

A model that does well on one task (or domain, language, set of classes) is trained on, with other data. Nothing in the new loss speaks for the old task, so the weights
that it needs are overwritten: the new task is learned, and the old one is unlearned within a few hundred steps.

## How we know

Training went over to other samples: their rows are none of those before (counted by key), or carry labels that were never there before. One and the same evaluation scored
well until then, and on the same samples it has lost a tenth of the answers and more since (five standard errors of what so many samples can tell), or the better part of what its loss had won;
and it is not back at the end. The new data is learned meanwhile.

## Looks like it but is not

- Overfitting: the samples that are trained on are the same all the time.
- A learning rate that breaks the model: the new data is not learned either.
- Rehearsal, where old samples come along with the new ones; a penalty that holds the old weights; adapters beside frozen weights: the old score stays.
- A curriculum: what was easy stays easy.
- A task that is given up: nobody evaluates it any more.
- Another model, or one that begins anew (folds, trials): it never knew the first task.

## Fix

Mix a part of the old samples into the new ones (from a tenth to a half), train on with a rate ten times lower or with the lower layers frozen, or add a term that keeps the weights (or the answers) near
the old ones; and stop by both scores.

## References

- McCloskey and Cohen 1989, Catastrophic interference in connectionist networks.
- Kirkpatrick et al. 2017, Overcoming catastrophic forgetting in neural networks (EWC).
- Chaudhry et al. 2019, On tiny episodic memories in continual learning (rehearsal).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sickbay.causes.evidence import located, proof, strong
from sickbay.causes.registry import cause
from sickbay.causes.serving import new_data
from sickbay.facts import Phase, ScoredSet
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, source_at
from sickbay.script.guesses import guess
from sickbay.signs import Signs
from sickbay.signs.curves import curve

LOST, ERRORS = 0.1, 5.0
"""Answers that are lost: a tenth of all, and so many standard errors of the difference (one in two million by chance)."""
OF_WON = 0.5
"""Of a loss: half of what had been won is lost again, and it is so much above all that it was at since it was won."""
LEARNS, AS_LOW = 0.7, 1.5
"""The new data is learned: its loss falls by three tenths, or ends as low as the old data's did, half as much again."""


@dataclass(frozen=True)
class Lost:
    """One set of samples that is answered worse since training went over to others."""

    scored: ScoredSet
    phase: Phase
    measure: str
    before: float
    after: float
    last: int
    size: float
    """How much of what could be lost is lost."""


@cause(
    code="E604",
    level="evaluation",
    title="an earlier task is forgotten while a new one is learned",
    why="What the model could do before is gone: whoever still needs it gets a worse model than before this training.",
    explains={
        "val-rising", "train-val-gap", "val-flat-from-start", "raised-loss", "overfitting", "train-val-mismatch", "miscalibrated", "majority-class-predictor",
        "unshuffled-data", "batch-too-small", "lr-too-high",
    },
    cure=None,
)  # fmt: skip
def forgetting(record: Record, signs: Signs) -> Iterator[Evidence]:
    found = lost(record)
    if not found:
        return
    worst = max(found, key=lambda x: x.size)
    phase, place = worst.phase, _place(record, worst.phase)
    yield proof(
        f"from step {phase.first} on training gets other samples{located(place)}: {_others(phase)}",
        place,
        steps=(phase.first, phase.last),
        rows=phase.rows,
        met=phase.met,
    )
    others = len({id(x.scored) for x in found}) - 1
    also = f"; {others} more {'evaluation falls' if others == 1 else 'evaluations fall'} likewise" if others else ""
    yield strong(
        f"on the same samples{located(worst.scored.place, ', evaluated at')}, it had {_value(worst, worst.before)} before that, and has {_value(worst, worst.after)} at step {worst.last}{also}",
        worst.scored.place,
        steps=(phase.first, worst.last),
        before=worst.before,
        after=worst.after,
    )


def _value(x: Lost, value: float) -> str:
    return f"{100 * value:.0f} % of {x.scored.samples:,} answers right" if x.measure == "accuracy" else f"a loss of {value:.3g}"


def _others(phase: Phase) -> str:
    if phase.labels and not phase.labels_met:
        return f"none of its {phase.labels} labels was there before"
    return f"{phase.met or 'none'} of {phase.rows:,} rows that were looked at had been there before"


def lost(record: Record) -> list[Lost]:
    """All sets of samples that lost what they had when training went over to others."""
    phases = [p for p in record.facts.phases[1:] if new_data(p) and _learned(record, p)]
    return [x for p in phases for s in record.facts.scored if (x := _lost(record, s, p)) is not None]


def _lost(record: Record, scored: ScoredSet, phase: Phase) -> Lost | None:
    begun = record.facts.phases[0].first
    for measure, values in (("accuracy", scored.accuracy), ("loss", scored.loss)):
        known = [(step, v) for step, v in zip(scored.steps, values, strict=True) if v is not None and math.isfinite(v)]
        before, after = [v for step, v in known if begun < step <= phase.first], [v for step, v in known if step > phase.first]
        if before and after:
            then, now = before[-1], after[-1]
            size = _answers(scored, then, now) if measure == "accuracy" else _loss(record, np.array(before), then, now)
            return Lost(scored, phase, measure, then, now, known[-1][0], size) if size else None
    return None


def _answers(scored: ScoredSet, then: float, now: float) -> float:
    """The share of the answers that is lost; 0 if that is little, or may be chance."""
    n = max(scored.samples, 1)
    error = math.sqrt((then * (1 - then) + now * (1 - now)) / n + 1 / n**2)
    return then - now if then - now > max(LOST, ERRORS * error) else 0.0


def _loss(record: Record, before: np.ndarray, then: float, now: float) -> float:
    """The part of what was won that is lost; 0 if that is little."""
    train = record.series("loss/train").values
    start = max(float(before[0]), float(np.median(train[:3])) if len(train) else 0.0)
    won = start - then
    if won <= 0 or now - then < OF_WON * won:
        return 0.0
    settled = before[before <= then + OF_WON / 2 * won]
    return (now - then) / won if now > 2 * float(np.max(settled, initial=then)) - min(then, 0.0) else 0.0


def _learned(record: Record, phase: Phase) -> bool:
    """Whether the new data is learned."""
    for series in record.series_like("loss/train"):
        c = curve(series)
        own, old = c.values[(c.steps >= phase.first) & (c.steps <= phase.last)], c.values[c.steps < phase.first]
        if len(own) >= 5 and not c.nonfinite:
            first, last = float(np.median(own[: max(3, len(own) // 20)])), float(np.median(own[-max(3, len(own) // 10) :]))
            level = float(np.median(old[-max(3, len(old) // 10) :])) if len(old) else -math.inf
            if last < LEARNS * first or last < AS_LOW * level:
                return True
    return False


def _place(record: Record, phase: Phase) -> Place | None:
    """The call that starts training on the new data, where there is a function for it; else the loop over its loader, else the line that calls the model."""
    if phase.called_from is not None:
        return phase.called_from
    loader = next((x for x in record.facts.loaders if x.index == phase.loader), None)
    return loader.iterated_at if loader is not None and loader.iterated_at is not None else phase.place


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    found = lost(record)
    phase = max(found, key=lambda x: x.size).phase if found else None
    old, new = (_names(record, phase) if phase is not None else None) or ("", "")
    if old and new and phase is not None and phase.loader is not None:
        snippet = (
            "from torch.utils.data import ConcatDataset, DataLoader, Subset\n\n"
            f"kept = Subset({old}.dataset, range(0, len({old}.dataset), 10))  # a tenth of the old samples\n"
            f"{new} = DataLoader(ConcatDataset([{new}.dataset, kept]), batch_size={new}.batch_size, shuffle=True)"
        )
    else:
        old, new = old or "old", new or "new"
        snippet = (
            f"kept = torch.randperm(len({old}))[: len({old}) // 10]  # a tenth of the old samples\n"
            f"{new} = torch.cat([{new}, {old}[kept]])  # and their targets likewise; shuffled together"
        )
    text = (
        "train on the new data together with a part of the old, with a rate ten times lower or the lower layers frozen; look at both scores to stop"
    )
    return mend(text, "", snippet)


@guess
def _names(record: Record, phase: Phase) -> tuple[str, str]:
    """What the script calls the old samples and the new ones: what differs between the two calls that start training, or that give a batch to the model."""
    before = next(p for p in reversed(record.facts.phases) if p.first < phase.first)
    for one, other in ((before.called_from, phase.called_from), (before.place, phase.place)):
        pairs = [(a, b) for a, b in zip(_arguments(record, one), _arguments(record, other), strict=False) if a != b]
        if pairs and one != other:
            return pairs[0]
    return "", ""


def _arguments(record: Record, place: Place | None) -> list[str]:
    """The names of what the calls on a line are given, from left to right; of `x[rows]`, x."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    names = [n for call in ast.walk(statement) if isinstance(call, ast.Call) for n in _given(call)] if statement is not None else []
    return [n.id for n in sorted(names, key=lambda n: (n.lineno, n.col_offset))]


def _given(call: ast.Call) -> list[ast.Name]:
    bare = [a.value if isinstance(a, ast.Subscript) else a for a in call.args]
    return [a for a in bare if isinstance(a, ast.Name)]
