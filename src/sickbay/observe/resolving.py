"""What names in the user's source stand for in a frame, without running any of the user's code."""

from __future__ import annotations

import ast
from contextlib import suppress
from types import FrameType
from typing import Any

import torch

_PURE = frozenset("long int float double view reshape flatten squeeze unsqueeze detach t transpose permute contiguous size item numel to".split())
"""Methods of tensors that change nothing: what they give may be worked out again."""


def value_of(node: ast.AST, frame: FrameType) -> Any:
    """The value of a name, an attribute, an item or a constant; None where finding out could run the user's code."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = value_of(node.operand, frame)
        return -value if type(value) in (int, float) else None
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        return _attribute(value_of(node.value, frame), node.attr)
    if isinstance(node, ast.Subscript):
        return _item(value_of(node.value, frame), value_of(node.slice, frame))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PURE and not node.keywords:
        return _method(value_of(node.func.value, frame), node.func.attr, [value_of(a, frame) for a in node.args])
    return None


def _attribute(owner: Any, name: str) -> Any:
    if owner is None:
        return None
    if issubclass(type(owner), torch.Tensor) and name in ("T", "mT", "data", "shape", "dtype"):
        return getattr(owner, name)
    held = getattr(owner, "__dict__", None)
    if type(held) is not dict:
        return None
    if name in held:
        return held[name]
    return next((part[name] for kind in ("_parameters", "_buffers", "_modules") if name in (part := held.get(kind) or {})), None)


def _item(owner: Any, key: Any) -> Any:
    if type(owner) in (dict, list, tuple) and type(key) in (str, int):
        with suppress(KeyError, IndexError, TypeError):
            return owner[key]
    return None


def _method(owner: Any, name: str, args: list[Any]) -> Any:
    if issubclass(type(owner), torch.Tensor) and owner.is_cpu and None not in args:
        with suppress(Exception):
            return getattr(owner, name)(*args)
    return None


def tensors_in(expression: str, frame: FrameType) -> list[tuple[str, torch.Tensor]]:
    """The tensors that an expression names, outermost operands first, as the user wrote them."""
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return []
    found: dict[str, torch.Tensor] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            with suppress(Exception):
                value = value_of(node, frame)
                if issubclass(type(value), torch.Tensor):
                    found.setdefault(ast.unparse(node), value)
    return list(found.items())
