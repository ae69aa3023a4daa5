"""Operations of the user's script that make NaN or infinity of finite values, where nothing keeps them from it.

They are read from the text (see worked_out.py), so they only choose the place: that there is NaN is known without them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sickbay.facts import NonfiniteBatch
from sickbay.script.bindings import Comprehension
from sickbay.script.fixing import Function, Source, called, keyword, receiver
from sickbay.script.guards import MODULES, given_to, guarded, kept_off, numeric
from sickbay.script.worked_out import Trail, fades

LOGS = frozenset({"log", "log2", "log10", "log_"})
DIVIDING = frozenset({"div", "div_", "divide", "true_divide"})
BOUNDED = frozenset({"acos", "arccos", "asin", "arcsin"})
ROOTS = frozenset({"sqrt", "sqrt_"})
STATISTICS = frozenset("std var max amax min amin sum norm ptp mean median nanstd percentile quantile nanpercentile count count_nonzero".split())
CORRELATING = frozenset({"corrcoef", "zscore", "pearsonr", "corr"})
READING = frozenset("genfromtxt read_csv read_table read_excel read_parquet read_sql pct_change reindex merge unstack to_numeric rolling".split())
"""Calls that give NaN for what is missing."""
GROWING = frozenset({"exp", "exp_", "expm1", "half", "float16"})
PER_SAMPLE = frozenset({"__getitem__", "__iter__", "__next__"})


@dataclass(frozen=True)
class Operation:
    """One operation, and the operand of it that it cannot cope with."""

    node: ast.expr | ast.stmt
    kind: str
    """ "division", "logarithm", "root", "angle", "correlation", "missing", "overflow"."""
    operand: ast.expr
    by_statistic: bool = False
    """A division by a spread, a sum or a largest value of data: where it is zero, so is what is divided."""

    def rank(self, value: str) -> int | None:
        """How well it explains NaN, infinity or minus infinity; the least is the best. A division by a statistic of the same values is 0/0."""
        if self.kind == "division" and self.by_statistic:
            return 0 if value == "nan" else None
        return RANKS.get((self.kind, value))


RANKS = {
    ("division", "inf"): 0, ("overflow", "inf"): 1, ("correlation", "nan"): 0, ("angle", "nan"): 0, ("division", "nan"): 1,
    ("root", "nan"): 1, ("logarithm", "nan"): 1, ("missing", "nan"): 1, ("logarithm", "-inf"): 0, ("division", "-inf"): 1,
}  # fmt: skip


def makers(trail: Trail, nodes: Sequence[ast.AST], batch: NonfiniteBatch) -> list[Operation]:
    """Those on a trail that explain the values of a batch best, the nearest first."""
    found = [o for o in operations(trail, nodes) if o.rank(batch.kind) is not None]
    if not _everywhere(batch):
        found = [o for o in found if not (o.by_statistic and _of_all(trail, o))]
    best = min((r for o in found if (r := o.rank(batch.kind)) is not None), default=None)
    return [o for o in found if o.rank(batch.kind) == best]


def _everywhere(batch: NonfiniteBatch) -> bool:
    """All samples of the batch have such values: that is what a number makes that was worked out over all of them."""
    rows_listed_at_most = 16
    return not batch.shape or len(batch.rows) >= min(rows_listed_at_most, batch.shape[0])


def operations(trail: Trail, nodes: Sequence[ast.AST]) -> Iterator[Operation]:
    """All on a trail that nothing guards."""
    for node in nodes:
        made = _operation(node)
        if (
            made is not None
            and (made.kind in ("missing", "overflow", "correlation") or not _safe(trail, made))
            and not kept_off(trail.source, made.node, made.operand)
        ):
            yield Operation(made.node, made.kind, made.operand, made.kind == "division" and _is_statistic(trail, made.operand))


def _operation(node: ast.AST) -> Operation | None:
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Div):
        return Operation(node, "division", node.right if isinstance(node, ast.BinOp) else node.value)
    call = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(call, ast.Call):
        return None
    name, owner = called(call), receiver(call)
    if isinstance(owner, ast.Name) and owner.id in ("math", "cmath"):  # these raise
        return None
    from_module = owner is None or (root := ast.unparse(owner)) in MODULES or root.startswith(("np.", "torch.", "numpy."))
    operands = call.args if from_module else [owner, *call.args] if owner is not None else []
    if name in DIVIDING and len(operands) > 1 and keyword(call, "where") is None:
        return Operation(call, "division", operands[1])
    if name in READING | CORRELATING and (operands or name in READING):
        return Operation(call, "missing" if name in READING else "correlation", operands[0] if operands else call)
    kind = "logarithm" if name in LOGS else "angle" if name in BOUNDED else "root" if name in ROOTS else "overflow" if _overflows(call) else ""
    return Operation(call, kind, operands[0]) if kind and operands and operands[0] is not None else None


def _overflows(call: ast.Call) -> bool:
    halved = called(call) in ("astype", "to", "type") and any(ast.unparse(a).endswith(("float16", "half", "float16'")) for a in call.args)
    return halved or (called(call) in GROWING and not fades(call))


def _safe(trail: Trail, made: Operation) -> bool:
    """The operand is a number, or kept away from what the operation cannot cope with."""
    if made.kind == "root":  # of a square or a spread; a difference can be negative
        return not (isinstance(made.operand, ast.BinOp) and isinstance(made.operand.op, ast.Sub))
    return guarded(trail, made.operand) or numeric(trail, made.operand)


# -- what it is worked out from ----------------------------------------------------------------------------------------


def _is_statistic(trail: Trail, node: ast.expr) -> bool:
    return bool(_statistics(trail, node))


def _statistics(trail: Trail, node: ast.expr) -> list[ast.Call]:
    """`x.std(0)`, in the operand or in what a name of it was given, be it by the call of the function around."""
    given: list[ast.expr] = [v for _, v in given_to(trail, node)] if isinstance(node, (ast.Name, ast.Attribute)) else []
    if isinstance(node, ast.Name) and not given:
        given += [n for n in trail.other.behind(node) if isinstance(n, ast.Call)][:1]
    return [n for part in (node, *given) for n in ast.walk(part) if isinstance(n, ast.Call) and called(n) in STATISTICS]


def _of_all(trail: Trail, made: Operation) -> bool:
    """The statistic is one of all samples: where it is zero, every sample suffers."""
    return not _repeated(trail.source, made.node) and not any(_within_rows(c) for c in _statistics(trail, made.operand))


def _within_rows(call: ast.Call) -> bool:
    """`x.norm(dim=1)`, `np.sum(x, axis=-1)`, `x.sum(1, keepdim=True)`: a number for each sample."""
    named = [k.value for k in call.keywords if k.arg in ("dim", "axis")]
    last = call.args[-1:] if called(call) not in ("percentile", "nanpercentile", "quantile", "norm") else []
    axes = [number for a in named or last for number in _numbers(a)]
    return bool(axes) and 0 not in axes


def _numbers(node: ast.expr) -> list[int]:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return []
    return [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, int)]


def _repeated(source: Source, node: ast.AST, deep: int = 0) -> bool:
    """In a loop, in `__getitem__`, or in a function that is called from there or handed on."""
    for around in source.ancestors(node):
        if isinstance(around, (ast.For, ast.While, *Comprehension.__args__)):
            return True
        if isinstance(around, ast.Lambda):
            return True
        if isinstance(around, Function):
            calls = source.calls(around.name)
            funcs = {id(c.func) for c in calls}
            handed = any(isinstance(n, ast.Name) and n.id == around.name and id(n) not in funcs for n in ast.walk(source.tree))
            return around.name in PER_SAMPLE or handed or (deep < 3 and any(_repeated(source, c, deep + 1) for c in calls))
    return False
