"""Loaders, the order of labels, and values that are not finite, down to the sample in the data set."""

from __future__ import annotations

import math

import numpy as np
import pytest

from observe.conftest import WatchScript

LABELS = """
from torch.utils.data import DataLoader, TensorDataset
x, y = torch.randn(120, 4), torch.arange(120) // 24
loader = DataLoader(TensorDataset(x, y), batch_size=12, LOADER)  # built
model = nn.Linear(4, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for a, b in loader:  # iterated
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
"""


def test_sorted_labels_in_order(script: WatchScript) -> None:
    run = script(LABELS.replace("LOADER", "shuffle=False"))
    order = run.facts.labels
    assert (order.classes, order.batches, order.batch_size) == (5, 30, 12)
    assert order.distinct_mean == pytest.approx(1.0)
    assert order.distinct_expected > 4
    assert order.run_length == pytest.approx(24.0, rel=0.01)
    assert order.run_length_expected == pytest.approx(1.25)
    assert order.sequential_sampler is True
    assert order.same_order_each_epoch is True
    assert order.loader == 0
    assert run.at(order.place, "# iterated")
    (loader,) = run.facts.loaders
    assert (loader.role, loader.sequential, loader.sampler, loader.batch_size, loader.batches, loader.samples, loader.epochs) == (
        "train", True, "SequentialSampler", 12, 10, 120, 3,
    )  # fmt: skip
    assert loader.variable == "loader"
    assert run.at(loader.built_at, "# built")
    assert run.at(loader.iterated_at, "# iterated")


def test_shuffled_labels(script: WatchScript) -> None:
    order = script(LABELS.replace("LOADER", "shuffle=True")).facts.labels
    assert order.distinct_mean == pytest.approx(order.distinct_expected, rel=0.1)
    assert order.majority_mean == pytest.approx(order.majority_expected, rel=0.15)
    assert order.run_length == pytest.approx(order.run_length_expected, rel=0.15)
    assert order.sequential_sampler is False
    assert order.same_order_each_epoch is False


def test_data_shuffled_once_comes_in_the_same_order(script: WatchScript) -> None:
    order = script(
        LABELS.replace("LOADER", "shuffle=False").replace("torch.arange(120) // 24", "(torch.arange(120) // 24)[torch.randperm(120)]")
    ).facts.labels
    assert order.same_order_each_epoch is True
    assert order.run_length == pytest.approx(order.run_length_expected, rel=0.15)


def test_a_time_series_has_no_label_order(script: WatchScript) -> None:
    """Number targets in time order: nothing is said of classes, and neighbours rise and fall."""
    run = script(
        """
        from torch.utils.data import DataLoader, TensorDataset
        t = torch.arange(400) / 5
        series = torch.sin(t) + 0.1 * torch.randn(400)
        windows = series.unfold(0, 8, 1)
        loader = DataLoader(TensorDataset(windows[:-1], series[8:]), batch_size=20)
        model = nn.Linear(8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            for a, b in loader:
                optimizer.zero_grad()
                F.mse_loss(model(a).squeeze(1), b).backward()
                optimizer.step()
        """
    )
    order = run.facts.labels
    assert order is None or (order.classes == 0 and 0.3 < order.ascending_share < 0.7)
    assert run.facts.loaders[0].sequential


def test_a_custom_batch_sampler_is_not_called_sequential(script: WatchScript) -> None:
    run = script(LABELS.replace("batch_size=12, LOADER", "batch_sampler=[list(range(i, 120, 10)) for i in range(10)]"))
    assert run.facts.loaders[0].sequential is False
    assert run.facts.labels.sequential_sampler is False


