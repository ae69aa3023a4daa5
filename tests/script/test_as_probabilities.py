"""Scripts that add answers up, and such that only rank them."""

from __future__ import annotations

import pytest

from sickbay.script.as_probabilities import taken_for_probabilities, weighed_at
from sickbay.testing import make_record

FUNCTION = "def predict(model, x):\n    return torch.sigmoid(model(x).squeeze(1))\n\n\n"


def line(script: str) -> int | None:
    place = taken_for_probabilities(make_record(sources={"/x/train.py": script}))
    return place.line if place is not None else None


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("p = logits.sigmoid()\nprint(p.sum())\n", 2),
        ("p = torch.cat([torch.sigmoid(model(x)) for x, _ in loader])\nbrier = ((p - y) ** 2).mean()\n", 2),
        (FUNCTION + "p = predict(model, xv)\nprint((p * amount).sum())\n", 6),
        ("print(torch.softmax(z, 1).sum())\n", 1),
        ("p = torch.softmax(z, 1)\ncost = np.sum(amount * p)\n", 2),
    ],
)
def test_answers_that_are_counted_on(script: str, expected: int) -> None:
    assert line(script) == expected


@pytest.mark.parametrize(
    "script",
    [
        "p = logits.sigmoid()\nprint(((p > 0.5) == y).float().mean())\n",
        "hits = (torch.sigmoid(z) > 0.5).sum()\n",
        "right = (p.softmax(1).argmax(1) == y).sum()\n",
        "p = torch.sigmoid(z)\ndice = 2 * (p * y).sum() / (p.sum() + y.sum())\n",
        "def dice_loss(z, y):\n    p = torch.sigmoid(z)\n    return 1 - 2 * (p * y).sum() / (p.sum() + y.sum())\n",
        "class Pool(nn.Module):\n    def forward(self, x):\n        w = torch.softmax(self.score(x), 1)\n        return (w * x).sum(1)\n",
        "this is not Python",
    ],
)
def test_answers_that_are_ranked_or_part_of_a_model(script: str) -> None:
    assert line(script) is None


def test_where_classes_are_weighed() -> None:
    script = "w = torch.tensor(5.0)\ncriterion = nn.BCEWithLogitsLoss(pos_weight=w)\n"
    place = weighed_at(make_record(sources={"/x/train.py": script}))
    assert place is not None and place.line == 2
    assert weighed_at(make_record(sources={"/x/train.py": script + "other = nn.CrossEntropyLoss(weight=w)\n"})) is None
