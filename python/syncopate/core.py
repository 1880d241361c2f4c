"""The library's objects, owned by Python: layout, group, reducer, worker, archive.

Arrays are passed by address: the caller must make sure that they are float32, contiguous, of the
layout's size, and alive for as long as the call's contract requires (see include/syncopate). What
frameworks need on top is in syncopate.torch.
"""
from __future__ import annotations

import bisect
import ctypes
import sys
import weakref
from ctypes import byref, c_char_p, c_size_t, c_void_p
from typing import Callable, Iterable, Sequence

from .errors import ClosedError
from .library import C, Cost, Merged, Rates, Step, TensorPolicy, TensorRates, Ticket
from .options import GroupOptions, ReducerOptions, WorkerOptions

STOPPED = 11  # SYN_STOPPED


SUMMED = ("bytes_out", "bytes_in", "selected", "taken_back", "select_ms", "encode_ms", "exchange_ms",
          "wait_ms", "forgotten", "forgotten_mass")  # the fields of a cost that add up over steps


def cost_as_dict(cost: Cost) -> dict[str, float]:
    """What steps cost, by name."""
    return {name: getattr(cost, name) for name, _ in Cost._fields_}


class _Owned:
    """A handle of the library that is closed once: by close(), or when it is garbage-collected."""

    def __init__(self, handle: c_void_p, release: Callable[[c_void_p], None]):
        self._handle = handle
        self._finalizer = weakref.finalize(self, release, handle)

    @property
    def handle(self) -> c_void_p:
        """The library's handle. ClosedError after close(), because the library would read freed memory."""
        if self.is_closed:
            raise ClosedError(f"this {type(self).__name__.lower()} is closed")
        return self._handle

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return not self._finalizer.alive

    def close(self) -> None:
        """Release it. Harmless when called twice."""
        self._finalizer()


class Layout(_Owned):
    """Named tensors, one after the other, in one flat array."""

    def __init__(self, tensors: Iterable[tuple[str, int]]):
        handle = c_void_p()
        C.syn_layout_new(byref(handle))
        super().__init__(handle, C.syn_layout_free)
        self.names: list[str] = []
        self.counts: list[int] = []
        self.offsets: list[int] = []
        self.size = 0
        for name, count in tensors:
            C.syn_layout_add(handle, name.encode(), count)
            self.names.append(name)
            self.counts.append(count)
            self.offsets.append(self.size)
            self.size += count

    def rate(self, number: int, lr: float, weight_decay: float) -> None:
        """Give a tensor its own multiples of the optimizer's learning rate and weight decay."""
        C.syn_layout_rate(self.handle, number, TensorRates(lr, weight_decay))

    def set_policy(self, number: int, is_dense: bool, is_frozen: bool, density: float) -> None:
        """Always send all of a tensor, leave it as it is, or always send this share of it; at most one of these."""
        C.syn_layout_set_policy(self.handle, number, TensorPolicy(is_dense, is_frozen, density))

    def tensor_of(self, entry: int) -> int:
        """The number of the tensor that contains an entry of the flat array."""
        return bisect.bisect_right(self.offsets, entry) - 1


def tell_of_failure(group: c_void_p) -> None:
    """If an exception ends this process, tell the others, so that they do not wait for it."""
    error = getattr(sys, "last_value", None)
    if error is not None:
        C.syn_group_leave(group, STOPPED, f"{type(error).__name__}: {error}".encode())


def _leave(group: c_void_p) -> None:
    tell_of_failure(group)
    C.syn_group_close(group)


