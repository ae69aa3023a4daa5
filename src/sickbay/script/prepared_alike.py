"""The line at which evaluation's data is prepared otherwise than training's, as far as the text tells (see lineage.py)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from sickbay.facts import EvaluationData
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.bindings import argument, parameters, root
from sickbay.script.fixing import Function, Source, called, source_at
from sickbay.script.guesses import guess
from sickbay.script.prepared import Sides, Statements, guessed
from sickbay.script.statement_kinds import alters, calls, given_names, inside, only_loads

TRANSFORM = re.compile(r"(?<![a-z])(?:tf|tfm|tfms|transform|transforms|preprocess|prep|aug|augment)(?![a-z])", re.IGNORECASE)
NUMBERING = re.compile(r"vocab|fit|factorize|encoder|tokenizer|categor|build|index_of", re.IGNORECASE)
"""In the name of a call that learns from what it is given which number a word or class gets."""
LOADING = frozenset({"shuffle", "batch_size", "drop_last", "num_workers"})
"""Options of loaders, which differ between training and evaluation by right."""
FEW = 3
"""Statements of a function that does one thing."""

SAME_VALUES = frozenset(
    {
        "to",
        "cuda",
        "cpu",
        "float",
        "double",
        "long",
        "view",
        "reshape",
        "flatten",
        "unsqueeze",
        "squeeze",
        "permute",
        "transpose",
        "contiguous",
        "detach",
    }
    | {"tensor", "as_tensor", "from_numpy"}
)
"""What changes only the type, shape or place of data."""


@dataclass(frozen=True)
class LeftOut:
    """A step that training's data goes through and evaluation's does not."""

    source: Source
    step: ast.stmt
    after: ast.stmt
    """The line after which it belongs: what comes before it, as it is done to evaluation's data; else the step itself."""
    called: dict[str, str]
    """What evaluation's data is called where training's has another name."""

    @property
    def place(self) -> Place:
        return guessed(self.source, self.after)

    def diff(self) -> str:
        """The same step for evaluation's data; "" if its names are not known. What was fitted on training's is only applied."""
        given = given_names(self.step) or {root(c.args[0]) for c in [getattr(self.step, "value", None)] if isinstance(c, ast.Call) and c.args}
        if not given or not given <= set(self.called):
            return ""
        words = re.compile(r"\b(" + "|".join(map(re.escape, self.called)) + r")\b")
        line = words.sub(lambda m: self.called[m[0]], self.source.segment(self.step)).replace(".fit_transform(", ".transform(")
        return self.source.diff(self.source.after(self.after, line))


@guess
def set_up(found: Sides | None) -> Place | None:
    """What prepares evaluation's data in a way that training's is not; the line after which a step is missing that training's has gone through;
    else the nearest line that prepares what is evaluated and nothing that is trained on."""
    if found is None:
        return None
    source = found.shown.source
    if (missing := left_out(found)) is not None:
        return missing.place
    own, theirs = _alone(found.shown, found.trained), _alone(found.trained, found.shown)
    together = [s for s in found.shown.statements if s in found.trained and _otherwise(source, s)]
    if not own and not together:
        return None
    other = [s for s in own if _kind(source, s) not in {_kind(source, t) for t in theirs}]
    chosen = (other or together or own)[0]
    if chosen not in together and (taken := _branch(source, chosen)) is not None:
        return found.shown.place(taken)
    transforms = {n.id for n in inside(chosen) if isinstance(n, ast.Name) and TRANSFORM.search(n.id)}
    changed = [s for s in source.tree.body if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id in transforms]
    return found.shown.place(changed[0] if len(changed) == 1 else chosen)


