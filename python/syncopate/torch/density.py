"""The share of the entries that is sent, step by step."""
from __future__ import annotations

import numbers
import operator
from typing import Any

from ..errors import OptionError
from ..options import Options

FIRST = 0.25
STAGES = 4


def _check_share(density: Any, select: str) -> None:
    """OptionError unless it is a share that the method can send."""
    if isinstance(density, bool) or not isinstance(density, numbers.Real):
        raise OptionError(f"density: {density!r} is not valid; expected a number above 0, at most 1")
    if not 0 < density <= 1:
        raise OptionError(f'density: "{density}" is not valid; expected a number above 0, at most 1')
    if select == "all":
        raise OptionError(f"density: {density} has no effect, as this method sends everything; leave it "
                          'out, or choose a method that selects, such as "gtopk"')


def _steps(warmup: Any) -> int:
    try:
        steps = operator.index(warmup)
    except TypeError:
        steps = -1
    if steps < 0 or isinstance(warmup, bool):
        raise OptionError(f"density_warmup: {warmup!r} is not valid; expected a whole number of steps, "
                          "0 or more")
    return steps


class Density:
    """A quarter at first, then a quarter of that, and so on, in four equal parts of the warm-up; then the
    requested density. The same as the command's --density-warmup, in steps.

    given  the density that the caller asked for, or None for the method's default. It is set in options
    """

    def __init__(self, options: Options, given: Any, warmup: Any):
        steps = _steps(warmup)
        values = options.as_dict()
        if given is not None:
            _check_share(given, values["select"])
            options.set("density", float(given))
        if steps and values["select"] != "topk":
            raise OptionError(f'density_warmup: {steps} has no effect with select="{values["select"]}"; '
                              "topk and gtopk have a warm-up")
        self.asked: float = options.as_dict()["density"]
        self.warmup_steps = steps if self.asked < FIRST else 0
        if self.warmup_steps and values["density_max"] < FIRST:
            options.set("density_max", FIRST)

    def at(self, step: int) -> float:
        """The density of that step."""
        if step >= self.warmup_steps:
            return self.asked
        return max(self.asked, FIRST * 0.25 ** (STAGES * step // self.warmup_steps))
