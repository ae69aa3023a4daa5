"""Every hook into torch, in one place: thin wrappers that tell the session and otherwise do nothing.

Wrappers must stay out of the way of torch.compile (which traces through them: `is_compiling` prunes them), of
torch.jit.script (which cannot compile them: functions are put back while it works), and of pickling (nothing is
stored on the user's objects).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sickbay.observe.hooks.backward import hook_backward
from sickbay.observe.hooks.compilers import hook_compilers
from sickbay.observe.hooks.distributed import hook_distributed
from sickbay.observe.hooks.loaders import hook_loaders
from sickbay.observe.hooks.losses import LOSSES, hook_losses
from sickbay.observe.hooks.modules import hook_modules
from sickbay.observe.hooks.optimizers import hook_optimizers
from sickbay.observe.hooks.precision import hook_precision
from sickbay.observe.hooks.printing import hook_printing
from sickbay.observe.hooks.states import hook_states

if TYPE_CHECKING:
    from sickbay.observe.session import Session

__all__ = ["LOSSES", "put_in_place"]


def put_in_place(session: Session) -> None:
    """Install all hooks; `session.patches.undo()` removes them."""
    patches = session.patches
    hook_modules(session, patches)
    hook_states(session, patches)
    hook_losses(session, patches)
    hook_precision(session, patches)
    hook_backward(session, patches)
    hook_optimizers(session, patches)
    hook_loaders(session, patches)
    hook_compilers(session, patches)
    hook_printing(session, patches)
    hook_distributed(session, patches)
