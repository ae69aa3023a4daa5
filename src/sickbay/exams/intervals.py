"""How far a score may be off because there are only so many samples, and whether a difference is more than chance. Numbers only.

Wilson 1927, Probable inference, the law of succession, and statistical inference; Efron 1979, Bootstrap methods; Holm 1979, A simple sequentially
rejective multiple test procedure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Z_95 = 1.959964
DRAWS = 1000
"""Of a bootstrap: the ends of a 95 % interval are then known to about a tenth of its width."""
BLOCKS = 1000
"""More samples than this are summed in so many random blocks, which are drawn instead: sums of blocks vary as the samples do, at a thousandth of the work."""
EXACT = 5000
"""Samples up to which a table of two by two is tested exactly (Fisher); beyond, the normal approximation differs in the third digit only."""


def wilson(right: float, n: float) -> tuple[float, float]:
    """95 % interval of a share; (0, 1) of nothing."""
    if n <= 0:
        return 0.0, 1.0
    share, z2 = right / n, Z_95 * Z_95
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def bootstrap(rows: Floats, score: Callable[[Floats], Floats]) -> tuple[float, float]:
    """95 % interval of a score that is made from sums over the samples.

    `rows` has one row of numbers per sample; `score` takes their sums (one row per draw) and gives one score per draw.
    """
    if len(rows) < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(0)
    if len(rows) > BLOCKS:
        block = rng.permutation(len(rows)) % BLOCKS
        rows = np.stack([np.bincount(block, column, BLOCKS) for column in rows.T], 1)
    n = len(rows)
    sums = np.concatenate([rng.multinomial(n, np.full(n, 1 / n), 50) @ rows for _ in range(DRAWS // 50)])
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = score(sums)
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return math.nan, math.nan
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def paired(better: Floats) -> tuple[float, float]:
    """Mean of a difference that is known for each sample, with its standard error."""
    if len(better) < 2:
        return float(better.mean()) if len(better) else 0.0, math.inf
    return float(better.mean()), float(better.std(ddof=1) / math.sqrt(len(better)))


def two_sided(z: float) -> float:
    """How likely a normal number is as far from zero."""
    return math.erfc(abs(z) / math.sqrt(2))


def shares_differ(right: int, n: int, other_right: int, other_n: int) -> float:
    """How likely two shares differ as much by chance: Fisher's exact test, of many samples its normal limit."""
    if not n or not other_n:
        return 1.0
    both, total = right + other_right, n + other_n
    if total > EXACT:
        pooled = both / total
        error = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / other_n))
        return two_sided((right / n - other_right / other_n) / error) if error else 1.0
    low, high = max(0, both - other_n), min(both, n)
    terms = [_log_choose(n, k) + _log_choose(other_n, both - k) for k in range(low, high + 1)]
    base = _log_choose(total, both)
    likely = [math.exp(t - base) for t in terms]
    own = likely[right - low]
    return min(1.0, sum(p for p in likely if p <= own * (1 + 1e-7)))


def means_differ(one: Floats, other: Floats) -> float:
    """How likely two means differ as much by chance (Welch, in its normal limit: both need some twenty samples)."""
    if len(one) < 2 or len(other) < 2:
        return 1.0
    error = math.sqrt(float(one.var(ddof=1)) / len(one) + float(other.var(ddof=1)) / len(other))
    gap = float(one.mean() - other.mean())
    return two_sided(gap / error) if error else float(gap == 0)


def holm(chances: Sequence[float]) -> list[float]:
    """The same chances when all of them are asked for at once: that any of them is that small."""
    out = [1.0] * len(chances)
    so_far = 0.0
    for rank, i in enumerate(sorted(range(len(chances)), key=lambda i: chances[i])):
        so_far = max(so_far, min(1.0, (len(chances) - rank) * chances[i]))
        out[i] = so_far
    return out


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
