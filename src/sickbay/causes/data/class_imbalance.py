"""One class is so common that the model predicts nothing else.

## What happens

With nine samples in ten of one class, predicting it always is right nine times in ten, and the gradient of the few others is drowned. Accuracy looks good; the
rare classes, mostly the ones of interest, are never found.

## How we know

The labels of the training batches, beside what the model predicts: a rare class that has its share of labels and hardly any of the predictions to the end, in
evaluation where there is one, while the commonest class has most of the labels. Where every pixel has a label (segmentation), pixels are counted; where a sample may
have several tags, the tags that are there and those that are not.

## Looks like it but is not

- Imbalanced data that the model copes with: rare classes are predicted about as often as they occur.
- A model that learns nothing at all for another reason: that reason is found by itself and comes first.
- The first steps, in which every model predicts the commonest class.

## Fix

Weights in the loss (`CrossEntropyLoss(weight=...)`, `pos_weight`), a balanced sampler, or a threshold chosen for the rare class; judge by recall, not accuracy.

## References

- He and Garcia 2009, Learning from imbalanced data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import hint, listed, strong
from sickbay.causes.predicted import last_shares
from sickbay.causes.registry import cause
from sickbay.facts import Head
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import keyword, mend
from sickbay.script.loss_call import TAKES, first_head, loss_call, loss_place, weighted
from sickbay.signs import Signs

COMMON = 0.75
"""Share of the commonest class from which predicting it alone pays."""
NEVER = 0.1
"""A rare class gets less than a tenth of the predictions that its labels would give it."""
NEVER_ONE = 0.05
"""...one of them alone, where others are found, less than a twentieth."""
LABELS = 200
MARGIN = 0.02
"""The rare classes together must have this share of the labels at least: otherwise a few samples decide."""


PIXELS = 0.005
"""...of pixels: of a few hundred thousand, this many are a thousand or more."""
MOST_CLASSES = 10
LOOKS = 3
"""Batches whose pixels were counted."""
COUNTED = ("pixels", "tags")
"""What is there or not, each by itself."""


@cause(
    code="D108",
    level="data",
    title="one class crowds out the others",
    why="Always predicting the commonest class is nearly right, so the model does; the rare classes are never found, and accuracy hides it.",
    explains={"chance-level", "flat-loss", "early-plateau", "slow-descent", "val-flat-from-start", "lr-too-low"},
    cure="class-weights",
)
def class_imbalance(record: Record, signs: Signs) -> Iterator[Evidence]:
    found = _labels(record)
    if found is None:
        return
    share, noun, least, place = found
    common = int(share.argmax())
    rare = 1 - share[common]
    if share[common] < COMMON or rare < least:
        return
    for family in ("predicted_share/eval", "predicted_share/train"):
        predicted = last_shares(record, family, len(share))
        if predicted is None:
            continue
        others = 1 - predicted[common]
        where = "validation" if family.endswith("eval") else "training"
        if others < NEVER * rare:
            yield strong(
                f"class {common} has {100 * share[common]:.0f} % of the {noun} and {100 * predicted[common]:.1f} % of the predictions at the end ({where}); "
                f"the others have {100 * rare:.1f} % of the {noun} and {100 * others:.2g} % of the predictions",
                loss_place(record) or place,
                common=float(share[common]),
                predicted=float(predicted[common]),
            )
            yield hint(f"accuracy alone hides it: always predicting class {common} scores {100 * share[common]:.0f} %")
        elif lost := [
            k for k in range(len(share)) if k != common and noun == "labels" and share[k] >= MARGIN and predicted[k] < NEVER_ONE * share[k]
        ]:
            yield strong(
                f"class {common} has {100 * share[common]:.0f} % of the {noun}; class {listed([str(k) for k in lost])}, with {100 * share[lost].sum():.1f} %, has "
                f"{100 * predicted[lost].sum():.2g} % of the predictions at the end ({where})",
                loss_place(record) or place,
                common=float(share[common]),
                predicted=float(predicted[lost].sum()),
            )
            yield hint(f"accuracy alone hides it: without ever finding class {lost[0]} it can be {100 * (1 - share[lost].sum()):.0f} %")
        return


def _labels(record: Record) -> tuple[np.ndarray, str, float, Place | None] | None:
    """Each class's share of the labels, what is counted, the least share of the rare ones, and where; None where too little is known."""
    labels = record.facts.labels
    if labels is not None:
        if sum(labels.histogram) < LABELS or labels.classes < 2:
            return None
        return np.array(labels.histogram) / sum(labels.histogram), "labels", MARGIN, labels.place
    family = record.family("label_share/train")
    head = next((h for loss in record.facts.losses for h in loss.heads if h.target_shape), None)
    if len(family.steps) < LOOKS or len(family.names) < 2 or (head is not None and _one_of_many(head)):
        return None
    share = np.asarray(np.nanmean(np.asarray(family.values, float), axis=0))
    return (share, "tags", MARGIN, None) if head is not None and len(head.target_shape) == 2 else (share, "pixels", PIXELS, None)


def _one_of_many(head: Head) -> bool:
    """One class per sample, written as a row with a single 1: there "not this one" is common by design."""
    return len(head.target_shape) == 2 and head.target is not None and head.target.row_sum == (1.0, 1.0)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    head, call, found = first_head(record), loss_call(record), _labels(record)
    share = found[0] if found is not None else np.ones(1)
    if found is not None and found[1] in COUNTED:
        text = (
            "weight the rare class in the loss (by how rare it is), or use a loss of the overlap (Dice); look at recall and overlap, not at accuracy"
        )
    else:
        text = "weight the classes in the loss (by 1 / their share), or sample them evenly; look at recall per class"
    binary = len(share) == 2 and ((found is not None and found[1] in COUNTED) or "binary" in (head.function if head is not None else ""))
    if binary:
        name, weights, loss = "pos_weight", f"torch.tensor({share[0] / max(float(share[1]), 1e-9):.1f})", "BCEWithLogitsLoss"
    elif 1 < len(share) <= MOST_CLASSES:
        name, loss = "weight", "CrossEntropyLoss"
        weights = f"torch.tensor([{', '.join(f'{1 / (len(share) * max(float(s), 1e-9)):.2g}' for s in share)}])"
    else:
        return mend(text, "", "WeightedRandomSampler(1 / counts[labels], len(labels))")
    if call is not None and weighted(call[1]):
        text = "weight the rare classes up, by 1 / their share; the weights that the loss is given do not"
    fits = call is not None and keyword(call[1], name) is None and head is not None and head.function in TAKES[name]
    diff = call[0].diff(call[0].giving(call[1], name, weights)) if call is not None and fits else ""
    return mend(text, diff, f"criterion = nn.{loss}({name}={weights})", "consent")
