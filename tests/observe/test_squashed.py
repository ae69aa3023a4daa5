"""Probabilities fed to a loss that expects logits: seen in the graph, wherever the softmax stands."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

HEADER = """
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
"""
LOOP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(3):
    optimizer.zero_grad()
    loss = LOSS
    loss.backward()
    optimizer.step()
"""


def program(model: str, loss: str = "F.cross_entropy(model(x), y)") -> str:
    return HEADER + model + LOOP.replace("LOSS", loss)


SEQUENTIAL = """
model = nn.Sequential(
    nn.Linear(4, 8),
    nn.ReLU(),
    nn.Linear(8, 3),
    nn.Softmax(dim=1),  # here
)
"""


@pytest.mark.parametrize("loss", ["F.cross_entropy(model(x), y)", "nn.CrossEntropyLoss()(model(x), y)", "F.nll_loss(F.log_softmax(model(x), 1), y)"])
def test_softmax_layer_names_the_line_where_it_is_built(loss: str, script: WatchScript) -> None:
    run = script(program(SEQUENTIAL, loss))
    (pair,) = run.loss.squashed
    assert pair.inner.name == "softmax"
    assert pair.inner.shape == (16, 3)
    assert run.at(pair.inner.place, "# here")
    assert pair.inner.place.layer == "3"
    assert pair.outer.name in ("cross_entropy", "log_softmax")
    assert run.at(pair.outer.place, "loss = ")
    (head,) = run.loss.heads
    assert head.function in ("cross_entropy", "nll_loss")
    assert [op.name for op in head.fed_by][: 2 if head.function == "nll_loss" else 1] == (
        ["log_softmax", "softmax"] if head.function == "nll_loss" else ["softmax"]
    )
    assert head.classes == 3
    assert (head.input_shape, head.target_shape, head.target_dtype) == ((16, 3), (16,), "int64")
    assert head.module == ("CrossEntropyLoss" if "nn.Cross" in loss else "")


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 3)
        self.soft = nn.Softmax(dim=1)
    def forward(self, x):
        logits = self.out(x)
        return RETURN
model = Net()
"""


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("F.softmax(logits, dim=1)", "softmax"),
        ("logits.softmax(dim=-1)", "softmax"),
        ("torch.softmax(logits, 1)", "softmax"),
        ("self.soft(logits)", "softmax"),
        ("F.softmax(logits, dim=1).view(-1, 3)", "softmax"),
        ("torch.softmax(logits, 1).unsqueeze(1).squeeze(1).contiguous()", "softmax"),
        ("torch.softmax(logits.double(), 1).float().clone()", "softmax"),
        ("logits.sigmoid()", "sigmoid"),
    ],
)
def test_softmax_in_forward_names_that_line(expression: str, name: str, script: WatchScript) -> None:
    run = script(program(NET.replace("RETURN", expression)))
    (pair,) = run.loss.squashed
    assert pair.inner.name == name
    assert run.at(pair.inner.place, "return ")


def test_sigmoid_before_bce_with_logits(script: WatchScript) -> None:
    run = script(
        program(
            "model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())\n",
            "nn.BCEWithLogitsLoss()(model(x).squeeze(1), (y > 1).float())",
        )
    )
    (pair,) = run.loss.squashed
    assert (pair.outer.name, pair.inner.name) == ("binary_cross_entropy_with_logits", "sigmoid")
    assert run.at(pair.inner.place, "nn.Sigmoid()")


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        ("model = nn.Linear(4, 3)\n", "F.cross_entropy(model(x), y)"),
        ("model = nn.Linear(4, 3)\n", "F.nll_loss(F.log_softmax(model(x), dim=1), y)"),
        ("model = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))\n", "nn.NLLLoss()(model(x), y)"),
        ("model = nn.Linear(4, 3)\n", "F.nll_loss(torch.log(F.softmax(model(x), dim=1) + 1e-9), y)"),
        ("model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())\n", "F.binary_cross_entropy(model(x).squeeze(1), (y > 1).float())"),
        ("model = nn.Linear(4, 3)\n", "F.cross_entropy(model(x), torch.softmax(torch.randn(16, 3), 1))"),  # soft targets
        ("model = nn.Linear(4, 3)\n", "F.cross_entropy(model(x), torch.softmax(model(x).detach() / 2, 1))"),  # distillation
        ("model = nn.Linear(4, 3)\n", "F.kl_div(F.log_softmax(model(x), 1), F.softmax(torch.randn(16, 3), 1), reduction='batchmean')"),
        ("model = nn.Linear(4, 3)\n", "F.cross_entropy(torch.sigmoid(model(x)) @ torch.eye(3) * 4, y)"),  # a hidden sigmoid
        ("gate = nn.Linear(4, 3)\nmodel = nn.Linear(4, 3)\n", "F.cross_entropy(model(x) * torch.softmax(gate(x), 1), y)"),  # gating
        ("model = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)\n", "F.cross_entropy(model(x[:, None])[:, 0], y)"),
    ],
)
def test_what_is_fine(model: str, loss: str, script: WatchScript) -> None:
    run = script(program(model, loss))
    assert run.loss.squashed == ()
    assert run.loss.graph_reads == 3


def test_activations_are_listed_in_forward_order(script: WatchScript) -> None:
    run = script(program("model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 3))\n"))
    assert [op.name for op in run.loss.activations] == ["tanh", "gelu"]