def _otherwise(source: Source, statement: ast.stmt) -> bool:
    """`x, v = prepare(a, scale=True), prepare(b, scale=False)`: one function, called in two ways in one line."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    made = [e for e in value.elts if isinstance(e, ast.Call)] if isinstance(value, ast.Tuple) else []
    return any(called(a) == called(b) and _done(source, ast.walk(a)) != _done(source, ast.walk(b)) for a, b in pairwise(made))


def _branch(source: Source, statement: ast.stmt) -> ast.stmt | None:
    """`Rows(n, train=False)`, where the class asks `if self.train:`: the first line of the branch that is taken then."""
    for call in (n for n in inside(statement) if isinstance(n, ast.Call) and called(n) in source.defined):
        scope = source.defined[called(call)][-1]
        body = scope.body if isinstance(scope, ast.ClassDef) else [scope]
        function = next((f for f in body if isinstance(f, Function) and (f is scope or f.name == "__init__")), None)
        for name in parameters(function) if function is not None else ():
            given = argument(call, function, name, function is not scope) if function is not None and name != "self" else None
            if given is None or not isinstance(given[0], ast.Constant) or not isinstance(given[0].value, bool):
                continue
            asked = [
                n
                for n in ast.walk(scope)
                if isinstance(n, ast.If) and ast.unparse(n.test) in (name, f"self.{name}", f"not {name}", f"not self.{name}")
            ]
            if len(asked) == 1:
                taken = asked[0].body if given[0].value is not isinstance(asked[0].test, ast.UnaryOp) else asked[0].orelse
                return taken[0] if taken else None
    return None


@dataclass(frozen=True)
class AtTheDoor:
    """An evaluation's own call of the model, which does something to the data."""

    source: Source
    call: ast.Call

    @property
    def place(self) -> Place:
        return replace(self.source.place(self.call.lineno), guess=True)

    def diff(self) -> str:
        """The model is given what that was done to; "" where this is not one function of one thing."""
        given = self.call.args[0]
        plain = isinstance(given, ast.Call) and len(given.args) == 1 and not given.keywords and isinstance(given.func, ast.Name)
        return self.source.diff(self.source.replacing(given, self.source.segment(given.args[0]))) if plain and isinstance(given, ast.Call) else ""


@guess
def at_the_door(record: Record, data: EvaluationData) -> AtTheDoor | None:
    """`net(scaler(x))` where all other calls of `net` in the file are given plain `x`."""
    source = source_at(record, data.place)
    for call in source.calls(line=data.place.line) if source is not None and data.place is not None and data.texts else ():
        if source is None or data.texts[0] not in (source.segment(call), ast.unparse(call)) or not _made_otherwise(source, call):
            continue
        others = [c for c in source.calls() if c is not call and ast.unparse(c.func) == ast.unparse(call.func)]
        if others and not any(_made_otherwise(source, c) for c in others):
            return AtTheDoor(source, call)
    return None


def _made_otherwise(source: Source, call: ast.Call) -> bool:
    """Something is worked out of what a model is given, right in its call; another type or shape of it is nothing else."""
    return any(kind not in SAME_VALUES for a in call.args for kind in _done(source, ast.walk(a)))


@guess
def left_out(found: Sides | None) -> LeftOut | None:
    """What is done to training's data alone, where all that is done to evaluation's is done to training's too."""
    if found is None or not _alone(found.shown, found.trained):
        return None
    source, own, theirs = found.shown.source, _alone(found.shown, found.trained), _alone(found.trained, found.shown)
    done = {_kind(source, s): s for s in reversed(own)}
    missing = next((i for i, t in enumerate(theirs) if _kind(source, t) and _kind(source, t) not in done), None)
    if missing is None or any(_kind(source, s) not in {_kind(source, t) for t in theirs} for s in own):
        return None
    before = next((done[_kind(source, t)] for t in theirs[missing + 1 :] if _kind(source, t) in done), None)
    called = {a: b for t in reversed(theirs) if _kind(source, t) in done for a, b in _renamed(t, done[_kind(source, t)])}
    return LeftOut(source, theirs[missing], before if before is not None else theirs[missing], called)


@guess
def turned(found: Sides | None) -> Place | None:
    """The line that turns the order of channels round, in a function that is handed to one side only (an augmentation, say), or behind a switch."""
    if found is None:
        return None
    source = found.shown.source
    one, other = ({n.id for s in side.statements for n in inside(s) if isinstance(n, ast.Name)} for side in (found.trained, found.shown))
    for name in one ^ other:
        for function in (f for f in source.defined.get(name, ()) if isinstance(f, Function)):
            for statement in (s for s in function.body if isinstance(s, (ast.Assign, ast.Return)) and _turns(s)):
                return guessed(source, statement)
    switched = [
        s for s in ast.walk(source.tree) if isinstance(s, (ast.Assign, ast.Return)) and (_turns(s) or _by_name(source, s)) and _by_a_switch(source, s)
    ]
    return guessed(source, switched[0]) if len(switched) == 1 else None


