"""What a column of somebody's log means, told by the words in its name.

"train/loss_epoch", "trainLoss", "loss (train)", "run 7 - train/loss" and "Loss/train" are all the training loss. A name is cut into
words; words for the phase, for the quantity and mere fillers are taken away, and what is left says whether it is the loss or a part of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from sickbay.record.foreign.tongues import english

Kind = Literal["step", "epoch", "loss", "accuracy", "lr", "grad_norm", "reward", "metric", "other"]
Phase = Literal["train", "eval", ""]

TRAIN = frozenset("train training trn tr trainset fit learn".split())
EVAL = frozenset("val va valid validation validating evaluating vali eval evaluation dev test testing tst holdout vld heldout".split())
TEST = frozenset("test testing tst".split())
FILLERS = frozenset(
    "epoch step iter iteration batch avg average averaged mean total smoothed running overall all global set cur current metrics metric scalar "
    "scalars log logs raw value values per de model sum final last main objective ema trainer history lm now the of on at data dataset is was so far".split()
)
LOSS = frozenset("loss losses".split())
OF_ONE_BATCH = frozenset("step batch iter iteration".split())
"""`step_loss` beside `average_loss`: where both are told, the mean is the curve. (In `loss_step` the word is a grain.)"""
NOT_A_LOSS = frozenset("scale scaler scaling weight weights coef coefficient lambda alpha factor".split())
"""A loss scale or weight is a setting."""
LOSS_LIKE = frozenset(
    "cost nll mse rmse mae bce ce crossentropy xent perplexity ppl elbo objective criterion logloss error err wer cer mape smape".split()
)
"""Taken for the loss only where nothing is called a loss."""
PERPLEXITY = frozenset({"ppl", "perplexity"})
LAST_RESORT = 9
"""A column that is called "train" and no more."""
LOSS_LIKE_FILLERS = frozenset("squared absolute cross entropy root binary multi categorical sparse log percentage".split())
ACCURACY = frozenset("acc accuracy accs accuracies acc1 top1 prec1 precision1".split())
ACCURACY_FILLERS = frozenset("1 top categorical sparse binary balanced cls classification multiclass score".split())
NOT_A_RATE = frozenset("mult multiplier scale ratio decay factor min max warmup end start group".split())
STEPS = {
    "global step": 0, "trainer global step": 0, "train global step": 0, "current steps": 0, "step": 1, "steps": 1, "num updates": 1,
    "iteration": 2, "iterations": 2, "iter": 2, "iters": 2, "update": 2, "updates": 2, "it": 3, "n iter": 3, "train step": 2, "batch": 4, "timesteps": 1, "total timesteps": 1, "time total timesteps": 1, "timesteps so far": 1, "total env interacts": 1, "episode": 5, "batch idx": 4, "batch id": 4, "itr": 2, "round": 2,
}  # fmt: skip
"""Names of a step axis; where a log has several, the lowest number is the one that counts on over epochs."""
EPOCHS = frozenset({"epoch", "epochs", "ep", "current epoch", "trainer epoch", "train epoch", "epoch num", "epoch number", "epoch idx"})
REWARD = frozenset("reward rewards rew return returns ret eprewmean".split())
SPREAD = 10
"""Added to the order of a spread or an extreme of rewards."""
PREFERENCES = frozenset("chosen rejected margin margins accuracies".split())
"""Rewards in preference tuning (DPO) are parts of a supervised loss."""
METRICS = frozenset(
    "map map50 f1 auc auroc iou miou dice bleu rouge rouge1 rouge2 rougel precision recall psnr ssim r2 score mrr ndcg kappa mcc cos cosine similarity".split()
)
BOXES = frozenset("box obj cls dfl giou om oo".split())
"""Parts of a detector's loss, which Ultralytics' tables may name without the word: `train/box_om` and `val/cls_oo` of YOLOv10."""
UNITS = frozenset("runtime second seconds sec time samples eta memory mem flos loader fps percentage elapsed remaining days hours minutes".split())
UNIT = re.compile(r"\s*\([^()]*\d[^()]*\)\s*$")
"""`Epochs(/10)`, `step (x1000)`: what an axis counts in."""
GLUED = re.compile(r"^(train|training|valid|validation|val|eval|test|dev)(loss|losses|acc|accs|accuracy|accuracies|err|error)$")


@dataclass(frozen=True)
class Meaning:
    """What a column is: its quantity, for which phase, for which part of the loss or data set, and on which grain."""

    kind: Kind
    phase: Phase = ""
    part: str = ""
    """What distinguishes it from the plain one: "box" of "val/box_loss", "g0" of "eval_g0_loss"; "" for the plain one."""
    grain: Literal["step", "epoch", ""] = ""
    order: int = 0
    """Of several with the same meaning the lowest goes first."""


@lru_cache(maxsize=8192)
def words(name: str) -> tuple[str, ...]:
    """The lower-case words of a name: "trainLoss" and "train/loss" are both train, loss."""
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", english(name[:200]))
    found: list[str] = []
    for word in re.split(r"[^a-z0-9]+", name.lower()):
        glued = GLUED.match(word)
        found += glued.groups() if glued else [word] if word else []
    return tuple(found)


@lru_cache(maxsize=8192)
def meaning(name: str) -> Meaning:
    """What a column of this name is."""
    tokens = words(name)
    joined, counted = " ".join(tokens), " ".join(words(UNIT.sub("", name)))
    if counted in STEPS:
        return Meaning("step", order=STEPS[counted])
    if counted in EPOCHS:
        return Meaning("epoch", order=0 if counted == "epoch" else 1)
    phase: Phase = "eval" if EVAL & set(tokens) else "train" if TRAIN & set(tokens) else ""
    grain: Literal["step", "epoch", ""] = "step" if tokens[-1:] == ("step",) else "epoch" if tokens[-1:] == ("epoch",) else ""
    if "lr" in tokens or "lr0" in tokens or {"learning", "rate"} <= set(tokens):
        return Meaning("lr", part=joined) if not NOT_A_RATE & set(tokens) - {"group"} else Meaning("other")
    if ("norm" in tokens and {"grad", "grads", "gradient", "gradients"} & set(tokens)) or {"gnorm", "gradnorm"} & set(tokens):
        return Meaning("grad_norm", order=len(tokens))
    if UNITS & set(tokens):
        return Meaning("other")
    if tokens[0:1] in (("train",), ("val",)) and "/" in name and len(tokens) > 1 and set(tokens[1:]) <= BOXES:
        return Meaning("loss", phase, "_".join(tokens[1:]), grain)
    return _measured(tokens, phase, grain)


def _measured(tokens: tuple[str, ...], phase: Phase, grain: Literal["step", "epoch", ""]) -> Meaning:
    rest = [t for t in tokens if t not in TRAIN | EVAL | FILLERS | LOSS]
    if tokens[:1] == ("metrics",) and not phase:  # Ultralytics measures on validation data only
        phase = "eval"
    of_one = any(a in OF_ONE_BATCH and b in LOSS for a, b in pairwise(tokens))
    order = 2 * bool(TEST & set(tokens)) + bool(of_one or {"ema", "smoothed", "unscaled"} & set(tokens))
    if NOT_A_LOSS & set(tokens):
        return Meaning("other")
    if REWARD & set(tokens) and not (LOSS | PREFERENCES) & set(tokens):
        return Meaning("reward", phase, "_".join(rest), grain, len(tokens) + SPREAD * bool({"std", "min", "max", "var"} & set(tokens)))
    if LOSS & set(tokens):
        return Meaning("loss", phase, "_".join(rest), grain, order)
    if ACCURACY & set(tokens) and "5" not in tokens and not REWARD & set(tokens):
        return Meaning("accuracy", phase, "_".join(t for t in rest if t not in ACCURACY | ACCURACY_FILLERS), grain, order)
    like = LOSS_LIKE | {"entropy"} if "cross" in tokens else LOSS_LIKE
    if like & set(tokens) and not [t for t in rest if t not in LOSS_LIKE | LOSS_LIKE_FILLERS and not (phase and t.isdigit())]:
        return Meaning("metric", phase, "loss-like", grain, order + bool(PERPLEXITY & set(tokens)))
    if phase and set(tokens) <= TRAIN | EVAL | {"value"}:
        return Meaning("metric", phase, "loss-like", grain, LAST_RESORT)
    return Meaning("metric" if METRICS & set(tokens) else "other", phase, "_".join(rest), grain, order)
