"""How evaluation's inputs differ from training's, and the one map from one to the other where there is one: a factor, a shift, reversed channels, other ids."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sickbay.facts import DataProbe, EvaluationData, FeatureScale, Filled
from sickbay.nouns import Place

ROWS = 20
SHIFT, WIDER = 1.0, 3.0
"""A feature's mean outside of its own spread, or its spread three times larger or smaller: augmentation and chance do neither to most features."""
MOST = 0.6
"""...of the features that vary."""
FACTOR, ALIKE = 1.8, 0.15
"""A factor that all features share (to 15 %, which is what spreads of some hundred rows differ by) is a map also if it is smaller."""
FEWEST = 8
"""Features, for that."""
PIXEL = 255.0
DARK, NORMALISED = 100.0, 10.0
"""The brightest of many raw pixels is above the first; normalised ones stay within the second."""
ALL_ALIKE, OWN_SPREAD = 2e-3, 1.2
"""Rows that differ by rounding only; rows of the other side whose spreads differ by a fifth and more."""
FITS_BACKWARDS = 0.8
"""Correlation of the means by position. A language whose sentences read alike from both ends would have no trend at all."""
ERRORS = 5.0
"""Standard errors by which channels must differ before they are compared in opposite order."""
STAYS, MOVES, EVERYWHERE, IN_PROPORTION = 0.3, 0.6, 0.9, 0.3
"""Spreads of a feature by which the middle channel may lie elsewhere at most and the outer ones must, each the same way at nearly all of its places; logarithms by which their
proportion may differ from that of the spreads. Exposure and stains move all channels the same way, or the middle one too; a warmer lamp does not keep to the proportion."""
RENAMED, FITS = 0.3, 0.7
"""How many more of evaluation's labels are told from training's samples once its classes are called otherwise, and how many must be then."""
STRANGE, STRANGE_ROWS = 0.3, 100
"""What is told across, as a part of what is told within (both beyond guessing): a shift between sites or seasons leaves most of it."""
FAR, SAME_SHARES = 0.25, 0.5
"""Part of the tokens that would have to change, beyond chance: texts of two times or two authors differ by a tenth or two. With other ids for the same words, the
shares themselves (sorted) explain less than half of it."""


@dataclass(frozen=True)
class Difference:
    """What is different, in words, and what to do about it."""

    text: str
    cure: str
    snippet: str
    turned: bool = False
    """Its channels are in opposite order."""
    made: bool = True
    """Data does not become so by itself: one side lacks a step of preparation. Other means and spreads alone, or an odd factor, may be another source, or a grid that is drawn."""


@dataclass(frozen=True)
class Moments:
    """Mean and spread of the features that vary, of training (a) and evaluation (b)."""

    mean_a: np.ndarray
    std_a: np.ndarray
    mean_b: np.ndarray
    std_b: np.ndarray
    rows: int
    low_a: float = 0.0
    high_a: float = 0.0
    low_b: float = 0.0
    high_b: float = 0.0

    @property
    def ratio(self) -> np.ndarray:
        return np.asarray(np.maximum(self.std_b, 1e-12) / np.maximum(self.std_a, 1e-12))


def difference(data: EvaluationData) -> Difference | None:
    """How evaluation differs from training; None if it does not."""
    if (own := _by_itself(data) or _padded_elsewhere(data)) is not None:
        return own
    m = _moments(data)
    if m is None:
        return None
    shifted = np.abs(m.mean_b - m.mean_a) > SHIFT * np.maximum(np.maximum(m.std_a, 1e-12), m.std_b)
    scaled = (m.ratio > WIDER) | (m.ratio < 1 / WIDER)
    far = bool((shifted | scaled).mean() >= MOST)
    shared = _shared(m)
    named = shared or (_standardised(m) if far else None) or _reversed(data)
    if named is None and not far:
        return None
    spread = (
        f"spread {np.median(m.std_b):.3g} instead of {np.median(m.std_a):.3g}, mean {np.median(m.mean_b):.3g} instead of {np.median(m.mean_a):.3g}"
    )
    text = f"lies elsewhere than what was trained on: {spread} (medians over {len(m.std_a)} features)"
    return replace(named, text=f"{text}; {named.text}") if named is not None else replace(SAME, text=text)


OFTEN_FILLED, NEVER_FILLED = 0.2, 0.02
"""Of the rows: texts of many lengths are filled up at one end; at the other end the same id stands in a few by chance."""
SAME = Difference(
    "",
    "prepare validation data with the same function, and the same numbers, as training data",
    "x_val = (x_val - train_mean) / train_std  # the numbers of the training set",
    made=False,
)


