"""Alternating blocks in one process: plain, watched, plain, watched… and the statistics of their ratios.

Each watched block is compared with the mean of the plain blocks right before and right after it, so a machine that
slowly gets slower (heat, neighbours) cancels out. The result is the median over blocks, which one hiccup can't move;
its interval is a bootstrap over blocks.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

Step = Callable[[], Tensor]
clock = time.perf_counter
_timers: list[Callable[[], float]] = [time.perf_counter]
FEWEST_ROUNDS = 2


class Contestant:
    """Something that can be switched on and off around training steps. As it stands: nothing at all."""

    name = "nothing (noise floor)"

    def on(self) -> None:
        """Attach; not timed."""

    def off(self) -> None:
        """Detach without a trace; not timed."""

    def after_step(self, loss: Tensor) -> None:
        """What its user would write at the end of each step; timed."""

    def close(self) -> None:
        """Measured for the last time."""


PLAIN = Contestant()


@dataclass(frozen=True)
class Pair:
    """One block of a contestant and the plain blocks before and after it: seconds of each step."""

    steps: list[float]
    before: list[float]
    after: list[float]

    @property
    def plain(self) -> float:
        """Seconds of a plain step: a mean, as a block's mean is held against it."""
        return (statistics.fmean(self.before) + statistics.fmean(self.after)) / 2

    @property
    def typical(self) -> float:
        """Seconds of a plain step: a median, to hold single steps against."""
        return statistics.median(self.before + self.after)

    @property
    def ratio(self) -> float:
        return statistics.fmean(self.steps) / self.plain


@dataclass
class Result:
    """All blocks of one contestant."""

    name: str
    pairs: list[Pair] = field(default_factory=list)
    failed: str = ""

    @property
    def overhead(self) -> float:
        """Median over blocks of the share of time added."""
        return statistics.median(p.ratio for p in self.pairs) - 1

    @property
    def mean(self) -> float:
        """Mean over blocks: contains rare dear steps that a median hides, and hiccups."""
        return statistics.fmean(p.ratio for p in self.pairs) - 1

    @property
    def noise(self) -> float:
        """By how much two neighbouring plain blocks differ: the machine's own unrest, measured in passing."""
        return statistics.median(abs(statistics.fmean(p.after) / statistics.fmean(p.before) - 1) for p in self.pairs)

    @property
    def interval(self) -> tuple[float, float]:
        return bootstrap([p.ratio - 1 for p in self.pairs])

    @property
    def mean_interval(self) -> tuple[float, float]:
        return bootstrap([p.ratio - 1 for p in self.pairs], statistics.fmean)


def bootstrap(values: list[float], of: Callable[[list[float]], float] = statistics.median, resamples: int = 2000) -> tuple[float, float]:
    """95 % confidence interval of a statistic (the median)."""
    draw = random.Random(0)
    drawn = sorted(of(draw.choices(values, k=len(values))) for _ in range(resamples))
    cut = round(0.025 * resamples)
    return drawn[cut], drawn[-1 - cut]


def count_processor_time() -> None:
    """From now on, count this process's processor time: for busy machines. Misses waiting, and work in other processes."""
    _timers[0] = time.process_time


def run_block(step: Step, contestant: Contestant, steps: int) -> list[float]:
    """Seconds of each of so many steps."""
    timer = _timers[0]
    after = contestant.after_step
    times = []
    for _ in range(steps):
        started = timer()
        after(step())
        times.append(timer() - started)
    return times


def steps_in(step: Step, seconds: float) -> int:
    """How many steps make a block of at least `seconds`; warms up the workload in passing."""
    run_block(step, PLAIN, 2)
    times: list[float] = []
    while len(times) < 3 or (sum(times) < 1.0 and len(times) < 100):
        times += run_block(step, PLAIN, 1)
    return max(1, math.ceil(seconds / min(times)))


def alternate(step: Step, contestants: list[Contestant], *, steps: int, rounds: int, ends: float) -> list[Result]:
    """Measure every contestant in `rounds` blocks of `steps` steps, or as many rounds as begin before `ends` on the clock."""
    results = {c.name: Result(c.name) for c in contestants}
    plain = run_block(step, PLAIN, steps)
    for done in range(rounds):
        if done >= FEWEST_ROUNDS and clock() > ends:
            break
        for contestant in contestants[:: 1 if done % 2 == 0 else -1]:
            result = results[contestant.name]
            if result.failed:
                continue
            times = _switched_on(step, contestant, steps, result)
            before, plain = plain, run_block(step, PLAIN, steps)
            if times:
                result.pairs.append(Pair(times, before, plain))
    return list(results.values())


def _switched_on(step: Step, contestant: Contestant, steps: int, result: Result) -> list[float]:
    try:
        contestant.on()
        try:
            return run_block(step, contestant, steps)
        finally:
            contestant.off()
    except Exception as e:
        # A peer that breaks (on this torch, on this model) is told of, and the others go on.
        result.failed = f"{type(e).__name__}: {e}".splitlines()[0][:160]
        return []
