"""Who observes. Each file below watches one thing; take one out and the rest go on."""

from __future__ import annotations

from sickbay.observe.accumulation import AccumulationWatch
from sickbay.observe.activations import ActivationWatch
from sickbay.observe.batches import BatchWatch
from sickbay.observe.blackbox import BlackboxWatch
from sickbay.observe.checkpoints import CheckpointWatch
from sickbay.observe.class_order import ClassOrderWatch
from sickbay.observe.clipping import ClippingWatch
from sickbay.observe.examples import ExampleWatch
from sickbay.observe.forensics import ForensicsWatch
from sickbay.observe.graph import GraphWatch
from sickbay.observe.hoards import HoardWatch
from sickbay.observe.judged import JudgedWatch
from sickbay.observe.kept import KeptWatch
from sickbay.observe.layers import LayerWatch
from sickbay.observe.loops import LoopWatch
from sickbay.observe.losses import LossWatch
from sickbay.observe.machine import MachineWatch
from sickbay.observe.modes import ModeWatch
from sickbay.observe.observer import Observer
from sickbay.observe.optimizers import OptimizerWatch
from sickbay.observe.phases import PhaseWatch
from sickbay.observe.precision import PrecisionWatch
from sickbay.observe.printed import PrintWatch
from sickbay.observe.probes import ProbeWatch
from sickbay.observe.randomness import RandomWatch
from sickbay.observe.ranges import RangeWatch
from sickbay.observe.ranks import RankWatch
from sickbay.observe.rebuilt import RebuiltWatch
from sickbay.observe.replay import ReplayWatch, replaying
from sickbay.observe.samples import SampleWatch
from sickbay.observe.schedulers import SchedulerWatch
from sickbay.observe.served import ServedWatch
from sickbay.observe.skips import SkipWatch
from sickbay.observe.spikes import SpikeWatch
from sickbay.observe.thawed import ThawWatch
from sickbay.observe.timeline import TimelineWatch
from sickbay.observe.weights import WeightWatch


def observers() -> tuple[type[Observer], ...]:
    """In the order in which they hear of a moment: the trace is switched off before others use torch themselves."""
    return (
        LoopWatch,  # before the trace forgets what it followed
        GraphWatch,
        RangeWatch,
        LayerWatch,
        ModeWatch,
        JudgedWatch,
        LossWatch,
        ForensicsWatch,
        SkipWatch,
        ClassOrderWatch,
        SpikeWatch,
        OptimizerWatch,
        ThawWatch,
        ActivationWatch,
        BatchWatch,
        SampleWatch,
        PhaseWatch,
        ServedWatch,
        RandomWatch,
        ExampleWatch,
        TimelineWatch,
        SchedulerWatch,
        RebuiltWatch,
        AccumulationWatch,
        ClippingWatch,
        PrecisionWatch,
        KeptWatch,
        WeightWatch,
        CheckpointWatch,
        ProbeWatch,
        HoardWatch,
        PrintWatch,
        RankWatch,
        MachineWatch,
        BlackboxWatch,
        *((ReplayWatch,) if replaying() is not None else ()),
    )