TURNED = Difference(
    "",
    "read images in one channel order (RGB) everywhere",
    "image = image[..., ::-1]  # BGR to RGB, before it is normalised, for training and validation alike",
    turned=True,
)


def _by_itself(data: EvaluationData) -> Difference | None:
    """Each row of one side is standardised by itself (all have one mean and one spread, to a thousandth), those of the other are not."""
    a, b = data.train, data.evaluation
    if a is None or b is None or not data.same_shape or min(a.rows, b.rows) < ROWS:
        return None
    alone, other = _one_scale(a), _one_scale(b)
    if alone is None or other is None or alone == other:
        return None
    differs = b if alone else a
    if differs.row_std is None or differs.row_std[1] < OWN_SPREAD * differs.row_std[0]:
        return None
    text = (
        "training samples are each standardised by themselves, these are not"
        if alone
        else "these samples are each standardised by themselves, training's are not"
    )
    return Difference(text, "prepare both with one function", "x = (x - x.mean()) / x.std()  # of each sample, in training and validation")


def _one_scale(scale: FeatureScale) -> bool | None:
    if scale.row_mean is None or scale.row_std is None or not scale.row_std[1]:
        return None
    low, high = scale.row_std
    return high - low < ALL_ALIKE * high and scale.row_mean[1] - scale.row_mean[0] < ALL_ALIKE * high


def _padded_elsewhere(data: EvaluationData) -> Difference | None:
    """Sequences of ids that are filled up at the other end: rows end with what training's begin with; or (one length for all) their means by position fit
    when evaluation's are read backwards, and not as they are."""
    if (filled := data.filled) is not None and _other_end(filled):
        begin, end = ("end", "beginning") if filled.train[0] < filled.train[1] else ("beginning", "end")
        return replace(ONE_END, text=f"is filled up (with {filled.id}) at the {end} of the sequence, what was trained on at the {begin}")
    a, b = data.train, data.evaluation
    if a is None or b is None or not data.whole_numbers or len(data.shape) != 1 or min(a.rows, b.rows) < ROWS:
        return None
    here, there = np.array(a.mean), np.array(b.mean)
    if len(here) != len(there) or len(here) < FEWEST or not here.std() or not there.std():
        return None
    as_it_is, backwards = float(np.corrcoef(here, there)[0, 1]), float(np.corrcoef(here, there[::-1])[0, 1])
    if backwards < FITS_BACKWARDS or as_it_is > -FITS_BACKWARDS / 2:
        return None
    text = "is filled up at the other end of the sequence than what was trained on: its ids by position fit training's when they are read backwards"
    return replace(ONE_END, text=text)


ONE_END = Difference("", "pad both at the same end", "loader = DataLoader(data, collate_fn=collate)  # one function for training and validation")


def _other_end(filled: Filled) -> bool:
    here, there = (0, 1) if filled.train[0] > filled.train[1] else (1, 0)
    return min(filled.train[here], filled.evaluation[there]) > OFTEN_FILLED and max(filled.train[there], filled.evaluation[here]) < NEVER_FILLED


def _moments(data: EvaluationData) -> Moments | None:
    a, b = data.train, data.evaluation
    if a is None or b is None or not data.same_shape or min(a.rows, b.rows) < ROWS or len(a.mean) != len(b.mean):
        return None
    mean_a, std_a, mean_b, std_b = (np.array(v) for v in (a.mean, a.std, b.mean, b.std))
    varies = (std_a > 1e-6 * _size(a)) | (std_b > 1e-6 * _size(b))
    if varies.sum() < 2:
        return None
    return Moments(mean_a[varies], std_a[varies], mean_b[varies], std_b[varies], min(a.rows, b.rows), a.minimum, a.maximum, b.minimum, b.maximum)


def _size(scale: FeatureScale) -> float:
    return max(abs(scale.minimum), abs(scale.maximum), 1e-12)


