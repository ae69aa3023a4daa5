"""Plain text: whatever a loop prints. nanoGPT, "Epoch 3/10 ... train loss ... val loss ...", tqdm and Keras bars, key=value, printed dicts.

A number belongs to the words before it. Colours are taken away, a bar that was redrawn counts once per redrawing, times and dates are no
numbers. Where a line says "loss" without saying whose, the line's own first words decide (`Validation: loss 0.3`), then the heading above.

Lines of a log differ in their digits only. What a line means is therefore worked out once for all lines that are alike but for their
digits, as the places where its numbers stand; that is what makes long logs quick to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sickbay.record.foreign.batches import Batch, Span, columns
from sickbay.record.foreign.json_rows import parse
from sickbay.record.foreign.names import EVAL, TRAIN, meaning, words
from sickbay.record.foreign.patterns import (
    ANSI,
    AVERAGED,
    BAR,
    COUNTED,
    EPOCH,
    EXTREME,
    HINT,
    MARK,
    NUMBERED,
    PAIR,
    PAIRED,
    POSSESSIVE,
    RESULTS,
    RESULTS_NAMES,
    STAMP,
    STEP,
    SUMMARY,
    TWICE,
)
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "text log"
LONGEST = 2000
"""Of a longer line only the beginning is looked at."""
MATTERS = frozenset({"loss", "accuracy", "lr", "grad_norm"})
ENOUGH_ROUNDS = 5
"""With so many finished bars the values in between are left out."""
MOST_PLANS = 20_000
ALIKE = str.maketrans("123456789", "000000000")


@dataclass
class Plan:
    """What lines of one kind mean: where their numbers stand."""

    spans: dict[str, Span] = field(default_factory=dict)
    """Of each name, axes included."""
    told: bool = False
    """Whether there is anything of a curve in it."""
    heading: str = ""
    """The phase that such a line announces for those below it."""
    bar: tuple[Span, Span | None] | None = None
    """How far a bar has come, and of how much (of a hundred)."""

    @property
    def moves(self) -> bool:
        """Whether it says where the lines below it belong."""
        return bool(self.heading) or "epoch" in self.spans


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
    full, whole = (max((len(c) for n, c in sheet.columns.items() if meaning(n).kind == "loss"), default=0) for sheet in (done, drawn))
    return drawn if unfinished and full < ENOUGH_ROUNDS and whole > full else done


def _copy(sheet: Sheet) -> Sheet:
    copied = Sheet(FORMAT, count=sheet.count, cells=sheet.cells)
    copied.columns |= {name: column.copy() for name, column in sheet.columns.items()}
    return copied


class _Reader:
    """Goes through the lines and remembers which epoch it is, and whether the lines are about validation."""

    def __init__(self) -> None:
        self.epoch: float | None = None
        self.heading = ""
        self.plans: dict[tuple[str, str], Plan] = {}

    def quick(self, block: str, sheet: Sheet) -> bool:
        """Add a whole block of lines; False (and nothing done) if it holds bars or colours, which are read line by line."""
        if "\r" in block or "\x08" in block or "\x1b" in block:
            return False
        before = self.epoch, self.heading
        batches: dict[int, tuple[Plan, Batch]] = {}
        known = self.plans
        count = 0
        plan, key, said, batch = None, None, self.heading, Batch()
        for alike, line in zip(block.translate(ALIKE).split("\n"), block.split("\n"), strict=True):
            if alike != key or plan is None or said is not self.heading:  # most lines are like the one before
                key, said = alike, self.heading
                plan = known.get((alike, said)) or self._plan(line[:LONGEST])
                if plan.bar is not None:
                    self.epoch, self.heading = before
                    return False
                if plan.told:
                    batch = (batches.get(id(plan)) or batches.setdefault(id(plan), (plan, Batch())))[1]
            if plan.moves:
                if "epoch" in plan.spans:
                    self._enter(parse(line[slice(*plan.spans["epoch"])]))
                self.heading = plan.heading or self.heading
            if plan.told:
                batch.rows.append(count)
                batch.lines.append(line)
                if self.epoch is not None and not plan.moves:
                    batch.epochs[count] = self.epoch
                count += 1
        sheet.block(columns([(plan.spans, batch) for plan, batch in batches.values()]), count)
        return True

    def _enter(self, epoch: float | None) -> None:
        if epoch is not None and epoch != self.epoch:
            self.heading = ""
            self.epoch = epoch

    def rows(self, line: str) -> Iterator[tuple[bool, dict[str, float]]]:
        """Rows of one line, each with whether it is final (no bar that was still on its way)."""
        if "\x1b" in line:
            line = ANSI.sub("", line)
        parts = [p for p in re.split(r"[\r\x08]+", line) if p.strip()] if "\r" in line or "\x08" in line else [line]
        for i, part in enumerate(parts):
            part = part[:LONGEST]
            plan = self._plan(part)
            if cells := self._follow(plan, part):
                yield i == len(parts) - 1 and not (plan.bar and _under_way(part, plan.bar)), cells

    def _plan(self, line: str) -> Plan:
        key = line.translate(ALIKE), self.heading
        plan = self.plans.get(key)
        if plan is None:
            if len(self.plans) >= MOST_PLANS:
                self.plans.clear()
            plan = self.plans[key] = understand(line, self.heading)
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
        self.heading = plan.heading or self.heading
        return cells if plan.told else {}


def understand(line: str, heading: str) -> Plan:
    """What a line means, given the phase that the lines above it have announced."""
    plan = Plan()
    if found := NUMBERED.match(line):
        return Plan({"step": found.span(1), "train loss" if found[2].lower() == "train" else "val loss": found.span(3)}, told=True)
    if found := AVERAGED.match(line):
        return Plan({"step": found.span(1), "loss": found.span(2)}, told=True)
    if found := RESULTS.match(line):
        return Plan({name: found.span(i + 1) for i, name in enumerate(RESULTS_NAMES)}, told=True)
    if not HINT.search(line):
        plan.heading = _announced(line)
        return plan
    line = POSSESSIVE.sub("  ", STAMP.sub(lambda m: " " * len(m[0]), line))
    if found := BAR.search(line):
        plan.bar = (found.span(3), None) if found[3] else (found.span(1), found.span(2))
    line = _axes(line, plan.spans)
    if SUMMARY.search(line) and not plan.spans:
        return plan
    phase, marks = _phase(line, heading), [(m.end(), "eval" if EVAL & set(words(m[0])) else "train") for m in MARK.finditer(line)]
    for match in PAIR.finditer(line):
        while marks and marks[0][0] <= match.start():
            phase = marks.pop(0)[1]
        name = _name(match[1], phase)
        if name is None or name in plan.spans:
            continue
        plan.spans[name] = match.span(2)
        phase = meaning(name).phase or phase  # "Val Loss: 0.3 Acc: 0.9"
        plan.told = plan.told or meaning(name).kind in MATTERS or meaning(name).part == "loss-like"
    if not plan.told:
        plan.heading = _announced(line)
    return plan


def _axes(line: str, spans: dict[str, Span]) -> str:
    """Take epoch and step out of the line, in all their forms: "Epoch: [3][ 10/390]", "Epoch 3/10", "iter 100:", "[100/500]"."""
    if found := PAIRED.match(line) or TWICE.search(line):
        spans |= {"epoch": found.span(1), "step": found.span(2)}
        line = _blank(line, found)
    elif found := EPOCH.search(line):
        spans["epoch"] = found.span(1)
        if found[2]:
            spans["step"] = found.span(2)
        line = _blank(line, found)
    if found := STEP.search(line):
        spans.setdefault("step", found.span(1))
        line = _blank(line, found)
    if "step" not in spans and (found := COUNTED.search(line)):
        spans["step"] = found.span(1) if found[1] else found.span(3)
        line = _blank(line, found)
    return line


def _blank(line: str, found: re.Match[str]) -> str:
    """The line without what was found, just as long; a mark keeps the words on both sides apart."""
    return line[: found.start()] + ";".ljust(found.end() - found.start()) + line[found.end() :]


def _phase(line: str, heading: str) -> str:
    """Whose numbers a line holds, by its first words up to the first number."""
    begin = re.split(r"[-+]?\d", line.replace(";", " ").strip(" -*=|[]#>"), maxsplit=1)[0]
    first = set(words(begin)[:6])
    if EVAL & first and not TRAIN & first:
        return "eval"
    return "train" if TRAIN & first else heading


def _announced(line: str) -> str:
    """ "--- Validation ---" and "Eval epoch: 4" hold for the lines below them."""
    said = set(words(line[:200]))
    if len(said) > 4 or any(ch.isdigit() for ch in line):
        return ""
    return "eval" if EVAL & said else "train" if TRAIN & said else ""


def _under_way(line: str, bar: tuple[Span, Span | None]) -> bool:
    (a, b), of = bar
    return int(line[a:b]) < (int(line[of[0] : of[1]]) if of else 100)


def _name(label: str, phase: str) -> str | None:
    """The name of a number from the words before it: as many of them as mean something together."""
    parts = label.replace("(", " ").replace(")", " ").split()
    if EXTREME & {p.lower() for p in parts}:
        return None
    said = set(words(label))
    phase = "eval" if EVAL & said else "train" if TRAIN & said else phase
    for k in range(len(parts)):
        name = " ".join(parts[k:])
        m = meaning(name)
        shorter = meaning(" ".join(parts[k + 1 :])) if k + 1 < len(parts) else None
        if m.kind == "other" or (k == 0 and len(parts) > 2 and m.part and m.part != "loss-like" and shorter and shorter.kind == m.kind):
            continue
        if m.kind in ("step", "epoch"):
            return None
        if m.phase == "" and phase and m.kind in ("loss", "accuracy", "metric"):
            return f"{'val' if phase == 'eval' else 'train'} {name}"
        return name
    return None
