"""Scripts as text, and what is followed back through them."""

from __future__ import annotations

import ast
from textwrap import dedent

from sickbay.script.fixing import Source
from sickbay.script.lineage import Lineage
from sickbay.script.prepared import Prepared, Sides, Statements


def source_of(text: str) -> Source:
    text = dedent(text).lstrip("\n")
    return Source("train.py", text, ast.parse(text))


def sides_of(text: str) -> Sides:
    """What `fit(...)` and `check(...)` are given."""
    source = source_of(text)
    lineage = Lineage(source)
    trained, shown = (Statements(source, lineage.of(source.calls(name)[0].args[0])) for name in ("fit", "check"))
    return Sides(trained, shown)


def loss_of(text: str) -> Prepared:
    """Both sides of the `loss_fn(...)` call of a script."""
    source = source_of(text)
    (call,) = source.calls("loss_fn")
    lineage = Lineage(source)
    return Prepared(source, call, lineage.of(call.args[0]), lineage.of(call.args[1]))