def _shared(m: Moments) -> Difference | None:
    """The factor (and shift) that all features share, where there is one."""
    factor = float(np.median(m.ratio))
    shared = float(np.median(np.abs(np.log(m.ratio / factor)))) < ALIKE and max(factor, 1 / factor) > FACTOR
    close = 0.25 * factor * float(np.median(m.std_a)) + 2 * float(np.median(m.std_b)) / np.sqrt(m.rows)
    shift = float(np.median(m.mean_b - factor * m.mean_a))
    if not shared or len(m.ratio) < FEWEST or float(np.median(np.abs(m.mean_b - factor * m.mean_a - shift))) > close:
        return None
    if abs(shift) < close:
        return _times(factor)
    raw = m.low_b >= 0 and DARK < m.high_b <= PIXEL and m.low_a < 0 and max(m.high_a, -m.low_a) < NORMALISED
    if _standardised(m) is not None and not raw:
        return None
    if raw:
        text = f"it lies between {m.low_b:.3g} and {m.high_b:.3g}, as raw pixels do, and training data between {m.low_a:.3g} and {m.high_a:.3g}: the same data times {factor:.3g} plus {shift:.3g}"
        return Difference(
            text, "scale and normalise it as training data is", f"x_val = (x_val - {shift:.4g}) / {factor:.4g}  # what training data has had"
        )
    text = f"it is the same data times {factor:.3g} plus {shift:.3g}"
    return Difference(
        text, "apply the same normalisation to both", f"x_val = (x_val - {shift:.4g}) / {factor:.4g}  # what training data has had", made=False
    )


def _standardised(m: Moments) -> Difference | None:
    if _standard(m.mean_a, m.std_a) and not _standard(m.mean_b, m.std_b):
        return Difference(
            "training data is standardised, this is not", "standardise validation data too, with training's mean and spread", SAME.snippet, made=False
        )
    if _standard(m.mean_b, m.std_b) and not _standard(m.mean_a, m.std_a):
        return Difference(
            "this is standardised, training data is not",
            "prepare both in the same way: standardise training data too, or neither",
            SAME.snippet,
            made=False,
        )
    return None


def _times(factor: float) -> Difference:
    if abs(factor / PIXEL - 1) < ALIKE:
        return Difference(
            "it is the same data times 255: validation is not divided by 255", "divide validation data by 255 too", "x_val = x_val / 255"
        )
    if abs(factor * PIXEL - 1) < ALIKE:
        return Difference(
            "it is the same data divided by 255, which training data is not", "divide both by 255, or neither, and once", "x_train = x_train / 255"
        )
    return Difference(
        f"it is the same data times {factor:.3g}", "bring both to one scale with the same numbers", f"x_val = x_val / {factor:.4g}", made=False
    )


def _standard(mean: np.ndarray, std: np.ndarray) -> bool:
    """Mean near 0 and spread near 1, for most features."""
    return float(np.median(np.abs(mean))) < 0.2 and 0.6 < float(np.median(std)) < 1.6


def _reversed(data: EvaluationData) -> Difference | None:
    """Channels in opposite order (RGB and BGR): the means of three channels fit when they are read backwards, and do not as they are."""
    a, b = data.train, data.evaluation
    if a is None or b is None or len(data.shape) != 3 or len(a.mean) != len(b.mean) or min(a.rows, b.rows) < ROWS:
        return None
    channels = _channels(data.shape, len(a.mean))
    if channels is None:
        return None
    mean_a, mean_b = (np.array([np.mean(np.array(s.mean)[channels == c]) for c in range(3)]) for s in (a, b))
    error = float(np.median(a.std)) / np.sqrt(min(a.rows, b.rows))
    as_is, backwards = float(np.abs(mean_b - mean_a).max()), float(np.abs(mean_b - mean_a[::-1]).max())
    told = ", ".join(f"{v:.2g}" for v in mean_b), ", ".join(f"{v:.2g}" for v in mean_a)
    if as_is >= ERRORS * error and backwards <= 0.25 * as_is:
        text = "its channels are reversed"
    elif _reversed_then_normalised(a, b, channels):
        text = "its means by channel are as if the channels had been reversed before they were normalised (the middle one stays, the outer ones move against each other)"
    else:
        return None
    return replace(TURNED, text=f"{text}: their means are {told[0]}; in training they are {told[1]}")


def _reversed_then_normalised(a: FeatureScale, b: FeatureScale, channels: np.ndarray) -> bool:
    """With (red - m0) / s0, (green - m1) / s1, (blue - m2) / s2 on one side and (blue - m0) / s0, (green - m1) / s1, (red - m2) / s2 on the other, the middle channel is
    the same, the means of the outer ones differ in opposite ways, by amounts that are as s2 to s0, and so are one side's red to the other's (and blue to blue) in spread."""
    mean_a, std_a, mean_b, std_b = (np.array(v) for v in (a.mean, a.std, b.mean, b.std))
    apart = (mean_b - mean_a) / np.maximum(np.maximum(std_a, std_b), 1e-12)
    by_channel = [apart[channels == c] for c in range(3)]
    moved = np.array([np.median(by) for by in by_channel])
    same_way = [float((np.sign(by) == np.sign(np.median(by))).mean()) >= EVERYWHERE for by in by_channel]
    if abs(moved[1]) > STAYS or np.abs(moved[[0, 2]]).min() < MOVES or moved[0] * moved[2] > 0 or not (same_way[0] and same_way[2]):
        return False
    by = [float(np.median((mean_b - mean_a)[channels == c])) for c in (0, 2)]
    red_a, blue_a, red_b, blue_b = (float(np.median(s[channels == c])) for s, c in ((std_a, 0), (std_a, 2), (std_b, 2), (std_b, 0)))
    if min(red_a, blue_a, red_b, blue_b) <= 0:
        return False
    return abs(math.log(-by[0] / by[1]) - math.log(blue_b / blue_a * red_a / red_b) / 2) < IN_PROPORTION


