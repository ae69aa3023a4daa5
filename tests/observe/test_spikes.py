"""Batches at jumps of the loss."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

LOOP = """
from torch.utils.data import DataLoader, TensorDataset
inputs, targets = torch.randn(120, 4), torch.zeros(120, 1)
targets[:] = inputs.sum(1, keepdim=True)
BREAK
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=LR)
for epoch in range(6):
    for x, y in BATCHES:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
LOADER = "DataLoader(TensorDataset(inputs, targets), batch_size=10, shuffle=True)"
BY_HAND = "[(inputs[i], targets[i]) for i in torch.randperm(120).split(10)]"


def program(broken: str, batches: str = LOADER, lr: float = 1e-6) -> str:
    return LOOP.replace("BREAK", broken).replace("BATCHES", batches).replace("LR", str(lr))


@pytest.mark.parametrize("detail", [1, 1000])
def test_samples_and_values(detail: int, script: WatchScript) -> None:
    run = script(program("inputs[17, 2] = 400.0"), detail_steps=detail)
    spikes = run.facts.spikes
    assert spikes.seen == len(spikes.kept) >= 5 and spikes.usual_rows == 10 and spikes.variable == "x"
    assert run.at(spikes.place, "F.mse_loss(model(x), y)")
    compared = [s for s in spikes.kept if s.compared]
    assert len(compared) >= 5
    for s in compared:
        (o,) = s.outliers
        assert (o.role, o.sample, o.column, o.columns, o.value) == ("input", 17, 2, 4, 400.0) and -5 < o.low < o.high < 5
        assert s.samples[o.row] == 17 and len(s.samples) == s.rows == 10 and s.value > 3 * s.usual and s.between == 0


def test_targets(script: WatchScript) -> None:
    kept = script(program("targets[17] = -900.0")).facts.spikes.kept
    assert {(o.role, o.sample, o.value) for s in kept for o in s.outliers} == {("target", 17, -900.0)}


OWN = """
class Squares(nn.Module):
    def forward(self, out, y):
        return ((out - y) ** 2).mean()
criterion = Squares()
model ="""


def test_a_target_under_a_loss_of_the_scripts_own(script: WatchScript) -> None:
    own = program("targets[17] = -900.0").replace("model =", OWN, 1).replace("F.mse_loss(model(x), y)", "criterion(model(x), y)")
    run = script(own)
    spikes = run.facts.spikes
    assert {(o.role, o.sample, o.value) for s in spikes.kept for o in s.outliers} == {("target", 17, -900.0)}
    assert (spikes.variable, spikes.target) == ("x", "y")


@pytest.mark.parametrize("detail", [1, 1000])
def test_a_target_under_a_formula(detail: int, script: WatchScript) -> None:
    """No function is given it: it is of the batch that the loader gave."""
    own = program("targets[17] = -900.0").replace("F.mse_loss(model(x), y)", "((model(x) - y) ** 2).mean()")
    kept = script(own, detail_steps=detail).facts.spikes.kept
    assert {(o.role, o.sample, o.value) for s in kept for o in s.outliers} == {("target", 17, -900.0)}


def test_an_input_under_a_loss_of_the_scripts_own(script: WatchScript) -> None:
    own = program("inputs[17, 2] = 400.0").replace("model =", OWN, 1).replace("F.mse_loss(model(x), y)", "criterion(model(x), y)")
    assert {(o.role, o.sample, o.value) for s in script(own).facts.spikes.kept for o in s.outliers} == {("input", 17, 400.0)}


def test_rows_are_known_again_without_a_loader(script: WatchScript) -> None:
    kept = [s for s in script(program("inputs[17, 2] = 400.0", BY_HAND)).facts.spikes.kept if s.outliers]
    assert len(kept) >= 4 and len({s.marks[s.outliers[0].row] for s in kept}) == 1 and not any(s.samples for s in kept)


def test_an_ordinary_run_has_none(script: WatchScript) -> None:
    assert script(program("", lr=0.05)).facts.spikes is None


@pytest.mark.parametrize(
    "tail",
    ["targets[:] = torch.exp(2.2 * torch.randn(120, 1))", "targets[:] = (torch.rand(120, 1) < 0.1) * torch.exp(2 + 1.5 * torch.randn(120, 1))"],
)
def test_a_heavy_tail_is_no_outlier(tail: str, script: WatchScript) -> None:
    spikes = script(program(tail)).facts.spikes
    assert spikes is None or not [o for s in spikes.kept for o in s.outliers if s.compared >= 12] or any(s.between for s in spikes.kept)


def test_images_and_sequences(script: WatchScript) -> None:
    image = program("inputs = inputs.reshape(120, 1, 2, 2).clone(); inputs[17] *= 500").replace(
        "nn.Linear(4, 1)", "nn.Sequential(nn.Flatten(), nn.Linear(4, 1))"
    )
    found = {(o.sample, o.column) for s in script(image).facts.spikes.kept for o in s.outliers}
    assert found == {(17, None)}
    sequence = program("inputs = torch.randn(120, 6, 2); inputs[17, 3, 1] = 999").replace(
        "nn.Linear(4, 1)", "nn.Sequential(nn.Flatten(), nn.Linear(12, 1))"
    )
    assert {(o.sample, o.column) for s in script(sequence).facts.spikes.kept for o in s.outliers} == {(17, 1)}
