"""Train and eval mode at every forward pass of a model with layers that care (dropout, batch norm)."""

from __future__ import annotations

import os
import sys
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.layers import mode_sensitive
from sickbay.observe.observer import ForwardCall, LossCall, Observer
from sickbay.observe.places import place_of
from sickbay.observe.registry import Registry, sample

if TYPE_CHECKING:
    from sickbay.observe.session import Session

INSIDE_SHARE = 0.5
"""Forward passes without gradients in more than this share of the steps belong to the step (a GAN's generator, a
target network), unless the trace shows that the loss does not use them."""


class Root:
    """A model and its mode-sensitive layers."""

    def __init__(self, module: torch.nn.Module, registry: Registry) -> None:
        self.ref = weakref.ref(module)
        layers = [(registry.layer_name(m), m) for m in module.modules() if mode_sensitive(m)]
        self.sensitive = [(name, weakref.ref(m)) for name, m in layers]
        self.described = tuple(f"{name or '(root)'}: {_short(m)}" for name, m in layers[:32])
        self.trained = False
        self.shapes = tuple(tuple(p.shape) for p in module.parameters()) if layers else ()

    def off(self, training: bool) -> list[str]:
        """Sensitive layers that are in the given mode."""
        return [name for name, ref in self.sensitive if (m := ref()) is not None and m.training is training]


@dataclass(slots=True)
class Unused:
    """Forward passes without gradients from one place of the script."""

    root: Root
    place: Place | None
    steps: int = 0
    """Steps (intervals between optimizer steps) that had at least one."""
    passes: int = 0
    in_train_mode: int = 0
    last_step: int = -1
    first: int | None = None
    last: int | None = None
    repeats: int = 0
    last_input: Any = None
    """Fingerprint of the newest input within this evaluation."""
    on_training_data: bool = False
    feeds_loss: bool = False
    traced: int = 0
    layers: tuple[str, ...] = ()
    scored: bool = False
    """A loss was worked out of what it gave, without gradients."""
    other_switched: bool = False
    """Since training went on, `eval()` was called on another model, and this one runs in train mode."""


