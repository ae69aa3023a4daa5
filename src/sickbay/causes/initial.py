"""The weights as training found them: what the causes about initialisation share."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sickbay.facts import LinearMap, Parameter, Weight
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.bindings import bound
from sickbay.script.by_hand import MAKERS, made_at
from sickbay.script.fixing import Source, called, keyword, receiver, source_at, sources
from sickbay.script.guesses import guess
from sickbay.signs.curves import Curve, end, smooth, start
from sickbay.signs.losses import chance_loss, judged_losses, training_losses

DRAWS = frozenset("normal_ uniform_ random_ exponential_ log_normal_ cauchy_ mul_ div_ copy_".split())
CONSTANTS = frozenset("fill_ zero_ mul_ copy_".split())
"""Methods that overwrite or rescale a tensor in place."""
RECURRENT = ("LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell")
OUTPUTS = frozenset("cross_entropy log_softmax softmax mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits nll_loss".split())


@dataclass(frozen=True)
class Start:
    """One weight with its work in the forward pass."""

    weight: Weight
    map: LinearMap
    parameter: Parameter

    @property
    def gain(self) -> float:
        """How much it scales an input of independent values: torch's own layers start at 0.58, Xavier's at 1, He's at 1.41."""
        return self.weight.rms * math.sqrt(max(self.map.fan_in, 1))

    @property
    def normalised(self) -> bool:
        """A normalisation follows, which undoes any scale."""
        return any("norm" in op for op in self.map.followed_by)

    @property
    def on_a_branch(self) -> bool:
        """Its result is added to what went around it, or multiplied with something: its scale is not the signal's."""
        return bool(set(self.map.followed_by) & {"add", "iadd", "radd", "mul", "rmul", "sub"})

    @property
    def is_output(self) -> bool:
        return bool(set(self.map.followed_by) & OUTPUTS) or not self.map.followed_by


BLOWN_UP = 10.0
"""A bad start costs its highest loss first; ten times that a step later is the update's work."""


def starts(record: Record) -> list[Start]:
    """The trainable weights that make up the model, in the order of the forward pass, with fresh values (not loaded)."""
    weights = {w.name: w for w in record.facts.weights}
    parameters = {p.name: p for p in record.facts.parameters}
    found: dict[str, Start] = {}
    for loss in record.facts.losses:
        for m in loss.linear_maps:
            weight, parameter = weights.get(m.parameter), parameters.get(m.parameter)
            if weight is not None and parameter is not None and m.trainable and not parameter.loaded and not _blown_up_by(record, weight):
                found.setdefault(m.parameter, Start(weight, m, parameter))
    return list(found.values())


def _blown_up_by(record: Record, weight: Weight) -> bool:
    """A tensor outside any module is first seen a step or two late: if the loss has exploded by then, these are not its first values."""
    if not weight.step:
        return False
    curves = [c for c, _ in training_losses(record) if len(c) and c.steps[0] < weight.step]
    values = [(float(c.values[0]), float(np.max(np.abs(c.values[c.steps <= weight.step])))) for c in curves]
    return any(highest > BLOWN_UP * abs(first) for first, highest in values)


# -- what it did to the loss ------------------------------------------------------------------------------------------


def guessing(record: Record) -> tuple[Curve, float] | None:
    """The training loss that can be compared with guessing, and what that costs: the labels' entropy, or the targets' mean square (guessing 0)."""
    for c, loss in judged_losses(record):
        for head in loss.heads if loss is not None and len(loss.heads) == 1 else ():
            if (chance := chance_loss(record, head)) is not None:
                return c, chance
            first = next((f for f in record.facts.first_losses if f.function == head.function), None)
            if head.function == "mse_loss" and first is not None and head.reduction == "mean" and first.target_rms > 0:
                return c, first.target_rms**2
    return None


def solved(record: Record, share: float) -> bool:
    """A training loss that ends at this share of its start or below: whatever was odd did not stop it."""
    return any(end(c).value < share * start(c).value for c, _ in judged_losses(record) if len(c))


def steps_to(c: Curve, level: float) -> int | None:
    """After how many steps the loss was at that level, the mean over a few steps; None if it never was."""
    below = np.flatnonzero(smooth(c.values, 5) <= level)
    return int(c.steps[below[0]]) if len(below) else None


def signal(chosen: Sequence[Start]) -> float | None:
    """How much what the last of these weights gives on the first steps varies from sample to sample, over the same of the first."""
    sizes = [s.weight.signal for s in chosen if s.weight.signal is not None]
    return sizes[-1] / sizes[0] if len(sizes) >= 2 and sizes[0] > 0 else None


# -- where it was written ---------------------------------------------------------------------------------------------


def init_place(record: Record, weight: Weight) -> Place | None:
    """The line that gave the weight its values, as far as it can be found; else the line that made its layer."""
    if weight.set_by_user and weight.set_at is not None:
        return _worked_out(record, weight.set_at) or weight.set_at
    if not weight.layer_kind and (made := made_at(record)) is not None:
        return made
    for find in (_assigned, _filled):
        if (place := find(record, weight)) is not None:
            return _worked_out(record, place) or place
    return weight.built_at or weight.set_at


