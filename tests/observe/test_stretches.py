"""Windows of evaluation that lie between windows of training, and what only looks like it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from observe.conftest import WatchScript
from sickbay.facts import Overlap
from sickbay.observe.keys import whole_row_keys
from sickbay.observe.stretches import ENOUGH_TO_TELL, MOST_SHOWN, Stretches
from sickbay.testing import suspicion_of

Divided = tuple[torch.Tensor, torch.Tensor]


def seen(train: torch.Tensor, shown: torch.Tensor, batch: int = 50) -> tuple[Stretches, Overlap | None]:
    watch = Stretches()
    for x in train[torch.randperm(len(train), generator=torch.Generator().manual_seed(1))].split(batch):
        watch.add(x, whole_row_keys(x))
    found = watch.shown(shown, whole_row_keys(shown), MOST_SHOWN)
    return watch, watch.compare([found] if found is not None else [], watch.batches)


def walk(steps: int, channels: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.randn(steps, channels, generator=torch.Generator().manual_seed(seed)).cumsum(0)


def windows(series: torch.Tensor, length: int = 50, stride: int = 10) -> torch.Tensor:
    return torch.stack([series[i : i + length] for i in range(0, len(series) - length + 1, stride)])


def at_random(x: torch.Tensor, share: float = 0.2) -> Divided:
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(2))
    return x[order[int(share * len(x)) :]], x[order[: int(share * len(x))]]


def cut(x: torch.Tensor, share: float = 0.2) -> Divided:
    at = int((1 - share) * len(x))
    return x[:at], x[at:]


SICK: dict[str, Callable[[], torch.Tensor]] = {
    "window, time, channel": lambda: windows(walk(6000)),
    "window, channel, time": lambda: windows(walk(6000)).transpose(1, 2),
    "window, 1, channel, time": lambda: windows(walk(6000)).transpose(1, 2)[:, None],
    "window, time": lambda: windows(walk(6000, 1))[:, :, 0],
    "two numbers for one": lambda: windows(walk(6000)).double(),
    "more channels than steps": lambda: windows(walk(6000, 64), 40, 10).transpose(1, 2),
    "every step": lambda: windows(walk(1500), 64, 1),
    "half of each": lambda: windows(walk(12000), 50, 25),
    "long ones": lambda: windows(walk(60000, 1), 1000, 100),
    "scaled by training": lambda: (windows(walk(6000)) - 3.0) / 7.0,
    "one noisy swing": lambda: windows(torch.sin(torch.arange(6000) * 0.3)[:, None] + 0.01 * torch.randn(6000, 1)),
}


@pytest.mark.parametrize("kind", SICK)
def test_windows_that_are_divided_at_random(kind: str) -> None:
    _, told = seen(*at_random(SICK[kind]()))
    assert told is not None and told.rows >= 50 and told.found >= 0.5 * told.rows and told.covered >= 0.75


def of_recordings(count: int = 40, steps: int = 300) -> Divided:
    parts = [windows(walk(steps, seed=n)) for n in range(count)]
    return torch.cat(parts[: count * 4 // 5]), torch.cat(parts[count * 4 // 5 :])


def each_cut(count: int = 60, steps: int = 300) -> Divided:
    """The last part of each person's recording."""
    parts = [cut(windows(walk(steps, seed=n))) for n in range(count)]
    return torch.cat([a for a, _ in parts]), torch.cat([b for _, b in parts])


def as_it_comes() -> Divided:
    """Each window is evaluated first, and trained on then: in the end, training holds all that came before the last."""
    x = windows(walk(6000), 50, 5)
    return x[:-60], x[-60:]


