"""What a statement of the user's script does, as its text shows it: reorders, copies, splits, overwrites..."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from sickbay.script.bindings import root
from sickbay.script.fixing import Source, called, receiver

REORDERING = frozenset(
    {"roll", "flip", "flipud", "sort", "sorted", "shuffle", "permutation", "randperm", "argsort", "sample", "sort_values", "reverse", "reversed"}
)
CONVERTING = frozenset(
    {
        "from_numpy",
        "tensor",
        "as_tensor",
        "LongTensor",
        "asarray",
        "array",
        "astype",
        "long",
        "float",
        "int",
        "to",
        "copy",
        "clone",
        "squeeze",
        "contiguous",
        "detach",
    }
)
"""Calls that give the same values in another form."""
COPYING = frozenset({"repeat", "tile", "repeat_interleave", "resample", "fit_resample"})
RESAMPLING = frozenset({"fit_resample"})
"""Calls that can only mean more of the rare samples, whatever their result is called."""
JOINING = frozenset({"concatenate", "cat", "vstack", "concat", "extend"})
BESIDE = frozenset({"stack", "column_stack", "dstack"})
INPLACE = frozenset({"shuffle", "sort", "reverse"})
ORDERS = frozenset({"randperm", "permutation"})
DRAWING = frozenset({"randperm", "permutation", "shuffle", "sample"})
ROUNDING = frozenset({"rint", "round", "round_", "astype", "long", "int"})
AVERAGING = frozenset({"mean", "average", "nanmean"})
SPLITTING = frozenset({"train_test_split", "random_split"})
CHOOSING = frozenset(
    {"where", "masked_fill", "masked_fill_", "scatter", "scatter_", "fillna", "ffill", "bfill", "map", "replace", "fill_", "index_fill"}
)


def calls(statement: ast.stmt, names: frozenset[str]) -> bool:
    return any(isinstance(n, ast.Call) and called(n) in names for n in inside(statement))


def inside(statement: ast.stmt) -> Iterable[ast.AST]:
    """What stands in the statement itself: not in the body of a loop or function."""
    if isinstance(statement, ast.For):
        return ast.walk(statement.iter)
    return ast.walk(statement)


def falls_back(statement: ast.stmt) -> bool:
    """`names.get(key, 0)`"""
    return any(isinstance(n, ast.Call) and called(n) == "get" and len(n.args) == 2 for n in inside(statement))


def averages_labels(statement: ast.stmt) -> bool:
    """`np.rint(votes.mean(axis=1))`, `votes.mean(1).round().long()`: the mean of class numbers is the number of another class."""
    return any(isinstance(n, ast.Call) and called(n) in ROUNDING and _is_a_mean(n) for n in inside(statement))


def _is_a_mean(node: ast.expr) -> bool:
    """A mean, rounded and converted perhaps, and nothing else done to it."""
    while isinstance(node, ast.Call) and called(node) in ROUNDING:
        owner = receiver(node)
        given = owner if isinstance(owner, ast.Call) else node.args[0] if node.args else None
        if given is None:
            return False
        node = given
    return isinstance(node, ast.Call) and called(node) in AVERAGING


def overwrites(statement: ast.stmt) -> bool:
    """`y[wrong] = ...`"""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AugAssign) else []
    return any(isinstance(t, ast.Subscript) for t in targets)


def joins(statement: ast.stmt) -> bool:
    """`torch.cat([codes_a, codes_b])`: labels of two origins, which may not mean the same."""
    for node in inside(statement):
        if isinstance(node, ast.Call) and called(node) in JOINING and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            return len({ast.unparse(e).partition("[")[0] for e in node.args[0].elts}) > 1
    return False


def one_of_several(statement: ast.stmt) -> bool:
    """`return words[i], votes[i, 0]`: one column of what there is for this sample."""
    given = statement.value if isinstance(statement, ast.Return) else None
    last = given.elts[-1] if isinstance(given, ast.Tuple) and given.elts else None
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.slice, ast.Tuple)
        and isinstance(n.slice.elts[0], ast.Name)
        and isinstance(n.slice.elts[-1], ast.Constant)
        and isinstance(n.slice.elts[-1].value, int)
        for n in (ast.walk(last) if last is not None else ())
    )


def column_of(statement: ast.stmt) -> set[str]:
    """`labels = votes[:, 0]`, `labels = torch.tensor(votes[:, 0])`, `return votes[:, 0]`: what one column is taken of, under another name."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.Return)) else None
    while isinstance(value, ast.Call) and called(value) in CONVERTING:
        owner = receiver(value)
        value = owner if isinstance(owner, (ast.Subscript, ast.Call)) else value.args[0] if value.args else None
    if not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Name) or not isinstance(value.slice, ast.Tuple):
        return set()
    rows, column = value.slice.elts[0], value.slice.elts[-1]
    taken = isinstance(rows, ast.Slice) and isinstance(column, ast.Constant) and isinstance(column.value, int)
    return {value.value.id} - given_names(statement) if taken else set()


