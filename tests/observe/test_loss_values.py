"""The numbers that enter a loss: what they are, what made them, and how many of them an activation cannot reach."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from observe.conftest import WatchScript
from sickbay.observe.class_order import order
from sickbay.observe.readers.heads import BOUNDS
from sickbay.observe.values import beyond, look, together

HEADER = """
x, y, r = torch.randn(32, 6), torch.randint(0, 4, (32,)), torch.randn(32)
t = (y > 1).float()
"""
LOOP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    optimizer.zero_grad()
    out = model(x)
    loss = LOSS
    loss.backward()
    optimizer.step()
"""


def program(loss: str, model: str = "nn.Linear(6, 4)") -> str:
    return HEADER + f"model = {model}\n" + LOOP.replace("LOSS", loss)


def test_a_look_agrees_with_numpy() -> None:
    numbers = torch.randn(20, 7)
    seen = look(numbers)
    assert seen is not None
    exact = numbers.double().numpy()
    assert (seen.count, seen.minimum, seen.maximum, seen.whole, seen.distinct) == (140, exact.min(), exact.max(), False, ())
    assert seen.mean == pytest.approx(exact.mean()) and seen.std == pytest.approx(exact.std())
    assert seen.row_sum == pytest.approx((exact.sum(1).min(), exact.sum(1).max()))
    assert look(torch.log_softmax(numbers, 1)).row_logsumexp == pytest.approx((0, 0), abs=1e-6)  # type: ignore[union-attr]


def test_looks_add_up() -> None:
    a, b = torch.randn(20), torch.randn(30) + 2
    both, once = together(look(a), look(b)), look(torch.cat([a, b]))
    assert both is not None and once is not None
    assert (both.count, both.minimum, both.maximum) == (once.count, once.minimum, once.maximum)
    assert both.mean == pytest.approx(once.mean) and both.std == pytest.approx(once.std)
    whole = together(look(torch.tensor([0.0, 2.0])), look(torch.tensor([1.0, 2.0])))
    assert whole is not None and whole.distinct == (0, 1, 2)
    odd = look(torch.tensor([float("nan"), 1.0]))
    assert odd is not None and odd.count == 1
    assert look(torch.empty(0)) is None


def test_what_a_tanh_misses_of_normal_targets() -> None:
    outside, unreachable = beyond(torch.randn(20_000), (-1.0, 1.0)) or (0, 0)
    assert outside == pytest.approx(0.317, abs=0.02)
    assert unreachable == pytest.approx(0.151, abs=0.02)
    assert beyond(torch.ones(5), (0.0, 1.0)) is None


def test_a_head_knows_its_numbers(script: WatchScript) -> None:
    (head,) = script(program("F.cross_entropy(out, y)")).loss.heads
    assert head.target.whole and head.target.distinct == (0, 1, 2, 3)
    assert head.input.count == 4 * 32 * 4
    assert head.raw and head.bounds is None and not head.target_is_input and not head.shared_input


@pytest.mark.parametrize(
    ("loss", "raw", "shared"),
    [
        ("F.nll_loss(out, y)", True, False),
        ("F.nll_loss(out, y) + out.logsumexp(1).mean()", True, True),
        ("F.nll_loss(out.view(8, 4, 4).view(32, 4), y)", True, False),
        ("F.nll_loss(F.log_softmax(out, 1), y)", False, False),
        ("F.binary_cross_entropy(out[:, 0].clamp(0, 1), t)", True, False),
        ("F.binary_cross_entropy(out[:, 0].sigmoid().clamp(0, 1), t)", False, False),
        ("F.mse_loss((out * 3)[:, 0], r)", False, False),
    ],
)
def test_what_made_the_input(loss: str, raw: bool, shared: bool, script: WatchScript) -> None:
    (head,) = script(program(loss)).loss.heads
    assert (head.raw, head.shared_input) == (raw, shared)


