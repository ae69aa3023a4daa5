"""Plain text: whatever a loop prints. nanoGPT, "Epoch 3/10 ... train loss ... val loss ...", tqdm and Keras bars, key=value, printed dicts.

A number belongs to the words before it. Colours are taken away, a bar that was redrawn counts once per redrawing, times and dates are no
numbers. Where a line says "loss" without saying whose, the line's own first words decide (`Validation: loss 0.3`), then the heading above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sickbay.record.foreign.json_rows import parse
from sickbay.record.foreign.names import EVAL, TRAIN, meaning, words
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "text log"
LONGEST = 4000
"""Of a longer line only the beginning is looked at."""
NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|infinity)\b"
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07")
STAMP = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?(?:[ T_]\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?Z?)?|\[?\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b\]?|\b\d+:\d\d(?=<)|<\d+:\d\d|\b\d\d:\d\d\b(?!\s*\d)"
    r"|\b\d\d?[./]\d\d?[./]\d\d(?:\d\d)?\b|\b\d\d?/\d\d? (?=\d\d:\d\d)|\b\w+\.py:\d+|\b[A-Z]\d{4}\b"
)
"""Dates, times, source lines (`train.py:31`), and glog's marks: none of their numbers is a measurement."""
EPOCH = re.compile(r"\b(?:epochs?|ep)\b\.?[\s:#=\[(]*(\d+(?:\.\d+)?)\s*(?:/|of)?\s*\d*[\])]?(?:\s*\[\s*(\d+)\s*/\s*(\d+)[^\]]*\])?", re.IGNORECASE)
STEP = re.compile(r"\b(?:global[_ ]?step|steps?|iters?|iterations?|it|itr|updates?|batch)\b[\s:#=\[(]*(\d[\d,]*)\s*(?:/\s*(\d+))?", re.IGNORECASE)
BAR = re.compile(r"(?:^|[\s|])(\d+)/(\d+)\s*(?:\[|━|\x1b)|(\d+)%\|")
PAIR = re.compile(
    rf"([A-Za-z][\w./@\-]*(?:\s+[A-Za-z(][\w./@\-)]*){{0,2}})[\"'\])]*\s*(?:[:=]\s*|\s+|\()(?:tensor\(|\[)?[\"']?({NUMBER})(?![\w:]*[A-Za-z]{{4,}})(%?)",
    re.IGNORECASE,
)
HINT = re.compile(r"loss|acc|lr\b|err|mse|nll|ppl|perplex|cost|epoch|step|iter", re.IGNORECASE)
SUMMARY = re.compile(r"\b(?:best|saved?|saving|improved?|checkpoint|patience|restor\w+|completed?|finished|early[ -]stop\w*)\b", re.IGNORECASE)
"""Lines that repeat a number of the curve, or tell of the whole run."""
EXTREME = frozenset("best min max lowest highest target final".split())
MATTERS = frozenset({"loss", "accuracy", "lr", "grad_norm"})
ENOUGH_ROUNDS = 5
"""With so many finished bars the values in between are left out."""


def matches(source: Source) -> bool:
    return True


def read(source: Source) -> Sheet:
    done, drawn = Sheet(FORMAT), Sheet(FORMAT)
    state = _State()
    for line in source.lines():
        for final, cells in state.read(line):
            drawn.row(cells)
            if final:
                done.row(cells)
    full = max((len(c) for n, c in done.columns.items() if meaning(n).kind == "loss"), default=0)
    whole = max((len(c) for n, c in drawn.columns.items() if meaning(n).kind == "loss"), default=0)
    return done if full >= ENOUGH_ROUNDS or full == whole else drawn


