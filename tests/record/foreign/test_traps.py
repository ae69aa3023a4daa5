"""What real logs hold besides a clean curve."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from record.foreign.styles import table
from sickbay.conclude import diagnose
from sickbay.errors import LogError
from sickbay.record.foreign import parse_map, read_logs
from sickbay.record.reader import Record


def read_text(text: str | bytes, tmp_path: Path, **wanted: str) -> list[Record]:
    path = tmp_path / "some.log"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_logs([path], parse_map(tuple(f"{k}={v}" for k, v in wanted.items())))


def falling(n: int, first: float = 2.0, last: float = 0.5) -> list[float]:
    return [last + (first - last) * math.exp(-4 * i / n) for i in range(n)]


def hf(rows: list[dict[str, float]]) -> str:
    return json.dumps({"log_history": rows, "global_step": 1, "is_world_process_zero": True})


def train_of(record: Record) -> list[float]:
    return list(record.series("loss/train").values)


def test_appended_runs_are_split_and_the_last_is_last(tmp_path: Path) -> None:
    first, second = falling(10, 40, 26), falling(30, 18, 10)
    rows = [{"train_loss": v, "epoch": i} for run in (first, second) for i, v in enumerate(run)]
    found = read_text("\n".join(map(json.dumps, rows)), tmp_path)
    assert [train_of(r) for r in found] == [first, second]
    assert [r.facts.log.run for r in found if r.facts.log] == [0, 1]


def test_appended_runs_with_their_header_again(tmp_path: Path) -> None:
    one = table(["epoch", "loss", "val_loss"], [[i, v, v] for i, v in enumerate(falling(12))])
    two = table(["epoch", "loss", "acc", "val_loss"], [[i, v, 0.5, v] for i, v in enumerate(falling(15))])
    assert [len(train_of(r)) for r in read_text(one + two, tmp_path)] == [12, 12 + 3]


def test_a_counter_that_goes_far_beyond_all_before_it_begins_a_new_run(tmp_path: Path) -> None:
    tried, last = [2.39, 2.33, 2.35], [2.33, *falling(20, 2.3, 1.4)]
    rows = [[i + 1, v, 10.0] for run in (tried, [2.328], last) for i, v in enumerate(run)]
    found = read_text(table(["round", "global_loss", "global_accuracy"], rows), tmp_path)
    assert [len(train_of(r)) for r in found] == [3, 1, 21]


@pytest.mark.parametrize(("first", "runs"), [([2.4], 2), ([2.4, 2.1], 2), ([2.0], 1)], ids=["one", "two", "the same row again"])
def test_a_run_that_ended_after_its_first_epoch_is_no_part_of_the_next(first: list[float], runs: int, tmp_path: Path) -> None:
    rows = [[1, v] for v in first] + [[i + 1, v] for i, v in enumerate(falling(12))]
    found = read_text(table(["epoch", "train_loss"], rows), tmp_path)
    assert len(found) == runs
    assert train_of(found[-1]) == pytest.approx(falling(12))


def test_first_epochs_that_are_rounded_to_the_same_number_are_one_run(tmp_path: Path) -> None:
    rows = [[round(0.004 * i, 2), v] for i, v in enumerate([2.4, *falling(2, 2.2, 2.0)])] + [[0.1 * i, v] for i, v in enumerate(falling(9), 1)]
    assert len(read_text(table(["epoch", "train_loss"], rows), tmp_path)) == 1


def test_the_marks_of_a_merge_are_no_rows(tmp_path: Path) -> None:
    ours, theirs = ("".join(f"{i},{v},{v}\n" for i, v in enumerate(falling(n))) for n in (12, 15))
    text = f"epoch,train_loss,val_loss\n<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> main\n"
    assert [len(train_of(r)) for r in read_text(text, tmp_path)] == [12, 15]


def test_a_resumed_run_is_one_run_and_what_was_trained_last_counts(tmp_path: Path) -> None:
    rows = [{"loss": 5.0 - i / 10, "step": 10 * (i + 1)} for i in range(20)]
    rows += [{"loss": 3.0 - i / 10, "step": 10 * (i + 1)} for i in range(15, 30)]
    (record,) = read_text(hf(rows), tmp_path)
    series = record.series("loss/train")
    assert list(series.steps) == [10 * (i + 1) for i in range(30)]
    assert series.values[14] == 5.0 - 14 / 10 and series.values[15] == 3.0 - 15 / 10
    assert record.facts.log is not None and "resumed" in " ".join(record.facts.log.notes)


def test_steps_that_begin_anew_with_each_epoch(tmp_path: Path) -> None:
    lines = [
        f"Epoch: [{e}][{k:>3}/390]\tTime 0.1 (0.2)\tLoss {2 - e * 0.3 - k / 1000:.4f} ({2 - e * 0.3:.4f})\tAcc@1 50.0 (49.0)"
        for e in range(5)
        for k in (0, 100, 200, 300)
    ]
    (record,) = read_text("\n".join(lines), tmp_path)
    assert len(train_of(record)) == 20
    assert train_of(record)[5] == pytest.approx(2 - 0.3 - 0.1)


def test_a_counter_that_is_no_step_makes_no_runs(tmp_path: Path) -> None:
    (record,) = read_text("\n".join(f"it {9 - i % 2} loss {v:.5f}" for i, v in enumerate(falling(20))), tmp_path)
    np.testing.assert_allclose(train_of(record), falling(20), atol=1e-5)


def test_steps_that_begin_anew_without_epochs(tmp_path: Path) -> None:
    values = falling(40)
    lines = [f"step {k * 100}/1000 loss: {values[10 * e + k]:.5f}" for e in range(4) for k in range(10)]
    (record,) = read_text("\n".join(lines), tmp_path)
    np.testing.assert_allclose(train_of(record), values, atol=1e-4)


def test_validation_rows_on_another_axis(tmp_path: Path) -> None:
    lines = []
    for e in range(1, 11):
        lines += [json.dumps({"loss": 2.0 / e, "step": 500 * e, "epoch": e}), json.dumps({"val/loss": 2.1 / e, "step": e})]
    (record,) = read_text("\n".join(lines), tmp_path)
    assert list(record.series("loss/eval").steps) == [500 * e for e in range(1, 11)]


def test_an_evaluation_before_training_and_several_sets(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = [{"eval_a_loss": 5.0, "step": 0, "epoch": 0}, {"eval_b_loss": 6.0, "step": 0, "epoch": 0}]
    for i in range(1, 8):
        rows += [
            {"loss": 2 / i, "step": 100 * i, "epoch": i},
            {"eval_a_loss": 3 / i, "step": 100 * i, "epoch": i},
            {"eval_b_loss": 4 / i, "step": 100 * i, "epoch": i},
        ]
    (record,) = read_text(hf(rows), tmp_path)
    assert list(record.series("loss/eval").steps) == [0, *range(100, 800, 100)]
    assert record.series("loss/eval@1").values[0] == 6.0


def test_nan_of_a_metric_is_no_divergence(tmp_path: Path) -> None:
    text = table(["epoch", "loss", "f1", "val_loss", "val_f1"], [[i, v, "nan", v, "nan"] for i, v in enumerate(falling(30))])
    assert diagnose(read_text(text, tmp_path)[0]).verdict == "healthy"


def test_a_finite_metric_beside_a_nan_loss_is_not_healthy(tmp_path: Path) -> None:
    text = table(["epoch", "loss", "mean_absolute_error"], [[i, "nan", 0.953] for i in range(40)])
    diagnosis = diagnose(read_text(text, tmp_path)[0])
    assert diagnosis.shapes[0] == "diverged-nan" and diagnosis.verdict != "healthy"


def test_nan_that_is_written_as_zero(tmp_path: Path) -> None:
    values = [*falling(10, 3, 1.5), *[0.0] * 10]
    diagnosis = diagnose(read_text(hf([{"loss": v, "step": i + 1} for i, v in enumerate(values)]), tmp_path)[0])
    assert diagnosis.shapes[0] == "diverged-nan"


def test_a_loss_that_really_reaches_zero_is_fine(tmp_path: Path) -> None:
    values = [round(3 * math.exp(-i / 2), 4) for i in range(40)]
    assert diagnose(read_text(hf([{"loss": v, "step": i + 1} for i, v in enumerate(values)]), tmp_path)[0]).verdict == "healthy"


def test_nan_that_shows_only_in_the_gradient_norm(tmp_path: Path) -> None:
    rows = [{"loss": 1.2, "grad_norm": math.nan if i > 5 else 1.0, "step": i + 1} for i in range(30)]
    assert diagnose(read_text(hf(rows), tmp_path)[0]).shapes[0] == "diverged-nan"


def test_gradient_norms_that_come_back_were_skipped_by_a_scaler(tmp_path: Path) -> None:
    rows = [{"loss": 0.7 - i / 50, "grad_norm": math.nan if i in (0, 1, 17) else 15.0, "step": i + 1} for i in range(26)]
    assert diagnose(read_text(hf(rows), tmp_path)[0]).verdict == "healthy"


@pytest.mark.parametrize(("loss", "shape"), [(falling(16), "healthy"), ([0.48] * 16, "diverged-nan")])
def test_norms_whose_means_are_infinite_while_the_loss_falls_on(loss: list[float], shape: str, tmp_path: Path) -> None:
    rows = [{"train_loss": v, "train_grad_norm": math.inf, "train_loss_scale": 65536.0, "epoch": i} for i, v in enumerate(loss)]
    assert diagnose(read_text("\n".join(map(json.dumps, rows)), tmp_path)[0]).shapes[0] == shape


def test_the_same_loss_in_other_units_is_not_added_to_itself(tmp_path: Path) -> None:
    rows = [[i, v, 106.3 * v, v / 2, 53.15 * v] for i, v in enumerate(falling(12))]
    names = ["epoch", "train_loss_norm", "train_loss_denorm", "val_loss_norm", "val_loss_denorm"]
    (record,) = read_text(table(names, rows), tmp_path)
    assert train_of(record) == [row[1] for row in rows] and list(record.series("loss/eval").values) == [row[3] for row in rows]


def test_numbered_headings_are_no_losses(tmp_path: Path) -> None:
    text = "Training 1 --> lr = 0.0001, dice loss\nTraining 2 --> lr = 0.01, dice loss\nTraining 3 --> lr = 0.001, dice loss\n"
    with pytest.raises(LogError, match="none of its columns"):
        read_text(text, tmp_path)


@pytest.mark.parametrize(("first", "shape"), [(1, "flat-not-learning"), (16, "plateau")])
def test_a_log_that_begins_in_the_middle_of_a_run_shows_no_more_than_a_plateau(first: int, shape: str, tmp_path: Path) -> None:
    rows = [[first + i, v] for i, v in enumerate([4.61, 4.60, 4.61, 4.59, 4.60, 4.59, 4.60, 4.59, 4.58, 4.59])]
    assert diagnose(read_text(table(["epoch", "loss"], rows), tmp_path)[0]).shapes[0] == shape


def test_a_perplexity_beside_a_loss_is_its_exponential(tmp_path: Path) -> None:
    losses = falling(20)
    lines = [
        f"Step {50 * i}/1000; acc: 50; ppl: {math.exp(v):.4f}; xent: {v:.4f}; lr: 1.0\nValidation perplexity: {math.exp(v + 0.1):.6f}"
        for i, v in enumerate(losses)
    ]
    (record,) = read_text("\n".join(lines), tmp_path)
    np.testing.assert_allclose(record.series("loss/eval").values, np.array(losses) + 0.1, atol=1e-4)
    np.testing.assert_allclose(train_of(record), losses, atol=1e-4)
    assert record.facts.log is not None and "perplexity" in " ".join(record.facts.log.notes)


def test_how_long_a_loss_was_trained_with_is_no_loss(tmp_path: Path) -> None:
    lines = [
        f"Start train {name}Loss\nFinish train {name}Loss in {100 * i}.5 seconds" for i, name in enumerate(("Triplet", "NPair", "Margin", "Focal"))
    ]
    with pytest.raises(LogError, match="no numbers"):
        read_text("\n".join(lines), tmp_path)


def test_parts_that_stand_in_other_rows_are_not_added_up(tmp_path: Path) -> None:
    rows = [{"step": 2 * i + k, name: v} for i, v in enumerate(falling(12)) for k, name in enumerate(("first_loss", "second_loss"))]
    (record,) = read_text("\n".join(map(json.dumps, rows)), tmp_path)
    assert train_of(record) == falling(12)


def test_what_is_final_of_an_epoch_is_a_value_of_the_curve(tmp_path: Path) -> None:
    lines = [f"Epoch {i + 1:3d} | Final Loss: {v:.4f}" for i, v in enumerate(falling(12))]
    (record,) = read_text("\n".join([*lines, "Final loss: 0.1234"]), tmp_path)
    assert len(train_of(record)) == 12 and 0.1234 not in train_of(record)


def test_parts_of_a_loss_that_are_not_called_so(tmp_path: Path) -> None:
    parts = [f"{phase}/{part}_{head}" for phase in ("train", "val") for head in ("om", "oo") for part in ("box", "cls", "dfl")]
    rows = [[i + 1, *([v] * len(parts)), 0.5] for i, v in enumerate(falling(10))]
    (record,) = read_text(table(["epoch", *parts, "metrics/mAP50(B)"], rows), tmp_path)
    assert train_of(record) == pytest.approx([6 * v for v in falling(10)])
    assert diagnose(record).shapes[0] == "healthy"


@pytest.mark.parametrize(("losses", "phase"), [(("train_loss", "valid_loss"), "eval"), (("loss", "val_loss"), "train")])
def test_whose_a_bare_accuracy_is(losses: tuple[str, str], phase: str, tmp_path: Path) -> None:
    rows = [[i, v, v + 0.1, 0.9] for i, v in enumerate(falling(10))]
    (record,) = read_text(table(["epoch", *losses, "accuracy"], rows), tmp_path)
    assert len(record.series(f"accuracy/{phase}")) == 10


def test_validation_zeros_mean_not_evaluated(tmp_path: Path) -> None:
    text = table(
        ["epoch", "train/box_loss", "train/cls_loss", "val/box_loss", "val/cls_loss"], [[i, v, v + 1, 0, 0] for i, v in enumerate(falling(30))]
    )
    (record,) = read_text(text, tmp_path)
    assert not record.series_like("loss/eval")
    np.testing.assert_allclose(train_of(record), 2 * np.array(falling(30)) + 1)


def test_negative_losses_are_not_called_sick(tmp_path: Path) -> None:
    text = table(["epoch", "loss", "val_loss"], [[i, v - 3, v - 2.9] for i, v in enumerate(falling(30))])
    assert diagnose(read_text(text, tmp_path)[0]).verdict == "healthy"


def test_losses_below_zero_can_overfit_too(tmp_path: Path) -> None:
    """A Dice score with its sign turned."""
    rows = [[i, -0.95 + 0.9 * math.exp(-i / 6), -0.6 + 0.55 * math.exp(-i / 3) + 0.006 * i] for i in range(40)]
    diagnosis = diagnose(read_text(table(["epoch", "loss", "val_loss"], rows), tmp_path)[0])
    assert diagnosis.shapes[0] == "overfitting"
    assert "from -0.5" in diagnosis.causes[0].evidence[0].text, "as it was logged"


def test_losses_that_work_against_each_other_are_not_judged(tmp_path: Path) -> None:
    text = table(["step", "d_loss", "g_loss"], [[i, 0.6 + 0.1 * math.sin(i), 1 + i / 20] for i in range(60)])
    (record,) = read_text(text, tmp_path)
    assert record.facts.log is not None and record.facts.log.contested
    assert diagnose(record).verdict == "healthy"


@pytest.mark.parametrize("factor", [1e12, 5e-4])
def test_the_scale_does_not_matter(factor: float, tmp_path: Path) -> None:
    text = table(["epoch", "loss"], [[i, v * factor] for i, v in enumerate(falling(30))])
    assert diagnose(read_text(text, tmp_path)[0]).verdict == "healthy"


def test_a_half_written_last_line(tmp_path: Path) -> None:
    text = table(["epoch", "loss", "val_loss"], [[i, f"{v:.6f}", f"{v:.6f}"] for i, v in enumerate(falling(20))])
    (record,) = read_text(text[:-13], tmp_path)
    assert len(record.series("loss/eval")) == 19
    rows = hf([{"loss": v, "step": i} for i, v in enumerate(falling(20))])
    (record,) = read_text(rows[:-60], tmp_path)
    assert 16 <= len(train_of(record)) < 20


def test_configuration_before_the_log_is_no_part_of_it(tmp_path: Path) -> None:
    lines = [
        "learning_rate: 0.001",
        "loss_type: ls",
        "num_epochs: 35",
        "batch_size: 128",
        *(f"Epoch {i + 1}/35, Train Loss: {v:.4f}, Test Acc: {50 + i:.2f}%" for i, v in enumerate(falling(35))),
    ]
    (record,) = read_text("\n".join(lines) + "\nBest test accuracy: 85.38%\n", tmp_path)
    assert len(train_of(record)) == 35
    assert list(record.series("accuracy/eval").values) == [50 + i for i in range(35)]


def test_a_column_can_be_named_by_hand(tmp_path: Path) -> None:
    text = table(["t", "blue", "red"], [[i, v, 2 * v] for i, v in enumerate(falling(20))])
    with pytest.raises(LogError, match="--map loss=COLUMN"):
        read_text("epoch," + text[2:], tmp_path)
    (record,) = read_text("epoch," + text[2:], tmp_path, loss="blue", val="red")
    np.testing.assert_allclose(record.series("loss/eval").values, 2 * record.series("loss/train").values)


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no column 'green'"):
        read_text(table(["epoch", "loss"], [[i, 1.0] for i in range(9)]), tmp_path, loss="green")


@pytest.mark.parametrize("pair", ["loss", "loss=", "colour=x"])
def test_a_wrong_map(pair: str) -> None:
    with pytest.raises(LogError, match="--map"):
        parse_map((pair,))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"   \n \n", "empty"),
        (b"PK\x03\x04" + b"\0" * 100, "zip archive"),
        (b"\x80\x04\x95" + b"\0" * 100, "pickle"),
        (bytes(range(256)) * 20, "binary"),
        (b"hello\nworld\n", "no numbers"),
        (b'{"a": [1, 2', "cut off"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:9f38ad27\nsize 81\n", "git lfs pull"),
        (b"SQLite format 3\0" + b"\0" * 200, "database"),
    ],
)
def test_what_is_no_log_is_refused_with_a_reason(content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=said):
        read_text(content, tmp_path)


def test_a_state_in_which_nothing_was_logged_yet(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="log_history is empty"):
        read_text(hf([]), tmp_path)


def test_a_state_with_nothing_but_a_summary(tmp_path: Path) -> None:
    (record,) = read_text(hf([{"epoch": 1.0, "step": 78, "train_loss": 1.66, "train_runtime": 9263.2, "total_flos": 7e17}]), tmp_path)
    assert train_of(record) == [1.66]
    assert diagnose(record).shapes[0] == "too-short"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="there is no file"):
        read_logs([tmp_path / "nothing.csv"])


def test_a_folder_without_logs(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no file that looks like a log"):
        read_logs([tmp_path])


def test_validation_that_ends_in_nan_is_not_healthy(tmp_path: Path) -> None:
    text = table(["epoch", "loss", "val_loss"], [[i, v, "nan" if i > 12 else v] for i, v in enumerate(falling(30))])
    assert diagnose(read_text(text, tmp_path)[0]).shapes[0] == "diverged-nan"


def test_a_log_without_any_loss_is_judged_by_its_errors(tmp_path: Path) -> None:
    (record,) = read_text(table(["epoch", "val_accuracy"], [[i, 0.5 + i / 100] for i in range(30)]), tmp_path)
    assert record.series("loss/eval").values[[0, -1]] == pytest.approx([0.5, 0.21])
    assert "training loss is not in the log" in diagnose(record).reason
    text = table(["epoch", "acc", "val_acc"], [[i, 99 - 60 * math.exp(-i / 4), 70 - 20 * math.exp(-i / 2) - i / 3] for i in range(30)])
    assert diagnose(read_text(text, tmp_path)[0]).shapes[0] == "overfitting"


def test_a_number_beyond_all_others_is_infinite(tmp_path: Path) -> None:
    text = table(["epoch", "loss", "val_loss"], [[i, v if i != 20 else 1.7e308, -1e308 if i == 21 else v] for i, v in enumerate(falling(30))])
    record = read_text(text, tmp_path)[0]
    assert record.series("loss/train").values[20] == math.inf
    diagnosis = diagnose(record)
    assert not [n for n in diagnosis.not_checked if "bug" in n.why]


@pytest.mark.parametrize(("values", "shape"), [([0.35, 0.64, 0.77], "overfitting"), ([0.35, 0.36, 0.37], "unclear"), ([0.35, 0.77, 0.64], "unclear")])
def test_a_few_evaluations_that_only_rise(values: list[float], shape: str, tmp_path: Path) -> None:
    text = table(["epoch", "val_loss"], [[i, v] for i, v in enumerate(values)])
    assert diagnose(read_text(text, tmp_path)[0]).shapes[0] == shape


def test_a_first_evaluation_before_any_training_loss(tmp_path: Path) -> None:
    rows = [{"step": 300 * (i + 1), "eval_loss": v} for i, v in enumerate((0.528, 0.551, 0.547, 0.553, 0.593, 0.604))]
    rows += [{"step": s, "loss": v} for s, v in ((500, 0.54), (1000, 0.44), (1500, 0.39))]
    assert diagnose(read_text(hf(sorted(rows, key=lambda r: r["step"])), tmp_path)[0]).shapes[0] == "overfitting"


def test_lists_whose_names_mean_nothing_can_be_mapped(tmp_path: Path) -> None:
    text = json.dumps({"Quantum": falling(12), "Classical": falling(12, 3.0)})
    with pytest.raises(LogError, match="'Quantum', 'Classical'"):
        read_text(text, tmp_path)
    assert train_of(read_text(text, tmp_path, loss="Classical")[0]) == falling(12, 3.0)


def test_a_result_in_the_prose_around_a_log_is_no_value_of_its_curve(tmp_path: Path) -> None:
    lines = [f"step:{250 * i}/1600 val_loss:{v:.4f} step_avg:268ms" for i, v in enumerate(falling(8, 4.6, 3.3))]
    text = "\n".join(["**Result:** val_loss=**3.2769** @ 1600.", "```", *lines, "```", "val_loss=**9.9** is what another run ended with."])
    assert list(read_text(text, tmp_path)[0].series("loss/eval").values) == [round(v, 4) for v in falling(8, 4.6, 3.3)]


def test_a_printed_configuration_is_no_place_in_a_run(tmp_path: Path) -> None:
    text = "{'epochs': 100, 'batch': 16, 'steps': 500, 'lr': 0.001}\n" + "\n".join(
        f"{{'loss': {v}, 'step': {10 * i}}}" for i, v in enumerate(falling(12))
    )
    record = read_text(text, tmp_path)[0]
    assert list(record.series("loss/train").steps) == [10 * i for i in range(12)] and not len(record.series("epoch"))


def test_columns_whose_names_mean_nothing_are_mapped_by_these_names(tmp_path: Path) -> None:
    text = table(["a", "b"], [[i, v] for i, v in enumerate(falling(12))])
    record = read_text(text, tmp_path)[0]
    assert record.facts.log is not None and [t.columns for t in record.facts.log.taken] == [("b",)]
    assert train_of(read_text(text, tmp_path, loss="a")[0]) == list(range(12))
    with pytest.raises(LogError, match="no column 'c'; its columns are: a, b"):
        read_text(text, tmp_path, loss="c")


def test_validation_alone_that_turned_is_not_called_healthy(tmp_path: Path) -> None:
    text = table(["epoch", "val_loss"], [[i, 0.5 + math.exp(-i / 3) + i / 50] for i in range(30)])
    diagnosis = diagnose(read_text(text, tmp_path)[0])
    assert diagnosis.verdict == "undecided" and diagnosis.shapes[0] == "overfitting" and "no training loss" in diagnosis.reason


@pytest.mark.parametrize(("gain", "verdict"), [(1.0, "healthy"), (-1.0, "undecided")])
def test_beside_a_reward_the_loss_says_little(gain: float, verdict: str, tmp_path: Path) -> None:
    rows = [{"loss": i / 1000, "reward": 2 + gain * i / 60, "reward_std": 0.3, "kl": i / 500, "step": i + 1} for i in range(60)]
    (record,) = read_text(hf(rows), tmp_path)
    assert record.facts.log is not None and record.facts.log.contested
    assert diagnose(record).verdict == verdict


def test_rewards_of_preferences_are_no_reinforcement_learning(tmp_path: Path) -> None:
    rows = [{"loss": 0.6931, "rewards/chosen": 0.1, "rewards/margins": 0.0, "rewards/accuracies": 0.5, "step": i + 1} for i in range(60)]
    assert diagnose(read_text(hf(rows), tmp_path)[0]).shapes[0] == "flat-not-learning"


def test_headings_say_whose_loss_it_is(tmp_path: Path) -> None:
    lines = ["[03.24.23|09:56:11] Parameters:", "{'base_lr': 0.1, 'step': [20, 30], 'num_epoch': 50}"]
    for i, v in enumerate(falling(12)):
        lines += [
            f"[03.24.23|09:56:11] Training epoch: {i}",
            f"[03.24.23|09:56:31] \tmean_loss: {v:.5f}",
            f"[03.24.23|09:57:51] Eval epoch: {i}",
            f"[03.24.23|09:58:13] \tmean_loss: {v + 1:.5f}",
        ]
    (record,) = read_text("\n".join(lines), tmp_path)
    np.testing.assert_allclose(train_of(record), falling(12), atol=1e-5)
    np.testing.assert_allclose(record.series("loss/eval").values, np.array(falling(12)) + 1, atol=1e-5)


def test_a_long_table_is_thinned_but_keeps_its_spike(tmp_path: Path) -> None:
    values = np.full(300_000, 0.5) + 0.01 * np.sin(np.arange(300_000))
    values[123_457] = 99.0
    text = "step,loss\n" + "\n".join(f"{i},{v:.4f}" for i, v in enumerate(values))
    (record,) = read_text(text, tmp_path)
    series = record.series("loss/train")
    assert len(series) <= 50_000 and series.values.max() == 99.0
    assert series.steps[int(np.argmax(series.values))] == 123_457


def test_quick_and_careful_reading_of_tables_agree(tmp_path: Path) -> None:
    rows = [[i, v, v / 2] for i, v in enumerate(falling(200))]
    quick = read_text(table(["step", "loss", "val_loss"], rows), tmp_path)[0]
    careful = read_text(table(["step", "loss", "val_loss", "note"], [[*r, "x"] for r in rows]), tmp_path)[0]
    for name in ("loss/train", "loss/eval"):
        np.testing.assert_array_equal(quick.series(name).values, careful.series(name).values)


PRINTED = {
    "a tutorial's": lambda e, k, v: f"[{e + 1}, {2000 * (k + 1):5d}] loss: {v:.5f}",
    "MNIST example's": lambda e, k, v: f"Train Epoch: {e + 1} [{k * 640}/60000 ({k}%)]\tLoss: {v:.6f}",
    "mmcv's": lambda e, k, v: (
        f"2022-03-01 12:00:01,123 - mmdet - INFO - Epoch [{e + 1}][{50 * (k + 1)}/1000]\tlr: 1.000e-03, eta: 1 day, 3:04:05, loss_bbox: 0.2, loss: {v:.5f}"
    ),
    "mmengine's": lambda e, k, v: (
        f"2023/03/01 12:00:01 - mmengine - INFO - Epoch(train)  [{e + 1}][{50 * (k + 1)}/200]  lr: 1.0e-02  time: 0.51  loss: {v:.5f}  loss_cls: 0.2"
    ),
    "detectron2's": lambda e, k, v: (
        f"[03/01 12:00:01 d2.utils.events]:  eta: 0:10:00  iter: {20 * (3 * e + k) + 19}  total_loss: {v:.5f}  loss_cls: 0.2  lr: 0.00025"
    ),
    "Megatron's": lambda e, k, v: (
        f" iteration {100 * (3 * e + k + 1):8d}/  500000 | learning rate: 1.0E-04 | lm loss: {v:.6E} | loss scale: 65536.0 | grad norm: 1.234 |"
    ),
    "fairseq's": lambda e, k, v: (
        f"2021-01-01 12:00:00 | INFO | train | epoch {3 * e + k + 1:03d} | loss {v:.5f} | nll_loss 3.1 | ppl 8.5 | num_updates {100 * (3 * e + k + 1)} | gnorm 1.2"
    ),
    "printed by rank 0": lambda e, k, v: f"[rank0] step: {10 * (3 * e + k)} | loss: {v:.5f} | lr: 1e-4 | tokens/s: 12,345",
}


@pytest.mark.parametrize("name", PRINTED)
def test_lines_that_known_loops_print(name: str, tmp_path: Path) -> None:
    values = falling(30)
    (record,) = read_text("\n".join(PRINTED[name](i // 3, i % 3, v) for i, v in enumerate(values)), tmp_path)
    np.testing.assert_allclose(train_of(record), values, atol=1e-5)


@pytest.mark.parametrize("head", ["epoch     train_loss  valid_loss  time", "| epoch | train loss | valid loss | time |\n|---|---|---|---|"])
def test_tables_drawn_for_people(head: str, tmp_path: Path) -> None:
    bar = "| " if head.startswith("|") else ""
    lines = [f"{bar}{i}    {bar}{v:.6f}   {bar}{v + 1:.6f}   {bar}00:12  {bar}" for i, v in enumerate(falling(20))]
    (record,) = read_text("\n".join([head, *lines]), tmp_path)
    np.testing.assert_allclose(record.series("loss/eval").values, np.array(falling(20)) + 1, atol=1e-5)


def test_a_table_of_classes_below_the_log_is_no_run(tmp_path: Path) -> None:
    log = "epoch     train_loss  valid_loss  accuracy  time\n" + "".join(
        f"{i}    {v:.6f}   {v + 1:.6f}   0.5   00:12\n" for i, v in enumerate(falling(9))
    )
    classes = "\nEvaluating..\n      precision    recall  f1-score   support\n\n" + "".join(
        f"  {i}   0.61   0.6{i}   0.61   1000\n" for i in range(9)
    )
    (record,) = read_text(log + classes, tmp_path)
    np.testing.assert_allclose(train_of(record), falling(9), atol=1e-5)


VALUES = falling(30)
LAID_OUT = {
    "an index without a name": table(["", "epoch", "train_loss", "val_loss"], [[i, i, v, v + 1] for i, v in enumerate(VALUES)]),
    "no axis": table(["loss", "val_loss"], [[v, v + 1] for v in VALUES]),
    "capitals": table(["Epoch", "Train Loss", "Train Acc", "Val Loss"], [[i, v, "5%", v + 1] for i, v in enumerate(VALUES)]),
    "camel case": table(["epoch", "trainLoss", "valLoss"], [[i, v, v + 1] for i, v in enumerate(VALUES)]),
    "decimal commas": table(
        ["Epoche", "loss", "val_loss"], [[i, str(v).replace(".", ","), str(v + 1).replace(".", ",")] for i, v in enumerate(VALUES)], ";"
    ),
    "quotes": table(['"epoch"', '"loss"', '"val_loss"'], [[f'"{i}"', f'"{v}"', f'"{v + 1}"'] for i, v in enumerate(VALUES)]),
    "a list of rows": json.dumps([{"epoch": i, "loss": v, "val_loss": v + 1} for i, v in enumerate(VALUES)]),
    "a history inside": json.dumps({"model": "x", "history": {"loss": VALUES, "val_loss": [v + 1 for v in VALUES]}}),
    "a history for each phase": json.dumps({"train": {"loss": VALUES}, "val": {"loss": [v + 1 for v in VALUES]}}),
    "a table of pandas": json.dumps({"loss": dict(enumerate(VALUES)), "val_loss": {i: v + 1 for i, v in enumerate(VALUES)}}),
    "rows that say their type": "\n".join(
        json.dumps({"type": kind, "epoch": i, "loss": v + add}) for i, v in enumerate(VALUES) for kind, add in (("train", 0), ("valid", 1))
    ),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_the_same_numbers_laid_out_differently(name: str, tmp_path: Path) -> None:
    (record,) = read_text(LAID_OUT[name], tmp_path)
    np.testing.assert_allclose(train_of(record), VALUES)
    np.testing.assert_allclose(record.series("loss/eval").values, np.array(VALUES) + 1)


def test_one_curve_downloaded_from_tensorboard(tmp_path: Path) -> None:
    (record,) = read_text(table(["Wall time", "Step", "Value"], [[1.7e9 + i, 10 * i, v] for i, v in enumerate(VALUES)]), tmp_path)
    np.testing.assert_allclose(train_of(record), VALUES)
    assert record.series("loss/train").steps[-1] == 290


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Mac"])
def test_lines_end_as_they_do_on_any_machine(end: str, tmp_path: Path) -> None:
    rows = table(["epoch", "acc", "loss", "val_loss"], [[i, 0.5, v, v + 0.1] for i, v in enumerate(falling(12))])
    (found,) = read_text("\n".join(rows.split("\n")).replace("\r\n", "\n").replace("\n", end), tmp_path)
    assert train_of(found) == pytest.approx(falling(12)) and len(found.series("loss/eval")) == 12
    (printed,) = read_text("".join(f"Epoch {i + 1}/12 loss: {v:.4f}{end}" for i, v in enumerate(falling(12))), tmp_path)
    assert train_of(printed) == pytest.approx(falling(12), abs=1e-4)


def printed_by_trainer(epochs: int, every: float, first: float, last: float) -> list[str]:
    """What the HF Trainer prints: evaluations after each epoch, the training loss every so many epochs, a summary."""
    told, lines = 0.0, []
    for epoch in range(1, epochs + 1):
        while told + every <= epoch:
            told += every
            lines.append(f"{{'loss': {last + (first - last) * math.exp(-told):.4f}, 'learning_rate': 1e-05, 'epoch': {told:.2f}}}")
        lines.append(f"{{'eval_loss': {last + (first - last) * math.exp(-epoch) + 0.05:.4f}, 'eval_runtime': 1.2, 'epoch': {float(epoch)}}}")
    return [*lines, f"{{'train_runtime': 33.1, 'train_loss': 0.9, 'epoch': {float(epochs)}}}"]


def test_two_trainings_that_one_script_printed_are_two_runs(tmp_path: Path) -> None:
    one, two = printed_by_trainer(3, 0.25, 4.0, 1.0), printed_by_trainer(8, 2.2, 0.9, 0.1)
    tested = "{'eval_loss': 1.3, 'eval_runtime': 1.2, 'epoch': 3.0}"  # the finished model once more: still of the first
    pretrained, tuned = read_text("\n".join([*one, "Perplexity: 3.67", tested, "Some weights were newly initialized", *two]), tmp_path)
    assert len(train_of(pretrained)) == 12 and pretrained.series("loss/eval").values[-1] == 1.3
    assert len(train_of(tuned)) == 3 and diagnose(tuned).shapes[0] == "healthy"


def test_evaluations_between_two_values_of_the_training_loss_are_all_kept(tmp_path: Path) -> None:
    (found,) = read_text("\n".join(printed_by_trainer(8, 2.2, 0.9, 0.1)), tmp_path)
    evaluated = found.series("loss/eval")
    assert len(evaluated) == 8 and bool(np.all(np.diff(evaluated.steps) > 0)) and bool(np.all(np.diff(evaluated.values) < 0))
    assert len(train_of(found)) == 3


def test_names_in_the_plural(tmp_path: Path) -> None:
    text = json.dumps(
        {"train_losses": falling(9), "val_losses": falling(9), "train_accs": [0.5 + 0.05 * i for i in range(9)], "test_accuracies": [0.4] * 9}
    )
    (found,) = read_text(text, tmp_path)
    assert len(found.series("accuracy/train")) == len(found.series("accuracy/eval")) == 9
    (preferred,) = read_text(hf([{"loss": v, "rewards/accuracies": 0.5, "step": i} for i, v in enumerate(falling(9, 0.69, 0.2))]), tmp_path)
    assert not len(preferred.series("accuracy/train")) and not len(preferred.series("reward"))


RESULTS = [
    ["brisk-1", "a1", 0.01, 25, 0.31, 0.52],
    ["calm-2", "b2", 0.003, 31, 0.22, 0.47],
    ["dusty-3", "c3", 0.001, 29, 0.41, 0.66],
    ["early-4", "d4", 0.01, 31, 0.52, 0.71],
]


def test_a_table_of_the_results_of_runs_is_no_curve(tmp_path: Path) -> None:
    header = ["name", "id", "lr", "epoch", "train_loss", "val_loss"]
    with pytest.raises(LogError, match=r"one row for each of several runs \(brisk-1, calm-2, dusty-3, \.\.\.\)"):
        read_text(table(header, RESULTS), tmp_path)


@pytest.mark.parametrize("change", ["the same name in every row", "names that are numbered", "an epoch that counts up", "two rows"])
def test_a_table_with_a_column_of_names_is_a_curve(change: str, tmp_path: Path) -> None:
    rows = [list(row) for row in RESULTS]
    for i, row in enumerate(rows):
        if change == "the same name in every row":
            row[:2] = ["brisk-1", "a1"]
        if change == "names that are numbered":
            row[0] = f"weights_{i:03d}.pt"
        if change == "an epoch that counts up":
            row[3] = i
    found = read_text(table(["name", "id", "lr", "epoch", "train_loss", "val_loss"], rows[: 2 if change == "two rows" else 4]), tmp_path)
    assert train_of(found[-1])


def unnumbered(train: list[float], val: list[float]) -> str:
    return table(["epoch", "loss", "val_loss"], [[0, a, b] for a, b in zip(train, val, strict=True)])


def test_a_run_that_begins_anew_without_a_number_for_it(tmp_path: Path) -> None:
    """`fit(epochs=1)` in a loop: every row is epoch 0, and the second attempt was appended."""
    first, second = falling(8, 1.8, 0.9), falling(20, 2.6, 0.4)
    found = read_text(unnumbered([*first, *second], [*falling(8, 1.9, 1.0), *falling(20, 2.2, 0.5)]), tmp_path)
    assert [len(train_of(r)) for r in found] == [8, 20] and diagnose(found[-1]).shapes[0] == "healthy"


@pytest.mark.parametrize("change", ["a jump of one row", "a divergence that stays", "only training"])
def test_a_jump_in_a_table_without_numbers_begins_no_run(change: str, tmp_path: Path) -> None:
    train, val = falling(28, 2.0, 0.5), falling(28, 2.1, 0.6)
    if change == "a jump of one row":
        train[10], val[10] = 3.0, 3.1
    elif change == "a divergence that stays":
        train[14:], val[14:] = [3.0 + 0.01 * (i % 3) for i in range(14)], [3.1] * 14
    else:
        train[14:] = falling(14, 3.0, 0.4)
    assert len(read_text(unnumbered(train, val), tmp_path)) == 1


LINES = "".join(f"Epoch {i + 1}/12 train loss {v:.4f} val loss {v + 0.1:.4f}\n" for i, v in enumerate(falling(12)))
CONFIGURED = {
    "over several lines": json.dumps({"lr": 0.001, "epochs": 12, "loss": {"name": "ce", "weight": 1.0}}, indent=2),
    "in one line": json.dumps({"lr": 0.001, "epochs": 12}),
    "in two lines": '{"lr": 0.001, "epochs": 12}\n{"layers": 3, "width": 64}',
    "two over several lines": '{\n "lr": 0.001\n}\n{\n "layers": 3\n}',
    "the arguments": '["--lr", "0.001"]',
}


@pytest.mark.parametrize("name", CONFIGURED)
def test_a_log_after_a_configuration_in_json(name: str, tmp_path: Path) -> None:
    (found,) = read_text(f"{CONFIGURED[name]}\n{LINES}", tmp_path)
    assert len(train_of(found)) == len(found.series("loss/eval")) == 12
    (listed,) = read_text(f"{CONFIGURED[name]}\n{table(['epoch', 'loss'], [[i, v] for i, v in enumerate(falling(12))])}", tmp_path)
    assert len(train_of(listed)) == 12


def test_json_with_python_s_habits(tmp_path: Path) -> None:
    rows = [
        f'{{\n "loss": {v},\n "grad_norm": {"nan" if i == 2 else 0.5},\n "note": "a, nan",\n "epoch": {i},\n}}\n' for i, v in enumerate(falling(9))
    ]
    (found,) = read_text("".join(rows), tmp_path)
    assert len(train_of(found)) == len(found.series("grad_norm")) == 9
    (lists,) = read_text('{"train_loss": [2.0, nan, 1.5, 1.2,], "val_loss": [2.1, 1.9, -inf, 1.4]}', tmp_path)
    assert len(train_of(lists)) == len(lists.series("loss/eval")) == 4


def test_json_that_is_cut_off_is_not_read_as_text(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="cut off"):
        read_text('{\n "loss": [\n  2.0,\n  1.5,\n  1.2,\n  1.1', tmp_path)


T, V = falling(20), falling(20, 2.1, 0.6)
ROWS = [{"epoch": i, "train_loss": a, "val_loss": b, "per_class": {"iou": [0.1, 0.2]}} for i, (a, b) in enumerate(zip(T, V, strict=True))]
DOCUMENTS: dict[str, object] = {
    "pairs of a step and a value": {"train_loss": [[i, v] for i, v in enumerate(T)], "val_loss": [[i, v] for i, v in enumerate(V)]},
    "points with names": {
        "train_loss": [{"step": i, "value": v} for i, v in enumerate(T)],
        "val_loss": [{"step": i, "value": v} for i, v in enumerate(V)],
    },
    "values in lists of their own": {"train_loss": [[v] for v in T], "val_loss": [[v] for v in V]},
    "one curve after the other": [{"key": k, "value": v, "step": i} for k, c in (("train_loss", T), ("val_loss", V)) for i, v in enumerate(c)],
    "a table of pandas": {"columns": ["epoch", "train_loss", "val_loss"], "index": [*range(20)], "data": [[i, T[i], V[i]] for i in range(20)]},
    "the quantity before the phase": {"loss": {"train": T, "val": V}, "accuracy": {"train": T, "val": V}},
    "rows with lists in them": ROWS,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_json_documents_of_other_kinds(name: str, tmp_path: Path) -> None:
    (found,) = read_text(json.dumps(DOCUMENTS[name]), tmp_path)
    assert train_of(found) == pytest.approx(T) and list(found.series("loss/eval").values) == pytest.approx(V)
    assert bool(len(found.series("accuracy/eval"))) is (name == "the quantity before the phase")


@pytest.mark.parametrize("inner", [{"history": {"train_loss": T, "val_loss": V}}, {"epochs": ROWS}, {"train_loss": T, "val_loss": V}])
@pytest.mark.parametrize("outer", ["a list", "under a name"])
def test_folds_are_runs(inner: dict[str, object], outer: str, tmp_path: Path) -> None:
    folds = [{"fold": k, "best_val_loss": 0.6, **inner} for k in range(3)]
    found = read_text(json.dumps(folds if outer == "a list" else {"folds": folds, "mean": 0.6}), tmp_path)
    assert [len(train_of(r)) for r in found] == [len(r.series("loss/eval")) for r in found] == [20, 20, 20]


def test_validation_that_is_null_in_most_epochs(tmp_path: Path) -> None:
    (found,) = read_text(json.dumps({"train_loss": T, "val_loss": [v if i % 5 == 4 else None for i, v in enumerate(V)]}), tmp_path)
    assert len(train_of(found)) == 20 and list(found.series("loss/eval").values) == pytest.approx(V[4::5])


@pytest.mark.parametrize("phases", [("train", "val"), ("tst", "trn")])
@pytest.mark.parametrize("style", ["a table", "names in a column", "JSON lines"])
def test_one_curve_below_the_other(phases: tuple[str, str], style: str, tmp_path: Path) -> None:
    """All of training, then all of validation (or first, sorted by name), each with its own epochs, validation in every other one."""
    rows = [(p, i, (T if p in ("train", "trn") else V)[i]) for p in phases for i in range(20) if p in ("train", "trn") or i % 2]
    if style == "a table":
        text = table(["split", "epoch", "loss"], [list(row) for row in rows])
    elif style == "names in a column":
        text = table(["tag", "epoch", "value"], [[f"loss/{p}", i, v] for p, i, v in rows])
    else:
        text = "\n".join(json.dumps({"split": p, "epoch": i, "loss": v}) for p, i, v in rows)
    (found,) = read_text(text, tmp_path)
    assert list(found.series("loss/train").steps) == [*range(20)] and train_of(found) == pytest.approx(T)
    assert list(found.series("loss/eval").steps) == [*range(1, 20, 2)] and list(found.series("loss/eval").values) == pytest.approx(V[1::2])


SENTENCES = {
    "phases in one line": "Epoch {e} Train: loss={t:.4f}, acc=0.5 | Val: loss={v:.4f}, acc=0.4",
    "dicts of phases": "epoch {e} train {{'loss': {t:.4f}, 'acc': 0.5}} val {{'loss': {v:.4f}, 'acc': 0.4}}",
    "the quantity first": "EPOCH {e}:\n  batch 1000 loss: {t:.5f}\nLOSS train {t:.5f} valid {v:.5f}",
    "several quantities first": "Epoch {e}: LOSS train {t:.5f} val {v:.5f} ACC train 0.5 val 0.4",
    "the epoch within the name": "Loss at epoch {e}: {t:.4f}\nValidation loss at epoch {e}: {v:.4f}",
    "the epoch in brackets": "Train Loss (epoch {e}): {t:.4f}\nVal Loss (epoch {e}): {v:.4f}",
    "sentences": "Mean train loss of epoch {e} is {t:.4f}. Mean val loss of epoch {e} is {v:.4f}.",
    "nested dicts": "{{'epoch': {e}, 'train': {{'loss': {t:.4f}}}, 'val': {{'loss': {v:.4f}}}}}",
    "a remark": "Epoch {e}\nTraining loss = {t:.4f} (12.2 sec)\n  Validation loss = {v:.4f}  *** new best ***\nBest val loss: 0.1\nsaved at val loss 0.1",
    "a step within the name": "Training loss after step {e}00: {t:.4f}, validation loss: {v:.4f}",
    "what ImageNet's scripts print": "Epoch: [{e}][0/391] Loss {t:.4f} ({t:.4f})\nTest: [0/79] loss 9.1 (9.1)\n * Acc@1 60.1 Acc@5 90.2 loss {v:.3f}",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_text_in_other_words(name: str, tmp_path: Path) -> None:
    text = "\n".join(SENTENCES[name].format(e=i + 1, t=t, v=v) for i, (t, v) in enumerate(zip(T, V, strict=True)))
    (found,) = read_text(text, tmp_path)
    assert train_of(found) == pytest.approx(T, abs=1e-3) and list(found.series("loss/eval").values) == pytest.approx(V, abs=1e-3)
    assert not [n for n in found.all_series if ".." in n]


def test_half_of_a_number_is_none(tmp_path: Path) -> None:
    with pytest.raises(LogError):
        read_text("\n".join(f"Train_Loss:{v:.4f}Val_Loss:{v:.4f}" for v in T), tmp_path)
