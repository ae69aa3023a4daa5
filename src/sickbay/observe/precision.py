"""Half precision: autocast, loss scaling, and what becomes of small gradients and small updates."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import ForwardCall, Observer, Site
from sickbay.observe.places import place_of
from sickbay.observe.reached import leaves_of
from sickbay.observe.registry import spread

if TYPE_CHECKING:
    from sickbay.observe.session import Session

LOW = (torch.float16, torch.bfloat16)
SMALLEST_NORMAL = 2.0**-14
"""Of half precision: below it numbers lose digits, below 2**-25 they become zero."""
SMALLEST_STEP = 2.0**-24
FEW_STEPS = 8
"""A gradient of so many smallest steps is rounded by a sixteenth of itself and more; where half of those that are left are no larger, the rest of the layer's
gradient is noise of rounding."""
SOME_GONE = 0.05
"""...and some have rounded to zero: gradients of an embedding or behind dead units are zero in plenty, but the others are large."""
BLOCK = 512
MOST_TENSORS = 64
MOST_LOOKS = 256


class PrecisionWatch(Observer):
    """Which precision training uses, what the gradient scaler does, what is lost."""

    name = "precision"
    sees = "half precision and loss scaling"
    takes = ("update",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.autocast = ""
        self.autocast_at: Place | None = None
        self.autocast_steps = 0
        self.autocast_seen = False
        self.weights = ""
        self.epsilon: float | None = None
        self.scaler = False
        self.results: set[int] = set()
        """Identities of losses that a scaler gave out in this step."""
        self.scaled_backward = self.unscaled_since = self.in_scaler = False
        self.scaled_backwards = self.plain_backwards = self.raw_steps = self.clips_scaled = 0
        self.plain_at: Place | None = None
        self.beside: set[int] = set()
        """Tensors that losses of this step reach which the scaler did not scale, although it is in use,"""
        self.beside_at: Place | None = None
        self.mixed_steps = 0
        """...and steps through the scaler on a sum of both."""
        self.mixed_at: Place | None = None
        self.raw_at: Place | None = None
        self.clip_at: Place | None = None
        self.scaler_steps = self.skipped = 0
        self.skips: list[int] = []
        self.scales: list[float] = []
        self.zero: list[float] = []
        self.tiny: list[float] = []
        self.coarse: list[frozenset[str]] = []
        """For each look: the matrices whose gradients float16 can hardly tell from zero."""
        self.lost: list[float] = []
        self.before: tuple[list[torch.Tensor], list[torch.Tensor]] | None = None

    # -- calls --------------------------------------------------------------------------------------------------

    def called(self, kind: str, key: Any, owner: Any) -> None:
        if kind == "autocast":
            dtype = getattr(owner, "fast_dtype", None)
            if getattr(owner, "_enabled", True) and dtype in LOW and torch.is_grad_enabled():
                self.autocast_seen = True
                self.autocast = str(dtype).removeprefix("torch.")
                if self.autocast_at is None and key is not None:
                    self.autocast_at = place_of(*key)
        elif kind == "unscale":
            self.unscaled_since = True
        elif kind == "scaler_step":
            self.in_scaler = _is_on(owner)

    def scaled(self, scaler: Any, loss: torch.Tensor, result: torch.Tensor) -> None:
        if _is_on(scaler):
            self.scaler = True
            self.results.add(id(result))

    def backward_begins(self, loss: torch.Tensor, site: Site) -> None:
        if id(loss) in self.results:
            self.scaled_backwards += 1
            self.scaled_backward, self.unscaled_since = True, False
        else:
            self.plain_backwards += 1
            self.plain_at = self.plain_at or site.place
            if self.scaler and self.session.sampled:
                self.beside |= leaves_of(loss.grad_fn)
                self.beside_at = site.place

    def clipped(self, kind: str, limit: Any, norm: Any, key: Any) -> None:
        if self.scaled_backward and not self.unscaled_since and self.awake:
            self.clips_scaled += 1
            if self.clip_at is None and key is not None:
                self.clip_at = place_of(*key)

    def scaler_stepped(self, scaler: Any, stepped: bool) -> None:
        self.in_scaler = False
        if not _is_on(scaler):
            return
        self.scaler = True
        self.scaler_steps += 1
        if not stepped:
            self.skipped += 1
            self.skips.append(self.scaler_steps)
            del self.skips[:-4096]
            self._step_over()
        value = getattr(scaler, "_scale", None)
        if isinstance(value, torch.Tensor) and value.is_cpu:
            self.scales = [*self.scales[:1], float(value)]

    # -- the step -----------------------------------------------------------------------------------------------

    def step_begins(self, optimizer: torch.optim.Optimizer, key: Any, closure: bool) -> None:
        if self.scaled_backward and not self.unscaled_since and not self.in_scaler:
            self.raw_steps += 1
            if self.raw_at is None and key is not None:
                self.raw_at = place_of(*key)
        elif (
            self.scaled_backward and self.in_scaler and self.beside and any(id(p) in self.beside for g in optimizer.param_groups for p in g["params"])
        ):
            self.mixed_steps += 1
            self.mixed_at = self.mixed_at or self.beside_at
        self.before = None
        if self.session.sampled and not closure:
            self._look(optimizer)

    def _look(self, optimizer: torch.optim.Optimizer) -> None:
        half = self.autocast_seen and self.autocast == "float16" and not self.scaler
        if not half and not any(p.dtype in LOW for group in optimizer.param_groups for p in group["params"]):
            return
        started = self.session.clock()
        held = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None and p.grad.layout == torch.strided]
        low = [p for p in held if p.dtype in LOW][:MOST_TENSORS]
        if low:
            self.weights = str(low[0].dtype).removeprefix("torch.")
            epsilon = optimizer.defaults.get("eps")
            if isinstance(epsilon, float) and epsilon > 0 and float(torch.tensor(epsilon, dtype=low[0].dtype)) == 0:
                self.epsilon = epsilon
            if len(self.lost) < MOST_LOOKS:
                self.before = (low, [spread(p, BLOCK).clone() for p in low])
        if (half or self.weights == "float16") and not self.scaler and len(self.zero) < MOST_LOOKS:
            self._look_at_gradients([p for p in held if p.dim() >= 2][:MOST_TENSORS])
        self.session.sample_seconds += self.session.clock() - started

    def _look_at_gradients(self, matrices: list[torch.Tensor]) -> None:
        blocks = [spread(p.grad, BLOCK).reshape(-1).float().abs() for p in matrices if p.grad is not None]
        values = torch.cat(blocks) if blocks else torch.empty(0)
        values = values[values.isfinite()]
        if values.numel():
            nonzero = values[values > 0]
            self.zero.append(1 - nonzero.numel() / values.numel())
            self.tiny.append(float((nonzero < SMALLEST_NORMAL).float().mean()) if nonzero.numel() else 1.0)
            entry, before = self.session.registry.entry, self.coarse[-1] if self.coarse else frozenset()
            named = [(e.name, block) for p, block in zip(matrices, blocks, strict=True) if (e := entry(p)) is not None]
            self.coarse.append(frozenset(name for name, block in named if _is_coarse(block) or (name in before and not block.any())))

    def _coarse(self) -> tuple[str, ...]:
        """Those that are so on most looks of each half of the run: a network that has learned everything ends with gradients that are gone."""
        middle = len(self.coarse) // 2
        halves = (self.coarse[:middle], self.coarse[middle:])
        names = sorted(frozenset().union(*self.coarse))
        return tuple(n for n in names if all(half and 2 * sum(n in look for look in half) > len(half) for half in halves))

    def step_ends(self, optimizer: torch.optim.Optimizer) -> None:
        if self.before is not None:
            started = self.session.clock()
            held, old = self.before
            moving = still = 0
            for p, block in zip(held, old, strict=True):
                if p.grad is not None:
                    pushed = spread(p.grad, BLOCK) != 0
                    moving += int(pushed.sum())
                    still += int((pushed & (spread(p, BLOCK) == block)).sum())
            if moving:
                self.lost.append(still / moving)
            self.session.sample_seconds += self.session.clock() - started
        self._step_over()

    def _step_over(self) -> None:
        self.before = None
        self.autocast_steps += self.autocast_seen
        self.autocast_seen = self.scaled_backward = self.unscaled_since = False
        self.results.clear()
        self.beside.clear()

    def woke(self) -> None:
        self._step_over()
        self.in_scaler = False

    def forward_begins(self, call: ForwardCall) -> None:
        if self.autocast and call.grad and self.session.sampled and torch.is_autocast_enabled():
            self.autocast_seen = True  # entered once, before the loop

    def report(self) -> None:
        if not (self.autocast or self.weights or self.scaler):
            return
        keep = self.session.keep_source
        self.session.writer.fact(
            "precision",
            facts.Precision(
                autocast=self.autocast,
                autocast_at=keep(self.autocast_at),
                autocast_steps=self.autocast_steps,
                weights=self.weights,
                epsilon=self.epsilon,
                scaler=self.scaler,
                scaled_backwards=self.scaled_backwards,
                plain_backwards=self.plain_backwards,
                plain_at=keep(self.plain_at),
                mixed_steps=self.mixed_steps,
                mixed_at=keep(self.mixed_at),
                scaler_steps=self.scaler_steps,
                skipped=self.skipped,
                skipped_late=sum(at > self.scaler_steps / 2 for at in self.skips),
                raw_steps=self.raw_steps,
                raw_at=keep(self.raw_at),
                clips_scaled=self.clips_scaled,
                clip_at=keep(self.clip_at),
                first_scale=self.scales[0] if self.scales else None,
                last_scale=self.scales[-1] if self.scales else None,
                looks=max(len(self.zero), len(self.lost)),
                zero_share=median(self.zero) if self.zero else None,
                tiny_share=median(self.tiny) if self.tiny else None,
                coarse=self._coarse(),
                lost_share=median(self.lost) if self.lost else None,
            ),
        )


def _is_coarse(gradient: torch.Tensor) -> bool:
    left = gradient[gradient > 0]
    gone = 1 - left.numel() / max(gradient.numel(), 1)
    return SOME_GONE <= gone < 1 and float(left.median()) <= FEW_STEPS * SMALLEST_STEP


def _is_on(scaler: Any) -> bool:
    return bool(getattr(scaler, "_enabled", False))
