"""A log that another tool wrote: what was read of it, and what was taken for what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """One series of the record and the columns of the log that it was made of (several are added up)."""

    series: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Where a record comes from that sickbay did not observe itself. Present only in such records."""

    file: str = ""
    format: str = ""
    taken: tuple[Taken, ...] = ()
    unused: tuple[str, ...] = ()
    """Columns that were read but stand for nothing that sickbay knows."""
    axis: str = "row"
    """What the steps of the series are: "step", "epoch" or "row"."""
    run: int = 0
    """Which run of the file this is, from 0."""
    runs: int = 1
    values_are_means: bool = False
    """A value stands for many steps (an epoch, a logging interval), so few of them tell as much as many steps do."""
    contested: bool = False
    """The losses work against each other (a GAN), so that how high they are says little."""
    notes: tuple[str, ...] = ()
    """What was odd about the file, one sentence each."""
