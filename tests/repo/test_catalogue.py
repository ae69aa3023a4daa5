"""Every cause in the catalogue is documented, named by the rules, and has patients that show it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import scoreboard
from sickbay.causes import Cause, catalogue, find
from sickbay.nouns import LEVELS
from sickbay.signs import sign_names

HEADINGS = ("## What happens", "## How we know", "## Looks like it but is not", "## Fix", "## References")
LETTERS = dict(zip(LEVELS, ("D1", "A2", "P3", "H4", "S5", "E6"), strict=True))
FIRST = frozenset(
    "softmax-before-cross-entropy missing-zero-grad missing-optimizer-step optimizer-missing-parameters detached-graph nonfinite-input "
    "unshuffled-data eval-mode-in-training train-mode-in-evaluation shape-broadcast lr-too-high lr-too-low overfitting dead-relu "
    "vanishing-gradient".split()
)
PATIENTS_PER_CAUSE = 3
"""Different styles of the same mistake: a detector that fits one script only is not one."""

CAUSES = list(catalogue().values())
every_cause = pytest.mark.parametrize("cause", CAUSES, ids=lambda c: c.name)


def test_the_first_causes_are_there() -> None:
    assert catalogue().keys() >= FIRST


def test_codes_are_unique() -> None:
    assert len({c.code for c in CAUSES}) == len(CAUSES)


@every_cause
def test_docs_have_the_five_headings_in_order(cause: Cause) -> None:
    found = re.findall(r"^## .*$", cause.doc, re.MULTILINE)
    assert tuple(found) == HEADINGS
    sections = re.split(r"^## .*$", cause.doc, flags=re.MULTILINE)
    assert all(section.strip() for section in sections), "an empty section, or no summary line"


@every_cause
def test_names_and_codes_obey_the_convention(cause: Cause) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", cause.name)
    assert re.fullmatch(LETTERS[cause.level] + r"\d\d", cause.code), f"{cause.level} causes have codes {LETTERS[cause.level]}xx"
    assert cause.title and cause.why.endswith(".")
    assert find(cause.code) is find(cause.name) is cause


@every_cause
def test_a_cause_is_one_file_of_its_own_name(cause: Cause) -> None:
    module = importlib.import_module(f"sickbay.causes.{cause.level}.{cause.name.replace('-', '_')}")
    assert cause.examine.__module__ == module.__name__


@every_cause
def test_what_it_explains_exists(cause: Cause) -> None:
    unknown = cause.explains - set(sign_names()) - catalogue().keys()
    assert not unknown, f"neither a sign nor a cause: {sorted(unknown)}"
    assert cause.name not in cause.explains


@every_cause
def test_it_has_patients_with_healthy_twins(cause: Cause, root: Path) -> None:
    patients = scoreboard.find_patients([root / "ward"], causes=[cause.name])
    assert len([p for p in patients if p.twin]) >= PATIENTS_PER_CAUSE, f"{len(patients)} patients: {[p.id for p in patients]}"
