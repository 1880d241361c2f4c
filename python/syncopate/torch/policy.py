"""How single tensors take part, in the library's form.

A policy maps a parameter, its name, or a pattern of names ("*.bias") to what is done with it: "dense" always sends all of
its entries, a number always sends that share of them, "frozen" leaves it as it is. If several fit, the last one counts.
"""
from __future__ import annotations

import fnmatch
import numbers
from typing import Any, Mapping

import torch

from ..core import Layout
from ..errors import OptionError

EXPECTED = '"dense", "frozen", or a number above 0, at most 1'


def _fitting(names: Mapping[str, torch.nn.Parameter], key: Any) -> list[str]:
    if isinstance(key, str):
        return fnmatch.filter(names, key)
    return [name for name, parameter in names.items() if parameter is key]


def _called(key: Any) -> str:
    return f'"{key}"' if isinstance(key, str) else f"a {type(key).__name__}"


def _checked(key: Any, value: Any) -> Any:
    is_share = isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < value <= 1
    if value not in ("dense", "frozen") and not is_share:
        raise OptionError(f"policy: {value!r} for {_called(key)} is not valid; expected {EXPECTED}")
    return value


def apply(policy: Mapping[Any, Any] | None, names: Mapping[str, torch.nn.Parameter], layout: Layout,
          may_freeze: bool = False) -> None:
    """Give the tensors of a layout their policies. OptionError if one is not valid, or fits no parameter."""
    chosen: dict[str, Any] = {}
    if policy is not None and not isinstance(policy, Mapping):
        raise OptionError(f"policy: {policy!r} is not valid; expected a dictionary of {EXPECTED} by parameter or name")
    for key, value in (policy or {}).items():
        fitting = _fitting(names, key)
        if not fitting:
            raise OptionError(f"policy: {_called(key)} fits none of the model's parameters that need a gradient")
        chosen.update(dict.fromkeys(fitting, _checked(key, value)))
    for number, name in enumerate(names):
        value = chosen.get(name)
        if value == "frozen" and not may_freeze:
            raise OptionError(f'policy: "{name}" can be frozen only in an Optimizer; call requires_grad_(False) on it '
                              "before this, and leave it out of your optimizer")
        if value is not None:
            layout.set_policy(number, value == "dense", value == "frozen",
                              0.0 if isinstance(value, str) else float(value))
