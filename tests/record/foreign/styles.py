"""Logs in the styles that the tools really write, made from given curves."""

from __future__ import annotations

import json
import math
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

from record.foreign.curves import Curves
from sickbay.record.foreign.tensorboard import masked

Writer = Callable[[Curves, Path], Path]
STYLES: dict[str, Writer] = {}


def style(name: str) -> Callable[[Writer], Writer]:
    def keep(writer: Writer) -> Writer:
        STYLES[name] = writer
        return writer

    return keep


def text_style(name: str, file: str) -> Callable[[Callable[[Curves], str]], Callable[[Curves], str]]:
    """A style that is one text file."""

    def keep(make: Callable[[Curves], str]) -> Callable[[Curves], str]:
        def write(curves: Curves, folder: Path) -> Path:
            path = folder / file
            path.write_bytes(make(curves).encode())
            return path

        STYLES[name] = write
        return make

    return keep


def points(c: Curves) -> list[tuple[int, float, float | None]]:
    return [(i, float(v), float(c.val[i]) if c.val is not None else None) for i, v in enumerate(c.train)]


def number(value: float, digits: int = 6) -> str:
    return "nan" if math.isnan(value) else f"{value:.{digits}g}"


# -- JSON -----------------------------------------------------------------------------------------------------------


@text_style("hf", "trainer_state.json")
def hf(c: Curves) -> str:
    rows: list[dict[str, float]] = []
    for i, train, val in points(c):
        rows.append({"epoch": i + 1.0, "grad_norm": 1.5, "learning_rate": 5e-5 * (1 - i / len(c.train)), "loss": train, "step": (i + 1) * 50})
        if val is not None:
            rows.append({"epoch": i + 1.0, "eval_loss": val, "eval_runtime": 12.3, "eval_samples_per_second": 100.0, "step": (i + 1) * 50})
    rows.append({"epoch": len(c.train), "step": len(c.train) * 50, "total_flos": 1e15, "train_loss": 0.5, "train_runtime": 99.0})
    return json.dumps({"best_metric": None, "epoch": 3.0, "global_step": 1, "log_history": rows, "is_world_process_zero": True}, indent=2)


@text_style("hf, two evaluation sets", "checkpoint.json")
def hf_sets(c: Curves) -> str:
    rows: list[dict[str, float]] = []
    for i, train, val in points(c):
        rows.append({"epoch": (i + 1) / 7, "loss": train, "step": i + 1})
        if val is not None:
            rows += [{"epoch": (i + 1) / 7, f"eval_{name}_loss": val, f"eval_{name}_runtime": 1.0, "step": i + 1} for name in ("clean", "other")]
    return json.dumps({"log_history": rows, "global_step": 3})


@text_style("detr", "log.txt")
def detr(c: Curves) -> str:
    lines = []
    for i, train, val in points(c):
        row = {"train_lr": 1e-4, "train_class_error": 90.0, "train_loss": train, "train_loss_ce": train / 2, "train_loss_bbox": train / 4}
        if val is not None:
            row |= {"test_class_error": 80.0, "test_loss": val, "test_loss_ce": val / 2, "test_coco_eval_bbox": [0.1, 0.2, -1.0]}  # type: ignore[dict-item]
        lines.append(json.dumps(row | {"epoch": i, "n_parameters": 41302368}))
    return "\n".join(lines) + "\n"


@text_style("mmcv", "20210101.log.json")
def mmcv(c: Curves) -> str:
    lines = [
        json.dumps({"env_info": "sys.platform: linux\nPython: 3.7", "config": "model = dict(type='FasterRCNN')", "seed": None, "exp_name": "x.py"})
    ]
    for i, train, val in points(c):
        lines += [
            json.dumps(
                {
                    "mode": "train",
                    "epoch": i + 1,
                    "iter": 50 * k,
                    "lr": 0.02,
                    "memory": 3700,
                    "data_time": 0.05,
                    "loss_rpn_cls": 0.1,
                    "loss": train * (1.01 if k == 1 else 1),
                    "time": 0.4,
                }
            )
            for k in (1, 2)
        ]
        if val is not None:
            lines.append(json.dumps({"mode": "val", "epoch": i + 1, "iter": 625, "lr": 0.02, "bbox_mAP": 0.3, "loss": val}))
    return "\n".join(lines) + "\n"