def test_by_hand_with_matrices_is_raw_too(script: WatchScript) -> None:
    run = script(
        HEADER
        + "w, b = torch.randn(6, 4, requires_grad=True), torch.zeros(4, requires_grad=True)\n"
        + "for step in range(3):\n    loss = F.nll_loss(x @ w + b, y)\n    loss.backward()\n    w.grad = b.grad = None\n"
    )
    assert run.loss.heads[0].raw


@pytest.mark.parametrize(
    ("last", "bounds"),
    [
        ("nn.ReLU()", (0, float("inf"))), ("nn.Sigmoid()", (0, 1)), ("nn.Tanh()", (-1, 1)), ("nn.SiLU()", (-0.2785, float("inf"))),
        ("nn.Hardtanh(-9, 9)", None), ("nn.ELU(3.0)", None), ("nn.Identity()", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("loss", ["F.mse_loss(out[:, 0], 2 * r)", "((out[:, 0] - r2) ** 2).mean()", "(out[:, 0] - r2).abs().mean()"])
def test_targets_beyond_the_last_activation(last: str, bounds: tuple[float, float] | None, loss: str, script: WatchScript) -> None:
    run = script(program(loss, f"nn.Sequential(nn.Linear(6, 4), {last})").replace("t = (y", "r2 = 2 * r\nx = 5 * x\nt = (y"))
    (head,) = run.loss.heads or run.loss.by_hand
    assert head.bounds == bounds
    expected = beyond(2 * run.names["r"], bounds) if bounds else (0.0, 0.0)
    assert (head.outside, head.unreachable) == pytest.approx(expected)


@pytest.mark.parametrize(("last", "bounds"), [("nn.ELU()", (-1, float("inf"))), ("nn.ELU(3.0)", None)])
def test_an_activation_with_a_setting_is_bounded_as_far_as_its_values_are(last: str, bounds: tuple[float, float] | None, script: WatchScript) -> None:
    (head,) = script(
        program("F.mse_loss(out[:, 0], 2 * r)", f"nn.Sequential(nn.Linear(6, 4), {last})").replace("t = (y", "x = 5 * x\nt = (y")
    ).loss.heads
    assert head.bounds == bounds


@pytest.mark.parametrize("slope", ["elu", "celu", "selu", "silu", "gelu", "mish", "hardswish"])
def test_no_activation_goes_below_what_is_known_of_it(slope: str) -> None:
    lowest = float(getattr(torch.nn.functional, slope)(torch.linspace(-60, 0, 60_001)).min())
    assert BOUNDS[slope][0] <= lowest < BOUNDS[slope][0] + 1e-3


def test_picked_values_are_bounded_as_all_are(script: WatchScript) -> None:
    """The Q-values of the actions that were taken."""
    run = script(program("F.smooth_l1_loss(out.gather(1, y[:, None]).squeeze(1), r - 5)", "nn.Sequential(nn.Linear(6, 4), nn.ReLU())"))
    (head,) = run.loss.heads
    assert head.bounds == (0, float("inf")) and head.outside > 0.9 and head.last is not None and head.last.name == "relu"


def test_a_mixture_of_probabilities_is_no_raw_score(script: WatchScript) -> None:
    text = """
x, y = torch.randn(16, 6), torch.randint(0, 4, (16,))
gates, leaves = torch.randn(6, 8, requires_grad=True), torch.randn(8, 4, requires_grad=True)
for step in range(3):
    p = MIXED
    loss = -torch.log(p.clamp_min(1e-6)).gather(1, y[:, None]).mean()
    loss.backward()
    gates.grad = leaves.grad = None
"""
    mixed = script(text.replace("MIXED", "(x @ gates).softmax(1) @ leaves.softmax(1)")).loss.fragile
    assert mixed and not mixed[0].raw
    assert script(text.replace("MIXED", "(x @ gates).tanh() @ leaves")).loss.fragile[0].raw


def test_an_lstm_as_output_is_bounded(script: WatchScript) -> None:
    run = script(program("F.mse_loss(out[0][:, 0], 3 * r)", "nn.LSTM(6, 4)"))
    assert run.loss.heads[0].bounds == (-1, 1)


def test_autoencoders_and_casts(script: WatchScript) -> None:
    assert script(program("F.mse_loss(out, x)", "nn.Linear(6, 6)")).loss.heads[0].target_is_input
    assert (
        not script(program("F.mse_loss(out, x2) + F.l1_loss(out, x2)", "nn.Linear(6, 6)").replace("t = (y", "x2 = x + 1\nt = (y"))
        .loss.heads[0]
        .target_is_input
    )
    (head,) = script(program("F.cross_entropy(out, r.abs().clamp(max=3).long())")).loss.heads
    assert head.target_source is None  # cut into classes by a formula: meant
    (head,) = script(program("F.cross_entropy(out, q.long())").replace("t = (y", "q = r.abs().clamp(max=3)\nt = (y")).loss.heads
    assert head.target_source is not None and not head.target_source.whole
    (head,) = script(program("F.cross_entropy(out, q.long())").replace("t = (y", "q = y.float()\nt = (y")).loss.heads
    assert head.target_source.whole


@pytest.mark.parametrize(
    ("target", "learned"),
    [
        ("y", False),
        ("torch.ones_like(out)", False),
        ("out.new_ones(out.shape)", False),
        ("x[:, :1] * 2", False),
        ("other(x).detach()", True),
        ("(y + 0.9 * other(x)).detach()", True),
        ("model(x + 1).detach()", True),
    ],
)
@pytest.mark.parametrize("call", ["F.mse_loss(out, {})", "F.mse_loss({}, out)"], ids=["in order", "the other way round"])
def test_targets_that_weights_made(call: str, target: str, learned: bool, script: WatchScript) -> None:
    run = script(
        f"""
        model, other = nn.Linear(6, 1), nn.Linear(6, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(3):
            x, y = torch.randn(8, 6), torch.randn(8, 1)
            optimizer.zero_grad()
            out = model(x)
            {call.format(target)}.backward()
            optimizer.step()
        """
    )
    assert run.loss.heads[0].target_is_learned == learned


def test_weights_for_each_value_are_noticed(script: WatchScript) -> None:
    (head,) = script(program("F.binary_cross_entropy_with_logits(out[:, 0], t, weight=(t > 0).float())")).loss.heads
    assert head.weighted
    (head,) = script(program("F.binary_cross_entropy_with_logits(out[:, 0], t, pos_weight=torch.tensor(2.0))")).loss.heads
    assert not head.weighted


def test_names_and_quantities_differ_in_the_data() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 7, 600).astype(float)
    noise = random.normal(size=(600, 10))
    names = order(random.normal(size=(7, 10))[y.astype(int)] * 3 + noise, y)
    quantities = order(y[:, None] * random.normal(size=10) + noise, y)
    nothing = order(noise, y)
    assert names is not None and quantities is not None and nothing is not None
    assert names.correlation < 0.3 < 0.8 < quantities.correlation
    assert names.separation > 4 > nothing.separation
    assert order(noise, random.integers(0, 2, 600).astype(float)) is None


def test_the_order_of_class_numbers_is_recorded(script: WatchScript) -> None:
    text = HEADER.replace("torch.randn(32, 6)", "torch.randn(128, 6)").replace("(32,)", "(128,)") + "model = nn.Linear(6, 1)\n"
    loop = LOOP.replace("range(4)", "range(30)").replace("LOSS", "F.mse_loss(out[:, 0], y.float())")
    (found,) = script(text + loop).facts.class_order
    assert (found.classes, found.samples) == (4, 24 * 128)
    assert script(text + loop.replace("y.float()", "r.repeat(4)")).facts.class_order == ()
