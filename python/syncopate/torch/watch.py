"""Properties of a training loop that change the meaning of a residual, and that the hook is not told: which
optimizer is used, whether a scaler multiplies the loss, whether a merged gradient
was used. PyTorch has no list of optimizers and scalers; the garbage collector has, and is queried once."""
from __future__ import annotations

import gc
import warnings
from ctypes import c_uint32
from typing import Any, Sequence

import torch

from ..core import Layout
from ..errors import OptionError
from ..library import Merged


def _living(*kinds: type) -> list[Any]:
    return [each for each in gc.get_objects() if issubclass(type(each), kinds)]


def _scaler_types() -> tuple[type, ...]:
    places = (torch.cuda.amp, getattr(torch, "amp", None))
    return tuple({place.GradScaler for place in places if hasattr(place, "GradScaler")})


IN_RESIDUALS = ("and with it the residual; pass it to attach(..., scaler=scaler), or set "
                "attached.loss_scale (to 1 if the scaler belongs to another model)")
IN_STEPS = "and skips steps that others make; pass it to Outer(..., scaler=scaler)"


def check_scalers(meaning: str = IN_RESIDUALS) -> None:
    """OptionError with the consequences if a GradScaler is in use that was not passed to us."""
    for scaler in _living(*_scaler_types()):
        if scaler.is_enabled() and getattr(scaler, "_scale", None) is not None \
                and scaler.get_scale() != 1:
            raise OptionError(f"a GradScaler multiplies the loss by {scaler.get_scale():g}, {meaning}")


def suits_sparse(optimizer: torch.optim.Optimizer) -> bool:
    """Whether it works well with gradients most of whose entries are zero."""
    inner = getattr(optimizer, "optim", getattr(optimizer, "optimizer", optimizer))  # ZeRO's, Accelerate's
    return isinstance(inner, torch.optim.SGD)


def warn_of_optimizers(parameters: Sequence[torch.Tensor], has_momentum: bool) -> None:
    """Warn if these parameters' optimizer does not work well with sparse gradients."""
    own = set(map(id, parameters))
    for optimizer in _living(torch.optim.Optimizer):
        groups = optimizer.__dict__.get("param_groups", ())
        if not any(id(each) in own for group in groups for each in group["params"]):
            continue
        if not suits_sparse(optimizer):
            warnings.warn(
                f"{type(optimizer).__name__} divides by the size of past gradients, which sparse gradients "
                "distort: it trains worse than with DDP unless a large share is sent. Use attach(ddp, "
                "optimizer=optimizer), which sends its updates instead, or syncopate.torch.Outer "
                "(docs/pytorch.md)",
                stacklevel=2)
        elif has_momentum and any(group["momentum"] for group in groups):
            warnings.warn("momentum is applied twice, in the residual (momentum=...) and by the optimizer; "
                          "set the optimizer's momentum to 0", stacklevel=2)
        return


class Witness:
    """One entry of the last merged gradient, and the weight that a step of any optimizer would change."""

    def __init__(self) -> None:
        self._parameter: torch.Tensor | None = None
        self._seen: tuple[int, float] = (0, 0.0)
        self._entry = 0
        self._has_warned = False

    def forget(self) -> None:
        """The last gradient was dropped, or there is none."""
        self._parameter = None

    def _look(self) -> tuple[int, float]:
        """The version shows all changes except those through .data; the value shows these."""
        weight = self._parameter.detach()
        is_flat = weight.is_contiguous()
        return (self._parameter._version, weight.view(-1)[self._entry].item() if is_flat else 0.0)

    def remember(self, merged: Merged, layout: Layout, parameters: Sequence[torch.Tensor]) -> None:
        """Remember an entry of this sparse gradient, which has been delivered."""
        self.forget()
        if self._has_warned or merged.dense or not merged.count:
            return
        entry = c_uint32.from_address(merged.index).value
        tensor = layout.tensor_of(entry)
        self._entry = entry - layout.offsets[tensor]
        self._parameter = parameters[tensor]
        self._seen = self._look()

    def ask(self) -> None:
        """The next gradient has arrived: warn, once, if the last one was not used."""
        if self._parameter is None or self._look() != self._seen:
            return
        self._has_warned = True
        self.forget()
        warnings.warn(
            "two gradients were exchanged without a step of an optimizer in between. If the first one "
            "was discarded, its part in the residual will still be sent: call attached.drop() "
            "when a step is skipped, or run passes whose gradients are not needed under ddp.no_sync(). If "
            "gradients accumulate, put all but the last backward() under ddp.no_sync(), too",
            stacklevel=2)
