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

FORMAT = "JSON history"
LARGEST = 256 * 2**20
DEEPEST = 4
FEWEST = 4
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
        sheet.block(Gatherer().columns(rows), len(rows))
        return
    if not isinstance(document, dict) or depth > DEEPEST:
        return
    if numbered := _numbered(document):
        for epoch, item in numbered:
            sheet.row({"epoch": epoch} | dict(flat(item)))
        return
    lists = dict(_lists(document))
    curves = {k: v for k, v in lists.items() if v and sum(number(x) is not None for x in v) > len(v) / 2}
    if any(meaning(k).kind in ("loss", "accuracy", "metric") for k in curves):
        columns(sheet, curves)
        return
    for value in document.values():  # {"history": {...}}, {"params": ..., "metrics": [...]}
        if isinstance(value, (dict, list)) and not sheet.count:
            _fill(sheet, value, depth + 1)


def _numbered(document: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """Rows by their epoch: {"epoch_1": {"loss": 2.3}, "epoch_2": ...}."""
    found = [(float(key[1]), item) for name, item in document.items() if isinstance(item, dict) and (key := COUNTED.match(str(name)))]
    told = [item for _, item in found if any(meaning(name).kind in ("loss", "accuracy", "metric") for name, _ in flat(item))]
    return found if len(told) > 1 and len(told) > len(document) / 2 else []


def _lists(document: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Named lists: plain ones, tables of pandas ({"loss": {"0": 2.3, ...}}), and those of a phase ({"val": {"loss": [...]}}, {"val": [{"loss": 2.3}, ...]})."""
    for name, value in document.items():
        if isinstance(value, list) and value and PHASES & set(words(str(name))) and all(isinstance(row, dict) for row in value):
            yield from ((f"{name}/{inner}", [row.get(inner) for row in value]) for inner in dict.fromkeys(k for row in value for k in row))
        elif isinstance(value, list):
            yield str(name), value
        elif isinstance(value, dict):
            if PHASES & set(words(str(name))) and any(isinstance(v, list) for v in value.values()):
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
