"""Layers are frozen although their values are random, or although the script means to let them learn.

## What happens

`requires_grad = False`, copied from a fine-tuning recipe, is put on layers whose weights were never loaded: the backbone stays at its random
start, and the trained head has to make do with random features. A name filter may also catch more than was meant
(`startswith("embed")` freezes `embedder` too), and `nn.Embedding.from_pretrained` freezes by default. Or layers were frozen for a while, and the line that should
let them learn again says `backbone.requires_grad = True`: a module has no such switch, and nothing happens.

## How we know

Proof: a frozen weight holds the very numbers that a random initialisation drew in this run, it never changed, and what it computes goes into
layers that are trained. It is a large part of the model, and the loss stays far from solved. Proof, too: a module itself was given `requires_grad = True`, and
all of its parameters are frozen at the end.

## Looks like it but is not

- Fine-tuning: the frozen weights were loaded, copied from elsewhere or trained earlier in the run.
- Target networks, teachers, moving averages: they feed no trained layer, or they move.
- Random features on purpose (reservoirs, extreme learning machines, random projections): the script says so, or the loss is solved all the same.
- An image or a latent code that is optimised through a fixed network.

## Fix

Remove the freezing, or load the weights that it was meant for.

## References

- https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html (freezing belongs to loaded weights)
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html (from_pretrained: freeze=True)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from sickbay.causes.evidence import first_place, hint, listed, located, proof, strong
from sickbay.causes.initial import solved
from sickbay.causes.parameters import optimises_inputs, size
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.facts import Layer, Parameter, Weight
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, called, keyword, mend, source_at, sources
from sickbay.script.guesses import guess
from sickbay.signs import Signs

SWITCH, ALMOST = "requires_grad", 0.85
"""One letter too few or two swapped: 0.92 to 0.96 by difflib's measure; `retain_grad`, a real word, has 0.67."""
SHARE = 0.3
"""A small fixed projection beside a large trained net is no illness; a third of all weights is."""
SOLVED = 0.15
"""A loss that ends at a seventh of its start: random features were good enough, and may be meant."""
MINIMUM_STEPS = 20
ON_PURPOSE = re.compile(
    r"reservoir|echo[- _]?state|extreme[- _]learning|\belm\b|random[- _]?(feature|projection|kitchen|encoder|weight|network|net\b)|lottery|"
    r"fixed[- _]random|untrained|frozen[- _]random|random fourier|linear[- _]prob|hash",
    re.IGNORECASE,
)


@cause(
    code="A209",
    level="architecture",
    title="layers are frozen that should learn",
    why="They never learn, so what is trained behind them has to work with whatever they happen to compute.",
    explains={
        "flat-loss", "slow-descent", "early-plateau", "chance-level", "val-flat-from-start", "update-ratio-low", "lr-too-low", "vanishing-gradient",
        "small-gradients", "gradient-decay-with-depth", "dead-units", "dead-relu", "unused-parameters",
    },
    cure="unfreeze",
)  # fmt: skip
def frozen_parameters(record: Record, signs: Signs) -> Iterator[Evidence]:
    if (switched := _switched(record)) is not None:
        layer, held, place = switched
        yield proof(
            f"`{SWITCH} = True` is set{located(place)} on the module {layer.name or layer.kind} itself, which makes a new attribute of it; its {held:,} values are frozen "
            "to the end",
            place,
            values=held,
        )
        return
    if record.facts.run.steps < MINIMUM_STEPS or optimises_inputs(record) or _on_purpose(record) or solved(record, SOLVED):
        return
    frozen = _frozen(record)
    random = [(p, w) for p, w in frozen if w.drawn and w.feeds_trained]
    trouble = stuck(signs)
    everything = size(p for p in record.facts.parameters if p.in_model and p.called)
    part = size(p for p, _ in random)
    if random and part > SHARE * everything:
        names = list(dict.fromkeys(p.layer or p.name for p, _ in random))
        place, misspelt = _frozen_at(record, [w for _, w in random]), _misspelt(record)
        yield proof(
            f"{part:,} of {everything:,} values are frozen{located(place)} at the numbers that were drawn at random in this run ({listed(names)}), and "
            "feed layers that are trained",
            misspelt or place,
            values=part,
            share=part / everything,
        )
        if misspelt is not None:
            yield hint(f"torch knows no such switch as the one{located(misspelt)}: setting it makes a new attribute, and the weights stay frozen")
    elif trouble is not None and (found := _random_table(record, frozen)) is not None:
        source, call, drawn = found
        place = source.place(call.lineno)
        yield strong(f"`from_pretrained` freezes by default, and what it is given is drawn at random (line {drawn}), not trained", place)
    elif trouble is not None and (head := [w for _, w in frozen if w.drawn and w.fed_by_trained and not w.feeds_trained]):
        yield strong(f"{head[0].name} is frozen at random values behind layers that are trained", _frozen_at(record, head))
    else:
        return
    if trouble is not None:
        yield hint(trouble.text, steps=trouble.steps)