class _State:
    """What earlier lines say about the next one: which epoch it is, and whether it is about validation."""

    def __init__(self) -> None:
        self.epoch: float | None = None
        self.heading = ""

    def read(self, line: str) -> Iterator[tuple[bool, dict[str, float]]]:
        """Rows of one line, each with whether it is final (no bar that was still on its way)."""
        if not line or line.isspace():
            return
        if "\x1b" in line:
            line = ANSI.sub("", line)
        parts = [p for p in re.split(r"[\r\x08]+", line) if p.strip()] if "\r" in line or "\x08" in line else [line]
        for i, part in enumerate(parts):
            cells = self._cells(part[:LONGEST])
            if cells:
                yield i == len(parts) - 1 and not _under_way(part), cells

    def _cells(self, line: str) -> dict[str, float]:
        if not HINT.search(line):
            self._heading(line)
            return {}
        line = STAMP.sub(" ", line)
        cells: dict[str, float] = {}
        line = self._axes(line, cells)
        phase = self._phase(line)
        told = False
        if SUMMARY.search(line) and "epoch" not in cells and "step" not in cells:
            return {}
        for match in PAIR.finditer(line):
            value = parse(match[2].replace(",", ""))
            if value is None:
                continue
            name = _name(match[1], phase)
            if name is None or name in cells:
                continue
            cells[name] = value
            phase = meaning(name).phase or phase  # "Val Loss: 0.3 Acc: 0.9"
            told = told or meaning(name).kind in MATTERS or meaning(name).part == "loss-like"
        if "epoch" in cells:
            self._enter(cells["epoch"])
        elif told and self.epoch is not None:
            cells["epoch"] = self.epoch
        if not told:
            self._heading(line)
            return {}
        return cells

    def _axes(self, line: str, cells: dict[str, float]) -> str:
        """Take epoch and step out of the line, in all their forms: "Epoch: [3][ 10/390]", "Epoch 3/10", "iter 100:", "[100/500]"."""
        if found := EPOCH.search(line):
            cells["epoch"] = float(found[1])
            if found[2]:
                cells["step"] = float(found[2])
            line = line[: found.start()] + "; " + line[found.end() :]
        if found := STEP.search(line):
            if "step" not in cells:
                cells["step"] = float(found[1].replace(",", ""))
            line = line[: found.start()] + "; " + line[found.end() :]
        if "step" not in cells and (
            found := re.search(r"\[\s*(\d+)\s*/\s*(\d+)(?:\s*\(\s*\d+(?:\.\d+)?%\))?\s*\]|(?:^|[\s|])(\d+)/(\d+)\s*\[", line)
        ):
            cells["step"] = float(found[1] or found[3])
            line = line[: found.start()] + "; " + line[found.end() :]
        return line

    def _enter(self, epoch: float) -> None:
        if epoch != self.epoch:
            self.heading = ""
        self.epoch = epoch

    def _phase(self, line: str) -> str:
        """Whose numbers a line holds, by its first words up to the first number."""
        begin = re.split(r"[-+]?\d", line.replace(";", " ").strip(" -*=|[]#>"), maxsplit=1)[0]
        first = words(begin)[:6]
        if EVAL & set(first) and not TRAIN & set(first):
            return "eval"
        return "train" if TRAIN & set(first) else self.heading

    def _heading(self, line: str) -> None:
        """ "--- Validation ---" holds for the lines below it."""
        said = set(words(line[:200]))
        if len(said) <= 4 and not any(ch.isdigit() for ch in line):
            if EVAL & said:
                self.heading = "eval"
            elif TRAIN & said:
                self.heading = "train"
        elif found := EPOCH.search(line):
            self._enter(float(found[1]))


def _under_way(line: str) -> bool:
    found = BAR.search(line)
    if not found:
        return False
    return int(found[3]) < 100 if found[3] else int(found[1][:15]) < int(found[2][:15])


def _name(label: str, phase: str) -> str | None:
    """The name of a number from the words before it: the shortest ending of them that means something."""
    parts = label.replace("(", " ").replace(")", " ").split()
    if EXTREME & {p.lower() for p in parts}:
        return None
    for k in range(len(parts)):
        name = " ".join(parts[k:])
        m = meaning(name)
        if m.kind == "other" or (
            m.part and m.part != "loss-like" and k + 1 < len(parts) and meaning(" ".join(parts[k + 1 :])).kind == m.kind and len(parts) > 2 and k == 0
        ):
            continue
        if m.kind in ("step", "epoch"):
            return None
        if m.phase == "" and phase and m.kind in ("loss", "accuracy", "metric"):
            return f"{'val' if phase == 'eval' else 'train'} {name}"
        return name
    return None
