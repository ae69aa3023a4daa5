"""Whether the same samples reach the model in two ways: as validation gives them, and as the script's own predictions after training do.

Of each place that calls the model outside training, the first rows of its first pass are kept in memory, with the newest answers to them. When the run ends, what came
after training is laid beside what came before: rows that are each other's image under one map (a factor, another order of columns), or column by column in the same
order, are the same samples, prepared in two ways. Only the map is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.numbers import Array
from sickbay.observe.observer import ForwardCall, Observer
from sickbay.observe.places import expression_of, place_of
from sickbay.observe.samples import caller_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_ROWS, FEWEST_ROWS = 64, 8
ROOM = 2**17
"""Numbers that are kept of one place: half a megabyte."""
MOST_GROUPS = 12
MOST_PASSES = 200
"""Whose answers are kept, the newest: a script that evaluates more often than that would pay for it on every step."""
OTHER_NUMBER = 0.1
"""Of the spread of all answers: by more than that, a number is another answer."""


class Group:
    """The first rows of one place's first pass."""

    def __init__(self, key: Any, step: int, shape: tuple[int, ...]) -> None:
        self.key = key
        self.first = self.step = step
        self.shape = shape
        self.passes = 1
        self.rows: list[Array] = []
        """...call by call."""
        self.count = 0
        self.answers: list[Array] = []
        self.answered = 0

    @property
    def most(self) -> int:
        return min(MOST_ROWS, ROOM // max(int(np.prod(self.shape)), 1))

    def begins(self, step: int) -> None:
        if step != self.step:
            self.step = step
            self.passes += 1
            self.answers, self.answered = [], 0

    def take(self, x: torch.Tensor) -> None:
        if self.passes == 1 and self.count < self.most:
            rows = x[: self.most - self.count].detach().numpy().copy()
            self.rows.append(rows)
            self.count += len(rows)

    def answer(self, output: torch.Tensor) -> None:
        if self.answered < self.most and self.passes <= MOST_PASSES:
            part = output[: self.most - self.answered].detach()
            several = part.dim() == 2 and part.shape[1] > 1
            self.answers.append((part.argmax(1) if several else part.reshape(len(part), -1)[:, 0]).float().numpy().copy())
            self.answered += len(part)


class ServedWatch(Observer):
    """Lays what is predicted after training beside what was evaluated before."""

    name = "served"
    sees = "whether predictions after training get their samples as validation does"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.groups: dict[Any, Group] = {}
        self.newest: Group | None = None
        self.loaded = False

    def batch_loaded(self, *_: Any) -> None:
        self.loaded = True

    def stepped(self, *_: Any) -> None:
        self.loaded = False

    napped = stepped

    def forward_begins(self, call: ForwardCall) -> None:
        self.newest = None
        if call.grad and (call.module.training or self.session.train_mode):
            return
        x = next((a for a in (*call.args, *call.kwargs.values()) if isinstance(a, torch.Tensor)), None)
        if x is None or not x.is_cpu or x.layout != torch.strided or x.dtype == torch.bfloat16 or x.is_complex() or x.dim() < 1 or not x.numel():
            return
        x = x if x.dim() > 1 else x[None]
        key = (call.place_key, caller_of(3), self.session.loader if self.loaded else None)
        group = self.groups.get(key)
        if group is None:
            if len(self.groups) >= MOST_GROUPS or x[0].numel() * FEWEST_ROWS > ROOM:
                return
            group = self.groups[key] = Group(key, self.session.step, tuple(x.shape[1:]))
        group.begins(self.session.step)
        if tuple(x.shape[1:]) == group.shape:
            group.take(x)
            self.newest = group

    def forward_ends(self, call: ForwardCall, output: Any) -> None:
        group, self.newest = self.newest, None
        if group is not None and isinstance(output, torch.Tensor) and output.is_cpu and output.layout == torch.strided and output.numel():
            group.answer(output if output.dim() else output[None])

    def finish(self) -> None:
        found = [told for served in self.groups.values() if served.first >= self.session.step > 0 and (told := self._told(served)) is not None]
        if found:
            self.session.writer.fact("served", found)

    def _told(self, served: Group) -> facts.Served | None:
        """What is predicted after training, if it is an image of something that was evaluated before."""
        from sickbay.observe.maps.explained import explained
        from sickbay.observe.maps.in_order import in_order
        from sickbay.observe.maps.nearly import nearly
        from sickbay.observe.maps.numbers import same

        for other in self.groups.values():
            n = min(other.count, served.count)
            if other is served or n < FEWEST_ROWS or (other.first >= self.session.step and other.key[0] == served.key[0]):
                continue
            a, b = np.concatenate(other.rows)[:n], np.concatenate(served.rows)[:n]
            if same(a, b):
                return None  # they are given as they were
            if _varied(a) and (found := explained(a, b) or nearly(a, b) or in_order(a, b, [len(r) for r in served.rows])) is not None:
                answers = min(n, other.answered, served.answered) if other.step == served.step else 0
                return facts.Served(
                    place=self._place(served.key[0]),
                    called_from=self._place(served.key[1]),
                    texts=_texts(served.key),
                    loader=served.key[2],
                    reference=self._place(other.key[0]),
                    reference_from=self._place(other.key[1]),
                    reference_loader=other.key[2],
                    rows=n,
                    map=found.text,
                    back=found.code,
                    answers=answers,
                    changed=_changed(np.concatenate(other.answers)[:answers], np.concatenate(served.answers)[:answers]) if answers else 0,
                )
        return None

    def _place(self, line: Any) -> Place | None:
        return self.session.keep_source(place_of(*line)) if line is not None else None


def _varied(a: Array) -> bool:
    """Rows of many different numbers: of a few zeros and ones, some map always makes others."""
    return len(set(a.reshape(-1)[:4096].tolist())) >= 4 * FEWEST_ROWS


def _changed(one: Array, other: Array) -> int:
    whole = bool((one == np.round(one)).all() and (other == np.round(other)).all())
    return int((one != other).sum() if whole else (np.abs(one - other) > OTHER_NUMBER * max(float(one.std()), 1e-12)).sum())


def _texts(key: Any) -> tuple[str, ...]:
    lines = [line for line in key[:2] if line is not None]
    return tuple(t[:200] for line in lines for t in (expression_of(*line), line[0].co_name) if t)
