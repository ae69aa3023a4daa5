"""Gradients, weights and updates of every parameter on sampled steps; which parameters are reached and which move."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import compress, groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.facts import HISTOGRAM_BINS
from sickbay.nouns import Place
from sickbay.observe.numbers import Array, Blocks, gradient_norms, join, rows, total_norm
from sickbay.observe.observer import ForwardCall, Observer
from sickbay.observe.places import place_of, user_frame
from sickbay.observe.registry import STRETCHES, OptimizerEntry, ParameterEntry, sample, spread

if TYPE_CHECKING:
    from sickbay.observe.session import Session

BLOCK = 1024
"""Elements looked at per tensor for weights, updates and histograms; gradient norms are of whole tensors."""
MOST_PARAMETERS = 4000
NO_OPTIMIZER = -1
MOST_LAYERS = 5000


class Plan:
    """What is looked at when one optimizer steps: the tensors it holds that have a gradient."""

    __slots__ = ("blocks", "entries", "large", "names", "order", "refs", "whole")

    def __init__(self, held: list[torch.Tensor], entries: list[ParameterEntry]) -> None:
        self.refs = [weakref.ref(p) for p in held]
        self.entries = entries
        self.names = tuple(e.name for e in entries)
        sizes = [min(p.numel() * (1 + p.is_complex()), BLOCK) for p in held]
        self.large = [_is_large(p) for p in held]
        taken = sorted(range(len(held)), key=lambda i: not self.large[i])  # as `_blocks_of` joins them
        self.blocks = Blocks([sizes[i] for i in taken])
        self.order = np.argsort(taken)
        """Which block is each parameter's."""
        self.whole = np.array([p.numel() * (1 + p.is_complex()) for p in held]) / np.maximum(sizes, 1)

    def fits(self, held: list[torch.Tensor]) -> bool:
        """Still the same tensors under the same names (a model's own names may be learned late), in the same layout."""
        if len(held) != len(self.refs) or not all(ref() is p for ref, p in zip(self.refs, held, strict=True)):
            return False
        return self.large == [_is_large(p) for p in held] and all(e.name == name for e, name in zip(self.entries, self.names, strict=True))


class Look:
    """One optimizer step, looked at: copies of blocks before and after it. The arithmetic waits."""

    __slots__ = ("after", "before", "gradient_blocks", "gradients", "norms", "plan", "step")

    def __init__(self, step: int, plan: Plan, norms: Array, before: torch.Tensor, gradients: list[torch.Tensor]) -> None:
        self.step = step
        self.plan = plan
        self.norms = norms
        self.before = before
        self.after: torch.Tensor | None = None
        self.gradients = [join(gradients)] if gradients else []
        """Only when histograms are due."""
        self.gradient_blocks = Blocks([g.numel() for g in gradients])