def _channels(shape: tuple[int, ...], features: int) -> np.ndarray | None:
    """The channel of each recorded feature (evenly spread ones, see observe/keys.py)."""
    total = int(np.prod(shape))
    places = np.arange(features) * -(-total // 96)
    if shape[0] == 3:
        found = places // (shape[1] * shape[2])
    elif shape[2] == 3:
        found = places % 3
    else:
        return None
    return found if all((found == c).any() for c in range(3)) else None


def other_words(data: EvaluationData) -> Difference | None:
    """The same words under other ids."""
    w = data.words
    if w is None:
        return None
    # Rows that came again say nothing new: as many as are distinct bound what two samples of one text differ by.
    by_chance = w.by_chance * math.sqrt(w.train_rows / max(min(w.train_rows, data.train_distinct), 1))
    if w.distance - by_chance < FAR or w.in_order - w.by_chance > SAME_SHARES * (w.distance - w.by_chance):
        return None
    text = (
        f"is numbered otherwise than what was trained on: {100 * w.distance:.0f} % of the ids at each position would have to change to make both alike (by chance {100 * w.by_chance:.0f} %), "
        f"while the shares themselves agree in order of size ({100 * w.in_order:.0f} %): the same words or categories have other ids"
    )
    return Difference(
        text,
        "build the vocabulary (or the category codes) once, from training data, and use it for validation too",
        "vocab = build_vocab(train_texts)  # once\nval_ids = encode(val_texts, vocab)",
    )


def other_names(probe: DataProbe | None) -> tuple[Difference, Place | None] | None:
    """The same classes under other numbers, or of pictures whose channels are in opposite order (which looks alike, where colours tell classes)."""
    for e in probe.evaluations if probe is not None else ():
        r = e.renamed
        if r is not None and r.turned > FITS and r.turned - r.right > RENAMED and r.turned >= r.renamed:
            text = (
                f"has its channels reversed: the training samples that resemble them most tell {100 * r.right:.0f} % of {r.rows:,} labels as they are, "
                f"and {100 * r.turned:.0f} % once the channels are read in opposite order"
            )
            return replace(TURNED, text=text), e.called_from or e.place
        if r is not None and r.names and r.renamed > FITS and r.renamed - r.right > RENAMED:
            names = ", ".join(f"{a} is {b}" for a, b in r.names[:4])
            text = (
                f"numbers its classes otherwise than training does: the training samples that resemble them most tell {100 * r.right:.0f} % of {r.rows:,} labels as they are, "
                f"and {100 * r.renamed:.0f} % under other numbers (training's {names})"
            )
            return Difference(
                text, "number the classes once, from training data, and use that for validation too", "classes = sorted(set(train_labels))  # once"
            ), e.called_from or e.place
    return None


def strangers(probe: DataProbe | None) -> tuple[Difference, Place | None] | None:
    """Training and evaluation can each be told by themselves, but not one from the other: the same numbers do not mean the same in both."""
    trained = probe.relation if probe is not None else None
    for e in probe.evaluations if probe is not None and trained is not None else ():
        r, own = e.renamed, e.relation
        if r is None or own is None or own.rows < STRANGE_ROWS or min(r.within, own.score) < FITS or r.renamed > FITS:
            continue
        chance = max(own.chance, own.majority)
        if r.right - chance < STRANGE * (min(r.within, own.score) - chance):
            text = (
                f"does not mean the same as in training: training's samples tell {100 * r.within:.0f} % of each other's labels, evaluation's own {100 * own.score:.0f} %, "
                f"but training's tell only {100 * r.right:.0f} % of evaluation's (guessing: {100 * chance:.0f} %)"
            )
            return Difference(
                text,
                "prepare validation with what was learned from training data (vocabulary, column order, scaling): one function for both",
                "vocab = build_vocab(train_texts)  # once\nval_ids = encode(val_texts, vocab)",
            ), e.called_from or e.place
    return None
