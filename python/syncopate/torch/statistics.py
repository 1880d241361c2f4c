"""Running statistics, as batch normalisation keeps them: buffers that every worker fills from its own examples."""
from __future__ import annotations

from typing import Callable

import torch


class Statistics:
    """A model's buffers of floating point."""

    def __init__(self, model: torch.nn.Module):
        self._model = model

    def _buffers(self) -> list[torch.Tensor]:
        return [buffer for buffer in self._model.buffers() if buffer.is_floating_point()]

    def own(self) -> list[torch.Tensor]:
        """A copy of this worker's."""
        return [buffer.clone() for buffer in self._buffers()]

    def put_back(self, own: list[torch.Tensor]) -> None:
        """This worker's own again."""
        for buffer, kept in zip(self._buffers(), own):
            buffer.copy_(kept)

    def average(self, gather: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """The mean over all workers, with the same bits on each.

        gather  sends all workers its floats, and returns theirs: [workers][count]. Not called if there are none
        """
        buffers = self._buffers()
        if not buffers:
            return
        mine = torch.cat([buffer.detach().float().flatten().cpu() for buffer in buffers])
        parts = gather(mine).mean(0).split([buffer.numel() for buffer in buffers])
        for buffer, part in zip(buffers, parts):
            buffer.copy_(part.view(buffer.shape))
