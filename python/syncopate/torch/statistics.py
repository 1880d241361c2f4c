"""Running statistics, such as those of batch normalisation: buffers that every worker fills from its own examples."""
from __future__ import annotations

from typing import Callable

import torch


class Statistics:
    """A model's floating-point buffers."""

    def __init__(self, model: torch.nn.Module):
        self._model = model

    def _buffers(self) -> list[torch.Tensor]:
        return [buffer for buffer in self._model.buffers() if buffer.is_floating_point()]

    def own(self) -> list[torch.Tensor]:
        """A copy of this worker's statistics."""
        return [buffer.clone() for buffer in self._buffers()]

    def put_back(self, own: list[torch.Tensor]) -> None:
        """Restore this worker's own statistics."""
        for buffer, kept in zip(self._buffers(), own):
            buffer.copy_(kept)

    def average(self, gather: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """Set them to the mean over all workers, with the same bits on each.

        gather  sends its floats to all workers, and returns theirs: [workers][count]. Not called if there are none
        """
        buffers = self._buffers()
        if not buffers:
            return
        mine = torch.cat([buffer.detach().float().flatten().cpu() for buffer in buffers])
        parts = gather(mine).mean(0).split([buffer.numel() for buffer in buffers])
        for buffer, part in zip(buffers, parts):
            buffer.copy_(part.view(buffer.shape))
