"""Experiments on a double of the model: what they find, what they leave alone, and that nobody notices them."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from observe.conftest import WatchScript
from observe.test_bit_exact import outcome
from observe.watched import Run, watching
from sickbay.observe.probes.double import Double, NoDouble
from sickbay.observe.probes.future import shift_of
from sickbay.observe.probes.rerun import Rerun, confined
from sickbay.settings import Settings

LOOP = """
    X, Y = torch.randn(120, 9, 6), torch.randint(0, 3, (120,))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=20, shuffle=True)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
"""


def net(made: str, passed: str) -> str:
    return f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            {made}
            self.out = nn.Linear(16, 3)
        def forward(self, x):
            {passed}
            return self.out(h)
"""


def run(script: WatchScript, made: str, passed: str, loop: str = LOOP) -> Run:
    return script(textwrap.dedent(net(made, passed)) + textwrap.dedent(loop), budget=1.0)  # no experiment is too dear


# -- batch mixing ---------------------------------------------------------------------------------------------------

PACKED = "x = nn.utils.rnn.pack_padded_sequence(x, torch.arange(len(x), 0, -1).clamp(3, 9), batch_first=True); "
SORTED = "x = nn.utils.rnn.pack_padded_sequence(x, torch.arange(len(x)).clamp(3, 9), batch_first=True, enforce_sorted=False); "
MIXED = {
    "a recurrent layer that expects time first": ("self.rnn = nn.LSTM(6, 16)", "h = self.rnn(x)[0][:, -1]", "nn.LSTM"),
    "attention over the batch": (
        "self.embed, self.mix = nn.Linear(6, 16), nn.MultiheadAttention(16, 2)",
        "e = self.embed(x); h = self.mix(e, e, e, need_weights=False)[0].mean(1)",
        "nn.MultiheadAttention",
    ),
    "a view in place of a transpose": ("self.a = nn.Linear(6, 16)", "h = self.a(x).reshape(9, len(x), 16).mean(0)", "h = self.a(x).reshape"),
    "states of two directions, glued together across samples": (
        "self.rnn = nn.GRU(6, 8, batch_first=True, bidirectional=True)",
        PACKED + "h = self.rnn(x)[1].view(-1, 16)",
        "h = self.rnn(x)[1].view",
    ),
    "the same of sequences that packing sorts": (
        "self.rnn = nn.GRU(6, 8, batch_first=True, bidirectional=True)",
        SORTED + "h = self.rnn(x)[1].view(-1, 16)",
        "h = self.rnn(x)[1].view",
    ),
    "softmax over dimension 0": ("self.a = nn.Linear(6, 16)", "h = (self.a(x).softmax(0) * self.a(x)).sum(1)", "h = (self.a(x).softmax(0)"),
    "a mean over dimension 0": (
        "self.a = nn.Linear(6, 16)",
        "h = (self.a(x) - self.a(x).mean(0)).tanh().mean(1)",
        "h = (self.a(x) - self.a(x).mean(0))",
    ),
}
APART = {
    "batch first": ("self.rnn = nn.GRU(6, 16, batch_first=True)", "h = self.rnn(x)[0][:, -1]"),
    "packed sequences": (
        "self.rnn = nn.GRU(6, 8, batch_first=True, bidirectional=True)",
        PACKED + "h = self.rnn(x)[1].transpose(0, 1).reshape(-1, 16)",
    ),
    "sequences that packing sorts": (
        "self.rnn = nn.GRU(6, 8, batch_first=True, bidirectional=True)",
        SORTED + "h = self.rnn(x)[1].transpose(0, 1).reshape(-1, 16)",
    ),
    "time first, on purpose": ("self.rnn = nn.GRU(6, 16)", "h = self.rnn(x.transpose(0, 1))[0][-1]"),
    "batch norm and dropout": (
        "self.a = nn.Linear(54, 16); self.b = nn.BatchNorm1d(16); self.d = nn.Dropout()",
        "h = self.d(self.b(self.a(x.flatten(1))))",
    ),
    "batch norm without averages": (
        "self.a = nn.Linear(54, 16); self.b = nn.BatchNorm1d(16, track_running_stats=False)",
        "h = self.b(self.a(x.flatten(1)))",
    ),
    "batch norm by hand": ("self.a = nn.Linear(54, 16)", "h = self.a(x.flatten(1)); h = (h - h.mean(0)) / (h.std(0) + 1e-5)"),
    "batch norm written out": (
        "self.a = nn.Linear(54, 16)",
        "h = self.a(x.flatten(1)); m = h.mean(0); h = (h - m) / ((h - m).pow(2).mean(0) + 1e-5).sqrt()",
    ),
    "heads merged into the batch": (
        "self.a = nn.Linear(6, 16)",
        "h = self.a(x).view(len(x), 9, 2, 8).transpose(1, 2).reshape(-1, 9, 8).softmax(1).square().sum(1).view(len(x), 16)",
    ),
    "noise": ("self.a = nn.Linear(54, 16)", "h = F.dropout(self.a(x.flatten(1)) + torch.randn(len(x), 16))"),
}


