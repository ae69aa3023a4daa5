"""Sees a script judge predictions by hand: `(model(x).argmax(1) == y)`, `(model(x) > 0) == y`, `model(x) - y`.

A torch function mode that is open only from the end of a forward pass outside training to the next thing that happens (another forward pass, a batch, a backward
pass). It follows what is made of the model's output for a few operations, up to the first comparison with something that did not come from a model, and reads that
comparison's own result. It holds no tensor, and changes none.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from sickbay.observe.predictions import MOST_PREDICTIONS
from sickbay.observe.trace import DISPATCH_SECONDS, PASSIVE, inside_transform, operation_name, tensors_in

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_OPERATIONS = 48
"""After one forward pass: what a script compares, it compares soon."""
MOST_FOLLOWED = 2048
"""Tensors that were made of outputs, over one pass: outputs of all batches may be kept and compared at its end."""
MOST_PARTS = 3
"""Comparisons after one forward pass (of parts: the masks of a graph's nodes)."""

SAME_NUMBERS = frozenset(
    "squeeze unsqueeze view view_as reshape reshape_as flatten detach cpu to float double contiguous clone getitem select data T mT t permute transpose cat concat stack "
    "hstack vstack index_select masked_select narrow unbind split chunk type type_as".split()
)
OTHER_NUMBERS = frozenset("softmax log_softmax sigmoid logsigmoid exp log add radd mul rmul div truediv mean sum tanh clamp".split())
"""Still a score of each answer: averaged over several models or views of a sample, or turned into probabilities."""
CASTS = frozenset("long int bool byte short int64 int32 half".split())
DECISIONS = frozenset("argmax gt ge lt le round sign max topk".split())
COMPARISONS = frozenset(("eq", "ne"))
DIFFERENCES = frozenset(("sub", "rsub", "subtract"))


class Made(NamedTuple):
    """What is known of a tensor that was made of a model's output."""

    tensor: weakref.ref[torch.Tensor]
    decided: bool
    """It holds answers (classes, yes or no), no scores."""
    plain: bool
    """...the output's own numbers."""
    total: int
    """Answers there were when it was decided."""


class Comparison(NamedTuple):
    """What a script compared."""

    right: float
    """Answers that are right; NaN for differences."""
    judged: int
    squares: float
    """Mean of the squared differences; NaN for answers,"""
    absolute: float
    """...and of their sizes."""
    part: int
    """The how-manieth part of one forward pass's answers; 0 for all of them."""
    labels: torch.Tensor | None = None
    """What answers were compared with."""


class Comparing(TorchFunctionMode):
    """Follows the newest outputs."""

    def __init__(self, session: Session, tell: Callable[[Comparison], None]) -> None:
        super().__init__()
        self._session = session
        self._tell = tell
        self._made: dict[int, Made] = {}
        self._left = 0
        self._parts = 0
        self.entered = False
        self.following = False
        self.numbers = False
        """Differences are of interest too."""

    # -- on and off: the rules of trace.py ------------------------------------------------------------------------

    def begin(self, output: torch.Tensor) -> bool:
        """Follow this output from here on. Not while another mode than ours is open: modes must be left in order."""
        self._note(output, Made(weakref.ref(output), False, True, 0))
        self._left, self._parts, self.following = MOST_OPERATIONS, 0, True
        if self.entered:
            return True
        trace = self._session.trace
        depth = torch._C._len_torch_function_stack()
        if depth > (1 if trace is not None and trace.entered else 0):
            self.following = False
            return False
        self.__enter__()  # type: ignore[no-untyped-call]
        self.entered = True
        return True

    def leave(self) -> None:
        """Step out, if that is possible here; fall silent in any case."""
        self.following = False
        if self.entered:
            depth = torch._C._len_torch_function_stack()
            if depth and torch._C._get_function_stack_at(depth - 1) is self:
                self.__exit__(None, None, None)
                self.entered = False

    def forget(self) -> None:
        self._made = {}

    # -- following ------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        session = self._session
        if not self.following or session.busy or session.off:
            return output
        name = operation_name(func)
        if name in PASSIVE or inside_transform():
            return output
        started = session.clock()
        session.busy = True
        try:
            with torch._C.DisableTorchFunction():
                self._see(name, args, kwargs, output)
        except Exception as e:
            self.following = False
            session.limit("evaluations that are judged by hand", f"following them failed: {type(e).__name__}: {e}")
        finally:
            session.busy = False
            session.times.own += session.clock() - started + DISPATCH_SECONDS
        return output

    def _see(self, name: str, args: Any, kwargs: Any, output: Any) -> None:
        self._left -= 1
        if self._left < 0:
            self.following = False
            return
        given = list(tensors_in(args, kwargs))
        known = [found for t in given if (found := self._known(t)) is not None]
        if not known:
            return
        if name in COMPARISONS:
            self._compare(name, given, known, output)
        elif name in DIFFERENCES:
            self._differ(given, known, output)
        elif name in DECISIONS and not known[0].decided:
            self._decide(name, output)
        elif name in SAME_NUMBERS or name in CASTS:
            if (source := self._known(given[0])) is not None:  # not `y.view_as(predicted)`
                self._pass_on(output, source, plain=source.plain and name in SAME_NUMBERS)
        elif name in OTHER_NUMBERS and not known[0].decided:
            self._pass_on(output, known[0], plain=False)

    def _known(self, tensor: torch.Tensor) -> Made | None:
        found = self._made.get(id(tensor))
        return found if found is not None and found.tensor() is tensor else None

    def _note(self, tensor: torch.Tensor, made: Made) -> None:
        if len(self._made) >= MOST_FOLLOWED:
            self._made = {k: m for k, m in self._made.items() if m.tensor() is not None}
        if len(self._made) < MOST_FOLLOWED:
            self._made[id(tensor)] = made

    def _pass_on(self, output: Any, source: Made, plain: bool) -> None:
        for tensor in tensors_in((output,), None):
            self._note(tensor, Made(weakref.ref(tensor), source.decided, plain, tensor.numel() if source.total < tensor.numel() else source.total))

    def _decide(self, name: str, output: Any) -> None:
        if name in ("max", "topk"):
            if not isinstance(output, tuple) or (name == "topk" and output[1].shape[-1] != 1):
                return
            self._note(output[0], Made(weakref.ref(output[0]), False, False, 0))
            output = output[1]
        if isinstance(output, torch.Tensor):
            self._note(output, Made(weakref.ref(output), True, False, output.numel()))

    # -- what is told -----------------------------------------------------------------------------------------------

    def _compare(self, name: str, given: list[torch.Tensor], known: list[Made], output: Any) -> None:
        if len(given) != 2 or len(known) != 1 or not known[0].decided or not isinstance(output, torch.Tensor):
            return
        count = output.numel()
        if not count or count != given[0].numel() or count != given[1].numel() or not self._may_read(output):
            return
        equal = int(torch.count_nonzero(output))
        whole = count >= known[0].total
        labels = next(t for t in given if self._known(t) is None)
        right = equal if name == "eq" else count - equal
        self._tell(Comparison(right, count, float("nan"), float("nan"), 0 if whole else self._parts + 1, labels))
        self._parts += 1
        self.following = not whole and self._parts < MOST_PARTS

    def _differ(self, given: list[torch.Tensor], known: list[Made], output: Any) -> None:
        if not self.numbers or len(given) != 2 or len(known) != 1 or not known[0].plain or known[0].decided or given[0].shape != given[1].shape:
            return
        if isinstance(output, torch.Tensor) and output.is_floating_point() and self._may_read(output):
            off = output.detach().float()
            self._tell(Comparison(float("nan"), len(off) if off.dim() else 1, float((off * off).mean()), float(off.abs().mean()), 0))
            self.following = False

    def _may_read(self, output: torch.Tensor) -> bool:
        """No waiting for a device outside sampled steps; no large sums."""
        return (output.is_cpu or self._session.sampled) and 0 < output.numel() <= MOST_PREDICTIONS
