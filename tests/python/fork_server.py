"""Processes that have PyTorch already: one imports it, which takes seconds, and every worker is forked from there.

    worker = Worker([file, scene], environment)     as subprocess.Popen of sys.executable; its output is in a file

The process that imports, the fork server (this file as a script), computes nothing, so that no worker inherits a pool
of threads. A worker ends as any Python does, unless it leaves by itself. When the process that asked for it has ended,
by whatever cause, the server and its workers end too. All workers of a server have the same hash seed; processes of
their own have not.
"""
import atexit
import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile

PR_SET_PDEATHSIG = 1
GONE = "the process that workers are forked from has ended; its standard error says why"
_links = []  # to this process's server, once there is one


def _link():
    if not _links:
        ours, its = socket.socketpair()
        without_threads = dict(os.environ, OPENBLAS_NUM_THREADS="1")  # it starts them when it is loaded
        with its:
            process = subprocess.Popen([sys.executable, __file__, str(os.getpid()), str(its.fileno())],
                                       pass_fds=[its.fileno()], stdout=subprocess.DEVNULL, env=without_threads)
        _links.append(ours)
        atexit.register(lambda: (ours.close(), process.wait()))
    return _links[0]


class Worker:
    """What tests use of subprocess.Popen."""

    def __init__(self, argv, environment):
        self.argv, self.returncode = argv, None
        self._output = tempfile.TemporaryFile()  # unlike a pipe it is never full, whoever is waited for first
        self._channel, its = socket.socketpair()
        job = {"argv": argv, "environment": dict(environment), "folder": os.getcwd()}
        try:
            with its:
                socket.send_fds(_link(), [b"."], [self._output.fileno(), its.fileno()])
            self._channel.sendall(json.dumps(job).encode() + b"\n")
        except ConnectionError as error:
            raise ChildProcessError(GONE) from error
        self.pid = self._next()

    def _next(self):
        """The next number that the server tells of the worker."""
        try:
            number = self._channel.recv(4, socket.MSG_WAITALL)
        except ConnectionError:
            number = b""
        if len(number) < 4:
            raise ChildProcessError(GONE)
        return int.from_bytes(number, "little", signed=True)

    def wait(self, timeout=None):
        if self.returncode is None:
            if not select.select([self._channel], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.argv, timeout, self._read())
            self.returncode = self._next()
        return self.returncode

    def poll(self):
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def communicate(self, timeout=None):
        self.wait(timeout)
        return self._read().decode(errors="replace"), None

    def _read(self):
        return os.pread(self._output.fileno(), os.fstat(self._output.fileno()).st_size, 0)

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def die_with(parent):
    """Even if it is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was faster
        os._exit(1)


def tell(channel, number):
    try:
        channel.sendall(number.to_bytes(4, "little", signed=True))
    except OSError:
        pass  # nobody asks any more


def report_ended(children):
    """Tell how those children ended that have ended."""
    for pid in list(children):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            channel = children.pop(pid)
            tell(channel, -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
            channel.close()


def serve(link):
    """Fork whenever asked to. Returns in each child, with its output and its channel; the server itself ends here."""
    children, server = {}, os.getpid()
    woken, wakes = socket.socketpair()
    for end in (woken, wakes):
        end.setblocking(False)
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted test ends its workers itself
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno())  # a child that ends before select() is called wakes it all the same
    while True:
        ready = select.select([link, woken], [], [])[0]
        if woken in ready:
            woken.recv(4096)
            report_ended(children)
        if link in ready:
            request, handles, _, _ = socket.recv_fds(link, 1, 2)
            if not request:
                sys.exit()
            output, channel = handles[0], socket.socket(fileno=handles[1])
            pid = os.fork()
            if pid == 0:
                die_with(server)
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, interrupted)
                for other in (link, woken, wakes, *children.values()):
                    other.close()
                return output, channel
            os.close(output)
            tell(channel, pid)
            children[pid] = channel


def set_up_worker(output, channel):
    """This process is a worker from now on: with the file, the arguments and the environment that it is told."""
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    with channel, channel.makefile("r") as lines:
        job = json.loads(lines.readline())
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    sys.argv[:] = job["argv"]
    sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    import pytest  # noqa: F401
    import syncopate.torch  # noqa: F401
    gc.freeze()  # a worker that ends need not search what it has inherited, and copy it by that
    set_up_worker(*serve(socket.socket(fileno=int(sys.argv[2]))))
    runpy.run_path(sys.argv[0], run_name="__main__")  # out of all functions, so that what it raises ends the process
