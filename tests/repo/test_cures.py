"""What causes declare as their cure can be given, and everything that can be given is documented."""

from __future__ import annotations

import pytest

from repo.source import ROOT
from sickbay.causes import Cause, catalogue
from sickbay.trials.registry import catalogue as interventions
from sickbay.trials.registry import find

CURED = [c for c in catalogue().values() if c.cure is not None]


@pytest.mark.parametrize("cause", CURED, ids=lambda c: c.name)
def test_every_cure_is_a_treatment(cause: Cause) -> None:
    name, _, value = (cause.cure or "").partition("=")
    chosen = find(name)
    assert not value or chosen.parse is not None
    if value and chosen.parse is not None:
        chosen.parse(value)


@pytest.mark.parametrize("name", interventions())
def test_every_treatment_is_documented(name: str) -> None:
    assert f"`{name}" in (ROOT / "docs" / "trials.md").read_text(encoding="utf-8")
