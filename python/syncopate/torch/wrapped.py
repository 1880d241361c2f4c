"""What a user may hand over in a model's place, and what to hand over instead."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from ..errors import OptionError

SHARDED = ("FullyShardedDataParallel shards the weights, so that no worker has a whole gradient; use "
           "DistributedDataParallel, or an Optimizer on the plain model")


def _is_sharded(model: Any) -> bool:
    """FSDP of either generation: a wrapper, or a class mixed into the model's own."""
    return any(each.__name__ in ("FullyShardedDataParallel", "FSDPModule")
               for each in type(model).__mro__)


def check_ddp(ddp: Any) -> None:
    """OptionError unless it is a DistributedDataParallel, with what to do instead."""
    if isinstance(ddp, DistributedDataParallel):
        return
    if isinstance(getattr(ddp, "_orig_mod", None), DistributedDataParallel):
        raise OptionError("attach() wants the DistributedDataParallel itself, not what torch.compile() "
                          "made of it: attach(ddp, ...) first, then torch.compile(ddp)")
    if _is_sharded(ddp):
        raise OptionError(f"attach() wants a DistributedDataParallel: {SHARDED}")
    raise OptionError(f"attach() wants a DistributedDataParallel, not a {type(ddp).__name__}; wrap the "
                      "model in torch.nn.parallel.DistributedDataParallel first")


def check_module(model: Any) -> None:
    """OptionError unless it is a module that nobody exchanges yet, with what to do instead."""
    if isinstance(model, DistributedDataParallel) or isinstance(
            getattr(model, "_orig_mod", None), DistributedDataParallel):
        raise OptionError("the model is wrapped in DistributedDataParallel, which would exchange "
                          "gradients a second time; give its .module")
    if not isinstance(model, torch.nn.Module):
        raise OptionError(f"Optimizer() wants the model itself, not a {type(model).__name__}: "
                          "Optimizer(model, ...) instead of Optimizer(model.parameters(), ...)")
    if _is_sharded(model) or any(hasattr(each, "placements") for each in model.parameters()):
        raise OptionError(f"Optimizer() wants a whole model: {SHARDED}")
