"""Where the entries of the whole gradient are in DDP's buckets, and where their mean goes."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..library import Piece, Place


@dataclass
class Run:
    """Entries that are contiguous both in the whole gradient and in a bucket."""

    flat: int
    bucket: int
    count: int


@dataclass
class Bucket:
    """A bucket of the step under way, and where its entries belong.

    home  DDP's own buffer
    buffer  home, or its copy in host memory if it is on a device
    """

    home: torch.Tensor
    buffer: torch.Tensor
    runs: list[Run]
    future: torch.futures.Future
    is_copied: bool = False

    def deliver(self, mean: torch.Tensor) -> None:
        """Give DDP the mean that it waits for, where it expects it."""
        is_here = self.home is self.buffer
        self.future.set_result(mean if self.is_plain and is_here else self.home.copy_(mean))

    @property
    def is_plain(self) -> bool:
        """Whether the library can read and write it."""
        return self.buffer.dtype == torch.float32 and self.buffer.is_contiguous()


class Route:
    """Where the library finds the gradient, and where its mean goes: the same in every step, until DDP
    rebuilds its buckets. A sparse mean is written to arrays that are zero before, and DDP reads these:
    clearing a bucket would take longer than everything else.

    flat      the whole gradient, for buckets that are copied to it; or None
    is_dense  the mean fills the buckets
    """

    def __init__(self, buckets: list[Bucket], flat: torch.Tensor | None, is_dense: bool):
        self._key = self._key_of(buckets)
        self.means = [bucket.buffer if is_dense and bucket.is_plain
                      else torch.zeros(bucket.buffer.numel()) for bucket in buckets]
        runs = sorted(((run, bucket, mean) for bucket, mean in zip(buckets, self.means)
                       for run in bucket.runs), key=lambda each: each[0].flat)
        self.pieces = self._pieces([
            (flat.data_ptr() + 4 * run.flat if bucket.is_copied
             else bucket.buffer.data_ptr() + 4 * run.bucket, run.count) for run, bucket, _ in runs])
        self.places = (Place * len(runs))(*[(run.flat, run.count, mean.data_ptr() + 4 * run.bucket)
                                            for run, _, mean in runs])

    @staticmethod
    def _key_of(buckets: list[Bucket]) -> list[tuple[int, list[Run]]]:
        return [(bucket.buffer.data_ptr(), bucket.runs) for bucket in buckets]

    @staticmethod
    def _pieces(parts: list[tuple[int, int]]) -> Any:
        """(address, count) of each part, with adjacent parts joined."""
        joined: list[tuple[int, int]] = []
        for address, count in parts:
            if joined and joined[-1][0] + 4 * joined[-1][1] == address:
                address, count = joined[-1][0], joined.pop()[1] + count
            joined.append((address, count))
        return (Piece * len(joined))(*joined)

    def fits(self, buckets: list[Bucket]) -> bool:
        """Whether this route is that of these buckets."""
        return self._key == self._key_of(buckets)
