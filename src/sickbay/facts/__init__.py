"""What is known about the parts of one run: the vocabulary between observing and diagnosing.

Observers write these (as JSON, by `record.writer`), causes read them (typed, by `record.reader`). Every field has a
default, so a fact that could not be observed is simply absent, and an older record still opens. Layers and
parameters are called by their path in the user's model ("encoder.0.weight"); tensors outside any module by the
user's variable name ("w1"). All `Place`s are in the user's own source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from sickbay.facts.crash import Attached, BadIndices, Crash, CrashTensor, InplaceWrite, MemoryUse
from sickbay.facts.data import (
    Batches,
    Deliveries,
    EvaluationData,
    FeatureScale,
    Filled,
    InputScale,
    LabelOrder,
    Loader,
    NonfiniteBatch,
    Overlap,
    OwnScale,
    Phase,
    Randomness,
    ScoredSet,
    Served,
    WordShift,
)
from sickbay.facts.drawn import Generator, Start
from sickbay.facts.examples import (
    Across,
    Calibration,
    Column,
    ColumnGroup,
    DataProbe,
    EvaluatedExamples,
    NearCopies,
    Offset,
    Outlying,
    Relation,
    Renamed,
    Suspects,
)
from sickbay.facts.incident import Incident, ModelGiven, PartKept, PartMissing, TensorKept
from sickbay.facts.log import Log, Taken
from sickbay.facts.loops import Loop
from sickbay.facts.loss import (
    Broadcast,
    ClassOrder,
    Cut,
    FirstInvalid,
    Fragile,
    Head,
    LinearMap,
    LogitsThroughSoftmax,
    Loss,
    Mask,
    Masked,
    Op,
    Penalty,
    Values,
    Waist,
)
from sickbay.facts.model import CheckpointRead, FirstLoss, Layer, Model, Parameter, StateLoad, Weight
from sickbay.facts.probes import BatchMixing, BatchStatistics, FutureLeak, Probes, SignalGrowth
from sickbay.facts.procedure import (
    Accumulation,
    CallPattern,
    Clipping,
    Kept,
    Modes,
    Optimizer,
    OptimizerGroup,
    Precision,
    Rebuilt,
    Scheduler,
    Timeline,
)
from sickbay.facts.ranks import Apart, Lag, Rank, Ranks, RankSummary, SameRows, ShardSampler
from sickbay.facts.run import Environment, Evaluation, Hoard, Limit, Run
from sickbay.facts.spikes import LossSpike, Outlier, Spikes
from sickbay.nouns import Place

__all__ = [
    "HISTOGRAM_BINS",
    "HISTOGRAM_DECADES",
    "Accumulation",
    "Across",
    "Apart",
    "Attached",
    "BadIndices",
    "BatchMixing",
    "BatchStatistics",
    "Batches",
    "Broadcast",
    "Calibration",
    "CallPattern",
    "CheckpointRead",
    "ClassOrder",
    "Clipping",
    "Column",
    "ColumnGroup",
    "Crash",
    "CrashTensor",
    "Cut",
    "DataProbe",
    "Deliveries",
    "Environment",
    "EvaluatedExamples",
    "Evaluation",
    "EvaluationData",
    "Facts",
    "FeatureScale",
    "Filled",
    "FirstInvalid",
    "FirstLoss",
    "Fragile",
    "FutureLeak",
    "Generator",
    "Head",
    "Hoard",
    "Incident",
    "InplaceWrite",
    "InputScale",
    "Kept",
    "LabelOrder",
    "Lag",
    "Layer",
    "Limit",
    "LinearMap",
    "Loader",
    "Log",
    "LogitsThroughSoftmax",
    "Loop",
    "Loss",
    "LossSpike",
    "Mask",
    "Masked",
    "MemoryUse",
    "Model",
    "ModelGiven",
    "Modes",
    "NearCopies",
    "NonfiniteBatch",
    "Offset",
    "Op",
    "Optimizer",
    "OptimizerGroup",
    "Outlier",
    "Outlying",
    "Overlap",
    "OwnScale",
    "Parameter",
    "PartKept",
    "PartMissing",
    "Penalty",
    "Phase",
    "Precision",
    "Probes",
    "Randomness",
    "Rank",
    "RankSummary",
    "Ranks",
    "Rebuilt",
    "Relation",
    "Renamed",
    "Run",
    "SameRows",
    "Scheduler",
    "ScoredSet",
    "Served",
    "ShardSampler",
    "SignalGrowth",
    "Spikes",
    "Start",
    "StateLoad",
    "Suspects",
    "Taken",
    "TensorKept",
    "Timeline",
    "Values",
    "Waist",
    "Weight",
    "WordShift",
    "places_in",
]

HISTOGRAM_DECADES = (-12, 4)
"""Histograms count |x| in half-decade bins from 1e-12 to 1e4, after one bin for exact zeros (and below)."""
HISTOGRAM_BINS = 2 * (HISTOGRAM_DECADES[1] - HISTOGRAM_DECADES[0]) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All facts of one record."""

    environment: Environment = field(default_factory=Environment)
    run: Run = field(default_factory=Run)
    models: tuple[Model, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    optimizers: tuple[Optimizer, ...] = ()
    loaders: tuple[Loader, ...] = ()
    losses: tuple[Loss, ...] = ()
    schedulers: tuple[Scheduler, ...] = ()
    accumulations: tuple[Accumulation, ...] = ()
    clippings: tuple[Clipping, ...] = ()
    precision: Precision = field(default_factory=Precision)
    kept: tuple[Kept, ...] = ()
    hoards: tuple[Hoard, ...] = ()
    """Containers that grow with the steps."""
    loops: tuple[Loop, ...] = ()
    """Loops that make very many small operations of a step, the largest first."""
    rebuilt: tuple[Rebuilt, ...] = ()
    batches: Batches = field(default_factory=Batches)
    randomness: Randomness = field(default_factory=Randomness)
    probes: Probes = field(default_factory=Probes)
    timeline: Timeline = field(default_factory=Timeline)
    modes: Modes = field(default_factory=Modes)
    nonfinite: tuple[NonfiniteBatch, ...] = ()
    labels: LabelOrder | None = None
    inputs: tuple[InputScale, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    evaluation_data: tuple[EvaluationData, ...] = ()
    phases: tuple[Phase, ...] = ()
    """Stretches of training on different samples; empty if there is only one."""
    scored: tuple[ScoredSet, ...] = ()
    """Sets of samples that the model was evaluated on more than once."""
    served: tuple[Served, ...] = ()
    """What was predicted after training, of samples that are prepared otherwise than in an earlier evaluation."""
    data_probe: DataProbe | None = None
    """What a sample of the data showed at the end of the run."""
    crash: Crash | None = None
    spikes: Spikes | None = None
    incident: Incident | None = None
    """What was kept of the first step with a value that was not finite."""
    class_order: tuple[ClassOrder, ...] = ()
    refused: Head | None = None
    """What fed the loss function that ended the run with an exception, where the step was traced."""
    unused_loss: FirstInvalid | None = None
    """Of a training loss that was not finite and that the script then did not use (it stopped, or left the step out)."""
    masked: tuple[Masked, ...] = ()
    """Steps and gradients that were left out because they were not finite."""
    limits: tuple[Limit, ...] = ()
    weights: tuple[Weight, ...] = ()
    first_losses: tuple[FirstLoss, ...] = ()
    checkpoints: tuple[CheckpointRead, ...] = ()
    state_loads: tuple[StateLoad, ...] = ()
    rank: Rank | None = None
    """Only in the record of a process of a distributed run."""
    ranks: Ranks | None = None
    """...and what the records of all of them show, which is put together after the run."""
    log: Log | None = None
    """Only in the record of a run that another tool logged."""


def places_in(fact: Any) -> Iterator[Place]:
    """Every place that a fact names, however deep."""
    if isinstance(fact, Place):
        yield fact
    elif isinstance(fact, (tuple, list)):
        for item in fact:
            yield from places_in(item)
    elif isinstance(fact, dict):
        for item in fact.values():
            yield from places_in(item)
    elif is_dataclass(fact):
        for f in fields(fact):
            yield from places_in(getattr(fact, f.name))
