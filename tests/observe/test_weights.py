"""Weights as training found them: scale, identical units, who filled them, who froze them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from observe.conftest import WatchScript
from observe.test_bit_exact import outcome
from observe.watched import Run, exact, watching

LOOP = """
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
for step in range(30):
    optimizer.zero_grad()
    x = torch.randn(16, 6)
    F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
    optimizer.step()
"""


def weights(run: Run) -> dict[str, Any]:
    return {w.name: w for w in run.facts.weights}


def test_scale_and_who_filled_them(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Sequential(
            nn.Linear(6, 300),
            nn.Tanh(),
            nn.Linear(300, 2),
        )
        nn.init.normal_(model[0].weight, std=2.0)
        first = model[0].weight.detach().clone()
        """.replace("        ", "")
        + LOOP
    )
    drawn, default = weights(run)["0.weight"], weights(run)["2.weight"]
    assert drawn.rms == pytest.approx(2.0, rel=0.1) and drawn.step == 0 and drawn.looked_at == (60, 6)
    assert (drawn.set_by, drawn.set_by_user, drawn.drawn) == ("normal_", True, True)
    assert run.at(drawn.set_at, "nn.init.normal_") and run.at(drawn.built_at, "nn.Linear(6, 300)")
    assert drawn.signal == pytest.approx(2.0 * 6**0.5, rel=0.5)
    assert default.rms == pytest.approx((3 * 300) ** -0.5, rel=0.1)
    assert (default.set_by, default.set_by_user, default.drawn) == ("kaiming_uniform_", False, True)
    assert run.at(default.set_at, "nn.Linear(300, 2)")
    assert drawn.distinct == (60, 6) and drawn.distinct_later is None
    (first,) = run.facts.first_losses
    assert first.function == "cross_entropy" and first.value > 0 and first.prediction_rms > 0


@pytest.mark.parametrize("dtype", ["double", "bfloat16"])
def test_other_precisions_are_looked_at_too(dtype: str, script: WatchScript) -> None:
    run = script(
        f"""
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)).to(torch.{dtype})
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(4):
            x = torch.randn(16, 6, dtype=torch.{dtype})
            optimizer.zero_grad()
            F.mse_loss(model(x), x[:, :1]).backward()
            optimizer.step()
        """
    )
    (first,) = run.facts.first_losses
    assert first.prediction_rms > 0 and first.target_rms > 0
    assert not run.facts.limits


def test_units_that_stay_the_same_and_units_that_come_apart(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
        nn.init.constant_(model[0].weight, 0.1)
        nn.init.zeros_(model[0].bias)
        nn.init.constant_(model[2].weight, 0.3)
        """.replace("        ", "")
        + LOOP
    )
    hidden, last = weights(run)["0.weight"], weights(run)["2.weight"]
    assert hidden.distinct == (1, 1) and hidden.moved
    assert hidden.distinct_later[0] == 1 and hidden.later_step == 30
    assert hidden.distinct_later[1] >= 4, "inputs differ, so columns come apart"
    assert last.distinct == (1, 1) and last.distinct_later[0] == 2, "classes pull the last layer's rows apart"
    assert not hidden.drawn and hidden.set_by == "constant_"


def test_branches_that_are_copies(script: WatchScript) -> None:
    run = script(
        """
        import copy
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                one = nn.Linear(6, 8)
                self.left, self.right, self.after = one, copy.deepcopy(one), nn.Linear(8, 8)
                self.chained, self.out = copy.deepcopy(self.after), nn.Linear(8, 2)
            def forward(self, x):
                h = torch.tanh(self.left(x)) + torch.tanh(self.right(x))
                return self.out(torch.tanh(self.chained(torch.tanh(self.after(h)))))
        model = Net()
        """.replace("        ", "", 1).replace("\n        ", "\n")
        + LOOP
    )
    right, chained = weights(run)["right.weight"], weights(run)["chained.weight"]
    assert right.twin == "left.weight" and right.twin_later is True and right.moved and right.drawn
    assert chained.twin == "after.weight" and chained.twin_later is False


@pytest.mark.parametrize("together", [False, True], ids=["made when it is its turn", "both made first"])
def test_the_same_experiment_twice_makes_no_twins(together: bool, script: WatchScript) -> None:
    run = script(
        f"""
        def net():
            torch.manual_seed(0)
            return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
        def train(model):
            torch.manual_seed(1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(40):
                x = torch.randn(16, 6)
                optimizer.zero_grad()
                F.mse_loss(model(x), x[:, :1]).backward()
                optimizer.step()
        nets = [net(), net()] if {together} else [net]
        train(nets[0] if {together} else (first := net()))
        train(nets[1] if {together} else (second := net()))
        """
    )
    assert len(weights(run)) >= 2
    assert not [w for w in run.facts.weights if w.twin_later]


def test_frozen_random_weights_in_front_of_a_trained_head(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
        model[0].requires_grad_(False)
        """.replace("        ", "")
        + LOOP
    )
    body, head = weights(run)["0.weight"], weights(run)["2.weight"]
    assert body.drawn and body.feeds_trained and not body.trainable and not body.fed_by_trained
    assert run.at(body.frozen_at, "requires_grad_(False)")
    assert head.trainable and not head.feeds_trained and head.frozen_at is None


def test_a_target_network_feeds_no_trained_layer(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(6, 2)
        target = nn.Linear(6, 2).requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(5):
            optimizer.zero_grad()
            x = torch.randn(16, 6)
            F.mse_loss(model(x), target(x)).backward()
            optimizer.step()
        """
    )
    assert not weights(run)["target.weight"].feeds_trained


def test_loaded_values_are_not_drawn(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
        model[0].weight.data.copy_(torch.randn(8, 6))
        model.half().float()
        """.replace("        ", "")
        + LOOP
    )
    assert not weights(run)["0.weight"].drawn


def test_tensors_without_a_module(script: WatchScript) -> None:
    run = script(
        """
        W1, W2 = torch.randn(6, 20), torch.zeros(20, 2)
        for w in (W1, W2):
            w.requires_grad_()
        for step in range(8):
            x = torch.randn(16, 6)
            loss = F.cross_entropy(torch.relu(x @ W1) @ W2, (x[:, 0] > 0).long())
            W1.grad = W2.grad = None
            loss.backward()
            for w in (W1, W2):
                w.data -= 0.1 * w.grad
        """
    )
    found = weights(run)
    assert found["W1"].rms == pytest.approx(1.0, rel=0.2) and found["W2"].shape == (20, 2)
    one, two = run.loss.linear_maps
    assert (one.parameter, one.inputs, one.outputs, one.unit_axis, one.followed_by) == ("W1", 6, 20, 1, ("relu",))
    assert (two.parameter, two.follows, two.after_map) == ("W2", (), True)


def initialises_and_loads(folder: Path) -> Iterator[torch.Tensor]:
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    nn.init.orthogonal_(model[0].weight)
    nn.init.trunc_normal_(model[2].weight, std=0.02)
    torch.save(model.state_dict(), folder / "a.pt")
    other = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), 2).requires_grad_(False)
    model.load_state_dict(torch.load(folder / "a.pt"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(other(torch.randn(3, 4, 6))).square().mean()
        loss.backward()
        optimizer.step()
        yield loss.detach()
    yield from (p.detach() for p in model.parameters())


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_it_changes_nothing(tmp_path: Path) -> None:
    plain = outcome(lambda: initialises_and_loads(tmp_path))
    with watching(tmp_path / "a.sickbay", exact()) as session:
        assert outcome(lambda: initialises_and_loads(tmp_path)) == plain
        assert not [why for why in session.limits.values() if "failed" in why]
