"""Copies between a device and host memory: buckets of gradients, and a model's weights as one array.

Each is one copy in each direction, from or to pinned memory; weights are concatenated on the device first. Written for CUDA
and tested with a fake device (tests/python/test_flat.py): it has not run on a GPU.
"""
from __future__ import annotations

import torch


def is_in_host_memory(tensor: torch.Tensor) -> bool:
    """Whether the library can access it."""
    return tensor.device.type == "cpu"


def pinned(count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Memory that a device can copy from and to by DMA."""
    return torch.empty(count, dtype=dtype, pin_memory=torch.cuda.is_available())


def future_for(tensor: torch.Tensor) -> torch.futures.Future:
    """A future whose result will be this tensor."""
    return torch.futures.Future() if tensor.device.type == "cpu" \
        else torch.futures.Future(devices=[tensor.device])


class Stages:
    """Copies in host memory of buffers on a device; each buffer has its own, kept from step to step."""

    def __init__(self) -> None:
        self._stages: dict[int, torch.Tensor] = {}

    def near(self, number: int, buffer: torch.Tensor) -> torch.Tensor:
        """What the library can read: the buffer itself, or its copy."""
        if is_in_host_memory(buffer):
            return buffer
        stage = self._stages.get(number)
        if stage is None or stage.numel() != buffer.numel() or stage.dtype != buffer.dtype:
            stage = self._stages[number] = pinned(buffer.numel(), buffer.dtype)
        return stage.copy_(buffer)  # waits for the device: the library reads it next


def _local(parameter: torch.Tensor) -> torch.Tensor:
    """The weights themselves; of a DTensor, its local part."""
    whole = parameter.detach()
    return whole.to_local() if hasattr(whole, "to_local") else whole


class Flat:
    """The weights of these parameters, one after the other."""

    def __init__(self, parameters: list[torch.Tensor]):
        self._parameters = parameters
        self._counts = [_local(each).numel() for each in parameters]
        self._is_near = all(is_in_host_memory(_local(each)) for each in parameters)
        self._stage = None if self._is_near else pinned(sum(self._counts))

    @torch.no_grad()
    def read(self, into: torch.Tensor) -> None:
        """Copy all weights into an array."""
        if self._is_near:
            for part, parameter in zip(into.split(self._counts), self._parameters):
                part.copy_(_local(parameter).reshape(-1))
            return
        joined = torch.cat([_local(each).reshape(-1).float() for each in self._parameters])
        self._stage.copy_(joined)  # waits for the device: the library reads it next
        into.copy_(self._stage)

    @torch.no_grad()
    def write(self, source: torch.Tensor) -> None:
        """Copy an array into all weights."""
        if self._is_near:
            self._hand_out(source)
            return
        self._stage.copy_(source)
        self._hand_out(self._stage.to(_local(self._parameters[0]).device))

    def _hand_out(self, flat: torch.Tensor) -> None:
        for part, parameter in zip(flat.split(self._counts), self._parameters):
            weights = _local(parameter)
            weights.copy_(part.view(weights.shape))
