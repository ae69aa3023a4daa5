"""(N, 1) against (N,): an N×N loss by mistake; and the broadcasts that people mean."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

FIT = """
x, y = torch.randn(16, 4), torch.randn(16)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.L1Loss()
for step in range(3):
    optimizer.zero_grad()
    guess = model(x)
    loss = LOSS
    loss.backward()
    optimizer.step()
"""


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    ("loss", "op", "left", "right", "prediction"),
    [
        ("F.mse_loss(guess, y)", "mse_loss", "guess", "y", "left"),
        ("F.mse_loss(y, guess)", "mse_loss", "y", "guess", "right"),
        ("F.smooth_l1_loss(input=guess, target=y)", "smooth_l1_loss", "guess", "y", "left"),
        ("criterion(guess, y)", "l1_loss", "guess", "y", "left"),
        ("nn.HuberLoss()(model(x), y)", "huber_loss", "model(x)", "y", "left"),
        ("((guess - y) ** 2).mean()", "sub", "guess", "y", "left"),
        ("(y - guess).abs().mean()", "sub", "y", "guess", "right"),
        ("torch.sub(guess, y).pow(2).mean()", "sub", "guess", "y", "left"),
        ("(guess.sub(y) ** 2).sum()", "sub", "guess", "y", "left"),
    ],
)
def test_silent_outer_products(loss: str, op: str, left: str, right: str, prediction: str, script: WatchScript) -> None:
    run = script(FIT.replace("LOSS", loss))
    (broadcast,) = run.loss.broadcasts
    assert broadcast.op == op
    assert run.at(broadcast.place, "loss = ")
    assert (broadcast.left_text, broadcast.right_text) == (left, right)
    shapes = ((16, 1), (16,)) if prediction == "left" else ((16,), (16, 1))
    assert (broadcast.left, broadcast.right, broadcast.result) == (*shapes, (16, 16))
    assert broadcast.prediction == prediction
    assert broadcast.in_loss_function == op.endswith("loss")


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_inside_the_users_own_loss_class(script: WatchScript) -> None:
    run = script(
        """
        class RMSE(nn.Module):
            def forward(self, guess, truth):
                return torch.sqrt(F.mse_loss(guess, truth) + 1e-6)
        model, criterion = nn.Linear(4, 1), RMSE()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            criterion(model(torch.randn(16, 4)), torch.randn(16)).backward()
            optimizer.step()
        """
    )
    (broadcast,) = run.loss.broadcasts
    assert run.at(broadcast.place, "F.mse_loss(guess, truth)")


@pytest.mark.parametrize(
    "loss",
    [
        "F.mse_loss(guess.squeeze(1), y)",
        "F.mse_loss(guess, y.unsqueeze(1))",
        "F.mse_loss(guess[:, 0], y)",
        "(guess.squeeze(1) * (y > 0)).mean()",  # a mask
        "((guess.squeeze(1) - y) * torch.linspace(0, 1, 16)).pow(2).mean()",  # weights per sample
        "(guess - y[None, :]).pow(2).mean()",  # all pairs, written so: (N, 1) - (1, N)
        "(guess - guess.T).pow(2).mean()",
        "torch.cdist(guess, y[:, None]).mean()",
        "((x * model.weight).sum(1) + model.bias - y).pow(2).mean()",  # a bias added to a batch
        "((model(x) + torch.ones(4)) - y[:, None]).pow(2).mean()",  # (N, 1) + (4,): grows, but it's not N by N
        "(F.softmax(x @ model.weight.T @ model.weight, dim=1) * x).sum()",
        "(guess.squeeze(1) / guess.abs().max() - y).pow(2).mean()",
        "(guess * torch.tensor(2.0) - y.view(-1, 1)).abs().mean()",
    ],
)
def test_broadcasts_that_are_meant(loss: str, script: WatchScript) -> None:
    run = script(FIT.replace("LOSS", loss))
    assert run.loss.graph_reads == 3
    assert [b for b in run.loss.broadcasts if b.left[:1] == b.right[:1] or b.result == (16, 16)] == []


def test_attention_and_positions_are_not_told(script: WatchScript) -> None:
    run = script(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.out = nn.Linear(8, 8), nn.Linear(8, 3)
                self.position = nn.Parameter(torch.zeros(5, 8))
                self.scale = nn.Parameter(torch.ones(8))
            def forward(self, x):
                x = x + self.position
                scores = self.q(x) @ x.transpose(1, 2) / 8 ** 0.5
                scores = scores + torch.triu(torch.full((5, 5), -1e9), 1)
                mask = (x.sum(-1) > -100).float()
                h = scores.softmax(-1) @ x * self.scale
                return self.out((h * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True))
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(torch.randn(16, 5, 8)), torch.randint(0, 3, (16,)))
            loss.backward()
            optimizer.step()
        """
    )
    assert run.loss.broadcasts == ()
    assert run.loss.squashed == ()


