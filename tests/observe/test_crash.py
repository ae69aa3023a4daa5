"""What is known of a run that died of an exception: the operation, the layer, the tensors, and who overwrote or kept what."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from observe.watched import PREAMBLE, Run, exact
from sickbay.record.reader import read_record

Crashed = Callable[..., Run]

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.b = nn.Linear(16, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        FORWARD

model = Net()
optimizer = torch.optim.Adam(model.parameters())
for step in range(5):
    x, y = torch.randn(6, 8), torch.randint(0, 4, (6,))
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture
def crashed(tmp_path: Path) -> Crashed:
    """Runs a script that ends with an exception, and examines it as the exception hook does."""

    def run(text: str) -> Run:
        from sickbay.observe.crash import examined
        from sickbay.observe.endings import crash_fact
        from sickbay.observe.starting import start

        source, file = PREAMBLE + textwrap.dedent(text), tmp_path / "train.py"
        file.write_text(source)
        linecache.checkcache(str(file))
        session = start(tmp_path / "run.sickbay", exact())
        try:
            exec(compile(source, str(file), "exec"), {"__name__": "__main__", "__file__": str(file)})
            raise AssertionError("it did not crash")
        except (RuntimeError, ValueError, IndexError, MemoryError) as e:
            crash = crash_fact(type(e), e, e.__traceback__, session.step)
            assert crash is not None
            session.crash = examined(session, crash, e.__traceback__)
        finally:
            session.close()
        return Run(read_record(tmp_path / "run.sickbay"), source, str(file))

    return run


def net(forward: str) -> str:
    return NET.replace("FORWARD", forward.strip().replace("\n", "\n        "))


LABELS = """
from torch.utils.data import DataLoader, TensorDataset
model = nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(20, 8), torch.arange(20) % 4)
data.tensors[1][13] = 7
for x, y in DataLoader(data, batch_size=5):
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "function"),
    [
        ("F.cross_entropy(model(x), y)", "cross_entropy"),
        ("nn.CrossEntropyLoss()(model(x), y)", "cross_entropy"),
        ("nn.NLLLoss()(model(x).log_softmax(1), y)", "nll_loss"),
        ("(model(x) - F.one_hot(y, 4)).pow(2).mean()", "one_hot"),
        ("-model(x).log_softmax(1).gather(1, y.unsqueeze(1)).mean()", ""),
        ("-model.forward(x)[torch.arange(5), y].mean()", ""),
    ],
)
def test_labels_out_of_range(loss: str, function: str, crashed: Crashed) -> None:
    crash = crashed(LABELS.replace("LOSS", loss)).facts.crash
    assert crash.step == 2
    if function:  # what a call within an expression was given is gone with it
        bad = crash.indices
        assert (bad.function, bad.values, bad.allowed, bad.count, bad.rows, bad.samples) == (function, (7.0,), 4, 1, (3,), (13,))
        assert bad.variable == "y"
        assert function == "one_hot" or (bad.outputs_kind, bad.outputs_at.text) == ("Linear", "model = nn.Linear(8, 4)")


def test_tokens_out_of_range(crashed: Crashed) -> None:
    run = crashed("""
    table = nn.Embedding(10, 4)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
    tokens = torch.tensor([[1, 2], [3, 10], [-1, 0]])
    loss = table(tokens).pow(2).mean()
    """)
    bad, crash = run.facts.crash.indices, run.facts.crash
    assert (bad.function, bad.values, bad.allowed, bad.rows, bad.lowest, bad.highest) == ("embedding", (-1.0, 10.0), 10, (1, 2), -1.0, 10.0)
    assert crash.layer_kind == "Embedding" and run.at(crash.layer_built_at, "nn.Embedding(10, 4)")


def test_the_layer_and_what_came_to_it(crashed: Crashed) -> None:
    run = crashed(net("h = self.a(x)\nh = h[:, :12]\nreturn self.b(h)"))
    crash = run.facts.crash
    assert (crash.operation, crash.layer, crash.layer_kind) == ("Linear", "b", "Linear")
    assert (
        run.at(crash.layer_built_at, "self.b = nn.Linear") and run.at(crash.entered_at, "loss = F.cross") and run.at(crash.place, "return self.b(h)")
    )
    given = next(t for t in crash.tensors if t.role == "input")
    assert (given.variable, given.shape, given.dtype, given.made_by) == ("h", (6, 12), "float32", "getitem")
    assert run.at(given.made_at, "h = h[:, :12]") and not given.entered
    assert {t.parameter for t in crash.tensors} == {"", "b.weight", "b.bias"}


