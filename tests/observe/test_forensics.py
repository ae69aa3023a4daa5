"""The first operation that is not finite, on steps that were not traced: its line, its values, its samples."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from observe.conftest import WatchScript
from sickbay.observe.forensics.live import Live
from sickbay.observe.forensics.values import Values
from sickbay.record.reader import read_record

LATE = 45
"""Not among the first steps nor a landmark: nobody traces it."""
FORWARD = {
    "log of zero": ("log", "loss = F.cross_entropy(z, y) - torch.log(a * on).mean()  # HERE"),
    "a method": ("log", "loss = F.cross_entropy(z, y) - (a * on).log().mean()  # HERE"),
    "sqrt of a negative": ("sqrt", "s = torch.sqrt(a * (2 * on - 1))  # HERE\nloss = s.mean() + F.cross_entropy(z, y)"),
    "exp": ("exp", "e = (a * (1 + 1e4 * off)).exp()  # HERE\nloss = (e / e.sum(1, keepdim=True)).log().mean()"),
    "division": ("div", "w = z.sigmoid()\nloss = (w * t).sum() / (t * on).sum()  # HERE"),
    "division by what the model gave": ("div", "n = (z * on).norm(dim=1, keepdim=True)\nu = z / n  # HERE\nloss = (u * u).sum()"),
    "norm of zero over itself": ("div", "q = z * on\nq = q / q.norm(dim=1, keepdim=True)  # HERE\nloss = F.cross_entropy(q, y)"),
    "acos": ("acos", "c = torch.cos(z) + 2 * off\nloss = torch.acos(0.99 * c).mean()  # HERE"),
    "power": ("pow", "loss = ((a * (2 * on - 1)) ** 0.3).mean()  # HERE"),
    "variance of one": ("std", "part = z if on else z[:1]\nloss = part.std(0).mean()  # HERE"),
    "mean of nothing": ("mean", "keep = y < 3 * on\nloss = z[keep].mean()  # HERE"),
    "cross entropy without targets": ("cross_entropy", "loss = F.cross_entropy(z, y if on else torch.full_like(y, -100))  # HERE"),
    "softmax of nothing": (
        "softmax",
        "m = torch.zeros(16, 3, dtype=torch.bool); m[3] = bool(off)\np = F.softmax(z.masked_fill(m, float('-inf')), 1)  # HERE\nloss = (p * z).sum()",
    ),
    "softmax of nothing, mask added": (
        "softmax",
        "m = torch.zeros(16, 3); m[3] = float('-inf') if off else 0.0\np = (z + m).softmax(1)  # HERE\nloss = (p * z).sum()",
    ),
    "zero times infinity": ("mul", "big = z * 1.0\nloss = (big * (float('inf') if off else 1.0)).mean()  # HERE"),
    "overflow of a square": ("pow", "big = z * (1 + 1e25 * off)\nloss = (big ** 2).mean()  # HERE"),
    "weights from counts": ("rdiv", "w = 1.0 / (torch.ones(16) * on)  # HERE\nloss = (F.cross_entropy(z, y, reduction='none') * w).mean()"),
    "logarithm in a loss of its own": ("log", "def own(p):\n    return -p.log().mean()  # HERE\nloss = own(F.softmax(z * (1 + 1e5 * off), 1))"),
    "a loop": ("sqrt", "h = a\nfor _ in range(4):\n    h = torch.sqrt(h * (2 * on - 1))  # HERE\nloss = h.mean()"),
    "a loop that runs longer": (
        "log",
        "h = z\nfor _ in range(4 + 2 * off):\n    h = torch.tanh(h)\nloss = torch.log(a * on).mean() + h.mean()  # HERE",
    ),
    "nll of a logarithm": ("log", "logp = torch.log(F.softmax(z * (1 + 1e5 * off), dim=1))  # HERE\nloss = F.nll_loss(logp, y)"),
    "logsumexp by hand": ("exp", "loss = (z * (1 + 1e4 * off)).exp().sum(1).log().mean()  # HERE"),
    "a kernel": ("cdist", "d = torch.cdist(z * (1 + 1e25 * off), z.detach())  # HERE\nloss = d.mean()"),
    "einsum": ("einsum", "g = torch.einsum('ij,kj->ik', z * (1 + 1e25 * off), z * (1 + 1e25 * off))  # HERE\nloss = g.mean()"),
    "the first of two that end in NaN together": (
        "rdiv",
        "s = a * on\nshift = 1.0 / s  # HERE\nloss = (torch.log(s) + shift).mean() + F.cross_entropy(z, y)",
    ),
    "an alignment that does not exist": (
        "ctc_loss",
        "size = torch.tensor([17 if off else 4])\nloss = F.ctc_loss(z.log_softmax(1)[:, None], torch.tensor([[1, 2] * 9]), torch.tensor([16]), size)  # HERE",
    ),
    "cumulative product": ("cumprod", "c = torch.cumprod((z * (1 + 1e25 * off)), dim=1)  # HERE\nloss = c.mean()"),
}
HEADER = """
x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
t = torch.ones(16, 3)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(48):
    off = int(step == LATE)
    on = 1 - off
    optimizer.zero_grad()
    z = model(x)
    a = F.softplus(z) + 0.1
