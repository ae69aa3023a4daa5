"""What is learned: data, a network, a loss, in as many ways of writing as people have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Task:
    """Python text. `loss` is an expression of `model`, `x` and `y`."""

    data: str
    """Makes X, Y for training and Xv, Yv for validation."""
    network: str
    """Defines Net."""
    loss: str


DIGITS = """
from sklearn.datasets import load_digits
d = load_digits()
X = torch.tensor(d.data / 16.0, dtype=torch.float32)
X = (X - X[:1200].mean(0)) / (X[:1200].std(0) + 1e-2)
Y = torch.tensor(d.target)
order = torch.randperm(len(X)); X, Y = X[order], Y[order]
X, Xv, Y, Yv = X[:1200], X[1200:], Y[:1200], Y[1200:]
"""
IMAGES = DIGITS.replace("d.data / 16.0, dtype=torch.float32)", "d.images / 16.0, dtype=torch.float32)[:, None]").replace(
    "X = (X - X[:1200].mean(0)) / (X[:1200].std(0) + 1e-2)", "X = (X - 0.3) / 0.38"
)
NUMBERS = """
g = torch.Generator().manual_seed(3)
X = torch.randn(1600, 12, generator=g)
Y = X[:, 0] * X[:, 1] + torch.sin(2 * X[:, 2]) + 0.5 * X[:, 3] + 0.1 * torch.randn(1600, generator=g)
X, Xv, Y, Yv = X[:1200], X[1200:], Y[:1200], Y[1200:]
"""
TOKENS = """
g = torch.Generator().manual_seed(2)
X = torch.randint(0, 30, (1400, 18), generator=g)
Y = (X + torch.roll(X, 1, 1)) % 5
Y[:, 0] = X[:, 0] % 5
X, Xv, Y, Yv = X[:1100], X[1100:], Y[:1100], Y[1100:]
"""
TEXT = """
import this as zen, codecs
text = codecs.decode(zen.s, "rot13") * 6
letters = sorted(set(text)); number = {c: i for i, c in enumerate(letters)}
ids = torch.tensor([number[c] for c in text])
V, T = len(letters), 24
rows = torch.stack([ids[s : s + T + 1] for s in range(0, len(ids) - T - 1, 3)])
rows = rows[torch.randperm(len(rows))]
cut = int(0.85 * len(rows))
X, Xv, Y, Yv = rows[:cut, :-1], rows[cut:, :-1], rows[:cut, 1:], rows[cut:, 1:]
"""
SERIES = """
g = torch.Generator().manual_seed(5)
t = torch.arange(4000.0)
series = torch.sin(t / 9) + 0.5 * torch.sin(t / 23) + 0.15 * torch.randn(4000, generator=g)
windows = series.unfold(0, 31, 2)
X, Y = windows[:, :-1].contiguous(), windows[:, 1:].contiguous()
X, Xv, Y, Yv = X[:1500], X[1500:], Y[:1500], Y[1500:]
"""


def network(layers: str, forward: str, beside: str = "") -> str:
    return f"""{beside}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}
    def forward(self, x):
        {forward}