class ModeWatch(Observer):
    """Counts forward passes by what they turned out to be, and by the mode they ran in."""

    name = "modes"
    sees = "train and eval mode of the model at each forward pass"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.roots: dict[int, Root] = {}
        self.loaded = False
        """A loader gave a batch that training has not used."""
        self.waiting: list[tuple[Root, ForwardCall, bool]] = []
        self.unused: dict[Any, Unused] = {}
        self.outputs: list[tuple[Unused, int, int]] = []
        """What passes without gradients gave: its node in the trace, and which trace that was."""
        self.training = self.in_eval = 0
        self.in_eval_first: int | None = None
        self.in_eval_last: int | None = None
        self.in_eval_root: Root | None = None
        self.training_place: Place | None = None
        self.eval_called: Place | None = None
        self.train_called: Place | None = None
        self.eval_call_of_trouble: Place | None = None
        self.switched: tuple[int, weakref.ref[torch.nn.Module]] | None = None
        """What `eval()` was called on last, and at which step."""
        self.newest: Unused | None = None
        """The newest pass, if it was one without gradients."""

    def mode_set(self, module: torch.nn.Module, mode: bool, place: Place | None) -> None:
        if mode:
            self.train_called = place
        else:
            self.eval_called = place
            self.switched = (self.session.step, weakref.ref(module))

    def _root(self, module: torch.nn.Module) -> Root:
        root = self.roots.get(id(module))
        if root is None or root.ref() is not module:
            root = self.roots[id(module)] = Root(module, self.session.registry)
        return root

    def forward_begins(self, call: ForwardCall) -> None:
        self.newest = None
        root = self._root(call.module)
        if not root.sensitive:
            return
        if call.grad:
            self.waiting.append((root, call, call.module.training))
            if len(self.waiting) > 64:  # a validation pass that forgot no_grad
                del self.waiting[:-8]
        elif not _recalibrates():
            self._without_gradients(root, call)

    def _without_gradients(self, root: Root, call: ForwardCall) -> None:
        key = (id(root), call.place_key)
        unused = self.unused.get(key)
        if unused is None:
            if len(self.unused) >= 64:
                return
            unused = self.unused[key] = Unused(root, place_of(*call.place_key) if call.place_key else None)
        step = self.session.step
        if unused.last_step != step:
            unused.steps += 1
            unused.last_step = step
            unused.last_input = None
        unused.passes += 1
        self.newest = unused
        layers = root.off(training=True)
        if layers:
            tensor = next((a for a in call.args if isinstance(a, torch.Tensor)), None)
            if tensor is not None:
                fingerprint = (tuple(tensor.shape), tuple(sample(tensor, 16).tolist()))
                unused.repeats += fingerprint == unused.last_input
                unused.last_input = fingerprint
            unused.in_train_mode += 1
            unused.first = step if unused.first is None else unused.first
            unused.last = step
            unused.layers = tuple(layers[:16])
            unused.other_switched |= self._other_switched(call.module)
            unused.on_training_data |= self.loaded and self.session.loader == self.session.train_loader

    def _other_switched(self, module: torch.nn.Module) -> bool:
        step, ref = self.switched or (-1, None)
        other = ref() if ref is not None and step == self.session.step else None
        return other is not None and all(m is not other for m in module.modules()) and all(m is not module for m in other.modules())

    def loss_called(self, call: LossCall | None) -> None:
        if call is not None and not call.grad and self.newest is not None:
            self.newest.scored = True

    def batch_loaded(self, *_: Any) -> None:
        self.loaded = True  # which loader it was, others find out in the same moment

    def stepped(self, *_: Any) -> None:
        self.loaded = False  # what is evaluated now need not come from a loader

    napped = stepped

    def forward_ends(self, call: ForwardCall, output: Any) -> None:
        if not call.grad and self.session.tracing and (unused := self.unused.get((id(self.roots.get(id(call.module))), call.place_key))):
            trace = self.session.trace
            maker = trace.maker(output) if trace is not None and isinstance(output, torch.Tensor) else None
            if trace is not None and maker is not None:
                self.outputs.append((unused, maker, trace.cleared))

    def backward_begins(self, loss: torch.Tensor, site: Any) -> None:
        self._ask_trace(loss)
        for root, call, training in self.waiting[-4:]:
            root.trained = True
            self.training += 1
            if self.training_place is None and call.place_key is not None:
                self.training_place = place_of(*call.place_key)
            if not training and not root.off(training=True):
                self._note_eval(root, call)
        self.waiting.clear()

    def _note_eval(self, root: Root, call: ForwardCall) -> None:
        self.in_eval += 1
        step = self.session.step
        if self.in_eval_first is None:
            self.in_eval_first = step
            self.eval_call_of_trouble = self.eval_called
            self.training_place = place_of(*call.place_key) if call.place_key else self.training_place
        self.in_eval_last = step
        self.in_eval_root = root

    def _ask_trace(self, loss: torch.Tensor) -> None:
        """Does the loss use what a forward pass without gradients gave?"""
        trace = self.session.trace
        if self.outputs and trace is not None and (root := trace.maker(loss)) is not None:
            used = {node.index for node in trace.ancestors(root)}
            for unused, maker, cleared in self.outputs:
                unused.traced += 1
                unused.feeds_loss |= cleared == trace.cleared and maker in used
        self.outputs.clear()

    def woke(self) -> None:
        self.waiting.clear()
        self.outputs.clear()

    # -- facts --------------------------------------------------------------------------------------------------

    def report(self) -> None:
        steps = max(self.session.step, 1)
        evaluations, inside = [], 0
        for unused in self.unused.values():
            if unused.feeds_loss or (unused.steps > INSIDE_SHARE * steps and unused.steps > 2 and not self._stands_apart(unused)):
                inside += unused.passes
            elif self._is_trained(unused.root) or self._is_copy_evaluated(unused):
                evaluations.append(unused)
        wrong = [u for u in evaluations if u.in_train_mode]
        worst = max(wrong, key=lambda u: u.in_train_mode, default=None)
        copied = worst is not None and not self._is_trained(worst.root)
        if copied and worst is not None:  # how the trained model itself is evaluated says nothing of its copy
            evaluations = [u for u in evaluations if u.root is worst.root]
            wrong = [u for u in evaluations if u.in_train_mode]
        keep = self.session.keep_source
        sensitive = next((r.described for r in self.roots.values() if r.trained and r.sensitive), ())
        self.session.writer.fact(
            "modes",
            facts.Modes(
                sensitive=sensitive,
                training_forwards=self.training,
                training_in_eval=self.in_eval,
                training_in_eval_first=self.in_eval_first,
                training_in_eval_last=self.in_eval_last,
                training_forward_at=keep(self.training_place),
                eval_called_at=keep(self.eval_call_of_trouble or self.eval_called),
                train_called_at=keep(self.train_called),
                evaluation_passes=sum(u.steps for u in evaluations),
                evaluation_in_train=sum(u.steps for u in wrong),
                evaluation_in_train_first=worst.first if worst else None,
                evaluation_in_train_last=worst.last if worst else None,
                evaluation_forward_at=keep(worst.place) if worst else None,
                evaluation_repeats_input=bool(worst and worst.repeats > 0.3 * worst.passes),
                evaluation_on_training_data=bool(worst and worst.on_training_data),
                evaluation_of_copy=copied,
                inside_step=inside,
                layers_off=worst.layers if worst else tuple(self.in_eval_root.off(training=False)[:16]) if self.in_eval_root else (),
            ),
        )

    def _stands_apart(self, unused: Unused) -> bool:
        """One training step per pass over the data: evaluation after each step, and the trace saw no use of it."""
        return unused.traced > 0 and not unused.feeds_loss and self._is_trained(unused.root)

    def _is_trained(self, root: Root) -> bool:
        """A model that is trained, by an optimizer or by hand; the weights of a copy move, too, but no backward pass comes of it."""
        module = root.ref()
        if module is None:
            return root.trained
        entries = (self.session.registry.entry(p) for p in module.parameters())
        return any(e is not None and (e.optimizer is not None or (e.moved and root.trained)) for e in entries)

    def _is_copy_evaluated(self, unused: Unused) -> bool:
        """A copy of what is trained (averaged weights, the best so far), with its results scored or `eval()` called on the trained model instead: no teacher's
        passes, which only give targets."""
        copied = any(r.trained and r.shapes == unused.root.shapes for r in self.roots.values() if r is not unused.root)
        return copied and (unused.scored or unused.other_switched)


def _recalibrates() -> bool:
    """Called from torch's update_bn, which runs in train mode without gradients on purpose."""
    frame = sys._getframe(2)
    for _ in range(12):
        if frame is None or frame.f_back is None:
            return False
        if frame.f_code.co_filename.endswith(os.sep + "swa_utils.py"):
            return True
        frame = frame.f_back
    return False


def _short(module: torch.nn.Module) -> str:
    kind = type(module).__name__
    rate = getattr(module, "p", None)
    return f"{kind}(p={rate:g})" if isinstance(rate, (int, float)) else kind