class LayerWatch(Observer):
    """What happens to each parameter when an optimizer steps."""

    name = "layers"
    sees = "gradients, weights and updates by layer"
    takes = ("update",)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.look: Look | None = None
        """Under way: the weights are not yet updated."""
        self.waiting: list[Look] = []
        self.plans: dict[int, Plan] = {}
        self.models: dict[int, facts.Model] = {}
        self.after_backward: dict[int, bool] = {}
        """For optimizers that met only zero gradients: whether these were there after backward."""
        self.closure_of: torch.optim.Optimizer | None = None

    def forward_begins(self, call: ForwardCall) -> None:
        module = call.module
        registry = self.session.registry
        if not registry.knows(module) and next(module.parameters(), None) is not None:
            registry.add_root(module, user_frame())

    # -- one optimizer step -------------------------------------------------------------------------------------

    def step_begins(self, optimizer: torch.optim.Optimizer, key: Any, closure: bool) -> None:
        self.look = None
        self.closure_of = optimizer if closure else None
        if not closure:
            self._before_update(optimizer)

    def norm_due(self, optimizer: torch.optim.Optimizer) -> None:
        """On a step that is otherwise slept through: only the norm of all gradients."""
        self._before_update(optimizer)

    def _before_update(self, optimizer: torch.optim.Optimizer) -> None:
        """Gradients are complete, weights are still the old ones."""
        session = self.session
        if not session.measure_norm:
            return
        started = session.clock()
        entry = session.registry.optimizer(optimizer)
        held = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None][:MOST_PARAMETERS]
        norms = self._norms([p.grad for p in held if p.grad is not None], f"grad_norm@{entry.index}" if entry.index else "grad_norm")
        if len(norms) and not norms.any():
            self._all_zero(entry)
        if not session.at_update:
            session.norm_seconds += session.clock() - started
            return
        if held:
            self.look = self._begin(entry.index, held, [p.grad for p in held if p.grad is not None], norms)
        session.sample_seconds += session.clock() - started

    def _norms(self, gradients: list[torch.Tensor], series: str) -> Array:
        norms = gradient_norms(gradients)
        if len(norms):
            self.session.pulse[series] = total_norm(norms)
        return norms

    def _begin(self, optimizer: int, held: list[torch.Tensor], gradients: list[torch.Tensor], norms: Array) -> Look:
        blocks = [spread(_dense(g), BLOCK) for g in gradients] if self.session.thorough else []
        plan = self._plan(optimizer, held)
        return Look(self.session.step, plan, norms, _blocks_of(held, plan.large), blocks)

    def _end(self, look: Look) -> None:
        """The weights have been updated."""
        started = self.session.clock()
        held = [p for ref in look.plan.refs if (p := ref()) is not None]
        if look.plan.fits(held):
            look.after = _blocks_of(held, look.plan.large)
            self.waiting.append(look)
            self.session.waiting_bytes += look.before.nbytes + look.after.nbytes
        self.session.sample_seconds += self.session.clock() - started

    def _plan(self, optimizer: int, held: list[torch.Tensor]) -> Plan:
        plan = self.plans.get(optimizer)
        if plan is None or not plan.fits(held):
            registry = self.session.registry
            entries = [registry.entry(p) or registry.add_parameter(p, f"parameter {i}") for i, p in enumerate(held)]
            plan = self.plans[optimizer] = Plan(held, entries)
            for entry in entries:
                entry.reached = True
        return plan

    def _all_zero(self, entry: OptimizerEntry) -> None:
        """Every gradient is exactly zero at the step. Were they that already after backward, or did somebody clear them?"""
        if self.after_backward.get(entry.index):
            entry.emptied_by_hand += 1
        self.after_backward[entry.index] = False  # from now on, look after backward too

    def _look_after_backward(self) -> None:
        for entry in self.session.registry.optimizers:
            if entry.index in self.after_backward and (optimizer := entry.ref()) is not None:
                norms = gradient_norms([p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None])
                self.after_backward[entry.index] = bool(norms.any())

    def step_ends(self, _: torch.optim.Optimizer) -> None:
        self.closure_of = None
        if self.look is not None:
            self._end(self.look)
            self.look = None

    # -- without optimizer --------------------------------------------------------------------------------------

    def _by_hand(self) -> None:
        """Nothing but the script itself moves the weights: the step is the time from one backward to the next."""
        held = [(tensor, tensor.grad) for tensor, _ in self.session.registry.entries() if tensor.grad is not None]
        self._look_by_hand(held)

    def _look_by_hand(self, held: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
        if held and self.look is None:
            tensors, gradients = map(list, zip(*held[:MOST_PARAMETERS], strict=True))
            self.look = self._begin(NO_OPTIMIZER, tensors, gradients, self._norms(gradients, "grad_norm"))

    def gradients_given(self, tensors: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor | None]) -> None:
        """By torch.autograd.grad, to a script that moves its weights by hand."""
        if self.session.at_update and not self.session.registry.optimizers:
            started = self.session.clock()
            named = [
                (t, g.detach()) for t, g in zip(tensors, gradients, strict=False) if g is not None and self.session.registry.entry(t) is not None
            ]
            self._look_by_hand(named)
            self.session.sample_seconds += self.session.clock() - started

    def loss_known(self, *_: Any) -> None:
        if self.look is not None and self.look.plan is self.plans.get(NO_OPTIMIZER):
            self._end(self.look)
            self.look = None

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Do the arithmetic that has waited: many steps at once cost little more than one."""
        with np.errstate(all="ignore"):  # weights may be huge or not finite
            for plan, looks in groupby(self.waiting, key=lambda look: look.plan):
                self._measure(plan, list(looks))
        self.waiting = []

    def _measure(self, plan: Plan, looks: list[Look]) -> None:
        steps = [look.step for look in looks]
        norms = np.stack([look.norms for look in looks])
        before = rows([look.before for look in looks])
        after = rows([look.after for look in looks if look.after is not None])
        blocks, names, order, write = plan.blocks, plan.names, plan.order, self.session.writer.frames
        weight = blocks.norms(before)[:, order]
        moved_by = after.astype(np.float64) - before
        change = np.sqrt(blocks.sums(moved_by * moved_by))[:, order]
        # Zero-initialised tensors have no scale of their own yet: no ratio rather than an infinite one.
        ratio = np.divide(change, weight, out=np.full_like(change, np.nan), where=weight > 0)
        write("grad_norm", steps, names, norms)
        write("update_ratio", steps, names, ratio)
        write("weight_norm", steps, names, weight * np.sqrt(plan.whole))
        for i, look in enumerate(looks):
            for gradients in look.gradients:
                counts = look.gradient_blocks.histograms(rows([gradients])[0])
                write("grad_histogram", [look.step], names, counts, HISTOGRAM_BINS)
                write("weight_histogram", [look.step], names, blocks.histograms(after[i])[order], HISTOGRAM_BINS)
        nonzero, moved = (norms != 0).any(axis=0), (change != 0).any(axis=0)
        for j, entry in enumerate(plan.entries):
            entry.nonzero |= bool(nonzero[j])
            entry.moved = True if moved[j] else entry.moved

    def backward_ends(self, _: torch.Tensor) -> None:
        """Parameters that no optimizer holds: does a loss reach them?"""
        session = self.session
        if self.closure_of is not None and self.look is None:
            self._before_update(self.closure_of)
        if session.measure_norm and self.after_backward:
            self._look_after_backward()
        if not session.at_update:
            return
        started = session.clock()
        for tensor, entry in session.registry.entries():
            if not entry.reached and tensor.grad is not None:
                entry.reached = True
            if entry.reached and not entry.nonzero and entry.optimizer is None and tensor.grad is not None:
                entry.nonzero = bool(torch.count_nonzero(_dense(tensor.grad)))
        if not session.registry.optimizers:
            self._by_hand()
        session.sample_seconds += session.clock() - started

    def state_loaded(self, module: torch.nn.Module, *_: Any) -> None:
        """Weights that were made elsewhere. The best epoch's, put back into the model that was trained here, are its own."""
        registry = self.session.registry
        for p in module.parameters():
            entry = registry.entry(p)
            if entry is None or not (registry.has_trained(entry) or _as_at_first(p, entry)):
                registry.loaded.add(id(p))
                if entry is not None:
                    entry.loaded = True

    # -- facts --------------------------------------------------------------------------------------------------

    def report(self) -> None:
        registry = self.session.registry
        registry.refresh_all()
        for tensor, entry in registry.entries():
            self._compare(tensor, entry)
        if not self.session.optimizer_steps:
            registry.manual_updates = any(e.moved for e in registry.parameters.values())
        registry.look_who_is_attached()
        names = {e.name for _, e in registry.entries() if e.attached}
        for tensor, entry in registry.entries():
            entry.fact = self._fact(tensor, entry, names)
        known = [e.fact for e in registry.parameters.values() if e.fact is not None and e.fact.size]
        self.session.writer.fact("parameters", known[:MOST_PARAMETERS])
        for module, _ in registry.root_modules():
            self.models[id(module)] = self._model(module)
        self.session.writer.fact("models", list(self.models.values())[:16])

    def _compare(self, tensor: torch.Tensor, entry: ParameterEntry) -> None:
        if entry.moved is not True and entry.block is not None and tensor.layout == torch.strided:
            entry.moved = not _as_at_first(tensor, entry)

    def _fact(self, tensor: torch.Tensor, entry: ParameterEntry, attached_names: set[str]) -> facts.Parameter:
        traced = any(site.reads for site in self.session.sites.values())
        return facts.Parameter(
            name=entry.name,
            shape=tuple(tensor.shape),
            size=tensor.numel(),
            trainable=tensor.requires_grad,
            layer=entry.layer,
            layer_kind=entry.kind,
            optimizer=entry.optimizer,
            in_model=entry.attached,
            called=entry.called or not traced,
            loaded=entry.loaded or id(tensor) in self.session.registry.loaded,
            reached=entry.reached if self.session.backwards else None,
            moved=entry.moved,
            initial_mean=entry.initial[0] if entry.initial else None,
            initial_std=entry.initial[1] if entry.initial else None,
            put_at=self._put_at(tensor, entry) if entry.attached and entry.optimizer is None and tensor.requires_grad else None,
            replaced_by=entry.name if not entry.attached and entry.root is not None and entry.name in attached_names else None,
        )

    def _put_at(self, tensor: torch.Tensor, entry: ParameterEntry) -> Place | None:
        key = self.session.registry.put_at(tensor, entry)
        return self.session.keep_source(place_of(*key)) if key is not None else None

    def _model(self, module: torch.nn.Module) -> facts.Model:
        registry = self.session.registry
        layers = []
        for child in list(module.modules())[:MOST_LAYERS]:
            own = list(child.parameters(recurse=False))
            name = registry.layer_name(child)
            layers.append(
                facts.Layer(
                    name=name,
                    kind=type(child).__name__,
                    parameters=sum(p.numel() for p in own),
                    trainable=sum(p.numel() for p in own if p.requires_grad),
                    mode_sensitive=mode_sensitive(child),
                    leaf=not any(True for _ in child.children()),
                    switched_on=vars(child).get("requires_grad") is True,
                )
            )
        loaded = any(id(p) in registry.loaded for p in module.parameters())
        compiled = type(module).__name__ == "OptimizedModule"
        return facts.Model(name=type(module).__name__, layers=tuple(layers), compiled=compiled, loaded=loaded)


