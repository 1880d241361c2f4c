"""Messages over torch.distributed, on a gloo group of our own, for the library's `caller` transport.

gloo cannot be asked whether a message has arrived, only to wait for it; so threads wait, and mark a
word of memory that the library looks at without entering Python (bridge.c). Messages are copied on
their way in and out: what gloo still holds when a group fails is then never the library's memory. A
send is done for the library as soon as it is copied.

The library sends a frame of 16 bytes and then the body that it announces. Every message of gloo's costs
a round trip and some threads that wake one another, so both travel as one: a cell of fixed size, and the
rest, if any, behind it.

A thread that still waits while the interpreter shuts down would bring the process down with it, and
gloo has no way to wake it. So workers say goodbye: whoever leaves, or hears that another one does, sends
a last frame, and reads on until the other side's has come.
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
from ctypes import byref, c_int32, c_void_p

import torch
import torch.distributed as dist

from ..core import Group, tell_of_failure
from ..errors import OptionError, PeerError
from ..library import C, START, Transport, address_of
from ..options import GroupOptions

UNDER_WAY, _ARRIVING, DONE, FAILED = range(4)  # enum syn_bridge_state
FRAME = struct.Struct("<QQ")  # kind, bytes of the message behind it; docs/formats.md
CELL = 4096
ROOM = CELL - FRAME.size
GOODBYE = FRAME.pack(2**64 - 1, 0)
FOR_EVER = datetime.timedelta(days=365)  # the library has time-outs of its own
LEAVE_SECONDS = 5
LEFT_SECONDS = 5  # in which what others still exchange among themselves may come to its end


def _bytes_at(address: int, count: int) -> torch.Tensor:
    """Memory as a tensor, without a copy."""
    return torch.frombuffer((ctypes.c_char * count).from_address(address), dtype=torch.uint8)


class _Peer:
    """What is under way between this worker and another one."""

    def __init__(self, rank: int, channel: dist.ProcessGroup, states: ctypes.Array):
        self.rank = rank
        self.trouble: str | None = None
        self._channel = channel
        self.sending, self.receiving = (
            ctypes.pointer(c_int32.from_buffer(states, 4 * (2 * rank + i))) for i in range(2))
        C.syn_bridge_mark(self.sending, DONE)
        self._frame: bytes | None = None  # of the message whose body the library sends next
        self._sent: queue.SimpleQueue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._asked: int | None = None  # where the library wants the next part
        self._parts: list[tuple[int, int]] = []  # of the message that has come: address, bytes
        self._taken: queue.SimpleQueue = queue.SimpleQueue()  # a token for each message
        self._body = torch.empty(0, dtype=torch.uint8)
        self._has_left = False
        self._has_parted = False
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=run, name=f"syncopate-{rank}", daemon=True)
                         for run in (self._finish_sends, self._read)]
        for thread in self._threads:
            thread.start()

    def fail(self, error: object) -> None:
        """From now on every question about this peer is answered with failure."""
        self.trouble = self.trouble or " ".join(str(error).split())
        C.syn_bridge_mark(self.sending, FAILED)
        C.syn_bridge_mark(self.receiving, FAILED)

    # Sending, on the library's thread.

    def send_part(self, address: int, count: int) -> None:
        """A frame, or the body that belongs to the last one."""
        if self._frame is None:
            self._frame = ctypes.string_at(address, count)
            if FRAME.unpack(self._frame)[1] > 0:
                return
            address = count = 0
        frame, self._frame = self._frame, None
        self._send(frame, address, count)

    def _send(self, frame: bytes, address: int = 0, count: int = 0) -> None:
        if self._has_left:  # it has all it needed
            return
        cell = torch.zeros(CELL, dtype=torch.uint8)
        first = min(count, ROOM)
        ctypes.memmove(cell.data_ptr(), frame, FRAME.size)
        ctypes.memmove(cell.data_ptr() + FRAME.size, address, first)
        self._begin_send(cell)
        if count > first:
            self._begin_send(_bytes_at(address + first, count - first).clone())

    def _begin_send(self, message: torch.Tensor) -> None:
        self._sent.put((dist.isend(message, self.rank, self._channel), message))

    def _finish_sends(self) -> None:
        while (item := self._sent.get()) is not None:
            try:
                item[0].wait(FOR_EVER)
            except RuntimeError as error:
                self.fail(error)

    # Receiving: the library asks, the reading thread offers.

    def ask(self, address: int, count: int) -> None:
        """The library wants the next part, which has so many bytes."""
        with self._lock:
            C.syn_bridge_mark(self.receiving, UNDER_WAY)
            self._asked = address
            self._serve()

    def _serve(self) -> None:
        if self._asked is None or not self._parts:
            return
        part, count = self._parts.pop(0)
        C.syn_bridge_deliver(self.receiving, self._asked, part, count)
        self._asked = None
        if not self._parts:
            self._taken.put(True)

    def _begin_receive(self, message: torch.Tensor) -> dist.Work:
        return dist.irecv(message, self.rank, self._channel)

    def _receive_rest(self, cell: torch.Tensor, count: int) -> int:
        """The rest of a body that is too long for a cell; where all of it is then."""
        if self._body.numel() < count:
            self._body = torch.empty(count, dtype=torch.uint8)
        ctypes.memmove(self._body.data_ptr(), cell.data_ptr() + FRAME.size, ROOM)
        self._begin_receive(self._body[ROOM:count]).wait(FOR_EVER)
        return self._body.data_ptr()

    def _read(self) -> None:
        """One message after the other, until a goodbye. The next cell's receive is begun before this
        message is taken, so that whoever sends it need not wait."""
        cells = itertools.cycle(torch.empty(2, CELL, dtype=torch.uint8))
        try:
            cell = next(cells)
            work = self._begin_receive(cell)
            while True:
                work.wait(FOR_EVER)
                frame = ctypes.string_at(cell.data_ptr(), FRAME.size)
                if frame == GOODBYE:
                    break
                count = FRAME.unpack(frame)[1]
                body = cell.data_ptr() + FRAME.size
                if count > ROOM:
                    body = self._receive_rest(cell, count)
                parts = [(cell.data_ptr(), FRAME.size), (body, count)][:1 + (count > 0)]
                cell = next(cells)
                work = self._begin_receive(cell)
                self._offer(parts)
        except RuntimeError as error:
            self.fail(error)
            return
        self.part()
        self._has_left = True
        if not self._is_over.wait(LEFT_SECONDS):
            self.fail("it has left")

    def _offer(self, parts: list[tuple[int, int]]) -> None:
        if self._has_parted:  # nobody will ask
            return
        with self._lock:
            self._parts = parts
            self._serve()
        self._taken.get()

    # The end.

    def part(self) -> None:
        """Say goodbye, once, and let the threads end."""
        with self._lock:
            if self._has_parted:
                return
            self._has_parted = True
        try:
            self._send(GOODBYE)
        except RuntimeError as error:
            self.fail(error)
        self._sent.put(None)
        self._taken.put(True)

    def join(self, deadline: float) -> None:
        """Wait for the threads to end."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _leave(group: c_void_p, peers: list[_Peer]) -> None:
    tell_of_failure(group)
    deadline = time.monotonic() + LEAVE_SECONDS
    for peer in peers:
        peer.part()
    for peer in peers:
        peer.join(deadline)
    C.syn_group_close(group)


