"""The black box: what is kept of the first step that is not finite, and what watching for it costs the user: nothing."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from observe.conftest import WatchScript
from observe.watched import exact, watching
from sickbay.incidents import LoadedIncident, load_incident
from sickbay.observe.blackbox import BlackboxWatch
from sickbay.observe.loaded import LOOKS
from sickbay.observe.portable import Packer
from sickbay.settings import Settings

BREAKS = 5
LOOP = f"""
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
states, randoms = [], []
for step in range({BREAKS + 3}):
    x = torch.rand(6, 4)
    if step == {BREAKS}:
        x[2] = 0
    states.append({{k: v.clone() for k, v in model.state_dict().items()}})
    randoms.append(torch.get_rng_state())
    out = model(x)
    loss = (out / x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def kept(folder: Path) -> LoadedIncident:
    (path,) = folder.glob("*.incident.json")
    return load_incident(path)


@pytest.mark.parametrize("detail", [1, 1000])
def test_the_step_can_be_done_again(script: WatchScript, tmp_path: Path, detail: int) -> None:
    run = script(LOOP, detail_steps=detail)
    incident = kept(tmp_path)
    told = incident.description
    assert (told.kind, told.step, told.loss, told.rates) == ("loss", BREAKS, "inf", (0.01,))
    assert told == run.facts.incident
    assert told.first is not None and told.first.step == BREAKS
    (weights,) = incident.weights.values()
    assert weights.keys() == run.names["states"][BREAKS].keys()
    assert all(torch.equal(v, run.names["states"][BREAKS][k]) for k, v in weights.items())
    assert torch.equal(incident.rng["torch"], run.names["randoms"][BREAKS])
    assert told.rng == {"torch": "forward", "numpy": "incident", "python": "incident"}

    nn = torch.nn
    fresh = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    fresh.load_state_dict(weights)
    optimizer = torch.optim.Adam(fresh.parameters())
    optimizer.load_state_dict(incident.optimizer[0])
    assert optimizer.param_groups[0]["lr"] == 0.01 and len(optimizer.state) == 4
    torch.set_rng_state(incident.rng["torch"])
    np.random.set_state(incident.rng["numpy"])
    random.setstate(incident.rng["python"])
    (call,) = incident.inputs
    out = fresh(*call["args"], **call["kwargs"])
    loss = (out / call["args"][0].sum(1, keepdim=True)).pow(2).mean()
    assert not torch.isfinite(loss)
    assert not torch.isfinite(out / call["args"][0].sum(1, keepdim=True)).all(1)[2]
    assert repr(incident).startswith(f"<sickbay incident: loss at step {BREAKS}; 4 weights of Sequential, 1 model call, no batch")


LOADER = """
from torch.utils.data import DataLoader, Dataset
class Rare(Dataset):
    def __len__(self): return 40
    def __getitem__(self, i):
        x = torch.full((3,), float(i))
        return {"x": x * torch.tensor([1, float("nan"), 1]) if i == 17 else x, "y": i % 2, "name": f"img{i}"}
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
torch.manual_seed(3)
for batch in DataLoader(Rare(), batch_size=4, shuffle=True):
    optimizer.zero_grad()
    F.cross_entropy(model(batch["x"]), batch["y"]).backward()
    optimizer.step()
"""


def test_a_batch_is_kept_as_the_loader_gave_it(script: WatchScript, tmp_path: Path) -> None:
    script(LOADER)
    incident = kept(tmp_path)
    row = incident.batch["name"].index("img17")
    assert incident.batch["x"].isfinite().tolist() == [[True, i != row, True] for i in range(4)]
    told = incident.description
    x, y = told.batch
    assert (x.name, x.shape, x.dtype, x.invalid, x.rows) == ("['x']", (4, 3), "float32", 1, (row,))
    assert (y.name, y.invalid, y.minimum, y.maximum) == ("['y']", 0, 0, 1)
    assert told.samples[row] == 17 and told.fed
    assert [p.part for p in told.kept] == ["batch", "inputs", "rng", "weights", "optimizer"][:4]  # SGD without momentum has no state
    inputs = next(p for p in told.kept if p.part == "inputs")
    assert inputs.bytes == 0, "the same tensor takes room once"
    assert not told.missing


def test_a_loss_that_the_script_stops_at(script: WatchScript, tmp_path: Path) -> None:
    text = LOADER.replace(
        'F.cross_entropy(model(batch["x"]), batch["y"]).backward()',
        """loss = F.cross_entropy(model(batch["x"]), batch["y"])
    if not torch.isfinite(loss):
        break
    loss.backward()""",
    )
    script(text)
    assert kept(tmp_path).description.kind == "loss"


def test_an_evaluation_with_gradients_on_is_not_taken_for_the_step(script: WatchScript, tmp_path: Path) -> None:
    run = script("""
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(6):
            model.eval()
            for _ in range(3):
                model(torch.zeros(9, 3))
            model.train()
            x = torch.randn(5, 3)
            state = torch.get_rng_state() if step == 4 else None
            kept = (x, state) if state is not None else kept if step else None
            loss = model(x).mean() / (4 - step)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
    """)
    incident = kept(tmp_path)
    (call,) = incident.inputs
    x, state = run.names["kept"]
    assert torch.equal(call["args"][0], x) and torch.equal(incident.rng["torch"], state)


def test_two_models_and_a_tensor_of_no_module(script: WatchScript, tmp_path: Path) -> None:
    script("""
        generator, critic, scale = nn.Linear(3, 4), nn.Linear(4, 1), torch.ones(2, requires_grad=True)
        first, second = torch.optim.SGD([*generator.parameters(), scale], lr=0.1), torch.optim.SGD(critic.parameters(), lr=0.1, momentum=0.9)
        for step in range(6):
            for optimizer in (first, second):
                loss = critic(generator(torch.randn(5, 3))).mean() * scale.sum() / (4 - step)
                optimizer.zero_grad(); loss.backward(); optimizer.step()
    """)
    incident = kept(tmp_path)
    assert sorted(len(w) for w in incident.weights.values()) == [1, 2, 2]
    assert torch.equal(incident.weights["outside any module"]["scale"].isfinite(), torch.tensor([True, True]))
    assert [o["kind"] for o in incident.optimizer] == ["SGD", "SGD"]
    assert [c["model"] for c in incident.inputs] == [i.model for i in incident.description.inputs]
    assert len(incident.inputs) == 2


def test_a_script_without_modules(script: WatchScript, tmp_path: Path) -> None:
    script("""
        w = torch.randn(3, 1, requires_grad=True)
        for step in range(8):
            loss = (torch.randn(5, 3) @ w).pow(2).mean() / (5 - step)
            loss.backward()
            with torch.no_grad():
                w -= 0.01 * w.grad
                w.grad = None
    """)
    incident = kept(tmp_path)
    assert list(incident.weights["outside any module"]) == ["w"]
    assert [m.part for m in incident.missing] == ["inputs"]


def test_others_say_when_a_gradient_is_not_finite(tmp_path: Path) -> None:
    with watching(tmp_path / "run.sickbay", exact()) as session:
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(1, 2)).sum()
        loss.backward()
        session.incident("gradient")
        session.incident("weight")  # the first counts
        optimizer.step()
    told = kept(tmp_path).description
    assert (told.kind, told.loss) == ("gradient", f"{loss.item():g}")


