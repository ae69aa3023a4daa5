"""Opening a log: its first bytes, its text whatever the encoding, its lines without ever holding the whole file."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sickbay.errors import LogError
from sickbay.record.foreign.progress import tell

HEAD = 256 * 1024
CHUNK = 1 << 20
LONGEST_LINE = 8 * 1024 * 1024
"""Longer "lines" are no lines of a log (a model dumped as text, a file without line ends): they are skipped."""
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True)
class Source:
    """One file to be read, with what its beginning says."""

    path: Path
    head: bytes
    size: int
    encoding: str = "utf-8"

    @property
    def text(self) -> str:
        """The beginning, as text."""
        text = self.head.decode(self.encoding, "replace").lstrip("\ufeff")
        return text.replace("\r", "\n") if self.returns else text

    @cached_property
    def returns(self) -> bool:
        """Whether lines end with a carriage return and nothing else, as they did on old Macs: there is no other end of a line in it."""
        text = self.head.decode(self.encoding, "replace")
        return "\r" in text and "\n" not in text

    def chunks(self) -> Iterator[str]:
        """The whole text, piece by piece; what is not in the encoding is replaced."""
        decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        try:
            with self.path.open("rb") as f:
                done = 0
                while raw := f.read(CHUNK):
                    text = decoder.decode(raw).replace("\r", "\n") if self.returns else decoder.decode(raw)
                    yield text if done else text.lstrip("\ufeff")
                    done += len(raw)
                    tell(self.path, done, self.size)
                yield decoder.decode(b"", final=True)
        except OSError as e:
            raise unreadable(self.path, e) from e

    def blocks(self) -> Iterator[str]:
        """Text in pieces that end with a line. A carriage return before the line's end is taken away, others are kept."""
        rest = ""
        for text in self.chunks():
            text = rest + text
            cut = text.rfind("\n") + 1
            rest = text[cut:]
            if len(rest) > LONGEST_LINE:
                rest = rest[-1000:]
            if cut:
                block = text[:cut]
                yield block.replace("\r\n", "\n") if "\r" in block else block
        if rest:
            yield rest.removesuffix("\r") + "\n"

    def lines(self) -> Iterator[str]:
        for block in self.blocks():
            yield from block.split("\n")

    def whole(self, most: int) -> str:
        """All of it, for formats that are one document; an error if it is larger than `most` bytes."""
        if self.size > most:
            raise LogError(
                f"{self.path} is one JSON document of {self.size / 2**20:,.0f} MB; at most {most / 2**20:,.0f} MB are read at once: give its metrics as CSV"
            )
        return "".join(self.chunks())


def unreadable(path: Path, error: OSError) -> LogError:
    return LogError(f"{path} cannot be read ({error.strerror or error}): make it readable, or copy it to a place where it is")


def open_source(path: Path) -> Source:
    """The file with its first bytes. Raises `LogError` for what is no file, empty, or not readable."""
    try:
        if not path.exists():
            raise LogError(f"there is no file {path}")
        if not path.is_file():
            raise LogError(f"{path} is neither a file nor a folder that could hold logs")
        size = path.stat().st_size
        with path.open("rb") as f:
            head = f.read(HEAD)
    except OSError as e:
        raise unreadable(path, e) from e
    if not head.strip():
        raise LogError(f"{path} is empty: nothing was logged, or the log is elsewhere")
    return Source(path, head, size, _encoding(head))


def _encoding(head: bytes) -> str:
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    sample = head[:4096]
    # PowerShell writes UTF-16, sometimes without its mark: every other byte of plain text is then zero.
    if len(sample) >= 16 and sample[1::2].count(0) > 0.45 * len(sample) and sample[::2].count(0) == 0:
        return "utf-16-le"
    return "utf-8"
