"""Whatever goes wrong inside sickbay, training does not notice: it ends with the same bits, and the report says what was not seen."""

from __future__ import annotations

import io
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from observe.watched import exact, watching
from sickbay.observe.governor import Governor, Instrument
from sickbay.observe.observer import MOMENTS, Observer
from sickbay.observe.roster import observers
from sickbay.observe.session import Session
from sickbay.record.reader import read_record
from sickbay.record.writer import RecordWriter
from sickbay.settings import Settings

ELSEWHERE = ("napped", "gradients_broken", "group_joined", "wrapped", "collective", "uneven_expected")
LISTENED = [(kind.name, moment) for kind in observers() for moment in MOMENTS if hasattr(kind, moment) and moment not in ELSEWHERE]
"""All but what comes only after a nap (see test_naps.py), when a gradient is not finite (see test_forensics_gradients.py) or among ranks (see test_ranks.py)."""


def train() -> list[bytes]:
    """Comes by every moment: loaders, clipping, modes, a scheduler, a scaler, validation, printing, loading a state."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    model.load_state_dict(torch.load(file))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    loader = DataLoader(TensorDataset(torch.randn(12, 4), torch.randint(0, 2, (12,))), batch_size=4, shuffle=True)
    losses = []
    for _ in range(2):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            losses.append(loss.item())
        schedule.step()
        model.eval()
        with torch.no_grad():
            losses.append(F.cross_entropy(model(torch.ones(2, 4)), torch.tensor([0, 1])).item())
        print(f"loss {losses[-2]:.4f} val loss {losses[-1]:.4f}")
    torch.compile(backend="eager")
    weights = [p.detach().numpy().tobytes() for p in model.state_dict().values()]
    return [repr(losses).encode(), *weights, torch.get_rng_state().numpy().tobytes()]


def train_by_hand() -> list[bytes]:
    """Without optimizer and backward()."""
    torch.manual_seed(4)
    weights = [torch.randn(4, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)]
    for _ in range(6):
        loss = F.cross_entropy(torch.tanh(torch.randn(5, 4) @ weights[0]) @ weights[1], torch.tensor([0, 1, 0, 1, 0]))
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for w, g in zip(weights, gradients, strict=True):
                w -= 0.1 * g
    return [w.detach().numpy().tobytes() for w in weights]


@pytest.fixture(scope="module")
def plain() -> list[bytes]:
    torch.set_num_threads(1)  # as in the tests: another number of threads rounds otherwise
    return train()


def break_at(monkeypatch: pytest.MonkeyPatch, name: str, moment: str, error: Exception | None = None) -> list[int]:
    """Make one listener fail; gives back how often it was called."""
    kind = next(k for k in observers() if k.name == name)
    calls: list[int] = []

    def fails(*_: Any) -> None:
        calls.append(1)
        raise error or ZeroDivisionError("injected")

    monkeypatch.setattr(kind, moment, fails)
    return calls


@pytest.mark.parametrize(("name", "moment"), LISTENED, ids=lambda v: str(v))
def test_a_failing_observer_is_retired_alone(name: str, moment: str, plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected_by_hand = train_by_hand()
    calls = break_at(monkeypatch, name, moment)
    path = tmp_path / "run.sickbay"
    sleepy = moment in ("woke", "norm_due")  # come only where steps are so short that some are left unwatched
    if sleepy:
        monkeypatch.setattr(Governor, "may_sleep", lambda _, step: step % 2)
        monkeypatch.setattr(Instrument, "due", lambda instrument, _: instrument.share < 0.3)  # norms on every step, frames on none
    with watching(path, Settings(detail_steps=0, budget=0) if sleepy else exact()) as session:
        before = {o.name for o in session.observers}
        by_hand = moment == "gradients_given"
        assert train_by_hand() == expected_by_hand if by_hand else train() == plain
    assert len(calls) == 1
    assert before - {o.name for o in session.observers} == {name}
    record = read_record(path)
    sees = next(k.sees for k in observers() if k.name == name)
    assert [limit for limit in record.facts.limits if limit.what == sees and "injected" in limit.why]
    (event,) = record.events("observer-failed")
    assert (event.data["observer"], event.data["moment"]) == (name, moment)
    assert "injected" in event.data["error"]
    assert torch._C._len_torch_function_stack() == 0
    expected = {"loss": "loss/train", "optimizer": "lr", "layers": "grad_norm"}
    for other, series in expected.items():
        if other != name:
            assert len(record.series(series)) == 6 or sleepy or by_hand, series


def test_all_observers_failing_at_once(plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, moment in LISTENED:
        break_at(monkeypatch, name, moment)
    path = tmp_path / "run.sickbay"
    with watching(path, exact()) as session:
        assert train() == plain
    assert session.observers == []
    record = read_record(path)
    assert record.facts.run.steps == 6
    assert record.event_counts["observer-failed"] == len(observers())
    assert len(record.facts.limits) >= len(observers()) - 1


def test_those_after_a_failed_one_still_hear_of_the_moment(tmp_path: Path) -> None:
    session = Session(tmp_path / "run.sickbay", exact())
    heard: list[str] = []

    class Good(Observer):
        name, sees = "good", "good"

        def step_closed(self, _: int) -> None:
            heard.append("good")

    class Bad(Observer):
        name, sees = "bad", "bad"

        def step_closed(self, _: int) -> None:
            raise ValueError

    for kind in (Bad, Good, Bad, Good):
        session.add(kind(session))
    session.fire("step_closed", 0)
    assert heard == ["good", "good"]


def test_a_failing_trace(plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sickbay.observe.trace import Trace

    def fails(*_: Any) -> None:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(Trace, "_note", fails)
    path = tmp_path / "run.sickbay"
    with watching(path, exact()):
        assert train() == plain
    record = read_record(path)
    assert any("injected" in limit.why for limit in record.facts.limits)
    assert len(record.series("loss/train")) == 6
    assert len(record.series("grad_norm")) == 6


def test_a_failing_listener_of_the_trace(plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    break_at(monkeypatch, "activations", "passed")
    path = tmp_path / "run.sickbay"
    with watching(path, exact()):
        assert train() == plain
    record = read_record(path)
    assert any("injected" in limit.why for limit in record.facts.limits)
    assert len(record.series("grad_norm")) == 6


def test_a_limit_says_where_it_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sickbay.observe.layers.total_norm", lambda _: 1 / 0)
    with watching(tmp_path / "run.sickbay", exact()) as session:
        train()
    (why,) = [w for w in session.limits.values() if "ZeroDivisionError" in w]
    assert "test_containment.py, line" in why  # the innermost frame: here, the injected function itself


def test_our_mistake_is_not_the_users_interrupt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ctrl-C while an observer works still reaches the user's program."""
    kind = next(k for k in observers() if k.name == "loss")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "loss_called", interrupted)
    with watching(tmp_path / "run.sickbay", exact()) as session:
        with pytest.raises(KeyboardInterrupt):
            train()
        assert not session.busy