class DistributedGroup(Group):
    """The group of all processes of torch.distributed. Collective."""

    def __init__(self, options: GroupOptions | None = None):
        if not dist.is_available() or not dist.is_initialized():
            raise OptionError("torch.distributed is not initialised, and mpirun did not start this "
                              "process; call torch.distributed.init_process_group() first, or "
                              "syncopate.torch.init()")
        channel = dist.new_group(backend="gloo")
        workers, rank = dist.get_world_size(), dist.get_rank()
        states = (c_int32 * (2 * workers))()
        self._peers = {peer: _Peer(peer, channel, states) for peer in range(workers) if peer != rank}
        # The library keeps the callbacks' addresses, so they live as long as this object.
        self._transport = Transport(None, START(self._start_send), START(self._start_receive),
                                    address_of("syn_bridge_test"), address_of("syn_bridge_cancel"))
        handle = c_void_p()
        C.syn_group_open_caller(byref(self._transport), rank, workers,
                                options.address if options else None, byref(handle))
        super().__init__(handle, functools.partial(_leave, peers=list(self._peers.values())))

    def _start_send(self, _context: int, peer: int, address: int, count: int, handle) -> int:
        to = self._peers[peer]
        if to.trouble:
            return 1
        try:
            to.send_part(address, count)
        except Exception as error:  # nothing may pass through C
            to.fail(error)
            return 1
        handle[0] = ctypes.addressof(to.sending.contents)
        return 0

    def _start_receive(self, _context: int, peer: int, address: int, count: int, handle) -> int:
        whom = self._peers[peer]
        if whom.trouble:
            return 1
        try:
            whom.ask(address, count)
        except Exception as error:
            whom.fail(error)
            return 1
        handle[0] = ctypes.addressof(whom.receiving.contents)
        return 0

    def explain(self, error: Exception) -> Exception:
        """Add what gloo says of the workers that cannot be reached."""
        said = [f"worker {rank}: {peer.trouble}" for rank, peer in self._peers.items() if peer.trouble]
        if not said or not isinstance(error, PeerError):
            return error
        return PeerError(f"{error} ({'; '.join(said)})")
