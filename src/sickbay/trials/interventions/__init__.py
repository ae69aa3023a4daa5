"""One file per intervention; `sickbay.trials.registry.catalogue()` finds them."""
