"""In a process that is treated: carries out its orders, right after the session is in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sickbay.exams.randomness import seed_everything
from sickbay.trials import fence, fingerprints
from sickbay.trials.control import Control
from sickbay.trials.orders import Orders
from sickbay.trials.stop import stop_after
from sickbay.trials.treatment import labels, parse

if TYPE_CHECKING:
    from sickbay.observe.session import Session


def begin(session: Session, orders: Orders) -> None:
    """Install every intervention. One that cannot be installed ends the process: a run that is called treated and is not would be a lie."""
    control = Control(session, orders.total)
    if orders.seed is not None:
        seed_everything(orders.seed)
    fence.after_torch(control)
    treatments = parse(orders.treat) if orders.treat else ()
    for treatment in treatments:
        treatment.intervention.install(control, *treatment.value)
    session.treatment = labels(treatments)
    if orders.fingerprints:
        fingerprints.take(session)
    if orders.steps is not None:
        stop_after(control, orders.steps)