def _switched(record: Record) -> tuple[Layer, int, Place | None] | None:
    """A module that was to learn again and does not: its parameters are all still frozen, and were called."""
    for model, layer in ((m, x) for m in record.facts.models for x in m.layers if x.switched_on):
        below = {x.name for x in model.layers if f"{x.name}.".startswith(f"{layer.name}." if layer.name else "")}
        inside = [p for p in record.facts.parameters if p.in_model and p.layer in below]
        if inside and not any(p.trainable for p in inside) and any(p.called for p in inside):
            return layer, size(inside), _switched_at(record, layer)
    return None


@guess
def _switched_at(record: Record, layer: Layer) -> Place | None:
    """`model.backbone.requires_grad = True`: by the module's own name if there are several."""
    found = [
        (source, node)
        for source in sources(record)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and _is_switch(node.targets[0]) and not _freezes(node)
    ]
    named = [(s, n) for s, n in found if s.segment(n.targets[0]).removesuffix(f".{SWITCH}").rpartition(".")[2] == layer.name.rpartition(".")[2]]
    return next((source.place(node.lineno) for source, node in named or found), None)


def _frozen(record: Record) -> list[tuple[Parameter, Weight]]:
    """Weights that took part in the forward pass and never could learn, with their first values."""
    weights = {w.name: w for w in record.facts.weights}
    return [
        (p, weights[p.name])
        for p in record.facts.parameters
        if not p.trainable
        and p.called
        and p.in_model
        and not p.loaded
        and p.moved is not True
        and p.name in weights
        and not weights[p.name].trainable
    ]


def _on_purpose(record: Record) -> bool:
    return any(ON_PURPOSE.search(text) for text in record.sources.values())


def _frozen_at(record: Record, weights: Sequence[Weight]) -> Place | None:
    """The call that froze them, or the one line of the script that sets requires_grad to False."""
    if (seen := next((w.frozen_at for w in weights if w.frozen_at is not None), None)) is not None:
        return seen
    found = [(source, node) for source in sources(record) for node in ast.walk(source.tree) if _freezes(node)]
    if len(found) == 1:
        source, node = found[0]
        line = getattr(node, "lineno", 1)
        return source.place(line)
    return next((w.built_at for w in weights if w.built_at is not None), None)


def _misspelt(record: Record) -> Place | None:
    """The line that means to unfreeze and does not: `p.require_grad = True`."""
    for source in sources(record):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Assign) and _almost(node.targets[0]):
                return source.place(node.lineno)
    return None


def _almost(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and target.attr != SWITCH and bool(get_close_matches(target.attr, [SWITCH], cutoff=ALMOST))


def _is_switch(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == SWITCH


def _freezes(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        return _is_switch(target) and not (isinstance(node.value, ast.Constant) and node.value.value)
    if isinstance(node, ast.Call) and called(node) == "requires_grad_":
        return bool(node.args or node.keywords) and not any(isinstance(a, ast.Constant) and a.value is True for a in node.args)
    return False


def _random_table(record: Record, frozen: Sequence[tuple[Parameter, Weight]]) -> tuple[Source, ast.Call, int] | None:
    """`Embedding.from_pretrained(table)` with a table that the script draws itself: the call, and the line of the draw."""
    if not any(p.layer_kind == "Embedding" for p, _ in frozen):
        return None
    for source in sources(record):
        for call in source.calls("from_pretrained"):
            if call.args and keyword(call, "freeze") is None and (line := _drawn_at(source, call.args[0])) is not None:
                return source, call, line
    return None


def _drawn_at(source: Source, value: ast.expr) -> int | None:
    if _draws(value):
        return value.lineno
    name = value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else ""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and _draws(node.value):
            for target in node.targets:
                if name and name in (getattr(target, "id", None), getattr(target, "attr", None)):
                    return node.lineno
    return None


def _draws(value: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and called(n) in ("randn", "rand", "normal", "uniform", "randn_like") for n in ast.walk(value))


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = first_place(evidence)
    source = source_at(record, place)
    diff = source.diff(*_edits(source, place.line)) if source is not None and place is not None else ""
    return mend(
        "let these layers learn, or load the weights that the freezing was meant for",
        diff,
        "model.requires_grad_(True)  # before the optimizer is built",
        "consent",
    )


def _edits(source: Source, line: int | None) -> list[Edit]:
    calls = [c for c in source.calls("from_pretrained", line=line) if keyword(c, "freeze") is None and c.args]
    if calls:
        return [source.replacing(c, f"{source.segment(c)[:-1]}, freeze=False)") for c in calls]
    misspelt = [n.targets[0] for n in ast.walk(source.tree) if isinstance(n, ast.Assign) and n.lineno == line and _almost(n.targets[0])]
    if misspelt:
        return [source.replacing(t, f"{source.segment(t.value)}.{SWITCH}") for t in misspelt if isinstance(t, ast.Attribute)]
    if on_module := [
        n for n in ast.walk(source.tree) if isinstance(n, ast.Assign) and n.lineno == line and not _freezes(n) and _is_switch(n.targets[0])
    ]:
        return [source.replacing(n, f"{source.segment(n.targets[0])}_(True)") for n in on_module]
    switches = [n for n in ast.walk(source.tree) if getattr(n, "lineno", 0) == line and isinstance(n, (ast.Assign, ast.Call)) and _freezes(n)]
    values = [n.value if isinstance(n, ast.Assign) else n.args[0] for n in switches if isinstance(n, ast.Assign) or n.args]
    return [source.replacing(v, "True") for v in values if isinstance(v, ast.Constant)]
