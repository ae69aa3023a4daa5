"""Inputs and labels do not belong together.

## What happens

Inputs and labels are read from two places and matched by position, and one of them is sorted, shuffled, filtered or shifted on its own. Every sample has a
label, only not its own. A large model learns them by heart and knows nothing of new samples; a small one stays where it began.

## How we know

A sample of up to 3,000 inputs and targets is kept in memory while the run goes on. At its end, each target is told from the other samples by simple means: the
nearest neighbours and a linear map. They do no better than on targets dealt out at random, and the model does no better than a constant on validation
data. It is proven when the targets fit as soon as they are moved by a few places in the data set's order, or when the same samples come with other labels in
every epoch.

## Looks like it but is not

- A task that is too hard for neighbours and linear maps: the model itself generalises, or it doesn't learn its training data either.
- Random inputs with random labels, to measure speed: nothing is to be learned there, and the script makes both.
- Language models, autoencoders, contrastive pairs, several labels at once, targets that a model makes: there is no single label per sample.
- Labels of which a part is wrong: `label-noise`.

## Fix

Match inputs and labels by a key (a file name, an id), not by position; permute both with the same order. Look at ten samples with their labels.

## References

- Zhang, Bengio, Hardt, Recht and Vinyals 2017, Understanding deep learning requires rethinking generalization (networks learn random labels by heart).
- Karpathy 2019, A recipe for training neural networks (visualise just before the net).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sickbay.causes.evidence import against, first_place, hint, proof, strong
from sickbay.causes.examples import ENOUGH_ROWS, at_chance, generalises, memorised, probe_of, told
from sickbay.causes.parameters import unused
from sickbay.causes.registry import cause
from sickbay.facts import DataProbe, Offset, Relation
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.collated import Unordered, unordered
from sickbay.script.fixing import mend
from sickbay.script.prepared import displaced, prepared
from sickbay.script.reordered import reordered
from sickbay.signs import Signs

CHANGED = 0.3
"""Share of samples that come with another label than before, from which labels are not the samples' own. (Of C classes dealt out anew, 1 - 1/C change.)"""
FITS = 8.0
"""Spreads beyond chance from which validation's own labels clearly follow from its inputs."""
LUCK = 0.1
"""Of what inputs tell of validation's labels: less is luck, or a few labels that are right."""
RANDOM_LABELS = re.compile(r"=.*\b(?:randint|random_integers|multinomial|bernoulli|rand\w*\s*\(.*\)\s*[<>])")
"""Labels that the script draws at random."""


@cause(
    code="D111",
    level="data",
    title="inputs and labels do not belong together",
    why="There is nothing to learn that holds for new samples: labels can only be learned by heart.",
    explains={
        "flat-loss", "chance-level", "slow-descent", "early-plateau", "val-flat-from-start", "val-rising", "train-val-gap", "overfitting",
        "lr-too-low", "under-capacity", "label-noise", "majority-class-predictor", "miscalibrated",
    },
    cure=None,
)  # fmt: skip
def misaligned_labels(record: Record, signs: Signs) -> Iterator[Evidence]:
    probe = probe_of(record)
    if probe is None or (relation := probe.relation) is None:
        return
    collated = _collated(record)
    place = (
        displaced(prepared(record, probe.place, probe.target)) or reordered(record, probe.place) or (collated.place if collated is not None else None)
    )
    probe = replace(probe, place=place or probe.place)
    if probe.offset is not None:
        yield proof(_shifted(probe, relation, probe.offset), probe.place, rows=relation.rows, by=probe.offset.by)
    elif _dealt_anew(probe, signs):
        yield proof(
            f"the same samples come with other labels: of {probe.again:,} that came again, number for number, {100 * probe.changed / probe.again:.0f} % had another label than before",
            probe.place,
            again=probe.again,
            changed=probe.changed,
        )
    elif (at_chance(relation) or _next_to_nothing(probe, relation, signs)) and not _made_up(record, probe):
        yield from _unrelated(record, probe, relation, signs)


def _collated(record: Record) -> Unordered | None:
    """What the function that makes training's batches leaves in another order than the rest."""
    return unordered(record, next((x for x in record.facts.loaders if x.role == "train"), None))


def _dealt_anew(probe: DataProbe, signs: Signs) -> bool:
    """Of tokens it says nothing: the same few words are followed by others."""
    return (
        probe.kind != "tokens"
        and probe.targets == "classes"
        and probe.again >= ENOUGH_ROWS
        and probe.changed > CHANGED * probe.again
        and signs.has("chance-level", "flat-loss")
    )


