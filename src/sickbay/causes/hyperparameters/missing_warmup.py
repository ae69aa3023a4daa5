"""A transformer starts at its full learning rate, and the first steps break it.

## What happens

Adam's first steps are all of full size, whatever the gradients are: there is no history yet to scale them by. In a transformer whose layer norms come after the residual sums
(post-norm) the gradients of the last layers are largest at the start, too. At full rate the first dozen steps then push attention and norms to where hardly any gradient
comes back: the loss stays at guessing, or jumps and needs a long time to return. The same rate, reached over some steps, trains well.

## How we know

All of these together: attention and an adaptive optimizer; the rate is at its peak from step 0; within the first tenth of the run the loss is thrown up or stops to fall, or gradients no longer
reach the lower layers, which they did at step 0, or go from all of them and stay away for two fifths of the run, while the loss stays high, or go that far, come back, and a quarter of the loss is left at the end; the first steps change the weights by more than a hundredth each, and later ones by far less; and the rate itself is not too high: it is below the peak that the schedule of Vaswani et al. would reach for this width with a
warm-up over a tenth of the run. Without norms after the sums it is only a possibility. A run with a warm-up decides.

## Looks like it but is not

- A rate that no warm-up makes good (`lr-too-high`).
- A schedule that warms up already, SGD, models without attention.
- A transformer that cannot learn for another reason: its updates stay as large as they began.

## Fix

Let the rate rise linearly over the first tenth of the steps; or put the norms before attention and feed-forward (`norm_first=True`).

## References

- Vaswani et al. 2017, section 5.3; Xiong et al. 2020, On layer normalization in the transformer architecture.
- Liu et al. 2020, On the variance of the adaptive learning rate and beyond.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.adaptive import rescales
from sickbay.causes.evidence import against, hint, strong
from sickbay.causes.rates import main_optimizer, rate, rate_place
from sickbay.causes.registry import cause
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import called, keyword, mend, number, source_at
from sickbay.script.naming import assigned, optimizer_name
from sickbay.script.scheduled import computed_at
from sickbay.script.written import named_like
from sickbay.signs import Signs
from sickbay.signs.curves import end
from sickbay.signs.layers import nanmedian, weights
from sickbay.signs.losses import judged_losses

EARLY = 0.1
"""The first tenth of the run: as long as warm-ups usually are."""
LARGE = 1e-2
"""Change of the weights by one step, of their size: ten times what is healthy (a thousandth)."""
COLLAPSED = 0.1
"""Later steps change them by less than a tenth of that: the gradients have gone, which they do not when a task is merely hard (measured on post-norm encoders of 6 and 10 layers: 0.6 % and less
without a warm-up, more than a quarter where the run learns)."""
CUT_OFF = 0.1
"""Of what reached the lower half of the layers at step 0, beside what reaches the output: within the first tenth and later on. In 13 recorded runs of transformers 0.03 and less (then 0.0001 and
less) where the first steps broke them, 0.43 and more where they learn or are sick otherwise; a run that is solved loses all its gradients, not the lower ones alone."""
CHOKED, PART, STILL_HIGH, DOWN, MANY_LAYERS = 0.14, 0.4, 0.6, 0.1, 12
"""Of the gradient of the typical layer at step 0, from the first tenth to two fifths of the run, in which six tenths of the first loss are left; a tenth at the end. Three seeds of an encoder of ten
post-norm layers stay at 0.03 to 0.1 (their losses end at 0.2 to 0.74 of the first, with a warm-up at 0.004); in 30 recorded runs of other transformers it is 0.18 and more where the rate starts at
its peak. A dozen weights: the few of a shallow net learn quickly what the output needs, and their gradients fall with it."""
CAME_BACK, NEVER_MADE_GOOD = 2.0, 0.25
"""...or the gradient falls below CHOKED within the first tenth and comes back to at least that and twice as much, but the run ends with a quarter of its first loss, behind norms that come after the sums. Of 34 encoders of 6 to
12 such layers that were trained with a warm-up and without, the typical gradient fell that far in four (0.03 to 0.11, all others 0.24 and more), and these ended 1.3 to 3.2 times as high as with the warm-up; of the others
most ended alike. Many that a warm-up would help do not show it."""
NOT_SOLVED = 0.3
THROWN = 1.5
SHARE_OF_BEGUN = 0.9
FEWEST_STEPS = 50
FEWEST_LAYERS = 6
TINY = 1e-30
WARMUP = re.compile(r"warm ?up", re.IGNORECASE)
BLOCKS = ("TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer")


@cause(
    code="H410",
    level="hyperparameters",
    title="the learning rate starts at its peak, without a warm-up",
    why="The first steps of Adam are as large as any, and a transformer that they break stays at guessing or recovers only slowly.",
    explains={
        "lr-too-high", "vanishing-gradient", "flat-loss", "chance-level", "early-plateau", "slow-descent", "small-gradients", "gradient-decay-with-depth", "update-ratio-high",
        "diverging-loss", "oscillating-loss", "loss-spikes", "gradient-spike", "val-flat-from-start", "dead-units", "dead-relu", "saturated-units", "under-capacity",
        "update-ratio-low", "lr-too-low",
    },
    cure="warmup=10%",
)  # fmt: skip
def missing_warmup(record: Record, signs: Signs) -> Iterator[Evidence]:
    optimizer, lr = main_optimizer(record), rate(record)
    if record.facts.run.steps < FEWEST_STEPS or lr is None or not rescales(optimizer) or not _attends(record) or not _full_from_the_start(record):
        return
    trouble = _thrown_up(record) or _broken(record, signs) or _cut_off(record) or _choked(record)
    if not trouble:
        return
    after = _norms_after(record)
    told = "the norms come after the residual sums (post-norm), and " if after else ""
    say = strong if after else hint
    yield say(f"{told}the learning rate is at its peak of {number(lr)} from step 0: {trouble}", _place(record), lr=lr)
    peak = _usual_peak(record)
    if peak is not None and lr <= peak:
        yield hint(f"the rate itself is not too high: a schedule with a warm-up over a tenth of the steps reaches {peak:.2g} at this width")
    elif peak is not None:
        yield against(
            f"the rate is above {peak:.2g}, which a warm-up over a tenth of the steps would reach at this width: a tenth of the rate decides"
        )


def _place(record: Record) -> Place | None:
    """Where the script has one and leaves it at nothing (`warmup_steps = 0`); else where it belongs: in the schedule, if there is one (in the function that it is computed by), else after the optimizer."""
    optimizer = main_optimizer(record)
    schedules = [
        computed_at(record, s.built_at) or s.built_at
        for s in record.facts.schedulers
        if optimizer is not None and s.optimizer in (optimizer.index, None)
    ]
    built = optimizer.built_at if optimizer is not None else None
    return next((p for p in (named_like(record, 0, WARMUP), *schedules, built) if p is not None), None) or rate_place(record)


# -- what is there ------------------------------------------------------------------------------------------------------


def _attends(record: Record) -> bool:
    return any("ttention" in layer.kind or layer.kind in BLOCKS for model in record.facts.models for layer in model.layers)


def _full_from_the_start(record: Record) -> bool:
    optimizer = main_optimizer(record)
    series = record.series("lr" if optimizer is None or optimizer.index == 0 else f"lr@{optimizer.index}")
    values = series.values[np.isfinite(series.values)]
    return len(values) > 0 and values[0] > 0 and float(values[0]) >= SHARE_OF_BEGUN * float(np.max(values))


def _norms_after(record: Record) -> bool:
    """Whether the source shows layer norms after the residual sums and none before: `norm_first` of torch's blocks, `self.norm(x + ...)` of others."""
    norms = {layer.name.rpartition(".")[2] for model in record.facts.models for layer in model.layers if layer.kind in ("LayerNorm", "RMSNorm")}
    before = after = False
    for file in record.sources:
        source = source_at(record, Place(file))
        for call in source.calls() if source is not None else []:
            if called(call) in BLOCKS:
                given = keyword(call, "norm_first")
                first = given is not None and not (isinstance(given.value, ast.Constant) and given.value.value is False)
                before, after = before or first, after or not first
            elif isinstance(call.func, ast.Attribute) and call.func.attr in norms and len(call.args) == 1:
                summed = isinstance(call.args[0], ast.BinOp) and isinstance(call.args[0].op, ast.Add)
                after = after or summed
                before = before or (not summed and source is not None and _feeds_attention(source.parents.get(call)))
    return after and not before


