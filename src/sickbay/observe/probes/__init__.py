"""Experiments on a double of the user's model: does a prediction answer to an input it should not know?"""

from sickbay.observe.probes.watch import ProbeWatch

__all__ = ["ProbeWatch"]