LEARN = """
import copy
q = nn.Linear(4, 3)
target = copy.deepcopy(q)
optimizer = torch.optim.SGD(q.parameters(), lr=0.05)
s, a, r = torch.randn(16, 4), torch.randint(0, 3, (16,)), torch.randn(16)
for step in range(3):
    value = q(s).gather(1, a.unsqueeze(1))
    with torch.no_grad():
        goal = r + 0.9 * target(s).max(1).values
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    "loss",
    [
        "(value - goal).pow(2).mean()",
        "F.smooth_l1_loss(value, goal)",
        "(value - (r + 0.9 * q(s).max(1).values.detach())).abs().mean()",  # the same network, cut off
        "torch.where((value - goal).abs() < 1, 0.5 * (value - goal) ** 2, (value - goal).abs() - 0.5).mean()",  # Huber's, by hand
        "-(torch.minimum(value.exp() * goal, value.exp().clamp(0.8, 1.2) * goal)).mean()",  # a clipped policy loss
    ],
)
def test_a_target_that_a_network_made(loss: str, script: WatchScript) -> None:
    run = script(LEARN.replace("LOSS", loss))
    found = run.loss.broadcasts
    assert found
    assert {(b.left, b.right, b.result, b.prediction) for b in found} == {((16, 1), (16,), (16, 16), "left")}


@pytest.mark.parametrize(
    "loss",
    [
        "F.mse_loss(value.squeeze(1), goal)",
        "(value - value.squeeze(1)).pow(2).mean()",  # gradients go through both: differences of a ranking
        "(value ** 2 + goal ** 2 - 2 * value @ goal[None]).mean()",  # squared distances of two sets
        "((value - goal).pow(2) * (1 - torch.eye(16))).mean()",  # all pairs but the diagonal
        "(value - goal)[~torch.eye(16, dtype=torch.bool)].exp().mean()",
        "(-(value - goal).pow(2)).exp().matmul(r).mean()",  # a kernel
        "(-(value - goal).pow(2)).log_softmax(1).diagonal().mean()",  # contrastive
        "(value - goal).abs().min(1).values.mean()",  # the nearest of a set
        "(value - goal).abs().masked_fill(a[:, None] == a, 0.0).mean()",
    ],
)
def test_pairs_with_what_a_network_made_that_are_meant(loss: str, script: WatchScript) -> None:
    run = script(LEARN.replace("LOSS", loss))
    assert run.loss.graph_reads == 3
    assert run.loss.broadcasts == ()


def test_as_many_centres_as_samples(script: WatchScript) -> None:
    run = script(
        """
        centres, out = nn.Parameter(torch.randn(16)), nn.Linear(16, 1)
        optimizer = torch.optim.SGD([centres, *out.parameters()], lr=0.05)
        for step in range(3):
            x, y = torch.randn(16, 1), torch.randn(16, 1)
            loss = F.mse_loss(out(torch.exp(-((x - centres) ** 2))), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    )
    assert run.loss.broadcasts == ()
