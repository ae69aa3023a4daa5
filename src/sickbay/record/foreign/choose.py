"""Which columns of a sheet become which series of a record, by their names or by what the user said with --map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sickbay.errors import LogError
from sickbay.record.foreign.names import LAST_RESORT, SPREAD, Meaning, Phase, meaning, words
from sickbay.record.foreign.sheet import Sheet

Floats = NDArray[np.float64]

ENOUGH_EPOCHS = 8
"""With so many epochs their means show the curve better than the noisy single steps logged between them."""
MOST_SETS = 8
WHOLE = 100.0
SAME = 1e-3
"""Printed with four digits or more, multiples of one another agree to this."""
TOO_FEW = 3
OF_TWO = frozenset({"precision", "recall"})
"""Values of a training loss beside a validation loss of many: no curve."""
ALIASES = {
    "loss": "loss/train", "train": "loss/train", "train_loss": "loss/train", "val": "loss/eval", "eval": "loss/eval", "val_loss": "loss/eval", "eval_loss": "loss/eval",
    "valid": "loss/eval", "accuracy": "accuracy/eval", "acc": "accuracy/eval", "val_accuracy": "accuracy/eval", "train_accuracy": "accuracy/train",
    "lr": "lr", "grad_norm": "grad_norm", "reward": "reward", "step": "step", "epoch": "epoch",
}  # fmt: skip
"""What may stand on the left of --map NAME=COLUMN."""
SERIES = frozenset(ALIASES.values())
NETWORKS = (frozenset({"d", "errd", "disc", "discriminator", "critic"}), frozenset({"g", "errg", "gen", "generator"}))
"""Columns that are called so and no more hold the losses of a GAN."""
RIVALS = (frozenset("d disc discriminator critic dis v vf value q qf".split()), frozenset("g gen generator actor policy pi pg".split()))


@dataclass
class Choice:
    """The columns of each series (several are added up), and the two axes."""

    series: dict[str, tuple[str, ...]] = field(default_factory=dict)
    step: str | None = None
    epoch: str | None = None
    contested: bool = False
    """The losses work against each other (a GAN), or follow what an agent does: their curves are not to be judged."""


def parse_map(pairs: tuple[str, ...]) -> dict[str, str]:
    """`("loss=my column",)` as a mapping from series to column."""
    found = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        target = ALIASES.get(name.strip(), name.strip())
        if not equals or not column.strip():
            raise LogError(f"--map {pair!r} is not NAME=COLUMN; for example --map loss=my_column")
        if target not in SERIES:
            raise LogError(f"--map knows no {name.strip()!r}; NAME is one of {', '.join(sorted(ALIASES))}")
        found[target] = column.strip()
    return found


def choose(sheet: Sheet, wanted: Mapping[str, str]) -> Choice:
    """Take columns for what their names say; `wanted` overrides."""
    told = {name: _told(sheet, name) for name, column in sheet.columns.items() if len(column)}
    choice = Choice(step=_axis(sheet, told, "step"), epoch=_axis(sheet, told, "epoch"))
    _losses(sheet, told, choice)
    _evaluations(sheet, told, choice)
    for phase, series in (("train", "accuracy/train"), ("eval", "accuracy/eval")):
        found = [n for n, m in told.items() if m.kind == "accuracy" and m.phase == phase]
        plain = _best(sheet, [n for n in found if not told[n].part], told) or next(iter(found), None)
        if plain:
            choice.series[series] = (plain,)
    if not any(name.startswith(("loss/", "accuracy/")) for name in choice.series):
        _scores(sheet, told, choice)
    elif "loss/train" in choice.series and not {"loss/eval", "accuracy/eval"} & choice.series.keys():
        _measures(sheet, told, choice)
    rates = [n for n, m in told.items() if m.kind == "lr"]
    choice.series |= {f"lr@{i}" if i else "lr": (name,) for i, name in enumerate(rates[:MOST_SETS])}
    norms = sorted((n for n, m in told.items() if m.kind == "grad_norm"), key=lambda n: (told[n].order, -len(sheet.columns[n])))
    choice.series |= {"grad_norm": (norms[0],)} if norms else {}
    if rewards := sorted(
        (n for n, m in told.items() if m.kind == "reward"), key=lambda n: (told[n].order >= SPREAD, -len(sheet.columns[n]), told[n].order)
    ):
        choice.series["reward"] = (rewards[0],)
        choice.contested = True
    single = next((n for n in sheet.columns if n.lower() == "value"), None)
    if (
        not choice.series and single is not None and choice.step is not None
    ):  # TensorBoard's download of one curve, whose name is in the file's name only
        choice.series["loss/train"] = (single,)
    return _overridden(sheet, choice, wanted)


def _scores(sheet: Sheet, told: Mapping[str, Meaning], choice: Choice) -> None:
    """Where a log has neither a loss nor an accuracy: another measure that is at most 1 (or 100), the same for both phases."""
    found = {n: m for n, m in told.items() if m.kind == "metric" and m.part != "loss-like" and _bounded(sheet, n)}
    main = next((n for n, m in found.items() if m.phase == "eval"), None) or next(iter(found), None)
    if main is not None:
        twin = next((n for n, m in found.items() if m.phase == "train" and m.part == found[main].part and n != main), None)
        choice.series |= {f"score/{found[main].phase or 'eval'}": (main,)} | ({"score/train": (twin,)} if twin else {})


def _measures(sheet: Sheet, told: Mapping[str, Meaning], choice: Choice) -> None:
    """Where training has a loss and validation has none: what it is measured by instead. Of a detector's precision and recall one falls as the other rises."""
    errors = [n for n, m in told.items() if m.kind == "metric" and m.phase == "eval" and m.part == "loss-like" and m.order < LAST_RESORT]
    scores = [n for n, m in told.items() if m.kind == "metric" and m.phase == "eval" and m.part != "loss-like" and not OF_TWO & set(words(n))]
    if (error := _best(sheet, errors, told)) is not None:
        choice.series["error/eval"] = (error,)
    elif (score := next((n for n in scores if _bounded(sheet, n)), None)) is not None:
        choice.series["score/eval"] = (score,)


