"""Who observes. Each file below watches one thing; take one out and the rest go on."""

from __future__ import annotations

from sickbay.observe.activations import ActivationWatch
from sickbay.observe.batches import BatchWatch
from sickbay.observe.graph import GraphWatch
from sickbay.observe.layers import LayerWatch
from sickbay.observe.losses import LossWatch
from sickbay.observe.machine import MachineWatch
from sickbay.observe.modes import ModeWatch
from sickbay.observe.observer import Observer
from sickbay.observe.optimizers import OptimizerWatch
from sickbay.observe.timeline import TimelineWatch


def observers() -> tuple[type[Observer], ...]:
    """In the order in which they hear of a moment: the trace is switched off before others use torch themselves."""
    return (GraphWatch, LayerWatch, ModeWatch, LossWatch, OptimizerWatch, ActivationWatch, BatchWatch, TimelineWatch, MachineWatch)
