"""JSON lines are read a block at a time: what that must not change."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from sickbay.record.foreign.detect import read_file
from sickbay.record.foreign.sheet import Sheet


def sheet_of(lines: list[str], tmp_path: Path) -> Sheet:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines) + "\n")
    (found,) = read_file(path)
    assert found.format == "JSON lines"
    return found


def column(sheet: Sheet, name: str) -> list[float]:
    return sheet.columns[name].arrays()[1].tolist()


def test_rows_of_two_kinds_keep_their_order(tmp_path: Path) -> None:
    lines = []
    for epoch in range(6):
        lines += [json.dumps({"mode": "train", "epoch": epoch, "iter": 100 * i, "loss": 1 / (1 + epoch + i)}) for i in range(3)]
        lines.append(json.dumps({"mode": "val", "epoch": epoch, "iter": 25, "loss": 2 / (1 + epoch), "lr": 0.1}))
    found = sheet_of(lines, tmp_path)
    assert column(found, "epoch") == [float(e) for e in range(6) for _ in range(4)]
    assert column(found, "val/loss") == [2 / (1 + e) for e in range(6)]
    assert len(column(found, "loss")) == len(column(found, "iter")) == 18
    rows = [c.arrays()[0] for c in found.columns.values()]
    assert all(np.all(np.diff(r) > 0) for r in rows)
    assert "val/iter" not in found.columns and "lr" not in found.columns


@pytest.mark.parametrize(
    "odd", ['{"loss": NaN, "step": 3}', '{"loss": 1e999, "step": 3}', 'INFO {"loss": 0.5, "step": 3}', '{"loss": "nan", "step": "3"}']
)
def test_one_line_that_is_no_strict_json(odd: str, tmp_path: Path) -> None:
    lines = [json.dumps({"loss": 1 / (1 + i), "step": i}) for i in range(8)]
    lines[3] = odd
    found = sheet_of(lines, tmp_path)
    values = column(found, "loss")
    assert column(found, "step") == [float(i) for i in range(8)]
    assert [v for i, v in enumerate(values) if i != 3] == [1 / (1 + i) for i in range(8) if i != 3]
    assert not math.isfinite(values[3]) or values[3] == 0.5


def test_numbers_among_words_lists_and_whole_numbers_without_bounds(tmp_path: Path) -> None:
    lines = [
        json.dumps({"loss": 1.0, "note": "warm-up", "ap": [0.1, 0.2], "in": {"acc": 0.5}, "flag": True, "none": None}),
        json.dumps({"loss": 2, "note": "0.25", "ap": [0.3, "x"], "in": {"acc": "0.75"}, "flag": False, "none": 3}),
        '{"loss": 1' + "0" * 400 + "}",
    ]
    found = sheet_of(lines, tmp_path)
    assert column(found, "loss") == [1.0, 2.0, math.inf]
    assert column(found, "note") == [0.25] and column(found, "none") == [3.0]
    assert column(found, "ap/0") == [0.1, 0.3] and column(found, "ap/1") == [0.2]
    assert column(found, "in/acc") == [0.5, 0.75] and "flag" not in found.columns


def test_lines_that_are_broken_are_counted(tmp_path: Path) -> None:
    found = sheet_of([*(json.dumps({"loss": i, "total_steps": 9}) for i in range(5)), '{"loss": 5, "st'], tmp_path)
    assert column(found, "loss") == [0.0, 1.0, 2.0, 3.0, 4.0] and "total_steps" not in found.columns
    assert any("1 line could not be read" in note for note in found.notes)


def test_an_accuracy_in_objects_of_its_own_is_validations(tmp_path: Path) -> None:
    apart, beside = [], []
    for epoch in range(1, 7):
        apart += [json.dumps({"lr": 0.02, "loss": 1 / epoch, "epoch": epoch, "iter": 40 * epoch, "step": 40 * epoch})]
        apart += [json.dumps({"accuracy/top1": 50.0 + epoch, "time": 0.1, "step": epoch})]
        beside += [json.dumps({"loss": 1 / epoch, "accuracy": 0.5 + epoch / 100, "epoch": epoch})]
    assert sheet_of(apart, tmp_path).phases == {"accuracy/top1": "eval"}
    assert sheet_of(beside, tmp_path).phases == {}
