"""Loops whose rounds do not need each other are found in the operations of a step; recurrences and their like are not."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript
from sickbay.observe.loops import smallest_seconds

SCRIPT = """
import numpy as np
lin, cell, head = nn.Linear(4, 8), nn.GRUCell(4, 8), nn.Linear(8, 1)
tables = nn.ModuleList(nn.Embedding(3, 4) for _ in range(40))
free = nn.ParameterList(nn.Parameter(torch.randn(4, 4) * 0.1) for _ in range(40))
square = nn.Parameter(torch.randn(8, 8) * 0.1)
optimizer = torch.optim.Adam([*lin.parameters(), *cell.parameters(), *head.parameters(), *tables.parameters(), *free, square], 1e-3)
data, answers = torch.randn(64, 48, 4), torch.randn(64, 1)
def loss_of(x, y):
BODY
for step in range(4):
    loss = loss_of(data, answers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def written(body: str) -> str:
    return SCRIPT.replace("BODY", "\n".join(f"    {line}" for line in body.strip("\n").splitlines()))


FREE = {
    "slices of a batch": """
out = []
for i in range(len(x)):
    out.append(head(lin(x[i : i + 1, 0])))
return F.mse_loss(torch.cat(out), y)
""",
    "rows and a sum": """
total = 0.0
for row, target in zip(x[:, 0], y):
    total = total + F.mse_loss(head(lin(row)), target)
return total / len(x)
""",
    "a comprehension": """
return F.mse_loss(torch.stack([head(lin(x[i, 0])) for i in range(len(x))]), y)
""",
    "pairs that fill a table": """
z = lin(x[:8, 0])
table = torch.zeros(8, 8)
for i in range(8):
    for j in range(8):
        table[i, j] = (z[i] - z[j]).pow(2).sum()
return table.mean()
""",
    "a branch for each sign": """
p, total = torch.sigmoid(head(lin(x[:, 0]))), 0.0
for i in range(len(p)):
    if y[i, 0].item() > 0:
        total = total - torch.log(p[i, 0])
    else:
        total = total - torch.log(1 - p[i, 0])
return total / len(p)
""",
    "a recurrence for each sample": """
total = 0.0
for i in range(len(x)):
    h = torch.zeros(8)
    for t in range(4):
        h = torch.tanh(lin(x[i, t]) + h @ square)
    total = total + (head(h) - y[i]).pow(2).sum()
return total
""",
    "each entry changed in place": """
z = lin(x[:, 0]).detach()
for i in range(len(z)):
    z[i] = z[i] / z[i].norm()
return F.mse_loss(head(z), y)
""",
}


@pytest.mark.parametrize("kind", FREE)
def test_rounds_that_do_not_need_each_other(script: WatchScript, kind: str) -> None:
    run = script(written(FREE[kind]))
    (loop,) = run.facts.loops
    assert loop.rounds == 64
    assert loop.looks == loop.found == 4
    assert loop.operations > 0.8 * loop.total
    assert loop.place is not None and loop.loop is not None and loop.loop.line is not None
    assert loop.each_seconds > 0 and loop.smallest_seconds > 0
    if kind == "slices of a batch":
        assert run.at(loop.loop, "for i in range(len(x))") and run.at(loop.place, "out.append")
        assert loop.attached > 0.9
    if kind == "a recurrence for each sample":
        assert run.at(loop.loop, "for i in range(len(x))"), "the loop over time has to stay"


NEEDED = {
    "parts of many sizes": """
lengths = [1 + i % 5 for i in range(64)]
frames = lin(x.reshape(-1, 4)[: sum(lengths)])
pooled = torch.stack([torch.tanh(part.mean(0)) for part in frames.split(lengths)])
return F.mse_loss(head(pooled), y)
""",
    "a recurrence": """
h, total = torch.zeros(64, 8), 0.0
for t in range(48):
    h = cell(x[:, t], h)
    total = total + F.mse_loss(head(h), y)
return total / 48
""",
    "a moving average": """
h = torch.zeros(64, 8)
for t in range(48):
    h = 0.9 * h + 0.1 * lin(x[:, t])
return F.mse_loss(head(h), y)
""",
    "unrolled optimization": """
z = lin(x[:, 0])
for k in range(50):
    z = z - 0.1 * torch.tanh(z @ square)
return F.mse_loss(head(z), y)
""",
    "a table that is filled from its own entries": """
a, b = lin(x[0]).detach(), lin(x[1]).detach()
cost = torch.full((9, 9), 1e3)
cost[0, 0] = 0
for i in range(1, 9):
    for j in range(1, 9):
        cost[i, j] = (a[i] - b[j]).pow(2).sum() + torch.min(torch.stack([cost[i - 1, j], cost[i, j - 1]]))
return cost[8, 8] * head(lin(x[:, 0])).mean()
""",
    "an environment": """
state, chosen = np.zeros(4, np.float32), []
for t in range(40):
    action = head(lin(torch.from_numpy(state)))
    state = np.tanh(state + 0.1 * action.item()).astype(np.float32)
    chosen.append(action)
returns = torch.randn(40)
return torch.stack([a * r for a, r in zip(chosen, returns)]).sum()
""",
    "weights of its own for each column": """
parts = [torch.tanh(x[:, i] @ w) for i, w in enumerate(free)]
return F.mse_loss(torch.stack(parts).sum((0, 2)).unsqueeze(1), y)
""",
    "samples of many lengths": """
total = 0.0
for i in range(len(x)):
    total = total + (head(lin(x[i, : 3 + i % 40])).mean() - y[i, 0]) ** 2
return total
""",
    "derivatives that are asked for": """
z = x[:, 0].clone().requires_grad_()
out, total = torch.tanh(lin(z)), 0.0
for k in range(40):
    total = total + torch.autograd.grad(out[:, k % 8].sum(), z, create_graph=True)[0].pow(2).mean()
return total
""",
    "a penalty over all weights": """
return F.mse_loss(head(lin(x[:, 0])), y) + 1e-4 * sum(p.pow(2).sum() for p in (*free, *tables.parameters()))
""",
    "few rounds": """
return F.mse_loss(torch.stack([head(lin(x[:, i])) for i in range(12)]).mean(0), y)
""",
}


@pytest.mark.parametrize("kind", NEEDED)
def test_rounds_that_need_each_other(script: WatchScript, kind: str) -> None:
    assert not script(written(NEEDED[kind])).facts.loops


def test_tables_of_their_own_are_no_part_of_it(script: WatchScript) -> None:
    run = script(written("ids = (x[:, :40, 0] > 0).long()\nreturn torch.stack([t(ids[:, i]) for i, t in enumerate(tables)]).pow(2).mean()"))
    assert all(loop.operations <= 40 for loop in run.facts.loops), "at most the columns that are picked out, not what is looked up in them"


def test_more_operations_than_are_followed(script: WatchScript, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sickbay.observe.trace.MOST_OPERATIONS", 150)
    (loop,) = script(written(FREE["slices of a batch"])).facts.loops
    assert loop.truncated and loop.total == 150 and loop.rounds >= 32


def test_an_evaluation_is_not_every_step(script: WatchScript) -> None:
    text = written("return F.mse_loss(head(lin(x[:, 0])), y)") + (
        "    if step == 1:\n        with torch.no_grad():\n            scores = [head(lin(data[i : i + 1, 0])) for i in range(64)]\n"
    )
    assert all(loop.found < loop.looks for loop in script(text).facts.loops)


def test_an_optimizer_of_the_users_own(script: WatchScript) -> None:
    run = script(
        """
        class Mine(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {"lr": 0.1})
            @torch.no_grad()
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    flat, grad = p.view(-1), p.grad.view(-1)
                    for k in range(flat.numel()):
                        flat[k] = flat[k] - 0.1 * grad[k]
        model = nn.Linear(8, 8)
        optimizer = Mine(model.parameters())
        for step in range(4):
            optimizer.zero_grad()
            model(torch.randn(16, 8)).pow(2).mean().backward()
            optimizer.step()
        """
    )
    (loop,) = run.facts.loops
    assert run.at(loop.loop, "for k in range") and loop.rounds == 72 and loop.attached == 0
    assert not run.facts.limits, "operations on views that autograd will not speak of are followed too"


def test_a_call_has_its_price() -> None:
    assert 1e-8 < smallest_seconds() < 1e-3
