"""Where the buckets of a DistributedDataParallel go.

DDP accepts a hook only once in a model's life. So it gets a Way, whose destination can change: to a
method of ours, to DDP's own dense all-reduce, or nowhere, if weights are exchanged instead.
"""
from __future__ import annotations

import weakref
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ..errors import OptionError


class Way:
    """Where the buckets of one model go. A copy of the model uses DDP's own all-reduce.

    attached   the object that takes them; or None: DDP's own all-reduce
    is_closed  nothing takes them: every worker keeps its own gradient
    """

    def __init__(self, group: dist.ProcessGroup):
        self._group = group
        self.attached: Any = None
        self.is_closed = False

    def __deepcopy__(self, _memo: object) -> "Way":
        return Way(self._group)

    def __reduce__(self) -> tuple:
        return Way, (None,)

    def take(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """One bucket of this step's gradient."""
        if self.is_closed:
            own: torch.futures.Future = torch.futures.Future()
            own.set_result(bucket.buffer())
            return own
        if self.attached is None:
            mean = bucket.buffer().div_(dist.get_world_size(self._group))
            work = dist.all_reduce(mean, group=self._group, async_op=True)
            return work.get_future().then(lambda done: done.value()[0])
        return self.attached.take(bucket)


_WAYS: "weakref.WeakKeyDictionary[DistributedDataParallel, Way]" = weakref.WeakKeyDictionary()


def of(ddp: DistributedDataParallel) -> Way | None:
    """The way of this model, if it has one."""
    return _WAYS.get(ddp)


def make(ddp: DistributedDataParallel) -> Way:
    """The way of this model, created if it has none."""
    if ddp not in _WAYS:
        way = Way(ddp.process_group)
        try:
            ddp.register_comm_hook(way, _take)
        except RuntimeError as error:
            raise OptionError("this model has a communication hook already, and PyTorch allows only "
                              f"one: wrap it again, without register_comm_hook() ({error})") from None
        _WAYS[ddp] = way
    return _WAYS[ddp]


def check_whole(ddp: DistributedDataParallel) -> None:
    """OptionError unless the model's process group includes all processes."""
    if dist.get_world_size(ddp.process_group) != dist.get_world_size():
        raise OptionError("the model's process group does not include all processes; smaller groups "
                          "are not supported")


def _take(way, bucket):  # DDP checks the annotations, which must not be strings
    return way.take(bucket)
