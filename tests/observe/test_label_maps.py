"""Labels of single pixels: their shares, beside those of the predictions."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

SCRIPT = """
X = torch.randn(64, 1, 6, 6)
M = (X > 1.6).float()
K = M[:, 0].long()
K[:, 0, 0] = -100
model = nn.Conv2d(1, OUT, 3, padding=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    x, m, k = (t[8 * step:8 * step + 8] for t in (X, M, K))
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("loss", "out"), [("F.binary_cross_entropy_with_logits(model(x), m)", 1), ("F.cross_entropy(model(x), k)", 2)])
def test_pixels_are_counted(loss: str, out: int, script: WatchScript) -> None:
    run = script(SCRIPT.replace("OUT", str(out)).replace("LOSS", loss))
    shares = run.record.family("label_share/train")
    due = run.names["M"] if out == 1 else run.names["K"][run.names["K"] >= 0].float()
    assert len(shares.steps) == 8 and shares.names == ("0", "1")
    assert float(shares.values[:, 1].mean()) == pytest.approx(float(due.mean()), abs=0.01)
    assert run.facts.labels is None


def test_soft_targets_are_not_counted(script: WatchScript) -> None:
    text = SCRIPT.replace("OUT", "1").replace("LOSS", "F.binary_cross_entropy_with_logits(model(x), x.sigmoid())")
    assert not script(text).record.family("label_share/train").names


def test_several_tags_per_sample_are_counted_like_pixels(script: WatchScript) -> None:
    text = SCRIPT.replace("OUT", "1").replace("LOSS", "F.binary_cross_entropy_with_logits(model(x).flatten(1), m.flatten(1))")
    shares = script(text).record.family("label_share/train")
    assert shares.names == ("0", "1") and 0.9 < float(shares.values[:, 0].mean()) < 0.99