def _next_to_nothing(probe: DataProbe, relation: Relation, signs: Signs) -> bool:
    """Labels dealt out at random may fit a little by luck. A model that guesses, beside validation labels that follow from such inputs, tells that it is no more."""
    told = [e.relation.score - e.relation.chance for e in probe.evaluations if e.relation is not None and e.relation.beyond >= FITS]
    return bool(told) and signs.has("chance-level") and relation.score - relation.chance < LUCK * max(told)


def _made_up(record: Record, probe: DataProbe) -> bool:
    """Inputs and labels are drawn at random: a benchmark, or a test of the machinery."""
    return probe.noise_inputs and any(RANDOM_LABELS.search(line) for text in record.sources.values() for line in text.splitlines())


def _unrelated(record: Record, probe: DataProbe, relation: Relation, signs: Signs) -> Iterator[Evidence]:
    answer = generalises(record, probe)
    if answer == "yes" or probe.changed > CHANGED * max(probe.again, 1):  # targets that a model makes
        return
    by_heart = memorised(record, probe)
    stuck = signs.has("chance-level", "flat-loss", "slow-descent")  # labels that can only be learned by heart are learned slowly
    dealt = (
        f"{100 * relation.chance:.0f} % if they were dealt out at random"
        if probe.targets == "classes"
        else "nothing, as if they were dealt out at random"
    )
    text = f"labels do not follow from inputs: {told(relation, probe.targets == 'classes')}, {dealt}"
    good = next((e.relation for e in probe.evaluations if e.relation is not None and e.relation.beyond > FITS), None)
    if good is not None and (by_heart or stuck):
        yield strong(f"{text}; the same on validation data: {told(good, probe.targets == 'classes')}", probe.place, score=relation.score)
        yield hint("validation data has its own labels, training data has not")
    elif answer == "no" and (by_heart or stuck or probe.kind == "table"):
        yield strong(text, probe.place, score=relation.score, chance=relation.chance)
        yield hint(
            "the model learns its training samples by heart and knows nothing of others" if by_heart else "the model does not learn them either"
        )
        if not by_heart and probe.kind != "table":
            yield from _otherwise_ill(record, signs)
    elif stuck and probe.kind == "table":
        yield hint(text, probe.place, score=relation.score, chance=relation.chance)


def _otherwise_ill(record: Record, signs: Signs) -> Iterator[Evidence]:
    """Simple means may fail on images, series and texts where a model would not: if it shows why it fails, that comes first."""
    if idle := [p for p in unused(record) if not p.called]:
        yield against(f"the model may not learn for another reason: {idle[0].layer or idle[0].name} was built for it and is never called")
    for sign in signs.named(
        "small-gradients", "dead-units", "saturated-units", "update-ratio-low", "update-ratio-high", "oscillating-loss", "diverging-loss"
    )[:1]:
        yield against(f"the model may not learn for another reason: {sign.text}")


def _shifted(probe: DataProbe, relation: Relation, offset: Offset) -> str:
    classes = probe.targets == "classes"
    where = (
        "when the labels are taken in opposite order"
        if offset.reversed
        else f"when each sample takes the label {abs(offset.by)} place{'s' if abs(offset.by) > 1 else ''} {'before' if offset.by > 0 else 'after'} its own in the data set"
    )
    return f"labels belong to other samples: {told(relation, classes)} as they are, and {100 * offset.relation.score:.0f} % {where}"


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    by = next((int(e.numbers["by"]) for e in evidence if "by" in e.numbers), 0)
    if by:
        text = f"the labels are shifted by {abs(by)}: pair input i with label i {'-' if by > 0 else '+'} {abs(by)}, and drop what is left over at the border"
        return mend(text, "", f"x, y = x[{by}:], y[:-{by}]" if by > 0 else f"x, y = x[:{by}], y[{-by}:]")
    collated = _collated(record)
    if collated is not None and collated.place == first_place(evidence):
        return mend(
            f"put {collated.names} in the order of the rest, too",
            collated.diff(),
            f"{collated.left[0].id} = {collated.left[0].id}[{collated.order}]",
            "consent",
        )
    text = "match inputs and labels by a key, not by position; whatever sorts, shuffles or filters one must do the same to the other"
    return mend(text, "", "order = torch.randperm(len(x))\nx, y = x[order], y[order]  # one order for both")