def neighbour(statement: ast.stmt) -> bool:
    """`return images[i], labels[i + 1]`: one and the same index, once moved."""
    taken = [n.slice for n in inside(statement) if isinstance(n, ast.Subscript)]
    plain = {s.id for s in taken if isinstance(s, ast.Name)}
    moved = [s.left for s in taken if isinstance(s, ast.BinOp) and isinstance(s.op, (ast.Add, ast.Sub)) and isinstance(s.right, ast.Constant)]
    return any(isinstance(m, ast.Name) and m.id in plain for m in moved)


def deals_out(source: Source, statement: ast.stmt) -> bool:
    """`data = Split(x, y, 0.25)`: the script's own class or function draws an order and cuts it."""
    own = [made for n in inside(statement) if isinstance(n, ast.Call) for made in source.defined.get(called(n), ())]
    return any(
        any(isinstance(n, ast.Call) and called(n) in DRAWING for n in ast.walk(made))
        and any(isinstance(n, ast.Slice) and (n.lower is None) != (n.upper is None) for n in ast.walk(made))
        for made in own
    )


def filters(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.comprehension) and n.ifs for n in inside(statement))


def doubles(statement: ast.stmt, others: Sequence[ast.stmt] = ()) -> bool:
    """`np.concatenate([x, x])`, `torch.cat([x, x[rare]])`, `np.vstack([x] + [x[rare]] * 5)`; with `more = x[rare]` among the others, `np.vstack([x, more])`."""
    for node in inside(statement):
        if isinstance(node, ast.Call) and called(node) in JOINING and node.args:
            parts = list(_parts(node.args[0]))
            roots = [ast.unparse(e).partition("[")[0] for e in parts]
            if len(set(roots)) < len(roots) or any(
                _made_of(e, set(roots) - {r}, [s for s in others if s is not statement]) for e, r in zip(parts, roots, strict=True)
            ):
                return True
    return False


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """What a list holds that is written as `[a] + [b] * 3`: one that is multiplied is there twice."""
    if isinstance(node, (ast.List, ast.Tuple)):
        yield from node.elts
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _parts(node.left)
        yield from _parts(node.right)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for _ in range(2):
            yield from _parts(node.left)
            yield from _parts(node.right)


def _made_of(part: ast.expr, whole: set[str], others: Sequence[ast.stmt]) -> bool:
    """Whether a part of a sum is made of another part of it."""
    made = [s for s in others if isinstance(s, ast.Assign) and isinstance(part, ast.Name) and part.id in given_names(s)]
    return any(named_in(s.value) & whole and not given_names(s) & whole for s in made)


def named_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def given_names(statement: ast.stmt) -> set[str]:
    """The names that an assignment gives."""
    return {name for t in statement.targets for name in named_in(t)} if isinstance(statement, ast.Assign) else set()


def returns_to_itself(statement: ast.Assign) -> bool:
    return bool(named_in(statement.value) & given_names(statement))


def only_loads(statement: ast.Assign) -> bool:
    """`val_loader = DataLoader(val_set, ...)`"""
    value = statement.value
    return isinstance(value, ast.Call) and called(value) == "DataLoader" and bool(value.args) and isinstance(value.args[0], ast.Name)


def slices(statement: ast.stmt) -> bool:
    """`x[i : i + size]`"""
    return any(isinstance(n, ast.Slice) and n.lower is not None and n.upper is not None for n in inside(statement))


def alters(source: Source, statement: ast.Expr) -> bool:
    """`normalise(data)`: a function of the script's own that changes what it is given; `data.sub_(mean)`, `np.random.shuffle(data)`."""
    call = statement.value
    if not isinstance(call, ast.Call):
        return False
    if called(call) in INPLACE or (called(call).endswith("_") and not called(call).endswith("__")):
        return True
    own = [made for made in source.defined.get(called(call), ()) if isinstance(made, ast.FunctionDef)]
    return any(_sets_part_of(f, f.args.args[0].arg) for f in own if f.args.args and f.args.args[0].arg != "self")


def _sets_part_of(function: ast.FunctionDef, name: str) -> bool:
    """`data.x = ...` or `data[i] = ...`"""
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        if any(isinstance(t, (ast.Attribute, ast.Subscript)) and root(t) == name for t in targets):
            return True
    return False


def counted_up(source: Source, loop: ast.stmt) -> ast.stmt | None:
    """Behind `for x, y in batches(...)`: the loop of that generator, if it counts up, cuts slices and draws no order."""
    call = loop.iter if isinstance(loop, ast.For) else None
    made = [f for f in source.defined.get(called(call), ()) if isinstance(f, ast.FunctionDef)] if isinstance(call, ast.Call) else []
    for function in made[:1]:
        given = [n for n in ast.walk(function) if isinstance(n, ast.Yield)]
        loops = source.loops(given[0]) if len(given) == 1 else []
        counts = bool(loops) and isinstance(loops[0], ast.For) and calls(loops[0], frozenset({"range"}))
        if counts and any(slices(s) for s in loops[0].body) and not calls(function, DRAWING):
            return loops[0]
    return None
