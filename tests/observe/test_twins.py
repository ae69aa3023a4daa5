"""Each observer against a slow, obvious twin that computes the same number from whole tensors, one at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from observe.conftest import WatchScript
from observe.watched import Run
from sickbay.facts import HISTOGRAM_BINS, HISTOGRAM_DECADES
from sickbay.observe import activations
from sickbay.observe.labels import _expected_majority
from sickbay.observe.numbers import Blocks, gradient_norms, join, rows, total_norm

Function = Callable[..., Run]


def histogram(x: torch.Tensor) -> np.ndarray:
    """|x| in half-decade bins after one for zeros: one element at a time."""
    counts = np.zeros(HISTOGRAM_BINS, np.int64)
    low, high = HISTOGRAM_DECADES
    for value in x.detach().reshape(-1).tolist():
        if not math.isfinite(value):
            continue
        if abs(value) < 10.0**low:
            counts[0] += 1
        else:
            # The same logarithm in single precision: an element on the edge of a bin belongs to either.
            exponent = float(np.floor(2 * (np.log10(np.abs(np.float32(value))) - low)))
            counts[int(min(max(exponent, -1), 2 * (high - low) - 1)) + 1] += 1
    return counts


class Twin:
    """A small training run that writes down, the slow way, everything that the observers should see."""

    def __init__(self, steps: int = 5) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 10), nn.Tanh(), nn.Linear(10, 10), nn.Sigmoid(), nn.Linear(10, 4))
        with torch.no_grad():
            self.model[0].bias[:5] = -100.0  # five units that never fire
            self.model[2].weight *= 20  # saturates
        self.names = [n for n, _ in self.model.named_parameters()]
        self.rows: list[dict[str, Any]] = []
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        for _ in range(steps):
            x, y = torch.randn(30, 6), torch.randint(0, 4, (30,))
            row: dict[str, Any] = {"lr": optimizer.param_groups[0]["lr"]}
            outputs = {}
            hidden = x
            for name, layer in self.model.named_children():
                hidden = outputs[name] = layer(hidden)
            optimizer.zero_grad()
            logits = self.model(x)
            loss = F.cross_entropy(logits, y)
            loss.backward()
            row["loss"] = loss.item()
            row["accuracy"] = sum(int(a == b) for a, b in zip(logits.argmax(1).tolist(), y.tolist(), strict=True)) / 30
            row["predicted"] = [logits.argmax(1).tolist().count(c) / 30 for c in range(4)]
            row["outputs"] = {n: o.detach().clone() for n, o in outputs.items()}
            row["clip"] = nn.utils.clip_grad_norm_(self.model.parameters(), 0.5).item()
            row["gradients"] = {n: p.grad.clone() for n, p in self.model.named_parameters() if p.grad is not None}
            row["before"] = {n: p.detach().clone() for n, p in self.model.named_parameters()}
            optimizer.step()
            row["after"] = {n: p.detach().clone() for n, p in self.model.named_parameters()}
            schedule.step()
            self.rows.append(row)

    def table(self, of: Callable[[dict[str, Any], str], float], names: tuple[str, ...] | list[str]) -> np.ndarray:
        return np.array([[of(row, n) for n in names] for row in self.rows])


@pytest.fixture
def twin_run(function: Function) -> tuple[Twin, Run]:
    run = function(Twin)
    return run.result, run


def test_losses_rates_clipping_and_accuracy(twin_run: tuple[Twin, Run]) -> None:
    twin, run = twin_run
    for series, key in (("loss/train", "loss"), ("lr", "lr"), ("clip_norm", "clip"), ("accuracy/train", "accuracy")):
        seen = run.record.series(series)
        np.testing.assert_array_equal(seen.steps, range(5))
        np.testing.assert_allclose(seen.values, [row[key] for row in twin.rows], rtol=1e-6, err_msg=series)
    shares = run.record.family("predicted_share/train")
    np.testing.assert_allclose(shares.values, [row["predicted"] for row in twin.rows], rtol=1e-6)


def test_gradients_weights_and_updates(twin_run: tuple[Twin, Run]) -> None:
    twin, run = twin_run
    families = {
        "grad_norm": lambda row, n: row["gradients"][n].norm().item(),
        "weight_norm": lambda row, n: row["before"][n].norm().item(),
        "update_ratio": lambda row, n: ((row["after"][n] - row["before"][n]).norm() / row["before"][n].norm()).item(),
    }
    for name, of in families.items():
        family = run.record.family(name)
        assert list(family.names) == twin.names
        np.testing.assert_array_equal(family.steps, range(5))
        np.testing.assert_allclose(family.values, twin.table(of, twin.names), rtol=2e-4, err_msg=name)
    total = [math.sqrt(sum(g.norm().item() ** 2 for g in row["gradients"].values())) for row in twin.rows]
    np.testing.assert_allclose(run.record.series("grad_norm").values, total, rtol=1e-5)


def test_histograms_of_gradients_and_weights(twin_run: tuple[Twin, Run]) -> None:
    twin, run = twin_run
    for name, key in (("grad_histogram", "gradients"), ("weight_histogram", "after")):
        family = run.record.family(name)
        assert len(family.steps) >= 2
        expected = np.array([[histogram(twin.rows[step][key][n]) for n in family.names] for step in family.steps])
        np.testing.assert_array_equal(family.values, expected, err_msg=name)


def test_activations(twin_run: tuple[Twin, Run]) -> None:
    """Blocks hold 30 of 30 rows and all units here, so the sampled statistics are the whole ones."""
    twin, run = twin_run
    names = run.record.family("activation_mean").names
    assert list(names) == ["0", "1", "2", "3", "4", "5", "6"]
    families = {
        "activation_mean": lambda row, n: row["outputs"][n].mean().item(),
        "activation_std": lambda row, n: row["outputs"][n].std(unbiased=False).item(),
        "activation_max": lambda row, n: row["outputs"][n].abs().max().item(),
        "activation_zero": lambda row, n: (row["outputs"][n] == 0).float().mean().item(),
    }
    for name, of in families.items():
        np.testing.assert_allclose(run.record.family(name).values, twin.table(of, names), rtol=2e-4, atol=1e-6, err_msg=name)
    seen = run.record.family("activation_histogram")
    assert len(seen.steps) >= 2
    np.testing.assert_array_equal(seen.values, [[histogram(twin.rows[step]["outputs"][n]) for n in names] for step in seen.steps])


def test_saturated_and_dead(twin_run: tuple[Twin, Run]) -> None:
    twin, run = twin_run
    saturated = run.record.family("activation_saturated")
    assert saturated.names == ("3", "5")
    tanh = [(row["outputs"]["3"].abs() > 0.99).float().mean().item() for row in twin.rows]
    sigmoid = [((row["outputs"]["5"] - 0.5).abs() > 0.49).float().mean().item() for row in twin.rows]
    np.testing.assert_allclose(saturated.values, np.array([tanh, sigmoid]).T, atol=1e-6)
    assert min(tanh) > 0.3
    dead = run.record.family("activation_dead")
    assert dead.names == ("1",)
    # Nothing is said before enough rows were seen: 96, which is the fourth step of 30.
    np.testing.assert_array_equal(dead.steps, [3, 4])
    for step, share in zip(dead.steps, dead.values[:, 0], strict=True):
        silent = torch.stack([(row["outputs"]["1"] == 0).all(0) for row in twin.rows[: step + 1]]).all(0)
        assert share == pytest.approx(silent.float().mean().item())
        assert share > 0.4


def test_the_window_of_a_dead_unit_forgets() -> None:
    site = activations.Site()
    shares = [site.dead_share(32, np.array([fired, True])) for fired in [True] + [False] * activations.WINDOW]
    assert shares[:2] == [None, None]  # too few rows to say
    assert shares[-2:] == [0.0, 0.5]


def test_a_rectifier_of_another_width_is_counted_anew() -> None:
    site = activations.Site()
    assert site.dead_share(96, np.array([True, False])) == 0.5
    assert site.dead_share(96, np.array([True, True, True])) == 0.0


def test_evaluation_means_are_weighted_by_samples(function: Function) -> None:
    model = nn.Linear(3, 4)
    x, y = torch.randn(22, 3), torch.randint(0, 4, (22,))
    expected: list[tuple[float, float]] = []

    def train() -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        validation = DataLoader(TensorDataset(x, y), batch_size=8)  # 8, 8 and 6
        for _ in range(3):
            with torch.no_grad():
                for a, b in validation:
                    F.cross_entropy(model(a), b)
                expected.append((F.cross_entropy(model(x), y).item(), (model(x).argmax(1) == y).float().mean().item()))
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    run = function(train)
    batches, whole = run.record.series("loss/eval"), run.record.series("loss/eval@1")
    np.testing.assert_allclose(batches.values, [e[0] for e in expected], rtol=1e-6)
    np.testing.assert_allclose(whole.values, batches.values, rtol=1e-6)
    np.testing.assert_allclose(run.record.series("accuracy/eval").values, [e[1] for e in expected], rtol=1e-6)
    assert [e.samples for e in run.facts.evaluations] == [22, 22]
    assert [e.passes for e in run.facts.evaluations] == [3, 3]


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_evaluation_with_another_reduction_is_still_a_mean(function: Function, reduction: str) -> None:
    x, y = torch.randn(12, 3), torch.randint(0, 4, (12,))
    model = nn.Linear(3, 4)

    def train() -> float:
        with torch.no_grad():
            for rows in (slice(0, 8), slice(8, 12)):
                F.cross_entropy(model(x[rows]), y[rows], reduction=reduction)
            mean = F.cross_entropy(model(x), y).item()
        F.cross_entropy(model(x), y).backward()
        return mean

    run = function(train)
    assert run.record.series("loss/eval").values[0] == pytest.approx(run.result, rel=1e-6)


def test_input_scale(function: Function) -> None:
    x = torch.randn(40, 5) * torch.tensor([1.0, 10.0, 100.0, 0.1, 0.0]) + torch.tensor([0.0, 5.0, -300.0, 0.0, 7.0])

    def train() -> None:
        model = nn.Linear(5, 1)
        for i in range(8):
            model(x[5 * i : 5 * i + 5]).mean().backward()

    (scale,) = function(train).facts.inputs
    columns = x.double().numpy()
    assert scale.shape == (5, 5)
    assert scale.batches == 8
    assert scale.mean == pytest.approx(columns.mean(), rel=1e-5)
    assert scale.std == pytest.approx(columns.std(), rel=1e-5)
    assert (scale.minimum, scale.maximum) == (pytest.approx(columns.min(), rel=1e-3), pytest.approx(columns.max(), rel=1e-3))  # four digits
    assert scale.feature_std_min == pytest.approx(0.0, abs=1e-6)
    assert scale.feature_std_max == pytest.approx(columns.std(0).max(), rel=1e-5)
    assert scale.feature_abs_mean_max == pytest.approx(abs(columns.mean(0)).max(), rel=1e-5)


def test_label_order_against_counting(function: Function) -> None:
    rng = np.random.default_rng(1)
    labels = np.concatenate([rng.choice(5, 60, p=[0.4, 0.3, 0.2, 0.05, 0.05]), np.arange(4)])
    batches = labels.reshape(8, 8)

    def train() -> None:
        model = nn.Linear(2, 5)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for batch in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 2)), torch.tensor(batch)).backward()
            optimizer.step()

    order = function(train).facts.labels
    counts = np.bincount(labels)
    assert order.classes == 5
    assert list(order.histogram) == list(counts)
    assert (order.batches, order.batch_size) == (8, 8)
    assert order.distinct_mean == pytest.approx(np.mean([len(set(b)) for b in batches]))
    assert order.majority_mean == pytest.approx(np.mean([np.bincount(b).max() / 8 for b in batches]))
    runs = 1 + sum(int(a != b) for a, b in itertools.pairwise(labels))
    assert order.run_length == pytest.approx(len(labels) / runs)
    assert order.sequential_sampler is None

    # What is expected of random order: by drawing many random orders.
    draws = [rng.choice(5, 8, p=counts / counts.sum()) for _ in range(4000)]
    assert order.distinct_expected == pytest.approx(np.mean([len(set(d)) for d in draws]), rel=0.03)
    assert order.majority_expected == pytest.approx(np.mean([np.bincount(d).max() / 8 for d in draws]), rel=0.06)
    long = rng.choice(5, 40_000, p=counts / counts.sum())
    assert order.run_length_expected == pytest.approx(len(long) / (1 + (long[1:] != long[:-1]).sum()), rel=0.05)


def test_expected_majority_is_certain_for_one_class() -> None:
    assert _expected_majority(np.array([1.0]), 7) == 1.0


def test_blocks_of_every_size_against_one_at_a_time() -> None:
    """Also empty ones, anywhere: a sparse gradient may touch no row, and a parameter may have no elements."""
    blocks = [torch.randn(n) * 10**s for n, s in [(0, 0), (3, -6), (0, 0), (0, 0), (7, 3), (1, 0), (0, 0)]]
    blocks[4][2] = math.inf
    blocks[4][3:5] = 0
    seen = Blocks([len(b) for b in blocks])
    row = rows([join(blocks)])[0]
    for values, pick in ((row, lambda per_block: per_block), (np.stack([row, row]), lambda per_block: per_block[1])):
        np.testing.assert_allclose(pick(seen.norms(values)), [b.double().norm().item() for b in blocks])
        mean, spread, largest, zeros = map(pick, seen.profile(values))
        np.testing.assert_allclose(mean, [b.double().mean().item() if len(b) else 0.0 for b in blocks], rtol=1e-4)
        finite = [i for i, b in enumerate(blocks) if b.isfinite().all()]
        expected = [b.double().std(unbiased=False).item() if len(b) else 0.0 for b in blocks]
        np.testing.assert_allclose(spread[finite], [expected[i] for i in finite], rtol=1e-4)
        np.testing.assert_allclose(largest, [b.abs().max().item() if len(b) else 0.0 for b in blocks])
        np.testing.assert_allclose(zeros, [(b == 0).double().mean().item() if len(b) else 0.0 for b in blocks])
    np.testing.assert_array_equal(seen.histograms(row), [histogram(b) for b in blocks])
    assert Blocks([]).norms(np.empty(0)).shape == (0,)


def test_gradient_norms_of_every_kind() -> None:
    dense = torch.randn(4, 5)
    half = torch.randn(6).to(torch.bfloat16)
    strange = torch.randn(3, dtype=torch.complex64)
    sparse = torch.sparse_coo_tensor(torch.tensor([[1, 1, 3]]), torch.tensor([1.0, 2.0, 4.0]), (5,), check_invariants=True)
    norms = gradient_norms([dense, half, strange, sparse])
    np.testing.assert_allclose(norms, [dense.norm(), half.float().norm(), strange.abs().norm(), 5.0], rtol=1e-2)
    assert total_norm(norms) == pytest.approx(math.sqrt(sum(float(n) ** 2 for n in norms)), rel=1e-6)
    assert total_norm(gradient_norms([torch.full((3,), math.nan)])) != total_norm(gradient_norms([torch.zeros(3)]))


def test_large_tensors_are_sampled_evenly(function: Function) -> None:
    """Weights beyond the block are estimated: close to the whole, not equal."""

    def train() -> nn.Linear:
        model = nn.Linear(300, 50)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.randn(8, 300)).pow(2).mean().backward()
        before = model.weight.detach().clone()
        optimizer.step()
        model.before = before  # type: ignore[assignment]
        return model

    run = function(train)
    model = run.result
    weight = dict(zip(run.record.family("weight_norm").names, run.record.family("weight_norm").values[0], strict=True))["weight"]
    ratio = dict(zip(run.record.family("update_ratio").names, run.record.family("update_ratio").values[0], strict=True))["weight"]
    assert weight == pytest.approx(model.before.norm().item(), rel=0.1)
    assert ratio == pytest.approx(((model.weight - model.before).norm() / model.before.norm()).item(), rel=0.15)
    norm = dict(zip(run.record.family("grad_norm").names, run.record.family("grad_norm").values[0], strict=True))["weight"]
    assert norm == pytest.approx(model.weight.grad.norm().item(), rel=1e-5)  # gradients are measured whole


def test_binary_losses_are_judged(function: Function) -> None:
    logits, target = torch.randn(40, 1), (torch.rand(40, 1) > 0.5).float()
    right = ((logits > 0).float() == target).float().mean().item()
    scale = nn.Parameter(torch.ones(()))

    def train() -> None:
        optimizer = torch.optim.SGD([scale], lr=1e-3)
        F.binary_cross_entropy_with_logits(logits * scale, target).backward()
        optimizer.step()
        F.binary_cross_entropy((logits * scale).sigmoid(), target).backward()
        optimizer.step()

    seen = function(train).record.series("accuracy/train")
    np.testing.assert_allclose(seen.values, [right] * len(seen), rtol=1e-6)
    assert len(seen) == 2


def test_weights_that_the_script_moves_by_hand(function: Function) -> None:
    """Without an optimizer a step lasts from one backward to the next; the last one's update is not seen."""
    seen: list[tuple[float, float]] = []

    def train() -> None:
        weight = torch.randn(6, 4, requires_grad=True)
        x = torch.randn(32, 6)
        for _ in range(6):
            (x @ weight).pow(2).mean().backward()
            assert weight.grad is not None
            with torch.no_grad():
                before = weight.clone()
                weight -= 0.1 * weight.grad
                seen.append((weight.grad.norm().item(), ((weight - before).norm() / before.norm()).item()))
            weight.grad = None

    record = function(train).record
    gradients, ratios = record.family("grad_norm"), record.family("update_ratio")
    assert gradients.names == ("weight",) and len(gradients.steps) >= 3
    np.testing.assert_allclose(gradients.values[:, 0], [seen[i][0] for i in gradients.steps], rtol=1e-4)
    np.testing.assert_allclose(ratios.values[:, 0], [seen[i][1] for i in ratios.steps], rtol=1e-4)


