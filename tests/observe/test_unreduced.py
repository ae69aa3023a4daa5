"""Losses for each element: their plain mean is a validation loss only where training takes it, too."""

from __future__ import annotations

import numpy as np
import pytest

from observe.conftest import WatchScript

SCRIPT = """
import torch.nn.functional as F
model = nn.Linear(6, 3)
x, y = torch.randn(40, 6), torch.randint(0, 2, (40, 3)).float()
kept = (torch.rand(40, 3) < 0.5).float()
def loss_of(out, y, kept):
    each = F.binary_cross_entropy_with_logits(out, y, reduction="none")
    return HOW
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    optimizer.zero_grad()
    loss = loss_of(model(x), y, kept) + PENALTY
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        loss_of(model(x), y, kept)
"""


def evaluated(how: str, script: WatchScript, penalty: str = "0.0") -> bool:
    values = script(SCRIPT.replace("HOW", how).replace("PENALTY", penalty)).record.series("loss/eval").values
    return bool(len(values)) and bool(np.isfinite(values).all())


@pytest.mark.parametrize(
    ("how", "penalty"),
    [
        ("each.mean()", "0.0"),
        ("each.mean()", "0.1 * model.weight.pow(2).sum()"),
        ("each.mean(1).mean()", "0.5"),
        ("each.sum() / each.numel()", "0.0"),
    ],
)
def test_what_is_averaged_plainly_is_a_validation_loss(how: str, penalty: str, script: WatchScript) -> None:
    assert evaluated(how, script, penalty)


@pytest.mark.parametrize(
    "how", ["(each * kept).sum() / kept.sum()", "torch.where(kept > 0, each, 0 * each).sum() / kept.sum()", "each[kept > 0].mean()"]
)
def test_what_is_masked_first_is_none(how: str, script: WatchScript) -> None:
    assert not evaluated(how, script)


@pytest.mark.parametrize(
    ("how", "reduction"),
    [
        ("each.mean()", "mean"),
        ("each.flatten().mean()", "mean"),
        ("each.mean(1).mean()", "mean"),
        ("each.sum() / each.numel()", "mean"),
        ("each.sum() / len(each) / 2", "none"),
        ("each[kept > 0].mean()", "none"),
        ("(each * kept).mean()", "none"),
    ],
)
def test_a_mean_of_all_elements_is_a_mean(how: str, reduction: str, script: WatchScript) -> None:
    (head,) = script(SCRIPT.replace("HOW", how).replace(" + PENALTY", "")).loss.heads
    assert head.reduction == reduction


SINGLE = """
import torch.nn.functional as F
model = nn.Linear(6, 3)
x = torch.randn(60, 6)
y, weight = x[:, :3].argmax(1), torch.rand(60)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    optimizer.zero_grad()
    each = F.cross_entropy(model(x), y, reduction="none")
    (HOW).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("how", "asked"), [("each.mean()", True), ("(each * weight).mean()", False), ("each.topk(50, largest=False).values.mean()", False)]
)
def test_samples_are_studied_unless_the_script_weighs_or_picks_them(how: str, asked: bool, script: WatchScript) -> None:
    probe = script(SINGLE.replace("HOW", how)).facts.data_probe
    assert (probe is not None and probe.relation is not None) == asked


@pytest.mark.parametrize(("divided", "reduction"), [("/ len(t)", "mean"), ("/ 60", "mean"), ("/ 16", "sum"), ("", "sum")])
def test_a_sum_that_is_divided_by_its_terms_is_a_mean(divided: str, reduction: str, script: WatchScript) -> None:
    (head,) = script(
        f"""
        model = nn.Linear(6, 3)
        x, t = torch.randn(60, 6), torch.randint(0, 3, (60,))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(4):
            loss = nn.functional.cross_entropy(model(x), t, reduction="sum") {divided}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    ).loss.heads
    assert head.reduction == reduction
