"""The numbers themselves: what is not finite, not scaled, constant, or wider than it needs to be."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.causes.data.unscaled_input import COLUMNS, SPREAD
from sickbay.causes.evidence import listed, shape
from sickbay.facts.scan import Finding, LoaderSeen, Scan, TensorSeen
from sickbay.scanned.findings import MOST, batches, called, finding, samples, share, without

FEW_COLUMNS = 8
"""More than these are no property of single columns (a picture, a spectrogram)."""
PIXELS = 100.0, 256.0
"""Pixels that were never divided: their largest value lies here, and none is negative."""
ENOUGH = 20
"""Rows, from which a column that never varied is told."""
ALL_ALIKE = 3
"""Shapes: of a batch that is cut or padded to its longest sample there are more."""


def values(loader: LoaderSeen) -> Iterator[Finding]:
    for tensor in loader.tensors:
        yield from _nonfinite(loader, tensor)
        yield from _scale(loader, tensor)
        if loader.name == "train":
            yield from _columns(loader, tensor)
        yield from _types(loader, tensor)
    yield from _constant(loader)


def _nonfinite(loader: LoaderSeen, t: TensorSeen) -> Iterator[Finding]:
    if not t.nan + t.infinite or t.only_zero_else:
        return
    what = " and ".join(word for word, count in ((f"NaN ({t.nan:,})", t.nan), (f"infinity ({t.infinite:,})", t.infinite)) if count)
    indices = tuple(b.index for b in t.bad if b.index is not None)[:MOST]
    who = samples(indices, loader) if indices else "rows " + listed([f"{b.row} of batch {b.batch:,}" for b in t.bad], 6)
    few = 0 < len(t.bad_columns) <= FEW_COLUMNS and len(t.bad_columns) < t.columns
    where = (
        f", in {'column' if len(t.bad_columns) == 1 else 'columns'} {listed([str(c) for c in t.bad_columns], FEW_COLUMNS)} of {t.columns}"
        if few
        else ""
    )
    never = f"; {'column' if len(t.missing) == 1 else 'columns'} {listed([str(c) for c in t.missing], 6)} never hold a number" if t.missing else ""
    several = t.role == "target" and t.columns > 1  # several tasks at once: NaN says which of them a sample has no answer for
    yield finding(
        "nonfinite-target" if t.role == "target" else "nonfinite-input",
        "possible" if several else "proven",
        f"{called(t)} holds {what} in {t.bad_rows:,} of {t.rows:,} samples ({batches(t.bad_batches)}){where}: {who}{never}",
        "remove or fill these values where the data are prepared; one of them makes the loss, and with the next step every weight, NaN",
        loader, indices=indices, columns=t.bad_columns[:64] if few else (), tensor=t.name, diff=without(indices, loader),
    )  # fmt: skip


def far_out(scan: Scan, loader: LoaderSeen) -> Iterator[Finding]:
    for found in (o for name, o in scan.outlying if name == loader.name):
        of = f"{found.rows:,} samples" if found.rows >= loader.rows else f"the {found.rows:,} samples that were compared"
        who = f": {samples(found.indices, loader)}" if found.indices and loader.indexed else ""
        yield finding(
            "corrupt-samples", "likely",
            f"{found.found:,} of {of} hold values at least {found.times:,.0f} times as far from the middle as any other sample{who}",
            "look at these samples: a unit that slipped, a sentinel such as -999, a file that was read wrongly; repair or drop them", loader,
            title="a few samples lie far outside all others", indices=found.indices if loader.indexed else (), diff=without(found.indices, loader),
        )  # fmt: skip


def _scale(loader: LoaderSeen, t: TensorSeen) -> Iterator[Finding]:
    s = t.scale
    if t.role != "input":
        return
    if t.kind == "image" and PIXELS[0] < t.maximum <= PIXELS[1] and t.minimum >= 0:
        raw = t.dtype == "uint8"
        yield finding(
            "unscaled-input", "possible" if raw else "likely",
            f"{called(t)} holds pixels from {t.minimum:.3g} to {t.maximum:.4g} ({t.dtype})" + ("; fine if the training loop divides them" if raw else ""),
            "divide by 255 (as transforms.ToTensor does) and standardise", loader, tensor=t.name, diff="x = x.float().div(255)  # then Normalize(mean, std)",
        )  # fmt: skip
    elif (
        t.kind == "table"
        and s is not None
        and "float" in t.dtype
        and s.feature_std_min > 0
        and s.feature_std_max > max(COLUMNS * s.feature_std_min, SPREAD)
    ):
        yield finding(
            "unscaled-input", "possible",
            f"the columns of {called(t)} have spreads from {s.feature_std_min:.2g} to {s.feature_std_max:.3g}; fine if the model normalises them first",
            "standardise the columns with the training set's mean and spread", loader, tensor=t.name,
            diff="mean, std = x_train.mean(0), x_train.std(0).clamp_min(1e-8)\nx_train, x_val = (x_train - mean) / std, (x_val - mean) / std",
        )  # fmt: skip


def _columns(loader: LoaderSeen, t: TensorSeen) -> Iterator[Finding]:
    if t.role == "input" and t.rows >= ENOUGH and 0 < len(t.constant) < t.columns:
        word = "column" if len(t.constant) == 1 else "columns"
        yield finding(
            "constant-features", "possible",
            f"{word} {listed([str(c) for c in t.constant], FEW_COLUMNS)} of the {t.columns} in {called(t)} never vary ({share(len(t.constant), t.columns)})",
            "leave them out, or look whether they should vary: they tell a model nothing, and dividing by their spread makes NaN", loader,
            title="some features never vary", columns=t.constant[:64], tensor=t.name,
        )  # fmt: skip


def _types(loader: LoaderSeen, t: TensorSeen) -> Iterator[Finding]:
    if t.dtype == "float64" and (t.role == "input" or loader.target_kind == "numbers"):
        yield finding(
            "float64-data", "possible", f"{called(t)} is float64: twice the memory and time of float32, and float32 weights refuse it",
            "convert once, where the data are made", loader, title="numbers are wider than they need to be", tensor=t.name, diff="x = x.float()",
        )  # fmt: skip
    if t.dtypes > 1:
        yield finding(
            "changing-types", "possible", f"{called(t)} has {t.dtypes} different types from batch to batch (mostly {t.dtype})",
            "convert all samples to one type in the data set", loader, title="batches have different types", tensor=t.name,
        )  # fmt: skip
    if 1 < t.shapes <= ALL_ALIKE and t.odd_shapes:
        yield finding(
            "changing-shapes", "possible", f"a few batches of {called(t)} have samples of another shape: {listed([shape(s) for s in t.odd_shapes], 3)} instead of {shape(t.shape)}",
            "look at these samples: they may have been read wrongly", loader, title="some batches have another shape", tensor=t.name,
        )  # fmt: skip


def _constant(loader: LoaderSeen) -> Iterator[Finding]:
    inputs = [t for t in loader.tensors if t.role == "input" and t.kind in ("table", "series", "image", "tokens") and t.rows]
    if inputs and loader.rows >= ENOUGH and all(t.minimum == t.maximum and not t.bad_rows for t in inputs):
        yield finding(
            "constant-input", "proven", f"every number of all {loader.rows:,} samples is the same", "look at how samples are read: nothing of them arrives",
            loader, title="all samples are the same",
        )  # fmt: skip