def mode_sensitive(module: torch.nn.Module) -> bool:
    """Whether a layer behaves differently in train and in eval mode."""
    name = type(module).__name__
    if "Dropout" in name or "DropPath" in name:
        rate = getattr(module, "p", getattr(module, "drop_prob", 0.0))
        return isinstance(rate, (int, float)) and rate > 0
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        return bool(module.track_running_stats)
    if isinstance(module, torch.nn.RNNBase):
        return bool(module.dropout > 0 and module.num_layers > 1)
    if isinstance(module, torch.nn.MultiheadAttention):
        return bool(module.dropout > 0)
    return isinstance(module, torch.nn.RReLU)


def _as_at_first(tensor: torch.Tensor, entry: ParameterEntry) -> bool:
    """It has the values that it had when it was met first, as far as a sample shows."""
    if entry.block is None or tensor.layout != torch.strided:
        return False
    now = sample(tensor)
    return now.shape == entry.block.shape and torch.equal(now.cpu(), entry.block.cpu())


def _is_large(p: torch.Tensor) -> bool:
    return p.numel() > BLOCK and p.is_contiguous() and not p.is_complex()


def _blocks_of(held: list[torch.Tensor], large: list[bool]) -> torch.Tensor:
    """What `spread` gives of each tensor, joined: first of those that are large, all of one shape and so in one call, then of the others."""
    length = BLOCK // STRETCHES
    with torch.no_grad():
        blocks = [p.as_strided((STRETCHES, length), ((p.numel() - length) // (STRETCHES - 1), 1)) for p in compress(held, large)]
        others = [p if p.numel() <= BLOCK and not p.is_complex() else spread(p, BLOCK) for p, known in zip(held, large, strict=True) if not known]
        return join([*([torch.cat(blocks)] if len({b.dtype for b in blocks}) == 1 else blocks), *others])


def _dense(gradient: torch.Tensor) -> torch.Tensor:
    return gradient if gradient.layout == torch.strided else gradient.coalesce().values()
