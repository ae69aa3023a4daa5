"""Files that are not records, or no longer: a clear sentence, or what can be saved; never an error of another kind."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sickbay import facts
from sickbay.errors import NotARecord, RecordError, RecordNotFound, RecordVersionError
from sickbay.record.reader import Record, read_record
from sickbay.record.schema import VERSION
from sickbay.record.writer import RecordWriter


def make(path: Path, steps: int = 200) -> bytes:
    writer = RecordWriter(path)
    names = tuple(f"layer{i}.weight" for i in range(20))
    for step in range(steps):
        writer.frame("pulse", step, ("loss/train", "lr"), [1 / (step + 1), 0.1])
        writer.frame("grad_norm", step, names, np.arange(20) + step)
        if step % 20 == 0:
            writer.flush()
    writer.fact("run", facts.Run(steps=steps))
    writer.fact("parameters", [facts.Parameter(name=n, size=3) for n in names])
    writer.event(3, "clipped", {"norm": 3.0})
    writer.source(__file__)
    writer.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return make(tmp_path_factory.mktemp("whole") / "a.sickbay")


def read_or_refuse(path: Path) -> Record | None:
    """The one promise: a record, or a RecordError that names the file."""
    try:
        return read_record(path)
    except RecordError as e:
        assert str(path) in str(e)
        return None


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(RecordNotFound, match="no record at"):
        read_record(tmp_path / "absent.sickbay")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(NotARecord, match="is empty"):
        read_record(tmp_path / "a")


@pytest.mark.parametrize(
    "content", [b"epoch,loss\n1,2\n", b"\0" * 4096, b"SQLite", os.urandom(300), b"SQLite format 3\0", b"SQLite format 3\0" + b"\0" * 500]
)
def test_other_files(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(NotARecord, match="not a"):
        read_record(tmp_path / "a")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        read_record(tmp_path)


def test_a_file_that_may_not_be_read(whole: bytes) -> None:
    me = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path: another user may not even enter that
        file = Path(folder, "a")
        file.write_bytes(whole)
        file.chmod(0)
        Path(folder).chmod(0o755)
        if me == 0:
            os.seteuid(65534)  # root may read everything; nobody may not
        try:
            with pytest.raises(RecordError):
                read_record(file)
        finally:
            os.seteuid(me)


def test_somebody_elses_database(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "a")
    db.execute("CREATE TABLE runs (id INTEGER)")
    db.commit()
    db.close()
    with pytest.raises(NotARecord, match="an SQLite file but not"):
        read_record(tmp_path / "a")


def test_somebody_elses_database_with_tables_of_the_same_names(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "a")
    for table in ("meta", "layouts", "chunks", "facts", "events", "counts", "sources"):
        db.execute(f"CREATE TABLE {table} (key, value)")
    db.execute("INSERT INTO meta VALUES ('schema', 1)")
    db.execute("INSERT INTO meta VALUES (1, NULL)")
    db.commit()
    db.close()
    record = read_or_refuse(tmp_path / "a")
    assert record is None or record.damage


@pytest.mark.parametrize("version", [str(VERSION + 1), "999", "0", "-1", "1.5", "", "new"])
def test_another_version(version: str, whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(whole)
    db = sqlite3.connect(path)
    db.execute("UPDATE meta SET value=? WHERE key='schema'", (version,))
    db.commit()
    db.close()
    with pytest.raises(RecordVersionError, match="upgrade"):
        read_record(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE layouts SET names='[1, 2'",
        "UPDATE layouts SET names='{}'",
        "UPDATE layouts SET names=NULL, width='x'",
        "UPDATE layouts SET width=-3",
        "UPDATE layouts SET width=99999999999",
        "UPDATE chunks SET count=count + 1",
        "UPDATE chunks SET count=-1",
        "UPDATE chunks SET count='many'",
        "UPDATE chunks SET steps=NULL",
        "UPDATE chunks SET data='text', steps='text'",
        "UPDATE chunks SET data=zeroblob(3)",
        "UPDATE chunks SET layout='x'",
        "UPDATE facts SET value='{'",
        "UPDATE facts SET value='[[[[1]]]]'",
        "UPDATE facts SET value=x'ff00ff'",
        "UPDATE facts SET value=17",
        "UPDATE events SET data='not json', step='x', time='y'",
        "UPDATE events SET kind=NULL, data=NULL",
        "UPDATE events SET data='[1]'",
        "UPDATE counts SET total='x'",
        "UPDATE sources SET text=NULL",
        "UPDATE meta SET value=NULL WHERE key<>'schema'",
        "UPDATE meta SET value=x'31' WHERE key='schema'",
        "DROP TABLE chunks",
        "DROP TABLE facts",
        "DROP TABLE layouts",
        "DELETE FROM layouts",
    ],
)
def test_nonsense_in_one_table_leaves_the_others(statement: str, whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(whole)
    db = sqlite3.connect(path)
    db.execute("PRAGMA ignore_check_constraints=1")
    db.execute("PRAGMA writable_schema=1")
    db.execute("UPDATE sqlite_master SET sql=replace(sql, 'NOT NULL', '') WHERE type='table'")
    db.execute("PRAGMA writable_schema=RESET")
    db.execute(statement)
    db.commit()
    db.close()
    record = read_or_refuse(path)
    table = statement.split()[1 if statement.startswith("UPDATE") else 2]
    if record is None:
        assert table == "meta"
        return
    if table not in ("chunks", "layouts"):
        assert len(record.series("loss/train")) == 200
    if table != "facts":
        assert record.facts.run.steps == 200
    for series in record.all_series.values():
        assert len(series.steps) == len(series.values)


def test_cut_off_at_every_kind_of_length(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    pages = len(whole) // 4096
    lengths = (
        {1, 15, 16, 17, 99, 100, 101, 512, 4095, 4096, 4097, len(whole) - 1}
        | {4096 * i for i in range(1, pages)}
        | set(range(3000, len(whole), 9973))
    )
    saved = 0
    for length in sorted(lengths):
        path.write_bytes(whole[:length])
        record = read_or_refuse(path)
        if record is not None and length < len(whole) - 4096:
            assert record.damage
            saved += len(record.series("loss/train")) > 0 or record.facts.run.steps > 0
    assert saved, "nothing can be saved of any cut-off file"


def test_random_corruption(whole: bytes, tmp_path: Path) -> None:
    """Whole pages, runs of bytes, single bytes: 150 files."""
    path = tmp_path / "a"
    dice = random.Random(7)
    read = 0
    for _ in range(150):
        content = bytearray(whole)
        for _ in range(dice.choice([1, 1, 2, 8])):
            length = dice.choice([1, 1, 4, 60, 4096])
            start = dice.randrange(len(content) - length)
            content[start : start + length] = dice.choice([b"\0" * length, b"\xff" * length, dice.randbytes(length)])
        path.write_bytes(content)
        read += read_or_refuse(path) is not None
    assert read > 20


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=12))
def test_any_corruption(whole: bytes, tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]) -> None:
    content = bytearray(whole)
    for at, value in changes:
        content[at % len(content)] = value
    path = tmp_path_factory.mktemp("corrupt") / "a"
    path.write_bytes(content)
    read_or_refuse(path)


# -- growing and killed ---------------------------------------------------------------------------------------------

GROW = """
import sys, time
from pathlib import Path
from sickbay.record.writer import RecordWriter
writer = RecordWriter(Path(sys.argv[1]))
step = 0
while True:
    writer.frame("pulse", step, ("loss/train",), [float(step)])
    writer.frame("grad_norm", step, ("a", "b"), [float(step), 0.0])
    writer.fact("run", {"steps": step})
    writer.flush()
    step += 1
    if step == 3:
        print("ready", flush=True)
    time.sleep(0.001)
