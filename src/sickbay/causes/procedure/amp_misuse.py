"""Half precision is used in a way that loses gradients or updates.

## What happens

Numbers of half precision (float16) end at 65504 and become zero below 6e-8. Small gradients vanish unless the loss is multiplied up first, and whatever
looks at the gradients then (clipping, the optimizer) has to see them divided again. And weights that are themselves of half precision
(`model.half()`, bfloat16 with its three digits) cannot take steps smaller than their spacing: the update is rounded away.

## How we know

Proof by the order of calls: clipping or stepping on gradients that are still scaled; `scaler.step()` after a backward that was never scaled, or where one of several losses was not; a scaler
that skips most steps because it keeps finding infinities. Proof by the numbers themselves: float16 without a scaler where most gradients are exactly
zero and the rest below the smallest normal number (6e-5). Likely where that befalls only some layers (a branch whose loss has a small weight or many
elements): from early on their gradients are zero or a few of the smallest steps of float16. Proof again: the first operation that is not finite is one in float16 whose values would fit float32, or
whose guard (`+ 1e-8`) rounds to zero there; half-precision weights that most steps leave as they were, bit by bit, although their gradient
is not zero.

## Looks like it but is not

- bfloat16 autocast with float32 weights: needs no scaler.
- The first few skipped steps while the scaler looks for its scale.
- float16 autocast without a scaler where gradients are large enough: risky, but nothing is lost yet.
- Gradients that are gone at the end of a run that has learned everything: of a branch, the first half of the looks must show it, too.
- A scaler that is switched off (`enabled=False`), as on a machine without a GPU.
- Steps skipped because the data or the loss themselves are not finite.

## Fix

`scaler.scale(loss).backward()`, `scaler.unscale_(optimizer)`, clip, `scaler.step(optimizer)`, `scaler.update()`; weights in float32 with autocast around the
forward pass; or bfloat16 autocast and no scaler.

## References

- https://docs.pytorch.org/docs/stable/notes/amp_examples.html
- Micikevicius et al. 2018 (mixed precision training): float32 master weights and loss scaling.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import from_sign, listed, located, proof, strong
from sickbay.causes.nonfinite import in_half, incidents, lost_guard
from sickbay.causes.rates import main_optimizer
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.facts import Precision
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import called, mend, receiver, source_at
from sickbay.script.moving import statement_at
from sickbay.script.naming import constructor, optimizer_name
from sickbay.signs import Signs

MINIMUM = 3
NEARLY_ALL = 0.9
COLLAPSED = 0.5
"""A scaler in good order skips about one step in two thousand (its growth interval); in the second half of a run, half of them is a collapse."""
ENOUGH_STEPS = 20
COARSE_LOOKS = 8
"""Looks at the gradients, half of them in the first half: fewer do not tell a branch that is lost from one that has just learned its part."""
GONE = 0.5
"""Half of all gradient elements exactly zero. Dead units and unused rows give zeros too, so the rest must also be tiny."""
TINY = 0.9
LOST = 0.9
"""Nine in ten elements that have a gradient do not move by a single bit. In healthy bfloat16 training most do."""
OFTEN_LOST = 0.5
MISTAKES = {
    "step() has already been called since the last update()": "scaler.update() is missing: scaler.step() ran twice without it",
    "unscale_() has already been called": "scaler.unscale_() runs twice on the same gradients",
    "Attempted step but _scale is None": "scaler.step() is used, but no loss was ever scaled with scaler.scale(loss)",
    "Attempting to unscale FP16 gradients": "the weights themselves are float16, so the scaler has nothing to unscale into",
}


@cause(
    code="P318",
    level="procedure",
    title="half precision loses gradients or updates",
    why="Values that are too small (or too large) for half precision become zero or infinite, so parts of each step are lost or wrong.",
    explains={
        "flat-loss", "slow-descent", "early-plateau", "chance-level", "small-gradients", "gradient-decay-with-depth", "vanishing-gradient", "update-ratio-low", "lr-too-low",
        "nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "val-flat-from-start", "diverging-loss", "update-ratio-high", "lr-too-high", "gradient-spike", "loss-spikes",
        "clipping-too-tight", "dead-units", "dead-relu", "oscillating-loss",
    },
    cure="fp32",
)  # fmt: skip
def amp_misuse(record: Record, signs: Signs) -> Iterator[Evidence]:
    p = record.facts.precision
    yield from _crashed(record)
    yield from _order(record, p)
    yield from _collapse(record, p)
    yield from _overflow(record)
    yield from _underflow(record, p, signs)
    yield from _lost_updates(record, p, signs)


def _crashed(record: Record) -> Iterator[Evidence]:
    crash = record.facts.crash
    for message, meaning in MISTAKES.items():
        if crash is not None and message in crash.message:
            yield proof(f"{meaning} (the script stopped with {crash.kind}{located(crash.place)})", crash.place)


def _order(record: Record, p: Precision) -> Iterator[Evidence]:
    scale = p.first_scale or p.last_scale
    by = f" by {scale:g}" if scale else ""
    if scale is not None and scale <= 1:
        return
    if p.clips_scaled >= MINIMUM:
        limit = next((c.limit for c in record.facts.clippings if c.place == p.clip_at), None)
        acts = f": a limit of {limit:g} acts as {limit / scale:.2g}" if limit and scale else ""
        yield proof(
            f"gradients are clipped{located(p.clip_at)} while they are still multiplied{by}, on {p.clips_scaled:,} steps{acts}",
            p.clip_at,
            steps_seen=p.clips_scaled,
        )
    if p.raw_steps >= MINIMUM:
        yield proof(
            f"the optimizer steps{located(p.raw_at)} on gradients that are still multiplied{by}, on {p.raw_steps:,} steps: scaler.step() is not used",
            p.raw_at,
            steps_seen=p.raw_steps,
        )
    if p.scaler_steps >= MINIMUM and p.plain_backwards >= NEARLY_ALL * (p.plain_backwards + p.scaled_backwards):
        yield proof(
            f"scaler.step() divides the gradients{by}, but backward{located(p.plain_at)} ran on a loss that was never scaled ({p.plain_backwards:,} times)",
            p.plain_at,
            backwards=p.plain_backwards,
        )
    elif p.mixed_steps >= MINIMUM and not _scaled_by_hand(record, p.mixed_at):
        yield proof(
            f"scaler.step() divides all gradients{by}, but one of the losses that they come from{located(p.mixed_at)} was never scaled: "
            f"its part is lost (seen on each of {p.mixed_steps:,} steps)",
            p.mixed_at,
            steps_seen=p.mixed_steps,
        )


def _scaled_by_hand(record: Record, place: Place | None) -> bool:
    """The script asks the scaler for its scale, to multiply with it itself."""
    source = source_at(record, place)
    return source is not None and bool(source.calls("get_scale"))


def _collapse(record: Record, p: Precision) -> Iterator[Evidence]:
    late = p.scaler_steps - p.scaler_steps // 2
    if p.scaler_steps < ENOUGH_STEPS or p.skipped_late < COLLAPSED * late or record.facts.nonfinite:
        return
    fell = f"; the scale fell from {p.first_scale:g} to {p.last_scale:.3g}" if p.first_scale and p.last_scale is not None else ""
    place = record.facts.timeline.places.get("scaler_step")
    yield proof(
        f"the scaler skipped {p.skipped:,} of {p.scaler_steps:,} steps because gradients were not finite, {p.skipped_late:,} of the last {late:,}{fell}",
        place,
        skipped=p.skipped,
        scaler_steps=p.scaler_steps,
    )


def _overflow(record: Record) -> Iterator[Evidence]:
    """The first operation that is not finite is so only in float16."""
    for loss in record.facts.losses:
        for first in loss.invalid:
            name = f"`{first.call}`" if first.call else first.op
            went_in = (
                f", given values from {first.lowest:.3g} to {first.highest:.3g}" if first.lowest is not None and first.highest is not None else ""
            )
            if in_half(first):
                text = f"{name}{located(first.place)} is computed in float16, which ends at 65504, and overflows at step {first.step}{went_in}; in float32 the result is finite"
                yield proof(text, first.place, (first.step, first.step))
            elif lost_guard(loss, first) is not None:
                text = (
                    f"{name}{located(first.place)} is computed in float16, where the small constant that should keep it from the edge is zero (the smallest is 6e-8): "
                    f"it is the first operation that is not finite, at step {first.step}{went_in}"
                )
                yield proof(text, first.place, (first.step, first.step))


def _underflow(record: Record, p: Precision, signs: Signs) -> Iterator[Evidence]:
    half = p.autocast == "float16" or p.weights == "float16"
    if not half or p.scaler:
        return
    what = f"the forward pass is computed in float16{located(p.autocast_at)}" if p.autocast else "the model is float16"
    place = p.plain_at if p.autocast else _cast(record, p)
    if p.looks >= MINIMUM and p.zero_share is not None and p.tiny_share is not None and p.zero_share >= GONE and p.tiny_share >= TINY:
        others = f", and {p.tiny_share:.0%} of the others are below 6e-5, the smallest normal number of float16" if p.zero_share < 1 else ""
        yield proof(
            f"{what} and nothing scales the loss up before backward{located(p.plain_at)}: {p.zero_share:.0%} of the gradients are exactly zero{others}",
            place,
            zero_share=p.zero_share,
            tiny_share=p.tiny_share,
        )
    elif p.coarse and p.looks >= COARSE_LOOKS:
        yield strong(
            f"{what} and nothing scales the loss up before backward{located(p.plain_at)}: most gradients of {listed(p.coarse)} are zero or within "
            "eight of the smallest steps of float16 (6e-8) from early on: they are little more than rounding",
            place,
            layers=len(p.coarse),
        )
    for sign in signs.named("nonfinite-loss", "nonfinite-gradient")[:1]:
        if p.epsilon is not None:
            yield proof(
                f"{what}, where the optimizer's epsilon of {p.epsilon:g} is exactly zero, so that it divides by zero; {sign.text}", place, sign.steps
            )
        else:
            yield strong(f"{what} and nothing scales the loss, and {sign.text}", place, sign.steps)


def _lost_updates(record: Record, p: Precision, signs: Signs) -> Iterator[Evidence]:
    if not p.weights or p.lost_share is None or p.looks < MINIMUM:
        return
    place = _cast(record, p)
    text = f"the weights are {p.weights}{located(place)}: {p.lost_share:.0%} of those with a gradient are left as they were by a step, because it is smaller than their spacing"
    trouble = stuck(signs)
    if p.lost_share >= LOST:
        yield proof(text, place, lost_share=p.lost_share)
    elif p.lost_share >= OFTEN_LOST and trouble is not None:
        yield strong(text, place, lost_share=p.lost_share)
        yield from_sign("hint", trouble)


def _cast(record: Record, p: Precision) -> Place | None:
    """The line that makes the model a half-precision one (`.half()`, `.to(torch.bfloat16)`, `.to(DTYPE)`); where the optimizer is built if none is found."""
    optimizer = main_optimizer(record)
    built = constructor(record, optimizer) if optimizer is not None else None
    if built is None:
        return optimizer.built_at if optimizer is not None else None
    source, call = built
    words = {"float16": {"half", "float16"}, "bfloat16": {"bfloat16"}}.get(p.weights, set())
    words |= {
        t.id for n in ast.walk(source.tree) if isinstance(n, ast.Assign) and _mentions(n.value, words) for t in n.targets if isinstance(t, ast.Name)
    }
    held = [receiver(c) for c in source.calls("parameters", within=call)]
    models = {source.segment(owner).rpartition(".")[2] for owner in held if owner is not None}
    for cast in source.calls("half", "bfloat16", "to", "type"):
        owner = receiver(cast)
        if owner is None or not (called(cast) in words or any(_mentions(a, words) for a in [*cast.args, *(k.value for k in cast.keywords)])):
            continue
        around = next((a for a in source.ancestors(cast) if isinstance(a, ast.Assign)), None)
        targets = {ast.unparse(t).rpartition(".")[2] for t in around.targets} if around is not None and around.value is cast else set()
        if source.segment(owner).rpartition(".")[2] in models or targets & models:
            return source.place(cast.lineno)
    return optimizer.built_at if optimizer is not None else None


def _mentions(node: ast.AST, words: set[str]) -> bool:
    return any((isinstance(n, ast.Attribute) and n.attr in words) or (isinstance(n, ast.Name) and n.id in words) for n in ast.walk(node))


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    p = record.facts.precision
    optimizer = main_optimizer(record)
    name = optimizer_name(record, optimizer) if optimizer is not None else "optimizer"
    if p.clips_scaled >= MINIMUM:
        return mend(
            "unscale the gradients before clipping them", _unscaled(record, p.clip_at, name), f"scaler.unscale_({name})\nclip_grad_norm_(...)"
        )
    if any(in_half(i) for i in incidents(record)):
        return Fix(
            "use bfloat16, whose range is that of float32, or keep this operation in float32",
            "with torch.autocast(device_type, dtype=torch.bfloat16):\n    loss = ...",
            "advice",
        )
    if any(lost_guard(x, i) is not None for x in record.facts.losses for i in x.invalid):
        return Fix("compute this operation in float32, or use a constant that float16 can hold (1e-4)", "torch.log(p.float() + 1e-8)", "advice")
    if p.weights:
        return Fix(
            "keep the weights in float32 and use autocast around the forward pass",
            "with torch.autocast(device_type, dtype=torch.bfloat16):\n    loss = ...",
            "advice",
        )
    if p.scaler:
        return Fix(
            "scale the loss, step and update through the scaler", f"scaler.scale(loss).backward()\nscaler.step({name})\nscaler.update()", "advice"
        )
    return Fix(
        "use bfloat16, which needs no scaler, or scale the loss", f"scaler.scale(loss).backward()\nscaler.step({name})\nscaler.update()", "advice"
    )


def _unscaled(record: Record, place: Place | None, name: str) -> str:
    source = source_at(record, place)
    statement = statement_at(source, place) if source is not None else None
    if source is None or statement is None:
        return ""
    owners = [receiver(c) for c in source.calls("scale", "unscale_", "update") if receiver(c) is not None]
    scaler = next((source.segment(o) for o in owners if o is not None and "scal" in source.segment(o).lower()), "")
    return source.diff(source.before(statement, f"{scaler}.unscale_({name})")) if scaler else ""
