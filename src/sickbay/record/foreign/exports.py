"""Tables that hold several runs side by side, as W&B exports them."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.record.foreign.sheet import Column, Sheet


def by_run(sheet: Sheet) -> list[Sheet]:
    """A W&B export holds a column per run ("calm-river-7 - train/loss"): one sheet for each run."""
    prefixes = {n.rpartition(" - ")[0] for n in sheet.columns if " - " in n}
    if not prefixes:
        return [sheet]
    shared = {n: c for n, c in sheet.columns.items() if " - " not in n}
    return list(_parted(sheet, sorted(prefixes, key=lambda p: next(i for i, n in enumerate(sheet.columns) if n.startswith(p + " - "))), shared))


def _parted(sheet: Sheet, prefixes: list[str], shared: dict[str, Column]) -> Iterator[Sheet]:
    for prefix in prefixes:
        own = {n.rpartition(" - ")[2]: c for n, c in sheet.columns.items() if n.rpartition(" - ")[0] == prefix}
        part = Sheet("W&B export", {**shared, **own}, dict(sheet.phases), dict(sheet.notes), sheet.count, sheet.cells, sheet.thinned)
        part.note(f"run {prefix}")
        yield part
