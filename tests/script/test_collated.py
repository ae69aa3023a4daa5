"""What a collate function leaves in another order than the rest of the batch."""

from __future__ import annotations

import pytest

from causes.scripts import added
from sickbay.facts import Loader
from sickbay.script.collated import unordered
from sickbay.testing import make_record, place_in

TEXT = """\
def collate(samples):
    clicks, kinds = zip(*samples)
    kinds = torch.tensor(kinds)
    lengths = torch.tensor([len(c) for c in clicks])
    lengths, order = lengths.sort(descending=True)
    padded = pad_sequence([clicks[i] for i in order.tolist()])
    return padded, lengths, kinds

train = DataLoader(data, 64, collate_fn=collate)
"""


def found(text: str):  # type: ignore[no-untyped-def]
    return unordered(make_record(sources={"train.py": text}), Loader(index=0, role="train", built_at=place_in(text, "train = DataLoader")))


@pytest.mark.parametrize(
    "order", ["lengths, order = lengths.sort(descending=True)", "order = torch.argsort(lengths)", "order = np.argsort(-lengths)[::-1]"]
)
def test_labels_that_stay_behind_when_a_batch_is_sorted(order: str) -> None:
    left = found(TEXT.replace("lengths, order = lengths.sort(descending=True)", f"{order}\n    lengths = lengths[order]"))
    assert left is not None and left.names == "`kinds`"
    assert left.place.text == "return padded, lengths, kinds" and left.place.guess
    assert added(left.diff()) == ["    return padded, lengths, kinds[order]"]


def test_what_is_no_tensor_gets_no_diff() -> None:
    left = found(TEXT.replace("    kinds = torch.tensor(kinds)\n", ""))
    assert left is not None and left.diff() == ""


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("lengths, kinds\n", "lengths, kinds[order]\n"),
        TEXT.replace("    return", "    kinds = kinds[order]\n    return"),
        TEXT.replace("lengths, kinds\n", "lengths, kinds, order\n"),  # whoever takes it can put it right
        TEXT.replace("lengths, order = lengths.sort(descending=True)", "samples.sort(key=len)"),
        TEXT.replace("    padded =", "    order = range(len(clicks))\n    padded =").replace(
            "lengths, order = lengths.sort(descending=True)", "pass"
        ),
        TEXT.replace(", collate_fn=collate", ""),
    ],
)
def test_batches_in_one_order(text: str) -> None:
    assert found(text) is None
