"""What the causes about learning rates share: which optimizer, which rate, and the edit that changes it."""

from __future__ import annotations

import ast
import re

import numpy as np

from sickbay.facts import Optimizer
from sickbay.nouns import Fix, Place
from sickbay.record.reader import Record
from sickbay.script.by_hand import updated_at
from sickbay.script.fixing import Source, is_number, keyword, mend, number, sources
from sickbay.script.naming import constructor, learning_rate
from sickbay.script.written import Written, written


def main_optimizer(record: Record) -> Optimizer | None:
    """The optimizer that made the most steps."""
    return max(record.facts.optimizers, key=lambda o: (o.steps, -o.index), default=None)


def rate(record: Record) -> float | None:
    """The highest learning rate that the main optimizer used."""
    optimizer = main_optimizer(record)
    if optimizer is None:
        return None
    series = record.series("lr" if optimizer.index == 0 else f"lr@{optimizer.index}")
    values = series.values[np.isfinite(series.values)]
    if len(values):
        return float(np.max(values))
    return next((g.lr for g in optimizer.groups if g.lr is not None), None)


def rate_place(record: Record) -> Place | None:
    """The line on which the learning rate is written; where the optimizer is built, or weights are moved by hand, if that can't be found."""
    optimizer = main_optimizer(record)
    if optimizer is None:
        return updated_at(record)
    built = constructor(record, optimizer)
    if built is not None:
        source, call = built
        constant, _ = learning_rate(source, call)
        if constant is not None:
            return source.place(constant.lineno)
    return optimizer.built_at


def rate_set_at(record: Record) -> Place | None:
    """The line on which the script itself sets a rate (`group["lr"] = ...`), if there is just one; the one that works it out, where it only hands it on."""
    found = [
        source.place(_worked_out(source, node).lineno)
        for source in sources(record)
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Assign, ast.AugAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == "lr"
    ]
    return found[0] if len(found) == 1 else None


def _worked_out(source: Source, setting: ast.Assign | ast.AugAssign) -> ast.stmt:
    """`lr = base * 0.1 ** (epoch // 3)`, before `group["lr"] = lr` in the same function."""
    name = setting.value.id if isinstance(setting, ast.Assign) and isinstance(setting.value, ast.Name) else ""
    made = [
        s
        for s in ast.walk(source.function(setting))
        if isinstance(s, ast.Assign) and s.lineno < setting.lineno and [ast.unparse(t) for t in s.targets] == [name]
    ]
    return made[0] if len(made) == 1 and source.function(made[0]) is source.function(setting) else setting


def scaled(record: Record, factor: float, why: str) -> Fix:
    """The fix that multiplies the learning rate where the user wrote it."""
    optimizer, lr = main_optimizer(record), rate(record)
    built = constructor(record, optimizer) if optimizer is not None else None
    snippet = f"lr={number(lr * factor)}" if lr else f"lr=lr * {number(factor)}"
    if built is not None:
        source, call = built
        constant, _ = learning_rate(source, call)
        if constant is not None and isinstance(constant.value, (int, float)):
            return mend(why, source.diff(source.replacing(constant, number(constant.value * factor))), snippet, "consent")
    if lr:
        why = f"{why} (now {number(lr)})"
    return mend(why, "", snippet)


def decay_written(record: Record, decay: float) -> Written | None:
    """Beside the optimizer, or under the name that is passed to it."""
    optimizer = main_optimizer(record)
    built = constructor(record, optimizer) if optimizer is not None else None
    given = keyword(built[1], "weight_decay") if built is not None else None
    passed = re.findall(r"\w+", built[0].segment(given.value))[-1:] if built is not None and given is not None and not is_number(given.value) else []
    return written(record, decay, ("weight_decay", *passed, "wd", "decay", "l2"))