def test_a_stream_decides_its_order_itself(script: WatchScript) -> None:
    """No sampler draws from an `IterableDataset`: whether it is shuffled, only its order tells."""
    run = script(
        """
        from torch.utils.data import DataLoader, IterableDataset
        class Shards(IterableDataset):
            def __iter__(self):  # here
                for i in range(120):
                    yield torch.ones(4) * i, i // 24
        model = nn.Linear(4, 5)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
        for epoch in range(3):
            for a, b in DataLoader(Shards(), batch_size=12):
                optimizer.zero_grad()
                F.cross_entropy(model(a), b).backward()
                optimizer.step()
        """
    )
    order, loader = run.facts.labels, run.facts.loaders[0]
    assert (order.sequential_sampler, order.same_order_each_epoch, order.run_length) == (None, True, 24.0)
    assert (loader.stream, loader.sequential) == (True, False)
    assert run.at(loader.item_at, "# here")


def test_manual_batches_have_no_sampler(script: WatchScript) -> None:
    run = script(
        """
        x, y = torch.randn(120, 4), torch.arange(120) // 24
        model = nn.Linear(4, 5)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            for i in range(0, 120, 12):
                optimizer.zero_grad()
                F.cross_entropy(model(x[i:i + 12]), y[i:i + 12]).backward()  # here
                optimizer.step()
        """
    )
    order = run.facts.labels
    assert (order.sequential_sampler, order.loader, order.distinct_mean) == (None, None, 1.0)
    assert run.at(order.place, "# here")
    assert run.facts.loaders == ()


def test_the_labels_of_validation_do_not_count(script: WatchScript) -> None:
    run = script(
        LABELS.replace("LOADER", "shuffle=True")
        + """
    with torch.no_grad():
        for a, b in DataLoader(TensorDataset(x, y), batch_size=10):
            F.cross_entropy(model(a), b)
"""
    )
    assert run.facts.labels.batches == 30
    assert sorted(loader.role for loader in run.facts.loaders)[-1] == "train"
    assert {loader.role for loader in run.facts.loaders} == {"train", "eval"}


LOADERS = """
from torch.utils.data import DataLoader, Dataset, TensorDataset
class Numbers(Dataset):
    def __init__(self, n): self.x = torch.randn(n, 4)
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i], i % 3
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
def make(data, shuffle=False):
    return DataLoader(data, batch_size=4, shuffle=shuffle)
def fit(loader):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
@torch.no_grad()
def check(loader):
    for x, y in loader:
        F.cross_entropy(model(x), y)
"""


@pytest.mark.parametrize(
    ("loop", "epochs"),
    [
        # one loader each, for good
        ("a, b, c = make(Numbers(8), True), make(Numbers(8)), make(Numbers(8))\nfor e in range(3): fit(a); check(b); check(c)", [3, 3, 3]),
        # new loaders over the same data, as trainers do
        ("a, b, c = Numbers(8), Numbers(8), Numbers(8)\nfor e in range(3): fit(make(a, True)); check(make(b)); check(make(c))", [3, 3, 3]),
        # plain lists
        ("a, b = [(torch.randn(4), 1)] * 8, [(torch.randn(4), 2)] * 8\nfor e in range(3): fit(make(a)); check(make(b))", [3, 3]),
        # even the data is new
        ("a = make(Numbers(8), True)\nfor e in range(3):\n    fit(a)\n    check(make(Numbers(12)))", [3, 3]),
    ],
)
def test_loaders_are_told_apart_by_their_data(loop: str, epochs: list[int], script: WatchScript) -> None:
    run = script(LOADERS + loop)
    assert [loader.epochs for loader in run.facts.loaders] == epochs
    assert [loader.index for loader in run.facts.loaders] == list(range(len(epochs)))
    assert [loader.role for loader in run.facts.loaders] == ["train", "eval", "eval"][: len(epochs)]
    assert run.facts.run.epochs == 3
    assert [e.passes for e in run.facts.evaluations] == [3] * (len(epochs) - 1)


# -- values that are not finite -------------------------------------------------------------------------------------