@text_style("mmengine", "vis_data.json")
def mmengine(c: Curves) -> str:
    lines = []
    for i, train, val in points(c):
        lines.append(
            json.dumps(
                {
                    "lr": 0.01,
                    "data_time": 0.01,
                    "loss": train,
                    "loss_cls": train / 2,
                    "time": 0.2,
                    "epoch": i + 1,
                    "iter": 100 * (i + 1),
                    "memory": 900,
                    "step": 100 * (i + 1),
                }
            )
        )
        if val is not None:
            lines.append(json.dumps({"val/loss": val, "coco/bbox_mAP": 0.2, "data_time": 0.1, "time": 0.2, "step": i + 1}))
    return "\n".join(lines)


@text_style("detectron2", "metrics.json")
def detectron2(c: Curves) -> str:
    lines = []
    for i, train, val in points(c):
        row = {
            "data_time": 0.01,
            "eta_seconds": 99.0,
            "iteration": 20 * i + 19,
            "loss_cls": train / 2,
            "loss_box_reg": train / 2,
            "lr": 0.00025,
            "rank_data_time": 0.1,
            "time": 0.3,
            "total_loss": train,
        }
        if val is not None:
            row["validation_loss"] = val
        lines.append(json.dumps(row))
    return "\n".join(lines) + "\n"


@text_style("llama-factory", "trainer_log.jsonl")
def llama_factory(c: Curves) -> str:
    lines = []
    for i, train, val in points(c):
        lines.append(
            json.dumps(
                {
                    "current_steps": 10 * (i + 1),
                    "total_steps": 5000,
                    "loss": train,
                    "eval_loss": None,
                    "learning_rate": 1e-5,
                    "epoch": round(i / 9, 2),
                    "percentage": 1.0,
                    "elapsed_time": "0:00:24",
                }
            )
        )
        if val is not None:
            lines.append(
                json.dumps(
                    {"current_steps": 10 * (i + 1), "total_steps": 5000, "eval_loss": val, "epoch": round(i / 9, 2), "remaining_time": "5:58:33"}
                )
            )
    return "\n".join(lines) + "\n"


@text_style("keras history", "history.json")
def keras_history(c: Curves) -> str:
    history = {"loss": [p[1] for p in points(c)], "accuracy": [0.5] * len(c.train)}
    if c.val is not None:
        history |= {"val_loss": [p[2] or 0.0 for p in points(c)], "val_accuracy": [0.4] * len(c.train)}
    return json.dumps(history)


# -- tables ---------------------------------------------------------------------------------------------------------


def table(names: list[str], rows: list[list[object]], separator: str = ",", end: str = "\n") -> str:
    return end.join([separator.join(names), *(separator.join("" if v is None else str(v) for v in row) for row in rows)]) + end


@text_style("lightning", "metrics.csv")
def lightning(c: Curves) -> str:
    rows: list[list[object]] = []
    for i, train, val in points(c):
        rows.append([i, 50 * i + 49, train, None])
        if val is not None:
            rows.append([i, 50 * i + 49, None, val])
    return table(["epoch", "step", "train_loss", "val_loss"], rows)


@text_style("lightning, steps and epochs", "metrics.csv")
def lightning_both(c: Curves) -> str:
    rows: list[list[object]] = []
    for i, train, val in points(c):
        rows += [[i, 20 * i + 9, train * 1.01, None, None], [i, 20 * i + 19, None, None, val], [i, 20 * i + 19, None, train, None]]
    return table(["epoch", "step", "train/loss_step", "train/loss_epoch", "val/loss"], rows)


