"""The run as a whole: where it ran, how it was evaluated, how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    python: str = ""
    torch: str = ""
    numpy: str = ""
    sickbay: str = ""
    platform: str = ""
    device: str = "cpu"
    threads: int = 0
    memory: int | None = None
    """Bytes that the machine (or its container) has for this process."""
    rank: int = 0
    world_size: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One way in which the script evaluates; its numbers are the series loss/eval and accuracy/eval of that index."""

    index: int
    place: Place | None = None
    """Where its loss is computed; where the model is called, if the script judges by hand."""
    loader: int | None = None
    passes: int = 0
    samples: int = 0
    model_at: Place | None = None
    """Where the model is called,"""
    called_from: Place | None = None
    """...and where the function around that."""
    by_hand: bool = False
    """No loss function is called there: the script compares by itself, and only the share of right answers (or the difference) is known."""
    part: int = 0
    """The how-manieth part of one forward pass's answers (a mask of a graph's nodes); 0 if it is all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Something that was not seen, and why: becomes `not_checked` in the report."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The run as a whole; rewritten while it grows."""

    script: str = ""
    argv: tuple[str, ...] = ()
    """The script and its arguments."""
    cwd: str = ""
    started: float = 0.0
    seconds: float = 0.0
    training_seconds: float = 0.0
    steps: int = 0
    backwards: int = 0
    forwards: int = 0
    epochs: int = 0
    steps_per_epoch: float | None = None
    overhead_seconds: float = 0.0
    sampled_steps: int = 0
    exit: int | str | None = None
    manual_updates: bool = False
    """Weights move without any optimizer step: the script updates them by hand."""
    autograd_grad_calls: int = 0
    finished: bool = False
    treatment: str = ""
    """What was changed in this run by a treatment, in words; empty in a run of the script as it is."""
    shortened: bool = False
    """Ended by us after the steps that were asked for, before the script's own end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hoard:
    """A list, dict, cache or tensor of the script's that held more each time memory was looked at."""

    name: str
    """What the script calls it."""
    first_step: int
    first: int
    last_step: int
    last: int
    """Its length at the first and the last look."""
    bytes_each: float = 0.0
    """What one entry holds, about: with those of the others that are as long at every look."""
    epochs: int = 0
    """Epochs between the two looks."""
    kind: str = "container"
    """ "container", "cache" (of a function), "hook" (a module's hook fills it), "rows" (a tensor or array that grows)."""
    place: Place | None = None
    """The function that it belongs to, for caches and hooks."""
    count: int = 0
    """Hooks of the same line; times that a cache was asked,"""
    hits: int = 0
    """...and how often it had an answer."""
    alike: int = 0
    """Those others: a list for each layer, say."""
