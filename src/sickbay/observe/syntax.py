"""Small questions to the user's source text, answered by its syntax tree."""

from __future__ import annotations

import ast
import functools
import linecache

_GRAD_OFF = ("no_grad", "inference_mode", "set_grad_enabled")


@functools.lru_cache(maxsize=64)
def tree_of(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def grad_switched_off_at(file: str, line: int) -> int | None:
    """The line of the `with torch.no_grad():` or `@torch.no_grad()` around a line, innermost; None if there is none."""
    tree = tree_of(file)
    if tree is None:
        return None
    best: tuple[int, int] | None = None
    for node in ast.walk(tree):
        for candidate, body_start in _switches(node):
            if body_start <= line <= (getattr(node, "end_lineno", 0) or 0) and (best is None or body_start > best[1]):
                best = (candidate, body_start)
    return best[0] if best else None


def _switches(node: ast.AST) -> list[tuple[int, int]]:
    if isinstance(node, (ast.With, ast.AsyncWith)):
        expressions = [item.context_expr for item in node.items]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        expressions = list(node.decorator_list)
    else:
        return []
    return [(e.lineno, e.lineno) for e in expressions if any(word in ast.unparse(e) for word in _GRAD_OFF)]


Loop = ast.For | ast.While | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


@functools.lru_cache(maxsize=1024)
def loops_around(file: str, line: int) -> tuple[Loop, ...]:
    """The loops and comprehensions that run a line again and again, within the function that it stands in; outermost first."""
    tree = tree_of(file)
    if tree is None:
        return ()
    covering = [n for n in ast.walk(tree) if (getattr(n, "lineno", 0) or line + 1) <= line <= (getattr(n, "end_lineno", 0) or 0)]
    function = max((n.lineno for n in covering if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))), default=0)
    loops = [n for n in covering if isinstance(n, Loop) and n.lineno >= function and _runs(n, line)]
    return tuple(sorted(loops, key=lambda n: (n.lineno, n.col_offset)))


def _runs(loop: Loop, line: int) -> bool:
    """...and not only once, as what a `for` goes through, or its `else`."""
    if isinstance(loop, (ast.For, ast.While)):
        return any(s.lineno <= line <= (s.end_lineno or s.lineno) for s in loop.body) or (isinstance(loop, ast.While) and line == loop.test.lineno)
    return True


def operands(call: str) -> tuple[str, str]:
    """The two sides of "a - b", or the first two arguments of "f(a, b)", as the user wrote them."""
    try:
        node = ast.parse(call.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return "", ""
    if isinstance(node, ast.BinOp):
        return ast.unparse(node.left), ast.unparse(node.right)
    if isinstance(node, ast.Call):
        names = [ast.unparse(a) for a in node.args] + [ast.unparse(k.value) for k in node.keywords if k.arg in ("input", "target", "other")]
        if len(names) == 1 and isinstance(node.func, ast.Attribute):
            names = [ast.unparse(node.func.value), *names]  # a.sub(b)
        if len(names) >= 2:
            return names[0], names[1]
    return "", ""


def receiver(call: str) -> str:
    """What a method was called on: "self.optimizer" for "self.optimizer.step()"."""
    try:
        node = ast.parse(call.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value)
    return ""
