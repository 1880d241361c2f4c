"""Messages over torch.distributed, on a separate gloo group, for the library's `caller` transport.

gloo cannot test whether a message has arrived, but only wait for it; so a thread for each peer waits,
and offers what has arrived to the library (bridge.c), which sleeps until then. Messages are copied when sent
and received, so that gloo never holds the library's memory when a group fails. For the library, a send is
done as soon as it is copied.

Every gloo message costs a round trip unless its receive has been posted before. So each of our messages is
one gloo message, for which a cell is always ready; gloo needs enough room, not the exact size. Only what
does not fit follows in a second one.

A thread that still waits while the interpreter shuts down would crash the process, and
gloo has no way to wake it. So workers say goodbye: a worker that leaves, or learns that another one does, sends
a last frame, and reads until the other side's has arrived.
"""
from __future__ import annotations

import ctypes
import datetime
import functools
import itertools
import queue
import struct
import threading
import time
from ctypes import byref, c_void_p

import torch
import torch.distributed as dist

from ..core import Group, tell_of_failure
from ..errors import OptionError, PeerError
from ..library import C, POST
from ..options import GroupOptions

FRAME = struct.Struct("<QQ")  # kind, bytes of the message after it; docs/formats.md
CELL = 65536
ROOM = CELL - FRAME.size
GOODBYE = FRAME.pack(2**64 - 1, 0)
FOR_EVER = datetime.timedelta(days=365)  # the library has its own time-outs
SWEEP_SECONDS = 0.25
LEAVE_SECONDS = 5
LEFT_SECONDS = 5  # for the others to finish what they still exchange among themselves
TAG = 0


