"""Where a script draws at random, or depends on an order that is none, outside of what torch's seed covers; and whether what is drawn can reach training."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Function, Source, called, receiver, sources
from sickbay.script.seeding import first_line, imported, seedings

PYTHON = frozenset(
    "random randint uniform choice choices sample shuffle gauss normalvariate randrange betavariate triangular expovariate gammavariate getrandbits".split()
)
NUMPY = frozenset(
    "rand randn randint random random_sample uniform normal choice permutation shuffle standard_normal binomial poisson beta gamma exponential laplace multivariate_normal "
    "multinomial dirichlet lognormal bytes ranf sample random_integers".split()
)
SKLEARN = frozenset({"train_test_split", "shuffle", "resample"})
"""...and everything called make_something: without a random_state they draw from NumPy's shared generator."""
HARMLESS = frozenset(
    "print info debug warning log sleep join mkdir makedirs open savefig format write scatter plot annotate title set_description Path str uuid hexdigest exists "
    "init set_postfix text imshow".split()
)
"""Calls whose outcome training never sees: names of files and runs, pauses, pictures."""
NAMES = (
    "id",
    "name",
    "tag",
    "path",
    "file",
    "port",
    "suffix",
    "prefix",
    "token",
    "run",
    "color",
    "colour",
    "delay",
    "wait",
    "jitter",
    "dir",
    "folder",
    "title",
)
"""Last words of variables that hold such things."""


@dataclass(frozen=True)
class Draw:
    """One expression that draws."""

    generator: str
    """ "python", "numpy", or "own" for one that the script made without a seed."""
    source: Source
    node: ast.expr

    @property
    def place(self) -> Place:
        return self.source.place(self.node.lineno)

    @property
    def text(self) -> str:
        return self.source.segment(self.node)

    @property
    def within_training(self) -> bool:
        """In a function or a loop: not something that is done once when the script begins."""
        return isinstance(self.source.function(self.node), Function) or bool(self.source.loops(self.node))


def draws(record: Record, generator: str) -> list[Draw]:
    """Where one of the process's own generators is drawn from, so that training may notice."""
    found = (Draw(generator, s, c) for s in sources(record) for c in s.calls() if _draws_from(s, c) == generator)
    return [d for d in found if _is_run(record, d.source, d.node) and reaches_training(d.source, d.node)]


def too_early(record: Record) -> list[Draw]:
    """Draws at the top of a file that stand before the line which seeds their generator."""
    found = []
    for generator in ("python", "numpy"):
        lines = [first_line(s) for s in seedings(record) if s.generator == generator]
        files = {s.source.file for s in seedings(record)}
        if lines and None not in lines and len(files) == 1:
            top = (d for d in draws(record, generator) if d.source.file in files and d.source.function(d.node) is d.source.tree)
            found += [d for d in top if d.node.lineno < min(n for n in lines if n is not None)]
    return found


def unseeded(record: Record) -> list[Draw]:
    """Generators that the script makes without a seed: np.random.default_rng(), RandomState(), random.Random()."""
    found = []
    for source in sources(record):
        for call in source.calls("default_rng", "RandomState", "Random", "SystemRandom"):
            given = [*call.args, *(k.value for k in call.keywords)]
            bare = not given or (isinstance(given[0], ast.Constant) and given[0].value is None)
            if bare and _is_generator(source, call) and _is_run(record, source, call) and reaches_training(source, call):
                found.append(Draw("own", source, call))
    return found


def _is_generator(source: Source, call: ast.Call) -> bool:
    owner = receiver(call)
    if owner is not None:
        return ast.unparse(owner) in ("np.random", "numpy.random", "random")
    return any(module in ("numpy.random", "random") for module, _ in imported(source).get(called(call), ()))


def _is_run(record: Record, source: Source, node: ast.AST) -> bool:
    """It stands at the top of the file, or in a function or class that some line names; methods may be called by a framework."""
    named = _named(record)
    for around in source.ancestors(node):
        method = isinstance(around, Function) and isinstance(source.parents.get(around), ast.ClassDef)
        if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not method and around.name not in named:
            return False
    return True


def _named(record: Record) -> set[str]:
    nodes = [n for s in sources(record) for n in ast.walk(s.tree)]
    return {n.id for n in nodes if isinstance(n, ast.Name)} | {n.attr for n in nodes if isinstance(n, ast.Attribute)}


def _draws_from(source: Source, call: ast.Call) -> str:
    owner, name = receiver(call), called(call)
    if owner is None:
        for module, original in imported(source).get(name, ()):
            if module == "random" and original in PYTHON:
                return "python"
            if module == "numpy.random" and original in NUMPY:
                return "numpy"
            if module.startswith("sklearn.") and (original in SKLEARN or original.startswith("make_")) and not _is_given(call, "random_state"):
                return "numpy" if original != "make_pipeline" and not _unshuffled(call) else ""
        return ""
    written = ast.unparse(owner)
    if written == "random" and name in PYTHON and _imports(source, "random"):
        return "python"
    return "numpy" if written in ("np.random", "numpy.random") and name in NUMPY else ""


def _is_given(call: ast.Call, name: str) -> bool:
    return any(k.arg == name or k.arg is None for k in call.keywords)


def _unshuffled(call: ast.Call) -> bool:
    return any(k.arg == "shuffle" and isinstance(k.value, ast.Constant) and k.value.value is False for k in call.keywords)


def _imports(source: Source, module: str) -> bool:
    return any(a.name == module and a.asname is None for n in ast.walk(source.tree) if isinstance(n, ast.Import) for a in n.names)


# -- what becomes of it ---------------------------------------------------------------------------------------------


def reaches_training(source: Source, node: ast.expr, depth: int = 0) -> bool:
    """Whether what is drawn may get further than into a file's name, a pause or a line that is printed."""
    for around in source.ancestors(node):
        if isinstance(around, ast.JoinedStr) or (isinstance(around, ast.Call) and called(around) in HARMLESS and node is not around.func):
            return False
        if isinstance(around, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = around.targets if isinstance(around, ast.Assign) else [around.target]
            return any(_matters(source, around, t, depth) for t in targets)
        if isinstance(around, ast.If):
            return not all(map(_only_tells, (*around.body, *around.orelse)))
        if isinstance(around, ast.stmt):
            return True
    return True


def _only_tells(statement: ast.stmt) -> bool:
    """A line that prints, waits or draws a picture."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and called(statement.value) in HARMLESS
    )


def _matters(source: Source, statement: ast.stmt, target: ast.expr, depth: int) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_matters(source, statement, t, depth) for t in target.elts)
    name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    if not name:
        return True
    if name.lower().rpartition("_")[2] in NAMES:
        return False
    uses = list(_uses(source, statement, name))
    return depth >= 3 or any(reaches_training(source, use, depth + 1) for use in uses)


def _uses(source: Source, statement: ast.stmt, name: str) -> Iterator[ast.expr]:
    """Where a name is read again (wherever: a function may read a name of the module)."""
    within = {id(n) for n in ast.walk(statement)}
    for node in ast.walk(source.tree):
        plain = isinstance(node, ast.Name) and node.id == name
        attribute = isinstance(node, ast.Attribute) and node.attr == name
        if isinstance(node, (ast.Name, ast.Attribute)) and (plain or attribute) and isinstance(node.ctx, ast.Load) and id(node) not in within:
            yield node
