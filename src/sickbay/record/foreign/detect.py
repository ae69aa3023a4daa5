"""Which format a file is in, by its content. Its name is not looked at."""

from __future__ import annotations

from pathlib import Path

from sickbay.errors import LogError
from sickbay.record.foreign import boxes, bracketed, documents, hf, json_lines, listed, mlflow, nameless, tables, tensorboard, text, wandb
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source, open_source

BINARY = {
    b"PK\x03\x04": "a zip archive (a PyTorch checkpoint, a .npz or .keras file)",
    b"\x80\x02": "a Python pickle, which sickbay never opens",
    b"\x80\x04": "a Python pickle, which sickbay never opens",
    b"\x80\x05": "a Python pickle, which sickbay never opens",
    b"\x1f\x8b": "compressed with gzip: unpack it first",
    b"\x89HDF": "an HDF5 file (Keras weights)",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"PAR1": "a Parquet table: export it as CSV",
    b"%PDF": "a PDF",
    b"\x7fELF": "a program",
    b"\x93NUMPY": "a NumPy array",
    b"version https://git-lfs": "a pointer of Git LFS (`git lfs pull` fetches the file itself)",
}
HELP = "sickbay reads TensorBoard events, HF trainer_state.json, CSV tables, JSON lines, Keras histories, W&B and MLflow runs, and text that a loop printed"


def read_file(path: Path) -> list[Sheet]:
    """The sheets of one file (usually one). Raises `LogError` with a clear sentence if it is no log."""
    source = open_source(path)
    for module in (tensorboard, wandb):
        if module.matches(source):
            return [module.read(source)]
    if mlflow.matches(source):
        return mlflow.read(source)
    _refuse_binary(source)
    if hf.matches(source):
        return [hf.read(source)]
    if json_lines.matches(source):
        return [json_lines.read(source)]
    if documents.matches(source):
        return [documents.read(source)]
    for layout in (bracketed, boxes):
        if layout.matches(source):
            return [layout.read(source)]
    if nameless.matches(source):
        return [nameless.read(source)]
    table = tables.read(source) if tables.matches(source) else []
    if _fullest(table) >= listed.FEWEST:
        return table
    lines = text.read(source)
    if _fullest([lines]) < listed.FEWEST and listed.matches(source):
        return [listed.read(source)]
    if not table and not lines.columns and (unknown := nameless.read_unknown(source)).columns:
        return [unknown]
    return table if table and _fullest(table) >= _fullest([lines]) else [lines]


def _fullest(sheets: list[Sheet]) -> int:
    """How many values the fullest column has: a table with two or three rows may be a summary at the end of a text."""
    return max((len(column) for sheet in sheets for column in sheet.columns.values()), default=0)


def _refuse_binary(source: Source) -> None:
    for magic, what in BINARY.items():
        if source.head.startswith(magic):
            raise LogError(f"{source.path} is {what}, not a log; {HELP}")
    if source.encoding == "utf-8" and source.head[:8192].count(0) > 8:
        raise LogError(f"{source.path} is a binary file that sickbay does not know; {HELP}")
