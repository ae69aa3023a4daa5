"""The factor on a loss: 1 for a mean over the batch, however it is written."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from sickbay.observe.scaling import mean_scale

LOGITS = torch.randn(16, 10, generator=torch.Generator().manual_seed(0), requires_grad=True)
PICTURES = torch.randn(16, 784, generator=torch.Generator().manual_seed(1), requires_grad=True)
SOFT = torch.full((16, 10), 0.1)
LABELS = torch.arange(16) % 10
PADDED = torch.where(torch.arange(16) < 8, -100, LABELS)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda: F.cross_entropy(LOGITS, LABELS), 1.0),
        (lambda: F.cross_entropy(LOGITS, LABELS) / 4, 0.25),
        (lambda: F.cross_entropy(LOGITS, SOFT), 1.0),
        (lambda: F.cross_entropy(LOGITS, SOFT) / 2, 0.5),
        (lambda: -(SOFT * LOGITS.log_softmax(-1)).sum() / 16 / 2, 0.5),
        (lambda: PICTURES.square().sum() / PICTURES.numel(), 1.0),
        (lambda: PICTURES.square().sum() / 16, 1.0),
        (lambda: PICTURES.square().sum() / 16 / 4, 0.25),
        (lambda: F.mse_loss(PICTURES, torch.zeros(16, 784), reduction="sum") / 16 / 4, 0.25),
        (lambda: F.cross_entropy(LOGITS, PADDED, reduction="sum") / 8, 1.0),
        (lambda: F.cross_entropy(LOGITS, PADDED, reduction="sum") / 8 / 2, 0.5),
        (lambda: 9.0 * F.kl_div(LOGITS.log_softmax(-1), SOFT, reduction="batchmean"), 9.0),
        (lambda: PICTURES.square().sum() / 4, None),
        (lambda: F.cross_entropy(LOGITS, LABELS, reduction="sum"), None),
    ],
)
def test_a_mean_has_factor_one_and_what_divides_it_counts(loss, expected) -> None:
    assert mean_scale(loss()) == (None if expected is None else pytest.approx(expected))
