"""What a healthy run may make a user wonder about, with the reason why it is fine. Remarks never change a verdict.

`validation-easier-than-training` (E603): validation below training looks like a mistake, and is what dropout, label smoothing and augmentation
do: training is measured with them, validation without.
"""

from __future__ import annotations

from sickbay.causes.dropouts import dropouts
from sickbay.record.reader import Record
from sickbay.signs import Signs


def validation_easier(record: Record, signs: Signs) -> str:
    """Why validation is below training, as the end of a sentence; "" if it is not."""
    if not signs.has("val-below-train"):
        return ""
    rates = [p for _, p in dropouts(record)]
    smoothing = max((h.label_smoothing for loss in record.facts.losses for h in loss.heads), default=0.0)
    if rates and not record.facts.modes.evaluation_in_train:
        return f"validation is below training because dropout (p={max(rates):g}) is on in training: fine"
    if smoothing:
        return f"validation is below training, where label smoothing of {smoothing:g} holds the loss up: fine"
    if record.facts.log is not None:
        return "validation is below training, as dropout, augmentation and label smoothing make it: fine"
    return ""
