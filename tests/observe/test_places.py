"""The user's line, whatever lies between it and torch."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

from sickbay.observe import places
from sickbay.observe.places import expression, here, key_of, kind_of, place_of, user_frame, variable_holding
from sickbay.observe.syntax import grad_switched_off_at, operands, receiver


def test_the_nearest_user_frame_is_this_file() -> None:
    place = here(1)
    assert place is not None
    assert place.file == __file__
    assert place.text == "place = here(1)"


def test_kinds() -> None:
    assert kind_of(here.__code__) == places.HIDDEN
    assert kind_of(torch.nn.Module.train.__code__) == places.HIDDEN
    assert kind_of(os.path.join.__code__) == places.HIDDEN
    assert kind_of(pytest.main.__code__) == places.LIBRARY
    assert kind_of(test_kinds.__code__) == places.USER


def twins(tmp_path: Path) -> list[FrameType]:
    """The same function on the same line of two files: equal as code objects, but not the same place."""
    frames = []
    for name in ("one.py", "two.py"):
        file = tmp_path / name
        file.write_text("import sys\ndef f():\n    return sys._getframe()\nframe = f()\n")
        names: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        frames.append(names["frame"])
    assert frames[0].f_code == frames[1].f_code
    return frames


def test_equal_code_in_two_files_is_two_places(tmp_path: Path) -> None:
    one, two = (place_of(*key_of(f)) for f in twins(tmp_path))
    assert one.file == str(tmp_path / "one.py")
    assert two.file == str(tmp_path / "two.py")


def test_one_key_per_expression_however_often_it_runs() -> None:
    """Python's specialising interpreter changes the instruction under a running loop."""
    keys = set()
    for _ in range(200):
        frame = user_frame()
        assert frame is not None
        keys.add(key_of(frame))
    assert len(keys) == 1


def test_expressions_over_several_lines_and_with_umlauts(tmp_path: Path) -> None:
    file = tmp_path / "s.py"
    file.write_text("größe = [1]; wert = get(\n    größe,\n    'ä',\n)\n", encoding="utf-8")
    seen: list[str] = []

    def get(*_: Any) -> None:
        seen.append(expression(sys._getframe(1)))

    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"get": get})
    assert seen == ["get( größe, 'ä', )"]


def test_variables_are_found_in_locals_globals_and_attributes() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.net = object()

        def run(self) -> str:
            return variable_holding(sys._getframe(), self.net)

    assert Trainer().run() == "self.net"
    thing = object()
    assert variable_holding(sys._getframe(), thing) == "thing"
    nameless = variable_holding(sys._getframe(), object())
    assert nameless == ""
    assert variable_holding(None, thing) == ""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("a - b", ("a", "b")),
        ("f(model(x), y)", ("model(x)", "y")),
        ("F.mse_loss(input=p, target=t)", ("p", "t")),
        ("p.sub(t)", ("p", "t")),
        ("f(a)", ("", "")),
        ("not python (", ("", "")),
        ("", ("", "")),
    ],
)
def test_operands(call: str, expected: tuple[str, str]) -> None:
    assert operands(call) == expected


@pytest.mark.parametrize(("call", "expected"), [("self.opt.step()", "self.opt"), ("step()", ""), ("opts[0].step(closure)", "opts[0]"), ("x +", "")])
def test_receiver(call: str, expected: str) -> None:
    assert receiver(call) == expected


def test_no_grad_around_a_line(tmp_path: Path) -> None:
    file = tmp_path / "s.py"
    file.write_text(
        "with a:\n  with torch.no_grad():\n    x\n  y\n@torch.inference_mode()\ndef f():\n  z\nwith torch.set_grad_enabled(train):\n  v\n"
    )
    assert [grad_switched_off_at(str(file), line) for line in (1, 3, 4, 7, 9)] == [None, 2, None, 5, 8]
    assert grad_switched_off_at(str(tmp_path / "absent.py"), 1) is None
