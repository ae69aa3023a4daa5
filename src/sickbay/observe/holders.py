"""What a script calls a container: a variable, an attribute, a function's cache, a list that a hook fills.

First the script's running functions and their objects are searched downwards; where these do not lead to it, the collector tells who refers to it, level by level, up to
something of the script's.
"""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict, deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from sickbay.nouns import Place
from sickbay.observe.places import USER, is_users, kind_of, place_of

DEEPEST, MOST_PARTS, MOST_VISITED = 3, 256, 20_000
"""How far its name is looked for from the script's variables: an attribute of an object of the script's, or a dict there; and among how many."""
LEVELS, MOST_REFERRERS = 6, 64
"""...and how far upwards; each level goes through all that the collector knows once."""
HOARDS = (list, dict, deque, set)
CACHE = "_lru_cache_wrapper"
BETWEEN = (tuple, list, dict, OrderedDict, deque, CellType)
"""What stands between a container and the script's name for it."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a container."""

    name: str = ""
    kind: str = "container"
    """ "container", "cache" (of a function), "hook" (the function that fills it is registered on a module)."""
    place: Place | None = None
    """The function that it belongs to, for caches and hooks."""
    count: int = 0
    """Hooks of the same line on that module; times that a cache was asked."""
    hits: int = 0
    """...and how often it had an answer."""


def holder_of(container: Any, ours: Collection[int] = ()) -> Holder:
    """Empty for what isn't the script's own. `ours` are ids of what refers to it for our own sake."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if kind_of(frame.f_code) == USER and (name := _within(frame, container)):
            return Holder(name)
        frame = frame.f_back
    return _above(container, ours)


def variables() -> Iterator[tuple[str, Any]]:
    """What the script's running functions can name, with attributes of its objects."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if kind_of(frame.f_code) == USER:
            for name, value in [*frame.f_locals.items()]:
                yield str(name), value
                yield from _parts(str(name), value)
        frame = frame.f_back


def is_the_scripts(module: Any) -> bool:
    file = getattr(sys.modules.get(module), "__file__", None) if isinstance(module, str) else None
    return module == "__main__" or (isinstance(file, str) and is_users(file))


# -- downwards ------------------------------------------------------------------------------------------------------


def _within(frame: FrameType, wanted: Any) -> str:
    """A variable of the frame, an attribute of one, or one of those if it is a dict that holds the container (`monitor.outputs` with a list for every layer)."""
    ahead = [(str(name), value) for scope in (frame.f_locals, frame.f_globals) for name, value in list(scope.items())]
    for deeper in range(DEEPEST + 1):
        met, ahead = ahead, []
        for name, value in met:
            if value is wanted:
                return name
            if deeper < DEEPEST and len(ahead) < MOST_VISITED:
                ahead += _parts(name, value)
    return ""


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    kind = type(value)
    if issubclass(kind, dict):
        return [(name, v) for v in list(dict.values(value))[:MOST_PARTS] if type(v) in HOARDS]
    if not is_the_scripts(kind.__module__) or type(getattr(value, "__dict__", None)) is not dict:
        return []
    return [(f"{name}.{attribute}", held) for attribute, held in list(value.__dict__.items())[:MOST_PARTS]]


# -- upwards --------------------------------------------------------------------------------------------------------


def _above(container: Any, ours: Collection[int]) -> Holder:
    level: list[Any] = [container]
    met = {id(container), id(level), *ours}
    for _ in range(LEVELS):
        reached = {id(o) for o in level}
        around = [o for o in gc.get_referrers(*level) if type(o) is not FrameType and id(o) not in met]
        for owner in around[:MOST_REFERRERS]:
            if (holder := _owned(owner, reached, met)).name:
                return holder
        level = [o for o in around[:MOST_REFERRERS] if type(o) in BETWEEN or not _is_common(o)]
        met |= {id(o) for o in around} | {id(around), id(level)}
        if not level:
            break
    return Holder()


def _is_common(thing: Any) -> bool:
    """Modules, classes and what else everything refers to, or nothing of the script's leads to."""
    return isinstance(thing, (ModuleType, type)) or type(thing).__module__.startswith("sickbay.")


def _owned(owner: Any, reached: set[int], met: set[int]) -> Holder:
    """The name under which something of the script's holds one of what was reached."""
    kind = type(owner)
    if kind.__name__ == CACHE:
        return _cache(owner)
    if kind is FunctionType:
        return _of_function(owner, met) if kind_of(owner.__code__) == USER else Holder()
    if kind is dict and isinstance(owner.get("__name__"), str):
        return Holder(_named(owner, reached)) if is_the_scripts(owner["__name__"]) else Holder()
    if is_the_scripts(kind.__module__) and not isinstance(owner, (ModuleType, type)):
        attributes = getattr(owner, "__dict__", None)
        name = _named(attributes, reached) if type(attributes) is dict else ""
        return Holder(f"{kind.__name__}.{name}" if name else "")
    return Holder()


def _named(names: dict[Any, Any], reached: set[int]) -> str:
    return next((str(name) for name, value in list(names.items()) if id(value) in reached), "")


def _cache(owner: Any) -> Holder:
    wrapped = getattr(owner, "__wrapped__", None)
    code = getattr(wrapped, "__code__", None)
    if not isinstance(code, CodeType) or kind_of(code) != USER:
        return Holder()
    asked = owner.cache_info()
    return Holder(code.co_name, "cache", _first_line(code), asked.hits + asked.misses, asked.hits)


def _of_function(function: FunctionType, met: set[int]) -> Holder:
    """A list in a function's closure, or the default of a parameter."""
    code, defaults = function.__code__, function.__defaults__ or ()
    name = next((n for n, cell in zip(code.co_freevars, function.__closure__ or (), strict=False) if id(cell) in met), "")
    if not name and defaults:
        given = code.co_varnames[: code.co_argcount][-len(defaults) :]
        name = next((n for n, v in zip(given, defaults, strict=False) if id(v) in met), "")
    return Holder(name, *_hooked(function)) if name else Holder()


def _hooked(function: FunctionType) -> tuple[str, Place | None, int]:
    """Whether it is a hook of a module, and how many of the same line there are."""
    for around in gc.get_referrers(function):
        if type(around) is OrderedDict and all(isinstance(key, int) for key in list(around)[:MOST_PARTS]):
            alike = sum(getattr(f, "__code__", None) is function.__code__ for f in list(around.values()))
            return "hook", _first_line(function.__code__), alike
    return "container", None, 0


def _first_line(code: CodeType) -> Place:
    place = place_of(code, 0)
    return Place(place.file, code.co_firstlineno)
