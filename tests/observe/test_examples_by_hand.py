"""Losses and models that are written by hand: which rows meet which targets is read from the operations."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

DATA = """
C = 4
centres = 3 * torch.randn(C, 8)
Y = torch.randint(0, C, (400,))
X = centres[Y] + torch.randn(400, 8)
Z = X @ torch.randn(8)
H = F.one_hot(Y, C).float()
B = (Y == 1).float()
"""
MODULE = """
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, OUT))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
"""
FUNCTION = """
w1, w2 = (0.3 * torch.randn(8, 16)).requires_grad_(), (0.3 * torch.randn(16, OUT)).requires_grad_()
b1 = torch.zeros(16, requires_grad=True)
optimizer = torch.optim.SGD([w1, w2, b1], lr=0.05)
def model(x):
    return torch.tanh(x @ w1 + b1) @ w2
"""
LOOP = """
for step in range(30):
    idx = torch.randperm(400)[:40]
    x, y, z, h, b = X[idx], Y[idx], Z[idx], H[idx], B[idx]
    n = len(x)
    LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CLASSES = {
    "picked": "logp = model(x).log_softmax(1); loss = -logp[range(n), y].mean()",
    "picked by a tensor": "logp = model(x).log_softmax(1); loss = -logp[torch.arange(n), y].mean()",
    "logarithm of what is gathered": "loss = -torch.log(model(x).softmax(1).gather(1, y[:, None]).clamp(min=1e-7)).mean()",
    "gathered": "loss = -model(x).log_softmax(1).gather(1, y[:, None]).mean()",
    "one-hot": "logp = F.log_softmax(model(x), dim=1); loss = -(logp * h).sum(1).mean()",
    "one-hot made here": "loss = -(model(x).log_softmax(1) * F.one_hot(y, C)).sum(1).mean()",
    "squared one-hot": "loss = ((model(x).softmax(1) - h) ** 2).mean()",
    "logsumexp": "out = model(x); loss = (out.logsumexp(1) - out[torch.arange(n), y]).mean()",
}
NUMBERS = {
    "squared": "loss = ((model(x).squeeze(1) - z) ** 2).mean()",
    "rows taken inside": "loss = (model(X[idx]).squeeze(1) - Z[idx]).pow(2).mean()",
    "log cosh": "loss = torch.log(torch.cosh(model(x)[:, 0] - z)).mean()",
    "quantile": "e = z - model(x)[:, 0]; loss = torch.max(0.5 * e, -0.5 * e).mean()",
    "huber": "e = (model(x)[:, 0] - z).abs(); loss = torch.where(e < 1, 0.5 * e ** 2, e - 0.5).mean()",
    "charbonnier": "loss = torch.sqrt((model(x)[:, 0] - z) ** 2 + 1e-6).mean()",
    "column": "loss = (z[:, None] - model(x)).pow(2).mean()",
    "absolute": "loss = (model(x)[:, 0] - z).abs().mean() + 1e-4 * sum((p ** 2).sum() for g in optimizer.param_groups for p in g['params'])",
}


def program(model: str, loss: str, out: int) -> str:
    return (DATA + model + LOOP).replace("OUT", str(out)).replace("LOSS", loss)


@pytest.mark.parametrize("model", [MODULE, FUNCTION], ids=["module", "function"])
@pytest.mark.parametrize("name", CLASSES)
def test_classes_of_a_hand_written_loss_are_studied(name: str, model: str, script: WatchScript) -> None:
    probe = script(program(model, CLASSES[name], 4)).facts.data_probe
    assert probe is not None and probe.targets == "classes" and probe.classes == 4 and probe.features == 8
    assert probe.relation is not None and probe.relation.score > 0.85 and probe.relation.rows > 100


@pytest.mark.parametrize("model", [MODULE, FUNCTION], ids=["module", "function"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_a_hand_written_loss_are_studied(name: str, model: str, script: WatchScript) -> None:
    probe = script(program(model, NUMBERS[name], 1)).facts.data_probe
    assert probe is not None and probe.targets == "numbers"
    assert probe.relation is not None and probe.relation.score > 0.8 and probe.relation.rows > 100


def test_a_function_of_weights_with_a_known_loss_is_studied(script: WatchScript) -> None:
    run = script(program(FUNCTION, "loss = F.binary_cross_entropy_with_logits(model(x).squeeze(1), b)", 1))
    probe = run.facts.data_probe
    assert probe is not None and probe.targets == "classes" and probe.relation is not None and probe.relation.rows > 100
    assert run.at(probe.place, "loss = F.binary")


def test_a_cross_entropy_of_yes_and_no_by_hand(script: WatchScript) -> None:
    loss = "p = model(x).squeeze(1).sigmoid(); loss = -(b * torch.log(p + 1e-7) + (1 - b) * torch.log(1 - p + 1e-7)).mean()"
    probe = script(program(MODULE, loss, 1)).facts.data_probe
    assert probe is not None and probe.classes == 2


@pytest.mark.parametrize(
    ("loss", "out"),
    [
        ("logp = model(x).log_softmax(1); loss = -(logp[range(n), y] * z).mean()", 4),  # weighted by something: a policy gradient
        ("loss = ((model(x).squeeze(1) - torch.randn(n)) ** 2).mean()", 1),  # drawn
        ("loss = ((model(x).squeeze(1) - x.sum(1)) ** 2).mean()", 1),  # computed
        ("out = model(x); loss = ((out[:, 0] - z) ** 2).mean() - out.log_softmax(1)[range(n), y].mean()", 4),  # two tasks
        ("out = model(x); loss = -(out @ out.T).log_softmax(1)[torch.arange(n), torch.arange(n)].mean()", 4),  # places in the batch
        ("loss = ((model(x) - x) ** 2).mean()", 8),  # the inputs again
        ("w = torch.rand(n); loss = (w * (model(x).squeeze(1) - z) ** 2).mean()", 1),  # weighted
    ],
)
@pytest.mark.parametrize("model", [MODULE, FUNCTION], ids=["module", "function"])
def test_what_is_no_plain_target_is_not_taken_for_one(loss: str, out: int, model: str, script: WatchScript) -> None:
    assert script(program(model, loss, out)).facts.data_probe is None


def test_the_scale_of_inputs_that_no_module_is_given(script: WatchScript) -> None:
    text = """
    w = torch.randn(3, 1, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=1e-3)
    for step in range(12):
        x = torch.randn(32, 3) * torch.tensor([1.0, 1e4, 1.0]) + torch.tensor([0.0, 1e6, 0.0])
        optimizer.zero_grad()
        F.mse_loss(x @ w, x[:, :1]).backward()
        optimizer.step()
    """
    (scale,) = script(text).record.facts.inputs
    assert scale.feature_std_max > 1e3 and scale.feature_abs_mean_max > 1e5
