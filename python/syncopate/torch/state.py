"""Saved states: one file for each worker, all of them in one directory."""
from __future__ import annotations

import glob
import os
import re
from typing import Any, Protocol, Sequence

import torch

from ..core import Group, Layout
from ..errors import OptionError, StateError
from . import plain

VERSION = 1
ENDING = ".state"
NAME = "step-{steps:012d}-rank-{rank:05d}-of-{workers:05d}" + ENDING
PATTERN = re.compile(r"step-(\d+)-rank-(\d+)-of-(\d+)" + re.escape(ENDING) + "$")
MOST_SETS = 64  # how many sets workers tell each other about


class Stateful(Protocol):
    """What save() and load() handle: an Attached or an Optimizer."""

    group: Group
    steps: int

    def state_dict(self) -> dict[str, Any]:
        """This worker's state."""

    def gather(self, values: list[int]) -> list[list[int]]:
        """Send these numbers to all workers, and receive theirs; all send the same count."""

    def load_state_dict(self, saved: Any) -> None:
        """Load one, or those of all workers of a run with another number of workers."""


def _tensor(content: bytes) -> torch.Tensor:
    if not content:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def pack(kind: str, group: Group, layout: Layout, steps: int,
         parts: dict[str, bytes]) -> dict[str, Any]:
    """A state as plain data. Parts are tensors of bytes, which torch.save() handles well."""
    return {"syncopate": VERSION, "kind": kind, "rank": group.rank, "workers": group.workers,
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
    raise StateError(f"the state belongs to another model: tensors differ, for example {differing[0]}")


def unpack(kind: str, saved: dict[str, Any] | Sequence[dict[str, Any]], group: Group,
           layout: Layout) -> list[dict[str, bytes]]:
    """The parts of this worker's own state, or of the states of all workers. StateError if they are not that."""
    is_one = isinstance(saved, dict)
    states = [saved] if is_one else list(saved)
    if not states:
        raise StateError("no states to load")
    for place, each in enumerate(states):
        _check(kind, each, layout)
        expected = (group.rank, group.workers) if is_one else (place, len(states))
        found = (each["rank"], each["workers"])
        if found != expected:
            raise StateError(
                f"the state is that of worker {found[0]} of {found[1]}, expected {expected[0]} of "
                f"{expected[1]}; for another number of workers, load a list of all their states")
    return [{name: bytes(content.numpy().tobytes()) for name, content in each["parts"].items()}
            for each in states]


def save(directory: str, what: Stateful, *, keep: int | None = 2, **more: Any) -> str:
    """Write this worker's state into a directory, with anything else that is plain data or tensors, such
    as model=model.state_dict(). Collective for an Optimizer. Returns the path; the file is written completely or
    not at all.

    keep  how many of the newest saves are kept: at least 2, because workers do not save at the same
          instant; None keeps all. Every worker removes its own files
    """
    if keep is not None and (not isinstance(keep, int) or keep < 2):
        raise OptionError(f"keep: {keep!r} is not valid; expected 2 or more, or None to keep all")
    os.makedirs(directory, exist_ok=True)
    saved = what.state_dict()
    path = os.path.join(directory, NAME.format(**saved))
    plain.write(path, {"state": saved, **more})
    if keep is not None:
        _prune(directory, what.group, keep)
    return path


def _sets(directory: str) -> dict[tuple[int, int], dict[int, str]]:
    """{(steps, workers): {rank: path}} of the files in a directory."""
    found: dict[tuple[int, int], dict[int, str]] = {}
    for path in glob.glob(os.path.join(glob.escape(directory), "*" + ENDING)):
        match = PATTERN.search(os.path.basename(path))
        if match:
            steps, rank, workers = map(int, match.groups())
            found.setdefault((steps, workers), {})[rank] = path
    return found


def _prune(directory: str, group: Group, keep: int) -> None:
    """Remove files that are older than this worker's newest saves: its own, and its share of those left by a run with
    another number of workers."""
    sets = _sets(directory)
    own = sorted(steps for (steps, workers), paths in sets.items()
                 if workers == group.workers and group.rank in paths)
    oldest = own[-keep] if len(own) >= keep else -1
    for (steps, _), paths in sets.items():
        for rank, path in paths.items():
            if steps < oldest and rank % group.workers == group.rank:
                os.remove(path)


def _usable(sets: dict[tuple[int, int], dict[int, str]], group: Group) -> list[tuple[int, int]]:
    """Sets of which this worker sees the files that it needs: its own, or all if the number of workers was
    different. The newest first."""
    return sorted((key for key, paths in sets.items()
                   if (group.rank in paths if key[1] == group.workers else len(paths) == key[1])),
                  reverse=True)


def _agree(usable: list[tuple[int, int]], what: Stateful) -> tuple[int, int] | None:
    """The newest set that all workers can use. Collective: each worker tells the others its newest ones."""
    numbers = [number for key in usable[:MOST_SETS] for number in key]
    everyone = what.gather(numbers + [-1] * (2 * MOST_SETS - len(numbers)))
    common = set.intersection(*({(steps, workers) for steps, workers in zip(each[::2], each[1::2])
                                 if steps >= 0} for each in everyone))
    return max(common, default=None)


def _read(path: str) -> dict[str, Any]:
    found = plain.read(path)
    if not isinstance(found, dict) or not isinstance(found.get("state"), dict):
        raise StateError(f'"{path}" does not contain a state')
    return found


def load(directory: str, what: Stateful) -> dict[str, Any]:
    """Load the newest set of states that all workers can read, whatever its number of workers was.
    Collective. With the number of workers that saved it, each reads its own file, and directories may be
    on different file systems; with another number, every worker must see all files.
    Returns whatever else this worker (or the worker of its rank modulo the old number) saved with it."""
    sets = _sets(directory)
    newest = _agree(_usable(sets, what.group), what)
    if newest is None:
        parts = ", ".join(f"step {steps}: {len(paths)} of {workers} workers"
                          for (steps, workers), paths in sorted(sets.items()))
        raise StateError(f'no complete set of states in "{directory}" on all workers; worker '
                         f'{what.group.rank} of {what.group.workers} sees: {parts or "nothing"}')
    _, workers = newest
    paths = sets[newest]
    own = _read(paths[what.group.rank % workers])
    if workers == what.group.workers:
        what.load_state_dict(own["state"])
    else:
        what.load_state_dict([_read(paths[rank])["state"] for rank in range(workers)])
    return {name: value for name, value in own.items() if name != "state"}
