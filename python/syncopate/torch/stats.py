"""The figures that all stats() methods have in common."""
from __future__ import annotations

from typing import Any

from ..core import cost_as_dict
from ..library import Cost
from .model import norm


def stats_of(owner: Any, cost: Cost, **more: float) -> dict[str, float]:
    """What exchanges cost a worker: the last one's figures, means over all steps, and the norm of the
    residual. Times are in milliseconds, bytes are payload.

    owner  has steps, group, layout, totals and residual()
    cost   of the last exchange
    more   figures that only the owner has
    """
    last = cost_as_dict(cost)
    found: dict[str, float] = {"steps": owner.steps, "workers": owner.group.workers, "parameters": owner.layout.size,
                               "density": last["selected"] / owner.layout.size}
    found.update(last)
    found.update({f"mean_{name}": value / max(owner.steps, 1) for name, value in owner.totals.items()})
    found.update(more)
    residual = owner.residual()
    found["residual_norm"] = 0.0 if residual is None else norm(residual)
    return found
