"""Jumps of the loss: which samples were in the batch, and whether any of them lies far outside what other batches hold.

On an ordinary step this is one comparison with the running mean of the loss. The batch is looked at only when the loss has jumped, while it is
still there; what other batches hold is known from a few of them, the newest sampled steps.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.numbers import blurred
from sickbay.observe.observer import JUMP, Observer, Site
from sickbay.observe.places import expression_of, place_of
from sickbay.observe.syntax import operands

if TYPE_CHECKING:
    from sickbay.observe.session import Session

JUMPED = JUMP / (0.9 + 0.1 * JUMP)
"""The running mean has taken a tenth of the new value in by the time it is compared: this many times the new mean is JUMP times the old one."""
REFERENCES = 16
FEWEST_REFERENCES = 6
CLEAN = 4
"""Of the references, that many may hold such samples themselves: the range is the one that this many of them reach."""
FAR = 10.0
"""Ranges beyond the range: a wrong unit, a sentinel (-999), a broken file. Of features as heavy-tailed as Student's t with three degrees of freedom, one value
in a million is as far out."""
BETWEEN = 1.0
"""Ranges beyond the range: more than batches of the same distribution differ, if it has no heavy tail."""
FIRST_KEPT, LAST_KEPT = 24, 24
MOST_ROWS, MOST_COLUMNS, MOST_OUTLIERS = 512, 4096, 8
MOST_VALUES = 2**18
"""Looked at per batch: of larger ones, evenly spread ones."""
MARKED = 64
"""Values per row that make its fingerprint."""

HEAVY = 2.5
"""How much farther from the middle the fourth largest of sixteen batch maxima is than their median: 1.0 for uniform numbers, 1.3 for normal, 1.5 for Student's t
with three degrees of freedom, 1.7 for exponential ones; 4 and more for amounts of money or counts whose logarithm spreads by two. There nothing is an outlier."""

Range = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Known:
    """What other batches hold, by column."""

    low: torch.Tensor
    high: torch.Tensor
    """The range, without the few widest batches..."""
    median_low: torch.Tensor
    median_high: torch.Tensor
    """...and of the median batch."""
    batches: int

    @property
    def width(self) -> torch.Tensor:
        width = self.high - self.low
        return torch.where(width > 0, width, width.max()).clamp_min(1e-30)  # a column that never varied: by the widest of the others

    @property
    def heavy(self) -> torch.Tensor:
        middle = (self.median_low + self.median_high) / 2
        half = (self.median_high - middle).clamp_min(1e-30)
        return torch.maximum(self.high - middle, middle - self.low) > HEAVY * half


class SpikeWatch(Observer):
    """Keeps the batches at jumps of the loss."""

    name = "spikes"
    sees = "the batches behind jumps of the loss"
    takes = ("inputs",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.first: list[facts.LossSpike] = []
        self.last: deque[facts.LossSpike] = deque(maxlen=LAST_KEPT)
        self.seen = 0
        self.references: dict[str, deque[Range]] = {"input": deque(maxlen=REFERENCES), "target": deque(maxlen=REFERENCES)}
        self.usual_rows = 0
        self.door: Any = None
        self.aim: Any = None

    def loss_known(self, loss: torch.Tensor, site: Site) -> None:
        session = self.session
        value, running = session.pulse.get(site.series("loss/train")), site.running
        if value is not None and running is not None and value > JUMPED * running > 0.0:
            self._jumped(site, value, running)
        elif self.awake and ((session.at_inputs and session.thorough) or len(self.references["input"]) < REFERENCES):
            self._usual()

    # -- what other batches hold ------------------------------------------------------------------------------------

    def _usual(self) -> None:
        started = self.session.clock()
        for role, tensors in self._batch().items():
            for x in tensors[:1]:
                low, high = _extremes(x)
                self.references[role].append((low.amin(0), high.amax(0)))
                self.usual_rows = len(x)
        self.session.sample_seconds += self.session.clock() - started

    def _range(self, role: str, columns: int) -> Known | None:
        same = [r for r in self.references[role] if len(r[0]) == columns]
        if len(same) < FEWEST_REFERENCES:
            return None
        clean = min(CLEAN, len(same) // 2)
        lows, highs = torch.stack([r[0] for r in same]).sort(0).values, torch.stack([r[1] for r in same]).sort(0, descending=True).values
        return Known(lows[clean - 1], highs[clean - 1], lows[len(same) // 2], highs[len(same) // 2], len(same))

    # -- the batch --------------------------------------------------------------------------------------------------

    def _batch(self) -> dict[str, list[torch.Tensor]]:
        """What entered the model and the loss in this step, as far as it is known (on very short steps: the module's arguments and the loader's batch)."""
        watch = self._other("batches")
        door, aims = getattr(watch, "door", None), getattr(watch, "targets", None)
        inputs: list[torch.Tensor] = []
        judged = door[-1] if door and len(door) > 1 and _judges(door[-1]) else None
        if door:
            entered = door[-1] if judged is None else door[-2]
            inputs = _rows((*entered[0], *entered[1].values()))
            self.door = entered[2] or self.door
        elif (call := getattr(self.session, "door", None)) is not None:
            inputs = _rows((*call[1], *call[2].values()))
        targets = [t for target, _ in aims or () for t in _rows((target,))]
        if aims:
            self.aim = aims[-1][1] or self.aim
        elif judged is not None:
            targets = _rows((*judged[0], *judged[1].values()))
            self.aim = judged[2] or self.aim
        elif inputs:
            targets = self._beside(inputs)
        return {"input": inputs, "target": targets}

    def _beside(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        """What the loader gave together with what entered the model, for a loss that is a formula."""
        held = getattr(self._other("blackbox"), "loaded", None)
        batch, _, fed = held.of(inputs) if held is not None else (None, None, None)
        entered = {x.data_ptr() for x in inputs}
        return [t for t in _rows((batch,)) if len(t) == len(inputs[0]) and t.data_ptr() not in entered and t.dim() <= 2] if fed else []

    def _other(self, name: str) -> Any:
        return next((o for o in self.session.observers if o.name == name), None)

    # -- a jump -----------------------------------------------------------------------------------------------------

    def _jumped(self, site: Site, value: float, running: float) -> None:
        self.seen += 1
        started = self.session.clock()
        batch = self._batch()
        indices = getattr(self._other("batches"), "indices", None)
        samples = _whole(indices)
        rows = len(batch["input"][0]) if batch["input"] else len(samples)
        outliers: list[facts.Outlier] = []
        compared = between = 0
        unseen = False
        for role, tensors in batch.items():
            for x in tensors[:1]:
                found, tail, against = self._outliers(role, x, samples)
                outliers += found
                between += tail
                compared = max(compared, against)
            if not tensors and self.references[role] and not outliers:
                unseen = True
        spike = facts.LossSpike(
            loss=site.index,
            step=self.session.step,
            epoch=self.session.epoch,
            value=value,
            usual=(running - 0.1 * value) / 0.9,
            rows=rows,
            samples=samples if len(samples) == rows else (),
            marks=() if samples else _marks(batch["input"]),
            outliers=tuple(outliers),
            between=between,
            compared=0 if unseen else compared,
        )
        if len(self.first) < FIRST_KEPT:
            self.first.append(spike)
        else:
            self.last.append(spike)
        self.session.measure_norm = True
        self.session.sample_seconds += self.session.clock() - started

    def _outliers(self, role: str, x: torch.Tensor, samples: tuple[int, ...]) -> tuple[list[facts.Outlier], int, int]:
        """The rows that are far out, how many are in between, and how many batches they were compared with."""
        low, high = _extremes(x)
        known = self._range(role, low.shape[1])
        if known is None:
            return [], 0, 0
        bottom, top, compared = known.low, known.high, known.batches
        width = known.width
        beyond = torch.maximum(high - top, bottom - low) / width
        far, columns = torch.where(known.heavy, beyond.clamp_max(FAR), beyond).max(1)
        others = [torch.maximum(b - top, bottom - a).div(width).max() for a, b in self.references[role] if len(a) == low.shape[1]]
        between = int(((far > BETWEEN) & (far <= FAR)).sum()) + sum(bool(BETWEEN < o <= FAR) for o in others)
        found = []
        for row in (far > FAR).nonzero().flatten().tolist()[:MOST_OUTLIERS]:
            column = int(columns[row])
            above = bool(high[row, column] - top[column] >= bottom[column] - low[row, column])
            found.append(
                facts.Outlier(
                    role=role,
                    row=row,
                    sample=samples[row] if len(samples) == len(x) else None,
                    column=column if low.shape[1] > 1 else None,
                    columns=low.shape[1],
                    value=blurred(float(high[row, column] if above else low[row, column])),
                    low=blurred(float(bottom[column])),
                    high=blurred(float(top[column])),
                    ranges=float(far[row]),
                )
            )
        return found, between, compared

    # -- telling ----------------------------------------------------------------------------------------------------

    def report(self) -> None:
        if not self.seen:
            return
        text = expression_of(*self.door) if self.door is not None else ""
        fact = facts.Spikes(
            seen=self.seen,
            kept=(*self.first, *self.last),
            usual_rows=self.usual_rows,
            place=self.session.keep_source(place_of(*self.door)) if self.door is not None else None,
            variable=operands(f"f(0, {text[text.find('(') + 1 : -1]})")[1] if text.endswith(")") else "",
            target=operands(expression_of(*self.aim))[1] if self.aim is not None else "",
        )
        self.session.writer.fact("spikes", fact)


def _judges(call: tuple[Any, Any, Any, torch.nn.Module]) -> bool:
    """A loss that is a module of the script's own: without parameters, given what a model has made."""
    args, kwargs, _, module = call
    made = any(isinstance(value, torch.Tensor) and value.grad_fn is not None for value in (*args, *kwargs.values()))
    return made and next(module.parameters(), None) is None


