"""Linear layers follow each other with nothing in between.

## What happens

Two linear maps in a row are one linear map. Without an activation between them a stack of layers, however deep and wide, can only draw straight
lines: it costs the memory and time of a deep net and fits like a linear model.

## How we know

Proof, from the operations of the forward pass: what goes into a weight is an affine function of what an earlier weight gave (only reshaping, biases,
dropout, pooling by mean or batch norm between them). That alone is common and harmless at one spot, so it counts only if *every* link between the
weights of the model is of this kind, or most of them, and the loss is not solved.

## Looks like it but is not

- Two factors of one matrix on purpose: a bottleneck narrower than both sides (low rank, LoRA, the code of an autoencoder).
- Depthwise and pointwise convolutions, which together make one convolution; an upsampling convolution before another.
- Queries, keys and values, projections around attention, residual streams: what lies between them is not linear. (Sums around blocks in which nothing
  bends are: there every layer's input is an affine function of the model's.)
- A single pair of linear layers in a net with activations elsewhere.
- Linear models on purpose: the script says so.

## Fix

Put an activation between the layers.

## References

- Goodfellow, Bengio, Courville 2016, section 6.1: why a feedforward network needs a nonlinear function in its hidden layer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sickbay.causes.evidence import first_place, from_sign, hint, located, proof, strong, times
from sickbay.causes.initial import solved
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.facts import LinearMap
from sickbay.nouns import Evidence, Fix, Sign
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, mend, source_at
from sickbay.script.thrown_away import thrown_away
from sickbay.signs import Signs

SEVERAL = 2
SOLVED = 0.05
"""A loss that ends at a twentieth of its start: the task was linear enough."""
MINIMUM_STEPS = 20
BENDS = frozenset(
    "relu relu6 leaky_relu elu selu celu gelu silu mish sigmoid tanh softplus softsign hardtanh hardsigmoid hardswish prelu rrelu glu sin cos "
    "clamp exp abs square pow max maximum sqrt logsigmoid".split()
)
ACTIVATIONS = BENDS | {"act", "activation"}
ON_PURPOSE = re.compile(r"class \w*Linear\w*\(|(deep|purely|two-layer|factori[sz]ed)[- ]linear|linear (auto-?encoder|network|model|net\b|probe)|"
                        r"(no|without) (any )?(activation|non-?linear)|low[- _]rank", re.IGNORECASE)  # fmt: skip


@cause(
    code="A210",
    level="architecture",
    title="no activation between linear layers",
    why="Linear maps in a row are one linear map: however deep and wide the stack is, it fits like a linear model.",
    explains={"flat-loss", "slow-descent", "early-plateau", "chance-level", "val-flat-from-start", "lr-too-low", "under-capacity"},
    cure="insert-relu",
)
def missing_nonlinearity(record: Record, signs: Signs) -> Iterator[Evidence]:
    if record.facts.run.steps < MINIMUM_STEPS or _on_purpose(record) or solved(record, SOLVED):
        return
    for loss in record.facts.losses:
        maps = [m for m in loss.linear_maps if m.trainable]
        pairs = _pairs(maps)
        if not pairs:
            continue
        bare, bent = {first.parameter for first, _ in pairs}, [m for m in maps if set(m.followed_by) & BENDS]
        whole = not bent and all(m.follows or m.affine for m in maps if m.after_map)
        first, second = pairs[0]
        if whole or (len(bare) >= SEVERAL and len(bare) > len(bent)):
            reach = f"in the whole model, from {maps[0].parameter} to {maps[-1].parameter}, nothing bends the values" if whole else _most(bare, bent)
            unused = thrown_away(source_at(record, first.place), first.place, ACTIVATIONS)
            told = f"; the result of `{unused[0].text}`{located(unused[0].place)} is thrown away" if unused is not None else ""
            yield proof(
                f"{first.parameter} feeds {second.parameter}{located(second.place)} with no activation in between; {reach}{told}",
                replace(unused[0].place, layer=first.place.layer) if unused is not None and first.place is not None else first.place,
                maps=len(maps),
                pairs=len(pairs),
            )
            yield from (from_sign("hint", s) for s in _trouble(signs))
            return
        if not bent and first.outputs > max(first.inputs, second.outputs) and (trouble := _trouble(signs)):
            yield strong(
                f"{first.parameter} widens {first.inputs} values to {first.outputs} and {second.parameter}{located(second.place)} narrows them to "
                f"{second.outputs} with no activation in between, nor anywhere else",
                first.place,
            )
            yield hint(trouble[0].text)
            return


def _trouble(signs: Signs) -> list[Sign]:
    found = stuck(signs)
    return [found] if found is not None else list(signs.named("early-plateau"))[:1]


def _most(bare: set[str], bent: list[LinearMap]) -> str:
    return f"so it is behind {times(len(bare), 'layer')} of {len(bare) + len(bent)}"


def _pairs(maps: Sequence[LinearMap]) -> list[tuple[LinearMap, LinearMap]]:
    """Maps that could be one, in forward order; those that are two on purpose left out."""
    by_name = {m.parameter: m for m in maps}
    found = []
    for second in maps:
        for name in second.follows:
            first = by_name.get(name)
            if first is not None and not _on_purpose_two(first, second):
                found.append((first, second))
    return found


def _on_purpose_two(first: LinearMap, second: LinearMap) -> bool:
    narrow = first.outputs < first.inputs and first.outputs < second.outputs
    return narrow or first.grouped or second.grouped or "transpose" in first.op or "transpose" in second.op


def _on_purpose(record: Record) -> bool:
    return any(ON_PURPOSE.search(text) for text in record.sources.values())


def _in_a_list(source: Source, call: ast.Call) -> bool:
    """In `nn.Sequential(...)` or `[...]`, where another layer can stand beside it."""
    parent = source.parents.get(call)
    return isinstance(parent, ast.List) or (isinstance(parent, ast.Call) and called(parent) == "Sequential")


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = first_place(evidence)
    source = source_at(record, place)
    layer = (place.layer or "").rpartition(".")[2] if place is not None else ""
    if (unused := thrown_away(source, place, ACTIVATIONS)) is not None:
        kept = unused[0].source.diff(*(u.source.replacing(u.call, f"{u.name} = {u.text}") for u in unused))
        return mend("keep the result of the activation", kept, f"{unused[0].name} = {unused[0].text}")
    diff = ""
    if source is not None and place is not None:
        calls = [c for c in source.calls(line=place.line) if layer and called(c) == layer and not isinstance(source.parents.get(c), ast.BinOp)]
        made = [c for c in source.calls("Linear", "Conv1d", "Conv2d", "Conv3d", line=place.line) if _in_a_list(source, c)]
        if len(calls) == 1:
            diff = source.diff(source.replacing(calls[0], f"torch.relu({source.segment(calls[0])})"))
        elif len(made) == 1 and not calls:
            owner = source.segment(made[0].func).rpartition(".")[0]
            diff = source.diff(source.replacing(made[0], f"{source.segment(made[0])}, {owner + '.' if owner else ''}ReLU()"))
    return mend("put an activation between the layers", diff, "x = torch.relu(self.first(x))\nx = self.second(x)", "consent")
