"""A worker that dies, goes wrong or differs makes the others raise an exception that names it; nobody
hangs."""
import os
import signal

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import workers as cluster

VICTIM = 2


def step_until(rank, fault, timeout_ms=30000):
    """Train; in the third step the victim meets its fate."""
    import syncopate.torch
    ddp = DistributedDataParallel(nn.Linear(30, 20))
    syncopate.torch.attach(ddp, "gtopk", density=0.1, timeout_ms=timeout_ms)
    for step in range(6):
        if rank == VICTIM and step == 3:
            fault()
        ddp(torch.randn(4, 30)).sum().backward()


def killed(rank, workers):
    step_until(rank, lambda: os.kill(os.getpid(), signal.SIGKILL))


def raising(rank, workers):
    def fault():
        raise KeyError("a bug in the training loop")
    step_until(rank, fault)


def stopped(rank, workers):
    step_until(rank, lambda: os.kill(os.getpid(), signal.SIGSTOP), timeout_ms=3000)


def evaluating(rank, workers):
    """Worker 0 is busy without the library for far longer than the time-out; the others wait for it."""
    import time
    import syncopate.torch
    torch.manual_seed(1)
    ddp = DistributedDataParallel(nn.Linear(30, 20))
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.1, timeout_ms=700)
    for step in range(4):
        ddp(torch.randn(4, 30)).sum().backward()
        ends = time.monotonic() + 3
        while rank == 0 and step == 1 and time.monotonic() < ends:
            with torch.no_grad():  # holds the interpreter's lock most of the time, as evaluating does
                ddp.module(torch.randn(64, 30))
    assert attached.stats()["steps"] == 4


def optimizer_killed(rank, workers):
    import syncopate.torch
    torch.manual_seed(1)
    model = nn.Linear(30, 20)
    optimizer = syncopate.torch.Optimizer(model, "ssd-sgd", lr=0.1, warmup=2, timeout_ms=30000)
    for step in range(20):
        if rank == VICTIM and step == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        model(torch.randn(4, 30)).sum().backward()
        optimizer.step()


def different_models(rank, workers):
    import syncopate.torch
    torch.manual_seed(rank == 1)
    try:
        syncopate.torch.Optimizer(nn.Linear(30, 20), "ssgd", lr=0.1)
    except syncopate.MismatchError as error:
        assert "weights" in str(error), str(error)
        return
    except syncopate.PeerError as error:
        assert "weights" in str(error), str(error)
        return
    raise AssertionError("opened with different weights")


def assert_survivors_name_the_victim(scene, workers=3, ends_by_itself=True):
    started = cluster.start(__file__, scene, workers)
    others = [process for rank, process in enumerate(started) if rank != VICTIM]
    try:
        codes, outputs = cluster.finish(others)
    finally:
        if not ends_by_itself:
            started[VICTIM].kill()
        cluster.finish([started[VICTIM]], 30)
    for code, output in zip(codes, outputs):
        assert code == 1, output
        assert "PeerError" in output and f"worker {VICTIM}" in output, output


def test_a_worker_that_evaluates_for_long_is_waited_for():
    cluster.run(__file__, evaluating, 3)


def test_a_killed_worker_is_named_by_all_others():
    assert_survivors_name_the_victim(killed)


def test_a_worker_with_a_bug_is_named_by_all_others():
    assert_survivors_name_the_victim(raising)


def test_a_silent_worker_is_named_by_all_others():
    assert_survivors_name_the_victim(stopped, ends_by_itself=False)


def test_a_killed_worker_is_named_by_delayed_ones_too():
    assert_survivors_name_the_victim(optimizer_killed)


def test_workers_that_begin_differently_are_told():
    cluster.run(__file__, different_models, 2)


if __name__ == "__main__":
    cluster.main(globals())