def _bounded(sheet: Sheet, name: str) -> bool:
    values = sheet.columns[name].arrays()[1]
    return "psnr" not in words(name) and bool(np.nanmax(np.abs(values), initial=0.0) <= WHOLE)


def _told(sheet: Sheet, name: str) -> Meaning:
    m = meaning(name)
    if m.phase or m.kind not in ("loss", "accuracy", "metric"):
        return m
    phase: Phase = (
        "eval"
        if sheet.phases.get(name) == "eval"
        else "train"
        if m.kind == "loss" or sheet.phases.get(name) == "train" or m.part == "loss-like"
        else _metric_phase(sheet, name)
    )
    return Meaning(m.kind, phase, m.part, m.grain, m.order)


def _metric_phase(sheet: Sheet, name: str) -> Phase:
    """A bare "accuracy" is the training one if there is one for validation too, or if it stands beside the training loss. Where both losses
    say whose they are and it does not, it is validation's (fastai), unless it stands in rows of the training loss and in no others."""
    losses = {n: meaning(n).phase for n in sheet.columns if _is_loss(meaning(n))}
    if losses and set(losses.values()) == {"eval"} and not any(meaning(other).phase == "train" for other in sheet.columns):
        return "eval"  # the table of a test: all that is in it was measured there
    if any(meaning(other).kind == "accuracy" and meaning(other).phase == "eval" for other in sheet.columns):
        return "train"
    if {"train", "eval"} == set(losses.values()):
        return "train" if _only_beside(sheet, name, [n for n, phase in losses.items() if phase == "train"]) else "eval"
    beside = next((sheet.columns[n] for n, phase in losses.items() if phase != "eval"), None)
    return "train" if beside is not None and len(beside) == len(sheet.columns[name]) else "eval"


def _only_beside(sheet: Sheet, name: str, losses: Sequence[str]) -> bool:
    """Whether the table is sparse, and this column has values where one of these losses has them, and nowhere else."""
    rows = sheet.columns[name].arrays()[0]
    return len(rows) < sheet.count and any(np.array_equal(rows, sheet.columns[n].arrays()[0]) for n in losses)


def _is_loss(m: Meaning) -> bool:
    return m.kind == "loss" or m.part == "loss-like"


def _axis(sheet: Sheet, told: Mapping[str, Meaning], kind: str) -> str | None:
    found = [n for n, m in told.items() if m.kind == kind and len(sheet.columns[n]) > 0]
    most = max((len(sheet.columns[n]) for n in found), default=0)
    found = [n for n in found if len(sheet.columns[n]) > most / 2]
    return min(found, key=lambda n: (told[n].order, -len(sheet.columns[n])), default=None)


def _best(sheet: Sheet, names: list[str], told: Mapping[str, Meaning]) -> str | None:
    """Of several columns for one thing: means over epochs if there are enough, else the fullest; exact names before similar ones."""
    if not names:
        return None
    means = [n for n in names if told[n].grain == "epoch" and len(sheet.columns[n]) >= ENOUGH_EPOCHS]
    low = min(told[n].order for n in means or names)
    return max((n for n in means or names if told[n].order == low), key=lambda n: (len(sheet.columns[n]), meaning(n).phase == "train", -len(n)))


