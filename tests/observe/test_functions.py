"""torch.autograd.Function: function modes do not see it, and the way back leads through it all the same."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

FUNCTIONS = """
class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)
    @staticmethod
    def backward(ctx, g):
        return -g
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g
class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x, x * 1
    @staticmethod
    def backward(ctx, g, h):
        return g + h
"""
LOOP = """
first, last, criterion = nn.Linear(6, 8), nn.Linear(8, 3), nn.CrossEntropyLoss()
HOOK
optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
for step in range(4):
    x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    optimizer.zero_grad()
    hidden = torch.relu(first(x))
    MIDDLE
    loss = criterion(last(hidden).softmax(1), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.filterwarnings("ignore:Full backward hook")
@pytest.mark.parametrize(
    ("hook", "middle"),
    [
        ("pass", "pass"),
        ("criterion.register_full_backward_hook(lambda *_: None)", "pass"),
        ("last.register_full_backward_hook(lambda *_: None)", "pass"),
        ("pass", "hidden = Reversed.apply(hidden)"),
        ("pass", "hidden = Same.apply(hidden)"),
        ("pass", "hidden, other = Pair.apply(hidden)"),
        ("pass", "hidden = Same.apply(Same.apply(hidden))"),
        ("last.register_full_backward_hook(lambda *_: None)", "hidden = Same.apply(hidden[:, :]).relu()"),
    ],
)
def test_the_loss_is_followed_through_functions(hook: str, middle: str, script: WatchScript) -> None:
    run = script(FUNCTIONS + LOOP.replace("HOOK", hook).replace("MIDDLE", middle))
    (head,) = run.loss.heads
    assert (head.function, head.last.name) == ("cross_entropy", "softmax")
    assert [op.name for op in run.loss.operations].count("linear") == 2
    assert not run.loss.cuts and not run.facts.limits


def test_a_function_of_weights_themselves(script: WatchScript) -> None:
    """Quantised weights: what goes in is a leaf."""
    run = script(
        FUNCTIONS
        + """
layer = nn.Linear(6, 3)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    out = F.linear(torch.randn(16, 6), Same.apply(layer.weight), layer.bias)
    F.cross_entropy(out, torch.randint(0, 3, (16,))).backward()
    optimizer.step()
"""
    )
    assert "Same" in [op.name for op in run.loss.operations] and not run.loss.cuts
    assert not run.facts.limits


def test_a_view_that_was_overwritten_without_gradients_is_not_asked(script: WatchScript) -> None:
    run = script(
        """
        layer = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for step in range(4):
            optimizer.zero_grad()
            out = layer(torch.randn(8, 4))
            with torch.no_grad():
                part = out[0]
                part.add_(1.0)
                total = float((part * 2).sum())
            out.pow(2).mean().backward()
            optimizer.step()
        """
    )
    assert not run.facts.limits and run.facts.run.steps == 4


def test_a_view_of_a_result_that_was_made_without_gradients_is_no_weight(script: WatchScript) -> None:
    """As those in torch's distributions, whose `sample` expands what it was given."""
    run = script(
        """
        layer = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for step in range(3):
            hidden = layer(torch.randn(8, 4))
            with torch.no_grad():
                seen = hidden.view(-1).sum()
            optimizer.zero_grad()
            (hidden.pow(2).mean() + 0 * seen).backward()
            optimizer.step()
        """
    )
    assert {p.name for p in run.facts.parameters} == {"weight", "bias"} and not run.facts.limits
