"""`sickbay.suggest_clip`: the percentile against an obvious twin, and honest about what was not measured."""

from __future__ import annotations

import numpy as np
import pytest

import sickbay
from sickbay.errors import UsageError
from sickbay.facts import Clipping
from sickbay.nouns import Place
from sickbay.testing import make_record

NORMS = np.random.default_rng(0).lognormal(0, 1, 400)


def test_without_clipping_the_measured_norms_count() -> None:
    advice = sickbay.suggest_clip(make_record(series={"grad_norm": NORMS}))
    twin = sorted(NORMS)[int(0.95 * len(NORMS))]
    assert advice.limit == pytest.approx(twin, rel=0.1)
    assert (advice.norms, advice.steps, advice.current, advice.nonfinite) == (400, 400, None, 0)
    assert advice.clipped == pytest.approx(0.05, abs=0.01) and advice.before_clipping and not advice.few
    assert str(advice).startswith(f"clip at {advice.limit:g}: the 95th percentile of 400 gradient norms (median ")


def test_with_clipping_the_norms_before_it_count() -> None:
    clip = Clipping(index=0, kind="norm", limit=0.5, calls=400, in_time=400, place=Place("train.py", 9))
    record = make_record(series={"clip_norm": NORMS, "grad_norm": np.minimum(NORMS, 0.5)}, clippings=[clip])
    advice = sickbay.suggest_clip(record)
    assert advice.limit > 3 and advice.current == 0.5
    assert advice.clipped_now == pytest.approx(np.mean(NORMS > 0.5))
    assert "the limit of 0.5 in the script cuts 74% of them, this one would cut 5%" in str(advice)


def test_what_was_not_measured_is_said() -> None:
    values = np.append(NORMS[:40], [np.nan, np.inf])
    text = str(sickbay.suggest_clip(make_record(series={"grad_norm": (np.arange(42) * 10, values)}, steps=420)))
    assert "42 of 420 steps were measured" in text
    assert "2 of these were NaN or infinite and are left out" in text
    assert "from fewer than 100 norms this is a guess" in text


def test_a_run_that_broke_gives_no_limit() -> None:
    """Its last finite norms are what it broke by."""
    text = str(sickbay.suggest_clip(make_record(series={"grad_norm": [3.0, 2e4, 6e17, *[np.nan] * 50]})))
    assert text.startswith("no limit follows from this run: 50 of 53 gradient norms were NaN or infinite") and "clip at" not in text


def test_clipping_by_hand_shows_only_the_norms_after_it() -> None:
    record = make_record(series={"grad_norm": np.full(200, 0.1)}, clippings=[Clipping(index=0, kind="hand", limit=0.1, calls=200)])
    assert "norms after clipping: too small" in str(sickbay.suggest_clip(record))


def test_without_norms_it_says_so() -> None:
    with pytest.raises(UsageError, match="no gradient norm was measured"):
        sickbay.suggest_clip(make_record(series={"loss/train": NORMS}))
    with pytest.raises(UsageError, match="none of the 3 gradient norms of this run is finite"):
        sickbay.suggest_clip(make_record(series={"grad_norm": [np.nan] * 3}))
