"""The learning-rate scheduler is stepped at another pace than it was written for, or not at all.

## What happens

A scheduler counts its own `step()` calls and knows nothing of batches and epochs. Numbers meant for epochs, stepped on every batch, bring the
rate to nothing within the first epoch (or make a cosine go up and down again); numbers meant for batches, stepped once per epoch, leave
it at the foot of its warm-up. Stepped in two places it runs at double speed; never stepped, or tied to an optimizer that never
steps, it does nothing at all.

## How we know

Proof: every call is counted against the steps of its own optimizer and compared with the scheduler's own numbers. *Too fast*: one call
per optimizer step, the rate is below a hundredth of its highest before 40 % of the run is over, and the same schedule, called once per epoch, would
have lasted for the epochs of the run. *Too slow*: it is planned for as many calls as there were optimizer steps and got less than half of them.
*Twice*: two lines step it between the same two optimizer steps. *Never*: built, and no call follows. *Direction*: `ReduceLROnPlateau` cuts the rate
because a number that improves is read the wrong way round. *Built anew*: one line builds a scheduler for the same optimizer again and again (in every epoch), and each gets
no further than the beginning of its schedule. *Outlived*: the model is set back to its first weights (a new fold), the scheduler is not, and its rate is gone for good.

## Looks like it but is not

- OneCycle and cosine over all batches of the run, exponential decay per epoch, warm-up then decay: calls and numbers agree.
- Warm restarts and cyclic schedules: the rate comes back by design.
- Weights that are set back to the best ones of a run: the loss does not go up, and that line did not run before the first step.
- A run that was stopped early: the schedule is unfinished, but the pace is right.
- Schedulers that are parts of a SequentialLR or ChainedScheduler; rates that the script sets by hand.

## Fix

Step it where its numbers count: after the loop over batches for epochs, right after `optimizer.step()` for batches, and only there.

## References

- https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
- https://github.com/pytorch/vision/issues/1261, https://github.com/pytorch/tutorials/issues/640 (per batch instead of per epoch).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.begun_again import begun_again, built_for_each
from sickbay.causes.epochs import went_through
from sickbay.causes.evidence import at, located, proof, strong, times
from sickbay.causes.hyperparameters import lr_decayed_too_soon as decayed
from sickbay.causes.registry import cause
from sickbay.causes.schedules import MINIMUM_STEPS, SELDOM, built_again, described, judged_schedulers, planned_calls, rates_of
from sickbay.facts import Scheduler
from sickbay.nouns import Evidence, Fix, Series
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, mend, receiver, source_at
from sickbay.script.moving import moved_after, out_of_loop, statement_at, without
from sickbay.script.naming import assigned
from sickbay.signs import Signs
from sickbay.signs.curves import fell
from sickbay.signs.losses import judged_losses

DEAD = 0.01
"""Below a hundredth of its highest, the rate of most problems no longer moves anything (warm-ups and decays end between 1/10 and 1/1000)."""
GONE = 1e-5
"""Below a hundred-thousandth the updates of most weights (a thousandth of them at best) are lost in single precision: no plan wants that for most of a run."""
EARLY = 0.4
ALIVE = 0.8
"""Called once per epoch, the schedule would have lasted for this share of the epochs: so it was written for epochs."""
PER_STEP = 0.9
AGREES = (0.8, 1.25)
"""A plan for between 0.8 and 1.25 times the optimizer steps of the run is a plan in optimizer steps."""
TWICE = 0.8
OVERRUN = 1.2
RISEN = 0.3
LONG_CYCLES = 2.5
"""Beyond two and a half half-waves a cosine that goes up again may be meant as a cycle."""

SCORE = re.compile(
    r"(?<![a-z])(?:acc|accuracy|f1|auc|auroc|iou|miou|dice|map|score|r2|reward|precision|recall|psnr|ssim|bleu)(?![a-z])", re.IGNORECASE
)
"""Names of numbers that are better the higher they are."""


@cause(
    code="P314",
    level="procedure",
    title="the learning-rate scheduler is stepped at the wrong pace",
    why="The rate follows the calls, not the plan: it vanishes early, never gets going or swings, and most of the run is spent at a wrong rate.",
    explains={
        "lr-decayed-too-soon", "lr-too-low", "lr-too-high", "early-plateau", "slow-descent", "flat-loss", "chance-level", "update-ratio-low", "val-flat-from-start",
        "oscillating-loss", "update-ratio-high", "diverging-loss", "loss-spikes",
    },
    cure="hold-schedule",
)  # fmt: skip
def scheduler_misuse(record: Record, signs: Signs) -> Iterator[Evidence]:
    yield from _crashed(record)
    if (again := built_again(record)) is not None:
        yield again
        return
    for s in judged_schedulers(record):
        for finding in (_never, _other_optimizer, _outlived, _twice, _too_fast, _too_slow, _wrong_way, _up_again):
            found = list(finding(record, s))
            yield from found
            if found:
                break


# -- what can be wrong ----------------------------------------------------------------------------------------------


def _crashed(record: Record) -> Iterator[Evidence]:
    crash = record.facts.crash
    if crash is not None and "Tried to step" in crash.message and "total steps" in crash.message:
        yield proof(f"the scheduler was stepped more often than it was planned for: {crash.message.strip().splitlines()[0]}", crash.place)


def _never(record: Record, s: Scheduler) -> Iterator[Evidence]:
    run = record.facts.run
    ended = run.finished and record.facts.crash is None
    if s.steps or s.optimizer_steps < MINIMUM_STEPS or not (ended or run.epochs >= 3):
        return
    rates = rates_of(record, s).values
    rate = float(rates[-1]) if len(rates) else None
    base = s.settings.get("base_lr")
    held = f"; the rate stays at {rate:.3g}" if rate is not None else ""
    if rate is not None and base and rate < SELDOM * base:
        held += f", {rate / base:.2g} of the {base:.3g} that the optimizer was given"
    text = f"{described(s)} is built{located(s.built_at)} and its step() is never called in {s.optimizer_steps:,} optimizer steps{held}"
    # A call in the text that never ran may wait for a condition.
    yield (strong if _call_in_text(record, s) else proof)(text, s.built_at, optimizer_steps=s.optimizer_steps)


def _call_in_text(record: Record, s: Scheduler) -> bool:
    source, name = source_at(record, s.built_at), _name(record, s)
    if source is None:
        return False
    owners = [source.segment(o) for c in source.calls("step") if (o := receiver(c)) is not None]
    return any("sched" in o.lower() or o.rpartition(".")[2] == name.rpartition(".")[2] for o in owners)


def _other_optimizer(record: Record, s: Scheduler) -> Iterator[Evidence]:
    others = sum(o.steps for o in record.facts.optimizers if o.index != s.optimizer)
    if s.steps >= 2 and s.optimizer is not None and s.optimizer_steps == 0 and others >= MINIMUM_STEPS and record.facts.run.finished:
        yield proof(
            f"{described(s)} was stepped {times(s.steps, 'time')}, but the optimizer whose rate it sets never steps; another one makes the {others:,} steps of this run",
            s.built_at or s.stepped_at,
            calls=s.steps,
        )


def _outlived(record: Record, s: Scheduler) -> Iterator[Evidence]:
    if (found := begun_again(record, s)) is not None:
        yield found


def _twice(record: Record, s: Scheduler) -> Iterator[Evidence]:
    if s.stepped_gaps < 5 or s.doubled_gaps < TWICE * s.stepped_gaps or s.optimizer_steps < MINIMUM_STEPS:
        return
    length = planned_calls(s)
    overrun = length is not None and s.steps > OVERRUN * length
    if not s.also_stepped_at and not overrun and _died(rates_of(record, s)) is None:
        return  # one call per micro-batch, planned so
    where = " and ".join(filter(None, (at(s.stepped_at), *(at(p) for p in s.also_stepped_at))))
    plan = f", planned for {length:g}" if overrun else ""
    yield proof(
        f"{described(s)} was stepped {s.steps:,} times in {s.optimizer_steps:,} optimizer steps{plan}: "
        f"twice or more between {s.doubled_gaps:,} of {s.stepped_gaps:,} pairs of them{', at ' + where if where else ''}",
        s.stepped_at,
        calls=s.steps,
        optimizer_steps=s.optimizer_steps,
    )


def _too_fast(record: Record, s: Scheduler) -> Iterator[Evidence]:
    if s.optimizer_steps < MINIMUM_STEPS or s.steps < PER_STEP * s.optimizer_steps:
        return
    epochs, rates = went_through(record), rates_of(record, s)
    died = _died(rates)
    cycles = s.kind == "CosineAnnealingLR" and epochs is not None and s.settings.get("T_max", np.inf) <= OVERRUN * epochs and s.steps >= 3 * epochs
    if died is None and not cycles:
        return
    text = f"{described(s)} is stepped after every batch ({s.steps:,} calls in {s.optimizer_steps:,} optimizer steps"
    text += f", {epochs} epochs)" if epochs else ")"
    if cycles:
        yield proof(f"{text}: the rate goes down and up again every {2 * s.settings['T_max']:g} batches", s.stepped_at, calls=s.steps)
        return
    top = float(np.max(rates.values))
    text += f": the rate is below a hundredth of {top:.3g} from step {died} on"
    if epochs is not None and s.steps >= 3 * epochs and _lasts(rates, epochs):
        yield proof(f"{text}; once per epoch it would have lasted", s.stepped_at, calls=s.steps, died=float(died or 0))
    elif _died(rates, GONE) is not None:
        yield strong(f"{text}, and soon too small to move any weight", s.stepped_at, calls=s.steps, died=float(died or 0))
    elif any(decayed.lr_decayed_too_soon.examine(record, Signs())):
        yield strong(f"{text}, while the loss was still high", s.stepped_at, calls=s.steps, died=float(died or 0))


def _died(rates: Series, below: float = DEAD) -> int | None:
    """The step from which the rate is below such a part of its highest for good, if that is early in the run."""
    if len(rates) < MINIMUM_STEPS or not np.all(np.isfinite(rates.values)) or np.max(rates.values) <= 0:
        return None
    alive = np.flatnonzero(rates.values > below * np.max(rates.values))
    step = int(alive[-1]) + 1
    return int(rates.steps[step]) if step < EARLY * len(rates) else None


def _lasts(rates: Series, epochs: int) -> bool:
    """Whether as many calls as there were epochs would have left the rate alive for most of them."""
    first = rates.values[: max(1, int(ALIVE * epochs))]
    return bool(first[-1] > DEAD * np.max(rates.values))


def _too_slow(record: Record, s: Scheduler) -> Iterator[Evidence]:
    length, updates = planned_calls(s), s.optimizer_steps
    if updates < MINIMUM_STEPS or s.steps < 1:
        return
    seldom = s.steps <= SELDOM * updates
    text = f"it was stepped {times(s.steps, 'time')} in {updates:,} optimizer steps"
    if length is not None and s.steps <= SELDOM * length:
        if seldom and AGREES[0] * updates <= length <= AGREES[1] * updates:
            yield proof(
                f"{described(s)} is planned for {length:g} calls, as many as there are batches, but {text}{_reached(record, s)}",
                s.stepped_at,
                calls=s.steps,
            )
        elif not seldom and abs(length / max(record.facts.run.backwards, 1) - 1) < 0.02:
            yield proof(
                f"{described(s)} is planned for {length:g} calls, the number of backward passes, but {text}{_reached(record, s)}", s.stepped_at
            )
    elif length is None and seldom and s.steps >= 2 and _still_warming(record, s):
        yield strong(f"{s.kind} raises the rate with each call, but {text}{_reached(record, s)}", s.stepped_at, calls=s.steps)


def _reached(record: Record, s: Scheduler) -> str:
    rates = rates_of(record, s).values
    if not len(rates):
        return ""
    base = s.settings.get("base_lr")
    return f"; the rate went from {rates[0]:.3g} to {rates[-1]:.3g}" + (f" (the optimizer was given {base:.3g})" if base else "")


def _still_warming(record: Record, s: Scheduler) -> bool:
    rates, base = rates_of(record, s).values, s.settings.get("base_lr", 0.0)
    return bool(len(rates) >= MINIMUM_STEPS and base > 0 and np.all(np.diff(rates) >= 0) and rates[0] < rates[-1] < SELDOM * base)


def _wrong_way(record: Record, s: Scheduler) -> Iterator[Evidence]:
    rates = rates_of(record, s).values
    cut = len(rates) > 0 and rates[-1] < SELDOM * np.max(rates)
    if not s.mode or s.steps < 5 or not cut or s.metric_first is None or s.metric_last is None or s.metric_lowest is None or s.metric_highest is None:
        return
    learned = any(fell(c) for c, _ in judged_losses(record))
    accuracy = record.series("accuracy/eval").values
    sank = s.metric_last < 0.7 * s.metric_first and s.metric_highest <= 1.05 * s.metric_first
    is_accuracy = len(accuracy) > 0 and any(abs(s.metric_last / scale - accuracy[-1]) < 0.005 for scale in (1.0, 100.0))
    is_accuracy |= learned and s.metric_lowest > 0.95 * s.metric_first and bool(SCORE.search(_given(record, s)))
    if (s.mode == "max" and sank and learned) or (s.mode == "min" and is_accuracy and s.metric_last > s.metric_first):
        yield proof(
            f"ReduceLROnPlateau(mode={s.mode!r}) is given a number that went from {s.metric_first:.3g} to {s.metric_last:.3g} as training improved: "
            f"read the wrong way round, it cut the rate from {np.max(rates):.3g} to {rates[-1]:.3g}",
            s.built_at or s.stepped_at,
        )


def _given(record: Record, s: Scheduler) -> str:
    """What its step is given, as the user calls it."""
    source = source_at(record, s.stepped_at)
    calls = source.calls("step", line=s.stepped_at.line) if source is not None and s.stepped_at is not None else []
    return " ".join(ast.unparse(a) for c in calls for a in (*c.args, *(k.value for k in c.keywords))).replace("_", " ")


def _up_again(record: Record, s: Scheduler) -> Iterator[Evidence]:
    length, rates = s.settings.get("T_max"), rates_of(record, s).values
    if s.kind != "CosineAnnealingLR" or length is None or not OVERRUN * length < s.steps <= LONG_CYCLES * length or len(rates) < MINIMUM_STEPS:
        return
    if rates[-1] > RISEN * np.max(rates) and np.min(rates) < DEAD * np.max(rates) + s.settings.get("eta_min", 0.0) * 1.01:
        yield strong(
            f"{described(s)} was stepped {s.steps:,} times: after {length:g} the cosine goes up again, and the run ends at {rates[-1]:.3g} (highest {np.max(rates):.3g})",
            s.built_at or s.stepped_at,
            calls=s.steps,
        )


# -- the fix --------------------------------------------------------------------------------------------------------


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    for s in judged_schedulers(record):
        name = _name(record, s) or "scheduler"
        source = source_at(record, s.stepped_at or s.built_at)
        if list(_never(record, s)):
            return mend("step the scheduler, or take it out", _stepping(record, s, name), f"optimizer.step()\n{name}.step()", "consent")
        if list(_outlived(record, s)):
            text = "build the optimizer and its scheduler anew whenever the model begins again"
            return mend(text, built_for_each(record, s), f"model.load_state_dict(start)\noptimizer = ...\n{name} = ...", "consent")
        if list(_twice(record, s)):
            again = s.also_stepped_at[0] if s.also_stepped_at else None
            extra = source_at(record, again)
            statement = statement_at(extra, again) if extra is not None else None
            diff = extra.diff(without(extra, statement)) if extra is not None and statement is not None and without(extra, statement) else ""
            return mend("step the scheduler in one place only", diff, f"{name}.step()  # once per optimizer step", "consent")
        if source is not None and list(_too_fast(record, s)):
            diff = out_of_loop(source, statement_at(source, s.stepped_at))
            return mend(
                "step the scheduler once per epoch, after the loop over batches", diff, f"{name}.step()  # after the loop over batches", "consent"
            )
        if list(_too_slow(record, s)):
            return mend("step the scheduler after every optimizer step", _into_loop(record, s), f"optimizer.step()\n{name}.step()", "consent")
        if list(_wrong_way(record, s)):
            mode = '"min"' if s.mode == "max" else '"max"'
            return mend("tell ReduceLROnPlateau which way is better", _built_with(record, s, "mode", mode), f"mode={mode}", "consent")
        if list(_up_again(record, s)):
            return mend("plan the cosine for all calls of the run", _built_with(record, s, "T_max", str(s.steps)), f"T_max={s.steps}", "consent")
    return Fix("step the scheduler at the pace that its numbers are written for", "scheduler.step()  # once per epoch, or once per batch", "advice")


def _name(record: Record, s: Scheduler) -> str:
    return s.variable or assigned(record, s.built_at)


def _stepping(record: Record, s: Scheduler, name: str) -> str:
    """A call after the optimizer's step, or after the loop over batches if the plan is one for epochs."""
    stepped = next((o.stepped_at for o in record.facts.optimizers if o.index == s.optimizer), None)
    source = source_at(record, stepped)
    statement = statement_at(source, stepped) if source is not None else None
    built = source_at(record, s.built_at)
    if source is None or statement is None or built is None or not _same_scope(source, statement, s, name):
        return ""
    length, epochs, loops = (
        planned_calls(s) or s.settings.get("step_size") or s.settings.get("last_milestone"),
        went_through(record),
        source.loops(statement),
    )
    if length is not None and epochs is not None and length <= OVERRUN * epochs and len(loops) >= 2:
        return source.diff(source.after(loops[0], f"{name}.step()"))
    return source.diff(source.after(statement, f"{name}.step()"))


def _same_scope(source: Source, statement: ast.stmt, s: Scheduler, name: str) -> bool:
    built = statement_at(source, s.built_at)
    if built is None or s.built_at is None or s.built_at.file != source.file:
        return False
    outer = source.function(built)
    return name.startswith("self.") or outer is source.function(statement) or outer is source.tree


def _built_with(record: Record, s: Scheduler, name: str, value: str) -> str:
    """The diff that gives the scheduler's constructor another value for its second argument."""
    source = source_at(record, s.built_at)
    calls = source.calls(s.kind, line=s.built_at.line) if source is not None and s.built_at is not None else []
    if source is None or len(calls) != 1:
        return ""
    given = calls[0].args[1] if len(calls[0].args) > 1 else None
    return source.diff(source.replacing(given, value) if given is not None else source.giving(calls[0], name, value))


def _into_loop(record: Record, s: Scheduler) -> str:
    stepped = next((o.stepped_at for o in record.facts.optimizers if o.index == s.optimizer), None)
    source = source_at(record, s.stepped_at)
    if source is None or stepped is None or s.stepped_at is None or stepped.file != s.stepped_at.file:
        return ""
    return moved_after(source, statement_at(source, s.stepped_at), statement_at(source, stepped))
