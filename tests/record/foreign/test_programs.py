"""What further programs print: bars that count at their end, boxes, phases without a name, losses named by their networks alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from record.foreign.test_layouts import EPOCHS, train, val
from sickbay.record.foreign import read_logs
from sickbay.record.reader import Record


def read_lines(line: Callable[[int], str], tmp_path: Path) -> Record:
    path = tmp_path / "some.log"
    path.write_text("\n".join(line(e) for e in EPOCHS))
    (record,) = read_logs([path])
    return record


def bar(value: float, total: int, back: str) -> str:
    """A bar that is redrawn three times and counts at its end, or over its middle with backspaces."""
    drawn = ((total // 3, 1.3 * value), (total // 2, 1.1 * value), (total, value))
    return "\r".join(f" [=====>...]  Step: 53ms | Tot: 19s{k}ms | Loss: {v:.4f} | Acc: 45.2% (22/50000){back} {k}/{total} " for k, v in drawn)


def detector(e: int) -> str:
    parts = " ".join(f"{train(e) * share:10.5f}" for share in (0.5, 0.25, 0.25))
    return f"\n  Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances  Size\n  {e + 1}/12  2.39G {parts}   18   640: 100%|####| 8/8 [00:05<00:00]"


PROGRAMS: dict[str, Callable[[int], str]] = {
    "a bar that counts at its end": lambda e: f"\nEpoch: {e}\n{bar(train(e), 391, '')}\n{bar(val(e), 100, '')}\nSaving..",
    "a bar that counts over its middle": lambda e: f"\nEpoch: {e}\n{bar(train(e), 391, chr(8) * 40)}\n{bar(val(e), 100, chr(8) * 40)}",
    "Chinese": lambda e: f"第{e + 1}轮 完成 | 训练损失: {train(e)} | 验证损失：{val(e)} | 学习率 0.001\n✓ 保存最佳模型，验证损失: {val(e)}",
    "Russian": lambda e: f"Эпоха {e + 1}/12: потери {train(e)}, точность 0.5\n  валидация: потери {val(e)}",
    "Spanish": lambda e: f"Época {e + 1} - pérdida de entrenamiento: {train(e)} - pérdida de validación: {val(e)}",
    "a bar that is drawn once more with validation": lambda e: (
        f"Epoch {e + 1}/12\n{'485' if e == 0 else '484'}/485 ━━━━━━ 0s 88ms/step - loss: {1.3 * train(e)}\n"
        f"Epoch {e + 1}: val_accuracy did not improve from 0.95\n485/485 ━━━━━━ 45s 93ms/step - loss: {train(e)} - val_loss: {val(e)}"
    ),
    "Caffe": lambda e: (
        f"I0804 16:14:37.12 10392 solver.cpp:229] Iteration {100 * e}, loss = {train(e)}\n"
        f"I0804 16:14:39.10 10392 solver.cpp:406]     Test net output #1: loss = {val(e)} (* 1 = {val(e)} loss)"
    ),
    "MXNet": lambda e: f"INFO:root:Epoch[{e}] Train-cross-entropy={train(e)}\nINFO:root:Epoch[{e}] Validation-cross-entropy={val(e)}",
    "CatBoost": lambda e: f"{e}:\tlearn: {train(e)}\ttest: {val(e)}\tbest: {val(e)} ({e})\ttotal: 12ms\tremaining: 3s",
    "phases without a name": lambda e: f"epoch {e + 1:03d}/100 | train {train(e)} | val {val(e)} | lr 1.00e-03",
    "Catalyst": lambda e: f"{e + 1}/12 * Epoch (train): loss: {train(e)} | lr: 0.001\n{e + 1}/12 * Epoch (valid): loss: {val(e)} | lr: 0.001",
    "both phases at once": lambda e: f"epoch {e + 1}: train/val loss: {train(e)}/{val(e)}",
    "both phases in parentheses": lambda e: f"Epoch {e + 1:3d} | loss (train/val) {train(e)} / {val(e)} | acc 0.5",
    "wide punctuation": lambda e: f"epoch {e + 1} train loss：{train(e)}，val loss：{val(e)}",
    "a box of rich": lambda e: (
        f"Epoch {e + 1}/12\n┏━━━━━━┳━━━┓\n┃ Metric ┃ Value ┃\n┡━━━╇━━━┩\n│ train_loss │ {train(e)} │\n│ val_loss   │ {val(e)} │\n└───┴───┘"
    ),
    "DeepXDE, whose loss is a list": lambda e: (
        "Training model...\n\nStep      Train loss              Test loss             Test metric\n" * (e == 0)
        + f"{1000 * e:<10}[{train(e) - 0.01:.8e}, 5.0e-03, 5.0e-03]    [{val(e) - 0.01:.8e}, 1.0e-02]    []"
        + f"\n\nBest model at step 11000:\n  train loss: {train(e)}" * (e == 11)
    ),
    "names as DeepXDE's over plain numbers": lambda e: "Step      Train loss    Test loss\n" * (e == 0) + f"{1000 * e:<10}{train(e):<14}{val(e)}",
    "numbers in Markdown": lambda e: f"  - **Step {250 * e} (a remark):** Train Loss `{train(e)}` | Val Loss **{val(e)}** *(another)*",
    "decimal commas": lambda e: (
        "| Metrica | Valor final |\n|---|---|\n| Loss | 0,3767 |\n\n| Training Loss | Epoch | Step | Validation Loss |\n|:---:|:---:|:---:|:---:|\n"
        * (e == 0)
        + f"| {train(e)} | {e + 1}.0 | {100 * (e + 1)} | {val(e)} |".replace(".", ",")
    ),
    "thousands in a table": lambda e: (
        "| Step | Train Loss | Val Loss |\n|---|---|---|\n" * (e == 0) + f"| {1000 * (e + 1):,} | {train(e)} | {val(e)} |"
    ),
    "names parted by tabs and spaces": lambda e: (
        "epoch   train_loss\tvalid_loss\taccuracy\ttime\n" * (e == 0) + f"{e}\t{train(e)}\t{val(e)}\t0.9\t00:38"
    ),
    "a table of parameters before the one of losses": lambda e: (
        "Parameter\tValue\nBatch Size\t8\nEpochs\t2\n\nStep\tTraining Loss\tValidation Loss\n" * (e == 0) + f"{500 * (e + 1)}\t{train(e)}\t{val(e)}"
    ),
    "printed dicts below a data set": lambda e: (
        "DatasetDict({\n    test: Dataset({\n        num_rows: 4358\n    })\n})\n" * (e == 0)
        + f"{{'loss': {train(e)}, 'learning_rate': 1.8e-05, 'epoch': {e + 0.5}}}\n{{'eval_loss': {val(e)}, 'eval_runtime': 16.8, 'epoch': {e + 1}.0}}"
        + "\n{'train_runtime': 2331.9, 'train_loss': 0.1268, 'epoch': 12.0}\nTrainOutput(global_step=24, training_loss=0.1268)" * (e == 11)
    ),
    "a line that ends the heading above it": lambda e: "Starting training...\n" * (e == 0) + f"Epoch {e + 1}: loss={train(e)}, val_loss={val(e)}",
    "bars that do not say whose they are": lambda e: (
        f"Epoch {e + 1}/12\n100%|####| 391/391 [00:10<00:00, loss={train(e)}]\n100%|####| 79/79 [00:01<00:00, loss={val(e)}]"
    ),
    "a model card of Hugging Face": lambda e: (
        "- learning_rate: 4e-06\n- Loss: 0.8486\n\n| Training Loss | Epoch | Step | Validation Loss | Wer |\n|:---:|:---:|:---:|:---:|:---:|\n"
        * (e == 0)
        + f"| {train(e)} | {e + 1}.0 | {100 * (e + 1)} | {val(e)} | 41.6 |"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_training_and_validation_are_told_apart(name: str, tmp_path: Path) -> None:
    record = read_lines(PROGRAMS[name], tmp_path)
    np.testing.assert_allclose(record.series("loss/train").values, [train(e) for e in EPOCHS])
    np.testing.assert_allclose(record.series("loss/eval").values, [val(e) for e in EPOCHS])


def test_the_losses_of_a_detector_are_added_up(tmp_path: Path) -> None:
    np.testing.assert_allclose(read_lines(detector, tmp_path).series("loss/train").values, [train(e) for e in EPOCHS], atol=1e-4)


def test_an_entropy_stands_for_the_loss_where_nothing_else_does(tmp_path: Path) -> None:
    record = read_lines(lambda e: f"Step {50 * e}/9000; acc:  12.10; ppl: 812.11; xent: {train(e)}; lr: 0.00001; 7000/8000 tok/s;", tmp_path)
    np.testing.assert_allclose(record.series("loss/train").values, [train(e) for e in EPOCHS])


REWARDS: dict[str, Callable[[int], str]] = {
    "boxes": lambda e: (
        f"--------------\n| rollout/           |          |\n|    ep_len_mean     | 250      |\n|    ep_rew_mean     | {-val(e)} |\n| time/   |   |\n"
        f"|    fps             | 170      |\n|    total_timesteps | {2048 * e} |\n| train/ |  |\n|    loss            | {train(e)} |\n--------------"
    ),
    "older boxes": lambda e: f"----------\n| eplenmean | 3.48 |\n| eprewmean | {-val(e)} |\n| TimestepsSoFar | {1000 * e} |\n----------",
    "episodes": lambda e: f"Episode {10 * e}\tAverage reward: {-val(e)}",
    "scores of episodes": lambda e: f"Episode {100 * e}\tAverage Score: {-val(e)}",
    "a table": lambda e: (
        "Epoch\tAverageEpRet\tStdEpRet\tMaxEpRet\tLossPi\tLossV\tTotalEnvInteracts\n" * (e == 0)
        + f"{e}\t{-val(e)}\t3.1\t5.0\t-0.01\t{train(e)}\t{4000 * e}"
    ),
}


@pytest.mark.parametrize("name", REWARDS)
def test_rewards_are_found(name: str, tmp_path: Path) -> None:
    record = read_lines(REWARDS[name], tmp_path)
    np.testing.assert_allclose(record.series("reward").values, [-val(e) for e in EPOCHS])
    assert record.facts.log is not None and record.facts.log.contested


def test_losses_that_are_named_by_their_networks(tmp_path: Path) -> None:
    record = read_lines(
        lambda e: f"(epoch: {e + 1}, iters: 100, time: 0.123, data: 0.2) D_A: 0.3 G_A: {train(e)} cycle_A: 1.1 D_B: 0.2 G_B: 0.3", tmp_path
    )
    assert record.facts.log is not None and record.facts.log.contested


@pytest.mark.parametrize("drawn", [" [======]", ""], ids=["a bar", "no bar"])
def test_what_keras_measures_when_it_is_done_is_no_training_loss(drawn: str, tmp_path: Path) -> None:
    record = read_lines(
        lambda e: (
            f"Epoch {e + 1}/12\n1875/1875{drawn} - 5s - loss: {train(e)} - accuracy: 0.5"
            + f"\n313/313{drawn} - 0s - loss: 7.0 - accuracy: 0.1" * (e == 11)
        ),
        tmp_path,
    )
    np.testing.assert_allclose(record.series("loss/train").values, [train(e) for e in EPOCHS])


def test_one_box_is_a_summary(tmp_path: Path) -> None:
    record = read_lines(lambda e: f"epoch {e} loss {train(e)}" + "\n| Metric | Value |\n| test_loss | 0.5 |" * (e == 11), tmp_path)
    np.testing.assert_allclose(record.series("loss/train").values, [train(e) for e in EPOCHS])
