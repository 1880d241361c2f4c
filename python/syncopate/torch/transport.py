"""Messages over torch.distributed, on a gloo group of our own, for the library's `caller` transport.

gloo cannot be asked whether a message has arrived, only to wait for it; so threads wait, and mark a
word of memory that the library looks at without entering Python (bridge.c). Messages are copied on
their way in and out: what gloo still holds when a group fails is then never the library's memory. A
send is done for the library as soon as it is copied.

A thread that still waits while the interpreter shuts down would bring the process down with it, and
gloo has no way to wake it. So workers say goodbye: whoever leaves, or hears that another one does, sends
a last frame, and reads on until the other side's has come.
"""
from __future__ import annotations

import ctypes
import datetime
import functools
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
        self._sent: queue.SimpleQueue = queue.SimpleQueue()
        self._awaited: queue.SimpleQueue = queue.SimpleQueue()
        self._buffer = torch.empty(FRAME.size, dtype=torch.uint8)
        self._body = 0  # bytes of the message that the last frame announced
        self._has_left = False
        self._has_parted = False
        self._is_over = threading.Event()
        self._parting = threading.Lock()
        self._threads = [threading.Thread(target=run, name=f"syncopate-{rank}", daemon=True)
                         for run in (self._finish_sends, self._finish_receives)]
        for thread in self._threads:
            thread.start()

    def send(self, message: torch.Tensor) -> None:
        """Begin to send; the message is ours. Who has left has all it needed."""
        if self._has_left:
            return
        self._sent.put((dist.isend(message, self.rank, self._channel), message))

    def receive(self, address: int, count: int) -> None:
        """Begin to receive; one message may be under way."""
        C.syn_bridge_mark(self.receiving, UNDER_WAY)
        self._awaited.put((*self._begin_receive(count), address))

    def fail(self, error: object) -> None:
        """From now on every question about this peer is answered with failure."""
        self.trouble = self.trouble or " ".join(str(error).split())
        C.syn_bridge_mark(self.sending, FAILED)
        C.syn_bridge_mark(self.receiving, FAILED)

    def part(self) -> None:
        """Say goodbye, once, and let the threads end."""
        with self._parting:
            if self._has_parted:
                return
            self._has_parted = True
        try:
            self.send(torch.frombuffer(bytearray(GOODBYE), dtype=torch.uint8))
        except RuntimeError as error:
            self.fail(error)
        self._sent.put(None)
        self._awaited.put(None)

    def join(self, deadline: float) -> None:
        """Wait for the threads to end."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _begin_receive(self, count: int) -> tuple[dist.Work, torch.Tensor]:
        if self._buffer.numel() < count:
            self._buffer = torch.empty(count, dtype=torch.uint8)
        message = self._buffer[:count]
        return dist.irecv(message, self.rank, self._channel), message

    def _is_goodbye(self, message: torch.Tensor) -> bool:
        if self._body > 0:
            self._body = 0
            return False
        frame = ctypes.string_at(message.data_ptr(), FRAME.size)
        self._body = FRAME.unpack(frame)[1]
        return frame == GOODBYE

    def _finish_sends(self) -> None:
        while (item := self._sent.get()) is not None:
            try:
                item[0].wait(FOR_EVER)
            except RuntimeError as error:
                self.fail(error)

    def _finish_receives(self) -> None:
        try:
            while (item := self._awaited.get()) is not None:
                work, message, address = item
                work.wait(FOR_EVER)
                if self._is_goodbye(message):
                    self.part()
                    self._has_left = True
                    if not self._is_over.wait(LEFT_SECONDS):
                        self.fail("it has left")
                    return
                C.syn_bridge_deliver(self.receiving, address, message.data_ptr(), message.numel())
            self._read_on()
        except RuntimeError as error:
            self.fail(error)

    def _read_on(self) -> None:
        while True:
            work, message = self._begin_receive(self._body or FRAME.size)
            work.wait(FOR_EVER)
            if self._is_goodbye(message):
                return


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
            to.send(_bytes_at(address, count).clone())
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
            whom.receive(address, count)
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
