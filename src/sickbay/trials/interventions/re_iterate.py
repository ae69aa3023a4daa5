"""A loader that is started anew before it came to its end goes on where it was."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention


@intervention("go on with a loader's batches where the script starts them anew", label="batches drawn one after another")
def re_iterate(control: Control) -> None:
    import torch

    under_way: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def around(original: Call) -> Call:
        def __iter__(self: Any) -> Any:
            iterator = under_way.get(self)
            if iterator is None or iterator._num_yielded >= len(self):
                iterator = under_way[self] = original(self)
            return iterator

        return __iter__

    control.wrap(torch.utils.data.DataLoader, "__iter__", around)
