"""Which trials are worth their time: the leading suspicions' cures first, then what the evidence does not separate from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sickbay.causes.own_scale import own_scale
from sickbay.causes.registry import catalogue
from sickbay.nouns import Diagnosis, Suspicion
from sickbay.record.reader import Record
from sickbay.signs import read_signs
from sickbay.trials.compare import LONGER, course_of
from sickbay.trials.treatment import Treatment, labels, parse

DEAD_AT_START = 0.5
STRONGER = {"leaky-relu": "lr=x0.1", "lr=x0.1": "lr=x0.01", "lr=x0.01": "lr=x0.001", "lr=x10": "lr=x100", "lr=x100": "lr=x1000"}
"""What is tried next where the first treatment did not cure."""
AT_MODELS = frozenset({"unfreeze", "standardise-input", "match-evaluation-input", "train-mode", "eval-mode", "insert-relu"})
AT_LOADERS = frozenset({"shuffle", "re-iterate", "drop-samples", "workers=2"})
"""Treatments that take hold of modules that are called, and of loaders."""
ON_QUANTITIES = frozenset({"standardise-input", "match-evaluation-input"})
TOUCHED = 0.25
"""Share of the batches: the median of a block of steps stays where it is as long as fewer than half of them are changed."""
MOST = 4
"""Trials of one run, unless more are asked for by name."""
BUDGET_RUNS = 2.0
"""Trials may take so many times what the run took: with the run itself, three times as long as without them."""
SHORTEST = 60
"""Steps below which hardly any curve says something; a trial is not made shorter to fit in another."""


@dataclass(frozen=True, slots=True)
class Planned:
    cause: str
    """Whose cure it is; empty for a treatment that the user asked for."""
    treatments: tuple[Treatment, ...]

    @property
    def text(self) -> str:
        return ",".join(map(str, self.treatments))

    @property
    def label(self) -> str:
        return labels(self.treatments)


@dataclass(frozen=True, slots=True)
class Plan:
    trials: tuple[Planned, ...]
    steps: int | None
    """Steps of each trial; None for the whole script."""
    baseline: bool
    """The script sets no seed, so that it is run once more as it is, with the seed that the treated runs have."""
    budget: float
    """Seconds for everything."""
    each: float
    """Seconds that one trial is expected to take."""

    @property
    def seconds(self) -> float:
        return (len(self.trials) + self.baseline) * self.each


def make_plan(
    record: Record, suspicions: Sequence[Suspicion], *, seeded: bool, given: Sequence[str] = (), steps: int | None = None, budget: float | None = None
) -> Plan:
    """`given` are the treatments that the user asked for; without any, the suspicions' cures are tried, best first."""
    run = record.facts.run
    trials = tuple(Planned("", parse(text)) for text in given) or tuple(_cures(record, suspicions))[:MOST]
    allowed = budget if budget is not None else BUDGET_RUNS * max(run.seconds, 1.0)
    jobs = len(trials) + (not seeded)
    if steps is None and jobs and jobs * run.seconds > allowed:
        steps = max(_fitting(record, allowed / jobs), _reaching(record))
    wanted = steps if steps is not None and steps < run.steps else None
    return Plan(trials, wanted, not seeded, allowed, _expected(record, wanted))


def _fitting(record: Record, seconds: float) -> int:
    """Steps that fit into so many seconds, after what the script does before it trains."""
    run = record.facts.run
    before = max(run.seconds - run.training_seconds, 0.0)
    share = max(seconds - before, 0.0) / max(run.training_seconds, 1e-6)
    return max(int(share * run.steps), min(SHORTEST, run.steps))


def _reaching(record: Record) -> int:
    """Steps after which a trial has passed what the run broke down at; 0 if it did not. A shorter trial would say nothing of it.

    It is run from the start all the same: the incident holds weights, optimizer and generators of that step, but the script's own counters,
    schedules and place in the data cannot be set to where they were, and a run with old weights and a new schedule is another experiment."""
    broke = course_of(record).broke
    crash = record.facts.crash
    at = broke if broke is not None else crash.step if crash is not None else None
    return int(LONGER * (at + 1)) + 1 if at is not None else 0


def _expected(record: Record, steps: int | None) -> float:
    run = record.facts.run
    if steps is None or not run.steps:
        return run.seconds
    return max(run.seconds - run.training_seconds, 0.0) + run.training_seconds * steps / run.steps


def _cures(record: Record, suspicions: Sequence[Suspicion]) -> Iterator[Planned]:
    tried: set[str] = set()
    for s in suspicions:
        text = cure_for(s.cause, record)
        if text is not None and text not in tried:
            tried.add(text)
            yield Planned(s.cause, parse(text))


def candidates(diagnosis: Diagnosis, everything: Sequence[Suspicion]) -> list[Suspicion]:
    """The root causes as ranked, then whatever else is suspected: what was folded below them may be the root."""
    roots = list(diagnosis.causes)
    known = {s.cause for s in roots}
    return roots + [s for s in everything if s.cause not in known]