"""


def tabular(r: Random) -> Task:
    bend = r.choice(["nn.ReLU()", "nn.GELU()", "nn.Tanh()", "nn.LeakyReLU(0.1)", "nn.SiLU()"])
    norm, drop = r.choice(["", "nn.BatchNorm1d(64), ", "nn.LayerNorm(64), "]), r.choice(["", ", nn.Dropout(0.2)"])
    loss = r.choice(
        [
            "F.cross_entropy(model(x), y)",
            "nn.CrossEntropyLoss()(model(x), y)",
            "F.nll_loss(F.log_softmax(model(x), dim=1), y)",
            "F.cross_entropy(model(x), y, reduction='none').mean()",
            "F.cross_entropy(model(x), F.one_hot(y, 10).float())",
            "-(F.log_softmax(model(x), -1).gather(1, y[:, None])).mean()",
            "(torch.logsumexp(model(x), 1) - model(x).gather(1, y[:, None])[:, 0]).mean()",
        ]
    )
    layers = f"self.body = nn.Sequential(nn.Linear(64, 64), {norm}{bend}{drop}, nn.Linear(64, 64), {bend}); self.head = nn.Linear(64, 10)"
    return Task(DIGITS, network(layers, "h = self.body(x)\n        return self.head(h)"), loss)


def images(r: Random) -> Task:
    norm = r.choice(["nn.BatchNorm2d(16), ", "nn.GroupNorm(4, 16), ", ""])
    pool = r.choice(["h.mean((2, 3))", "h.amax(dim=(2, 3))", "h.view(h.size(0), 16, -1).mean(-1)"])
    layers = (
        f"self.features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), {norm}nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())\n"
        "        self.skip, self.head = nn.Conv2d(1, 16, 1), nn.Linear(16, 10)"
    )
    loss = r.choice(
        [
            "F.cross_entropy(model(x), y)",
            "F.cross_entropy(model(x), y, reduction='none').mean()",
            "F.cross_entropy(model(x), y, reduction='sum') / len(y)",
        ]
    )
    return Task(IMAGES, network(layers, f"h = self.features(x) + self.skip(x)\n        h = {pool}\n        return self.head(h)"), loss)


def regression(r: Random) -> Task:
    column = r.random() < 0.5
    data = NUMBERS + ("Y, Yv = Y[:, None], Yv[:, None]\n" if column else "")
    out = "" if column else r.choice([".squeeze(-1)", "[:, 0]", ".view(-1)", ".flatten()"])
    loss = r.choice(
        [
            "F.mse_loss(model(x), y)",
            "((model(x) - y) ** 2).mean()",
            "F.smooth_l1_loss(model(x), y)",
            "(model(x) - y).abs().mean()",
            "F.huber_loss(model(x), y, delta=0.5)",
            "torch.log(torch.cosh(model(x) - y)).mean()",
        ]
    )
    bend = r.choice(["relu", "gelu", "silu", "tanh", "elu"])
    layers = "self.a, self.b, self.c = nn.Linear(12, 48), nn.Linear(48, 48), nn.Linear(48, 1)"
    return Task(data, network(layers, f"h = F.{bend}(self.a(x))\n        h = h + F.{bend}(self.b(h))\n        return self.c(h){out}"), loss)


def yes_or_no(r: Random) -> Task:
    as_probability = r.random() < 0.5
    layers = f"self.a, self.n, self.c = nn.Linear(12, 48), {r.choice(['nn.BatchNorm1d(48)', 'nn.Identity()', 'nn.LayerNorm(48)'])}, nn.Linear(48, 1)"
    out = "torch.sigmoid(self.c(h))" if as_probability else "self.c(h)"
    loss = "F.binary_cross_entropy(model(x), y)" if as_probability else "F.binary_cross_entropy_with_logits(model(x), y)"
    data = NUMBERS + "Y, Yv = (Y > 0).float()[:, None], (Yv > 0).float()[:, None]\n"
    return Task(data, network(layers, f"h = F.relu(self.n(self.a(x)))\n        return {out}"), loss)


def tags(r: Random) -> Task:
    """A class for each position of a sequence."""
    first = r.random() < 0.5
    kind = r.choice(["GRU", "LSTM"])
    layers = f"self.emb, self.rnn, self.head = nn.Embedding(30, 32), nn.{kind}(32, 32, bidirectional=True, batch_first={first}), nn.Linear(64, 5)"
    passed = "h = self.rnn(h)[0]" if first else "h = self.rnn(h.transpose(0, 1))[0].transpose(0, 1)"
    loss = r.choice(
        [
            "F.cross_entropy(model(x).transpose(1, 2), y)",
            "F.cross_entropy(model(x).reshape(-1, 5), y.reshape(-1))",
            "F.nll_loss(model(x).log_softmax(-1).permute(0, 2, 1), y)",
        ]
    )
    return Task(TOKENS, network(layers, f"h = self.emb(x)\n        {passed}\n        return self.head(h)"), loss)


def letters(r: Random) -> Task:
    """The next letter, by attention to those before, by convolution over them, or by a recurrent layer."""
    attention = r.choice(
        [
            "h = e + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True))",
            "s = (q @ k.transpose(-2, -1)) / 7\n        s = s.masked_fill(torch.ones(x.size(1), x.size(1)).triu(1).bool(), float('-inf'))\n"
            "        h = e + self.o(s.softmax(-1) @ v)",
        ]
    )
    layers, passed = r.choice(
        [
            ("self.qkv, self.o = nn.Linear(48, 144), nn.Linear(48, 48)", f"q, k, v = self.qkv(e).chunk(3, -1)\n        {attention}"),
            ("self.c = nn.Conv1d(48, 48, 5)", "h = e + F.relu(self.c(F.pad(e.transpose(1, 2), (4, 0)))).transpose(1, 2)"),
            ("self.rnn = nn.GRU(48, 48, batch_first=True)", "h = self.rnn(e)[0]"),
        ]
    )
    beside = "self.emb, self.pos, self.head = nn.Embedding(V, 48), nn.Parameter(torch.zeros(T, 48)), nn.Linear(48, V)"
    return Task(
        TEXT,
        network(f"{beside}\n        {layers}", f"e = self.emb(x) + self.pos\n        {passed}\n        return self.head(h)"),
        r.choice(["F.cross_entropy(model(x).reshape(-1, V), y.reshape(-1))", "F.cross_entropy(model(x).transpose(1, 2), y)"]),
    )


def forecast(r: Random) -> Task:
    """The next value of a series at each moment, in each of the three orders of batch, time and channels."""
    layers, passed = r.choice(
        [
            ("self.rnn, self.out = nn.GRU(1, 32, batch_first=True), nn.Linear(32, 1)", "return self.out(self.rnn(x.unsqueeze(-1))[0]).squeeze(-1)"),
            ("self.rnn, self.out = nn.GRU(1, 32), nn.Linear(32, 1)", "return self.out(self.rnn(x.t().unsqueeze(-1))[0]).squeeze(-1).t()"),
            (
                "self.c1, self.c2, self.out = nn.Conv1d(1, 24, 3), nn.Conv1d(24, 24, 3, dilation=2), nn.Conv1d(24, 1, 1)",
                "h = F.relu(self.c1(F.pad(x[:, None], (2, 0))))\n        h = h + F.relu(self.c2(F.pad(h, (4, 0))))\n        return self.out(h).squeeze(1)",
            ),
        ]
    )
    return Task(SERIES, network(layers, passed), r.choice(["F.mse_loss(model(x), y)", "((model(x) - y) ** 2).mean()"]))


TASKS: tuple[Callable[[Random], Task], ...] = (tabular, images, regression, yes_or_no, tags, letters, forecast)