BODY
    loss.backward()
    optimizer.step()
"""


def program(body: str, late: int = LATE) -> str:
    return HEADER.replace("LATE", str(late)).replace("BODY", "\n".join(f"    {line}" for line in body.splitlines()))


@pytest.mark.filterwarnings("ignore:std")
@pytest.mark.parametrize("late", [LATE, 1])
@pytest.mark.parametrize("name", FORWARD)
def test_operation_and_line(name: str, late: int, script: WatchScript) -> None:
    op, body = FORWARD[name]
    run = script(program(body, late), detail_steps=3)
    (found,) = run.loss.invalid
    assert (found.step, found.traced, found.before_update, found.parameters_finite) == (late, late == 1, True, True)
    assert (found.origin, found.op, found.backward) == ("operation", op, False)
    assert run.at(found.place, "# HERE"), found.place


def test_values_rows_and_chain(script: WatchScript) -> None:
    body = "rows = torch.ones(16, 1); rows[[4, 9]] = float(on)\nd = torch.log(a * rows)  # HERE\nloss = (d * 2).sum(1).mean()"
    for late in (1, LATE):
        (found,) = script(program(body, late), detail_steps=3).loss.invalid
        assert (found.kind, found.lowest, found.where, found.count, found.total) == ("-inf", 0.0, (4, 0), 6, 48)
        assert found.rows == (4, 9) and found.highest > 0 and found.dtype == "float32"
        assert [op.name for op in found.chain] == ["log", "mul", "sum", "mean"]
        assert [op.place.line - found.place.line for op in found.chain] == [0, 1, 1, 1]


LOADER = """
from torch.utils.data import DataLoader, TensorDataset
data = torch.rand(64, 6) + 0.1
data[37] = 0.0
loader = DataLoader(TensorDataset(data, torch.randint(0, 3, (64,))), batch_size=8, shuffle=True)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
steps = 0
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        z = model(x)
        steps += 1
        if steps > 45:
            z = z / x.sum(1, keepdim=True)  # HERE
        else:
            z = z / x.sum(1, keepdim=True).clamp_min(1e-3)
        loss = F.cross_entropy(z, y)
        loss.backward()
        optimizer.step()
        if not loss.isfinite():
            epoch = 99
            break
    if epoch == 99:
        break