"""


def test_a_growing_record_is_read_by_another_process_and_survives_sigkill(tmp_path: Path) -> None:
    path = tmp_path / "a.sickbay"
    writer = subprocess.Popen([sys.executable, "-c", GROW, str(path)], stdout=subprocess.PIPE)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        seen = []
        for _ in range(25):
            record = read_record(path)
            assert record.damage == ()
            loss, norms = record.series("loss/train"), record.family("grad_norm")
            # One transaction per flush: all of a step is there, or none of it.
            np.testing.assert_array_equal(loss.steps, range(len(loss)))
            np.testing.assert_array_equal(norms.values[:, 0], loss.values)
            assert record.facts.run.steps == len(loss) - 1
            seen.append(len(loss))
        assert seen == sorted(seen)
        assert seen[-1] > seen[0]
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        if writer.stdout is not None:
            writer.stdout.close()
    record = read_record(path)
    assert record.damage == ()
    assert len(record.series("loss/train")) >= seen[-1]


def test_a_killed_record_in_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    """The write-ahead log still lies beside it."""
    path = tmp_path / "a.sickbay"
    child = subprocess.Popen([sys.executable, "-c", GROW, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.kill()
    child.wait()
    child.stdout.close()
    log = path.with_name("a.sickbay-wal")
    assert log.exists()
    tmp_path.chmod(0o500)
    try:
        assert len(read_record(path).series("loss/train")) >= 2
    finally:
        tmp_path.chmod(0o700)
    # Only the one file was copied somewhere else: what had been folded in is there, or a clear sentence is.
    alone = tmp_path / "copy" / "a.sickbay"
    alone.parent.mkdir()
    alone.write_bytes(path.read_bytes())
    read_or_refuse(alone)
    # A log that is damaged as well.
    for junk in (b"", b"\0" * 100, os.urandom(5000)):
        both = tmp_path / "copy" / "b.sickbay"
        both.write_bytes(path.read_bytes())
        both.with_name("b.sickbay-wal").write_bytes(junk)
        read_or_refuse(both)
