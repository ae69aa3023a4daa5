"""Which tensors a backward pass will reach."""

from __future__ import annotations

from typing import Any

MOST_OPERATIONS = 2000


def leaves_of(node: Any) -> set[int]:
    """Identities of the leaves behind an operation, as far as the first operations of a large graph show."""
    seen: set[Any] = {node}
    todo, leaves = [node] if node is not None else [], set()
    while todo and len(seen) < MOST_OPERATIONS:
        for following, _ in todo.pop().next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                todo.append(following)
                if (leaf := getattr(following, "variable", None)) is not None:
                    leaves.add(id(leaf))
    return leaves
