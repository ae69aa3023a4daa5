"""What a script does with the weights that it read from a file, where it never gives them to a model."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, receiver, source_at
from sickbay.script.guesses import guess
from sickbay.script.statement_kinds import given_names, named_in

MERGES = ("update", "setdefault")


@dataclass(frozen=True)
class Merged:
    """The last line that makes a state of what was read: `load_state_dict` belongs right after it."""

    source: Source
    statement: ast.stmt
    state: str
    model: str
    """Whose own state it was merged with; "" if none."""

    @property
    def place(self) -> Place:
        return self.source.place(self.statement.lineno)

    @property
    def diff(self) -> str:
        return self.source.diff(self.source.after(self.statement, f"{self.model}.load_state_dict({self.state})")) if self.model else ""


@guess
def merged(record: Record, read: Place | None) -> Merged | None:
    """`state = torch.load(path)`, then `own.update(state)` or `own = {**own, **state}` in the same block, and nothing that loads it."""
    source = source_at(record, read)
    first = source.statement(read.line) if source is not None and read is not None else None
    if source is None or first is None or source.calls("load_state_dict", within=source.function(first)):
        return None
    block = source.block(first)
    known, last = given_names(first), None
    for statement in block[block.index(first) + 1 :]:
        name = _made(statement, known)
        if name:
            known, last = known | {name}, (statement, name)
    return Merged(source, *last, _owner(source, first)) if last is not None else None


def _made(statement: ast.stmt, known: set[str]) -> str:
    """The name that a statement gives to a dictionary of what is known, or that it merges it into."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Dict, ast.DictComp)) and named_in(statement.value) & known:
        return next(iter(given_names(statement)), "")
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in MERGES:
        owner = receiver(call)
        return owner.id if isinstance(owner, ast.Name) and any(named_in(a) & known for a in call.args) else ""
    return ""


def _owner(source: Source, near: ast.stmt) -> str:
    owners = {ast.unparse(o) for c in source.calls("state_dict", within=source.function(near)) if (o := receiver(c)) is not None}
    return owners.pop() if len(owners) == 1 else ""
