"""Running a function of a test file on several workers, each a process of its own.

    def scene(rank, workers): ...          in test_x.py; asserts on every worker
    run(__file__, scene, 4)                starts test_x.py scene as worker 0, 1, 2, 3

A worker that fails fails the test with all workers' output. Workers are forked with PyTorch in them; a scene that
needs a Python of its own says fresh=True.
"""
import atexit
import os
import socket
import subprocess
import sys

from fork_server import Worker

SECONDS = 1200  # a hung scene, not one on a busy machine where PyTorch compiles C++


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def launch(argv, workers, fresh=False):
    """The processes of a Python file, which keep their output."""
    port = str(free_port())
    started = []
    for rank in range(workers):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(workers),
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=port, GLOO_SOCKET_IFNAME="lo")
        started.append(subprocess.Popen([sys.executable, *argv], env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True) if fresh else Worker(argv, environment))
    return started


def start(file, scene, workers, *arguments, fresh=False):
    """The processes of a scene."""
    return launch([file, scene.__name__, *map(str, arguments)], workers, fresh)


def finish(started, seconds=SECONDS):
    """(exit codes, outputs). Nobody outlives the test."""
    try:
        outputs = [process.communicate(timeout=seconds)[0] for process in started]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
    return [process.returncode for process in started], outputs


def succeed(started):
    """The outputs of processes that must all succeed."""
    codes, outputs = finish(started)
    assert not any(codes), "\n".join(f"--- worker {rank}: exit code {code}\n{output}"
                                     for rank, (code, output) in enumerate(zip(codes, outputs)))
    return outputs


def run(file, scene, workers, *arguments, fresh=False):
    """Run a scene; every worker must succeed. Their outputs."""
    return succeed(start(file, scene, workers, *arguments, fresh=fresh))


def main(scenes, together=False):
    """What a test file does when it is started as a worker.

    It ends as any Python does, groups being closed (together: when all have finished), up to taking the interpreter
    down: a tensor that one of PyTorch's threads frees after a collective call needs the interpreter's lock. While that
    is being taken down, PyTorch 2.6 aborts the process; in destroy_process_group() it may wait for ever."""
    import torch
    import syncopate.torch
    torch.set_num_threads(1)
    rank, workers = syncopate.torch.init()
    scenes[sys.argv[1]](rank, workers, *sys.argv[2:])
    if together:
        torch.distributed.barrier()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
