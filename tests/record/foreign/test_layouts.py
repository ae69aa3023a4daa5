"""Lines and tables as widely used training programs write them: the numbers that are read are those that were written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sickbay.conclude import diagnose
from sickbay.errors import LogError
from sickbay.record.foreign import read_logs

EPOCHS = range(12)


def train(e: float) -> float:
    return round(0.3 + 2 * math.exp(-e / 5), 4)


def val(e: float) -> float:
    return round(0.4 + 2 * math.exp(-e / 5), 4)


def swin(e: int) -> str:
    stamp = f"[2021-04-12 10:00:{e:02} swin_tiny] (main.py 223): INFO"
    return (
        f"{stamp} Train: [{e}/300][100/1251]\teta 0:10:00 lr 0.000001\tloss {train(e)} (2.1)\tgrad_norm 1.5 (1.6)\tmem 9000MB\n"
        f"{stamp} Test: [0/98]\tTime 0.1 (0.2)\tLoss {val(e)} (1.2)\tAcc@1 50.1 (51.2)\n{stamp}  * Acc@1 50.100 Acc@5 80.000"
    )


def espnet(e: int) -> str:
    return (
        f"[h] 2022-01-01 00:00:00,000 (trainer:338) INFO: {e}epoch results: [train] loss_ctc=20.1, acc=0.9, loss={train(e)}, time=10 minutes, "
        f"[valid] loss_ctc=22.1, acc=0.91, cer=0.1, loss={val(e)}, time=1 minute"
    )


LINES: dict[str, Callable[[int], str]] = {
    "two counters in brackets": swin,
    "phases inside a line": espnet,
    "PaddlePaddle": lambda e: (
        f"[2022/01/01 12:00:00] INFO: [Train][Epoch {e + 1}/120][Iter: 0/40]lr: 0.1, CELoss: 0.1, loss: {train(e)}, ips: 100.0 samples/s\n"
        f"[2022/01/01 12:01:00] INFO: [Eval][Epoch {e + 1}][Avg]CELoss: 0.1, loss: {val(e)}, top1: 0.5"
    ),
    "step, phase, loss": lambda e: f"{250 * e} val {val(e)}\n{250 * e} hella 0.2463\n{250 * e} train {train(e)}",
    "LightGBM": lambda e: f"[{e + 1}]\ttraining's binary_logloss: {train(e)}\tvalid_1's binary_logloss: {val(e)}",
    "phases in parentheses": lambda e: f"epoch: {e + 1} loss(train): {train(e)} loss(val): {val(e)}",
    "headings": lambda e: f"[Epoch {e + 1}] Training...\nLoss: {train(e)}\nValidating...\nLoss: {val(e)}",
    "Megatron": lambda e: (
        f" iteration {100 * (e + 1):8d}/  500000 | learning rate: 1.0E-04 | lm loss: {train(e):.6E} | loss scale: 65536.0 | number of nan iterations: 0 |\n"
        f" validation loss at iteration {100 * (e + 1)} | lm loss value: {val(e):.6E} | lm loss PPL: 1.2E+01 | "
    ),
    "numbers in brackets with spaces": lambda e: (
        f"Epoch: [{e}][300/320]\t Loss [ {train(e)}] Accuracy 0.5\nTest: Epoch [{e}] Loss [ {val(e)} ] Accuracy 0.6"
    ),
    "MNIST": lambda e: f"Train Epoch: {e + 1} [0/60000 (0%)]\tLoss: {train(e):.6f}\n\nTest set: Average loss: {val(e)}, Accuracy: 9000/10000 (90%)\n",
    "objects over several lines": lambda e: json.dumps({"epoch": e, "train_loss": train(e), "val_loss": val(e)}, indent=2),
}
TABLES = {
    "a column for the phase": "epoch,phase,loss,acc\n" + "".join(f"{e},train,{train(e)},.5\n{e},val,{val(e)},.6\n" for e in EPOCHS),
    "a column for the name": "step,metric,value\n" + "".join(f"{e},train_loss,{train(e)}\n{e},val_loss,{val(e)}\n{e},lr,0.001\n" for e in EPOCHS),
    "tensors in cells": "epoch,train_loss,val_loss\n" + "".join(f"{e},{train(e)},\"tensor({val(e)}, device='cuda:0')\"\n" for e in EPOCHS),
    "names of two words": "E    #     LOSS TRAIN  LOSS VALID  SCORE\n---  ----  ----------  ----------  -----\n"
    + "".join(f"{e:3d}  {200 * e:4d}  {train(e):10}  {val(e):10}  0.70\n" for e in EPOCHS),
    "an object for each epoch": json.dumps({f"epoch_{e}": {"train_loss": train(e), "val_loss": val(e)} for e in EPOCHS}),
    "rows for each phase": json.dumps({"train": [{"loss": train(e), "acc": 0.5} for e in EPOCHS], "val": [{"loss": val(e)} for e in EPOCHS]}),
    "rows that say their phase": json.dumps([{"epoch": e, "split": s, "loss": f(e)} for e in EPOCHS for s, f in (("train", train), ("val", val))]),
    "a history that was printed": "Epoch 12/12\nDone.\n"
    + str({"loss": [train(e) for e in EPOCHS], "accuracy": [0.5] * 12, "val_loss": [val(e) for e in EPOCHS]}),
    "a history with the result of a test": json.dumps(
        {"loss": [train(e) for e in EPOCHS], "val_loss": [val(e) for e in EPOCHS], "test_loss": 0.7, "test_acc": 0.9}
    ),
    "lists with names": f"train losses: {[train(e) for e in EPOCHS]}\nval losses = {[val(e) for e in EPOCHS]}\n",
    "errors instead of losses": json.dumps({"mean_absolute_error": [train(e) for e in EPOCHS], "val_mean_absolute_error": [val(e) for e in EPOCHS]}),
}
TEXTS = {name: "\n".join(line(e) for e in EPOCHS) for name, line in LINES.items()} | TABLES


@pytest.mark.parametrize("name", TEXTS)
def test_training_and_validation_are_told_apart(name: str, tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.write_text(TEXTS[name])
    (record,) = read_logs([path])
    np.testing.assert_allclose(record.series("loss/train").values, [train(e) for e in EPOCHS])
    np.testing.assert_allclose(record.series("loss/eval").values, [val(e) for e in EPOCHS])


def test_darknet(tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.write_text("\n".join(f" {e + 1}: 9.871, {train(e)} avg loss, 0.001000 rate, 3.1 seconds, 64 images, 2.1 hours left" for e in EPOCHS))
    (record,) = read_logs([path])
    np.testing.assert_allclose(record.series("loss/train").values, [train(e) for e in EPOCHS])


def test_results_without_names(tmp_path: Path) -> None:
    """YOLOv5 and v7 write a table whose columns are known, and nowhere told."""
    path = tmp_path / "results.txt"
    lines = [
        f"{f'{e}/11':>10}{'5.61G':>10}{train(e) / 2:10.5f}{train(e) / 4:10.5f}{train(e) / 4:10.5f}{train(e):10.5f}{25:10}{640:10}"
        f"    0.5    0.45    0.4    0.2   {val(e) / 2:.5f}   {val(e) / 4:.5f}   {val(e) / 4:.5f}"
        for e in EPOCHS
    ]
    path.write_text("\n".join(lines))
    (record,) = read_logs([path])
    np.testing.assert_allclose(record.series("loss/train").values, [train(e) for e in EPOCHS], atol=1e-4)
    np.testing.assert_allclose(record.series("loss/eval").values, [val(e) for e in EPOCHS], atol=1e-4)


def nameless(separator: str, *columns: Callable[[int], object]) -> str:
    return "".join(separator.join(str(c(e)) for c in columns) + "\n" for e in EPOCHS)


@pytest.mark.parametrize(
    "text",
    [
        nameless(",", int, train, val),
        nameless(" ", int, train, val),
        nameless("\t", int, train, lambda e: 0.5 + e / 100, val),
        nameless(";", train, val),
        nameless(",", int, train, val)[:-4],
    ],
    ids=["commas", "spaces", "accuracy between", "no counter", "half-written"],
)
def test_a_table_without_names(text: str, tmp_path: Path) -> None:
    path = tmp_path / "loss.csv"
    path.write_text(text)
    (record,) = read_logs([path])
    assert list(record.series("loss/train").values[:-1]) == [train(e) for e in EPOCHS][:-1]
    assert list(record.series("loss/eval").values[:-1]) == [val(e) for e in EPOCHS][:-1]
    assert record.facts.log is not None and "no names" in record.facts.log.notes[0]


def test_a_table_without_names_whose_counter_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "loss.csv"
    values = [6.2, 5.5, 5.1, 4.9, *np.linspace(4.8, 4.0, 16), *np.linspace(3.99, 3.4, 60)]
    path.write_text("".join(f"{i + 1 if i < 20 else i - 19},{v}\n" for i, v in enumerate(values)))
    (record,) = read_logs([path])
    assert list(record.series("loss/train").values) == values


def test_numbers_without_names_are_no_log_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(nameless(",", int, train, val))
    with pytest.raises(LogError):
        read_logs([tmp_path])


def test_a_folder_with_a_file_for_each_epoch(tmp_path: Path) -> None:
    for e in EPOCHS:
        row = {"best_epoch": 0, "training_epochs": e, "epoch": e, "training_loss": train(e), "validation_loss": val(e), "best_validation_loss": 0.1}
        (tmp_path / f"metrics_epoch_{e}.json").write_text(json.dumps(row))
    (tmp_path / "metrics.json").write_text(json.dumps({"best_epoch": 3, "validation_loss": 0.1}))
    found = read_logs([tmp_path])
    record = next(r for r in found if len(r.series("loss/train")) > 1)
    assert list(record.series("loss/train").values) == [train(e) for e in EPOCHS]
    assert list(record.series("loss/eval").values) == [val(e) for e in EPOCHS]
    assert record.facts.log is not None and record.facts.log.axis == "epoch"


def test_a_table_of_names_that_mean_nothing(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("x1,x2\n" + "".join(f"{e},{train(e)} (tracked)\n" for e in EPOCHS))
    (record,) = read_logs([path])
    assert list(record.series("loss/train").values) == [train(e) for e in EPOCHS]
    path.write_text("a,b,c\n" + "".join(f"{e},{train(e)},{val(e)}\n" for e in EPOCHS))
    with pytest.raises(LogError, match="'a', 'b', 'c'"):
        read_logs([path])
    (record,) = read_logs([path], {"loss/train": "b", "loss/eval": "c"})
    assert list(record.series("loss/eval").values) == [val(e) for e in EPOCHS]


def test_two_tables_that_name_their_columns_differently_are_two_runs(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    rows = "".join(f"  {train(e)}  {val(e)}   0.{50 + e}  0.{40 + e}\n" for e in EPOCHS)
    path.write_text(
        f"model = net\ntrain acc    va_acc  train_loss  val_loss\n{rows}Remarks: none\n\nmodel = net\n\ntrain loss   va_loss  train_acc   val_acc\n{rows}"
        f"Done at 11:38:30\n\ntrain loss   va_loss  train_acc   val_acc\n{rows}"
    )
    for record in read_logs([path])[-2:]:
        np.testing.assert_allclose(record.series("loss/train").values, [train(e) for e in EPOCHS])
        np.testing.assert_allclose(record.series("loss/eval").values, [val(e) for e in EPOCHS])
        assert record.series("accuracy/eval").values[-1] == pytest.approx(0.51)


def test_means_over_an_epoch_are_no_values_among_those_of_its_batches(tmp_path: Path) -> None:
    path = tmp_path / "train_log.txt"
    path.write_text(
        "".join(
            "".join(f"Epoch  {e + 1} | Batch {100 * (k + 1)}/972 | Time/Batch(ms) 691.8 | Train Loss {train(e + k / 9)}\n" for k in range(9))
            + f"Epoch  {e + 1} | Time 1041.3 sec | Train Acc 21.7 | Train Loss 9.9 | Valid Loss {val(e + 1)}\n"
            for e in range(3)
        )
    )
    (record,) = read_logs([path])
    np.testing.assert_allclose(record.series("loss/train").values, [train(e + k / 9) for e in range(3) for k in range(9)])
    assert list(record.series("loss/train").steps[[0, 8, 9, -1]]) == [100, 900, 1000, 2700]
    assert list(record.series("loss/eval").steps) == [900, 1800, 2700]


def test_steps_within_epochs_count_on_from_the_first(tmp_path: Path) -> None:
    path = tmp_path / "some.log.json"
    path.write_text(
        "".join(json.dumps({"mode": "train", "epoch": e, "iter": i, "loss": train(e + i / 4)}) + "\n" for e in (1, 2, 3) for i in (1, 2, 3, 4))
    )
    assert list(read_logs([path])[0].series("loss/train").steps) == list(range(1, 13))
    path.write_text("".join(json.dumps({"epoch": e, "iter": i, "loss": train(e + i / 4)}) + "\n" for e in (0, 1, 2) for i in (0, 1, 2, 3)))
    assert list(read_logs([path])[0].series("loss/train").steps) == list(range(12))


def test_whose_a_bare_accuracy_is_in_a_sparse_table(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("train_loss,accuracy,epoch,val_loss\n" + "".join(f"{train(e)},0.5,{e},\n,,{e},{val(e)}\n" for e in EPOCHS))
    (record,) = read_logs([path])
    assert len(record.series("accuracy/train")) == 12 and not len(record.series("accuracy/eval"))
    path.write_text("class_0_acc,class_1_acc,epoch,step,test_acc,test_loss\n0.9,0.3,0,0,0.63,8.1\n0.9,0.5,0,0,0.69,1.5\n0.4,0.4,0,0,0.44,3.1\n")
    (record,) = read_logs([path])
    assert not len(record.series("accuracy/train")) and len(record.series("accuracy/eval")) == 3


SPOKEN = """Starting epoch {e} current lr is 0.001
Epoch {e}, Step 25, total used time 7.5 (s), avg loss so far is {a}
Epoch {e}, Step 50, total used time 9.5 (s), avg loss so far is {b}
Epoch {e}, val loss is {v}, val mse is 0.02.
"""


def test_losses_in_whole_sentences(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(SPOKEN.format(e=e, a=train(e), b=train(e + 0.5), v=val(e)) for e in EPOCHS))
    record = read_logs([path])[0]
    assert record.series("loss/train").values[:2] == pytest.approx([train(0), train(0.5)])
    assert record.series("loss/eval").values == pytest.approx([val(e) for e in EPOCHS])


def test_a_total_beside_its_parts_in_sentences_is_not_added_to_them(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "".join(f"epoch 0, total_step {50 * e}, total loss is {train(e)} , inference loss is {train(e) / 2}, reg_loss is 0.08\n" for e in EPOCHS)
    )
    losses = read_logs([path])[0].series("loss/train")
    assert losses.values == pytest.approx([train(e) for e in EPOCHS])
    assert losses.steps.tolist() == [50 * e for e in EPOCHS]


def test_the_mean_is_the_curve_beside_the_loss_of_one_batch(tmp_path: Path) -> None:
    path = tmp_path / "dllogger.log"
    path.write_text(
        "".join(f"DLL - Training Epoch: 0 Training Iteration: {100 * e}  average_loss : {train(e)}  step_loss : {val(e)}\n" for e in EPOCHS)
    )
    assert read_logs([path])[0].series("loss/train").values == pytest.approx([train(e) for e in EPOCHS])


NO_LOSS = " iteration {e:8d}/  9000 | learning rate: 3.0E-04 | loss scale: 1.0 | grad norm: {norm} | number of nan iterations:   0 |\n"


def test_megatron_leaves_out_a_loss_that_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(NO_LOSS.format(e=5426 + e, norm="nan") for e in EPOCHS))
    assert diagnose(read_logs([path])[0]).shapes[0] == "diverged-nan"
    path.write_text("".join(NO_LOSS.format(e=5426 + e, norm=1.5) for e in EPOCHS))
    with pytest.raises(LogError):
        read_logs([path])


def test_what_stands_before_the_first_epoch_of_a_text_is_of_the_one_before(tmp_path: Path) -> None:
    """The screen of Keras, copied from the middle on."""
    bar = "15/15 [==============================] - 9s - loss: {a} - val_loss: {v}\n"
    path = tmp_path / "log.txt"
    path.write_text("".join((f"Epoch {129 + e}/200\n" if e else "") + bar.format(a=train(e), v=val(e)) for e in EPOCHS))
    losses = read_logs([path])[0].series("loss/train")
    assert losses.steps.tolist() == [129 + e for e in EPOCHS]
    assert losses.values == pytest.approx([train(e) for e in EPOCHS])