# -- the record cannot be written ---------------------------------------------------------------------------------


def check_abandoned(session: Session, folder: Path) -> None:
    from sickbay.observe import starting

    assert session.off
    assert starting.current is None
    assert torch._C._len_torch_function_stack() == 0
    assert not hasattr(torch.nn.Module.__call__, "__wrapped__")


@pytest.mark.parametrize("method", ["frame", "flush", "fact", "_new_layout", "close"])
def test_a_full_disk(method: str, plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(RecordWriter, method, full)
    with watching(tmp_path / "run.sickbay", exact()) as session:
        assert train() == plain
    check_abandoned(session, tmp_path)
    assert "disk is full" in (tmp_path / "bootstrap-errors.txt").read_text()


def test_a_disk_that_fills_up_later_keeps_what_was_written(plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    original = RecordWriter.flush
    count = 0

    def full(self: RecordWriter) -> None:
        nonlocal count
        count += 1
        if count > 2:
            raise sqlite3.OperationalError("database or disk is full")
        original(self)

    monkeypatch.setattr(RecordWriter, "flush", full)
    with watching(tmp_path / "run.sickbay", exact()) as session:
        assert train() == plain
    check_abandoned(session, tmp_path)
    assert len(read_record(tmp_path / "run.sickbay").series("loss/train")) >= 1


@pytest.mark.parametrize("broken", [None, ("loss", "loss_called"), ("graph", "forward_begins")])
def test_a_folder_that_cannot_be_written(broken: tuple[str, str] | None, plain: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also when an observer fails before the record could be opened: telling of it must not fail in turn."""
    if broken:
        break_at(monkeypatch, *broken)
    (tmp_path / "file").write_text("not a folder")
    with watching(tmp_path / "file" / "run.sickbay", exact()) as session:
        assert train() == plain
    check_abandoned(session, tmp_path)


def test_a_folder_that_goes_away(plain: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    folder = tmp_path / "run"
    original = Session._write_pulse

    def vanish(self: Session) -> None:
        if self.step == 2:
            shutil.rmtree(folder)
        original(self)

    monkeypatch.setattr(Session, "_write_pulse", vanish)
    with watching(folder / "run.sickbay", exact()):
        assert train() == plain
    assert torch._C._len_torch_function_stack() == 0


def test_after_giving_up_another_watch_may_begin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sickbay

    (tmp_path / "file").write_text("not a folder")
    with watching(tmp_path / "file" / "run.sickbay", exact()):
        train()
    with sickbay.watch(folder=tmp_path) as patient:
        train()
    assert patient.record.facts.run.steps == 6


def test_the_unwritable_record_file(plain: list[bytes], tmp_path: Path) -> None:
    """Somebody else's file of that name: it is left as it is."""
    path = tmp_path / "run.sickbay"
    path.write_text("something else altogether, which is not SQLite at all")
    path.chmod(stat.S_IRUSR)
    with watching(path, exact()) as session:
        assert train() == plain
    assert session.off
    assert path.read_text().startswith("something else")


def test_hooks_that_cannot_be_installed_are_all_removed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sickbay.observe import hooks, starting

    def fails(*_: Any) -> None:
        raise AttributeError("another version of torch")

    monkeypatch.setattr(hooks, "hook_compilers", fails)
    with pytest.raises(AttributeError):
        starting.start(tmp_path / "run.sickbay", exact())
    assert not hasattr(torch.nn.Module.__call__, "__wrapped__")
    assert starting.current is None
