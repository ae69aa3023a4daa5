"""How a formula is kept from its edge, in the user's own names: one small edit per family of operations."""

from __future__ import annotations

import ast
import re

from sickbay.nouns import Fix, Place
from sickbay.script.fixing import Edit, Source, called, is_number, keyword, mend, receiver

LOGARITHMS = ("log", "log2", "log10", "log1p", "xlogy", "logit")
ROOTS = ("sqrt", "rsqrt", "pow", "norm", "linalg_norm", "linalg_vector_norm", "hypot")
DIVISIONS = ("div", "truediv", "div_", "itruediv", "reciprocal", "rdiv", "rtruediv", "normalize")
SPREADS = ("std", "var", "std_mean", "var_mean")
EXPONENTIALS = ("exp", "expm1", "cosh", "sinh", "rpow", "exp2", "poisson_nll_loss")
ARCS = ("acos", "asin", "atanh", "arccos", "arcsin", "acosh", "arctanh")
SOFTMAXES = ("softmax", "log_softmax", "multi_head_attention_forward", "scaled_dot_product_attention")
MEANS = ("mean", "nanmean", "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
         "binary_cross_entropy_with_logits", "kl_div")  # fmt: skip
"""Means over what may be nothing."""
ALIGNMENTS = ("ctc_loss",)
COUNTS = re.compile(r"mask|valid|pad|keep|count|len|num|present", re.IGNORECASE)
"""Names of things that are counted: a count is kept from zero by 1, not by a small number."""
SQUASHED = ("softmax", "sigmoid")


def mended(source: Source | None, place: Place | None, op: str, call: str, made: str, backward: bool, negative: bool = False) -> Fix:
    """The fix of an operation: with a diff where the user's line can be changed with certainty. `negative`: it was given values below zero."""
    node = find(source, place, op, call) if source is not None and place is not None else None
    edit = _edit(source, node, op, backward, negative) if source is not None and node is not None else None
    diff = source.diff(edit) if source is not None and edit is not None else ""
    if op in LOGARITHMS and made in SQUASHED and not backward:
        fused = "F.log_softmax(scores, dim=1)" if made == "softmax" else "F.logsigmoid(scores)   # log(1 - p) is F.logsigmoid(-scores)"
        return mend(f"take the logarithm of the {made} in one operation", diff, fused, "consent")
    text, snippet = _advice(op, backward and _around(source, node, "where") is not None, negative)
    return mend(text, diff, snippet, "consent")


def _advice(op: str, chosen_away: bool, negative: bool) -> tuple[str, str]:
    if chosen_away:
        return (
            "keep the operation itself from the edge: `where` chooses values, but the slope of the one not chosen is still computed, and 0 times infinity is NaN",
            "safe = torch.where(ok, x, torch.ones_like(x))\ny = torch.where(ok, torch.log(safe), 0.0)",
        )
    if op in LOGARITHMS:
        return "keep the logarithm's argument above zero", "torch.log(x.clamp_min(1e-8))"
    if op in ROOTS and negative:
        return "keep the argument of the root (or power) above zero: of a negative number it is NaN", "torch.sqrt(x.clamp_min(1e-8))"
    if op in ROOTS:
        return "add a small constant inside the root: its slope at 0 is infinite", "torch.sqrt(x + 1e-8)"
    if op in EXPONENTIALS:
        snippet = "torch.softmax(x, dim=1)    # or torch.logsumexp(x, 1), or torch.exp(x.clamp(max=20))"
        return "keep the exponential's argument small, or use the fused version", snippet
    if op in DIVISIONS:
        return "keep the divisor away from zero", "x / y.clamp_min(1e-8)"
    if op in ARCS:
        return "keep the argument inside the open interval: at its ends the slope is infinite", "torch.acos(x.clamp(-1 + 1e-6, 1 - 1e-6))"
    if op in SPREADS:
        return "the spread of a single value is 0/0: divide by the count, or leave such batches out (drop_last=True)", "x.std(0, correction=0)"
    if op in SOFTMAXES:
        return (
            "leave every row one key that is not masked, or mask with a large finite number: the softmax of nothing but minus infinity is NaN",
            "scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)",
        )
    if op in MEANS:
        return "a mean over nothing is 0/0: divide by the count, and by 1 if there is none", "loss = losses.sum() / valid.sum().clamp_min(1)"
    if op in ALIGNMENTS:
        return (
            "a target that is longer than the predicted sequence (repeated labels count twice) has no alignment, and infinite loss: make the network's output "
            "longer (less pooling), leave such samples out, or give them no weight",
            "nn.CTCLoss(zero_infinity=True)",
        )
    return "keep the values that enter this operation away from its edge", "x.clamp_min(1e-8)"