"""


def test_samples_of_the_data_set(script: WatchScript) -> None:
    for since in ("0", "45"):
        (found,) = script(LOADER.replace("steps > 45", f"steps > {since}"), detail_steps=3).loss.invalid
        assert found.samples == (37,) and len(found.rows) == 1 and found.op == "div" and found.lowest == 0


def test_infinities_of_a_mask_beside_a_nan(script: WatchScript) -> None:
    """A padded position is minus infinity in what log_softmax gives, on purpose; the row without any other is NaN."""
    body = "m = torch.ones(16, 3); m[::2, 2] = 0; m[9] = float(on)\nlogp = F.log_softmax(z + m.log(), 1)  # HERE\nloss = -logp[:, 0].mean() + F.cross_entropy(z, y)"
    for late in (1, LATE):
        run = script(program(body, late), detail_steps=3)
        (found,) = run.loss.invalid
        assert (found.op, found.kind, found.rows) == ("log_softmax", "nan", (9,)) and run.at(found.place, "# HERE")


ACCUMULATED = """
from torch.utils.data import DataLoader, TensorDataset
data = torch.rand(64, 6) + 0.1
data[37] = 0.0
loader = DataLoader(TensorDataset(data, torch.randint(0, 3, (64,))), batch_size=4, shuffle=False)
model = nn.Linear(6, 3, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for i, (x, y) in enumerate(loader, 1):
    z = model(x)
    (F.cross_entropy(z, y) + torch.sqrt((z * z).sum(1)).mean() / 4).backward()  # HERE
    if i % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_samples_of_the_batch_in_which_it_arose(script: WatchScript) -> None:
    """Four batches make one update: sample 37 is in the second of the third one."""
    run = script(ACCUMULATED, detail_steps=1)
    (found,) = run.loss.invalid
    assert (found.step, found.op, found.backward) == (2, "sqrt", True) and run.at(found.place, "# HERE")
    assert (found.samples, found.rows, found.passes_ago) == ((37,), (1,), 2)


def test_an_exponential_that_is_cut_off_behind(script: WatchScript) -> None:
    """The loss is finite, 0 times infinity is not: how large the argument was is not known, so no range is told."""
    (found,) = script(program("e = torch.exp(z * (1 + 1e4 * off)).clamp(max=10)  # HERE\nloss = e.mean()"), detail_steps=3).loss.invalid
    assert (found.step, found.op, found.backward, found.lowest, found.highest) == (LATE, "exp", True, None, None)


def test_a_lost_run_is_not_looked_at_closely_for_ever(script: WatchScript) -> None:
    body = "loss = F.cross_entropy(z, y) * (float('nan') if step >= 20 else 1.0)"
    run = script(program(body).replace("range(48)", "range(400)"), detail_steps=3, budget=0.01)
    assert run.record.facts.run.sampled_steps < 100


NETS = {
    "cnn": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.out = nn.Linear(4, 3)

    def forward(self, x, on):
        h = F.relu(self.norm(self.conv(x)))
        h = h.mean((2, 3))
        h = h / (h.sum(1, keepdim=True) * on)  # HERE
        return self.out(h)
x = torch.rand(16, 1, 8, 8)
""",
        "div",
    ),
    "rnn": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 8, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x, on):
        h, last = self.rnn(x)
        scores = h.pow(2).sum(-1)
        scores = torch.log(scores * on)  # HERE
        return self.out((h * scores.softmax(1).unsqueeze(-1)).sum(1))
x = torch.rand(16, 5, 6)
""",
        "log",
    ),
    "transformer": (
        """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, h, on):
        h = h + self.attention(h, h, h, need_weights=False)[0]
        return torch.sqrt(self.norm(h) ** 2 - 10 * (1 - on))  # HERE
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.out = nn.Linear(8, 3)

    def forward(self, h, on):
        for block in self.blocks:
            h = block(h, on)
        return self.out(h.mean(1))
x = torch.rand(16, 5, 8)
""",
        "sqrt",
    ),
    "embedding": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x, on):
        mask = (x > 0).float() * on
        pooled = (self.table(x) * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)  # HERE
        return self.out(pooled)
x = torch.randint(1, 50, (16, 5))
""",
        "div",
    ),
    "cell by cell": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(6, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x, on):
        h = c = torch.zeros(16, 8)
        for t in range(5 if on else 7):
            h, c = self.cell(x[:, min(t, 4)], (h, c))
            if not on and t == 6:
                h = h * 1e30
            gate = torch.exp(h * (1 if on or t < 6 else 100))  # HERE
            h = h * gate.sigmoid()
        return self.out(h) + gate.mean()
x = torch.rand(16, 5, 6)
""",
        "exp",
    ),
}
NET = """
y = torch.randint(0, 3, (16,))
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(48):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, int(step != LATE)), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("late", [LATE, 1])
@pytest.mark.parametrize("net", NETS)
def test_inside_models(net: str, late: int, script: WatchScript) -> None:
    text, op = NETS[net]
    run = script(text + NET.replace("LATE", str(late)), detail_steps=3)
    (found,) = run.loss.invalid
    assert (found.step, found.origin, found.op) == (late, "operation", op)
    assert run.at(found.place, "# HERE"), found.place


def test_data_and_weights_on_any_step(script: WatchScript) -> None:
    (found,) = script(
        program("bad = x.clone(); bad[5, 2] = float('nan') if off else 0.0\nloss = F.cross_entropy(model(bad), y)"), detail_steps=3
    ).loss.invalid
    assert (found.origin, found.step, found.parameters_finite) == ("data", LATE, True)
    body = "t = y.float(); t[3] = float('inf') if off else 0.0\nloss = ((z[:, 0] - t) ** 2).mean()"
    (found,) = script(program(body), detail_steps=3).loss.invalid
    assert (found.origin, found.step, found.rows) == ("data", LATE, (3,))
    body = "if off:\n    with torch.no_grad(): model[0].weight[0, 0] = float('nan')\nloss = F.cross_entropy(model(x), y)"
    (found,) = script(program(body), detail_steps=3).loss.invalid
    assert (found.origin, found.step, found.name, found.updated_at) == ("parameter", LATE, "0.weight", LATE - 1)


@pytest.mark.parametrize("detail_steps", [3, 48])
def test_the_target_of_a_loss_by_hand(script: WatchScript, detail_steps: int) -> None:
    """No loss function that we know is called: what the loss was worked out from tells, on traced steps too."""
    body = "t = y.float(); t[3] = float('nan') if off else 0.0\nloss = torch.log(torch.cosh(z[:, 0] - t)).mean()"
    run = script(program(body), detail_steps=detail_steps)
    (batch,) = run.facts.nonfinite
    assert (batch.role, batch.step, batch.variable, batch.loss_nonfinite) == ("target", LATE, "t", True)
    assert run.at(batch.place, "torch.cosh")


def test_infinities_on_purpose_are_none(script: WatchScript) -> None:
    body = """m = torch.rand(16, 3) < 0.3; m[:, 0] = False
