"""Values that are others in every process: the hash of a text, the clock, what the operating system gives for chance. (The order of a set of texts: see orders.py.)"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sickbay.record.reader import Record
from sickbay.script.draws import Draw, reaches_training
from sickbay.script.fixing import Source, called, receiver, sources
from sickbay.script.seeding import seedings
from sickbay.script.texts import holds_text

CLOCK = frozenset("time time_ns perf_counter monotonic now utcnow urandom uuid1 uuid4 randbits getpid token_bytes id seed SystemRandom".split())


def hashes(record: Record) -> list[Draw]:
    """`hash(name) % 1000` of a text: as a seed, as an index."""
    found = (Draw("hash", s, c) for s in sources(record) for c in s.calls("hash") if receiver(c) is None and "hash" not in s.defined and c.args)
    return [d for d in found if isinstance(d.node, ast.Call) and holds_text(d.source, d.node.args[0]) and reaches_training(d.source, d.node)]


def clock_seeds(record: Record) -> list[Draw]:
    """A generator that is seeded by the clock or by the operating system, with a seed that nobody is told."""
    found = []
    for seeding in seedings(record):
        source = seeding.source
        for value in seeding.call.args[:1]:
            for origin in (value, *_assigned(source, value)):
                calls = [c for c in ast.walk(origin) if isinstance(c, ast.Call) and called(c) in CLOCK]
                if calls and not _is_told(source, value):
                    found.append(Draw("clock", source, calls[0]))
    return found


def _assigned(source: Source, value: ast.expr) -> Iterator[ast.expr]:
    name = value.id if isinstance(value, ast.Name) else ""
    for node in ast.walk(source.tree):
        if name and isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            yield node.value


def _is_told(source: Source, value: ast.expr) -> bool:
    """The seed is printed, logged or kept: then a run can be made again."""
    name = value.id if isinstance(value, ast.Name) else ""
    uses = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return any(
        isinstance(a, (ast.JoinedStr, ast.Dict)) or (isinstance(a, ast.Call) and called(a) in ("print", "info", "log", "write"))
        for n in uses
        for a in source.ancestors(n)
    )