# -- finding the expression -------------------------------------------------------------------------------------------


def find(source: Source, place: Place, op: str, call: str) -> ast.expr | None:
    """The expression of an operation: the one with the text that was seen, else the only one of its kind on the line."""
    near = [
        n
        for n in ast.walk(source.tree)
        if isinstance(n, ast.expr) and place.line is not None and n.lineno <= place.line <= (n.end_lineno or n.lineno)
    ]
    same = [n for n in near if _normal(source.segment(n)) == _normal(call)] if call else []
    kind = [n for n in near if _is(n, op)]
    found = [n for n in same if _is(n, op)] or kind
    return found[0] if len(found) == 1 else None


def _normal(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text.strip(), mode="eval"))
    except (SyntaxError, ValueError):
        return text.strip()


def _is(node: ast.expr, op: str) -> bool:
    if isinstance(node, ast.BinOp):
        return (op in DIVISIONS and isinstance(node.op, ast.Div)) or (op in ("pow", "rpow") and isinstance(node.op, ast.Pow))
    return isinstance(node, ast.Call) and called(node) in (op, f"{op}_", op.removesuffix("_"), op.removeprefix("linalg_"), *_ALIASES.get(op, ()))


_ALIASES = {
    "div": ("divide", "true_divide"),
    "cross_entropy": ("CrossEntropyLoss",),
    "linalg_vector_norm": ("norm", "vector_norm"),
    "acos": ("arccos",),
    "asin": ("arcsin",),
}


# -- changing it --------------------------------------------------------------------------------------------------------


def _edit(source: Source, node: ast.expr, op: str, backward: bool, negative: bool) -> Edit | None:
    chosen = _around(source, node, "where") if backward else None
    if isinstance(chosen, ast.Call) and len(chosen.args) == 3 and (op in LOGARITHMS or op in ROOTS or op in DIVISIONS or op in EXPONENTIALS):
        return _safe_branch(source, node, chosen)
    if op in DIVISIONS:
        return _divisor(source, node)
    if isinstance(node, ast.BinOp):  # a power
        return _base(source, node.left, negative)
    if not isinstance(node, ast.Call):
        return None
    if op in LOGARITHMS and (fused := _fused(source, node)) is not None:
        return fused
    if op in (*LOGARITHMS, "sqrt", "rsqrt", "pow"):
        return _changed(source, node, "{}.clamp_min(1e-8)" if negative else "{} + 1e-8")
    if op in ARCS:
        return _changed(source, node, "{}.clamp(-1 + 1e-6, 1 - 1e-6)")
    if op in ("cosh", "sinh"):  # they grow to both sides
        return _changed(source, node, "{}.clamp(-20, 20)")
    if op in ("exp", "expm1", "exp2"):
        return _changed(source, node, "{}.clamp(max=20)")
    if op in SPREADS and keyword(node, "unbiased") is None and keyword(node, "correction") is None:
        return source.replacing(node, f"{source.segment(node)[:-1]}{', ' if node.args or node.keywords else ''}correction=0)")
    if op in ("softmax", "log_softmax"):
        return _finite_mask(source, node)
    return _counted(source, node) if op in ("cross_entropy", "nll_loss") else None


def _base(source: Source, base: ast.expr, negative: bool) -> Edit:
    """The base of a power that is written as `x ** p`, kept from zero."""
    edit, text = source.replacing(base, ""), source.segment(base)
    bracketed = source.text[: edit.start].endswith("(") and source.text[edit.end :].startswith(")")
    if negative:
        simple = isinstance(base, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) and not bracketed
        if bracketed:
            return Edit(edit.end + 1, edit.end + 1, ".clamp_min(1e-8)")
        return Edit(edit.start, edit.end, f"{text if simple else f'({text})'}.clamp_min(1e-8)")
    return Edit(edit.start, edit.end, f"{text} + 1e-8" if bracketed else f"({text} + 1e-8)")


def _argument(node: ast.Call) -> tuple[ast.expr | None, bool]:
    """What an operation is applied to, and whether that is written before the dot."""
    owner = receiver(node)
    if owner is not None and not re.match(r"(torch|F|np|numpy)(\.|$)", ast.unparse(owner)):
        return owner, True
    return (node.args[0], False) if node.args else (None, False)