@pytest.mark.parametrize("name", MIXED)
def test_samples_that_meet(name: str, script: WatchScript) -> None:
    made, passed, line = MIXED[name]
    watched = run(script, made, passed)
    probes = watched.facts.probes
    assert probes.samples_tested and len(probes.mixing) == 1
    assert probes.mixing[0].samples == 20 and probes.mixing[0].changed > 0
    assert watched.at(probes.mixing[0].place, line)


CLASS_TOKEN = "self.embed, self.token, self.mix = nn.Linear(6, 16), nn.Parameter(torch.randn(1, 1, 16)), nn.TransformerEncoderLayer(16, 2, 32{first})"
READ_OUT = "e = torch.cat([self.token.expand(len(x), -1, -1), self.embed(x)], 1); h = self.mix(e)[:, 0]"


def test_samples_that_meet_behind_a_wrapper(script: WatchScript) -> None:
    """DataParallel on a machine without other devices only calls what it wraps."""
    made, passed, line = MIXED["a recurrent layer that expects time first"]
    watched = run(script, made, passed, LOOP.replace("model = Net()", "model = nn.DataParallel(Net())"))
    (mixing,) = watched.facts.probes.mixing
    assert watched.at(mixing.place, line)


def test_a_class_token_that_attends_to_those_of_other_samples(script: WatchScript) -> None:
    """They are all the same: no prediction depends on any sample, and still samples meet at the other positions."""
    watched = run(script, CLASS_TOKEN.format(first=""), READ_OUT)
    (mixing,) = watched.facts.probes.mixing
    assert mixing.changed == 0
    assert watched.at(mixing.place, "nn.TransformerEncoderLayer")
    assert not run(script, CLASS_TOKEN.format(first=", batch_first=True"), READ_OUT).facts.probes.mixing


def test_a_model_that_gives_the_same_for_everything_is_not_judged(script: WatchScript) -> None:
    probes = run(script, "self.a = nn.Linear(6, 16)", "h = self.a(x).mean(1) * 0").facts.probes
    assert not probes.mixing and not probes.samples_tested


@pytest.mark.parametrize("name", APART)
def test_samples_that_stay_apart(name: str, script: WatchScript) -> None:
    probes = run(script, *APART[name]).facts.probes
    assert probes.samples_tested and not probes.mixing


