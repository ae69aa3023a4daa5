"""A checkpoint was read, but the model trains from its random start.

## What happens

The names in the file and in the model differ (a prefix such as "module." or "backbone."), and `strict=False`, or a filter over the names, drops
everything without a word. Or the state goes into a copy, or the model is initialised once more after it was loaded, or the line that loads it
is missing. The run starts from scratch while its author believes that it is being fine-tuned or resumed.

## How we know

Proof, by names and by values: `load_state_dict` matched (almost) no entry of the state with an entry of the model; or, when training begins, none of
the model's weights holds a value of the file although the shapes fit, and they still hold the numbers that a random initialisation drew.

## Looks like it but is not

- A new head, or a backbone inside a larger model: most of the state, or most of the model, is matched.
- A file for a teacher or a feature extractor: its weights are in another module that the run calls.
- Data sets and optimizer states that are read with torch.load.
- Averages of several checkpoints: the model's values change when they are loaded.
- A file that is read after training, for the test.

## Fix

Load with `strict=True` and repair the names; initialise before loading, not after.

## References

- https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
- https://discuss.pytorch.org/t/solved-keyerror-unexpected-key-module-encoder-embedding-weight-in-state-dict/1686
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import at, first_place, listed, located, proof, strong
from sickbay.causes.registry import cause
from sickbay.facts import CheckpointRead, StateLoad
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import keyword, mend, source_at
from sickbay.script.read_states import merged
from sickbay.script.thrown_away import result_dropped
from sickbay.signs import Signs

ALMOST_NONE = 0.1
"""A tenth of the state and of the model: what matches is accident (a bias, a counter), the rest was lost."""
NOT_KEPT = "is not kept"
HALF = 0.5
"""New heads and larger models leave most of one side matched; less than half of both sides is neither."""


@cause(
    code="P321",
    level="procedure",
    title="the checkpoint did not reach the model",
    why="The run starts from random weights instead of the trained ones, and pays for the whole training again.",
    explains={
        "flat-loss", "slow-descent", "early-plateau", "chance-level", "val-flat-from-start", "lr-too-low", "update-ratio-low", "overfitting", "val-rising",
        "frozen-parameters", "vanishing-gradient", "dead-relu", "dead-units", "small-gradients", "gradient-decay-with-depth", "train-val-gap",
    },
)  # fmt: skip
def checkpoint_not_loaded(record: Record, signs: Signs) -> Iterator[Evidence]:
    if not record.facts.run.steps:
        return
    told = False
    for load in record.facts.state_loads:
        for line in _of_load(load):
            told = True
            yield line
    if not told:
        for read in record.facts.checkpoints:
            yield from _of_read(record, read)


def _of_load(load: StateLoad) -> Iterator[Evidence]:
    if not load.trained:
        return
    of_state = load.matched / load.given if load.given else 0.0
    of_model = load.matched_values / load.own_values if load.own_values else 1.0
    if of_state < HALF and of_model < HALF:
        names = f"; the model's are called {listed(load.missing, 2)}" if load.missing else ""
        names += f", the state's {listed(load.unexpected, 2)}" if load.unexpected else ""
        kind = proof if of_state < ALMOST_NONE and of_model < ALMOST_NONE else strong
        what = f"{load.matched} of the {load.given} entries of the state" if load.given else "nothing: the state that it was given is empty"
        yield kind(
            f"load_state_dict{located(load.place)} put {what} into {load.module}, which has {load.own}{names}",
            load.place,
            matched=load.matched,
            given=load.given,
            own=load.own,
        )
    elif load.weights and load.redrawn > HALF * load.weights:
        yield proof(
            f"{load.redrawn} of the {load.weights} weights that were loaded{located(load.place)} were drawn at random once more"
            f"{located(load.redrawn_at)}, before training began",
            load.place,
            redrawn=load.redrawn,
        )


def _of_read(record: Record, read: CheckpointRead) -> Iterator[Evidence]:
    """None of the file's values is in the model, though its shapes say that it was meant for it."""
    if read.used_elsewhere or read.weights < 2 or read.present or read.fitting <= HALF * read.weights or read.drawn <= HALF * read.weights:
        return
    later = [x for x in record.facts.state_loads if x.step >= read.step]
    idle = next((x for x in later if x.trained and x.changed is False), None)
    copy = next((x for x in later if not x.trained and not x.called and x.matched), None)
    aside = f" (load_state_dict{located(idle.place)} changed nothing)" if idle is not None else ""
    aside = (
        f" (load_state_dict{located(copy.place)} put it into another {copy.module}, which is not used)" if copy is not None and not aside else aside
    )
    wrong = idle or copy
    source = source_at(record, copy.place if copy is not None else None)
    dropped = result_dropped(source, copy.place) if copy is not None and wrong is copy else None
    aside += f"; what {at(source.place(dropped.lineno))} gives back {NOT_KEPT}" if dropped is not None and source is not None else ""
    made = merged(record, read.place) if wrong is None else None
    aside += f"; what is made of it{located(made.place)} is given to no model" if made is not None else ""
    otherwise = wrong.place if wrong is not None else made.place if made is not None else read.place
    yield proof(
        f"{read.file or 'the checkpoint'}, read{located(read.place)}, fits {read.fitting} of the model's {read.weights} weights by shape, but none of them "
        f"holds its values when training begins: {read.drawn} still hold the numbers of their random initialisation{aside}",
        source.place(dropped.lineno) if dropped is not None and source is not None else otherwise,
        fitting=read.fitting,
        weights=read.weights,
    )


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    loads = [x for x in record.facts.state_loads if x.trained]
    place = first_place(evidence)
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    dropped = any(NOT_KEPT in e.text for e in evidence)
    if dropped and source is not None and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and statement.value.args:
        model, call = source.segment(statement.value.args[0]), source.segment(statement.value)
        diff = source.diff(source.replacing(statement.value, f"{model} = {call}")) if model.isidentifier() else ""
        return mend("keep the model that the state was loaded into", diff, f"{model} = {call}", "consent")
    if not loads:
        found = [m for r in record.facts.checkpoints if (m := merged(record, r.place)) is not None and m.place == place]
        diff = found[0].diff if found else ""
        return mend(
            "load the state into the model that is trained",
            diff,
            "model.load_state_dict(state)  # the model whose parameters the optimizer holds",
            "consent",
        )
    if any("once more" in e.text for e in evidence):
        return mend(
            "initialise first, load last (move the loading below the initialisation)", "", "model.apply(init_weights)\nmodel.load_state_dict(state)"
        )
    for load in loads:
        if (renamed := _renaming(load)) is not None:
            return mend(
                "rename the entries to the model's names and load them strictly", "", f"state = {renamed}\nmodel.load_state_dict(state, strict=True)"
            )
    calls = source.calls("load_state_dict", line=place.line) if source is not None and place is not None else []
    strict = keyword(calls[0], "strict") if len(calls) == 1 else None
    diff = source.diff(source.replacing(strict.value, "True")) if source is not None and strict is not None else ""
    return mend("load strictly, so that names which do not match are an error", diff, "model.load_state_dict(state, strict=True)", "consent")


def _renaming(load: StateLoad) -> str | None:
    """The one prefix by which the names of the state and of the model differ."""
    for theirs in load.unexpected:
        for ours in load.missing:
            if theirs.endswith("." + ours):
                return f'{{k.removeprefix("{theirs.removesuffix(ours)}"): v for k, v in state.items()}}'
            if ours.endswith("." + theirs):
                return f'{{"{ours.removesuffix(theirs)}" + k: v for k, v in state.items()}}'
    return None
