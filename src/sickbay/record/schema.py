"""The layout of a record file, version 1. One SQLite database (WAL mode while it grows) per training process.

    meta      key, value                         "schema", "sickbay", "created", "rank", "pid"
    layouts   id, family, names, width           what the numbers of a chunk are: JSON list of names, values per name
    chunks    id, layout, first, last, count,    consecutive frames of one layout: int64 steps and float32 values,
              steps, data                        little-endian, count x len(names) x width
    facts     name, value                        JSON, the latest state of each field of `facts.Facts`
    events    id, step, time, kind, data         JSON; each kind is kept up to a limit, then only counted
    counts    kind, total                        how many events of each kind there were
    sources   file, text                         the user's source files that places point into

The family "pulse" holds plain series, one value per name and step. Its names:

    loss/train, loss/train@1 ...     value of each training loss (the number is `facts.Loss.index`; 0 is left out)
    loss/eval, loss/eval@1 ...       mean over one evaluation pass, one series per place that computes it
    accuracy/train, accuracy/eval    where predictions and class targets meet in a known loss; of evaluations also where the script compares them by hand
    lr, lr@1 ...                     learning rate of each optimizer's first group
    grad_norm, grad_norm@1 ...       norm of all gradients an optimizer steps on (after clipping)
    clip_norm                        norm before clipping, as clip_grad_norm_ returned it
    time/step, time/data, time/forward, time/backward, time/optimizer, time/own    seconds
    memory/rss                       bytes
    backwards                        backward passes since the last step
    epoch                            number of the epoch, from 0

Every other family is by layer, parameter or activation: `grad_norm`, `weight_norm`, `update_ratio` (by parameter);
`activation_mean`, `activation_std`, `activation_max`, `activation_zero`, `activation_saturated`, `activation_dead`
(by activation site); `grad_histogram`, `weight_histogram`, `activation_histogram` (width `facts.HISTOGRAM_BINS`);
`predicted_share/train`, `predicted_share/eval`, and of labels of single pixels or tags `label_share/train` (by class);
`printed` (by the words before a number in what the script prints; see `record/printed.py`).

Change anything here and VERSION goes up; the reader refuses newer versions and converts older ones.
"""

from __future__ import annotations

VERSION = 1
SUFFIX = ".sickbay"

TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS layouts (id INTEGER PRIMARY KEY, family TEXT NOT NULL, names TEXT NOT NULL, width INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS chunks (id INTEGER PRIMARY KEY, layout INTEGER NOT NULL, first INTEGER NOT NULL,
    last INTEGER NOT NULL, count INTEGER NOT NULL, steps BLOB NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS counts (kind TEXT PRIMARY KEY, total INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sources (file TEXT PRIMARY KEY, text TEXT NOT NULL);
"""
