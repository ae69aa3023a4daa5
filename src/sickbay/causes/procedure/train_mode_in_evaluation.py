"""The model is evaluated in train mode.

## What happens

`torch.no_grad()` saves memory, it does not change the mode. Without `model.eval()`, dropout drops units while scoring, so results are worse than
the model and differ from call to call; batch norm normalises by the evaluation batch (the score depends on which samples sit together) and
mixes evaluation data into its running averages.

## How we know

Proof: forward passes without gradients, between training steps and not part of one, in a model with dropout or batch norm that is in
train mode. A copy of the trained model (averaged weights, the best so far) has a mode of its own: it counts where its results are scored, or where
`eval()` is called on the trained model and the copy is what runs. Or: `F.dropout(x, p)` on the way to the loss without `training=self.training`; its default is True, so that it drops in
evaluation whatever mode the model is in.

## Looks like it but is not

- Monte Carlo dropout: the same input several times in a row.
- Recomputing batch norm statistics (`update_bn`): on training data.
- Networks that run without gradients *inside* a training step (the generator of a GAN, target networks, momentum encoders), samples of a
  generator, and acting in reinforcement learning. A teacher that is a copy of its student and gives targets in train mode (mean teacher) is not scored.
- A dry run before training, to build lazy layers or to check shapes.

## Fix

`model.eval()` before the evaluation, `model.train()` after it; `training=self.training` for dropout as a function.

## References

- https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import listed, located, proof
from sickbay.causes.mode_sensitive import mode_sensitive
from sickbay.causes.registry import cause
from sickbay.facts import Modes
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.always_on import AlwaysOn, always_on
from sickbay.script.fixing import Edit, Function, Source, called, mend, receiver, source_at
from sickbay.script.naming import model_name
from sickbay.script.uncalled import call_it, uncalled_at
from sickbay.signs import Signs
from sickbay.signs.losses import adversarial

MOSTLY = 0.5
OFTEN = 0.5
"""Passes without gradients on every second step or more are part of the method (acting, sampling), not an evaluation."""


@cause(
    code="P306",
    level="procedure",
    title="the model is evaluated in train mode",
    why="Dropout and batch norm act as in training, so the scores are noisy, depend on the batch and do not show what the model can do.",
    explains={"val-rising", "train-val-gap", "val-flat-from-start", "overfitting", "val-noisy"},
    cure="eval-mode",
)
def train_mode_in_evaluation(record: Record, signs: Signs) -> Iterator[Evidence]:
    modes = record.facts.modes
    layers = mode_sensitive(record)
    for found in always_on(record) if _evaluates(record) else ():
        yield proof(
            f"`{found.source.segment(found.call)}`{located(found.place)} is not told the mode: training is True by default, so it drops in evaluation too",
            found.place,
        )
    if not layers or modes.evaluation_in_train == 0 or _on_purpose(record, modes):
        return
    yield proof(
        f"{modes.evaluation_in_train:,} of {modes.evaluation_passes:,} evaluations{located(modes.evaluation_forward_at)} ran in train mode{_not_this_one(record, modes)}; "
        f"affected: {listed(layers)}",
        _place(record, modes),
        (modes.evaluation_in_train_first or 0, modes.evaluation_in_train_last or record.facts.run.steps),
        passes=modes.evaluation_in_train,
        all_passes=modes.evaluation_passes,
    )


def _not_this_one(record: Record, modes: Modes) -> str:
    if not modes.evaluation_of_copy:
        return ""
    elsewhere = _elsewhere(record, modes)
    return ": what is evaluated is a copy of the model" + (f", and eval(){located(elsewhere)} is not called on it" if elsewhere is not None else "")


def _elsewhere(record: Record, modes: Modes) -> Place | None:
    """The `model.eval()` before the pass, in the same function, that is called on the model which was copied."""
    forward, switch = modes.evaluation_forward_at, modes.eval_called_at
    source = source_at(record, forward)
    if source is None or forward is None or switch is None or switch.file != forward.file or (switch.line or 0) > (forward.line or 0):
        return None
    here, there = source.statement(forward.line), source.statement(switch.line)
    return switch if here is not None and there is not None and source.function(here) is source.function(there) else None


def _evaluates(record: Record) -> bool:
    """Whether there is a pass that dropout can spoil; one that gives the same input several times may want it (Monte Carlo dropout)."""
    passes = any(e.passes for e in record.facts.evaluations) or record.facts.timeline.counts.get("evaluate", 0) > 0
    return passes and not record.facts.modes.evaluation_repeats_input


def _place(record: Record, modes: Modes) -> Place | None:
    """Where eval() is missing: the one that lost its parentheses, a train() in its stead, else the head of the evaluation."""
    forward = modes.evaluation_forward_at
    if modes.evaluation_of_copy:
        return _elsewhere(record, modes) or forward
    named = uncalled_at(record, forward, "eval")
    source = source_at(record, forward)
    statement = source.statement(forward.line) if source is not None and forward is not None else None
    if named is not None or source is None or statement is None or forward is None:
        return named or forward
    around = source.function(statement)
    instead = _switched_in(source, around, modes.train_called_at) or _switched_for(source, around, modes.train_called_at)
    if isinstance(around, Function) and instead is not None and not _trains_too(source, around, forward, modes):
        return source.place(instead.lineno)
    if isinstance(around, Function) and not _trains_too(source, around, forward, modes):
        return source.place(around.lineno)
    blocks = [a.lineno for a in source.ancestors(statement) if isinstance(a, ast.With)]
    return source.place(blocks[0] if blocks else statement.lineno)


def _trains_too(source: Source, around: ast.AST, forward: Place, modes: Modes) -> bool:
    """The function trains as well, by another line: its train() is right, and eval() belongs right before the evaluation."""
    return modes.training_forward_at != forward and bool(source.calls("backward", within=around))


def _switched_in(source: Source, around: ast.AST, switch: Place | None) -> ast.stmt | None:
    """The train() of a function."""
    statement = source.statement(switch.line) if switch is not None and switch.file == source.file else None
    return statement if statement is not None and source.function(statement) is around else None


def _switched_for(source: Source, around: ast.AST, switch: Place | None) -> ast.stmt | None:
    """...or of a function that it calls to set the modes, `set_mode(backbone, head, training)`."""
    own = [f for c in source.calls(within=around) for f in source.defined.get(called(c), ()) if isinstance(f, Function)]
    own = [f for f in own if not source.calls("backward", within=f)]
    return next((s for f in own if (s := _switched_in(source, f, switch)) is not None), None)


def _on_purpose(record: Record, modes: Modes) -> bool:
    # How often a critic is right may be looked at in passing, in the mode in which it trains.
    scored = bool(record.series_like("loss/eval")) or (bool(record.series_like("accuracy/eval")) and not adversarial(record))
    forwards = record.facts.timeline.counts.get("evaluate", 2 * modes.evaluation_passes)
    repeated = modes.evaluation_repeats_input and forwards >= 2 * modes.evaluation_passes  # with one pass each, nothing is averaged
    if repeated or modes.evaluation_on_training_data or modes.evaluation_in_train < MOSTLY * modes.evaluation_passes:
        return True
    if modes.evaluation_in_train_last == 0:  # only before training: a dry run
        return True
    if scored:
        return False
    acting = modes.evaluation_passes >= OFTEN * record.facts.run.steps
    # One unscored pass in train mode says little; a switch to train mode right before it says that it is meant.
    return acting or adversarial(record) or modes.evaluation_in_train < 2


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    modes = record.facts.modes
    if (unaware := always_on(record)) and evidence and evidence[0].place == unaware[0].place:
        return _told(unaware[0])
    place = modes.evaluation_forward_at
    if (parentheses := call_it(record, place, "eval")) is not None:
        return parentheses
    name = model_name(record, place, None if modes.evaluation_of_copy else modes.train_called_at)
    source = source_at(record, place)
    if modes.evaluation_of_copy:
        diff = _eval_before(source, place.line, name, back=False) if source is not None and place is not None and name else ""
        return mend("evaluate the copy in eval mode; it has a mode of its own", diff, f"{name or 'copy'}.eval()")
    snippet = f"{name or 'model'}.eval()   # before the evaluation\n{name or 'model'}.train()  # after it"
    if source is None or place is None or not name:
        return mend("evaluate in eval mode, then switch back", "", snippet)
    shared = _shared_function(source, place.line, name) or _told_of_another(source, _place(record, modes))
    if shared is not None:
        return mend("switch by what the pass is for", source.diff(shared), snippet, "consent")
    return mend("evaluate in eval mode, then switch back", _eval_before(source, place.line, name), snippet)


def _told(found: AlwaysOn) -> Fix:
    text = found.source.segment(found.call)
    around = found.source.function(found.call)
    method = isinstance(around, Function) and any(a.arg == "self" for a in around.args.args)
    edit = found.source.replacing(found.call, f"{text[:-1]}, training=self.training)")
    return mend("tell dropout the mode of the model", found.source.diff(edit) if method else "", f"{text[:-1]}, training=model.training)")


def _shared_function(source: Source, line: int | None, name: str) -> Edit | None:
    """One function for both passes that always calls train(): give it the condition that switches gradients."""
    statement = source.statement(line)
    around = source.function(statement) if statement is not None else source.tree
    switches = [c for c in source.calls("train", within=around) if (o := receiver(c)) is not None and source.segment(o) == name and not c.args]
    gradient = [c for c in source.calls("set_grad_enabled", within=around) if c.args]
    if not isinstance(around, Function) or len(switches) != 1 or len(gradient) != 1:
        return None
    return source.replacing(switches[0], f"{name}.train({source.segment(gradient[0].args[0])})")


def _told_of_another(source: Source, place: Place | None) -> Edit | None:
    """`head.train()` beside `backbone.train(training)`: the same condition holds for both."""
    found = source.calls("train", line=place.line) if place is not None else []
    call = found[0] if len(found) == 1 and not found[0].args else None
    conditions = {source.segment(c.args[0]) for c in source.calls("train", within=source.function(call)) if c.args} if call is not None else set()
    return source.replacing(call, f"{source.segment(call)[:-1]}{conditions.pop()})") if call is not None and len(conditions) == 1 else None


def _eval_before(source: Source, line: int | None, name: str, back: bool = True) -> str:
    """Before the block without gradients (or at the start of an evaluation function), and back to train after the block if nothing else does."""
    statement = source.statement(line)
    if statement is None:
        return ""
    block = next((a for a in source.ancestors(statement) if isinstance(a, ast.With) and "grad" in ast.unparse(a.items[0].context_expr)), None)
    around = source.function(statement)
    if block is None and isinstance(around, Function):
        start = around.body[1] if ast.get_docstring(around) is not None and len(around.body) > 1 else around.body[0]
        return source.diff(source.before(start, f"{name}.eval()"))
    if block is None:
        return source.diff(source.before(statement, f"{name}.eval()"))
    edits = [source.before(block, f"{name}.eval()")]
    if back and not _returns_to_train(source, name):
        edits.append(source.after(block, f"{name}.train()"))
    return source.diff(*edits)


def _returns_to_train(source: Source, name: str) -> bool:
    """Whether some loop (or a function that is called again and again) switches to train mode by itself."""
    for call in source.calls("train"):
        owner = receiver(call)
        if owner is not None and not call.args and source.segment(owner).rpartition(".")[2] == name.rpartition(".")[2]:
            inside = any(isinstance(a, (ast.For, ast.While, ast.FunctionDef)) for a in source.ancestors(call))
            if inside and called(call) == "train":
                return True
    return False
