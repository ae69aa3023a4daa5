"""What feeds each weight: bent by an activation, or straight from an earlier weight."""

from __future__ import annotations

from typing import Any

import pytest

from observe.conftest import WatchScript

LOOP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    model(DATA).square().mean().backward()
    optimizer.step()
"""
FLAT, PICTURES, SEQUENCES = "torch.randn(5, 6)", "torch.randn(2, 3, 8, 8)", "torch.randn(2, 7, 6)"


def maps(script: WatchScript, model: str, data: str = FLAT) -> dict[str, Any]:
    run = script(model.strip("\n") + LOOP.replace("DATA", data))
    return {m.parameter: m for m in run.loss.linear_maps}


def follows(script: WatchScript, model: str, data: str = FLAT) -> dict[str, tuple[str, ...]]:
    return {name: m.follows for name, m in maps(script, model, data).items()}


@pytest.mark.parametrize(
    "between",
    ["", "nn.Dropout(0.3), ", "nn.BatchNorm1d(8), ", "nn.Identity(), nn.Flatten(), "],
    ids=["nothing", "dropout", "batch norm", "shape"],
)
def test_straight(script: WatchScript, between: str) -> None:
    found = maps(script, f"model = nn.Sequential(nn.Linear(6, 8), {between}nn.Linear(8, 4))")
    last = next(m for m in found.values() if m.outputs == 4)
    assert last.follows == ("0.weight",) and last.after_map
    first = found["0.weight"]
    assert (first.inputs, first.outputs, first.fan_in, first.op, first.follows, first.after_map) == (6, 8, 6, "linear", (), False)


@pytest.mark.parametrize("between", ["nn.ReLU()", "nn.LayerNorm(8)", "nn.Softmax(-1)", "nn.PReLU()"])
def test_bent(script: WatchScript, between: str) -> None:
    found = maps(script, f"model = nn.Sequential(nn.Linear(6, 8), {between}, nn.Linear(8, 4))")
    assert found["2.weight"].follows == () and found["2.weight"].after_map
    assert found["0.weight"].followed_by


def test_an_activation_whose_result_is_thrown_away(script: WatchScript) -> None:
    model = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x):
        h = self.a(x)
        torch.relu(h)
        return self.b(h)

model = Net()
"""
    found = maps(script, model)
    assert found["b.weight"].follows == ("a.weight",) and found["a.weight"].followed_by == ("linear",)


def test_convolutions(script: WatchScript) -> None:
    found = maps(
        script,
        "model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.Conv2d(6, 6, 3, groups=6), nn.AvgPool2d(2), nn.Conv2d(6, 4, 1), nn.MaxPool2d(2), "
        "nn.Flatten(), nn.Linear(4, 2))",
        PICTURES,
    )
    assert (found["0.weight"].fan_in, found["0.weight"].inputs, found["0.weight"].outputs) == (27, 3, 6)
    assert found["1.weight"].grouped and not found["0.weight"].grouped
    assert found["3.weight"].follows == ("1.weight",)
    assert found["6.weight"].follows == ()


OWN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
        self.w = nn.Parameter(torch.randn(6, 6))
    def forward(self, x):
        {forward}
model = Net()
"""


def own(forward: str) -> str:
    return OWN.format(forward=forward)


def test_a_residual_stream_is_not_a_chain(script: WatchScript) -> None:
    found = follows(script, own("h = self.a(x); h = h + self.c(torch.relu(self.b(h))); return self.d(h)"))
    assert found["d.weight"] == ()


@pytest.mark.parametrize(
    ("forward", "straight"),
    [
        ("h = self.a(x); h = h + self.b(h); return self.d(h)", True),
        ("h = x + self.b(self.a(x)); return self.d(0.5 * h - x)", True),
        ("h = self.a(x); h = h + self.c(torch.relu(self.b(h))); return self.d(h)", False),
        ("return self.d(x * self.b(x))", False),
        ("return self.d(self.a(torch.sin(x)))", False),
    ],
)
def test_sums_of_straight_blocks_are_straight(script: WatchScript, forward: str, straight: bool) -> None:
    assert maps(script, own(forward))["d.weight"].affine == straight


def test_attention_is_not_a_chain(script: WatchScript) -> None:
    found = follows(
        script, own("q, k, v = self.a(x), self.b(x), self.c(x); s = torch.softmax(q @ k.transpose(1, 2), -1); return self.d(s @ v)"), SEQUENCES
    )
    assert found["d.weight"] == ()


def test_gates_are_not_a_chain(script: WatchScript) -> None:
    assert follows(script, own("return self.d(self.a(x) * self.b(x))"))["d.weight"] == ()


def test_sums_and_constants_are(script: WatchScript) -> None:
    assert follows(script, own("return self.d(0.5 * (self.a(x) + self.b(x)) - 1)"))["d.weight"] == ("a.weight", "b.weight")


def test_a_recurrence_without_an_activation(script: WatchScript) -> None:
    found = follows(
        script,
        own("h = torch.zeros(2, 6)\n        for t in range(7):\n            h = self.a(x[:, t]) + self.b(h)\n        return self.d(h)"),
        SEQUENCES,
    )
    assert found["b.weight"] == ("a.weight", "b.weight") and found["d.weight"] == ("a.weight", "b.weight")


@pytest.mark.parametrize(("product", "axis"), [("x @ self.w", 1), ("x @ self.w.t()", 0), ("torch.mm(x, self.w.T)", 0), ("(self.w @ x.t()).t()", 0)])
def test_products_with_a_parameter(script: WatchScript, product: str, axis: int) -> None:
    found = maps(script, own(f"return {product}"))
    assert found["w"].unit_axis == axis and found["w"].op in ("matmul", "mm")


def test_the_line_of_a_layer(script: WatchScript) -> None:
    text = "model = nn.Sequential(\n    nn.Linear(6, 8),\n    nn.Linear(8, 4),\n)"
    run = script(text + LOOP.replace("DATA", FLAT))
    first, second = run.loss.linear_maps
    assert run.at(first.place, "nn.Linear(6, 8)") and run.at(second.place, "nn.Linear(8, 4)")


@pytest.mark.parametrize(("first", "op"), [("nn.BatchNorm1d(6)", "batch_norm"), ("nn.Linear(6, 6)", "linear"), ("nn.LayerNorm(6)", "layer_norm")])
def test_what_the_data_meet_first(script: WatchScript, first: str, op: str) -> None:
    text = f"""
    model = nn.Sequential(nn.Flatten(), {first}, nn.ReLU(), nn.Linear(6, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        x, y = torch.randn(8, 2, 3), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    """
    assert [o.name for o in script(text).loss.entrances][:1] == [op]
