"""Calls of the library that other workers take part in."""
from __future__ import annotations

from typing import Any, Callable

import torch

from ..core import Group, Reducer, Worker
from ..errors import PeerError


def explained(group: Group, call: Callable, *arguments: Any) -> Any:
    """The call's result. A failure of another worker is raised with what the transport knows about it."""
    try:
        return call(*arguments)
    except PeerError as error:
        raise group.explain(error) from None


def everyones(group: Group, source: Reducer | Worker, mine: torch.Tensor) -> torch.Tensor:
    """This tensor of all workers, along a new first dimension. Over the library's own connections: they name a worker
    that has closed or died, while torch.distributed would wait for it for half an hour."""
    mine = mine.contiguous()
    everyone = mine.new_empty(group.workers, *mine.shape)
    explained(group, source.gather, mine.data_ptr(), mine.element_size() * mine.numel(), everyone.data_ptr())
    return everyone
