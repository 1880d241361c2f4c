"""Saved states: one of each worker, and all of them in one directory."""
from __future__ import annotations

import glob
import os
import re
from typing import Any, Protocol, Sequence

import torch

from ..core import Group, Layout
from ..errors import StateError

VERSION = 1
NAME = "step-{steps:012d}-rank-{rank:05d}-of-{workers:05d}.pt"
PATTERN = re.compile(r"step-(\d+)-rank-(\d+)-of-(\d+)\.pt$")


class Stateful(Protocol):
    """What save() and load() handle: an Attached or an Optimizer."""

    group: Group
    steps: int

    def state_dict(self) -> dict[str, Any]:
        """This worker's state."""

    def load_state_dict(self, saved: Any) -> None:
        """Take one on, or all workers' of a run with another number of them."""


def _tensor(content: bytes) -> torch.Tensor:
    if not content:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def pack(kind: str, group: Group, layout: Layout, steps: int,
         parts: dict[str, bytes]) -> dict[str, Any]:
    """A state as plain data. Parts are tensors of bytes, which torch.save() writes well."""
    return {"syncopate": VERSION, "kind": kind, "rank": group.rank, "workers": group.size,
            "steps": steps, "tensors": dict(zip(layout.names, layout.counts)),
            "parts": {name: _tensor(content) for name, content in parts.items()}}


def _check(kind: str, saved: Any, layout: Layout) -> None:
    if not isinstance(saved, dict) or saved.get("syncopate") != VERSION or saved.get("kind") != kind:
        raise StateError(f"not a state of a Syncopate {kind}, version {VERSION}")
    tensors = dict(zip(layout.names, layout.counts))
    if saved["tensors"] == tensors:
        return
    differing = sorted(set(tensors.items()) ^ set(saved["tensors"].items()))
    if not differing:
        raise StateError("the state has the model's tensors in another order")
    raise StateError(f"the state is another model's: tensors differ, such as {differing[0]}")


def unpack(kind: str, saved: dict[str, Any] | Sequence[dict[str, Any]], group: Group,
           layout: Layout) -> list[dict[str, bytes]]:
    """The parts of one state that is this worker's own, or of all workers'. StateError if they are not."""
    is_one = isinstance(saved, dict)
    states = [saved] if is_one else list(saved)
    if not states:
        raise StateError("no states to load")
    for place, each in enumerate(states):
        _check(kind, each, layout)
        expected = (group.rank, group.size) if is_one else (place, len(states))
        found = (each["rank"], each["workers"])
        if found != expected:
            raise StateError(
                f"the state is of worker {found[0]} of {found[1]}, expected {expected[0]} of "
                f"{expected[1]}; for another number of workers, load a list of all their states")
    return [{name: bytes(content.numpy().tobytes()) for name, content in each["parts"].items()}
            for each in states]


def save(directory: str, what: Stateful, **more: Any) -> str:
    """Write this worker's state into a directory that all workers share, with anything else that
    torch.save() takes, such as model=model.state_dict(). Collective for an Optimizer. Returns the path;
    the file is there whole or not at all."""
    os.makedirs(directory, exist_ok=True)
    saved = what.state_dict()
    path = os.path.join(directory, NAME.format(**saved))
    torch.save({"state": saved, **more}, path + ".part")
    os.replace(path + ".part", path)
    return path


def _sets(directory: str) -> dict[tuple[int, int], dict[int, str]]:
    """{(steps, workers): {rank: path}} of what is in a directory."""
    found: dict[tuple[int, int], dict[int, str]] = {}
    for path in glob.glob(os.path.join(glob.escape(directory), "*.pt")):
        match = PATTERN.search(os.path.basename(path))
        if match:
            steps, rank, workers = map(int, match.groups())
            found.setdefault((steps, workers), {})[rank] = path
    return found


def _read(path: str) -> dict[str, Any]:
    # A run's own files. Reading plain data only is not to be had from 1.13: it knows no floats.
    return torch.load(path, map_location="cpu", weights_only=False)


def load(directory: str, what: Stateful) -> dict[str, Any]:
    """Take on the newest complete set of states in a directory, whatever its number of workers was.
    As torch.load() may run code that is in a file, load what you have saved.
    Returns what else this worker saved with it (or the worker of its rank modulo the old number)."""
    sets = _sets(directory)
    whole = [key for key, paths in sets.items() if len(paths) == key[1]]
    if not whole:
        parts = ", ".join(f"step {steps}: {len(paths)} of {workers} workers"
                          for (steps, workers), paths in sorted(sets.items()))
        raise StateError(f'no complete set of states in "{directory}"; there is: {parts or "nothing"}')
    _, workers = newest = max(whole)
    paths = sets[newest]
    own = _read(paths[what.group.rank % workers])
    if workers == what.group.size:
        what.load_state_dict(own["state"])
    else:
        what.load_state_dict([_read(paths[rank])["state"] for rank in range(workers)])
    return {name: value for name, value in own.items() if name != "state"}