class Group(_Owned):
    """The workers that train one model, and this one's place among them."""

    def __init__(self, handle: c_void_p, release: Callable[[c_void_p], None] = _leave):
        super().__init__(handle, release)
        self.rank: int = C.syn_group_rank(handle)
        self.size: int = C.syn_group_size(handle)  # members: workers, then servers
        self.workers: int = C.syn_group_workers(handle)
        self.transport: str = C.syn_group_transport(handle).decode()

    @classmethod
    def over_mpi(cls, options: GroupOptions | None = None) -> "Group":
        """Join all processes that mpirun started. Blocks until all have joined."""
        handle = c_void_p()
        C.syn_group_open_mpi(None, options.address if options else None, byref(handle))
        return cls(handle)

    def appoint(self, servers: int) -> None:
        """Make the last members parameter servers. All members call it with the same number, before they open anything."""
        C.syn_group_appoint(self.handle, servers)
        self.workers = C.syn_group_workers(self.handle)

    @property
    def is_server(self) -> bool:
        """Whether this member is a parameter server."""
        return self.rank >= self.workers

    @classmethod
    def of_threads(cls, workers: int, options: GroupOptions | None = None) -> "list[Group]":
        """A group of threads of this process; each thread uses one element."""
        handles = (c_void_p * workers)()
        C.syn_group_open_threads(workers, options.address if options else None, handles)
        return [cls(c_void_p(handle)) for handle in handles]

    def explain(self, error: Exception) -> Exception:
        """The error, with details that only the transport knows."""
        return error


class Reducer(_Owned):
    """Takes a gradient, returns the sum over all workers, and keeps what was not sent."""

    def __init__(self, group: Group, layout: Layout, options: ReducerOptions):
        handle = c_void_p()
        C.syn_reducer_open(group.handle, layout.handle, options.address, byref(handle))
        super().__init__(handle, C.syn_reducer_close)
        self.group = group
        self.layout = layout
        self.merged = Merged()
        self._ticket = Ticket()

    def start(self, gradient: int, density: float, scale: float = 1.0) -> None:
        """Announce a step whose tensors become ready one by one."""
        C.syn_reducer_start(self.handle, gradient, byref(Step(density, scale)), byref(self._ticket))

    def ready(self, tensor: int) -> None:
        """Announce that this tensor of the step that was started last is final."""
        C.syn_reducer_ready(self.handle, tensor)

    def begin(self, gradient: int, density: float, scale: float = 1.0) -> None:
        """Begin to merge a whole gradient."""
        C.syn_reducer_begin(self.handle, gradient, byref(Step(density, scale)), byref(self._ticket))

    def wait(self) -> Merged:
        """The sum over all workers, valid until the next step begins. Blocks."""
        C.syn_reducer_wait(self.handle, self._ticket, byref(self.merged))
        return self.merged

    def finish(self, factor: float, places: ctypes.Array) -> Merged:
        """Wait, and write factor times the sum to these Places: only its entries if it is sparse."""
        self.wait()
        C.syn_bridge_spread(byref(self.merged), factor, places, len(places))
        return self.merged

    def step(self, pieces: ctypes.Array, density: float, scale: float, factor: float,
             places: ctypes.Array) -> Merged:
        """A whole step in one call: the gradient is in these Pieces, and its sum goes to Places as in finish().
        Blocks."""
        C.syn_bridge_step(self.handle, pieces, len(pieces), byref(Step(density, scale)), factor,
                          places, len(places), byref(self.merged))
        return self.merged

    def clear(self, places: ctypes.Array) -> None:
        """Set the Places to zero again that the last sum was written to, before the next step begins."""
        C.syn_bridge_clear(byref(self.merged), places, len(places))

    def drop(self) -> None:
        """Take the last step back, as if its gradient had never been handed over."""
        C.syn_reducer_drop(self.handle)

    def gather(self, mine: int, count: int, everyone: int) -> None:
        """Send count bytes at address mine to all workers; receive theirs, in the order of ranks, at everyone."""
        C.syn_reducer_gather(self.handle, mine, count, everyone)

    def residual(self) -> int | None:
        """The address of what this worker has not sent yet."""
        return C.syn_reducer_residual(self.handle)

    def save(self) -> bytearray:
        """This worker's state, in the form of docs/formats.md."""
        state = bytearray(C.syn_reducer_state_bytes(self.handle))
        C.syn_reducer_save(self.handle, (ctypes.c_char * len(state)).from_buffer(state))
        return state

    def load(self, state: bytes) -> None:
        """Load this worker's own state."""
        C.syn_reducer_load(self.handle, state, len(state))

    def load_regrouped(self, states: Sequence[bytes]) -> None:
        """Load the states of all workers of a run with another number of workers."""
        count = len(states)
        C.syn_reducer_load_regrouped(self.handle, (c_char_p * count)(*states),
                                     (c_size_t * count)(*map(len, states)), count)


