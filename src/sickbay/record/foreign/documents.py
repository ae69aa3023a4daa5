"""One JSON document that is no trainer state: a Keras history (`{"loss": [...], "val_loss": [...]}`), a list of rows, or a table of pandas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sickbay.errors import LogError
from sickbay.record.foreign.json_columns import Gatherer
from sickbay.record.foreign.json_rows import DECODER, flat, loads, number, objects
from sickbay.record.foreign.names import EVAL, TRAIN, meaning, words
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source
from sickbay.record.foreign.tidy import NAMES

FORMAT = "JSON history"
LARGEST = 256 * 2**20
DEEPEST = 4
FEWEST, MOST_FOLDS = 4, 64
OF_A_RUN = frozenset({"best", "min", "lowest", "final", "last", "test"})
PHASES = TRAIN | EVAL
COUNTED = re.compile(r"(?:epoch|step|iter|iteration)?[\s_-]*(\d{1,9})$", re.IGNORECASE)
BEGIN = re.compile(r'\s*(?:\{\s*["}]|\[\s*[{\[\]"])')
BETWEEN = " \t\r\n,"
NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
ALMOST = re.compile(r",(?=\s*[}\]])|(?<=[:,\[])(\s*)(nan|-?inf)(?=\s*[,}\]])")
"""What Python's habits add to JSON that was edited or printed: a comma after the last value, small letters."""


def matches(source: Source) -> bool:
    """Begins like JSON: a printed dict with single quotes or a time in brackets does not. Nor is it JSON if what follows the first values is none:
    the lines of a log after its configuration."""
    return BEGIN.match(source.text) is not None and not _other(source.text)


def _other(text: str) -> bool:
    """Whether there is something else after the last whole value than its end, or a value that is cut off."""
    rest = text.lstrip()
    while BEGIN.match(rest):
        try:
            _, end = DECODER.raw_decode(rest)
        except (ValueError, RecursionError):
            return False  # cut off, or almost JSON
        rest = rest[end:].lstrip(BETWEEN)
    return rest[:1] not in ("", "]", "}")


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    text = source.whole(LARGEST)
    document = loads(text)
    if document is None:
        text = ALMOST.sub(lambda found: (found[1] or "") + NUMBERS.get(found[2], ""), text)
        document = loads(text)
    if document is None:
        listed = text.lstrip().startswith("[")
        rows = list(objects(text, text.find("[") + 1 if listed else 0))  # without a list: objects one after the other, each over several lines
        if not rows:
            raise LogError(f"{source.path} begins like JSON but is not: it may be cut off or edited; nothing could be read of it")
        if listed:
            sheet.note("the file ends in the middle: it was read up to there")
        document = rows
    _fill(sheet, document, 0)
    if not sheet.count and isinstance(document, dict):
        unknown = {k: v for k, v in _lists(document) if len(v) >= FEWEST and all(number(x) is not None for x in v)}
        if unknown:  # names that mean nothing: for --map
            columns(sheet, unknown)
    return sheet


def _fill(sheet: Sheet, document: Any, depth: int) -> None:
    if isinstance(document, list):
        if document and all(isinstance(p, list) and len(p) == 3 for p in document):  # TensorBoard's download: wall time, step, value
            for point in document:
                sheet.row({k: v for k, p in zip(("step", "value"), point[1:], strict=True) if (v := number(p)) is not None})
            return
        rows = [item for item in document if isinstance(item, dict)]
        if _by_point(sheet, _by_name(rows)):
            return
        if 0 < len(rows) <= MOST_FOLDS and all(map(_holds_curves, rows)):
            for item in rows:  # one run after the other, each with an epoch that begins anew
                _fill(sheet, item, depth + 1)
            return
        sheet.block(Gatherer().columns(rows), len(rows))
        return
    if not isinstance(document, dict) or depth > DEEPEST:
        return
    if numbered := _numbered(document):
        for epoch, item in numbered:
            sheet.row({"epoch": epoch} | dict(flat(item)))
        return
    if (frame := _frame(document)) is not None:
        _fill(sheet, frame, depth + 1)
        return
    if _by_point(sheet, document):
        return
    curves = {
        k: v for k, v in _lists(document) if (told := [x for x in v if x is not None]) and sum(number(x) is not None for x in told) > len(told) / 2
    }
    if any(meaning(k).kind in ("loss", "accuracy", "metric") for k in curves):
        columns(sheet, curves)
        return
    before = sheet.count
    for value in document.values():  # {"history": {...}}, {"params": ..., "metrics": [...]}
        if isinstance(value, (dict, list)) and sheet.count == before:
            _fill(sheet, value, depth + 1)