p = F.softmax(z.masked_fill(m, float('-inf')), 1)
q = torch.logsumexp(torch.where(m, torch.tensor(float('-inf')), z), 1)
alpha = torch.full((16,), float('-inf')); alpha = torch.logaddexp(alpha, z[:, 0])
loss = F.nll_loss((p + 1e-9).log(), y) + q.mean() * 0.01 + alpha.mean() * 0.01"""
    run = script(program(body), detail_steps=3)
    assert run.loss.invalid == () and run.loss.masked == ()


STOPS = """
import math
import torch
from torch import nn

def train():
    torch.manual_seed(0)
    x = torch.randn(16, 4)
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(60):
        p = torch.softmax(model(x) * (1e5 if step == 45 else 1.0), 1)
        entropy = -(p * torch.log(p)).sum(1).mean()  # HERE
        loss = entropy + model.weight.square().sum()
        if math.isnan(loss.item()):
            STOP
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
train()
"""


@pytest.mark.parametrize("stop", ["raise RuntimeError('NaN!')", "globals()['kept'] = loss; break"])
def test_a_loss_by_hand_that_stops_the_script(stop: str, tmp_path: Path) -> None:
    """In a process of its own: what an exception leaves behind is known only when the interpreter ends."""
    file = tmp_path / "train.py"
    file.write_text(STOPS.replace("STOP", stop))
    start = f"import sys, runpy; from pathlib import Path; from sickbay.observe.starting import install; from sickbay.settings import Settings; install(Path({str(tmp_path)!r}), Settings())"
    run = "exec(compile(open(sys.argv[1]).read(), sys.argv[1], 'exec'))"
    subprocess.run([sys.executable, "-c", f"{start}\n{run}", str(file)], capture_output=True, check=False, timeout=120)
    (path,) = tmp_path.glob("*.sickbay")
    unused = read_record(path).facts.unused_loss
    assert unused is not None and (unused.op, unused.step, unused.origin) == ("log", 45, "operation")
    assert unused.place is not None and unused.place.text is not None and "# HERE" in unused.place.text


def test_what_is_worked_out_again_is_what_was() -> None:
    """Each rule against the operation itself."""
    x, w, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True), torch.randn(5, requires_grad=True)
    p, image, kernel = x.abs(), torch.randn(2, 3, 8, 8, requires_grad=True), torch.randn(4, 3, 3, 3, requires_grad=True)
    made = [
        x[:, -1], x[1], x.t().transpose(-1, -2), x[None].permute(2, 0, -2), x.sum(-1), x.sum(), x.mean((0, -1), keepdim=True), x.mean(), x.var(-1),
        x.var(), torch.var_mean(x, 0)[0], torch.add(x, p, alpha=2), x - p, x @ w, F.linear(x, w.t(), b), F.conv2d(image, kernel, stride=2, padding=1),
        torch.bmm(x[None], w[None]), p.log(), p**1.7, x / p, x * p, x.view(2, 6), x.expand(2, 3, 4), x.unsqueeze(-1), p.sqrt(), -x, x / 3.0, p.lgamma(),
        x.exp(), p.rsqrt(), p.reciprocal(), torch.xlogy(p, p), torch.atan2(x, p), p.log1p(), (x / 9).acos(), x.cosh(),
    ]  # fmt: skip
    for tensor in made:
        live = Live(tensor)
        again = Values(live)._worked_out(0)
        assert again is not None and torch.equal(again, tensor.detach()), live.names[0]