BROKEN = """
from torch.utils.data import DataLoader, TensorDataset
x, y = torch.randn(40, 4), torch.randn(40, 1)
TENSOR[[7, 23], 2 * (TENSOR is x)] = VALUE
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=SHUFFLE, num_workers=WORKERS)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
seen = []
for step, (inputs, truth) in enumerate(loader):
    optimizer.zero_grad()
    guess = model(inputs)  # forward
    loss = F.mse_loss(guess, truth)  # loss
    loss.backward()
    if not torch.isfinite(loss):
        seen.append(step)
        break
    optimizer.step()
"""


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("shuffle", [False, True])
def test_bad_inputs_are_found_down_to_the_sample(workers: int, shuffle: bool, script: WatchScript) -> None:
    text = BROKEN.replace("TENSOR", "x").replace("VALUE", "float('nan')").replace("WORKERS", str(workers)).replace("SHUFFLE", str(shuffle))
    run = script(text)
    (bad,) = run.facts.nonfinite
    assert (bad.role, bad.kind, bad.loss_nonfinite) == ("input", "nan", True)
    assert bad.step == run.names["seen"][0]
    assert set(bad.samples) <= {7, 23}
    assert len(bad.samples) == bad.count >= 1 and bad.found == bad.samples
    assert (bad.columns, bad.columns_total, bad.shape, bad.total) == ((2,), 4, (8, 4), 32)
    assert run.at(bad.place, "# forward")
    assert bad.variable == "inputs"
    for sample, row in zip(bad.samples, bad.rows, strict=True):
        assert math.isnan(run.names["x"][sample, 2])
        assert math.isnan(run.names["inputs"][row, 2])


def test_samples_of_all_bad_batches_are_found(script: WatchScript) -> None:
    text = (
        BROKEN.replace("TENSOR", "x")
        .replace("VALUE", "float('nan')")
        .replace("WORKERS", "0")
        .replace("SHUFFLE", "False")
        .replace("        break\n", "")
    )
    (bad,) = script(text).facts.nonfinite
    assert bad.samples == (7,) and set(bad.found) == {7, 23}


@pytest.mark.parametrize(("value", "kind"), [("float('inf')", "inf"), ("-float('inf')", "-inf")])
def test_bad_targets(value: str, kind: str, script: WatchScript) -> None:
    run = script(BROKEN.replace("TENSOR", "y").replace("VALUE", value).replace("WORKERS", "0").replace("SHUFFLE", "False"))
    (bad,) = run.facts.nonfinite
    assert (bad.role, bad.kind, bad.step, bad.rows, bad.samples) == ("target", kind, 0, (7,), (7,))
    assert run.at(bad.place, "# loss")
    assert bad.variable == "truth"


def test_a_broken_model_is_not_blamed_on_the_data(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e30)
        for step in range(6):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
        """
    )
    assert run.facts.nonfinite == ()
    assert run.record.event_counts["nonfinite-loss"] >= 3
    losses = run.record.series("loss/train").values
    assert np.isfinite(losses[0])
    assert not np.isfinite(losses[-1])


def test_masked_nans_with_a_finite_loss_are_left_alone(script: WatchScript) -> None:
    run = script(
        """
        x = torch.randn(16, 4); x[3, 1] = float('nan')
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(4):
            optimizer.zero_grad()
            out = model(torch.nan_to_num(x))
            out[~x.isnan().any(1)].pow(2).mean().backward()
            optimizer.step()
        """
    )
    assert run.facts.nonfinite == ()


def test_inputs_that_are_not_numbers_are_measured_without_a_word(script: WatchScript, recwarn: pytest.WarningsRecorder) -> None:
    run = script(
        """
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    x = torch.randn(8, 3)
    x[:, 1] = float("nan")
    x[0, 2] = float("inf")
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""
    )
    (scale,) = run.facts.inputs
    assert abs(scale.mean) < 1 and scale.maximum < 10
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_the_target_of_a_single_sample_has_no_order(script: WatchScript) -> None:
    run = script("""
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        data, targets = torch.randn(20, 3), torch.randn(20)
        for step in range(20):
            loss = F.mse_loss(model(data[step])[0], targets[step])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    assert run.facts.labels is None and not run.facts.limits