def _by_a_switch(source: Source, statement: ast.stmt) -> bool:
    """Under `if self.augment:` or `if split == "train":`, what both sides go through: one of them has it on."""
    tests = [a.test for a in source.ancestors(statement) if isinstance(a, ast.If)]
    return bool(tests) and not any(isinstance(n, ast.Call) for n in ast.walk(tests[0])) and isinstance(source.function(statement), Function)


def _by_name(source: Source, statement: ast.stmt) -> bool:
    """`frame = bgr2rgb(frame)`: a function of the script's own does it, and nothing else."""
    called_here = {called(n) for n in inside(statement) if isinstance(n, ast.Call)}
    functions = [f for name in called_here for f in source.defined.get(name, ()) if isinstance(f, Function)]
    return any(len(f.body) <= FEW and any(isinstance(s, (ast.Assign, ast.Return)) and _turns(s) for s in f.body) for f in functions)


def _turns(statement: ast.stmt) -> bool:
    """`image[..., ::-1]`, `image[:, :, ::-1]`, `image[:, :, [2, 1, 0]]`, `cv2.cvtColor(...)`"""
    taken = (n.slice.elts for n in inside(statement) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Tuple))
    last = (ast.unparse(elements[-1]) for elements in taken if len(elements) > 1 and (len(elements) > 2 or ast.unparse(elements[0]) == "..."))
    return calls(statement, frozenset({"cvtColor"})) or any(text in ("::-1", "[2, 1, 0]") for text in last)


@guess
def numbered(found: Sides | None) -> Place | None:
    """The line that gives words or classes their numbers anew for what is evaluated: a vocabulary of its own, or one that a function or constructor makes
    of the rows it is given, each time."""
    if found is None:
        return None
    source = found.shown.source
    own = [s for s in _alone(found.shown, found.trained) if _learns(s)]
    each = [s for s in found.shown.statements if s in found.trained and isinstance(source.function(s), Function) and (_counts(s) or _learns(s))]
    return next((found.shown.place(s) for s in (*own, *each)), None)


def _alone(side: Statements, other: Statements) -> list[ast.stmt]:
    """What changes or makes the data of one side and has nothing to do with the other's."""
    prepares = (ast.Assign, ast.Expr)
    own = [s for s in side.statements if isinstance(s, prepares) and s not in other]
    return [s for s in own if (alters(side.source, s) if isinstance(s, ast.Expr) else not only_loads(s))]


def _renamed(one: ast.stmt, other: ast.stmt) -> Iterator[tuple[str, str]]:
    """The names that differ between two statements of the same form."""
    pairs = list(zip(ast.walk(one), ast.walk(other), strict=False))
    if all(type(a) is type(b) for a, b in pairs):
        yield from ((a.id, b.id) for a, b in pairs if isinstance(a, ast.Name) and isinstance(b, ast.Name) and a.id != b.id)


def _kind(source: Source, statement: ast.stmt) -> tuple[str, ...]:
    """What is done in a statement, whatever it is done to: calls, sums and products, functions and switches that are handed on."""
    return _done(source, inside(statement))


def _done(source: Source, nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    found: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Call):
            found.append(called(node))
            found += [f"{k.arg}={ast.unparse(k.value)}" for k in node.keywords if _switch(k)]
        elif isinstance(node, ast.Name) and (node.id in source.defined or TRANSFORM.search(node.id)):
            found.append(node.id)
        elif isinstance(node, ast.BinOp):
            found.append(type(node.op).__name__)
    return tuple(found)


def _switch(given: ast.keyword) -> bool:
    return isinstance(given.value, ast.Constant) and isinstance(given.value.value, bool) and given.arg not in LOADING


def _learns(statement: ast.stmt) -> bool:
    """`Vocab(val_texts)`, `encoder.fit_transform(val_names)`"""
    return any(isinstance(n, ast.Call) and NUMBERING.search(called(n)) for n in inside(statement))


def _counts(statement: ast.stmt) -> bool:
    """`{word: i for i, word in enumerate(words)}`, `dict(zip(words, range(n)))`"""
    comprehended = any(isinstance(n, ast.DictComp) for n in inside(statement)) or calls(statement, frozenset({"dict"}))
    return comprehended and calls(statement, frozenset({"enumerate", "range", "count"}))