def _losses(sheet: Sheet, told: Mapping[str, Meaning], choice: Choice) -> None:
    losses = {n: m for n, m in told.items() if m.kind == "loss" and m.phase == "train"}
    plain = _best(sheet, [n for n, m in losses.items() if not m.part], told)
    rivals = [[n for n, m in losses.items() if side & set(m.part.split("_"))] for side in RIVALS]
    if all(rivals) and not (plain and sheet.format.startswith("HF")):
        choice.contested = True
        named = ([plain] if plain else []) + [side[0] for side in reversed(rivals)]
        choice.series |= {f"loss/train@{i}" if i else "loss/train": (n,) for i, n in enumerate(named)}
        return
    if not losses and (players := networks(tuple(told))):
        choice.contested = True
        choice.series |= {f"loss/train@{i}" if i else "loss/train": (n,) for i, n in enumerate(players)}
        return
    if plain is None:
        parts = tuple(n for n, m in losses.items())
        like = _best(sheet, [n for n, m in told.items() if m.part == "loss-like" and m.phase != "eval"], told)
        chosen = _summands(sheet, parts) or ((like,) if like else ())
        choice.series |= {"loss/train": chosen} if chosen else {}
        return
    choice.series["loss/train"] = (plain,)


def networks(names: Sequence[str]) -> tuple[str, ...]:
    """The columns of a generator and of its opponent, if both are there."""
    found = [next((n for n in names if n.strip().lower() in side), None) for side in reversed(NETWORKS)]
    return tuple(n for n in found if n is not None) if None not in found else ()


def _summands(sheet: Sheet, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Parts of a loss that stand in the same rows are added up; otherwise the fullest one stands for it."""
    if not parts:
        return ()
    full = max((sheet.columns[n].arrays()[0] for n in parts), key=len)
    together = _different(sheet, tuple(n for n in parts if np.array_equal(sheet.columns[n].arrays()[0], full)))
    return together if all(np.nanmin(sheet.columns[n].arrays()[1]) >= 0 for n in together if _finite(sheet, n)) else together[:1]


def _different(sheet: Sheet, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Two "parts" of which one is the other in other units (a loss with its scaling undone) or under another name are one: nobody adds them up."""
    return parts[:1] if len(parts) == 2 and _same(*(sheet.columns[n].arrays()[1] for n in parts)) else parts


def _same(a: Floats, b: Floats) -> bool:
    with np.errstate(all="ignore"):
        ratios = a / b
    ratios = ratios[np.isfinite(ratios)]
    return len(ratios) >= TOO_FEW and bool(np.ptp(a[np.isfinite(a)]) > 0) and bool(np.ptp(ratios) < SAME * abs(float(np.median(ratios))))


def _finite(sheet: Sheet, name: str) -> bool:
    return bool(np.isfinite(sheet.columns[name].arrays()[1]).any())


def _evaluations(sheet: Sheet, told: Mapping[str, Meaning], choice: Choice) -> None:
    losses = {n: m for n, m in told.items() if m.kind == "loss" and m.phase == "eval"}
    train_parts = {m.part for m in told.values() if m.kind == "loss" and m.phase == "train" and m.part}
    plain = [n for n, m in losses.items() if not m.part]
    if plain:
        grouped: dict[int, list[str]] = {}
        for n in plain:
            grouped.setdefault(told[n].order, []).append(n)
        sets = [best for _, group in sorted(grouped.items()) if (best := _best(sheet, group, told))]
        named: list[tuple[str, ...]] = [(n,) for n in sets]
    elif parts := tuple(n for n, m in losses.items() if m.part in train_parts):
        named = [_summands(sheet, parts)]
    else:
        named = [(n,) for n in losses]
        like = _best(sheet, [n for n, m in told.items() if m.part == "loss-like" and m.phase == "eval"], told)
        # Only where training is measured by the same thing, or not at all: RMSE on validation data says nothing beside a cross-entropy.
        train = choice.series.get("loss/train", ())
        if not named and like and (not train or meaning(train[0]).part == "loss-like" or len(sheet.columns[train[0]]) < TOO_FEW):
            named = [(like,)]
    choice.series |= {f"loss/eval@{i}" if i else "loss/eval": columns for i, columns in enumerate(named[:MOST_SETS])}
    if "loss/train" in choice.series and named and len(sheet.columns[choice.series["loss/train"][0]]) < TOO_FEW <= len(sheet.columns[named[0][0]]):
        del choice.series["loss/train"]


def _overridden(sheet: Sheet, choice: Choice, wanted: Mapping[str, str]) -> Choice:
    for target, column in wanted.items():
        known = {sheet.called.get(n, n): n for n in sheet.columns}
        name = known.get(column) or next((n for called, n in known.items() if called.lower() == column.lower()), None)
        if name is None:
            raise LogError(f"--map: the log has no column {column!r}; its columns are: {', '.join(list(known)[:20]) or 'none'}")
        if target in ("step", "epoch"):
            setattr(choice, target, name)
        else:
            choice.series[target] = (name,)
    return choice
