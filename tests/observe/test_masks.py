"""Dropout that the script writes itself is seen by its masks; masks of a loss and of the input are none."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

SCRIPT = """
first, second = nn.Linear(8, 32), nn.Linear(32, 4)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
for step in range(20):
    x, y = torch.randn(64, 8), torch.randn(64, 4)
    h = torch.relu(first(x))
    keep = 0.25
    DROP
    out = second(h)
    loss = ((out - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "drop",
    [
        "h = h * h.new_empty(64, 32).bernoulli_(keep) / keep",
        "h = h * (torch.rand_like(h) < keep).float() / keep",
        "h = h * (torch.rand(64, 32) < keep)",
        "h = h * torch.bernoulli(torch.full((64, 32), keep)) / keep",
    ],
)
def test_dropout_by_hand(script: WatchScript, drop: str) -> None:
    (mask,) = script(SCRIPT.replace("DROP", drop)).loss.masks
    assert abs(mask.rate - 0.75) < 0.05
    assert mask.place is not None and mask.place.text == drop


@pytest.mark.parametrize(
    "drop",
    [
        "pass",
        "h = h * 0.5",
        "h = h * (h > 0.1)",  # by the values themselves
        "h = h + 0.1 * torch.randn_like(h)",
        "h = F.dropout(h, 0.75)",  # seen as what it is
    ],
)
def test_other_factors_are_none(script: WatchScript, drop: str) -> None:
    assert not script(SCRIPT.replace("DROP", drop)).loss.masks


def test_the_mask_of_a_loss_is_none(script: WatchScript) -> None:
    text = SCRIPT.replace("DROP", "pass").replace("((out - y) ** 2).mean()", "((out - y) ** 2 * (torch.rand_like(out) < 0.15)).mean()")
    assert not script(text).loss.masks


def test_the_mask_of_the_input_is_none(script: WatchScript) -> None:
    text = SCRIPT.replace("DROP", "pass").replace("first(x)", "first(x * (torch.rand_like(x) < 0.25))")
    assert not script(text).loss.masks