def test_predictions_that_lost_the_batch(crashed: Crashed) -> None:
    run = crashed(net("h = self.a(x).view(-1, 8)\nreturn self.a(h)[:, :4]"))
    assert run.at(run.facts.crash.reshaped_at, "view(-1, 8)") and run.facts.crash.reshaped_by == "view"


def test_data_of_another_type(crashed: Crashed) -> None:
    crash = crashed(net("return self.b(self.a(x))").replace("torch.randn(6, 8)", "torch.randn(6, 8).double()")).facts.crash
    odd = next(t for t in crash.tensors if t.role == "input")
    assert (odd.variable, odd.dtype, odd.entered) == ("x", "float64", True)


WRITES = {
    "h = torch.sigmoid(self.a(x))\nh += 1\nreturn self.b(h)": "h += 1",
    "h = torch.exp(self.a(x))\nh[:, 0] = 0\nreturn self.b(h)": "h[:, 0] = 0",
    "h = torch.tanh(self.a(x))\nh.mul_(2)\nreturn self.b(h)": "h.mul_(2)",
    "h = torch.tanh(self.a(x))\nF.relu(h, inplace=True)\nreturn self.b(h)": "F.relu(h, inplace=True)",
    "h = torch.tanh(self.a(x))\ng = self.act(h)\nreturn self.b(g)": "g = self.act(h)",
    "h = torch.tanh(self.a(x))\nh[1].zero_()\nreturn self.b(h)": "h[1].zero_()",
}


@pytest.mark.parametrize("forward", WRITES)
def test_who_overwrote_it(forward: str, crashed: Crashed) -> None:
    run = crashed(net(forward))
    (write,) = run.facts.crash.writes
    assert run.at(write.place, WRITES[forward]), write
    assert run.at(run.facts.crash.needed_at, "self.a(x))")


def test_an_optimizer_that_stepped_in_between(crashed: Crashed) -> None:
    run = crashed("""
    g, d = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    for step in range(3):
        score = d(g(torch.randn(6, 4)))
        first, second = score.mean(), -score.mean()
        first.backward(retain_graph=True)
        od.step()
        second.backward()
        og.step()
    """)
    crash = run.facts.crash
    assert crash.stepped == ("d.2.weight",) and run.at(crash.stepped_at, "od.step()") and not crash.writes
    assert [run.at(p, "first.backward(") for p in crash.others] == [True]


def test_a_state_that_is_carried_on(crashed: Crashed) -> None:
    crash = crashed("""
    rnn = nn.LSTM(3, 5, batch_first=True)
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
    state = None
    for step in range(3):
        out, state = rnn(torch.randn(2, 4, 3), state)
        loss = out.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """).facts.crash
    assert crash.step == 1 and crash.backwards == 2 and not crash.others
    assert {(a.name, a.several) for a in crash.attached} == {("out", False), ("state", True), ("loss", False)}


def test_memory(crashed: Crashed) -> None:
    crash = crashed(net("return self.b(self.a(x)) + torch.zeros(10**7, 10**7).mean()")).facts.crash
    use = crash.memory
    assert use.requested == 4 * 10**14 and use.parameters == 4 * (8 * 16 + 16 + 16 * 4 + 4) and use.resident > 10**6
    assert (use.batch_size, use.batch) == (6, 6 * 8 * 4) and ("x", 6 * 8 * 4) in use.largest


def test_nothing_of_the_users_is_run(crashed: Crashed) -> None:
    crash = crashed("""
    class Odd:
        @property
        def labels(self):
            raise AssertionError("asked")
        def __getattr__(self, name):
            raise AssertionError("asked")
    odd = Odd()
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    y = torch.tensor([0, 5])
    loss = F.cross_entropy(model(torch.randn(2, 4)), y if odd else odd.labels)
    """).facts.crash
    assert crash.indices.values == (5.0,)