def test_without_an_incident_nothing_is_written(script: WatchScript, tmp_path: Path) -> None:
    script(LOOP.replace(f"step == {BREAKS}", "False"))
    assert not list(tmp_path.glob("*incident*"))


def test_zero_keeps_nothing(script: WatchScript, tmp_path: Path) -> None:
    run = script(LOOP, blackbox="0")
    assert not list(tmp_path.glob("*incident*")) and run.facts.incident is None
    assert run.loss.invalid


# -- the budget -----------------------------------------------------------------------------------------------------------

WIDE = """
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(4):
    loss = model(torch.randn(16, 8)).mean() / (3 - step)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


@pytest.mark.parametrize("room", [100, 600, 20_000, 60_000, 10_000_000])
def test_what_does_not_fit_is_left_out_and_told(script: WatchScript, tmp_path: Path, room: int) -> None:
    script(WIDE, blackbox=room)
    incident = kept(tmp_path)
    told = incident.description
    assert sum(p.bytes for p in told.kept) <= room
    assert told.bytes <= room + 40_000, "names and the file's own structure"
    whole = {p.part for p in told.kept} - {m.part for m in told.missing}
    order = [part for part in ("inputs", "rng", "weights", "optimizer") if part in whole]
    assert order == ["inputs", "rng", "weights", "optimizer"][: len(order)]
    assert (room < 10_000_000) == bool(told.missing)
    total = sum(p.bytes for p in told.kept) + sum(m.bytes for m in told.missing)
    assert total == pytest.approx(16 * 8 * 4 + 5056 + 624 * 8 + 3 * 4 * sum((8 * 64 + 64, 64 * 64 + 64, 65)) + 6 * 4)
    for states in incident.optimizer:
        assert all(isinstance(v, torch.Tensor) for s in states["state"].values() for v in s.values()), "no half state of a parameter"


def test_a_view_is_kept_without_what_it_looks_into(tmp_path: Path) -> None:
    everything = torch.randn(1000, 1000)
    packer = Packer(10**6)
    packer.begin("batch")
    row = packer.pack(everything[3])
    assert row.untyped_storage().nbytes() == 4000 and torch.equal(row, everything[3])


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("do not ask")


def test_odd_objects_are_told_and_left_out(tmp_path: Path) -> None:
    holds_itself: list[Any] = []
    holds_itself.append(holds_itself)
    given = (
        {"odd": Odd(), "text": "a", ("a", 1): 2, "self": holds_itself, "array": np.arange(3.0), "names": np.array(["a", "b"])},
        torch.eye(2).to_sparse(),
        np.float32(1.5),
        torch.float16,
        torch.Size((1, 2)),
        None,
    )
    packer = Packer(10**6)
    packer.begin("batch")
    packed = packer.pack(given, describe=True)
    packer.end()
    torch.save(packed, tmp_path / "x.pt")
    loaded = torch.load(tmp_path / "x.pt", weights_only=True)
    assert loaded[0]["odd"].startswith("<left out") and loaded[0]["text"] == "a" and loaded[0]["('a', 1)"] == 2
    assert torch.equal(loaded[0]["array"], torch.arange(3, dtype=torch.float64))
    assert loaded[1].startswith("<left out") and loaded[2:] == (1.5, "torch.float16", (1, 2), None)
    reasons = " ".join(m.why for m in packer.missing)
    assert "Odd" in reasons and "sparse" in reasons and "nested too deep" in reasons and "no tensor type" in reasons


# -- harmless -------------------------------------------------------------------------------------------------------------


def test_nothing_is_held_beyond_its_step(tmp_path: Path) -> None:
    with watching(tmp_path / "run.sickbay", Settings()) as session:
        box = next(o for o in session.observers if isinstance(o, BlackboxWatch))
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(8):
            for batch in torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=4):
                held = weakref.ref(batch)
                optimizer.zero_grad()
                loss = model(batch).sum()
                assert box.loaded.newest is not None and box.loaded.newest[0] is batch and len(box.calls) == 1
                loss.backward()
                optimizer.step()
                del batch, loss
                gc.collect()
                assert (box.calls, box.rng, box.loss) == ([], None, None)
                if session.step > LOOKS:
                    assert box.loaded.newest is None and box.loaded.before is None
                    others = [o for o in session.observers if o.name == "class order"]
                    assert held() is None or others


@pytest.mark.parametrize("when", ["before", "after"])
def test_loaders_that_are_a_batch_ahead(tmp_path: Path, when: str) -> None:
    data = torch.randn(80, 4)
    data[60] = float("nan")  # in batch 15
    with watching(tmp_path / "run.sickbay", exact()):
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        batches = iter(torch.utils.data.DataLoader(data, batch_size=4))
        batch, following = next(batches), None
        for _ in range(18):
            if when == "before":
                following = next(batches)
            model(batch).sum().backward()
            if when == "after":
                following = next(batches)
            optimizer.step()
            batch = following
    incident = kept(tmp_path)
    assert incident.description.step == 15 and incident.description.fed
    assert incident.description.samples == (60, 61, 62, 63)
    assert torch.equal(incident.batch[1:], data[61:64])


def outcome(settings: Settings | None, folder: Path) -> list[bytes]:
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)

    def train() -> Iterator[bytes]:
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(), torch.nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters())
        for step in range(8):
            x = torch.randn(6, 4)
            loss = model(x).pow(2).mean() / (4 - step)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield from (p.detach().numpy().tobytes() for p in (loss, *model.state_dict().values()))

    if settings is None:
        told = list(train())
    else:
        with watching(folder / "run.sickbay", settings):
            told = list(train())
    return [*told, torch.get_rng_state().numpy().tobytes(), np.random.rand(3).tobytes(), repr(random.random()).encode()]


def test_keeping_an_incident_changes_nothing(tmp_path: Path) -> None:
    assert outcome(exact(), tmp_path) == outcome(None, tmp_path)
    assert kept(tmp_path).description.step == 4


def test_a_disk_that_refuses_costs_the_incident_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    plain = outcome(None, tmp_path)
    assert outcome(exact(), tmp_path) == plain
    assert not [p for p in tmp_path.iterdir() if "incident" in p.name], "no half file either"
    from sickbay.record.reader import read_record

    (limit,) = [x for x in read_record(tmp_path / "run.sickbay").facts.limits if x.what.startswith("the incident")]
    assert "No space left" in limit.why


def test_an_update_that_is_not_finite_by_itself(script: WatchScript, tmp_path: Path) -> None:
    """Gradients are finite, the epsilon of Adam is zero in half precision: the weights are kept as the update left them, with what the model was given."""
    script(
        """
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).half()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(16, 6).half(), torch.randint(0, 3, (16,))
x[:, 0] = 0
for step in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x).float(), y)
    loss.backward()
    optimizer.step()
"""
    )
    incident = load_incident(next(tmp_path.glob("**/*.incident.json")))
    assert (incident.description.kind, incident.description.step, incident.description.weights) == ("weight", 0, "after")
    assert len(incident.inputs) == 1 and incident.description.first is not None and incident.description.first.updated_at == 0
