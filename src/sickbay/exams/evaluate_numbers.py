"""Predicted numbers beside given ones: how far off, better than a constant by how much, and whether the errors follow a pattern."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sickbay.exams.intervals import Z_95, bootstrap, paired
from sickbay.facts.evaluated import Mistake, OutputScore, Residuals, Score, Standing

Array = NDArray[Any]
TENTHS = 10
FEWEST = 50
"""Samples from which the errors are looked at for a pattern: five in each tenth."""
CLEARLY = 0.2
"""Rank correlation of errors' sizes with predictions: below, the largest tenth's errors are at most about half larger than the smallest's."""
BENT = 0.05
"""Part of the squared error that the means of the tenths take away, beyond what chance does."""
ERRORS = 4.0
"""Standard errors: such a pattern by chance is rarer than one in ten thousand evaluations."""


class Numbers:
    """`predicted` and `given` have one row per sample and one column per output."""

    def __init__(self, predicted: Array, given: Array) -> None:
        fine = np.isfinite(predicted).all(1) & np.isfinite(given).all(1)
        self.index = np.flatnonzero(fine)
        self.left_out = int((~fine).sum())
        self.predicted, self.given = predicted[fine].astype(np.float64), given[fine].astype(np.float64)
        self.error = self.given - self.predicted

    @property
    def off(self) -> Array:
        """Mean absolute error of each sample, NaN where it is not finite."""
        out = np.full(len(self.index) + self.left_out, np.nan)
        out[self.index] = np.abs(self.error).mean(1)
        return out

    def score(self) -> Score:
        """R², the mean over the outputs."""
        columns = self.given.shape[1]
        middle = self.given.mean(0)
        rows = np.concatenate([self.error**2, self.given - middle, (self.given - middle) ** 2, np.ones((len(self.given), 1))], 1)

        def r2(sums: Array) -> Array:
            squares, first, second, n = sums[:, :columns], sums[:, columns : 2 * columns], sums[:, 2 * columns : -1], sums[:, -1:]
            return np.asarray((1 - squares / (second - first**2 / n)).mean(1))

        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(r2(rows.sum(0)[None])[0])
        low, high = bootstrap(rows, r2)
        return Score(name="R²", value=value, low=low, high=high, constant=0.0)

    def more(self) -> tuple[Score, ...]:
        off, constant = np.abs(self.error).mean(1), np.abs(self.given - np.median(self.given, 0)).mean(1)
        square = (self.error**2).mean(1)
        ones = np.ones(len(off))
        mae = bootstrap(np.stack([off, ones], 1), lambda s: s[:, 0] / s[:, 1])
        rmse = bootstrap(np.stack([square, ones], 1), lambda s: np.sqrt(s[:, 0] / s[:, 1]))
        spread = math.sqrt(float(self.given.var(0).mean()))
        return (
            Score(
                name="mean absolute error", value=float(off.mean()), low=mae[0], high=mae[1], constant=float(constant.mean()), larger_is_better=False
            ),
            Score(
                name="root of the mean squared error",
                value=math.sqrt(float(square.mean())),
                low=rmse[0],
                high=rmse[1],
                constant=spread,
                larger_is_better=False,
            ),
        )

    def standing(self) -> Standing:
        """Squared errors beside those of the mean, sample by sample."""
        scale = np.maximum(self.given.var(0), 1e-300)
        gain = ((self.given - self.given.mean(0)) ** 2 / scale - self.error**2 / scale).mean(1)
        mean, error = paired(gain)
        return "beyond" if mean > Z_95 * error else "below" if mean < -Z_95 * error else "unclear"

    def table(self, names: Sequence[str]) -> tuple[OutputScore, ...]:
        scale = self.given.var(0)
        with np.errstate(invalid="ignore", divide="ignore"):
            r2 = 1 - (self.error**2).mean(0) / scale
        mae, constant = np.abs(self.error).mean(0), np.abs(self.given - np.median(self.given, 0)).mean(0)
        return tuple(
            OutputScore(name=n, r2=float(r), mae=float(m), constant_mae=float(c)) for n, r, m, c in zip(names, r2, mae, constant, strict=True)
        )

    def residuals(self) -> Residuals | None:
        """Of one output; None of several, or of too few samples."""
        if self.given.shape[1] != 1 or len(self.given) < FEWEST:
            return None
        predicted, error = self.predicted[:, 0], self.error[:, 0]
        order = np.argsort(predicted, kind="stable")
        parts = np.array_split(order, TENTHS)
        bias, half = paired(error)
        within = sum(float(((error[p] - error[p].mean()) ** 2).sum()) for p in parts)
        total = float((error**2).sum())
        n = len(error)
        # Ten means of pure noise take away ten of n parts by themselves.
        explained = max(0.0, 1 - within / max(n - TENTHS, 1) / max(total / n, 1e-300)) if total else 0.0
        return Residuals(
            bias=bias,
            bias_low=bias - Z_95 * half,
            bias_high=bias + Z_95 * half,
            bins=tuple((float(predicted[p].mean()), float(error[p].mean()), float(error[p].std())) for p in parts),
            spread_with_prediction=_rank_correlation(np.abs(error - error.mean()), predicted),
            explained=explained,
        )

    def worst(self, most: int) -> tuple[Mistake, ...]:
        loss = (self.error**2).mean(1)
        return tuple(
            Mistake(index=int(self.index[i]), loss=float(loss[i]), predicted=_row(self.predicted[i]), target=_row(self.given[i]))
            for i in np.argsort(-loss, kind="stable")[:most]
        )


def patterns(r: Residuals, samples: int) -> list[str]:
    """What the errors tell besides their size, in words."""
    told = []
    wide = [spread for _, _, spread in r.bins]
    rho, far = r.spread_with_prediction, ERRORS / math.sqrt(samples)
    if abs(rho) > max(CLEARLY, far):
        low, high = sum(wide[:2]) / 2, sum(wide[-2:]) / 2
        told.append(
            f"errors {'grow' if rho > 0 else 'shrink'} with the prediction: spread {low:.3g} in the lowest fifth, {high:.3g} in the highest (not one noise level for all)"
        )
    half = (r.bias_high - r.bias_low) / 2 / Z_95
    if abs(r.bias) > ERRORS * half and r.explained > BENT:
        told.append(f"predictions are {abs(r.bias):.3g} too {'low' if r.bias > 0 else 'high'} on average")
    elif r.explained > max(BENT, ERRORS * math.sqrt(2 * TENTHS) / samples):
        told.append(
            f"errors depend on the prediction (a curve, or a slope that is not 1): correcting it would take {100 * r.explained:.0f} % of the squared error away"
        )
    return told


def _rank_correlation(a: Array, b: Array) -> float:
    one, other = (np.unique(v, return_inverse=True)[1].astype(np.float64) for v in (a, b))
    return float(np.corrcoef(one, other)[0, 1]) if min(one.std(), other.std()) > 0 else 0.0


def _row(values: Array) -> str:
    shown = ", ".join(f"{v:.4g}" for v in values[:4])
    return shown + (", …" if len(values) > 4 else "")
