"""For pytest, found by itself once sickbay is installed: the fixture `sickbay_overfits`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sickbay.exams.overfit import Overfit


@pytest.fixture
def sickbay_overfits() -> Callable[..., Overfit]:
    """`sickbay_overfits(model, (inputs, targets), loss_fn)` fails the test if the model cannot learn that one batch by heart."""

    def check(model: Any, batch: Any, loss_fn: Callable[[Any, Any], Any], *, steps: int = 300) -> Overfit:
        from sickbay.exams.overfit import overfit

        result = overfit(model, batch, loss_fn, steps=steps)
        if not result:
            pytest.fail(f"{type(model).__name__} does not overfit one batch: {result.reason}", pytrace=False)
        return result

    return check
