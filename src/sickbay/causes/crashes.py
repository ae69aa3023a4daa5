"""What the causes that end a run with an exception share: the proof, the failing call in the user's source, sizes and types in words."""

from __future__ import annotations

import ast
import re

from sickbay.causes.evidence import at, proof
from sickbay.facts import Crash, CrashTensor
from sickbay.nouns import Evidence, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, is_number, keyword, source_at
from sickbay.script.naming import named_numbers

NOT_CRASHES = ("KeyboardInterrupt", "SystemExit")


def crash_of(record: Record) -> Crash | None:
    """The exception that ended the run, if it was one."""
    crash = record.facts.crash
    return crash if crash is not None and crash.kind not in NOT_CRASHES else None


def died_of(text: str, crash: Crash, place: Place | None = None, **numbers: float) -> Evidence:
    """The proof that this ended the run: `conclude` puts what the run died of before what merely was there too."""
    return proof(text, place or crash.place, (crash.step, crash.step), crash=1.0, **numbers)


def killed_the_run(evidence: Evidence) -> bool:
    return evidence.kind == "proof" and "crash" in evidence.numbers


def says(crash: Crash, pattern: str) -> re.Match[str] | None:
    """The part of the exception's message that has this form."""
    return re.search(pattern, crash.message, re.DOTALL)


def when(crash: Crash) -> str:
    """ "in the first step", "at step 17"."""
    return "in the first step" if crash.step == 0 else f"at step {crash.step:,}"


def failing_call(record: Record, crash: Crash) -> tuple[Source, ast.Call] | None:
    """The user's call that raised the exception."""
    source = source_at(record, crash.place)
    if source is None or crash.place is None:
        return None
    try:
        wanted = ast.unparse(ast.parse(crash.call.strip(), mode="eval").body)
    except (SyntaxError, ValueError):
        return None
    same = [c for c in source.calls(line=crash.place.line) if ast.unparse(c) == wanted]
    return (source, same[0]) if same else None


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """What a call gives for a parameter, by position or by name."""
    given = keyword(call, name)
    return given.value if given is not None else call.args[position] if len(call.args) > position else None


def built_calls(record: Record, crash: Crash) -> list[tuple[Source, ast.Call]]:
    """The user's calls on the line that made the layer in which the run died, of its kind."""
    return calls_at(record, crash.layer_built_at, crash.layer_kind)


def calls_at(record: Record, place: Place | None, name: str) -> list[tuple[Source, ast.Call]]:
    """The user's calls of a class or function on a line."""
    source = source_at(record, place)
    return [(source, c) for c in source.calls(name, line=place.line)] if source is not None and place is not None else []


def written_number(source: Source, node: ast.expr | None, old: int) -> ast.expr | None:
    """Where a number stands in the user's source: in the call itself, or where its name is given it, in one place and for this one use."""
    if is_number(node):
        return node if node.value == old else None
    if isinstance(node, (ast.Name, ast.Attribute)):
        found = [n for n in named_numbers(source, ast.unparse(node).rpartition(".")[2]) if n.value == old]
        uses = [n for n in ast.walk(source.tree) if isinstance(n, type(node)) and ast.unparse(n) == ast.unparse(node)]
        return found[0] if len(found) == 1 and len(uses) <= 2 else None  # its own assignment and this use: nothing else changes with it
    return node if isinstance(node, ast.BinOp) else None


def changed_number(source: Source, node: ast.expr | None, old: int, new: int) -> str:
    """The diff that makes a number in the user's source another one."""
    found = written_number(source, node, old)
    return source.diff(source.replacing(found, str(new))) if found is not None else ""


def number_place(calls: list[tuple[Source, ast.Call]], position: int, name: str, old: int) -> Place | None:
    """The line on which an argument's number is written, if one call alone has it."""
    found = [(source, node) for source, call in calls if (node := written_number(source, argument(call, position, name), old)) is not None]
    if len(found) != 1:
        return None
    source, node = found[0]
    return source.place(node.lineno)


def origin(tensor: CrashTensor) -> str:
    """Where a tensor came from, in words: the layer, operation and line that made it, or the data."""
    if tensor.made_by:
        inside = f" of layer {tensor.made_in}" if tensor.made_in else ""
        return f"from {tensor.made_by}{inside}" + (f" at {at(tensor.made_at)}" if at(tensor.made_at) else "")
    return "given to the model as it is" if tensor.entered else ""


def size(count: float) -> str:
    """Bytes as a person says them."""
    for unit, scale in (("TB", 2**40), ("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} bytes"