def _by_name(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """What MLflow's API gives: {"key": "val_loss", "value": 0.5, "step": 3}, one curve after the other."""
    found: dict[str, list[Any]] = {}
    for item in rows:
        name = next((v for k, v in item.items() if isinstance(v, str) and " ".join(words(k)) in NAMES), None)
        if name is None or "value" not in item:
            return {}
        found.setdefault(name, []).append(item)
    return found


def _holds_curves(item: dict[str, Any]) -> bool:
    """A whole run, not an epoch of one: {"fold": 0, "history": {"loss": [...]}} or {"fold": 0, "epochs": [{"loss": 2.3}, ...]}."""
    if any(number(v) is not None and meaning(k).kind == "loss" and not OF_A_RUN & set(words(k)) for k, v in item.items()):
        return False
    named = [(k, v) for inner in (item, *item.values()) if isinstance(inner, dict) for k, v in inner.items() if isinstance(v, list) and len(v) > 1]
    return any(meaning(n).kind == "loss" for k, v in named for n in (v[0] if isinstance(v[0], dict) else [k]))


def _frame(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """A table as pandas writes it with orient="split": {"columns": ["epoch", "loss"], "data": [[0, 2.3], ...]}."""
    names, rows = document.get("columns"), document.get("data")
    if not (isinstance(names, list) and isinstance(rows, list) and rows and all(isinstance(r, list) and len(r) == len(names) for r in rows)):
        return None
    return [dict(zip(map(str, names), row, strict=True)) for row in rows]


def _by_point(sheet: Sheet, document: Mapping[str, Any]) -> bool:
    points = dict(_points(document))
    for at in sorted({at for curve in points.values() for at in curve}):
        sheet.row({"step": at} | {name: curve[at] for name, curve in points.items() if at in curve})
    return bool(points)


def _points(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[float, float]]]:
    """Curves whose values say where they stand: {"loss": [[0, 2.3], [1, 1.9]]}, {"loss": [{"step": 0, "value": 2.3}, ...]}."""
    for name, value in document.items():
        if isinstance(value, list) and len(value) > 1 and meaning(str(name)).kind in ("loss", "accuracy", "metric"):
            pairs = [_point(x) for x in value]
            found = {at: y for pair in pairs if pair is not None for at, y in [pair]}
            if len(found) == len(value) and list(found) == sorted(found):
                yield str(name), found


def _point(item: Any) -> tuple[float, float] | None:
    if isinstance(item, dict):
        item = [next((v for k, v in item.items() if meaning(k).kind in ("step", "epoch")), None), item.get("value")]
    if not isinstance(item, list) or len(item) != 2:
        return None
    at, y = map(number, item)
    return (at, y) if at is not None and y is not None else None


def _numbered(document: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """Rows by their epoch: {"epoch_1": {"loss": 2.3}, "epoch_2": ...}."""
    found = [(float(key[1]), item) for name, item in document.items() if isinstance(item, dict) and (key := COUNTED.match(str(name)))]
    told = [item for _, item in found if any(meaning(name).kind in ("loss", "accuracy", "metric") for name, _ in flat(item))]
    return found if len(told) > 1 and len(told) > len(document) / 2 else []


def _lists(document: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Named lists: plain ones, tables of pandas ({"loss": {"0": 2.3, ...}}), and those of a
    phase ({"val": {"loss": [...]}}, {"loss": {"val": [...]}}, {"val": [{"loss": 2.3}, ...]})."""
    for name, value in document.items():
        if isinstance(value, list) and value and PHASES & set(words(str(name))) and all(isinstance(row, dict) for row in value):
            yield from ((f"{name}/{inner}", [row.get(inner) for row in value]) for inner in dict.fromkeys(k for row in value for k in row))
        elif isinstance(value, list):
            yield str(name), [x[0] if isinstance(x, list) and len(x) == 1 else x for x in value]
        elif isinstance(value, dict):
            of_phases = bool(value) and all(isinstance(v, list) and PHASES & set(words(str(k))) for k, v in value.items())
            if of_phases or (PHASES & set(words(str(name))) and any(isinstance(v, list) for v in value.values())):
                yield from ((f"{name}/{inner}", v) for inner, v in value.items() if isinstance(v, list))
            else:
                yield str(name), list(value.values())


def columns(sheet: Sheet, curves: Mapping[str, Sequence[Any]]) -> None:
    """Lists of different lengths are on different axes (evaluated every few epochs): they are spread over the longest."""
    longest = max(len(v) for v in curves.values())
    by_row: list[dict[str, float]] = [{} for _ in range(longest)]
    for name, values in curves.items():
        spread = longest // len(values) if len(values) > 1 else 1
        shift = spread - 1 if longest % len(values) == 0 else 0
        for i, value in enumerate(values):
            if (found := number(value)) is not None:
                by_row[i * spread + shift][name] = found
    if not any(meaning(n).kind in ("epoch", "step") for n in curves):
        by_row = [{"epoch": float(i)} | cells for i, cells in enumerate(by_row)]
    for cells in by_row:
        sheet.row(cells)
