"""One session at a time, always closed; the state of torch that a test could leave behind is put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from observe.watched import Run, exact, watch_function, watch_script

WatchScript = Callable[..., Run]


@pytest.fixture(autouse=True)
def clean_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test: no session is left, no function mode is open, torch is as it was."""
    if request.module.__name__.endswith("test_bootstrap"):
        yield
        return
    import torch

    from sickbay.observe import starting

    torch.set_num_threads(1)
    torch.manual_seed(0)
    depth = torch._C._len_torch_function_stack()
    yield
    left, starting.current = starting.current, None
    if left is not None:
        left.close()
        left.remove_hooks()
    open_modes = torch._C._len_torch_function_stack() - depth
    for _ in range(open_modes):
        torch._C._pop_torch_function_stack()
    assert left is None, "a session was left open"
    assert not open_modes, "a function mode was left open"


@pytest.fixture
def script(tmp_path: Path) -> WatchScript:
    """`script(text)` runs a training script under a session, every step sampled, and gives what was recorded."""

    def run(text: str, **settings: Any) -> Run:
        return watch_script(text, tmp_path, exact(**settings))

    return run


@pytest.fixture
def function(tmp_path: Path) -> WatchScript:
    """`function(f)` the same for a function of the test itself."""

    def run(train: Callable[[], Any], **settings: Any) -> Run:
        return watch_function(train, tmp_path, exact(**settings))

    return run