class _Peer:
    """What is under way between this worker and another one."""

    def __init__(self, rank: int, channel: dist.ProcessGroup, bridge: c_void_p):
        self.rank = rank
        self.trouble: str | None = None
        self._channel = channel
        self._bridge = bridge
        self._sent: queue.SimpleQueue = queue.SimpleQueue()
        self._body = torch.empty(0, dtype=torch.uint8)
        self._lock = threading.Lock()
        self._has_left = False
        self._has_parted = False
        self._has_sent_all = threading.Event()
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=run, name=f"syncopate-{rank}", daemon=True)
                         for run in (self._finish_sends, self._read)]
        for thread in self._threads:
            thread.start()

    def fail(self, error: object) -> None:
        """From now on every operation with this peer fails."""
        self.trouble = self.trouble or " ".join(str(error).split())
        C.syn_bridge_fail(self._bridge, self.rank)

    # Sending, on the library's thread.

    def send(self, frame: int | bytes, body: int | None, count: int) -> None:
        """Send a copy of a frame and of the body after it, both given by address."""
        if self._has_left:  # it needs nothing more
            return
        message = torch.empty(FRAME.size + count, dtype=torch.uint8)
        ctypes.memmove(message.data_ptr(), frame, FRAME.size)
        if count:
            ctypes.memmove(message.data_ptr() + FRAME.size, body, count)
        for part in (message,) if count <= ROOM else (message[:CELL], message[CELL:]):
            self._sent.put((self._channel.send([part], self.rank, TAG), part))

    def _finish_sends(self) -> None:
        """Complete sends periodically: a wake-up for each would disturb the training threads."""
        while not self._has_sent_all.wait(SWEEP_SECONDS):
            self._sweep()
        self._sweep()

    def _sweep(self) -> None:
        while not self._sent.empty():
            work, _part = self._sent.get()
            try:
                work.wait(FOR_EVER)
            except RuntimeError as error:
                self.fail(error)

    # Receiving, on a separate thread.

    def _begin_receive(self, message: torch.Tensor) -> dist.Work:
        return self._channel.recv([message], self.rank, TAG)

    def _receive_rest(self, cell: torch.Tensor, count: int) -> int:
        """Receive the rest of a body that is too long for a cell; returns the address of the whole body."""
        if self._body.numel() < count:
            self._body = torch.empty(count, dtype=torch.uint8)
        ctypes.memmove(self._body.data_ptr(), cell.data_ptr() + FRAME.size, ROOM)
        self._begin_receive(self._body[ROOM:count]).wait(FOR_EVER)
        return self._body.data_ptr()

    def _read(self) -> None:
        try:
            self._read_all()
        except RuntimeError as error:
            self.fail(error)
            return
        self.part()
        self._has_left = True
        if not self._is_over.wait(LEFT_SECONDS):
            self.fail("it has left")

    def _read_all(self) -> None:
        """Receive one message after the other, until a goodbye. The next cell's receive is posted before this
        message has been taken completely, so that the next sender need not wait."""
        cells = itertools.cycle(torch.empty(2, CELL, dtype=torch.uint8))
        cell = next(cells)
        work = self._begin_receive(cell)
        while True:
            work.wait(FOR_EVER)
            start = cell.data_ptr()
            frame = ctypes.string_at(start, FRAME.size)
            if frame == GOODBYE:
                return
            count = FRAME.unpack(frame)[1]
            body = start + FRAME.size if count <= ROOM else self._receive_rest(cell, count)
            C.syn_bridge_offer(self._bridge, self.rank, start, body, count)
            cell = next(cells)
            work = self._begin_receive(cell)
            C.syn_bridge_rest(self._bridge, self.rank)

    # The end.

    def part(self) -> None:
        """Say goodbye, once, and let the threads end."""
        with self._lock:
            if self._has_parted:
                return
            self._has_parted = True
        try:
            self.send(GOODBYE, None, 0)
        except RuntimeError as error:
            self.fail(error)
        self._has_sent_all.set()
        C.syn_bridge_part(self._bridge, self.rank)

    def join(self, deadline: float) -> bool:
        """Wait for the threads to end; returns whether they have."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)


def _leave(group: c_void_p, bridge: c_void_p, peers: list[_Peer]) -> None:
    tell_of_failure(group)
    deadline = time.monotonic() + LEAVE_SECONDS
    for peer in peers:
        peer.part()
    have_ended = [peer.join(deadline) for peer in peers]
    C.syn_group_close(group)
    if all(have_ended):  # otherwise a thread may still use it
        C.syn_bridge_free(bridge)


class DistributedGroup(Group):
    """The group of all processes of torch.distributed. Collective."""

    def __init__(self, options: GroupOptions | None = None):
        if not dist.is_available() or not dist.is_initialized():
            raise OptionError("torch.distributed is not initialised, and mpirun did not start this "
                              "process; call torch.distributed.init_process_group() first, or "
                              "syncopate.torch.init()")
        channel = dist.new_group(backend="gloo")
        workers, rank = dist.get_world_size(), dist.get_rank()
        self._post_function = POST(self._post)  # the library keeps its address
        bridge = c_void_p(C.syn_bridge_new(workers, self._post_function))
        if not bridge:
            raise MemoryError("no memory for a group")
        self._peers = {peer: _Peer(peer, channel, bridge) for peer in range(workers) if peer != rank}
        handle = c_void_p()
        C.syn_bridge_join(bridge, rank, options.address if options else None, byref(handle))
        super().__init__(handle, functools.partial(_leave, bridge=bridge,
                                                   peers=list(self._peers.values())))

    def _post(self, rank: int, frame: int, body: int | None, count: int) -> int:
        peer = self._peers[rank]
        try:
            peer.send(frame, body, count)
        except Exception as error:  # no exception may pass through C
            peer.fail(error)
            return 1
        return 0

    def explain(self, error: Exception) -> Exception:
        """Add gloo's messages about the workers that cannot be reached."""
        said = [f"worker {rank}: {peer.trouble}" for rank, peer in self._peers.items() if peer.trouble]
        if not said or not isinstance(error, PeerError):
            return error
        return PeerError(f"{error} ({'; '.join(said)})")
