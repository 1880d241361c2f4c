"""Who exchanges a model's gradients. Two would add each other's sums up, and nothing would say so."""
from __future__ import annotations

import weakref
from typing import Any, Mapping

import torch

from ..errors import OptionError

_OWNERS: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()


def check_free(parameters: Mapping[str, torch.Tensor]) -> None:
    """OptionError if somebody exchanges one of these parameters already."""
    for name, parameter in parameters.items():
        owner = _OWNERS.get(id(parameter))
        if owner is not None:
            raise OptionError(f'parameter "{name}" is exchanged already, by an {type(owner).__name__} of '
                              "this model; a model takes one method: close() the first one")


def claim(parameters: Mapping[str, torch.Tensor], owner: Any) -> None:
    """From now on they are the owner's, who keeps them alive, so that their ids stay theirs."""
    for parameter in parameters.values():
        _OWNERS[id(parameter)] = owner


def release(owner: Any) -> None:
    """They are free again."""
    for key in [key for key, each in _OWNERS.items() if each is owner]:
        del _OWNERS[key]