def _feeds_attention(parent: ast.AST | None) -> bool:
    """`self.attention(self.norm(x))`: the norm is taken before."""
    return (
        isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and any(w in parent.func.attr.lower() for w in ("att", "mix", "mha"))
    )


def _usual_peak(record: Record) -> float | None:
    """The peak of the schedule of Vaswani et al.: width ** -0.5 * warm-up steps ** -0.5, for a warm-up over a tenth of the run."""
    widths = [p.shape[0] for p in record.facts.parameters if p.layer_kind in ("LayerNorm", "RMSNorm") and len(p.shape) == 1]
    steps = max(EARLY * record.facts.run.steps, 1.0)
    return float(np.median(widths) ** -0.5 * steps**-0.5) if widths else None


# -- what went wrong ------------------------------------------------------------------------------------------------


def _updates(record: Record) -> tuple[float, float] | None:
    """How much single steps change the weights: early (the largest after the very first, which is always a full one) and late, in the median layer."""
    columns = weights(record, record.family("update_ratio"))
    if not columns.parameters or len(columns.steps) < 4:
        return None
    typical = nanmedian(columns.values, axis=1)
    early = typical[(columns.steps > 0) & (columns.steps <= max(10, EARLY * record.facts.run.steps))]
    late = typical[columns.steps >= record.facts.run.steps / 2]
    late = late if len(late) else typical[-1:]
    known = np.isfinite(early).any() and np.isfinite(late).any()
    return (float(np.nanmax(early)), float(np.nanmedian(late))) if known else None


