"""How sure the model is in evaluation, and how right: the logits and labels of each evaluation's newest pass, bounded, until the run ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.numbers import Array
from sickbay.observe.observer import LossCall

MOST_ROWS, MOST_CLASSES = 4096, 64
MOST_EVALUATIONS = 8
FEWEST_ROWS = 100
BINS = 10
DRAWS = 100
TEMPERATURES = np.geomspace(0.1, 10.0, 41)


class Scores:
    """One evaluation's logits."""

    def __init__(self, by_hand: bool) -> None:
        self.by_hand = by_hand
        self.step = -1
        self.rows = 0
        self.logits: list[Array] = []
        self.labels: list[Array] = []


class ScoreBook:
    """All evaluations' logits, by where their loss is called (or the model, where the script compares its answers by hand)."""

    def __init__(self) -> None:
        self.evaluations: dict[Any, Scores] = {}

    def see(self, call: LossCall, key: Any, step: int) -> None:
        if (pair := _logits(call)) is not None:
            self.take(key, step, *pair)

    def take(self, key: Any, step: int, logits: Array, labels: Array, by_hand: bool = False) -> None:
        scores = self.evaluations.get(key)
        if scores is None:
            if len(self.evaluations) >= MOST_EVALUATIONS:
                return
            scores = self.evaluations[key] = Scores(by_hand)
        if scores.step != step:
            scores.step, scores.rows, scores.logits, scores.labels = step, 0, [], []
        if scores.rows < MOST_ROWS:
            scores.logits.append(logits)
            scores.labels.append(labels)
            scores.rows += len(labels)


def copied(output: torch.Tensor) -> Array | None:
    """A model's output, a row of logits for each sample; None if it is anything else, or too large."""
    x = output.detach()
    if not x.is_cpu or x.dim() != 2 or not x.is_floating_point() or not 2 <= x.shape[1] <= MOST_CLASSES or not 0 < len(x) <= MOST_ROWS:
        return None
    return x.float().numpy().copy()


def _logits(call: LossCall) -> tuple[Array, Array] | None:
    x, y = call.input.detach(), call.target
    if y is None or not x.is_cpu or not len(x):
        return None
    if call.function in ("cross_entropy", "nll_loss") and x.dim() == 2 and y.dim() == 1 and not y.is_floating_point() and x.shape[1] <= MOST_CLASSES:
        return x[:MOST_ROWS].float().numpy().copy(), y[:MOST_ROWS].numpy().copy()
    if call.function == "binary_cross_entropy_with_logits" and x.numel() == y.numel() == len(x):
        one = x[:MOST_ROWS].float().reshape(-1)
        return torch.stack([torch.zeros_like(one), one], 1).numpy(), (y[:MOST_ROWS].reshape(-1) > 0.5).long().numpy()
    return None


def calibration(scores: Scores) -> facts.Calibration | None:
    """None on too few samples to say anything."""
    if scores.rows < FEWEST_ROWS:
        return None
    logits, labels = np.concatenate(scores.logits).astype(np.float64), np.concatenate(scores.labels)
    fine = np.isfinite(logits).all(1) & (labels >= 0) & (labels < logits.shape[1])
    logits, labels = logits[fine], labels[fine]
    if len(labels) < FEWEST_ROWS:
        return None
    logits -= logits.max(1, keepdims=True)
    likely = _probabilities(logits, 1.0)
    sure, right = likely.max(1), likely.argmax(1) == labels
    draws = np.random.default_rng(0).random((DRAWS, len(sure))) < sure
    losses = [_loss(logits, labels, t) for t in TEMPERATURES]
    best = int(np.argmin(losses))
    told, seen = likely.mean(0), np.bincount(labels, minlength=likely.shape[1]) / len(labels)
    worst = int(np.argmax(np.abs(told - seen) - 1e-6 * seen))  # of two classes the rarer one
    return facts.Calibration(
        step=scores.step,
        rows=len(labels),
        classes=logits.shape[1],
        accuracy=float(right.mean()),
        confidence=float(sure.mean()),
        error=_error(sure, right),
        by_chance=float(np.quantile([_error(sure, draw) for draw in draws], 0.95)),
        loss=_loss(logits, labels, 1.0),
        loss_tempered=float(losses[best]),
        temperature=float(TEMPERATURES[best]),
        told=float(told[worst]),
        seen=float(seen[worst]),
        by_hand=scores.by_hand,
    )


def _probabilities(logits: Array, temperature: float) -> Array:
    likely = np.exp(logits / temperature)
    return np.asarray(likely / likely.sum(1, keepdims=True))


def _loss(logits: Array, labels: Array, temperature: float) -> float:
    scaled = logits / temperature
    own = scaled[np.arange(len(labels)), labels]
    return float((np.log(np.exp(scaled).sum(1)) - own).mean())


def _error(sure: Array, right: Array) -> float:
    """Mean distance between confidence and accuracy in bins of equal width, each by its share of the samples."""
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gap = np.bincount(bins, sure, BINS) - np.bincount(bins, right.astype(float), BINS)
    return float(np.abs(gap).sum() / len(sure))
