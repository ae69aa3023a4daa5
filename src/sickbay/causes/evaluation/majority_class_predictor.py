"""The model gives the same answer to every sample.

## What happens

Whatever it is shown, the model predicts one class. Accuracy is that class's share, which may look like a result.

## How we know

The predictions at the loss function, class by class, beside the labels: at the end one class has practically all predictions, while the labels are spread over several.

## Looks like it but is not

- One class that has nearly all labels, too: `class-imbalance`.
- The first steps: every model starts there.
- Whatever stopped the model from learning (a dead layer, a learning rate, labels that do not fit): it is found by itself, and this is its consequence.

## Fix

Compare every score with that of the best constant answer. Train on one small batch until its loss is near zero; if that fails, the model or the loss is broken, else the data.

## References

- Karpathy 2019, A recipe for training neural networks (overfit one batch; verify decreasing training loss).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import located, strong
from sickbay.causes.predicted import last_shares
from sickbay.causes.registry import cause
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import keyword, mend
from sickbay.script.loss_call import TAKES, first_head, loss_call, loss_place, weighted
from sickbay.signs import Signs
from sickbay.signs.losses import adversarial

ALL = 0.99
"""Share of the predictions that one class has."""
COMMON = 0.75
"""Share of the labels that the commonest class may have: above, predicting it alone pays (see class-imbalance)."""
LABELS, STEPS = 200, 50


@cause(
    code="E601",
    level="evaluation",
    title="the model predicts one class for everything",
    why="Its accuracy is that class's share of the samples: it has learned nothing of the inputs.",
    explains={"chance-level", "flat-loss"},
    cure=None,
)
def majority_class_predictor(record: Record, signs: Signs) -> Iterator[Evidence]:
    labels = record.facts.labels
    if labels is None or labels.classes < 2 or sum(labels.histogram) < LABELS or record.facts.run.steps < STEPS or adversarial(record):
        return
    share = np.array(labels.histogram) / sum(labels.histogram)
    if share.max() > COMMON:
        return
    for family in ("predicted_share/eval", "predicted_share/train"):
        if (predicted := last_shares(record, family)) is None:
            continue
        one = int(predicted.argmax())
        if predicted[one] >= ALL:
            own = float(share[one]) if one < len(share) else 0.0
            where = "validation" if family.endswith("eval") else "training"
            call, head = loss_call(record), first_head(record)
            weights = loss_place(record) if call is not None and weighted(call[1]) else None
            told = f"; the loss weights the classes{located(weights)}" if weights is not None else ""
            yield strong(
                f"class {one} has {100 * predicted[one]:.1f} % of the predictions at the end ({where}) and {100 * own:.0f} % of the labels{told}",
                weights or (head.called_at if head is not None else None) or labels.place,
                predicted=float(predicted[one]),
                share=own,
            )
        return


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    call = loss_call(record)
    if call is not None and weighted(call[1]):
        name = next(n for n in TAKES if keyword(call[1], n) is not None)
        text = "leave the weights out, or make them about 1 / the share of each class: as they are, one class outweighs all others"
        return mend(text, call[0].diff(call[0].giving(call[1], name, "None")), f"{name}=None", "consent")
    return mend(
        "train on one small batch until its loss is near zero: if that fails, the model or the loss is broken, else look at data and learning rate",
        "",
        "x, y = next(iter(train_loader))\nfor _ in range(300):\n    optimizer.zero_grad()\n    loss = criterion(model(x), y)\n    loss.backward()\n    optimizer.step()",
    )
