"""Judges what a scan of loaders showed: facts in, findings out. No torch, and nothing of the samples.

A finding is wrong (`proven`, `likely`), or a remark (`possible`) where a loader may well be meant to be like that: oversampling, series in the order of time, classes that are rare by nature.
"""

from sickbay.scanned.judge import judge

__all__ = ["judge"]
