"""What this process is among the ranks of a distributed run, and what a later comparison with the others needs of it.

Nothing is sent to any other rank, ever: each writes its own record, and the records are compared when the run is over (`record/ranks/`). A process that is alone
pays nothing for this.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.batches import BatchWatch
from sickbay.observe.collectives import Collectives
from sickbay.observe.observer import ForwardCall, Observer, Site
from sickbay.observe.places import place_of
from sickbay.observe.rank_rows import Dealer, RankRows, deals_out, keys_of, readable, tensors_in
from sickbay.observe.replicas import Replicas
from sickbay.observe.weight_prints import EVERY, due, plain, prints

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_TENSORS = 2000
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
"""Buffers that differ between ranks by their nature: each follows the rank's own batches until the next broadcast."""


class RankWatch(Observer):
    """Who this rank is, which rows it sees, what its weights are at fixed steps, and how it keeps in step with the others."""

    name = "ranks"
    sees = "how this process differs from the other ranks of the run"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.rank, self.world_size = _number("RANK"), _number("WORLD_SIZE")
        self.joined = False
        self.backend = ""
        self.address = ""
        self.rows = RankRows()
        self.loaded: Any = None
        """Keys of the newest batch that a loader gave, where the model's own input lies on a device."""
        self.dealers: dict[int, Dealer] = {}
        self.passes: dict[int, Dealer] = {}
        """...by the iterator whose first batch is still to come."""
        self.replicas = Replicas()
        self.collectives = Collectives(session)
        self.joins = False
        self.losses = self.backwards = 0
        """Backward passes from a single number, and all."""
        self.model = ""
        self.unwrapped: tuple[str, ...] = ()
        self.sharded = ""
        self.printed_at = -1
        if self.distributed:
            session.governor.appointments = EVERY

    @property
    def distributed(self) -> bool:
        return self.world_size is not None and self.rank is not None and self.world_size > 1

    # -- who we are ---------------------------------------------------------------------------------------------

    def group_joined(self, address: Any) -> None:
        group = torch.distributed
        if group.is_initialized():
            self.joined = True
            self.rank, self.world_size, self.backend = group.get_rank(), group.get_world_size(), str(group.get_backend())
            self.address = address if isinstance(address, str) and not address.startswith("env:") else ""
            self.session.governor.appointments = EVERY if self.distributed else 0

    def wrapped(self, wrapper: torch.nn.Module, key: Any) -> None:
        if self.distributed:
            self.replicas.add(wrapper, place_of(*key) if key else None)

    def uneven_expected(self) -> None:
        self.joins = True

    def collective(self, name: str, given: tuple[Any, ...], key: Any, seconds: float) -> None:
        if self.distributed:
            self.collectives.add(name, given, key, seconds)

    # -- what we train on ---------------------------------------------------------------------------------------

    def loader_started(self, loader: Any, iterator: Any, key: Any, _: Any) -> None:
        sampler = getattr(loader, "sampler", None)
        sampler = sampler if deals_out(sampler) else getattr(loader, "batch_sampler", None)
        sampler = sampler if deals_out(sampler) else getattr(sampler, "sampler", None)
        if not self.distributed or not deals_out(sampler):
            return
        index = self._loader_index(iterator)
        if index is not None and len(self.dealers) < 16:
            dealer = self.dealers.setdefault(index, Dealer(sampler, place_of(*key) if key else None))
            dealer.begins(sampler)
            self.passes = {id(iterator): dealer}

    def _batches(self) -> BatchWatch | None:
        return next((o for o in self.session.observers if isinstance(o, BatchWatch)), None)

    def _loader_index(self, iterator: Any) -> int | None:
        batches = self._batches()
        found = batches.iterators.get(id(iterator)) if batches is not None else None
        return found[1].index if found is not None else None

    def batch_loaded(self, iterator: Any, batch: Any, _: float) -> None:
        if not self.distributed:
            return
        if (dealer := self.passes.pop(id(iterator), None)) is not None and (batches := self._batches()) is not None:
            dealer.first(batches.newest)
        if self.rows.full(self.session.epoch) or self.session.asleep:
            return
        x = next(tensors_in(batch), None)
        self.loaded = keys_of(x) if readable(x) else None

    def forward_begins(self, call: ForwardCall) -> None:
        if not self.distributed or not call.grad or not call.module.training:
            return
        self.replicas.called(call)
        if self.rows.full(self.session.epoch):
            return
        x = next(tensors_in([*call.args, *call.kwargs.values()]), None)
        if readable(x):
            self.rows.add(keys_of(x), self._epoch())
        elif x is not None and not x.is_cpu and self.loaded is not None:
            self.rows.add(self.loaded, self._epoch())
            self.loaded = None

    def _epoch(self) -> int:
        """Of this batch: the session counts on when the first one of an epoch has been stepped on."""
        batches = self._batches()
        loader = batches.current if batches is not None else None
        return self.session.epoch + (loader is not None and loader.begun and loader.trained_epochs > 0)

    # -- what our weights are -----------------------------------------------------------------------------------

    def backward_begins(self, loss: torch.Tensor, site: Site) -> None:
        if not self.distributed:
            return
        self.backwards += 1
        self.losses += loss.numel() == 1
        self.replicas.backward()
        step = self.session.step
        if step != self.printed_at and (due(step) or self.collectives.worth_a_look()):
            self.printed_at = step
            started = self.session.clock()
            self._print(step)
            self.session.sample_seconds += self.session.clock() - started

    def _print(self, step: int) -> None:
        alone = self.replicas.alone
        entries = [(t, e) for t, e in self.session.registry.entries() if t.requires_grad and id(t) not in alone and plain(t)]
        found = [(entry.name, tensor) for tensor, entry in entries[:MOST_TENSORS]]
        self.sharded = self.sharded or self._sharded()
        if not found or (not self.session.sampled and not all(t.is_cpu for _, t in found)):
            return  # a device is waited for on sampled steps only
        self.model = self.model or _key_of(found)
        self.unwrapped = tuple(self.replicas.left_out(self.session.registry))  # now: the model may be gone when the run ends
        for family, some in (("weight_print", found), ("buffer_print", list(self._buffers()))):
            unique = dict(some)
            if unique:
                self.session.writer.frame(family, step, tuple(unique), prints(list(unique.values())), width=2)

    def _buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        for root, prefix in self.session.registry.root_modules():
            for name, tensor in root.named_buffers():
                if plain(tensor) and name.rpartition(".")[2] not in STATISTICS and tensor.is_cpu:
                    yield prefix + name.removeprefix("module."), tensor

    def step_closed(self, _: int) -> None:
        if self.distributed:
            self.replicas.stepped()
            if self.collectives.seconds:
                self.session.pulse["time/collectives"] = self.collectives.take_seconds()

    # -- facts --------------------------------------------------------------------------------------------------

    def report(self) -> None:
        if not self.distributed:
            return
        assert self.rank is not None and self.world_size is not None
        loader = self.session.train_loader
        dealer = self.dealers.get(loader) if loader is not None else None
        for place in (*self.collectives.places.values(), *self.replicas.places()):
            self.session.keep_source(place)
        self.session.writer.fact(
            "rank",
            facts.Rank(
                rank=self.rank,
                world_size=self.world_size,
                launch=_launch(self.address),
                attempt=_number("TORCHELASTIC_RESTART_COUNT") or 0,
                joined=self.joined,
                backend=self.backend,
                host=socket.gethostname(),
                local=_number("LOCAL_WORLD_SIZE") or 0,
                model=self.model,
                wrapper=self.replicas.kind or self.sharded,
                wrapped_at=self.replicas.place,
                replicas=self.replicas.group if len(self.replicas.group) != self.world_size else (),
                through=self.replicas.through,
                past=self.replicas.past,
                past_at=self.replicas.past_at,
                unwrapped=self.unwrapped,
                unsynced=self.replicas.unsynced,
                synced=self.replicas.synced,
                own_loss=self.losses > 0 or not self.backwards,
                joins=self.joins,
                collectives=dict(self.collectives.counts),
                collective_at=self._places(),
                loader=loader,
                shard=dealer.fact() if dealer is not None else None,
                rows=tuple(self.rows.batches),
                sketch=tuple(int(k) for k in self.rows.sketch),
                rows_seen=self.rows.seen,
            ),
        )

    def _places(self) -> dict[str, Place]:
        return {role: place for role, place in self.collectives.places.items() if place is not None}

    def _sharded(self) -> str:
        """Where each rank holds a part of the weights only."""
        for root, _ in self.session.registry.root_modules():
            if type(root).__name__ in ("FullyShardedDataParallel", "FSDPModule") or any(type(p).__name__ == "DTensor" for p in root.parameters()):
                return "FullyShardedDataParallel"
        return ""


def _key_of(found: list[tuple[str, torch.Tensor]]) -> str:
    text = ";".join(sorted(f"{name}{tuple(tensor.shape)}" for name, tensor in found))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _launch(address: str) -> str:
    """What all processes of one launch have in common, and no other's have."""
    name = os.environ.get("TORCHELASTIC_RUN_ID", "")
    if name and name != "none":
        return name
    return address or f"{os.environ.get('MASTER_ADDR', '')}:{os.environ.get('MASTER_PORT', '')}"


def _number(variable: str) -> int | None:
    value = os.environ.get(variable, "")
    return int(value) if value.isdigit() else None
