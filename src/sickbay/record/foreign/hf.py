"""Hugging Face Trainer: `trainer_state.json`. Its `log_history` mixes rows of training, of each evaluation set and a summary at the end."""

from __future__ import annotations

import re

from sickbay.errors import LogError
from sickbay.record.foreign.json_rows import flat, objects
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "HF Trainer state"
LARGEST = 512 * 2**20
SUMMARY = frozenset({"train_loss", "step", "epoch"})
HISTORY = re.compile(r'"log_history"\s*:\s*\[')


def matches(source: Source) -> bool:
    text = source.text
    return text.lstrip()[:1] == "{" and ('"log_history"' in text or ('"global_step"' in text and '"is_world_process_zero"' in text))


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    text = source.whole(LARGEST)
    found = HISTORY.search(text)
    summary: dict[str, float] = {}
    if found:
        for row in objects(text, found.end() - 1):
            # The summary at the end: "train_loss" there is the mean over the whole run, no point of the curve.
            if "train_runtime" not in row:
                sheet.row(dict(flat(row)))
            else:
                summary = {name: value for name, value in flat(row) if name in SUMMARY}
    if not sheet.columns and "train_loss" in summary:
        sheet.row(summary)
        sheet.note("the log holds nothing but the mean of the loss over the whole run: logging_steps was larger than the run")
    if not sheet.columns and found:
        raise LogError(
            f"{source.path} is a state of the HF Trainer whose log_history is empty: nothing was logged yet; logging_steps may be larger than the run"
        )
    if not text.rstrip().endswith("}"):
        sheet.note("the file ends in the middle: it was read up to there")
    return sheet
