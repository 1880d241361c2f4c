"""Where the buckets of a DistributedDataParallel go.

DDP takes a hook once in a model's life. So what it gets is a Way, and where that leads can change: to a
method of ours, to the dense all-reduce that DDP does by itself, or nowhere, if weights are exchanged instead.
"""
from __future__ import annotations

import weakref
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ..errors import OptionError


class Way:
    """Where the buckets of one model go. A copy of the model goes its own way: DDP's.

    attached   who takes them; or None: DDP's own all-reduce
    is_closed  nobody does: every worker keeps its own gradient
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
    """The way of this model, made if it has none."""
    if ddp not in _WAYS:
        way = Way(ddp.process_group)
        try:
            ddp.register_comm_hook(way, _take)
        except RuntimeError as error:
            raise OptionError("this model has a communication hook already, and PyTorch lets a model have "
                              f"one: wrap it again, without register_comm_hook() ({error})") from None
        _WAYS[ddp] = way
    return _WAYS[ddp]


def check_whole(ddp: DistributedDataParallel) -> None:
    """OptionError unless the model's processes are all there are."""
    if dist.get_world_size(ddp.process_group) != dist.get_world_size():
        raise OptionError("the model's process group is not the whole world; groups of some "
                          "processes are not supported")


def _take(way, bucket):  # DDP looks at the annotations, which must not be text
    return way.take(bucket)
