"""One JSON object per line: DETR, MAE and timm `log.txt`, mmcv and mmengine, detectron2 `metrics.json`, LLaMA-Factory `trainer_log.jsonl`.

Objects without numbers of a curve (a configuration, the environment, a leading `{}`) are rows without values. Where an object says its
"mode", that is the phase of all its names.
"""

from __future__ import annotations

from sickbay.record.foreign.json_rows import flat, loads, number
from sickbay.record.foreign.names import EVAL, meaning, words
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "JSON lines"
CONFIGURATION = frozenset({"config", "env_info", "cfg", "args", "hparams", "exp_name", "seed", "hyperparameters"})
TOTALS = frozenset({"total_steps", "max_steps", "num_epochs", "total_epochs", "n_parameters", "max_epochs", "total_iters"})
MODES = frozenset({"mode", "split", "phase", "stage", "type", "subset"})
"""Where an object says what it is about."""
SAMPLE = 40


def matches(source: Source) -> bool:
    """Several of the first lines are whole objects; a single line may as well be a document of lists."""
    lines = [x for x in source.text.split("\n") if x.strip()]
    whole = [isinstance(loads(x), dict) for x in lines[:SAMPLE] if x.lstrip()[:1] == "{" and x.rstrip()[-1:] == "}"]
    if len(lines) == 1:
        item = loads(lines[0])
        return isinstance(item, dict) and any(number(v) is not None and meaning(k).kind == "loss" for k, v in item.items())
    return sum(whole) >= min(2, len(lines) - 1)


def read(source: Source) -> Sheet:
    sheet = Sheet(FORMAT)
    broken = 0
    for line in source.lines():
        start = line.find("{")
        if start < 0:
            continue
        item = loads(line[start:])
        if not isinstance(item, dict):
            broken += 1
            continue
        if not CONFIGURATION.isdisjoint(item) and not any(meaning(k).kind == "loss" for k in item):
            continue
        if set(map(type, item.values())) == {float} and TOTALS.isdisjoint(item):
            cells: dict[str, float] = item  # as most lines are
        else:
            cells = {name: value for name, value in flat(item) if name not in TOTALS}
        if not MODES.isdisjoint(item) and any(isinstance(mode := item.get(key), str) and EVAL & set(words(mode)) for key in MODES):
            cells = _as_evaluation(cells)
        if cells:
            sheet.row(cells)
    if broken:
        sheet.note(f"{broken} line{'s' if broken > 1 else ''} could not be read as JSON (the last one of a log may be half-written)")
    return sheet


def _as_evaluation(cells: dict[str, float]) -> dict[str, float]:
    """Names that do not say that they belong to validation get it said; its own iteration counter is one of validation batches."""
    kinds = {name: meaning(name) for name in cells}
    return {
        name if kinds[name].phase == "eval" or kinds[name].kind in ("epoch", "lr") else f"val/{name}": value
        for name, value in cells.items()
        if kinds[name].kind not in ("step", "lr")
    }