def swings(period: int) -> torch.Tensor:
    return windows(torch.sin(torch.arange(period) * (2 * np.pi / period)).repeat(9000 // period)[:, None])


def padded() -> torch.Tensor:
    x = torch.zeros(1500, 60, 2)
    for i, n in enumerate(torch.randint(5, 40, (1500,), generator=torch.Generator().manual_seed(0)).tolist()):
        x[i, :n] = walk(n, 2, seed=i)
    return x


def phrases() -> torch.Tensor:
    """Texts made of a few phrases, as vectors of their words."""
    g = torch.Generator().manual_seed(0)
    words, known = torch.randn(60, 16, generator=g), torch.randint(0, 60, (40, 12), generator=g)
    return words[known[torch.randint(0, 40, (1500, 5), generator=g)].flatten(1)]


def grouped() -> torch.Tensor:
    """Visits of the same people: most columns are the person's."""
    return torch.cat([torch.randn(300, 40, generator=torch.Generator().manual_seed(0)).repeat_interleave(6, 0), torch.randn(1800, 4)], 1)


FINE: dict[str, Callable[[], Divided]] = {
    "recordings are divided": of_recordings,
    "one series is cut in two": lambda: cut(windows(walk(6000))),
    "the end of each recording": each_cut,
    "evaluated before it is learned from": as_it_comes,
    "windows side by side": lambda: at_random(windows(walk(60000), 50, 50)),
    "blocks of windows": lambda: (torch.cat(list(windows(walk(6000)).split(30))[::2]), torch.cat(list(windows(walk(6000)).split(30))[1::2])),
    "a swing of 40 steps": lambda: at_random(swings(40)),
    "a swing of 180 steps": lambda: at_random(swings(180)),
    "a square": lambda: at_random(windows((torch.arange(9000) // 25 % 2).float()[:, None] * 0.5)),
    "padding": lambda: at_random(padded()),
    "phrases": lambda: at_random(phrases()),
    "columns of a person": lambda: at_random(grouped()),
    "a table": lambda: at_random(torch.randn(2000, 40)),
    "pictures": lambda: at_random(torch.rand(2000, 28, 28)),
    "one-hot letters": lambda: at_random(torch.nn.functional.one_hot(windows(torch.randint(0, 27, (6000, 1)))[:, :, 0], 27).float()),
    "training's own windows": lambda: (windows(walk(6000)), windows(walk(6000))[::4]),
}


@pytest.mark.parametrize("kind", FINE)
def test_look_alikes(kind: str) -> None:
    _, told = seen(*FINE[kind]())
    assert told is None or told.found < 0.1 * told.rows, told


def test_only_what_was_learned_before_counts() -> None:
    """A series that is evaluated block by block, each before it is learned from."""
    watch, x = Stretches(), windows(walk(9000), 50, 5)
    told = []
    for block in x.split(300):
        found = watch.shown(block, whole_row_keys(block), MOST_SHOWN)
        told.append(([found] if found is not None else [], watch.batches))
        for batch in block.split(50):
            watch.add(batch, whole_row_keys(batch))
    found = [t.found for shown, batches in told if (t := watch.compare(shown, batches)) is not None]
    assert len(found) >= 4 and not any(found)


def test_what_does_not_overlap_is_not_looked_at_for_long() -> None:
    watch, told = seen(torch.randn(3000, 40), torch.randn(200, 40))
    assert not watch.on and told is None and not watch.stretches and len(watch.known) < ENOUGH_TO_TELL + 50


SCRIPT = """
g = torch.Generator().manual_seed(0)
parts = [torch.randn(300, 2, generator=g).cumsum(0) for _ in range(30)]
x = torch.stack([p[i:i + 40] for p in parts for i in range(0, 260, 8)])
y = (x[:, -1, 0] > x[:, 0, 0]).long()
train, val = DIVIDED
model = nn.Sequential(nn.Flatten(), nn.Linear(80, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    for ids in train[torch.randperm(len(train))].split(32):
        optimizer.zero_grad()
        F.cross_entropy(model(x[ids]), y[ids]).backward()
        optimizer.step()
    with torch.no_grad():
        score = F.cross_entropy(model(x[val]), y[val])
"""


def test_a_script_that_divides_windows_at_random(script: WatchScript) -> None:
    run = script(SCRIPT.replace("train, val = DIVIDED", "order = torch.randperm(len(x), generator=g)\nval, train = order[:200], order[200:]"))
    suspicion = suspicion_of(run.record, "train-val-leakage")
    assert suspicion is not None and suspicion.certainty == "proven"
    assert "recordings" in suspicion.fix.text and "lie between windows of training" in suspicion.evidence[0].text


def test_a_script_that_divides_recordings(script: WatchScript) -> None:
    run = script(SCRIPT.replace("DIVIDED", "torch.arange(len(x)).split(24 * 33)"))
    assert suspicion_of(run.record, "train-val-leakage") is None
