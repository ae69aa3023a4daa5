"""What observing the data costs: the time that the observers of batches, samples and labels take of each step, and once at the end.

python -m bench.data                              mlp, cnn and gpt-small
python -m bench.data --workloads mlp --seconds 30

Each of their methods is timed by itself, in processor time. Held against the difference of two noisy blocks, this is exact to some microseconds a step, of which the timing itself is one.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch

from bench.watching import Watched
from bench.workloads import WORKLOADS, chosen
from sickbay.observe.samples import EVERY_STEPS
from sickbay.settings import Settings

BAR = 0.01
DATA = frozenset({"batches", "samples", "examples", "class order"})
clock = time.thread_time


class Account:
    """Seconds by observer."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def timed(self, name: str, method: Callable[..., None]) -> Callable[..., None]:
        def call(*args: Any) -> None:
            began = clock()
            try:
                method(*args)
            finally:
                self.seconds[name] += clock() - began

        return call

    def attend(self, session: Any) -> None:
        """Put a clock around each method of theirs that the session calls."""
        for listeners in session._listeners.values():
            listeners[:] = [(o, self.timed(o.name, method) if o.name in DATA else method) for o, method in listeners]


class Part:
    """Some steps, and what of them went to the data's observers."""

    def __init__(self, account: Account, step: Callable[[], Any]) -> None:
        self.account, self.step = account, step
        self.steps, self.total = 0, 0.0
        self.spent: dict[str, float] = {}

    def run(self, most: int, seconds: float) -> None:
        before, began, ends = dict(self.account.seconds), clock(), time.monotonic() + seconds
        while self.steps < most and time.monotonic() < ends:
            self.step()
            self.steps += 1
        self.total = clock() - began
        self.spent = {n: s - before.get(n, 0.0) for n, s in self.account.seconds.items()}

    @property
    def share(self) -> float:
        ours = sum(self.spent.values())
        return ours / (self.total - ours)

    def told(self) -> str:
        each = ", ".join(f"{n} {1e6 * s / self.steps:.0f}" for n, s in sorted(self.spent.items(), key=lambda item: -item[1]))
        return f"{100 * self.share:.2f} % of {1e3 * self.total / self.steps:.1f} ms (microseconds: {each})"


def measured(name: str, seconds: float) -> bool:
    workload = WORKLOADS[name]()
    watched = Watched(workload, Settings())
    watched.begin(workload.step, Settings().detail_steps, settle=False)
    account = Account()
    account.attend(watched.session)
    watched.on()
    first, later = Part(account, workload.step), Part(account, workload.step)
    first.run(EVERY_STEPS, math.inf)
    later.run(10**9, seconds)
    watched.off()
    began = clock()
    for observer in watched.session.observers:
        for moment in ("report", "finish"):
            if observer.name in DATA and hasattr(observer, moment):
                getattr(observer, moment)()
    closing = clock() - began
    watched.close()
    print(f"{name:<10} {later.told()}; the first {first.steps} steps {first.told()}; {closing:.1f} s once at the end", flush=True)
    return later.share <= BAR


def main() -> None:
    parser = argparse.ArgumentParser(description="What observing the data costs.")
    parser.add_argument("--workloads", default="mlp,cnn,gpt-small")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    good = [measured(name, options.seconds) for name in chosen(options.workloads)]
    raise SystemExit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
