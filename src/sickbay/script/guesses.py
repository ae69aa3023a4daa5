"""What is read from the text of a script may go wrong without harm: it only chooses a place or a fix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def guess(choose: Callable[P, T | None]) -> Callable[P, T | None]:
    """None where reading fails (code that nests too deep, a form that nobody thought of): the finding itself stands without it."""

    @functools.wraps(choose)
    def chosen(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return choose(*args, **kwargs)
        except Exception:
            return None

    return chosen
