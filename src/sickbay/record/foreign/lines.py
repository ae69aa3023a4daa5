"""What one line of printed text means: where its numbers stand, and what they are called."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sickbay.record.foreign.batches import Span
from sickbay.record.foreign.names import EVAL, LAST_RESORT, TRAIN, meaning, words
from sickbay.record.foreign.patterns import (
    AVERAGED,
    BAR,
    BOTH,
    CLOSED,
    COUNTED,
    COUNTER,
    DETECTION,
    EACH,
    ENDED,
    EPOCH,
    EXTREME,
    HINT,
    LEADING,
    MARK,
    MARKDOWN,
    NUMBER,
    NUMBERED,
    PAIR,
    PAIRED,
    PERCENT,
    POSSESSIVE,
    RATE,
    REMARKED,
    RESULTS,
    RESULTS_NAMES,
    SCORED,
    SPOKEN,
    STAMP,
    STEP,
    SUMMARY,
    TIME,
    TRANSLATION,
    TWICE,
    WITHIN,
)
from sickbay.record.foreign.tongues import english_line

SET = frozenset(":=")
"""`train 0.3` and `train: 3` may be losses, `Training 2` is none."""
MATTERS = frozenset({"loss", "accuracy", "lr", "grad_norm", "reward"})
PLAIN = MARKDOWN | str.maketrans("：，；（）", ":,;()")
"""...and marks as Chinese and Japanese write them."""


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
    nameless: bool = False
    """A bar that does not say whether it is about training or validation."""

    ends: bool = False
    """Training is done: what comes below is another one."""
    moves: bool = False
    """Whether it says where the lines below it belong: kept, because every line of a long log asks for it."""


def understand(line: str, heading: str) -> Plan:
    """What a line means, given the phase that the lines above it have announced."""
    spoken, places = english_line(line)
    if spoken == line:
        return _understand(line, heading)
    plan = _understand(spoken, heading)
    plan.spans = {name: (places[a], places[b]) for name, (a, b) in plan.spans.items()}
    if plan.bar is not None:
        done, of = plan.bar
        plan.bar = (places[done[0]], places[done[1]]), (places[of[0]], places[of[1]]) if of is not None else None
    return plan


def _understand(line: str, heading: str) -> Plan:
    plan = Plan()
    if found := NUMBERED.match(line):
        return Plan({"step": found.span(1), "train loss" if found[2].lower() == "train" else "val loss": found.span(3)}, told=True)
    if found := AVERAGED.match(line):
        return Plan({"step": found.span(1), "loss": found.span(2)}, told=True)
    if found := RESULTS.match(line):
        return Plan({name: found.span(i + 1) for i, name in enumerate(RESULTS_NAMES)}, told=True)
    if found := DETECTION.match(line):
        return Plan({"epoch": found.span(1), **_summands(line, found.span(2))}, told=True, bar=_bar(line))
    if ENDED.search(line):
        plan.ends = True
        return plan
    if not HINT.search(line):
        plan.heading = _announced(line)
        return plan
    heading = "eval" if SCORED.match(line) else heading
    line = POSSESSIVE.sub("  ", STAMP.sub(lambda m: " " * len(m[0]), line.translate(PLAIN)))
    line = SPOKEN.sub(lambda m: ":".ljust(len(m[0])), line)
    heading = "" if RATE.search(line) else heading
    if found := TRANSLATION.match(line):
        named = {f"loss {m[1]}": m.span(2) for m in PAIR.finditer(line, found.end())}
        return Plan({"epoch": found.span(1), "step": found.span(2), **named}, told=bool(named))
    plan.bar, episodic = _bar(line), "episode" in line.lower()
    line = _axes(line, plan.spans)
    axes = len(plan.spans)
    if SUMMARY.search(line) and not plan.spans and not REMARKED.match(line):
        return plan
    phase, marks = _phase(line, heading), [(m.end(), "eval" if EVAL & set(words(m[0])) else "train") for m in MARK.finditer(line)]
    if found := BOTH.search(line):
        what = found[1] or found[2]
        plan.spans |= {f"train {what}": found.span(3), f"val {what}": found.span(4)}
        plan.told = True
        line = _blank(line, found)
    for each in EACH.finditer(line):
        plan.spans |= {f"train {each[1]}": each.span(2), f"val {each[1]}": each.span(3)}
        plan.told = True
        line = _blank(line, each)
    for match in PAIR.finditer(line):
        while marks and marks[0][0] <= match.start():
            phase = marks.pop(0)[1]
        name = _name(match[1], phase, placed=bool(axes))
        if name is not None and episodic and "score" in words(name):
            name += " reward"  # what an agent scores in an episode
        if name is None or name in plan.spans or TIME.match(line, match.end(2)):
            continue
        phase = meaning(name).phase or phase  # "Val Loss: 0.3 Acc: 0.9"
        if meaning(name).order == LAST_RESORT and match[2].isdigit() and not SET & set(line[match.end(1) : match.start(2)]):
            continue
        plan.spans[name] = match.span(2)
        plan.told = plan.told or meaning(name).kind in MATTERS or meaning(name).part == "loss-like"
    if not plan.told:
        plan.heading = _announced(line)
    plan.nameless = bool(plan.bar) and all(meaning(n).phase == "" for n in plan.spans)
    return plan


def _bar(line: str) -> tuple[Span, Span | None] | None:
    if (found := BAR.search(line) or COUNTER.match(line) or CLOSED.match(line)) is not None:
        return found.span(1), found.span(2)
    found = PERCENT.search(line)
    return (found.span(1), None) if found is not None else None


def _summands(line: str, span: Span) -> dict[str, Span]:
    """The losses of a detector; where the last is the sum of those before it, the others are left out."""
    spans = [(m.start() + span[0], m.end() + span[0]) for m in re.finditer(NUMBER, line[slice(*span)], re.IGNORECASE)]
    *parts, total = [float(line[a:b]) for a, b in spans]
    if len(parts) > 2 and abs(sum(parts) - total) < 0.01 * abs(total):
        return {"train/loss": spans[-1]}
    return {f"train/part{i}_loss": at for i, at in enumerate(spans)}


def _axes(line: str, spans: dict[str, Span]) -> str:
    """Take epoch and step out of the line, in all their forms: "Epoch: [3][ 10/390]", "Epoch 3/10", "iter 100:", "[100/500]"."""
    for within in WITHIN.finditer(line):
        spans.setdefault("epoch" if within[2] else "step", within.span(3))
        line = line[: within.start()] + "." * (within.end() - within.start()) + line[within.end() :]  # of the word before it
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
    if not spans and (found := LEADING.match(line)):
        spans["step"] = found.span(1)
        line = _blank(line, found)
    return line


def _blank(line: str, found: re.Match[str]) -> str:
    """The line without what was found, just as long; a mark keeps the words on both sides apart."""
    return line[: found.start()] + ";".ljust(found.end() - found.start()) + line[found.end() :]


def _phase(line: str, heading: str) -> str:
    """Whose numbers a line holds, by its first words up to the first number."""
    begin = re.split(r"[-+]?\d", re.sub(r"^[^A-Za-z]+", "", line.replace(";", " ")), maxsplit=1)[0]
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


def _name(label: str, phase: str, *, placed: bool) -> str | None:
    """The name of a number from the words before it: as many of them as mean something together. What is final in a line with an epoch is so of that epoch."""
    parts = label.replace("(", " ").replace(")", " ").split()
    said = set(words(label))
    if EXTREME - ({"final"} if placed else set()) & {p.lower() for p in parts} or (TRAIN & said and EVAL & said):
        return None  # of the whole run, or of both phases: whose it is cannot be told
    phase = "eval" if EVAL & said else "train" if TRAIN & said else phase
    for k in range(len(parts)):
        name = " ".join(parts[k:]).rstrip(".")
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