@text_style("keras csv", "training.log")
def keras_csv(c: Curves) -> str:
    return table(
        ["epoch", "accuracy", "loss", "lr", "val_accuracy", "val_loss"],
        [[i, 0.5, number(t), 0.001, 0.4, "NA" if v is None else number(v)] for i, t, v in points(c)],
        end="\r\n",
    )


@text_style("keras csv with semicolons", "log.csv")
def keras_semicolons(c: Curves) -> str:
    return table(
        ["epoch", "loss", "mae", "val_loss", "val_mae"], [[i, number(t), 0.1, "" if v is None else number(v), 0.2] for i, t, v in points(c)], ";"
    )


@text_style("yolov5", "results.csv")
def yolov5(c: Curves) -> str:
    names = [
        "               epoch",
        "      train/box_loss",
        "      train/obj_loss",
        "      train/cls_loss",
        "   metrics/precision",
        "     metrics/mAP_0.5",
        "        val/box_loss",
        "        val/obj_loss",
        "        val/cls_loss",
        "               x/lr0",
    ]
    rows = [
        [f"{i:>20}", *(f"{t * s!r:>20}" for s in (0.5, 0.25, 0.25)), "0.1", "0.2", *(f"{(v or 0.0) * s!r:>20}" for s in (0.5, 0.25, 0.25)), "0.01"]
        for i, t, v in points(c)
    ]
    return table(names, rows)


@text_style("yolov8", "results.csv")
def yolov8(c: Curves) -> str:
    names = [
        "epoch",
        "time",
        "train/box_loss",
        "train/cls_loss",
        "train/dfl_loss",
        "metrics/precision(B)",
        "metrics/mAP50(B)",
        "val/box_loss",
        "val/cls_loss",
        "val/dfl_loss",
        "lr/pg0",
        "lr/pg1",
    ]
    rows: list[list[object]] = []
    for i, t, v in points(c):
        first = v is not None and i == 0 and c.shape == "healthy"  # a good run whose first validation is not finite
        val = [("inf" if first else (v or 0.0) * s) for s in (0.5, 0.25, 0.25)]
        rows.append([i + 1, 12.5 * i, t * 0.5, t * 0.25, t * 0.25, 0.1, 0.2, *val, 0.01, 0.01])
    return table(names, rows)


@text_style("timm", "summary.csv")
def timm(c: Curves) -> str:
    return table(["epoch", "train_loss", "eval_loss", "eval_top1", "eval_top5", "lr"], [[i, t, v, 55.0, 80.0, 0.1] for i, t, v in points(c)])


@text_style("fastai", "history.csv")
def fastai(c: Curves) -> str:
    return table(
        ["epoch", "train_loss", "valid_loss", "error_rate", "time"],
        [[i, f"{t:.6f}", "" if v is None else f"{v:.6f}", 0.1, "00:12"] for i, t, v in points(c)],
    )


@text_style("wandb export", "wandb_export.csv")
def wandb_export(c: Curves) -> str:
    names = ['"Step"', *(f'"calm-river-7 - {n}{e}"' for n in ("train/loss", "val/loss") for e in ("", "__MIN", "__MAX"))]
    return table(names, [[i, t, t, t, v, v, v] for i, t, v in points(c)])


@text_style("own csv", "progress.tsv")
def own_csv(c: Curves) -> str:
    return "\ufeff" + table(["Epoch", "Training Loss", "Validation Loss"], [[i + 1, t, v] for i, t, v in points(c)], "\t")


# -- text -----------------------------------------------------------------------------------------------------------


