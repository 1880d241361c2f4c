"""The weights that all workers have in common, and what this worker has learned since it last received them."""
from __future__ import annotations

import torch


class Common:
    """The arithmetic of outer updates: SGD with Nesterov momentum, as in PyTorch, on one flat array.

    weights  the common weights, the same on every worker to the bit
    now      this worker's own weights, to be filled before learn() and land()
    learned  what is sent to the others: how far the weights have moved since the last time, descent positive
    """

    def __init__(self, weights: torch.Tensor, lr: float, momentum: float, delayed: bool):
        self.weights = weights
        self.now, self.learned, self.mean = (torch.empty_like(weights) for _ in range(3))
        self.velocity = torch.zeros_like(weights) if momentum else None
        self._lr, self._momentum = lr, momentum
        self._start = weights.clone() if delayed else weights  # where this worker's steps began

    def learn(self) -> None:
        """Steps from here on belong to the next round. Without a delay, land() follows, and begins it."""
        torch.sub(self._start, self.now, out=self.learned)
        if self._start is not self.weights:
            self._start.copy_(self.now)

    def land(self) -> None:
        """The mean of all workers has arrived. This worker continues from the common weights; with a delay, it adds
        how far it has moved since it sent its part."""
        step = self.mean
        if self.velocity is not None:
            self.velocity.mul_(self._momentum).add_(self.mean)
            step = self.mean.add_(self.velocity, alpha=self._momentum)
        if self._start is self.weights:
            self.weights.sub_(step, alpha=self._lr)
            self.now.copy_(self.weights)
            return
        meanwhile = self._start.sub_(self.now)
        self.weights.sub_(step, alpha=self._lr)
        torch.sub(self.weights, meanwhile, out=self.now)
        self._start.copy_(self.weights)

    def begin_at(self, weights: torch.Tensor, velocity: torch.Tensor | None) -> None:
        """Set the common weights, with nothing under way."""
        self.weights.copy_(weights)
        self._start.copy_(weights)
        if self.velocity is not None and velocity is not None:
            self.velocity.copy_(velocity)
