"""Signal and gradients grow from layer to layer, or from time step to time step, until they are huge.

## What happens

Each pass through a layer multiplies the signal, and on the way back the gradient. A factor of 1.3 is four thousand after 32 steps of a
recurrent net. The first loss is far too high, the first updates are violent, and the loss jumps, gets stuck or ends as NaN. A smaller learning
rate hides it for a while.

## How we know

In the very first forward pass, before any update, the size of what each line gives is measured every time the line is passed (layers of a loop, time
steps). Growth by fifty and more, at a steady factor, together with a first gradient norm above 100, is strong evidence: no learning rate can have caused
it. So is a gradient that grows a hundredfold from the last layer back to the first in a run that diverges; and, in recurrent nets without clipping, a
gradient norm that jumps by orders of magnitude with the loss.

## Looks like it but is not

- Residual sums of healthy branches grow like the square root of the depth; counters and sums grow in a straight line: no steady factor.
- Large gradients from large inputs, targets or sums over the batch: their signal does not grow on its way.
- Weights that start too large: `init-too-large` speaks of those.
- A learning rate that is too high makes gradients grow after the first updates, not before.

## Fix

Normalisation inside the loop (LayerNorm), a mean instead of a sum over neighbours, smaller residual branches; clipping for recurrent nets.

## References

- Bengio, Simard, Frasconi 1994; Pascanu, Mikolov, Bengio 2013 (clipping); Zhang, Dauphin, Ma 2019, Fixup initialization (residual branches).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.clip_limit import ENOUGH, advise_from
from sickbay.causes.evidence import against, from_sign, hint, located, strong
from sickbay.causes.initial import starts
from sickbay.causes.rates import main_optimizer
from sickbay.causes.registry import cause
from sickbay.facts import SignalGrowth
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, number, source_at
from sickbay.script.naming import optimizer_name
from sickbay.signs import Signs

GROWN = 50.0
"""Fifty residual blocks of unit scale, unnormalised, sum up to seven; plain layers with He weights stay within a few."""
STEADY = 0.3
"""The second half of the passes makes this part of the growth (in orders of magnitude) at least: 0.5 for a steady factor, less than 0.2 for a sum."""
HUGE = 100.0
"""The catalogue's mark: healthy first norms are 0.1 to 10."""
MANY = 16
"""Passes through the same line in one forward pass from which a loop is a recurrence and not a stack of a few layers."""
STEEP = 30.0
"""Three times what is usual for a first gradient, of a run that then blows up."""
EARLY, JUMP = 10, 100.0
"""...within so many steps, and by so much."""
RECURRENT = ("RNN", "RNNCell", "LSTM", "LSTMCell", "GRU", "GRUCell")
LARGE = 3.5
"""Gain of a weight from which `init-too-large` speaks."""


@cause(
    code="A214",
    level="architecture",
    title="gradients explode on their way back",
    why="Each layer or time step multiplies signal and gradient, so the first updates are violent and the loss jumps, gets stuck or ends as NaN.",
    explains={
        "diverging-loss", "oscillating-loss", "loss-spikes", "gradient-spike", "nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "update-ratio-high", "flat-loss",
        "chance-level", "early-plateau", "slow-descent", "dead-units", "saturated-units", "val-flat-from-start", "gradient-growth-with-depth",
        "lr-too-high", "dead-relu", "activation-growth",
    },
    cure="clip=1.0",
)  # fmt: skip
def exploding_gradient(record: Record, signs: Signs) -> Iterator[Evidence]:
    ledger = [*_signal(record), *_depth(signs), *_recurrent(record, signs)] or [*_unrolled(record, signs)]
    if not ledger:
        return
    yield from ledger
    if "clip" in record.facts.timeline.counts:
        yield against("gradients are clipped")
    large = [s.weight.name for s in starts(record) if s.gain > LARGE and not s.normalised]
    if large:
        yield against(f"{large[0]} itself starts far too large, which would explain it")


def _signal(record: Record) -> Iterator[Evidence]:
    """Growth in the first forward pass, and the gradient that came of it."""
    norm = _first_norm(record)
    grown = [g for g in record.facts.probes.growth if _multiplies(g)]
    if not grown or norm is None or norm < HUGE:
        return
    best = max(grown, key=lambda g: g.last / g.first)
    factor = (best.last / best.first) ** (1 / (best.passes - 1))
    yield strong(
        f"before the first update the result of `{best.call or best.op}` grows from {best.first:.2g} to {best.last:.3g} over {best.passes} passes, "
        f"{factor:.3g} times with each",
        best.place,
        (0, 0),
        passes=best.passes,
        first=best.first,
        last=best.last,
        factor=factor,
    )
    yield strong(f"the first gradient has a norm of {norm:.3g}; 0.1 to 10 is usual", steps=(0, 0), norm=norm)