@text_style("nanogpt", "out.txt")
def nanogpt(c: Curves) -> str:
    lines = ["number of parameters: 10.65M", "using fused AdamW: True", "compiling the model... (takes a ~minute)"]
    for i, t, v in points(c):
        if v is not None:
            lines.append(f"step {250 * i}: train loss {number(t)}, val loss {number(v)}")
        lines.append(f"iter {250 * i}: loss {number(t)}, time 23.45ms, mfu 1.23%")
    return "\n".join(lines)


@text_style("epoch lines", "train.log")
def epoch_lines(c: Curves) -> str:
    lines = ["2025-08-18 21:59:10,134 - INFO - learning_rate: 0.001", "2025-08-18 21:59:10,134 - INFO - Number of training samples: 4190"]
    for i, t, v in points(c):
        val = f" | Val Loss: {number(v)} Acc: 0.9710" if v is not None else ""
        lines.append(f"2025-08-18 21:59:{i % 60:02},302 - INFO - Epoch {i + 1}/{len(c.train)} | Train Loss: {number(t)} Acc: 0.8993{val}")
        lines.append("2025-08-18 22:00:44,963 - INFO - Best model updated: best_model_acc_0.9771.pth")
    return "\r\n".join(lines)


@text_style("tutorial", "stdout.txt")
def tutorial(c: Curves) -> str:
    lines = []
    for i, t, v in points(c):
        lines += [
            f"Epoch {i}/{len(c.train) - 1}",
            "----------",
            f"train Loss: {number(t)} Acc: 0.7",
            *([f"val Loss: {number(v)} Acc: 0.9"] if v is not None else []),
            "",
        ]
    return "\n".join(lines) + "\nTraining complete in 1m 7s\nBest val Acc: 0.954248\n"


@text_style("keras bars", "keras.txt")
def keras_bars(c: Curves) -> str:
    lines = []
    for i, t, v in points(c):
        val = f" - val_loss: {number(v)} - val_accuracy: 0.9" if v is not None else ""
        bars = [f"{k}/4 [====>....] - ETA: 3s - loss: {number(t * 1.3)} - accuracy: 0.5" for k in (1, 2, 3)]
        lines += [f"Epoch {i + 1}/{len(c.train)}", "\r".join([*bars, f"4/4 [==========] - 5s 3ms/step - loss: {number(t)} - accuracy: 0.5{val}"])]
    return "\n".join(lines)


@text_style("tqdm", "nohup.out")
def tqdm(c: Curves) -> str:
    lines = []
    for i, t, v in points(c):
        bars = [f"Epoch {i}:  {25 * k}%|{'█' * k}{' ' * (4 - k)}| {25 * k}/100 [00:05<00:06,  9.50it/s, loss={number(t)}]" for k in (1, 2, 3, 4)]
        lines.append("\r".join(bars))
        if v is not None:
            lines.append(f"\x1b[32mValidation\x1b[0m: loss={number(v)}, acc=0.5")
    return "\n".join(lines)


@text_style("printed dicts", "slurm-1.out")
def printed_dicts(c: Curves) -> str:
    lines = []
    for i, t, v in points(c):
        lines.append(f"{{'loss': {number(t)}, 'grad_norm': 1.25, 'learning_rate': 4.9e-05, 'epoch': {(i + 1) / 10:.2f}}}")
        if v is not None:
            lines.append(f"{{'eval_loss': {number(v)}, 'eval_runtime': 2.53, 'eval_samples_per_second': 198.2, 'epoch': {(i + 1) / 10:.2f}}}")
    return "\n".join(lines) + "\n{'train_runtime': 123.4, 'train_samples_per_second': 9.1, 'train_loss': 0.5, 'epoch': 3.0}\n"


@text_style("key=value", "kv.log")
def key_value(c: Curves) -> str:
    return "\n".join(
        f"[12:03:{i % 60:02}] step={100 * i} train_loss={number(t)} {f'val_loss={number(v)} ' if v is not None else ''}lr=3.0e-04 tok/s=123456"
        for i, t, v in points(c)
    )


