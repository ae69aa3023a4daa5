"""Causes: why training is sick. One file per cause, by level, each with its documentation, its evidence and its fix."""

from sickbay.causes.registry import Cause, catalogue, cause, find

__all__ = ["Cause", "catalogue", "cause", "find"]
