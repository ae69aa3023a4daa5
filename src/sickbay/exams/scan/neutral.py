"""A scan leaves no trace: the generators of the process, of the loader, its sampler and its data set are put back as they were."""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from sickbay.exams.randomness import Randomness

DEEPEST = 3
MOST_OBJECTS = 200


@contextmanager
def undisturbed(*loaders: Any) -> Iterator[None]:
    """Whatever is drawn inside, afterwards it was not."""
    kept = Randomness.taken()
    undo = [put_back for loader in loaders for put_back in _kept(loader)]
    alive = [(loader, loader._iterator) for loader in loaders if hasattr(loader, "_iterator")]
    try:
        yield
    finally:
        for put_back in undo:
            put_back()
        for loader, iterator in alive:
            if iterator is None and loader._iterator is not None:  # persistent workers that were started by the scan
                loader._iterator = None
        kept.restore()


def _kept(loader: Any) -> Iterator[Callable[[], None]]:
    """One function per generator found in the loader, its samplers, its data set and what these hold."""
    seen: set[int] = set()
    waiting = deque([(loader, 0)])  # what is near comes first
    while waiting and len(seen) < MOST_OBJECTS:
        thing, depth = waiting.popleft()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if (put_back := _state_of(thing)) is not None:
            yield put_back
        elif depth < DEEPEST:
            waiting += [(held, depth + 1) for held in _held(thing)]


def _state_of(thing: Any) -> Callable[[], None] | None:
    if isinstance(thing, torch.Generator):
        state = thing.get_state()
        return lambda: _put_back(thing, state)
    if isinstance(thing, np.random.Generator):
        numbers = copy.deepcopy(thing.bit_generator.state)
        return lambda: setattr(thing.bit_generator, "state", numbers)
    if isinstance(thing, np.random.RandomState):
        old = thing.get_state()
        return lambda: thing.set_state(old)
    if isinstance(thing, random.Random):
        before = thing.getstate()
        return lambda: thing.setstate(before)
    return None


def _put_back(generator: torch.Generator, state: torch.Tensor) -> None:
    generator.set_state(state)


def _held(thing: Any) -> list[Any]:
    """What an object of the user's (or of torch) holds; tensors, arrays and long lists hold no generators."""
    if type(thing) in (list, tuple):
        return list(thing) if len(thing) <= 16 else []
    if type(thing) is dict:
        return list(thing.values()) if len(thing) <= 64 else []
    if isinstance(thing, (torch.Tensor, np.ndarray, str, bytes, int, float, type)) or callable(getattr(thing, "cuda", None)):
        return []
    attributes = getattr(thing, "__dict__", None)
    return list(attributes.values()) if isinstance(attributes, dict) else []
