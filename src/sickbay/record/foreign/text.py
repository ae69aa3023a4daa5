"""Plain text: whatever a loop prints. nanoGPT, "Epoch 3/10 ... train loss ... val loss ...", tqdm and Keras bars, key=value, printed dicts.

A number belongs to the words before it. Colours are taken away, a bar that was redrawn counts once per redrawing, times and dates are no
numbers. Where a line says "loss" without saying whose, the line's own first words decide (`Validation: loss 0.3`), then the heading above.

Lines of a log differ in their digits only. What a line means is therefore worked out once for all lines that are alike but for their
digits, as the places where its numbers stand; that is what makes long logs quick to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from sickbay.record.foreign.batches import Batch, Span, columns
from sickbay.record.foreign.json_rows import parse
from sickbay.record.foreign.lines import Plan, understand
from sickbay.record.foreign.names import meaning
from sickbay.record.foreign.patterns import ANSI, BACKWARDS
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "text log"
LONGEST = 2000
"""Of a longer line only the beginning is looked at."""
ENOUGH_ROUNDS = 5
"""With so many finished bars the values in between are left out."""
MOST_PLANS = 20_000
HARDLY = 0.25
"""Of the values of a name: more of them are no exceptions."""
ALIKE = str.maketrans("123456789", "000000000")


def matches(source: Source) -> bool:
    return True


def read(source: Source) -> Sheet:
    done, drawn = Sheet(FORMAT), Sheet(FORMAT)
    reader = _Reader()
    unfinished = False
    for block in source.blocks():
        if not unfinished and reader.quick(block, done):
            continue
        for line in block.split("\n"):
            for final, cells in reader.rows(line) if line and not line.isspace() else ():
                if not final and not unfinished:
                    unfinished = True
                    drawn = _copy(done)
                if final:
                    done.row(cells)
                if unfinished:
                    drawn.row(cells)
            if reader.ended:
                for sheet in (done, drawn):
                    sheet.ends.append(sheet.count)
                reader.ended = False
    full, whole = (max((len(c) for n, c in sheet.columns.items() if meaning(n).kind == "loss"), default=0) for sheet in (done, drawn))
    return _placed(drawn if unfinished and full < ENOUGH_ROUNDS and whole > full else done)


def _placed(sheet: Sheet) -> Sheet:
    """Where lines say their step, the few that say none repeat a number of the curve: a best value, the result in the prose around it, the mean over an epoch."""
    if "step" not in sheet.columns or sheet.thinned:
        return sheet
    placed = sheet.columns["step"].arrays()[0]
    for name, column in sheet.columns.items():
        if name != "epoch" and len(column) != len(placed):
            known = np.isin(column.arrays()[0], placed)
            if 0 < len(column) - known.sum() <= HARDLY * len(column):
                column.keep(known)
    return sheet


def _copy(sheet: Sheet) -> Sheet:
    copied = Sheet(FORMAT, count=sheet.count, cells=sheet.cells, ends=[*sheet.ends])
    copied.columns |= {name: column.copy() for name, column in sheet.columns.items()}
    return copied


class _Reader:
    """Goes through the lines and remembers which epoch it is, and whether the lines are about validation."""

    def __init__(self) -> None:
        self.epoch: float | None = None
        self.heading = ""
        self.total: int | None = None
        """Of how much the first bar of this epoch was: training comes first, validation is of another length."""
        self.plans: dict[tuple[str, str], Plan] = {}
        self.ended = False
        """The last line said that training is done."""

    def quick(self, block: str, sheet: Sheet) -> bool:
        """Add a whole block of lines; False (and nothing done) if it holds bars or colours, which are read line by line."""
        if "\r" in block or "\x08" in block or "\x1b" in block:
            return False
        before = self.epoch, self.heading
        batches: dict[int, tuple[Plan, Batch]] = {}
        lines, alike = block.split("\n"), block.translate(ALIKE).split("\n")
        if self._steady(lines, alike, sheet):
            return True
        count = i = 0
        ends: list[int] = []
        while i < len(lines):
            plan = self.plans.get((alike[i], self.heading)) or self._plan(lines[i][:LONGEST])
            if self.heading and self._opens(plan, lines[i]):
                plan = self._plan(lines[i][:LONGEST])
            if plan.bar is not None:
                self.epoch, self.heading = before
                return False
            j = i + 1
            if plan.moves:
                if "epoch" in plan.spans:
                    self._enter(parse(lines[i][slice(*plan.spans["epoch"])]))
                self.heading = plan.heading or self.heading
                ends += [sheet.count + count] * plan.ends
            else:
                while j < len(lines) and alike[j] == alike[i]:  # most lines are like the one before
                    j += 1
            if plan.told:
                batch = (batches.get(id(plan)) or batches.setdefault(id(plan), (plan, Batch())))[1]
                batch.rows.extend(range(count, count + j - i))
                batch.lines.extend(lines[i:j])
                if self.epoch is not None and not plan.moves:
                    batch.epochs.update(dict.fromkeys(range(count, count + j - i), self.epoch))
                count += j - i
            i = j
        sheet.ends += ends
        sheet.block(columns([(plan.spans, batch) for plan, batch in batches.values()]), count)
        return True

    def _steady(self, lines: list[str], alike: list[str], sheet: Sheet) -> bool:
        """Add a block of lines of which none says where the next ones belong, all that are alike at once; False (and nothing done) if one does."""
        groups: dict[str, list[int]] = {}
        for i, text in enumerate(alike):
            if text in groups:
                groups[text].append(i)
            else:
                groups[text] = [i]
        plans = {text: self.plans.get((text, self.heading)) or self._plan(lines[places[0]][:LONGEST]) for text, places in groups.items()}
        if any(plan.bar is not None or plan.moves for plan in plans.values()):
            return False
        told = np.zeros(len(lines), np.int64)
        for text, plan in plans.items():
            told[groups[text]] = plan.told
        rows = np.cumsum(told) - 1
        found: list[tuple[Mapping[str, Span], Batch]] = []
        for text, plan in plans.items():
            if plan.told:
                batch = Batch()
                batch.rows.extend(rows[groups[text]].tolist())
                batch.lines.extend(lines[i] for i in groups[text])
                batch.epochs |= dict.fromkeys(batch.rows, self.epoch) if self.epoch is not None else {}
                found.append((plan.spans, batch))
        sheet.block(columns(found), int(told.sum()))
        return True

    def _enter(self, epoch: float | None) -> None:
        if epoch is not None and epoch != self.epoch:
            self.heading = ""
            self.epoch = epoch
            self.total = None

    def rows(self, line: str) -> Iterator[tuple[bool, dict[str, float]]]:
        """Rows of one line, each with whether it is final (no bar that was still on its way)."""
        if "\x1b" in line:
            line = ANSI.sub("", line)
        if "\x08" in line:
            line = BACKWARDS.sub(r" \1", line)
        parts = [p for p in re.split(r"[\r\x08]+", line) if p.strip()] if "\r" in line or "\x08" in line else [line]
        for i, part in enumerate(parts):
            part = part[:LONGEST]
            plan = self._plan(part)
            if self.heading and self._opens(plan, part):
                plan = self._plan(part)
            self.ended = self.ended or plan.ends
            cells = self._follow(plan, part)
            if cells and plan.bar and plan.bar[1] and self.epoch is not None:
                cells = self._named(cells, int(part[slice(*plan.bar[1])]), nameless=plan.nameless)
            if cells:
                yield i == len(parts) - 1 and not (plan.bar and _under_way(part, plan.bar)), cells

    def _opens(self, plan: Plan, line: str) -> bool:
        """Whether the line begins another epoch: what was announced for the lines of the one before does not hold for it."""
        opens = "epoch" in plan.spans and parse(line[slice(*plan.spans["epoch"])]) != self.epoch
        self.heading = "" if opens else self.heading
        return opens

    def _named(self, cells: dict[str, float], total: int, *, nameless: bool) -> dict[str, float]:
        """The second bar of an epoch, of another length than the first, is about validation where it does not say what it is about."""
        if self.total is None:
            self.total = total
        if total == self.total or not nameless:
            return cells
        return {name if name in ("epoch", "step") else f"val {name}": value for name, value in cells.items()}

    def _plan(self, line: str) -> Plan:
        key = line.translate(ALIKE), self.heading
        plan = self.plans.get(key)
        if plan is None:
            if len(self.plans) >= MOST_PLANS:
                self.plans.clear()
            plan = self.plans[key] = understand(line, self.heading)
            plan.moves = bool(plan.heading) or plan.ends or "epoch" in plan.spans
        return plan

    def _follow(self, plan: Plan, line: str) -> dict[str, float]:
        cells: dict[str, float] = {}
        for name, (a, b) in plan.spans.items():
            try:
                cells[name] = float(line[a:b])
            except ValueError:
                value = parse(line[a:b].replace(",", ""))
                if value is not None:
                    cells[name] = value
        if "epoch" in cells:
            self._enter(cells["epoch"])
        elif self.epoch is not None:
            cells["epoch"] = self.epoch
        if "epoch" in plan.spans and not plan.told:
            self.total = None  # "Epoch 1/1" once more: another training
        self.heading = plan.heading or self.heading
        return cells if plan.told else {}


def _under_way(line: str, bar: tuple[Span, Span | None]) -> bool:
    (a, b), of = bar
    return int(line[a:b]) < (int(line[of[0] : of[1]]) if of else 100)