def _changed(source: Source, node: ast.Call, into: str) -> Edit | None:
    argument, method = _argument(node)
    if argument is None:
        return None
    text = source.segment(argument)
    after_dot = into.startswith("{}.")
    if after_dot and not isinstance(argument, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        text = f"({text})"
    changed = into.format(text)
    return source.replacing(argument, f"({changed})" if method and not after_dot else changed)


def _fused(source: Source, node: ast.Call) -> Edit | None:
    """`torch.log(F.softmax(z, 1))` as `F.log_softmax(z, 1)`, `torch.log(torch.sigmoid(z))` as `torch.nn.functional.logsigmoid(z)`."""
    argument, _ = _argument(node)
    if not isinstance(argument, ast.Call) or called(node) != "log":
        return None
    owner = receiver(argument)
    inner = ", ".join([source.segment(a) for a in argument.args] + [f"{k.arg}={source.segment(k.value)}" for k in argument.keywords])
    if called(argument) == "softmax":
        return source.replacing(node, f"{source.segment(owner)}.log_softmax({inner})" if owner is not None else f"log_softmax({inner})")
    if called(argument) == "sigmoid":
        value, method = _argument(argument)
        given = source.segment(value) if method and value is not None else inner
        return source.replacing(node, f"torch.nn.functional.logsigmoid({given})")
    return None


def _divisor(source: Source, node: ast.expr) -> Edit | None:
    right = node.right if isinstance(node, ast.BinOp) else node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(node, ast.Call) and called(node) == "reciprocal":
        return _changed(source, node, "{}.clamp_min(1e-8)")
    if isinstance(node, ast.Call) and len(node.args) == 2:  # torch.div(a, b)
        right = node.args[1]
    if right is None or is_number(right):
        return None
    text = source.segment(right)
    simple = isinstance(right, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    least = "1" if COUNTS.search(text) and not re.search(r"norm|std|var", text) else "1e-8"
    return source.replacing(right, f"{text if simple else f'({text})'}.clamp_min({least})")


def _safe_branch(source: Source, node: ast.expr, where: ast.Call) -> Edit | None:
    """`torch.where(c, torch.log(x), y)` as `torch.where(c, torch.log(torch.where(c, x, 1.0)), y)`."""
    condition = source.segment(where.args[0])
    at_fault = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else node.left if isinstance(node, ast.BinOp) else None
    if at_fault is None and isinstance(node, ast.Call):
        at_fault = _argument(node)[0]
    second = any(n is node for n in ast.walk(where.args[2]))
    if at_fault is None or is_number(at_fault):
        return None
    text = source.segment(at_fault)
    safe = f"torch.where({condition}, 1.0, {text})" if second else f"torch.where({condition}, {text}, 1.0)"
    return source.replacing(at_fault, safe)


def _around(source: Source | None, node: ast.expr | None, name: str) -> ast.AST | None:
    """The call of this name that an expression is an argument of."""
    if source is None or node is None:
        return None
    return next((a for a in source.ancestors(node) if isinstance(a, ast.Call) and called(a) == name), None)


def _finite_mask(source: Source, node: ast.expr) -> Edit | None:
    """The minus infinity that fills a mask, in the same function, as the lowest finite number."""
    infinite = re.compile(r"""^(-\s*(torch|math|np)\.inf|float\(\s*['"]-inf(inity)?['"]\s*\)|-\s*float\(\s*['"]inf(inity)?['"]\s*\))$""")
    fills = [c for c in source.calls("masked_fill", "masked_fill_", within=source.function(node)) if len(c.args) == 2]
    found = [c for c in fills if infinite.match(source.segment(c.args[1]).strip())]
    return source.replacing(found[0].args[1], "torch.finfo(torch.float32).min") if len(found) == 1 else None


def _counted(source: Source, node: ast.Call) -> Edit | None:
    """`F.cross_entropy(z, y)` as a sum over the targets that count, divided by how many they are."""
    if len(node.args) != 2 or any(k.arg != "ignore_index" for k in node.keywords) or not isinstance(receiver(node), ast.Name):
        return None
    ignored = keyword(node, "ignore_index")
    left_out = source.segment(ignored.value) if ignored is not None else "-100"
    target = source.segment(node.args[1])
    simple = target if isinstance(node.args[1], (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({target})"
    return source.replacing(node, f'{source.segment(node)[:-1]}, reduction="sum") / ({simple} != {left_out}).sum().clamp_min(1)')