def test_weights_that_are_moved_with_autograd_grad(function: Function) -> None:
    """torch.autograd.grad stands in for backward once the same tensors are asked about again."""

    def train() -> None:
        weights = [torch.randn(6, 5, requires_grad=True), torch.randn(5, 3, requires_grad=True)]
        x, y = torch.randn(30, 6), torch.randint(0, 3, (30,))
        for _ in range(8):
            loss = torch.nn.functional.cross_entropy(torch.tanh(x @ weights[0]) @ weights[1], y)
            gradients = torch.autograd.grad(loss, weights)
            with torch.no_grad():
                for w, g in zip(weights, gradients, strict=True):
                    w -= 0.1 * g

    record = function(train).record
    assert record.facts.run.steps == 7 and record.facts.run.manual_updates
    assert record.family("update_ratio").names == ("weights[0]", "weights[1]")
    (loss,) = record.facts.losses
    assert [h.function for h in loss.heads] == ["cross_entropy"]
    assert [m.parameter for m in loss.linear_maps] == ["weights[0]", "weights[1]"]


def test_a_gradient_with_respect_to_an_input_is_not_training(function: Function) -> None:
    def explain() -> None:
        model = nn.Linear(4, 2)
        for _ in range(5):
            x = torch.randn(3, 4, requires_grad=True)
            torch.autograd.grad(model(x).sum(), x)

    record = function(explain).record
    assert record.facts.run.backwards == 0 and record.facts.run.autograd_grad_calls == 5


def test_one_rectifier_behind_several_layers(script: WatchScript) -> None:
    run = script("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.relu = nn.Linear(4, 8), nn.Linear(8, 8), nn.ReLU()
                nn.init.constant_(self.b.bias, -90.0)
            def forward(self, x):
                return self.relu(self.b(self.relu(self.a(x))))
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(4):
            optimizer.zero_grad()
            (model(torch.randn(64, 4)) - 1).pow(2).mean().backward()
            optimizer.step()
    """)
    dead = run.record.family("activation_dead")
    assert dict(zip(dead.names, dead.values[-1].tolist(), strict=True)) == {"relu": 0.0, "b.relu": 1.0}