@guess
def _worked_out(record: Record, place: Place) -> Place | None:
    """`bound = (6 / n) ** 0.5 / 30` before `w.uniform_(-bound, bound)`: the line of the formula, if there is one in the same function."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if source is None or statement is None or not isinstance(call, ast.Call) or called(call) not in DRAWS or not isinstance(call.func, ast.Attribute):
        return None
    if ast.unparse(call.func.value).endswith("init"):  # the fix is made in this very call
        return None
    names = {n.id for a in (*call.args, *(k.value for k in call.keywords)) for n in ast.walk(a) if isinstance(n, ast.Name)}
    formulas = [
        s for name in names for s, value, _ in bound(name, source.function(statement)) if s is not None and isinstance(value, (ast.BinOp, ast.IfExp))
    ]
    return replace(source.place(formulas[0].lineno), guess=True) if len(formulas) == 1 else None


def _one(places: list[Place]) -> Place | None:
    return places[0] if len({(p.file, p.line) for p in places}) == 1 else None


def _assigned(record: Record, weight: Weight) -> Place | None:
    """`W1 = torch.randn(...)` or `self.W = nn.Parameter(...)`: a tensor of the user's own."""
    name = weight.name.rpartition(".")[2].partition("[")[0]
    if not name or name in ("weight", "bias"):
        return None
    found = [
        source.place(node.lineno)
        for source in sources(record)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and any(_names(t, name) for t in node.targets) and _makes_numbers(node.value)
    ]
    return _one(found)


def _names(target: ast.expr, name: str) -> bool:
    return (isinstance(target, ast.Name) and target.id == name) or (isinstance(target, ast.Attribute) and target.attr == name)


def _makes_numbers(value: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and (called(n) in MAKERS or called(n) == "Parameter") for n in ast.walk(value))


def _filled(record: Record, weight: Weight) -> Place | None:
    """The one line of the script that fills or rescales tensors in place in this way, outside of any training step."""
    methods = CONSTANTS if 1 in weight.distinct else DRAWS
    found = [
        (source, node)
        for source in sources(record)
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign))
        and _fills(node, methods)
        and not _updates(source, node)
        and not _fills_another(node, weight)
    ]
    # of several, the one in the branch for layers of this kind: `elif isinstance(m, nn.Conv2d):`
    meant = [(source, node) for source, node in found if len(found) > 1 and weight.layer_kind and _for_kind(source, node, weight.layer_kind)]
    return _one([source.place(node.lineno) for source, node in meant or found])


def _fills_another(node: ast.stmt, weight: Weight) -> bool:
    """`nn.init.normal_(self.position.weight)` for the weight of `self.token`: it names the layers that it fills, and this is none of them."""
    named = [
        n.value.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute)
        and n.attr in ("weight", "bias")
        and isinstance(n.value, ast.Attribute)
        and ast.unparse(n.value.value) == "self"
    ]
    return bool(named) and not set(named) & set(weight.name.split("."))


def _for_kind(source: Source, node: ast.stmt, kind: str) -> bool:
    branches = [a for a in source.ancestors(node) if isinstance(a, ast.If)][:1]
    tested = {
        n.attr if isinstance(n, ast.Attribute) else n.id for a in branches for n in ast.walk(a.test) if isinstance(n, (ast.Attribute, ast.Name))
    }
    inside = any(node is n for a in branches for s in a.body for n in ast.walk(s))
    return inside and kind in tested and "bias" not in ast.unparse(node)


def _updates(source: Source, node: ast.stmt) -> bool:
    """A training step by hand: it uses gradients, or stands in a loop that computes them."""
    return "grad" in ast.unparse(node) or any(source.calls("backward", "grad", within=loop) for loop in source.loops(node))


def _fills(node: ast.Expr | ast.Assign | ast.AugAssign, methods: frozenset[str]) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, (ast.Mult, ast.Div)) and isinstance(node.target, ast.Attribute) and node.target.attr in ("data", "weight")
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        return isinstance(target, ast.Attribute) and target.attr == "data" and _makes_numbers(node.value)
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and called(n) in methods for n in ast.walk(node))


# -- how to do better -------------------------------------------------------------------------------------------------


def rescaled(record: Record, place: Place | None) -> str:
    """The diff that draws by the number of inputs: `nn.init.normal_(w)` becomes `kaiming_normal_`, `torch.randn(a, b)` (or zeros) is divided by sqrt(a)."""
    source = source_at(record, place)
    if source is None or place is None:
        return ""
    names = ("normal_", "uniform_", "trunc_normal_", "constant_", "zeros_", "ones_")
    calls = [c for c in source.calls(*names, line=place.line) if c.args and source.segment(c.args[0]).endswith("weight")]
    owner = source.segment(calls[0].func).rpartition(".")[0] if len(calls) == 1 else ""
    if owner.endswith("init"):
        name = "kaiming_uniform_" if called(calls[0]) == "uniform_" else "kaiming_normal_"
        return source.diff(source.replacing(calls[0], f"{owner}.{name}({source.segment(calls[0].args[0])})"))
    made = ("randn", "zeros", "ones")
    drawn = [c for c in source.calls(*made, line=place.line) if len(c.args) == 2 and not isinstance(source.parents.get(c), ast.BinOp)]
    return source.diff(source.replacing(drawn[0], _by_inputs(source, drawn[0]))) if len(drawn) == 1 else ""


def _by_inputs(source: Source, made: ast.Call) -> str:
    """`torch.randn(a, b) / a ** 0.5`: a leaf still, if it was one."""
    owner = receiver(made)
    sizes = ", ".join(source.segment(a) for a in made.args)
    inputs = source.segment(made.args[0])
    inputs = inputs if isinstance(made.args[0], (ast.Name, ast.Constant, ast.Attribute)) else f"({inputs})"
    rest = [f"{k.arg}={source.segment(k.value)}" for k in made.keywords if k.arg != "requires_grad"]
    drawn = f"{source.segment(owner) + '.' if owner is not None else ''}randn({', '.join([sizes, *rest])}) / {inputs} ** 0.5"
    return f"({drawn}).requires_grad_()" if keyword(made, "requires_grad") is not None else drawn
