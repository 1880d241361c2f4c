"""Which object exchanges a model's gradients. Two at once would silently add up each other's sums."""
from __future__ import annotations

import weakref
from typing import Any, Mapping

import torch

from ..errors import OptionError

_OWNERS: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()


def check_free(parameters: Mapping[str, torch.Tensor]) -> None:
    """OptionError if one of these parameters is exchanged already."""
    for name, parameter in parameters.items():
        owner = _OWNERS.get(id(parameter))
        if owner is not None:
            raise OptionError(f'parameter "{name}" is exchanged already, by an {type(owner).__name__} of '
                              "this model; a model can have only one method: close() the first one")


def claim(parameters: Mapping[str, torch.Tensor], owner: Any) -> None:
    """From now on they belong to the owner, which keeps them alive, so that their ids stay valid."""
    for parameter in parameters.values():
        _OWNERS[id(parameter)] = owner


def release(owner: Any) -> None:
    """Free the owner's parameters again."""
    for key in [key for key, each in _OWNERS.items() if each is owner]:
        del _OWNERS[key]
