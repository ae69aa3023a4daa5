"""A validation loss that is worked out by hand and only printed is heard; nothing else of what the script says is."""

from __future__ import annotations

import numpy as np
import pytest

from observe.conftest import WatchScript

SCRIPT = """
import logging
log = logging.getLogger("fit")
log.setLevel(logging.INFO)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
w = torch.randn(4, 1)
xv = torch.randn(64, 4)
for epoch in range(5):
    total = 0.0
    for step in range(8):
        x = torch.randn(16, 4)
        loss = ((model(x) - x @ w) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 8
    with torch.no_grad():
        val = ((model(xv) - xv @ w) ** 2).mean().item()
    LINE
"""


@pytest.mark.parametrize(
    "line",
    [
        "print(f'epoch {epoch}: train mse {total:.4f}, held-out mse {val:.4f}')",
        "print(f'[{epoch + 1}/5] loss={loss.item():.4f} val_loss={val:.4f} lr=0.01')",
        "print('epoch', epoch, 'train', round(total, 4), 'val', round(val, 4))",
        "log.info('Epoch %d | train loss %.4f | valid loss %.4f', epoch, total, val)",
    ],
)
def test_a_printed_validation_loss(script: WatchScript, line: str) -> None:
    record = script(SCRIPT.replace("LINE", line)).record
    found = record.series("loss/eval")
    assert found.steps.tolist() == [8, 16, 24, 32, 40]
    assert np.all(np.diff(found.values) < 0)


@pytest.mark.parametrize(
    "line",
    [
        "print(f'epoch {epoch}: val mse {val:.4f}')",  # on which scale?
        "print(f'epoch {epoch}: train loss {100 * total:.4f}, val loss {val:.4f}')",  # not the loss that was trained on
        "print(f'epoch {epoch}: train mse {total:.4f}, val rmse {val ** 0.5:.4f}')",
        "print(f'epoch {epoch}: train mse {total:.4f}, val', val > 1)",
    ],
)
def test_a_number_on_an_unknown_scale_is_not_taken(script: WatchScript, line: str) -> None:
    assert not script(SCRIPT.replace("LINE", line)).record.series_like("loss/eval")


def test_only_losses_are_kept(script: WatchScript) -> None:
    run = script(SCRIPT.replace("LINE", "print(f'patient Meyer born 1971 pressure 133.7, train mse {total:.4f}')"))
    assert run.record.family("printed").names == ("train mse",)


def test_names_out_of_the_data_are_not_kept(script: WatchScript) -> None:
    run = script(SCRIPT.replace("LINE", "print(f'Meyer Schulze test {val:.4f}')"))
    assert run.record.family("printed").names == ("* * test",)


def test_a_message_that_does_not_fit_its_arguments_is_the_scripts_own_affair(script: WatchScript, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "log.info('epoch %d loss', 'x'); log.info('%(a)s loss %(b)d', {'a': 1, 'b': 'x'}); print('loss', file=sys.stderr)"
    quiet = "log.propagate = False; log.addHandler(logging.StreamHandler())"  # pytest's own handler would raise
    run = script("import sys\n" + SCRIPT.replace("LINE", f"{quiet}; {lines}"))
    assert len(run.record.series("loss/train")) == 40


def test_a_line_that_comes_twice_in_one_step(script: WatchScript) -> None:
    line = "print(f'train mse {total:.4f}, val mse {val:.4f}')"
    found = script(SCRIPT.replace("LINE", f"{line}; {line}")).record.series("loss/eval")
    assert found.steps.tolist() == [8, 16, 24, 32, 40]


def test_what_was_observed_goes_before_what_is_printed(script: WatchScript) -> None:
    text = SCRIPT.replace("val = ((model(xv) - xv @ w) ** 2).mean().item()", "val = F.mse_loss(model(xv), xv @ w).item()")
    record = script(text.replace("LINE", "print(f'train mse {total:.4f}, val mse {2 * val:.4f}')")).record
    assert len(record.series("loss/eval")) == 5 and record.series("loss/eval").values[0] < record.family("printed").values[0, 1]


def test_a_root_and_a_perplexity_are_turned_back_into_the_loss(script: WatchScript) -> None:
    plain = script(SCRIPT.replace("LINE", "print(f'train mse {total:.6f} val mse {val:.6f}')")).record.series("loss/eval")
    root = script(SCRIPT.replace("LINE", "print(f'rmse train {total ** 0.5:.6f} held out {val ** 0.5:.6f}')")).record.series("loss/eval")
    power = script(SCRIPT.replace("LINE", "print(f'train ppl {torch.tensor(total).exp():.6f} | val ppl {torch.tensor(val).exp():.6f}')")).record
    assert np.allclose(root.values, plain.values, rtol=1e-3)
    assert np.allclose(power.series("loss/eval").values, plain.values, rtol=1e-3)


def test_accuracies_are_no_losses(script: WatchScript) -> None:
    """They may be as large as the loss by chance: only what is called a loss may be off by a factor."""
    line = "print(f'epoch {epoch}: train {min(1.0, 1.9 * total):.4f}, val {min(1.0, 1.9 * val):.4f}')"
    assert not script(SCRIPT.replace("LINE", line)).record.series_like("loss/eval")


@pytest.mark.parametrize("line", ["loss {total:.4f} valid {0.5 + 0.04 * epoch:.3f}", "train loss {total:.4f} | val {0.5 + 0.04 * epoch:.3f}"])
def test_a_number_beside_a_loss_that_no_word_calls_a_loss_may_be_an_accuracy(script: WatchScript, line: str) -> None:
    assert not script(SCRIPT.replace("LINE", f"print(f'[{{epoch}}] {line}')")).record.series_like("loss/eval")


def test_one_word_for_both(script: WatchScript) -> None:
    assert script(SCRIPT.replace("LINE", "print(f'loss: train {total:.6f} valid {val:.6f}')")).record.series_like("loss/eval")