def _multiplies(g: SignalGrowth) -> bool:
    if not (g.first > 0 and g.middle > 0 and g.last > GROWN * g.first and g.last > 1):
        return False
    return math.log(g.last / g.middle) > STEADY * math.log(g.last / g.first)


def _first_norm(record: Record) -> float | None:
    """The gradient norm of the first step; the total over all optimizers."""
    firsts = [float(s.values[0]) for s in record.series_like("grad_norm") if len(s) and s.steps[0] <= 1]
    return max((math.inf if not np.isfinite(v) else v for v in firsts), default=None)


def _depth(signs: Signs) -> Iterator[Evidence]:
    if signs.has("diverging-loss", "nonfinite-loss", "loss-spikes"):
        for sign in signs.named("gradient-growth-with-depth"):
            yield from_sign("strong", sign, Place(layer=sign.where))


def _recurrent(record: Record, signs: Signs) -> Iterator[Evidence]:
    """Gradient and loss jump together in a recurrent net that nobody clips."""
    layers = [x for m in record.facts.models for x in m.layers if x.kind in RECURRENT]
    spikes = signs.named("gradient-spike")
    if layers and spikes and signs.has("loss-spikes", "nonfinite-loss") and not signs.has("update-ratio-high"):
        yield from_sign("strong", spikes[0], Place(layer=layers[0].name))
        yield hint(
            f"{layers[0].name or layers[0].kind} is a recurrent layer ({layers[0].kind}), through which gradients are multiplied at every time step"
        )


def _unrolled(record: Record, signs: Signs) -> Iterator[Evidence]:
    """A recurrence written as a loop: its gradient is large before any update (so no learning rate made it so), and the next ones blow the run up."""
    norms = next((s for s in record.series_like("grad_norm") if len(s) > 1 and s.steps[0] == 0), None)
    loops = [g for g in record.facts.probes.growth if g.passes >= MANY]
    if norms is None or not loops or not signs.has("diverging-loss", "nonfinite-loss") or not norms.values[0] > STEEP:
        return
    early = norms.values[norms.steps < EARLY]
    worst = float(np.max(early[np.isfinite(early)], initial=0.0))
    if worst > JUMP * norms.values[0] or not np.isfinite(early).all():
        loop = loops[0]
        then = f"{worst:.3g}" if worst > norms.values[0] else "not finite"
        yield strong(
            f"the gradient goes back through {loop.passes} passes of `{loop.call or loop.op}`; its norm is {norms.values[0]:.3g} before the first update "
            f"(0.1 to 10 is usual) and {then} within {EARLY} steps, and nothing clips it",
            record.facts.timeline.places.get("backward") or loop.place,
            (0, EARLY),
            passes=loop.passes,
            norm=float(norms.values[0]),
        )
        yield hint(f"each time step multiplies it by the same weights{located(loop.place)}")


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    limit, measured = _limit(record)
    text = f"normalise inside the loop (LayerNorm, a mean instead of a sum, smaller branches); clipping keeps single steps in bounds{measured}"
    optimizer = main_optimizer(record)
    place = optimizer.stepped_at if optimizer is not None else None
    name = optimizer_name(record, optimizer) if optimizer is not None else "optimizer"
    line = f'torch.nn.utils.clip_grad_norm_([p for g in {name}.param_groups for p in g["params"]], {limit})'
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    diff = source.diff(source.before(statement, line)) if source is not None and statement is not None else ""
    return mend(text, diff, f"torch.nn.utils.clip_grad_norm_(model.parameters(), {limit})  # before optimizer.step()", "consent")


def _limit(record: Record) -> tuple[str, str]:
    """Where to clip: among norms that are mostly usual and sometimes huge, above the usual ones; if most are huge, there is nothing to learn from them."""
    norms = record.series("grad_norm").values
    norms = norms[np.isfinite(norms)]
    if len(norms) < ENOUGH or np.median(norms) > HUGE:
        return "1.0", ""
    advice = advise_from(norms, record.facts.run.steps)
    return number(advice.limit), f" ({advice})"
