"""A model as the library sees it: named tensors in one flat space of float32."""
from __future__ import annotations

import ctypes
import math

import torch

from ..core import Layout
from ..errors import OptionError

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def floats_at(address: int, count: int) -> torch.Tensor:
    """The library's floats as a tensor, without a copy; valid for as long as the library keeps them."""
    if count == 0:
        return torch.empty(0)
    return torch.frombuffer((ctypes.c_float * count).from_address(address), dtype=torch.float32)


def norm(floats: torch.Tensor) -> float:
    """The Euclidean norm, in double precision, piece by piece: a copy in doubles would take twice the memory."""
    return math.sqrt(sum(float(part.double().square().sum()) for part in floats.split(1 << 16)))


def _check_parameter(name: str, parameter: torch.nn.Parameter, may_be_away: bool) -> None:
    allowed = ("cpu", "cuda") if may_be_away else ("cpu",)
    if parameter.device.type not in allowed:
        raise OptionError(f'parameter "{name}" is on {parameter.device}; expected a model on '
                          + " or ".join(allowed))
    if parameter.dtype not in DTYPES:
        raise OptionError(f'parameter "{name}" is {str(parameter.dtype)[6:]}; expected one of '
                          + ", ".join(str(dtype)[6:] for dtype in DTYPES))
    if parameter.is_sparse or parameter.layout != torch.strided:
        raise OptionError(f'parameter "{name}" is sparse; only dense parameters are supported')


def _check_modules(model: torch.nn.Module) -> None:
    for name, module in model.named_modules():
        if getattr(module, "sparse", False) and isinstance(
                module, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
            raise OptionError(f'module "{name}" makes sparse gradients; build it with sparse=False')


def trained_parameters(model: torch.nn.Module, ignored: frozenset[str] = frozenset(),
                       may_be_away: bool = False) -> dict[str, torch.nn.Parameter]:
    """The parameters that need a gradient, by name, in host memory or, if may_be_away, on a GPU. OptionError if
    one is not supported."""
    found = {name: parameter for name, parameter in model.named_parameters()
             if parameter.requires_grad and name not in ignored}
    if not found:
        raise OptionError("the model has no parameters that need a gradient")
    for name, parameter in found.items():
        _check_parameter(name, parameter, may_be_away)
    _check_modules(model)
    return found


def layout_of(parameters: dict[str, torch.nn.Parameter]) -> Layout:
    """Their layout in the flat space, in the given order."""
    return Layout((name, parameter.numel()) for name, parameter in parameters.items())