def cure_for(cause: str, record: Record) -> str | None:
    """The treatment that a cause declares, with what only this record knows; None if it has none, or none that can be given here."""
    declared = catalogue()[cause].cure
    if (declared in AT_MODELS and not record.facts.models) or (declared in AT_LOADERS and not record.facts.loaders):
        return None  # a script of plain tensors, or without a loader: there is nothing that the treatment could take hold of
    if declared in ON_QUANTITIES and record.facts.inputs and not any("float" in entered.dtype for entered in record.facts.inputs):
        return None  # numbers of words have no mean and spread to bring to anything
    if declared == "match-evaluation-input" and any(own_scale(record, d) is not None for d in record.facts.evaluation_data):
        return None  # mean and spread are training's already: what they hid cannot be brought back
    if declared == "reinit" and not (record.facts.models or record.facts.run.backwards or record.facts.run.autograd_grad_calls):
        return None  # no weights were seen
    if declared == "drop-samples":
        samples = _mislabelled(record) if cause == "label-noise" else _broken_samples(record)
        return f"drop-samples={','.join(map(str, samples))}" if samples else None
    if declared in ("lr=x0.1", "lr=x10"):
        return _dosed(declared, record)
    if declared == "leaky-relu" and any(s.numbers["at_start"] >= DEAD_AT_START for s in read_signs(record).named("dead-units")):
        return "reinit"  # they were never alive: a little slope does not bring them back
    if declared == "relu-and-normalisation" and any(layer.kind == "RNN" for model in record.facts.models for layer in model.layers):
        return "gated-recurrence"
    if declared == "relu-and-normalisation" and not any(op.name in ("tanh", "sigmoid") for loss in record.facts.losses for op in loss.activations):
        return None  # the activations are inside a recurrent layer of another kind
    if declared == "insert-relu":
        layers = _bare_layers(record)
        return f"insert-relu={','.join(layers)}" if layers else None
    if declared == "loosen-clipping":
        norms = record.series("clip_norm").values
        usual = float(np.quantile(norms[np.isfinite(norms)], 0.95)) if np.isfinite(norms).any() else 0.0
        return f"loosen-clipping={usual:.3g}" if usual > 0 else declared
    if declared == "scale-accumulation":
        found = next(iter(record.facts.accumulations), None)
        return f"scale-accumulation={found.backwards}" if found is not None else declared
    return declared


def _dosed(declared: str, record: Record) -> str:
    """A tenth, or tenfold, unless the weights' own updates ask for more: they move by about 1e-3 of the weights where training goes well, and by no more
    than 1e-2 (CATALOGUE). In a short run 1e-3 is too little to be seen: the weights must be able to move by their own size before it ends.

    Counted are the updates of the second half: the first ones of Adam and RMSprop are up to ten times what follows."""
    family = record.family("update_ratio")
    ratios = family.values[len(family.steps) // 2 :]
    known = ratios[np.isfinite(ratios) & (ratios > 0)]
    if not len(known):
        return declared
    typical = float(np.median(known))
    if declared == "lr=x10":
        wanted = min(max(1e-3, 1 / record.facts.run.steps), 1e-2) if record.facts.run.steps else 1e-3
        return f"lr=x{10 ** min(3, max(1, round(math.log10(wanted / typical))))}"
    return f"lr=x{10.0 ** max(-3, min(-1, math.ceil(math.log10(1e-2 / typical)))):g}"


def _broken_samples(record: Record) -> list[int]:
    spikes = record.facts.spikes
    if spikes is None:
        return []
    outlying = sorted({o.sample for s in spikes.kept for o in s.outliers if o.sample is not None})
    if outlying:
        return outlying
    counts = Counter(sample for s in spikes.kept for sample in set(s.samples))
    most = max(counts.values(), default=0)
    return sorted(sample for sample, n in counts.items() if n == most) if most >= 3 else []


def _mislabelled(record: Record) -> list[int]:
    """The surest of the samples that resemble another class than theirs."""
    probe = record.facts.data_probe
    return sorted(probe.suspects.indices) if probe is not None and probe.suspects is not None else []


def _bare_layers(record: Record) -> list[str]:
    """Layers whose output goes into the next one as it is."""
    found = [name for loss in record.facts.losses for m in loss.linear_maps for name in m.follows]
    return list(dict.fromkeys(name.rpartition(".")[0] for name in found if "." in name))


def eases(planned: Planned, record: Record) -> bool:
    """Whether samples are left out of so many batches that the training loss is lower for that alone. Medians forgive what touches few batches."""
    left_out = sum(len(t.value[0]) for t in planned.treatments if t.intervention.eases)
    loader = next((x for x in record.facts.loaders if x.role == "train"), None)
    batches = loader.samples / loader.batch_size if loader is not None and loader.samples and loader.batch_size else 1.0
    return left_out > TOUCHED * batches
