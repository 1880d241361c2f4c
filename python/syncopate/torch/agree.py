"""Check that all workers are at the same place when they are about to exchange what they have learned. They exchange
a few numbers, so that all find the same fault in the same call, and none waits for one that has stopped."""
from __future__ import annotations

import struct
from typing import Callable, Sequence

from ..errors import OptionError

Gather = Callable[[list[int]], list[list[int]]]


def bits(value: float) -> int:
    """The bits of a float as an integer, for gather(); equal if the floats are."""
    return struct.unpack("<q", struct.pack("<d", value))[0]


def _value(number: int) -> float:
    return struct.unpack("<d", struct.pack("<q", number))[0]


def check_alike(everyone: Sequence[Sequence[int]], what: Sequence[str], advice: str) -> None:
    """OptionError if the workers' numbers differ: names the first that does, its worker, and the advice.

    what  the numbers' names; a name that ends in "()" is that of a result of bits()
    """
    for place, name in enumerate(what):
        for rank, numbers in enumerate(everyone):
            first, other = everyone[0][place], numbers[place]
            if other == first:
                continue
            if name.endswith("()"):
                name, first, other = name[:-2], f"{_value(first):g}", f"{_value(other):g}"
            raise OptionError(f"workers differ: {name} is {first} on worker 0 and {other} on worker {rank}; "
                              + advice)


def check_untroubled(everyone: Sequence[Sequence[int]], own: Exception | None) -> None:
    """Raise this worker's own error; or, if only others have one, an OptionError that names one of them. The first
    number of each worker tells whether it has one."""
    if own is not None:
        raise own
    for rank, numbers in enumerate(everyone):
        if numbers[0]:
            raise OptionError(f"worker {rank} cannot continue with this model; see its own error message")