def _broken(record: Record, signs: Signs) -> str:
    """The loss stays at guessing, and the updates have collapsed."""
    stuck = next((s for name in ("chance-level", "flat-loss") for s in signs.named(name)), None)
    sizes = _updates(record)
    if stuck is None or sizes is None or sizes[0] < LARGE or sizes[1] > COLLAPSED * sizes[0]:
        return ""
    return f"the first steps changed the weights by up to {sizes[0]:.2g} of their size each, later ones by {sizes[1]:.2g}, and {stuck.text}"


def _cut_off(record: Record) -> str:
    """Gradients reached every layer at first; after the first steps they no longer reach the lower ones, though the output still gets them."""
    columns, sizes, steps = weights(record, record.family("grad_norm")), _updates(record), record.facts.run.steps
    learned = [end(c).value < NOT_SOLVED * float(c.values[0]) for c, _ in judged_losses(record)]
    if len(columns.parameters) < FEWEST_LAYERS or len(columns.steps) < 4 or sizes is None or sizes[0] < LARGE or not learned or any(learned):
        return ""
    below = nanmedian(columns.values[:, : len(columns.parameters) // 2], axis=1) / np.maximum(columns.values[:, -1], TINY)
    early = below[(columns.steps > 0) & (columns.steps <= max(10, EARLY * steps))]
    late = below[columns.steps >= steps / 2]
    if columns.steps[0] != 0 or not below[0] > 0 or len(early) == 0 or len(late) == 0:
        return ""
    now = float(np.nanmedian(late)) / float(below[0])
    if not (early[-1] < CUT_OFF * below[0] and now < CUT_OFF):
        return ""
    return (
        f"the first steps changed the weights by up to {sizes[0]:.2g} of their size each, and since then {now:.1g} of the gradient that reached the lower layers at step 0 still does "
        "(beside what the output gets)"
    )


def _choked(record: Record) -> str:
    """The gradients of the typical layer go with the first steps and stay away for the first part of the run, in which the loss hardly falls."""
    columns, sizes, steps = weights(record, record.family("grad_norm")), _updates(record), record.facts.run.steps
    if len(columns.parameters) < MANY_LAYERS or len(columns.steps) < 4 or columns.steps[0] != 0 or sizes is None or sizes[0] < LARGE:
        return ""
    typical = nanmedian(columns.values, axis=1)
    begun = max(10, EARLY * steps)
    early = typical[(columns.steps > 2) & (columns.steps <= begun)]
    later = typical[(columns.steps > begun) & (columns.steps <= PART * steps)]
    if not typical[0] > 0 or len(early) < 2 or len(later) == 0:
        return ""
    then, now = float(np.nanmedian(early)) / float(typical[0]), float(np.nanmax(later)) / float(typical[0])
    told = f"the first steps changed the weights by up to {sizes[0]:.2g} of their size each; within {int(begun)} steps the gradient of the typical layer was {then:.2g} of what it was at step 0"
    if then < CHOKED and now < CHOKED and _held_up(record):
        return f"{told}, and up to step {int(PART * steps)} it did not come back ({now:.2g}), though the loss was still high"
    curves = [c for c, _ in judged_losses(record) if len(c) >= FEWEST_STEPS]
    ends_high = bool(curves) and all(end(c).value > NEVER_MADE_GOOD * float(c.values[0]) for c in curves)
    if then < CHOKED and now > max(CHOKED, CAME_BACK * then) and ends_high and _norms_after(record):
        return f"{told}; it came back ({now:.2g}), but the loss, {float(curves[0].values[0]):.3g} at first, is still {end(curves[0]).value:.3g} at the end"
    return ""


def _held_up(record: Record) -> bool:
    """The loss is still high after that part of the run, and not down at the end."""
    curves = [c for c, _ in judged_losses(record) if len(c) >= FEWEST_STEPS]
    parts = [float(np.median(c.values[int(EARLY * len(c)) : int(PART * len(c))])) > STILL_HIGH * float(c.values[0]) for c in curves]
    return bool(curves) and all(parts) and all(end(c).value > DOWN * float(c.values[0]) for c in curves)


def _thrown_up(record: Record) -> str:
    """The loss jumps within the first tenth of the run, comes back late, and the run goes on well after that."""
    sizes = _updates(record)
    for c, _ in judged_losses(record):
        begun = int(EARLY * len(c))
        if begun < 5 or sizes is None or sizes[0] < LARGE or sizes[1] > sizes[0] / 2:
            continue
        first, peak = float(c.values[0]), float(np.max(c.values[1 : begun + 1]))
        back = np.flatnonzero(c.values[1:] < first)
        late = len(back) == 0 or back[0] > EARLY * len(c)
        if peak > THROWN * first + 5 * c.noise and late and end(c).value < first:
            return f"the loss jumped from {first:.3g} to {peak:.3g} in the first {begun} steps, which changed the weights by up to {sizes[0]:.2g} of their size each"
    return ""


# -- the fix --------------------------------------------------------------------------------------------------------


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    optimizer = main_optimizer(record)
    steps = max(int(EARLY * record.facts.run.steps), 10)
    name = optimizer_name(record, optimizer) if optimizer is not None else "optimizer"
    rises = f"torch.optim.lr_scheduler.LinearLR({name}, start_factor=0.01, total_iters={steps})"
    diff = _before_the_schedule(record, rises, name, steps) or _beside_the_optimizer(record, rises, name)
    text = f"let the rate rise over the first {steps} steps; if the loss then still does not fall, the rate itself is too high: a run with a tenth of it decides"
    return mend(text, diff, f"warmup = {rises}\n...\n{name}.step()\nwarmup.step()", "consent")


def _before_the_schedule(record: Record, rises: str, name: str, steps: int) -> str:
    """The diff that puts a warm-up before a schedule that is stepped with every step of the optimizer."""
    for schedule in record.facts.schedulers:
        source, variable = source_at(record, schedule.built_at), assigned(record, schedule.built_at)
        built = source.statement(schedule.built_at.line) if source is not None and schedule.built_at is not None else None
        if source is None or built is None or not variable or schedule.steps < SHARE_OF_BEGUN * schedule.optimizer_steps:
            continue
        sequence = f"torch.optim.lr_scheduler.SequentialLR({name}, [{rises}, {variable}], milestones=[{steps}])"
        return source.diff(source.after(built, f"{variable} = {sequence}"))
    return ""


def _beside_the_optimizer(record: Record, rises: str, name: str) -> str:
    """The diff that makes a warm-up after the optimizer and steps it with it, where there is no schedule."""
    optimizer = main_optimizer(record)
    if optimizer is None or record.facts.schedulers or optimizer.built_at is None or optimizer.stepped_at is None:
        return ""
    source = source_at(record, optimizer.built_at)
    if source is None or optimizer.stepped_at.file != optimizer.built_at.file or "self." in name:
        return ""
    built, stepped = source.statement(optimizer.built_at.line), source.statement(optimizer.stepped_at.line)
    if built is None or stepped is None or source.function(built) is not source.function(stepped):
        return ""
    return source.diff(source.after(built, f"warmup = {rises}"), source.after(stepped, "warmup.step()"))
