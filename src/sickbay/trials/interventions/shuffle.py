"""Every loader over a sized data set draws in random order."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention


@intervention("shuffle the samples of every loader that draws them in their own order", label="data shuffled")
def shuffle(control: Control) -> None:
    import torch
    from torch.utils.data import RandomSampler, SequentialSampler

    generator = torch.Generator().manual_seed(0)  # the script's own random numbers stay as they are

    def around(original: Call) -> Call:
        def __iter__(self: Any) -> Any:
            if type(self) is SequentialSampler:
                return iter(RandomSampler(self.data_source, generator=generator))
            return original(self)

        return __iter__

    def around_loader(original: Call) -> Call:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if (
                isinstance(getattr(self, "batch_sampler", None), torch.utils.data.BatchSampler)
                and type(self.batch_sampler.sampler) is SequentialSampler
            ):
                self.batch_sampler.sampler = RandomSampler(self.dataset, generator=generator)

        return __init__

    control.wrap(SequentialSampler, "__iter__", around)
    control.wrap(torch.utils.data.DataLoader, "__init__", around_loader)
