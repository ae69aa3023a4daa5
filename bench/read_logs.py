"""How fast logs of other tools are read, and in how much memory: a CSV table, a text log and JSON lines, beside `csv` and pandas on the same file;
and a TensorBoard file of 1,000 tags beside TensorBoard's own reader (where it is installed).

    python bench/read_logs.py [MEGABYTES] [FOLDER]

Each reader runs in a process of its own; time is from the start of that process to a record (or to columns of floats), memory is its peak. On a
machine that does other things too, the processor's own time says more than the clock: `CPU MB/s`. The bars are 40 MB/s and 500 MB, and to be as
fast as TensorBoard's own reader; `to pandas` and `to its own` compare processor times of one run of this program.
"""

from __future__ import annotations

import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sickbay.record.foreign.tensorboard import masked

READERS = {
    "sickbay, csv": "from pathlib import Path; from sickbay.record.foreign import read_log; print(len(read_log(Path(PATH))[0].series('loss/train')))",
    "sickbay, csv with diagnosis": "from pathlib import Path; from sickbay.record.foreign import read_log; from sickbay.conclude import diagnose; print(diagnose(read_log(Path(PATH))[0]).verdict)",
    "csv, rows only": "import csv; print(sum(1 for _ in csv.reader(open(PATH))))",
    "csv, to floats": "import csv\nrows = csv.reader(open(PATH)); next(rows); a = [list(map(float, r)) for r in rows]; print(len(a))",
    "pandas": "import pandas; print(len(pandas.read_csv(PATH)))",
    "sickbay, text with diagnosis": "from pathlib import Path; from sickbay.record.foreign import read_log; from sickbay.conclude import diagnose; print(diagnose(read_log(Path(PATH))[0]).verdict)",
    "sickbay, json lines": "from pathlib import Path; from sickbay.record.foreign import read_log; print(len(read_log(Path(PATH))[0].series('loss/train')))",
    "json, to objects": "import json; print(sum(len(json.loads(line)) for line in open(PATH)))",
    "sickbay, text": "from pathlib import Path; from sickbay.record.foreign import read_log; print(len(read_log(Path(PATH))[0].series('loss/train')))",
}

EVENT_READERS = {
    "sickbay, tensorboard": "from pathlib import Path; from sickbay.record.foreign import read_log; print(len(read_log(Path(PATH))[0].series('loss/train')))",
    "tensorboard's own": "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
    "e = EventAccumulator(PATH, size_guidance={'scalars': 0}); e.Reload(); print(sum(len(e.Scalars(t)) for t in e.Tags()['scalars']))",
}
TAGS, EVENT_STEPS = 1000, 100


def write_csv(path: Path, size: int) -> None:
    with path.open("w") as f:
        f.write("step,epoch,loss,val_loss,lr,grad_norm\n")
        step = 0
        while f.tell() < size:
            f.write(
                "".join(
                    f"{i},{i // 5000},{0.5 + 2 * math.exp(-i / 1e5) + (i * 7919 % 1000) / 9000:.9f},{0.6 + 2 * math.exp(-i / 1e5):.9f},{3e-4:.9f},{1 + i % 7:.9f}\n"
                    for i in range(step, step + 10_000)
                )
            )
            step += 10_000


def write_text(path: Path, size: int) -> None:
    with path.open("w") as f:
        step = 0
        while f.tell() < size:
            f.write(
                "".join(
                    f"2025-08-18 21:59:10,112 - INFO - iter {i}: loss {0.5 + 2 * math.exp(-i / 1e5) + (i * 7919 % 1000) / 9000:.4f}, lr 3.0e-04, time 23.45ms, mfu 1.23%\n"
                    for i in range(step, step + 10_000)
                )
            )
            step += 10_000


def write_json_lines(path: Path, size: int) -> None:
    """As mmcv does: the mode, the losses and their parts, times."""
    with path.open("w") as f:
        step = 0
        while f.tell() < size:
            for i in range(step, step + 10_000):
                loss = 0.5 + 2 * math.exp(-i / 1e5) + (i * 7919 % 1000) / 9000
                row = {"mode": "train", "epoch": i // 5000, "iter": i, "lr": 3e-4, "memory": 12345, "data_time": 0.0123}
                f.write(json.dumps(row | {"loss": loss, "loss_cls": 0.7 * loss, "loss_bbox": 0.3 * loss, "time": 0.2345}) + "\n")
            step += 10_000


def write_events(path: Path) -> None:
    """One scalar per event, as SummaryWriter writes them."""

    def varint(value: int) -> bytes:
        return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)

    def field(number: int, data: bytes) -> bytes:
        return varint(number << 3 | 2) + varint(len(data)) + data

    def frame(data: bytes) -> bytes:
        length = struct.pack("<Q", len(data))
        return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))

    with path.open("wb") as f:
        f.write(frame(b"\x09" + struct.pack("<d", 1.7e9) + field(3, b"brain.Event:2")))
        for step in range(EVENT_STEPS):
            for k in range(TAGS):
                tag = f"layer_{k}/weight_norm" if k else "loss/train"
                value = field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", k + 2 / (1 + step))
                f.write(frame(b"\x09" + struct.pack("<d", 1.7e9 + step) + varint(2 << 3) + varint(step) + field(5, field(1, value))))


def measure(code: str, path: Path) -> tuple[float, float, float] | None:
    """Seconds by the clock and of the processor, and the peak of memory in MB; None if the reader is not installed."""
    started = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", f"PATH = {str(path)!r}\n{code}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return (time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024) if child.returncode == 0 else None


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        table, text, events = Path(folder, "metrics.csv"), Path(folder, "train.log"), Path(folder, "events.out.tfevents.1.host")
        lines = Path(folder, "log.json")
        write_csv(table, megabytes * 10**6)
        write_text(text, megabytes * 10**6)
        write_json_lines(lines, megabytes * 10**6)
        write_events(events)
        print(f"{'reader':30} {'seconds':>8} {'MB/s':>8} {'CPU MB/s':>9} {'peak MB':>8} {'against':>16}")
        show({name: (code, events) for name, code in EVENT_READERS.items()}, "tensorboard's own", "its own")
        show({name: (code, text if "text" in name else lines if "json" in name else table) for name, code in READERS.items()}, "pandas", "pandas")


def show(readers: dict[str, tuple[str, Path]], peer: str, called: str) -> None:
    """The peer first, so that the others can be set beside it."""
    rate = None
    for name in sorted(readers, key=lambda name: name != peer):
        code, path = readers[name]
        found, size = measure(code, path), path.stat().st_size / 1e6
        if found is None:
            print(f"{name:30} not installed")
            continue
        rate = size / found[1] if name == peer else rate
        beside = f"{size / found[1] / rate:.2f} to {called}" if rate is not None else ""
        print(f"{name:30} {found[0]:8.2f} {size / found[0]:8.1f} {size / found[1]:9.1f} {found[2]:8.0f} {beside:>16}", flush=True)


if __name__ == "__main__":
    main()
