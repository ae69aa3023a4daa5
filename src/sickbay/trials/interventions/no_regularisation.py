"""Everything that keeps a model from fitting its training data goes off at once."""

from __future__ import annotations

from sickbay.trials.control import Control
from sickbay.trials.interventions.no_dropout import no_dropout
from sickbay.trials.interventions.no_label_smoothing import no_label_smoothing
from sickbay.trials.interventions.no_weight_decay import no_weight_decay
from sickbay.trials.registry import intervention


@intervention("switch dropout, weight decay and label smoothing off", label="no regularisation", redefines_loss=True)
def no_regularisation(control: Control) -> None:
    for part in (no_dropout, no_weight_decay, no_label_smoothing):
        part.install(control)
