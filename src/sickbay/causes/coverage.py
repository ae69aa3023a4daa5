"""What was not looked at, and why. Silence must not read as approval."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.causes.accuracies import told, validation_accuracy
from sickbay.causes.printed_turn import printed_turn
from sickbay.nouns import NotChecked
from sickbay.record.reader import Record


def not_checked(record: Record) -> tuple[NotChecked, ...]:
    """Everything that this diagnosis could not look at, the particular before the general."""
    found = [*_limits(record), *_unseen(record)]
    return tuple({n.what: n for n in reversed(found)}.values())[::-1]


def _limits(record: Record) -> Iterator[NotChecked]:
    for limit in record.facts.limits:
        yield NotChecked(limit.what, limit.why)
    for damage in record.damage:
        yield NotChecked("a part of the record", f"it could not be read ({damage})")


def _unseen(record: Record) -> Iterator[NotChecked]:
    facts = record.facts
    if facts.log is None and not facts.run.steps and not facts.run.backwards:
        yield NotChecked("everything that training shows", "no training step was taken")
        return
    if not any(len(s) for s in record.series_like("loss/eval")) and printed_turn(record) is None:
        right = validation_accuracy(record)
        only = f", only how many answers are right (validation accuracy {told(right)})" if right is not None else ""
        yield NotChecked("overfitting", f"no validation loss was seen{only}")
    if facts.log is not None:
        return  # its limits say it all: the program was not seen
    if facts.losses and not any(loss.heads for loss in facts.losses):
        yield NotChecked(
            "what enters the loss function", "none of the loss functions that are read was called (the loss is hand-written, or of another kind)"
        )
    if facts.labels is None and facts.run.steps:
        yield NotChecked("the order of the labels", "no targets were seen at a known loss function")
    if facts.data_probe is None and facts.run.steps:
        ended = "no samples with one answer each were seen" if facts.run.finished else "they are studied at the end of a run, and this one has none"
        yield NotChecked("label noise, misaligned labels and columns that hold the answer", ended)
    if facts.losses and not any(loss.graph_reads or loss.operations for loss in facts.losses):
        yield NotChecked("the structure of the loss", "its operations were not followed")
    if facts.run.steps and not len(record.family("grad_norm").steps):
        yield NotChecked("gradients and updates by layer", "no layer statistics were recorded")
    if facts.run.steps and not record.family("activation_mean").names:
        yield NotChecked("dead and saturated units", "no activations were observed")