UNKNOWN = {
    "one long sequence, read in order": "loop = [(X[0], torch.randint(0, 3, (9,))) for _ in range(18)]",
    "a slice of a series": "loop = [(X.flatten(0, 1)[i : i + 20], Y[:20]) for i in range(18)]",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_rows_that_may_be_time_are_not_judged(name: str, script: WatchScript) -> None:
    loop = LOOP.replace("loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=20, shuffle=True)", UNKNOWN[name])
    loop = loop.replace("for _ in range(3):", "for _ in range(1):").replace("in loader:", "in loop:")
    assert not run(script, "self.rnn = nn.LSTM(6, 16)", "h = self.rnn(x)[0]", loop).facts.probes.mixing


WORD_LOOP = """
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        x = torch.randint(0, 9, SHAPE)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), (x.flatten() > 4).long())
        loss.backward()
        optimizer.step()
"""
TOKENS_AND_PLACES = (
    "self.embed, self.place, self.mix = nn.Embedding(9, 16), nn.Parameter(torch.randn(PLACES, 16)), nn.TransformerEncoderLayer(16, 2, 16, 0.0)"
)


@pytest.mark.parametrize(
    ("places", "passed", "mixes"),
    [
        ("1, 20", "h = self.mix(self.embed(x) * 4 + self.place[:, :x.shape[1]])", True),
        ("20, 1", "h = self.mix(self.embed(x) + self.place[:len(x)])", False),  # time comes first, as the layer expects
        ("1, 1", "h = self.mix(self.embed(x) + self.place)", None),  # the same for all words: says nothing
    ],
)
def test_positions_tell_samples_from_time(places: str, passed: str, mixes: bool | None, script: WatchScript) -> None:
    found = run(script, TOKENS_AND_PLACES.replace("PLACES", places), passed, WORD_LOOP.replace("SHAPE", "(8, 5)")).facts.probes
    assert found.samples_tested == (mixes is not None) and bool(found.mixing) == bool(mixes)


def test_a_graph_is_meant_to_mix(script: WatchScript) -> None:
    watched = script("""
    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.out = nn.Linear(6, 16), nn.Linear(16, 3)
        def forward(self, x, adjacency):
            return self.out(adjacency @ self.a(x))
    X, Y = torch.randn(200, 6), torch.randint(0, 3, (200,))
    model = Graph()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(18):
        pick = torch.randperm(200)[:20]
        optimizer.zero_grad()
        F.cross_entropy(model(X[pick], torch.rand(20, 20)), Y[pick]).backward()
        optimizer.step()
    """)
    assert not watched.facts.probes.mixing


def test_a_loss_over_pairs_inside_the_model(script: WatchScript) -> None:
    watched = script(
        """
    class Contrast(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 16)
        def forward(self, x):
            z = F.normalize(self.a(torch.cat([x, x + 0.1 * torch.randn_like(x)])), dim=1)
            scores = (z @ z.T).fill_diagonal_(-1e9) / 0.5
            return F.cross_entropy(scores, torch.arange(2 * len(x)).roll(len(x)))
    X = torch.randn(200, 6)
    model = Contrast()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(18):
        optimizer.zero_grad()
        model(X[torch.randperm(200)[:20]]).backward()
        optimizer.step()
    """,
        budget=1.0,
    )
    assert not watched.facts.probes.mixing


def test_support_and_query_are_meant_to_meet(script: WatchScript) -> None:
    watched = script(
        """
    class Prototypes(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 16)
        def forward(self, support, query):
            return -torch.cdist(self.a(query), self.a(support).view(5, 4, 16).mean(1))
    X = torch.randn(200, 6)
    model = Prototypes()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(18):
        optimizer.zero_grad()
        pick = torch.randperm(200)
        F.cross_entropy(model(X[pick[:20]], X[pick[20:40]]), torch.randint(0, 5, (20,))).backward()
        optimizer.step()
    """,
        budget=1.0,
    )
    assert not watched.facts.probes.mixing


def test_samples_picked_by_index_along_another_dimension(script: WatchScript) -> None:
    loop = LOOP.replace("for x, y in loader:", "for pick in torch.randperm(120).split(20):").replace(
        "model(x), y", "model(X.transpose(0, 1)[:, pick]), Y[pick]"
    )
    watched = run(script, "self.rnn = nn.LSTM(6, 16)", "h = self.rnn(x)[0].reshape(x.size(1), 9, 16).mean(1)", loop)
    assert [m.op for m in watched.facts.probes.mixing] == ["reshape"]


# -- future leakage -------------------------------------------------------------------------------------------------

TOKENS = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(12, 16), nn.Linear(16, 12)
            {made}
        def forward(self, x, y=None):
            e = self.embed(x)
            {passed}
            logits = self.out(h)
            return logits if y is None else F.cross_entropy(logits.flatten(0, 1), y.flatten())
    text = torch.randint(0, 12, (500,))
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(18):
        at = torch.randint(0, 480, (8,))
        rows = torch.stack([text[i : i + 11] for i in at])
        {batch}
        optimizer.zero_grad()
        {loss}
        loss.backward()
        optimizer.step()
"""
BATCH, LOSS = "x, y = rows[:, :-1], rows[:, 1:]", "loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())"
ATTEND = "h = F.scaled_dot_product_attention(e, e, e{})"
LEAKS = {
    "no mask": ("", ATTEND.format(""), BATCH, LOSS, "scaled_dot_product_attention"),
    "a mask that is one too generous": (
        "",
        "h = (e @ e.transpose(1, 2)).masked_fill(torch.ones(10, 10).triu(2).bool(), -1e9).softmax(-1) @ e",
        BATCH,
        LOSS,
        ".softmax(-1)",
    ),
    "reads backwards, too": ("self.rnn = nn.GRU(16, 8, bidirectional=True, batch_first=True)", "h = self.rnn(e)[0]", BATCH, LOSS, "nn.GRU"),
    "pads on both sides": (
        "self.conv = nn.Conv1d(16, 16, 3, padding=1)",
        "h = self.conv(e.transpose(1, 2)).transpose(1, 2)",
        BATCH,
        LOSS,
        "nn.Conv1d",
    ),
    "the loss is inside the model": ("", ATTEND.format(""), BATCH, "loss = model(x, y)", "scaled_dot_product_attention"),
    "moved at the loss": (
        "",
        ATTEND.format(""),
        "x = rows",
        "loss = F.cross_entropy(model(x)[:, :-1].transpose(1, 2), x[:, 1:])",
        "scaled_dot_product_attention",
    ),
    "time first": (
        "self.rnn = nn.GRU(16, 8, bidirectional=True)",
        "h = self.rnn(e)[0]",
        "x, y = rows.T[:-1], rows.T[1:]",
        "loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())",
        "nn.GRU",
    ),
}
CAUSAL = {
    "a mask": ("", ATTEND.format(", is_causal=True"), BATCH, LOSS),
    "a recurrent layer": ("self.rnn = nn.LSTM(16, 16, batch_first=True)", "h = self.rnn(e)[0]", BATCH, LOSS),
    "pads on the left": ("self.conv = nn.Conv1d(16, 16, 3)", "h = self.conv(F.pad(e.transpose(1, 2), (2, 0))).transpose(1, 2)", BATCH, LOSS),
    "moves its input itself": ("", "e = F.pad(e, (0, 0, 1, -1)); " + ATTEND.format(", is_causal=True"), "x = y = rows", LOSS),
}
OTHER_TASKS = {
    "a tagger": ("", ATTEND.format(""), "x, y = rows, rows % 3", LOSS),
    "a masked language model": ("", ATTEND.format(""), "y = rows; x = torch.where(torch.rand(rows.shape) < 0.3, 0, rows)", LOSS),
    "an autoencoder": ("", ATTEND.format(""), "x = y = rows", LOSS),
}


def tokens(script: WatchScript, made: str, passed: str, batch: str, loss: str) -> Run:
    return script(textwrap.dedent(TOKENS).format(made=made, passed=passed, batch=batch, loss=loss), budget=1.0)


@pytest.mark.parametrize("name", LEAKS)
def test_predictions_that_see_their_answer(name: str, script: WatchScript) -> None:
    *parts, line = LEAKS[name]
    watched = tokens(script, *parts)
    leaks = watched.facts.probes.leaks
    assert len(leaks) == 1 and leaks[0].ahead == 1 and leaks[0].compared > 50
    assert leaks[0].place is not None and line in leaks[0].place.text
    assert not watched.facts.probes.mixing


@pytest.mark.parametrize("name", CAUSAL)
def test_predictions_that_do_not(name: str, script: WatchScript) -> None:
    probes = tokens(script, *CAUSAL[name]).facts.probes
    assert probes.future_tested and probes.samples_tested and not probes.leaks and not probes.mixing


def test_a_model_that_is_in_order_is_run_three_times(script: WatchScript, monkeypatch: pytest.MonkeyPatch) -> None:
    passes, run = [], Rerun.run
    monkeypatch.setattr(Rerun, "run", lambda self, *args, **named: passes.append(self) or run(self, *args, **named))
    probes = tokens(script, *CAUSAL["a mask"]).facts.probes
    assert probes.future_tested and probes.samples_tested
    assert len(passes) == 3  # as it is, with another position, with another sample


def test_a_model_that_never_gives_the_same_twice_is_not_accused(script: WatchScript) -> None:
    probes = tokens(script, "import time; self.now = time.perf_counter", "h = e + self.now() * 1e4 % 1", BATCH, LOSS).facts.probes
    assert not probes.leaks and not probes.mixing and not probes.future_tested


@pytest.mark.parametrize("name", OTHER_TASKS)
def test_other_tasks_may_look_both_ways(name: str, script: WatchScript) -> None:
    assert not tokens(script, *OTHER_TASKS[name]).facts.probes.leaks


def test_a_target_that_was_not_moved(script: WatchScript) -> None:
    watched = tokens(script, "", ATTEND.format(", is_causal=True"), "x = y = rows", LOSS)
    (leak,) = watched.facts.probes.leaks
    assert leak.ahead == 0 and watched.at(leak.loss_at, "loss = F.cross_entropy")


def test_a_series_of_numbers(script: WatchScript) -> None:
    watched = script(
        """
    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = nn.GRU(3, 8, bidirectional=True, batch_first=True), nn.Linear(16, 1)
        def forward(self, x):
            return self.out(self.rnn(x)[0])
    series = torch.randn(400, 3).cumsum(0)
    model = Forecaster()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(18):
        rows = torch.stack([series[i : i + 13] for i in torch.randint(0, 380, (6,))])
        optimizer.zero_grad()
        F.mse_loss(model(rows[:, :-1]), rows[:, 1:, :1]).backward()
        optimizer.step()
    """,
        budget=1.0,
    )
    assert [(leak.ahead, leak.op) for leak in watched.facts.probes.leaks] == [(1, "gru")]


CONVOLUTIONS = {"both sides": (1, "h", ["conv1d"]), "the past alone": (0, "F.pad(h, (2, 0))", [])}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_channels_before_time(name: str, script: WatchScript) -> None:
    """Samples are counted along the first dimension, whichever of the others is time."""
    padding, padded, found = CONVOLUTIONS[name]
    watched = script(
        f"""
    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.door, self.conv, self.out = nn.Conv1d(1, 8, 1), nn.Conv1d(8, 8, 3, padding={padding}), nn.Conv1d(8, 1, 1)
        def forward(self, x):
            h = self.door(x)
            return self.out(F.relu(self.conv({padded}))).squeeze(1)
    series = torch.randn(400).cumsum(0)
    model = Forecaster()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(18):
        rows = torch.stack([series[i : i + 25] for i in torch.randint(0, 370, (6,))])
        optimizer.zero_grad()
        F.mse_loss(model(rows[:, None, :-1]), rows[:, 1:]).backward()
        optimizer.step()
    """,
        budget=1.0,
    )
    probes = watched.facts.probes
    assert probes.samples_tested and probes.future_tested
    assert [leak.op for leak in probes.leaks] == found and not probes.mixing


def test_how_a_target_is_made_from_the_input() -> None:
    rows = torch.randint(0, 50, (4, 12))
    series = torch.randn(6, 1, 20)
    for x, y, expected in (
        (rows[:, :-1], rows[:, 1:], (1, 1)),
        (rows[:, :-1], rows[:, 1:].flatten(), (1, 1)),
        (rows.T[:-1], rows.T[1:], (0, 1)),
        (rows, rows, (1, 0)),
        (rows[:, :-2], rows[:, 2:], (1, 2)),
        (rows, rows[:, 1:], (1, 1)),
        (series[:, :, :-1], series[:, :, 1:], (2, 1)),
        (series[:, :, :-1], series[:, 0, 1:], (2, 1)),
    ):
        shift = shift_of(x, y)
        assert shift is not None and (shift.dimension, shift.ahead) == expected
    assert shift_of(rows, torch.randint(0, 50, (4, 12))) is None
    assert shift_of(torch.ones(4, 12, dtype=torch.long), torch.ones(4, 12, dtype=torch.long)) is None
    assert shift_of(rows.float(), rows) is None


# -- nobody notices -------------------------------------------------------------------------------------------------


class Stateful(nn.Module):
    """Everything a forward pass may change: averages, counters, a kept state, lists, generators, weights (by max_norm)."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8, max_norm=0.5)
        self.norm, self.drop = nn.BatchNorm1d(8), nn.Dropout(0.4)
        self.rnn = nn.LSTM(8, 8, num_layers=2, dropout=0.2, batch_first=True)
        self.attend = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.utils.parametrizations.spectral_norm(nn.Linear(8, 20))
        self.register_buffer("average", torch.zeros(8))
        self.calls = 0
        self.seen: list[float] = []
        self.state: tuple[torch.Tensor, torch.Tensor] | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        h = self.embed(x)
        h = self.norm(h.transpose(1, 2)).transpose(1, 2) + random.random() * 0.01 + float(np.random.rand()) * 0.01
        h, self.state = self.rnn(self.drop(h), None if self.state is None else tuple(s.detach() for s in self.state))
        self.average.mul_(0.9).add_(h.detach().mean((0, 1)), alpha=0.1)
        self.seen.append(float(h.detach().mean()))
        return self.head(self.attend(h) + torch.randn_like(h) * 0.1 + self.average)  # type: ignore[no-any-return]


def train_stateful() -> Iterator[torch.Tensor]:
    model = Stateful()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(14):
        rows = torch.randint(0, 20, (6, 9))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        yield from (p.grad.clone() for p in model.parameters() if p.grad is not None)
        optimizer.step()
        yield loss.detach()
    yield from (v.detach().clone() for v in model.state_dict().values())
    yield from (torch.tensor(model.seen), torch.tensor(model.calls), *(model.state or ()))
    yield torch.tensor([m.training for m in model.modules()])


def test_experiments_change_nothing(tmp_path: Path) -> None:
    plain = outcome(train_stateful)
    with watching(tmp_path / "r.sickbay", Settings(budget=1.0)) as session:
        watched = outcome(train_stateful)
        probes = next(o for o in session.observers if o.name == "probes")
        assert probes.tries and probes.future_tested  # there was an experiment, and it gave an answer
    assert watched == plain


def test_what_a_forward_pass_prints_is_not_printed_twice(script: WatchScript, capsys: pytest.CaptureFixture[str]) -> None:
    watched = run(script, "self.a = nn.Linear(54, 16)", "h = self.a(x.flatten(1)); print('here')")
    assert watched.facts.probes.samples_tested
    assert capsys.readouterr().out.count("here") == 18


def test_a_double_has_nothing_of_the_original() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    model.tied = model[0].weight  # type: ignore[assignment]
    model.layers = [model[0]]  # type: ignore[assignment]
    double = Double(model).model
    assert type(double) is nn.Sequential and not double.training and model.training
    assert double.layers[0] is double[0] and double.tied is double[0].weight
    mine = {t.data_ptr() for t in (*model.parameters(), *model.buffers())}
    assert not mine & {t.data_ptr() for t in (*double.parameters(), *double.buffers())}


def test_large_weights_are_lent_and_not_copied() -> None:
    model = nn.Sequential(nn.Linear(1024, 1024), nn.Linear(1024, 4))
    double = Double(model).model
    assert double[0].weight.data_ptr() == model[0].weight.data_ptr() and double[0].weight is not model[0].weight
    assert double[1].weight.data_ptr() != model[1].weight.data_ptr()
    copies = Double(model, lends=False).model
    assert copies[0].weight.data_ptr() != model[0].weight.data_ptr()


WRITES = {
    "in place": "self.wide.weight.mul_(0.999)",
    "through data": "self.wide.weight.data.clamp_(-0.01, 0.01)",
    "renormalised": "self.wide.weight.data.renorm_(2, 0, 0.1)",
    "an out argument": "torch.mul(self.wide.weight, 0.999, out=self.wide.weight)",
    "one row": "self.wide.weight[0] = 0.5",
    "numpy": "self.wide.weight.data.numpy()[0] *= 0.5",
    "an array of it": "np.asarray(self.wide.weight.detach())[0] *= 0.5",
    "another tensor in its place": "self.wide.weight.data = self.wide.weight.data * 0.999",
}


@pytest.mark.parametrize("name", WRITES)
def test_weights_that_a_pass_writes_to_are_copied(name: str, script: WatchScript) -> None:
    made = "self.wide, self.b = nn.Linear(54, 8192), nn.Linear(8192, 16)"
    passed = f"""
            with torch.no_grad():
                {WRITES[name]}
            h = self.b(torch.relu(self.wide(x.flatten(1))))"""
    text = "import numpy as np\ntorch.manual_seed(0)\n" + textwrap.dedent(net(made, passed)) + textwrap.dedent(LOOP)
    watched = script(text, budget=1.0)
    assert watched.facts.probes.samples_tested
    plain: dict[str, Any] = {"torch": torch, "nn": nn, "F": F}
    exec(text, plain)
    for mine, theirs in zip(watched.names["model"].parameters(), plain["model"].parameters(), strict=True):
        assert torch.equal(mine, theirs)


def hooked() -> nn.Module:
    model = nn.Linear(2, 2)
    model.register_forward_hook(lambda *_: None)
    return model


def large() -> nn.Module:
    return nn.Linear(20000, 20000, device="meta")


def with_generator() -> nn.Module:
    model = nn.Linear(2, 2)
    model.generator = torch.Generator()  # type: ignore[assignment]
    return model


@pytest.mark.parametrize("make", [hooked, large, with_generator])
def test_what_is_not_doubled(make: Any) -> None:
    with pytest.raises(NoDouble):
        Double(make())


def test_what_a_forward_pass_changes_elsewhere_is_put_back(script: WatchScript) -> None:
    watched = script(
        """
    import logging
    class Cache:
        def __init__(self): self.last, self.count, self.all = None, 0, []
    calls, sizes, totals = 0, [], {"calls": 0}
    def count():
        global calls
        calls += 1
        totals["calls"] += 1
    class Net(nn.Module):
        made = 0
        def __init__(self):
            super().__init__()
            self.a, self.cache = nn.Linear(4, 2), Cache()
        def forward(self, x):
            count()
            sizes.append(len(x))
            Net.made += 1
            logging.getLogger("net").warning("forward")
            self.cache.last, self.cache.count = x, self.cache.count + 1
            self.cache.all.append(len(x))
            return self.a(x)
    X, Y = torch.randn(60, 4), torch.randint(0, 2, (60,))
    heard = []
    class Hear(logging.Handler):
        def emit(self, record): heard.append(record)
    logging.getLogger("net").addHandler(Hear())
    logging.getLogger("net").propagate = False
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(18):
        pick = torch.randperm(60)[:10]
        x = X[pick]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), Y[pick])
        loss.backward()
        assert model.cache.last is x
        optimizer.step()
    """,
        budget=1.0,
    )
    names = watched.names
    assert watched.facts.probes.samples_tested
    assert names["calls"] == len(names["sizes"]) == names["totals"]["calls"] == names["Net"].made == len(names["heard"]) == 18
    assert names["model"].cache.count == len(names["model"].cache.all) == 18


# -- statistics -----------------------------------------------------------------------------------------------------


def test_values_behind_each_batch_norm(script: WatchScript) -> None:
    watched = script("""
    model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(24, 5), nn.BatchNorm1d(5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(3, 1, 8)), torch.randint(0, 5, (3,))).backward()
        optimizer.step()
    """)
    assert [(b.layer, b.smallest, b.samples) for b in watched.facts.probes.batch_norms] == [("1", 18, 3), ("5", 3, 3)]


def test_growth_from_pass_to_pass(script: WatchScript) -> None:
    watched = script("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)
        def forward(self, x):
            for _ in range(12):
                x = x + 2 * self.a(x)
            return x
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.randn(3, 8)).square().mean().backward()
        optimizer.step()
    """)
    most = watched.facts.probes.growth[0]
    assert most.passes == 12 and most.last > 10 * most.first
    assert watched.at(most.place, "x = x + 2 * self.a(x)")


def test_confined_to_one_of_many() -> None:
    changed = torch.zeros(6, 4, 4, dtype=torch.bool)
    changed[2] = True
    assert confined(changed, 6, lambda at: at == 2)
    assert confined(changed.reshape(24, 4), 6, lambda at: at == 2)
    assert confined(changed.movedim(0, 2), 6, lambda at: at == 2)
    assert not confined(changed, 6, lambda at: at == 3)
    assert not confined(torch.ones(6, 4, 4, dtype=torch.bool), 6, lambda at: at == 2)
    pairs = torch.zeros(6, 6, dtype=torch.bool)
    pairs[2] = pairs[:, 2] = True
    assert confined(pairs, 6, lambda at: at == 2)


def test_the_short_rest_of_an_epoch_is_no_experiment(script: WatchScript) -> None:
    """A text that is cut into lengths of 12 ends with one of 2: nothing can be told from that, and it must not be the only try."""
    run = script(
        """
        text = torch.randint(0, 30, (12 * 5 + 3, 8))
        embed, model = nn.Embedding(30, 16), nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.layer, self.out = nn.Embedding(30, 16), nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0), nn.Linear(16, 30)
            def forward(self, tokens):
                return self.out(self.layer(self.embed(tokens)))
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(4):
            for i in range(0, len(text) - 1, 12):
                x, y = text[i : i + 12][: len(text) - 1 - i], text[i + 1 : i + 13]
                optimizer.zero_grad()
                F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
                optimizer.step()
        """,
        detail_steps=2,
    )
    assert run.facts.probes.future_tested and run.facts.probes.leaks