def _rows(values: Any, depth: int = 0) -> list[torch.Tensor]:
    """The tensors of real numbers that have a row per sample."""
    found: list[torch.Tensor] = []
    for value in values:
        if issubclass(type(value), torch.Tensor):
            plain = value.is_floating_point() and value.is_cpu and value.layout == torch.strided and not value.requires_grad
            if plain and value.dim() and value.numel() and len(value) >= 2:
                found.append(value.detach())
        elif isinstance(value, (list, tuple)) and depth < 2:
            found += _rows(value[:8], depth + 1)
        elif isinstance(value, dict) and depth < 2:
            found += _rows(list(value.values())[:8], depth + 1)
    return found


def _extremes(x: torch.Tensor) -> Range:
    """Smallest and largest value of each row: by column for tables and sequences, else (images) over the whole row. NaN is not looked at here."""
    x = x[:MOST_ROWS].float()
    if x.numel() > MOST_VALUES and x.dim() == 3:
        x = x[:, :: x.numel() // MOST_VALUES + 1]
    if x.dim() == 3:
        return x.amin(1)[:, :MOST_COLUMNS], x.amax(1)[:, :MOST_COLUMNS]
    if x.dim() <= 2:
        x = x.reshape(len(x), -1)[:, :MOST_COLUMNS]
        return x, x
    x = x.reshape(len(x), -1)
    x = x[:, :: max(1, x.numel() // MOST_VALUES)]
    return x.amin(1, keepdim=True), x.amax(1, keepdim=True)


def _whole(indices: Any) -> tuple[int, ...]:
    if not isinstance(indices, (list, tuple)) or not 2 <= len(indices) <= MOST_ROWS or not all(isinstance(i, int) for i in indices):
        return ()
    return tuple(indices)


def _marks(inputs: list[torch.Tensor]) -> tuple[int, ...]:
    if not inputs:
        return ()
    x = inputs[0][:MOST_ROWS]
    x = x.reshape(len(x), -1)
    some = x[:, :: max(1, x.shape[1] // MARKED)][:, :MARKED].float().contiguous().numpy()
    return tuple(hash(row.tobytes()) & 0xFFFFFFFF for row in some)
