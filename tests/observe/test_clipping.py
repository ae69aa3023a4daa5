"""Where clipping stands between backward and step, what it is given, and what it cuts."""

from __future__ import annotations

import warnings

import pytest

from observe.conftest import WatchScript

LOOP = """
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
model, other = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
gone = model.parameters(); list(gone)
for step in range(20):
    ONE
    optimizer.zero_grad()
    TWO
    model(torch.randn(6, 4)).pow(2).mean().backward()
    THREE
    optimizer.step()
    FOUR
"""
CLIP = "clip_grad_norm_(model.parameters(), 0.5)"


def loop(one: str = "pass", two: str = "pass", three: str = "pass", four: str = "pass") -> str:
    return LOOP.replace("ONE", one).replace("TWO", two).replace("THREE", three).replace("FOUR", four)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (loop(three=CLIP), (20, 0, 0)),
        (loop(three="clip_grad_value_(list(model.parameters()), 0.01)"), (20, 0, 0)),
        (loop(two=CLIP), (0, 20, 0)),
        (loop(four=CLIP), (0, 0, 19)),
    ],
)
def test_the_moment(text: str, counts: tuple[int, int, int], script: WatchScript) -> None:
    run = script(text)
    (c,) = run.facts.clippings
    assert (c.in_time, c.too_early, c.too_late) == counts
    assert c.calls == 20 and run.at(c.place, "clip_grad_norm_(model" if c.kind == "norm" else "clip_grad_value_(list")
    assert c.limit == (0.5 if c.kind == "norm" else 0.01)


def test_every_norm_is_recorded(script: WatchScript) -> None:
    run = script(loop(three=CLIP), detail_steps=1)
    assert len(run.record.series("clip_norm")) == 20


@pytest.mark.parametrize(
    ("clip", "tensors", "empty", "foreign", "shared"),
    [
        (CLIP, 4, 0, 0, 20),
        ("clip_grad_norm_(other.parameters(), 0.5)", 2, 20, 20, 0),
        ("clip_grad_norm_(model[0].parameters(), 0.5)", 2, 0, 0, 20),
        ("clip_grad_norm_(gone, 0.5)", 0, 20, 0, 0),
        ("clip_grad_norm_(parameters=filter(lambda p: p.requires_grad, model.parameters()), max_norm=0.5)", 4, 0, 0, 20),
    ],
)
def test_what_is_clipped(clip: str, tensors: int, empty: int, foreign: int, shared: int, script: WatchScript) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        (c,) = script(loop(three=clip)).facts.clippings
    assert (c.tensors, c.empty, c.foreign, c.shared) == (tensors, empty, foreign, shared)


def test_torchs_warning_of_an_empty_generator_still_comes(script: WatchScript) -> None:
    with pytest.warns(UserWarning, match="empty generator"):
        script(loop(three="clip_grad_norm_(gone, 0.5)"))


def test_two_optimizers_on_one_backward(script: WatchScript) -> None:
    text = """
        from torch.nn.utils import clip_grad_norm_
        a, b = nn.Linear(4, 4), nn.Linear(4, 1)
        first, second = torch.optim.SGD(a.parameters(), lr=0.1), torch.optim.SGD(b.parameters(), lr=0.1)
        for step in range(10):
            first.zero_grad(); second.zero_grad()
            b(a(torch.randn(5, 4))).pow(2).mean().backward()
            first.step()
            clip_grad_norm_(b.parameters(), 1.0)
            second.step()
    """
    (c,) = script(text).facts.clippings
    assert (c.in_time, c.too_early, c.too_late) == (10, 0, 0)


def test_norms_for_the_log_are_no_clipping(script: WatchScript) -> None:
    assert script(loop(four="clip_grad_norm_(model.parameters(), float('inf'))")).facts.clippings == ()


def test_clipping_by_hand(script: WatchScript) -> None:
    by_hand = "[p.grad.mul_(1e-3 / n) for n in [sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt()] for p in model.parameters()]"
    (c,) = script(loop(three=by_hand)).facts.clippings
    assert (c.kind, c.limit) == ("hand", pytest.approx(1e-3, rel=1e-3))
    assert c.cut > 1


@pytest.mark.parametrize("change", ["pass", "[p.grad.div_(4) for p in model.parameters()]"])
def test_other_changes_are_none(change: str, script: WatchScript) -> None:
    assert script(loop(three=change)).facts.clippings == ()


def test_how_much_a_value_clip_cuts(script: WatchScript) -> None:
    (c,) = script(loop(three="clip_grad_value_(model.parameters(), 1e-9)")).facts.clippings
    assert c.clipped_share == pytest.approx(1.0)
