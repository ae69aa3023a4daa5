"""Every patient of the ward is labelled in the format of ward/README.md."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from repo.source import ROOT

FOLDERS = sorted(p for p in (ROOT / "ward").iterdir() if p.is_dir() and re.match(r"\d{3,4}-", p.name))
KEYS = {"id", "expected", "acceptable", "where", "source", "symptom", "why"}


def label(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "case.json").read_text(encoding="utf-8")))


def test_there_are_enough_healthy_scripts() -> None:
    healthy = [f for f in FOLDERS if label(f)["expected"] == ["healthy"]]
    assert len(healthy) >= 15


def test_numbers_are_unique() -> None:
    numbers = [f.name.partition("-")[0] for f in FOLDERS]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
class TestPatient:
    def test_label(self, folder: Path) -> None:
        case = label(folder)
        assert case.keys() - {"samples", "operation", "step"} == KEYS  # the planted samples, and the first NaN, where there are any
        assert case["id"] == folder.name
        assert case["expected"], "say what a good diagnosis has first"
        assert not set(case["expected"]) & set(case["acceptable"])
        for slug in case["expected"] + case["acceptable"]:
            assert re.fullmatch(r"[a-z]+(-[a-z]+)*", slug), slug
        for key in ("source", "symptom", "why"):
            assert case[key].strip() and "TODO" not in case[key], f"{key} is not written yet"

    def test_scripts(self, folder: Path) -> None:
        healthy = label(folder)["expected"] == ["healthy"]
        assert (folder / "train.py").is_file()
        assert (folder / "fixed.py").is_file() == (not healthy), "a sick script has a healthy twin; a healthy script is its own"
        for script in folder.glob("*.py"):
            ast.parse(script.read_text(encoding="utf-8"))
        assert {p.name for p in folder.iterdir()} - {"train.py", "fixed.py", "case.json", "__pycache__"} <= {"data"}

    def test_where_points_into_the_script(self, folder: Path) -> None:
        case = label(folder)
        if case["expected"] == ["healthy"]:
            assert case["where"] is None
            return
        assert case["where"]
        if match := re.search(r"([\w./-]+\.py):(\d+)", case["where"]):
            lines = (folder / match[1]).read_text(encoding="utf-8").splitlines()
            assert lines[int(match[2]) - 1].strip(), f"{case['where']} is an empty line"

    def test_nothing_gives_the_mistake_away(self, folder: Path) -> None:
        text = (folder / "train.py").read_text(encoding="utf-8").lower()
        told = [word for word in ("bug", "mistake", "oops", "wrong", "sickbay", "fixme") if re.search(rf"\b{word}\b", text)]
        assert not told
