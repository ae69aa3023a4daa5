"""The user's source line for whatever is happening now: the nearest frame outside libraries."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FrameType

from sickbay.nouns import Place

OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STDLIB = tuple(p + os.sep for p in {sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["platstdlib"]})
_LIBRARY_PARTS = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)

# Two functions of the same text on the same line of two files are equal as code objects, so codes are known by identity
# here (each entry keeps its code alive).
_kind: dict[str, int] = {}
_places: dict[tuple[int, int], tuple[CodeType, Place]] = {}
_keys: dict[tuple[int, int], tuple[CodeType, int]] = {}
USER, LIBRARY, HIDDEN = 2, 1, 0


def kind_of(code: CodeType) -> int:
    """Whose code this is: the user's, a library's, or to be passed over (ours, torch's, Python's)."""
    kind = _kind.get(code.co_filename)
    if kind is None:
        kind = _kind[code.co_filename] = _look(code.co_filename)
    return kind


def is_users(file: str) -> bool:
    """Whether a file is the user's own."""
    return _look(file) == USER


def _look(file: str) -> int:
    if file.startswith(OWN):
        return HIDDEN
    if file.startswith("<") and not file.startswith(("<stdin", "<ipython", "<string")):
        return HIDDEN  # frozen importlib, generated dataclass methods
    if any(part in file for part in _LIBRARY_PARTS):
        return HIDDEN if f"{os.sep}torch{os.sep}" in file else LIBRARY
    return HIDDEN if file.startswith(_STDLIB) and "ipykernel" not in file else USER


def user_frame(depth: int = 1) -> FrameType | None:
    """The nearest frame of the user's code; failing that, of a library other than torch."""
    frame: FrameType | None = sys._getframe(depth)
    fallback = None
    while frame is not None:
        code = frame.f_code
        kind = _kind.get(code.co_filename)
        if kind is None:
            kind = kind_of(code)
        if kind == USER:
            return frame
        if kind == LIBRARY and fallback is None:
            fallback = frame
        frame = frame.f_back
    return fallback


def user_stack(frame: FrameType | None) -> Iterator[tuple[CodeType, int]]:
    """The user's frames from this one out, as keys: what stands around an operation (a loop, a `with torch.no_grad():`)."""
    while frame is not None:
        if kind_of(frame.f_code) == USER:
            yield key_of(frame)
        frame = frame.f_back


def here(depth: int = 2) -> Place | None:
    """The user's line that led to this call."""
    frame = user_frame(depth)
    return None if frame is None else place_of(*key_of(frame))


def key_here(depth: int = 2) -> tuple[CodeType, int] | None:
    """The same as a cheap, hashable key; `place_of(*key)` makes a Place of it."""
    frame = user_frame(depth)
    return None if frame is None else key_of(frame)


def key_of(frame: FrameType) -> tuple[CodeType, int]:
    """One key per expression. Python's specialising interpreter calls from one instruction first and from its
    neighbour later, so the instruction itself is no identity; its span in the source is."""
    raw = (id(frame.f_code), frame.f_lasti)
    key = _keys.get(raw)
    if key is None:
        key = _keys[raw] = (frame.f_code, _first_with_span(frame.f_code, frame.f_lasti))
    return key


def _first_with_span(code: CodeType, lasti: int) -> int:
    spans = list(code.co_positions())
    span = spans[lasti // 2] if lasti // 2 < len(spans) else None
    return 2 * spans.index(span) if span is not None and None not in span else lasti


def place_of(code: CodeType, lasti: int) -> Place:
    """The line of one instruction: where the call itself starts, not the statement around it."""
    key = (id(code), lasti)
    known = _places.get(key)
    if known is None:
        line = _line(code, lasti)
        place = Place(os.path.abspath(code.co_filename), line, None, linecache.getline(code.co_filename, line).strip() or None)
        known = _places[key] = (code, place)
    return known[1]


def expression(frame: FrameType) -> str:
    """The source text of the call that a frame is in the middle of ("criterion(model(x), y)")."""
    return expression_of(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=4096)
def expression_of(code: CodeType, lasti: int) -> str:
    """The source text of one instruction's expression."""
    span = _positions(code, lasti)
    if span is None:
        return ""
    first, last, start, end = span
    lines = [linecache.getline(code.co_filename, i) for i in range(first, last + 1)]
    if not lines or not lines[0]:
        return ""
    # Columns count UTF-8 bytes.
    raw = [line.encode() for line in lines]
    raw[-1] = raw[-1][:end]
    raw[0] = raw[0][start:]
    return " ".join(part.decode(errors="replace").strip() for part in raw)[:400]


def variable_holding(frame: FrameType | None, wanted: object) -> str:
    """What the user calls an object: a local or global name, or an attribute of a local ("self.net")."""
    if frame is None:
        return ""
    for scope in (frame.f_locals, frame.f_globals):
        for name, value in list(scope.items()):
            if value is wanted:
                return str(name)
    for name, value in list(frame.f_locals.items()):
        try:
            attributes = value.__dict__
        except Exception:  # none, or a proxy of another library that will not say
            continue
        if type(attributes) is dict:
            for attribute, held in list(attributes.items()):
                if held is wanted:
                    return f"{name}.{attribute}"
    return ""


def _line(code: CodeType, lasti: int) -> int:
    span = _positions(code, lasti)
    return span[0] if span else code.co_firstlineno


def _positions(code: CodeType, lasti: int) -> tuple[int, int, int, int] | None:
    for i, (first, last, start, end) in enumerate(code.co_positions()):
        if 2 * i == lasti and first and last and start is not None and end is not None:
            return first, last, start, end
    return None
