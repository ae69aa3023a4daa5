"""One named array in training and in serving: where it differs, and by feature."""

from __future__ import annotations

import numpy as np

from sickbay.facts.skewed import FeatureSkew
from sickbay.observe.maps.explained import explained
from sickbay.observe.maps.numbers import Array, differs

CHANNELS = (1, 3, 4)


class Pair:
    """One named array on both sides."""

    def __init__(self, name: str, a: Array, b: Array) -> None:
        self.name, self.a, self.b = name, a, b
        self.fits = a.shape == b.shape and a.dtype != object and b.dtype != object
        self.different = differs(a, b) if self.fits else None
        self.rows = self._rows()

    def _rows(self) -> Array:
        """Samples that differ."""
        if self.different is not None:
            return np.asarray(self.different.reshape(len(self.a), -1).any(1))
        return np.array([x.shape != y.shape or bool(differs(x, y).any()) for x, y in zip(self.a, self.b, strict=True)])

    @property
    def kind_differs(self) -> bool:
        """Whole numbers here, fractions there."""
        return self.a.dtype.kind != self.b.dtype.kind and {self.a.dtype.kind, self.b.dtype.kind} <= set("fiub")

    @property
    def rounded(self) -> bool:
        if not self.fits:
            return self.a.dtype == object
        return self.a.dtype != self.b.dtype or not np.array_equal(self.a, self.b, equal_nan=self.a.dtype.kind == "f")

    def where(self, row: int) -> str:
        """ "sample 0, feature age", "sample 3, position (0, 2, 7)"."""
        start = f"sample {row}" + (f", {self.name}" if self.name else "")
        if not self.fits or self.different is None or self.a.ndim < 2:
            return start if self.fits or self.a[row].shape == self.b[row].shape else f"{start}: shape {self.a[row].shape} and {self.b[row].shape}"
        place = np.argwhere(self.different[row])[0]
        return f"{start}, feature {place[0]}" if len(place) == 1 else f"{start}, position ({', '.join(map(str, place))})"

    def values(self, row: int) -> tuple[float, float] | None:
        if not self.fits or self.different is None or self.a.dtype.kind not in "fiub":
            return None
        place = (row, *np.argwhere(self.different[row])[0])
        return float(self.a[place]), float(self.b[place])

    def features(self) -> list[FeatureSkew]:
        if not self.fits or self.a.dtype.kind not in "fiub" or self.b.dtype.kind not in "fiub":
            return []
        axis = _feature_axis(self.a.shape)
        if axis is None:
            return [self._feature(self.name or "all", self.a.reshape(-1), self.b.reshape(-1))]
        label = "channel" if self.a.ndim == 4 else "feature"
        start = f"{self.name}, " if self.name else ""
        sides = [np.moveaxis(v, axis, 0).reshape(v.shape[axis], -1) for v in (self.a, self.b)]
        return [self._feature(f"{start}{label} {i}", x, y) for i, (x, y) in enumerate(zip(*sides, strict=True))]

    def _feature(self, name: str, x: Array, y: Array) -> FeatureSkew:
        wrong = float(differs(x, y).mean())
        found = explained(x[:, None], y[:, None]) if wrong else None
        p, q = x.astype(np.float64), y.astype(np.float64)
        fine = np.isfinite(p) & np.isfinite(q)
        varies = bool(fine.any()) and p[fine].std() > 0 and q[fine].std() > 0
        return FeatureSkew(
            name=name,
            differ=wrong,
            mean=(_mean(p), _mean(q)),
            spread=(_spread(p), _spread(q)),
            correlation=float(np.corrcoef(p[fine], q[fine])[0, 1]) if varies else float("nan"),
            explained=found.text if found is not None else "",
        )


def _feature_axis(shape: tuple[int, ...]) -> int | None:
    if len(shape) == 2:
        return 1
    if len(shape) == 4:
        return 1 if shape[1] in CHANNELS else 3 if shape[3] in CHANNELS else None
    return 2 if len(shape) == 3 and shape[2] <= 64 else None


def _mean(x: Array) -> float:
    return float(np.nanmean(x)) if np.isfinite(x).any() else float("nan")


def _spread(x: Array) -> float:
    return float(np.nanstd(x)) if np.isfinite(x).any() else float("nan")
