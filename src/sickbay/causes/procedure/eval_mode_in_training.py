"""The model trains in eval mode.

## What happens

`model.eval()` switches dropout off and makes batch norm use its running averages. Called for an evaluation and not undone, it stays on: the
rest of training runs without dropout, and batch norm no longer normalises by the batch, nor does it update its averages.

## How we know

Proof: the mode is read at every forward pass that a backward pass and an optimizer step follow. The model has layers that behave differently
(dropout, batch norm), and they and the model itself were in eval mode.

## Looks like it but is not

- Frozen batch norm (`bn.eval()` inside a model in train mode), or a frozen backbone in eval mode: the model itself is in train mode, or
  none of its parameters are trained.
- Models without dropout or batch norm: the mode changes nothing.
- Eval mode switched on and off within each step (attacks, pseudo-labels).

## Fix

`model.train()` at the start of each training epoch, or right after each evaluation.

## References

- https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import at, listed, located, proof
from sickbay.causes.mode_sensitive import mode_sensitive
from sickbay.causes.registry import cause
from sickbay.facts import Modes, Parameter
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Loop, Source, mend, source_at
from sickbay.script.naming import model_name
from sickbay.script.uncalled import call_it, uncalled_at
from sickbay.signs import Signs

MINIMUM = 5
SHARE = 0.15
"""Of the training passes: fewer may be a phase (calibration, a last fine-tune of a head)."""


@cause(
    code="P305",
    level="procedure",
    title="the model trains in eval mode",
    why="Dropout is off and batch norm uses stale averages, so training loses its regularisation and its normalisation.",
    explains={
        "overfitting", "val-rising", "train-val-gap", "diverging-loss", "oscillating-loss", "loss-spikes", "gradient-spike", "flat-loss", "slow-descent",
        "early-plateau", "chance-level", "nonfinite-loss", "nonfinite-gradient", "update-ratio-high", "lr-too-high", "lr-too-low", "dead-relu", "dead-units",
        "vanishing-gradient", "gradient-decay-with-depth", "gradient-growth-with-depth", "val-flat-from-start", "saturated-units",
    },
    cure="train-mode",
)  # fmt: skip
def eval_mode_in_training(record: Record, signs: Signs) -> Iterator[Evidence]:
    modes = record.facts.modes
    layers = mode_sensitive(record)
    if modes.training_in_eval < max(MINIMUM, SHARE * modes.training_forwards) or not layers:
        return
    if _switched_each_step(record) or not _is_trained(record, modes):
        return
    since = f"since {at(modes.eval_called_at)} called eval()" if modes.eval_called_at else "eval mode was never left"
    yield proof(
        f"{modes.training_in_eval:,} of {modes.training_forwards:,} training passes{located(modes.training_forward_at)} ran in eval mode, {since}; "
        f"affected: {listed(layers)}",
        _place(record, modes),
        (modes.training_in_eval_first or 0, modes.training_in_eval_last or record.facts.run.steps),
        passes=modes.training_in_eval,
        all_passes=modes.training_forwards,
    )


def _place(record: Record, modes: Modes) -> Place | None:
    """Where the switch back is missing: the train() that lost its parentheses or comes only once, the eval() in mid-epoch, else the loop around the training pass."""
    forward = modes.training_forward_at
    lost = uncalled_at(record, forward, "train")
    named = lost or modes.train_called_at
    source = source_at(record, forward)
    statement = source.statement(forward.line) if source is not None and forward is not None else None
    loops = source.loops(statement) if source is not None and statement is not None else []
    if source is not None and forward is not None and lost is None and len(loops) > 1 and _inside(source, loops[0], forward, modes, elsewhere=False):
        return modes.eval_called_at or named  # a train() for each epoch would not help
    if named is None and source is not None and loops:
        meant = _meant_for_training(source, loops[-1], modes.eval_called_at)
        return source.place(meant.lineno if meant is not None else loops[-1].lineno)
    return named or modes.eval_called_at or forward


def _meant_for_training(source: Source, loop: Loop, eval_at: Place | None) -> ast.stmt | None:
    """The eval() that stands right before the training loop, nothing but assignments between them: it was to be train()."""
    if eval_at is None or eval_at.file != source.file or eval_at.line is None:
        return None
    block = source.block(loop)
    for statement in reversed(block[: block.index(loop)]):
        if statement.lineno <= eval_at.line <= (statement.end_lineno or statement.lineno):
            return statement if isinstance(statement, ast.Expr) else None
        if not isinstance(statement, ast.Assign):
            return None
    return None


def _switched_each_step(record: Record) -> bool:
    counts, steps = record.facts.timeline.counts, record.facts.run.steps
    return steps > 0 and min(counts.get("train", 0), counts.get("eval", 0)) >= 0.5 * steps


def _is_trained(record: Record, modes: Modes) -> bool:
    """Whether the part in eval mode has parameters that were trained meanwhile; a frozen feature extractor has none."""
    stepping = _stepping(record, modes)
    for names in (modes.sensitive, modes.layers_off):
        inside = _beside(record, names)
        if inside and not any(p.trainable and p.optimizer in stepping for p in inside):
            return False
    return True


def _beside(record: Record, names: Sequence[str]) -> list[Parameter]:
    """The parameters of the modules that hold these layers ("features.3: BatchNorm2d" is held by "features")."""
    parents = {name.partition(":")[0].strip().rpartition(".")[0] for name in names}
    return [p for p in record.facts.parameters if any(parent == "" or p.layer == parent or p.layer.startswith(f"{parent}.") for parent in parents)]


def _stepping(record: Record, modes: Modes) -> set[int | None]:
    """The optimizers that made steps while the model was in eval mode (all, if their steps were not recorded)."""
    first, last = modes.training_in_eval_first or 0, modes.training_in_eval_last
    rates = {o.index: record.series("lr" if o.index == 0 else f"lr@{o.index}").steps for o in record.facts.optimizers}
    seen: set[int | None] = {i for i, steps in rates.items() if last is not None and ((steps >= first) & (steps <= last)).any()}
    return seen or {p.optimizer for p in record.facts.parameters if p.optimizer is not None}


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    modes = record.facts.modes
    place = modes.training_forward_at
    if (parentheses := call_it(record, place, "train")) is not None:
        return parentheses
    name = model_name(record, place, modes.eval_called_at)
    source = source_at(record, place)
    diff = _other_mode(source, place, modes.eval_called_at) if source is not None and place is not None else ""
    if diff:
        return mend("train in train mode", diff, f"{name or 'model'}.train()")
    if source is not None and place is not None and name:
        diff = _switch_back(source, place, modes, f"{name}.train()")
    return mend("switch back to train mode before training goes on", diff, f"{name or 'model'}.train()  # at the start of each training epoch")


def _other_mode(source: Source, place: Place, eval_at: Place | None) -> str:
    """`model.eval()` made `model.train()`, where it stands before the training loop."""
    forward = source.statement(place.line)
    loops = source.loops(forward) if forward is not None else []
    meant = _meant_for_training(source, loops[-1], eval_at) if loops else None
    call = meant.value if isinstance(meant, ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "eval" and not call.args):
        return ""
    return source.diff(source.replacing(call, f"{ast.unparse(call.func.value)}.train()"))


def _switch_back(source: Source, place: Place, modes: Modes, line: str) -> str:
    """Before the loop over batches, if eval mode is switched on outside of it; else right before the forward pass."""
    forward = source.statement(place.line)
    if forward is None:
        return ""
    loops = source.loops(forward)
    if len(loops) > 1 and not _inside(source, loops[0], place, modes, elsewhere=True):
        return source.diff(source.before(loops[0], line))
    return source.diff(source.before(forward, line))


def _inside(source: Source, loop: Loop, place: Place, modes: Modes, elsewhere: bool) -> bool:
    """Whether eval() is called within the loop, directly or in a function that the loop calls (by whatever name, where train() comes before each run of the loop);
    `elsewhere` is the answer for one in another file."""
    eval_at = modes.eval_called_at
    if eval_at is None or eval_at.line is None:
        return False
    if _switched_before(source, loop, modes.train_called_at, eval_at):
        return True
    if eval_at.file != place.file:
        return elsewhere
    if loop.lineno <= eval_at.line <= (loop.end_lineno or loop.lineno):
        return True
    statement = source.statement(eval_at.line)
    around = source.function(statement) if statement is not None else source.tree
    return bool(source.calls(getattr(around, "name", "-"), within=loop))


def _switched_before(source: Source, loop: Loop, train_at: Place | None, eval_at: Place) -> bool:
    """train() is called right before each run of the loop over batches, and no eval() between them: training that runs in eval mode was put there within the loop."""
    if train_at is None or train_at.file != source.file or not source.loops(loop):
        return False
    before = [s for s in source.block(loop) if s.lineno < loop.lineno]
    called_at = [s for s in before if isinstance(s, ast.Expr) and s.lineno <= (train_at.line or 0) <= (s.end_lineno or s.lineno)]
    between = [s for s in before if called_at and s.lineno > called_at[0].lineno and not isinstance(s, (ast.Assign, ast.AugAssign))]
    return bool(called_at) and not between and not any(s.lineno <= (eval_at.line or 0) <= (s.end_lineno or s.lineno) for s in before)
