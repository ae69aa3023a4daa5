"""Many labels are wrong.

## What happens

Annotators err, files are named wrongly, a script of rules labels the data. A model first learns what most samples agree on and then, one by one, the exceptions: training
loss falls on while validation gets worse, and the wrong labels in the validation set put a ceiling on what can be measured.

## How we know

Of up to 3,000 samples, kept in memory while the run goes on, each is told from all others by a smooth map of the inputs (confident learning, with every sample left out of
its own prediction). Classes that overlap are at odds with their labels only where they are unclear. Here the clearest third of all samples is at odds too: they resemble one class
without doubt and are called by another. Which samples, the evidence lists by their index in the data set.

Errors that follow a rule (a default label for what was not found, a part of the data numbered by another list) look like overlap from inside. Validation tells them apart: its labels follow
from its inputs far better than training's do, by the same simple means and from fewer samples.

## Looks like it but is not

- Classes that overlap, and outcomes that are uncertain by nature: disagreement fades where samples are clear.
- A task that a smooth map does not grasp: few samples resemble anything clearly, and those agree with their labels.
- Training inputs that are augmented, which are harder than validation's: training's samples must have come again number for number before the two are compared; or training's
  samples must tell far more of validation's labels than of each other's, while many of those that resemble one class most clearly have another label (hard samples are not clear).
- An evaluation of training's own samples (for a training accuracy): each is told by itself, so nothing is learned of other labels.
- A few odd labels: up to a few in a hundred are in most data sets (Northcutt, Athalye and Mueller 2021) and do little harm.

## Fix

Look at the suspects; correct or drop them, in the validation set first. Label smoothing and early stopping soften what is left.

## References

- Northcutt, Jiang and Chuang 2021, Confident learning: estimating uncertainty in dataset labels.
- Northcutt, Athalye and Mueller 2021, Pervasive label errors in test sets destabilize machine learning benchmarks.
- Arpit et al. 2017, A closer look at memorization in deep networks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sickbay.causes.evaluated import shown_in
from sickbay.causes.evidence import first_place, hint, listed, strong
from sickbay.causes.examples import probe_of, told
from sickbay.causes.registry import cause
from sickbay.facts import DataProbe, EvaluatedExamples, Loader, Relation, Suspects
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, source_at
from sickbay.script.prepared import prepared, relabelled
from sickbay.script.statement_kinds import column_of, given_names
from sickbay.signs import Signs

SHARE = 0.05
"""Of the clearest 30 % of the samples that resemble another class than theirs, with two standard errors off. In eight clean data sets (digits, wines, tumours, moons, mixtures,
linear rules with and without noise) it is 0 to 2 %; with a tenth of the labels replaced, 8 to 20 %."""
EVERYWHERE = 0.7
"""...as a part of the same share among all samples. Classes that overlap: 0 to 0.65 (mixtures, linear rules with noise of up to the size of the signal); a fifth or more of the labels
replaced: 0.7 to 1."""
GRASPED, GRASPED_OF_MANY = 0.42, 0.3
"""How much more samples resemble one class than the next, median; of four classes and more, among which wrong labels are spread, less is enough. Below it, an outcome that is
uncertain by nature (noise of twice the signal: 0.35) looks the same as three labels in ten replaced, and a smooth map does not grasp motifs in sequences (0.2)."""
SHARP, SHARE_IF_SHARP = 0.6, 0.03
"""Where samples resemble one class that clearly, the clearest 60 % count, and less is certain: 0 to 1 % of them are odd in clean data sets, 5 % with 5 % of the labels replaced."""
SURE, SHARE_IF_SURE, EVERYWHERE_IF_SURE = 0.03, 0.015, 0.5
"""...and where so many of all samples (two standard errors off, as in all of these) stand out once the odd ones are called otherwise, half of that: which of the replaced labels fall among the
clearest is chance (3.8, 4.4 and 6 % of them in three draws of digits with 5 % replaced, on which this was chosen). Of clean data sets in which classes are clear (wines, tumours, irises, digits, blobs,
moons, clusters), at most 1.1 % surely stand out and at most 0.2 % of the clearest are surely odd; with 2 % of the labels replaced, 2.4 % and 1.3 %. The clearest 30 % must hold it, too: a linear rule with noise (906's twin, no
label of it is wrong) fades from 21 % of all to 12 % of the clearest 60 % and 7 % of the clearest 30 %."""
REMAIN = 0.4
"""Part of the odd samples that must stand out clearly once the odd ones are called otherwise. Six classes that lie upon each other in a plane look alike by all of the above (0.17 and
0.22 there, without a wrong label); of labels that were replaced, 0.45 to 0.9 stand out (blobs of 3 and 6 classes, digits, wines, tumours)."""
DEEP = 60
CLEANER, ERRORS = 0.15, 4.0
"""How much more of validation's labels must be told (of what there is to tell beyond the commonest class), and in standard errors. In some forty clean pairs of training and
validation data of the ward the difference is at most 0.03; with three training labels in ten wrong by a rule, 0.25 to 0.6."""
OWN = 0.05
"""Share of an evaluation's rows that are training's: so many add at most five points to what is told, a third of what must be told more."""
CAME_AGAIN = 0.2
"""Of the samples: none is then made anew for every epoch."""


@cause(
    code="D112",
    level="data",
    title="many labels are wrong",
    why="The model learns the wrong labels by heart, at the cost of what holds for new samples, and validation cannot be better than its own labels.",
    explains={"val-rising", "train-val-gap", "overfitting", "early-plateau", "miscalibrated"},
    cure="drop-samples",
)
def label_noise(record: Record, signs: Signs) -> Iterator[Evidence]:
    probe = probe_of(record)
    if probe is None or probe.suspects is None or probe.suspects.deep < DEEP:
        return
    found = probe.suspects
    sharp = found.margin > SHARP
    sure = sharp and _at_least(found.count, found.rows) >= SURE
    odd, rows, enough = (found.most_odd, found.most, SHARE_IF_SURE if sure else SHARE_IF_SHARP) if sharp else (found.deep_odd, found.deep, SHARE)
    share, all_over = odd / rows, found.odd / found.known
    grasped = GRASPED if probe.classes < 4 else GRASPED_OF_MANY
    if _at_least(odd, rows) < enough:
        return
    cleaner = _cleaner(record, probe)
    stands_out = found.count / found.rows >= REMAIN * all_over
    everywhere = share >= EVERYWHERE * all_over or (sure and min(share, found.deep_odd / found.deep) >= EVERYWHERE_IF_SURE * all_over)
    if cleaner is None and (found.margin < grasped or not everywhere or not stands_out):
        return
    yield strong(
        f"{100 * share:.0f} % of the {rows:,} samples that resemble one class most clearly are labelled as another; {found.count:,} of {found.rows:,} samples are suspect{_where(record, probe)}",
        relabelled(prepared(record, probe.place, probe.target)) or probe.place,
        share=share,
        suspects=found.count,
    )
    if cleaner is not None:
        yield strong(f"labels of validation samples are not like that: {cleaner}")
    if found.indices:
        yield hint(f"the surest suspects: samples {listed([str(i) for i in found.indices], 12)}")
    elif found.pairs:
        yield hint(_pairs(found))


def _at_least(count: int, rows: int) -> float:
    """A share, with two standard errors off."""
    share = count / rows
    return share - 2 * math.sqrt(max(share * (1 - share), 0.01) / rows)


def _cleaner(record: Record, probe: DataProbe) -> str | None:
    """How much better labels of an evaluation's samples are told than training's: by its own samples; or by training's, whose own labels they tell worse."""
    ours = probe.relation
    if ours is None:
        return None
    for evaluation in probe.evaluations:
        theirs, by_training = evaluation.relation, evaluation.renamed
        if theirs is None or theirs.rows > ours.rows or _trained_on(record, evaluation):
            continue
        enough = max(CLEANER, ERRORS * math.sqrt(0.25 / ours.rows + 0.25 / theirs.rows))
        if probe.again >= CAME_AGAIN * ours.rows and _beyond(theirs) - _beyond(ours) > enough:
            return f"{told(theirs, True)}; in training {told(ours, True)}"
        if by_training is not None and by_training.right - by_training.within > enough:
            return f"training's own samples tell {by_training.right:.0%} of them, and of training's labels {by_training.within:.0%}"
    return None