@style("utf-16")
def utf16(c: Curves, folder: Path) -> Path:
    path = folder / "powershell.txt"
    path.write_bytes(epoch_lines(c).encode("utf-16"))
    return path


# -- binary ---------------------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def frame(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def scalar(step: int, tag: str, value: float, *, tensor: bool = False) -> bytes:
    content = b"\x08\x01\x12\x00" + message(5, struct.pack("<f", value)) if tensor else b""
    inner = message(1, tag.encode()) + (message(8, content) if tensor else varint(2 << 3 | 5) + struct.pack("<f", value))
    event = b"\x09" + struct.pack("<d", 1.7e9 + step) + varint(2 << 3) + varint(step) + message(5, message(1, inner))
    return frame(event)


@style("tensorboard")
def tensorboard(c: Curves, folder: Path) -> Path:
    path = folder / "events.out.tfevents.1700000000.host.1.0"
    data = frame(b"\x09" + struct.pack("<d", 1.7e9) + message(3, b"brain.Event:2"))
    for i, t, v in points(c):
        data += scalar(10 * i, "Loss/train", t) + (scalar(10 * i, "Loss/val", v, tensor=True) if v is not None else b"")
    path.write_bytes(data + b"\x10\x00\x00")  # a last event that was not written to its end
    return path


@style("keras tensorboard")
def keras_tensorboard(c: Curves, folder: Path) -> Path:
    for phase, index in (("train", 1), ("validation", 2)):
        (folder / phase).mkdir()
        data = b"".join(scalar(p[0], "epoch_loss", p[index] or 0.0, tensor=True) for p in points(c) if p[index] is not None)
        (folder / phase / "events.out.tfevents.1.v2").write_bytes(frame(b"\x09" + struct.pack("<d", 1.0)) + data)
    return folder


@style("wandb")
def wandb(c: Curves, folder: Path) -> Path:
    records = []
    for i, t, v in points(c):
        items = [("train/loss", t), ("_step", i)] + ([("val/loss", v)] if v is not None else [])
        history = b"".join(message(1, message(1, k.encode()) + varint(16 << 3 | 2) + varint(len(j := json.dumps(x).encode())) + j) for k, x in items)
        records.append(varint(1 << 3) + varint(i) + message(2, history))
    path = folder / "run-1.wandb"
    out = b":W&B\xe1\xbe\x00"
    for data in records:
        first = True
        while True:
            left = 32768 - len(out) % 32768
            if left < 7:
                out += b"\0" * left
                left = 32768
            part, data = data[: left - 7], data[left - 7 :]
            kind = (1 if not data else 2) if first else (4 if not data else 3)
            out += struct.pack("<IHB", 0, len(part), kind) + part
            first = False
            if not data:
                break
    path.write_bytes(out)
    return path


@style("mlflow files")
def mlflow_files(c: Curves, folder: Path) -> Path:
    run = folder / "mlruns" / "0" / "abc"
    (run / "metrics").mkdir(parents=True)
    (run / "meta.yaml").write_text("run_id: abc\n")
    for name, index in (("train_loss", 1), ("val_loss", 2)):
        lines = [f"{1700000000000 + p[0]} {number(p[index] or 0.0, 12)} {p[0]}" for p in points(c) if p[index] is not None]
        (run / "metrics" / name).write_text("\n".join(lines) + "\n")
    return folder / "mlruns"


@style("mlflow database")
def mlflow_database(c: Curves, folder: Path) -> Path:
    path = folder / "mlflow.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, is_nan INTEGER)")
    for name, index in (("train_loss", 1), ("val_loss", 2)):
        for p in points(c):
            if (x := p[index]) is not None:
                db.execute("INSERT INTO metrics VALUES (?,?,?,?,?,?)", (name, 0.0 if math.isnan(x) else x, 1000 + p[0], "r", p[0], math.isnan(x)))
    db.commit()
    db.close()
    return path
