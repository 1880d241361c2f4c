"""The share of the entries that is sent, step by step."""
from __future__ import annotations

from ..errors import OptionError
from ..options import Options

FIRST = 0.25
STAGES = 4


class Density:
    """A quarter at first, then a quarter of that, and so on, in four equal parts of the warm-up; then
    what was asked for. The same as the command's --density-warmup, in steps."""

    def __init__(self, options: Options, warmup_steps: int):
        if warmup_steps < 0:
            raise OptionError(f"density_warmup: {warmup_steps} is not valid; expected steps, 0 or more")
        values = options.as_dict()
        self.asked: float = values["density"]
        self.warmup_steps = warmup_steps if values["select"] == "topk" and self.asked < FIRST else 0
        if self.warmup_steps and values["density_max"] < FIRST:
            options.set("density_max", FIRST)

    def at(self, step: int) -> float:
        """The density of that step."""
        if step >= self.warmup_steps:
            return self.asked
        return max(self.asked, FIRST * 0.25 ** (STAGES * step // self.warmup_steps))