def _trained_on(record: Record, evaluation: EvaluatedExamples) -> bool:
    """Its rows are training's, number for number: each resembles itself most, and so tells its own label, right or wrong."""
    return any(shown_in(data, evaluation) and data.found > OWN * data.rows for data in record.facts.evaluation_data)


def _beyond(relation: Relation) -> float:
    return (relation.score - relation.majority) / max(1 - relation.majority, 1e-9)


def _where(record: Record, probe: DataProbe) -> str:
    loader = next((x for x in record.facts.loaders if x.index == probe.loader), None)
    if loader is None or not loader.variable or not probe.suspects or not probe.suspects.indices:
        return ""
    return f" ({_data(loader)})"


def _data(loader: Loader) -> str:
    """The data set that indices count in: of a part (as random_split makes), the whole."""
    return f"{loader.variable}.dataset.dataset" if loader.dataset == "Subset" else f"{loader.variable}.dataset"


def _one_vote(record: Record, place: Place | None) -> str:
    """`labels = votes[:, 0]`, by majority."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    several = sorted(column_of(statement)) if statement is not None else []
    return f"{', '.join(sorted(given_names(statement)))} = torch.mode({several[0]}, dim=1).values" if several and statement is not None else ""


def _pairs(found: Suspects) -> str:
    return "most often: " + "; ".join(f"labelled {given}, resembles {other} ({count} times)" for given, other, count in found.pairs[:3])


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    probe = record.facts.data_probe
    if votes := _one_vote(record, first_place(evidence)):
        return Fix("this line takes one of several answers for each sample: take the one that most agree on", votes, "advice")
    indices = sorted(probe.suspects.indices[:16]) if probe is not None and probe.suspects is not None else []
    loader = next((x for x in record.facts.loaders if probe is not None and x.index == probe.loader), None)
    data = _data(loader) if loader is not None and loader.variable else "train_set"
    text = "look at the suspects and correct or drop them, in the validation set too; until then stop early and smooth the labels"
    if not indices:
        return mend(text, "", "criterion = nn.CrossEntropyLoss(label_smoothing=0.1)")
    snippet = f"suspects = {{{', '.join(map(str, indices))}}}  # the surest; all are in the record\n"
    return mend(text, "", snippet + f"clean = torch.utils.data.Subset({data}, [i for i in range(len({data})) if i not in suspects])")
