"""What the script's text seeds, and whether it says that its runs are to come again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, Source, called, receiver, sources

GENERATORS = {"random": "python", "np.random": "numpy", "numpy.random": "numpy", "torch": "torch", "torch.random": "torch", "torch.cuda": "torch"}
SEEDS = ("seed", "manual_seed", "manual_seed_all")
WORDS = re.compile(r"reproducib", re.IGNORECASE)
NAMED = re.compile(
    r"^_*(set|fix|init|setup|reset|same|random|global|apply|freeze|configure|use)\w*seeds?$|^_*seed_?(everything|every|all|torch|rngs?|numpy|python|generators|any)|determinis|reproducib",
    re.IGNORECASE,
)
"""Functions that are named for it: set_seed, seed_everything, fix_random_seeds, make_deterministic."""
MAY_SEED = re.compile(r"seed|determinis|reproduc", re.IGNORECASE)
"""...and those that might be, where that is a reason to say nothing."""
NOT_FUNCTIONS = frozenset({*SEEDS, "initial_seed", "default_rng", "get_seed", "next_seed", "seed_worker"})


@dataclass(frozen=True)
class Seeding:
    """One call that seeds a generator of the process."""

    generator: str
    source: Source
    call: ast.Call

    @property
    def place(self) -> Place:
        return self.source.place(self.call.lineno)


@dataclass(frozen=True)
class Intent:
    """The line that says that runs are to come again, and in words how."""

    text: str
    place: Place | None


def seedings(record: Record) -> list[Seeding]:
    return [Seeding(g, source, call) for source in sources(record) for call in source.calls(*SEEDS) if (g := _generator(source, call))]


def _generator(source: Source, call: ast.Call) -> str:
    owner = receiver(call)
    if owner is not None:
        return GENERATORS.get(ast.unparse(owner), "")
    return next((GENERATORS[m] for m, name in imported(source).get(called(call), ()) if m in GENERATORS and name in SEEDS), "")


def imported(source: Source) -> dict[str, list[tuple[str, str]]]:
    """Names that come from other modules, with the module and the name there."""
    found: dict[str, list[tuple[str, str]]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                found.setdefault(a.asname or a.name, []).append((node.module, a.name))
    return found


def first_line(seeding: Seeding) -> int | None:
    """The line at the top of the file by which a generator is seeded first: of the call, or of a call of the function around it. None if that is in a function, too."""
    source, node = seeding.source, seeding.call
    function = source.function(node)
    if not isinstance(function, Function):
        return node.lineno
    lines = [c.lineno for c in source.calls(function.name) if source.function(c) is source.tree]
    return min(lines, default=None)


def seeded_elsewhere(record: Record) -> bool:
    """A function seeds that is not in any text we have: a library's seed_everything, which may cover all there is."""
    texts = list(sources(record))
    defined = {name for s in texts for name in s.defined}
    return any(called(c) not in defined for s in texts for c in _named_calls(s, MAY_SEED))


def intent(record: Record) -> Intent | None:
    """What shows that the script wants its runs to come again; None if it merely seeds torch, or nothing."""
    found = list(_intents(record))
    return found[0] if found else None


def _intents(record: Record) -> Iterator[Intent]:
    texts = list(sources(record))
    for source in texts:
        for call in _named_calls(source):
            yield Intent(f"`{source.segment(call)}`", source.place(call.lineno))
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and called(node) == "use_deterministic_algorithms" and not _is_false(node.args[:1]):
                yield Intent(f"`{source.segment(node)}`", source.place(node.lineno))
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith("cudnn.deterministic") and not _is_false([node.value]):
                yield Intent(f"`{source.segment(node)}`", source.place(node.lineno))
    calls = seedings(record)
    if len({s.generator for s in calls}) >= 2:
        yield Intent(f"seeds for {' and '.join(sorted({_GENERATOR_NAMES[s.generator] for s in calls}))}", calls[0].place)
    for source in texts if calls else []:
        for number, line in enumerate(source.lines, start=1):
            if WORDS.search(line):
                yield Intent(f"`{line.strip()[:80]}`", source.place(number))


_GENERATOR_NAMES = {"python": "Python", "numpy": "NumPy", "torch": "torch"}


def generator_name(generator: str) -> str:
    return _GENERATOR_NAMES[generator]


def _named_calls(source: Source, named: re.Pattern[str] = NAMED) -> list[ast.Call]:
    """Calls of functions that are named for seeding, outside of such functions; plain ones and those of a module, not methods that give a seed."""
    found = [c for c in source.calls() if named.search(called(c)) and called(c) not in NOT_FUNCTIONS and not _gives_something(source, c)]
    return [c for c in found if not isinstance(f := source.function(c), Function) or not named.search(f.name)]


def _gives_something(source: Source, call: ast.Call) -> bool:
    """Its result is used: then it makes a seed and sets none. (`use_deterministic_algorithms` is spoken of by itself.)"""
    return not isinstance(source.parents.get(call), ast.Expr) or called(call) == "use_deterministic_algorithms"


def _is_false(values: list[ast.expr]) -> bool:
    return any(isinstance(v, ast.Constant) and v.value is False for v in values)
