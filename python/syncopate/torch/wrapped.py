"""Checks of models and optimizers that users pass, with what to pass instead."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from ..errors import OptionError

SHARDED = ("FullyShardedDataParallel shards the weights, so no worker has a whole gradient; use "
           "DistributedDataParallel, or an Optimizer on the plain model")


def _is_a(value: Any, *names: str) -> bool:
    return any(each.__name__ in names for each in type(value).__mro__)


def _is_sharded(model: Any) -> bool:
    """Whether it is FSDP1, a wrapper, or FSDP2, a class mixed into the model's own."""
    return _is_a(model, "FullyShardedDataParallel", "FSDPModule")


def _has_shards(model: torch.nn.Module) -> bool:
    """Whether it, or a module somewhere inside it, is sharded."""
    return any(map(_is_sharded, model.modules())) or any(hasattr(each, "placements") for each in model.parameters())


def check_ddp(ddp: Any) -> None:
    """OptionError unless it is a DistributedDataParallel, with what to do instead."""
    if isinstance(ddp, DistributedDataParallel):
        if _has_shards(ddp.module):
            raise OptionError(f"attach() expects a model that is whole inside its DistributedDataParallel: {SHARDED}")
        return
    if isinstance(getattr(ddp, "_orig_mod", None), DistributedDataParallel):
        raise OptionError("attach() expects the DistributedDataParallel itself, not the result of "
                          "torch.compile(): attach(ddp, ...) first, then torch.compile(ddp)")
    if _is_sharded(ddp):
        raise OptionError(f"attach() expects a DistributedDataParallel: {SHARDED}")
    raise OptionError(f"attach() expects a DistributedDataParallel, not a {type(ddp).__name__}; wrap the "
                      "model in torch.nn.parallel.DistributedDataParallel first")


def check_module(model: Any) -> None:
    """OptionError unless it is a module that is not exchanged yet, with what to do instead."""
    if isinstance(model, DistributedDataParallel) or isinstance(
            getattr(model, "_orig_mod", None), DistributedDataParallel):
        raise OptionError("the model is wrapped in DistributedDataParallel, which would exchange "
                          "gradients a second time; pass its .module")
    if not isinstance(model, torch.nn.Module):
        raise OptionError(f"Optimizer() expects the model itself, not a {type(model).__name__}: "
                          "Optimizer(model, ...) instead of Optimizer(model.parameters(), ...)")
    if _has_shards(model):
        raise OptionError(f"Optimizer() expects a whole model: {SHARDED}")


def module_and_ddp(model: Any) -> tuple[torch.nn.Module, DistributedDataParallel | None]:
    """The module whose weights Outer exchanges, and the DistributedDataParallel around it, if there is one; both may
    be results of torch.compile(). OptionError if the weights are not whole."""
    model = getattr(model, "_orig_mod", model)
    ddp = model if isinstance(model, DistributedDataParallel) else None
    model = getattr(ddp.module, "_orig_mod", ddp.module) if ddp is not None else model
    if not isinstance(model, torch.nn.Module):
        raise OptionError(f"Outer() expects the model itself, not a {type(model).__name__}")
    for name, parameter in model.named_parameters():
        if hasattr(parameter, "to_local") and parameter.to_local().numel() != parameter.numel():
            raise OptionError(f'Outer() expects whole weights, but "{name}" is sharded: no two workers hold the same '
                              "part. Shard with FSDP2 over one worker's own devices only, or not at all")
    if any(_is_a(each, "FullyShardedDataParallel") for each in model.modules()):
        raise OptionError(f"Outer() expects whole weights: {SHARDED}")
    return model, ddp


def plain_optimizer(optimizer: Any) -> torch.optim.Optimizer:
    """The optimizer whose steps count; Accelerate and others wrap it in one of their own."""
    inner = getattr(optimizer, "optimizer", None)
    if isinstance(inner, torch.optim.Optimizer):
        optimizer = inner
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise OptionError(f"Outer() expects a PyTorch optimizer, not a {type(optimizer).__name__}")
    if _is_a(optimizer, "ZeroRedundancyOptimizer"):
        raise OptionError("ZeroRedundancyOptimizer gives every worker a part of the weights to train, so that they "
                          "cannot train independently; pass Outer the optimizer that it would use")
    return optimizer