class Archive(_Owned):
    """Named sections of bytes."""

    def __init__(self, sections: Iterable[tuple[str, bytes]] = ()):
        handle = c_void_p()
        C.syn_archive_new(byref(handle))
        super().__init__(handle, C.syn_archive_free)
        for name, content in sections:
            C.syn_archive_add(handle, name.encode(), content, len(content))

    def sections(self) -> dict[str, bytes]:
        """A copy of every section."""
        found: dict[str, bytes] = {}
        while (section := C.syn_archive_section(self.handle, len(found))).name is not None:
            found[section.name.decode()] = ctypes.string_at(section.bytes, section.count)
        return found


class Worker(_Owned):
    """Hands over the gradient computed at its weights, and gets the weights for the next one."""

    def __init__(self, group: Group, layout: Layout, options: WorkerOptions, weights: int):
        handle = c_void_p()
        C.syn_worker_open(group.handle, layout.handle, options.address, weights, byref(handle))
        super().__init__(handle, C.syn_worker_close)
        self.group = group
        self.layout = layout

    def step(self, gradient: int, lr: float, density: float, weights: int) -> None:
        """One step. Blocks as the schedule says."""
        C.syn_worker_step(self.handle, gradient, byref(Rates(lr, density)), weights)

    def tune(self, options: WorkerOptions, layout: Layout) -> None:
        """Make further steps with these settings of the optimizer and the layout's current rates."""
        C.syn_worker_tune(self.handle, options.optimizer_address, layout.handle)

    def settle(self, weights: int) -> None:
        """Wait for all that is under way and get the global weights."""
        C.syn_worker_settle(self.handle, weights)

    def gather(self, mine: int, count: int, everyone: int) -> None:
        """Send count bytes to all workers, and receive theirs."""
        C.syn_worker_gather(self.handle, mine, count, everyone)

    def last_cost(self) -> Cost:
        """What the last step cost."""
        return C.syn_worker_last_cost(self.handle)

    def total_cost(self) -> Cost:
        """What all steps cost."""
        return C.syn_worker_total_cost(self.handle)

    def steps(self) -> int:
        """The number of steps made."""
        return C.syn_worker_steps(self.handle)

    def residual(self) -> int | None:
        """The address of what this worker has not sent yet, after settle()."""
        return C.syn_worker_residual(self.handle)

    def save(self) -> dict[str, bytes]:
        """This worker's state; settles first, so all workers call it."""
        archive = Archive()
        C.syn_worker_save(self.handle, archive.handle)
        return archive.sections()

    def load(self, sections: dict[str, bytes]) -> None:
        """Load this worker's own state, before the first step."""
        archive = Archive(sections.items())
        C.syn_worker_load(self.handle, archive.handle)

    def load_regrouped(self, states: Sequence[dict[str, bytes]]) -> None:
        """Load the states of all workers of a run with another number of workers."""
        archives = [Archive(sections.items()) for sections in states]
        handles = (c_void_p * len(archives))(*[archive.handle for archive in archives])
        C.syn_worker_load_regrouped(self.handle, handles, len(archives))


def serve(group: Group, layout: Layout, options: WorkerOptions, weights: int) -> None:
    """Run as a parameter server until all workers have closed."""
    C.syn_worker_serve(group.handle, layout.handle, options.address, weights)


def under_mpi() -> bool:
    """Whether mpirun started this process."""
    return C.syn_group_under_mpi()
