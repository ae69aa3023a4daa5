"""What the report tests share: hand-made runs (`fakes.py`), as views."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from report import fakes
from sickbay.report import view
from sickbay.report.view import View

Made = Callable[[str], View]


@pytest.fixture(scope="session")
def made() -> Made:
    """The view of a hand-made run, by its name in `fakes.CASES`; each is built once."""
    kept: dict[str, View] = {}

    def build(name: str) -> View:
        if name not in kept:
            kept[name] = view.build(*fakes.CASES[name]())
        return kept[name]

    return build
