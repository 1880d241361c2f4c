"""Gradients that a loop throws away: they stay away, and a loop that forgets to say so is told."""
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import workers as cluster

STEPS = 60
SPIKE = 20


def make_ddp():
    torch.manual_seed(5)
    return DistributedDataParallel(nn.Linear(40, 30, bias=False))


def batch_of(rank, step):
    """One batch is bad, on all workers."""
    torch.manual_seed(1000 * step + rank)
    inputs = torch.randn(8, 40)
    return inputs * (300 if step == SPIKE else 1), torch.randn(8, 30)


def skips_of_a_guarded_loop(ddp, rank, drop):
    """How many steps a guard leaves out that looks at the norm of the merged gradient."""
    sgd = torch.optim.SGD(ddp.parameters(), 0.01)
    skipped = 0
    norms = []
    for step in range(STEPS):
        inputs, wanted = batch_of(rank, step)
        sgd.zero_grad()
        (ddp(inputs) - wanted).square().mean().backward()
        norm = nn.utils.clip_grad_norm_(ddp.parameters(), 1e9).item()
        if len(norms) >= 10 and norm > 5 * sorted(norms)[len(norms) // 2]:
            skipped += 1
            drop()
            continue
        norms.append(norm)
        sgd.step()
    return skipped


def a_guard_skips_as_often_as_with_ddp(rank, workers):
    import syncopate.torch
    with_ddp = skips_of_a_guarded_loop(make_ddp(), rank, lambda: None)
    assert with_ddp == 1
    for algo, options in (("gtopk", {}), ("topk", {"momentum": 0.5}), ("strom", {}), ("ssgd", None)):
        ddp = make_ddp()
        attached = syncopate.torch.attach(ddp, algo, **({} if options is None
                                                        else {"density": 0.02, **options}))
        assert skips_of_a_guarded_loop(ddp, rank, attached.drop) == with_ddp, algo
        attached.close()
    ddp = make_ddp()
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.02)
    forgotten = skips_of_a_guarded_loop(ddp, rank, lambda: None)
    assert forgotten > 5 * with_ddp, "what was thrown away did not come back: this test shows nothing"
    attached.close()


def a_dropped_step_leaves_no_trace(rank, workers):
    import syncopate.torch
    ends = []
    for has_bad_batch in (False, True):
        ddp = make_ddp()
        attached = syncopate.torch.attach(ddp, "gtopk", density=0.02)
        sgd = torch.optim.SGD(ddp.parameters(), 0.01)
        for step in range(6):
            if step == 3 and has_bad_batch:
                ddp.zero_grad()
                (ddp(batch_of(rank, SPIKE)[0])).sum().backward()
                attached.drop()
            ddp.zero_grad()
            (ddp(batch_of(rank, step)[0])).square().mean().backward()
            sgd.step()
        ends.append((ddp.module.weight.detach().clone(), attached.residual().clone()))
        attached.close()
    assert all(torch.equal(*pair) for pair in zip(*ends))


def what_cannot_be_dropped_is_told(rank, workers):
    import syncopate.torch
    ddp = make_ddp()
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.02, nonfinite="nan")

    def refuses():
        try:
            attached.drop()
        except syncopate.OptionError as error:
            return "no step to drop" in str(error)
        return False
    assert refuses()
    ddp(batch_of(rank, 0)[0]).sum().backward()
    attached.drop()
    assert refuses()
    ddp(batch_of(rank, 0)[0] * float("nan")).sum().backward()
    attached.drop()  # it has left no trace already
    assert refuses()
    attached.close()


def a_weight_far_behind_is_seen_to_change(rank, workers):
    """The largest gradients are in the second tensor of the layout, and weights change without a version."""
    import syncopate.torch
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(40, 30, bias=False), nn.Linear(30, 1, bias=False))
    model[1].weight.data *= 1000
    ddp = DistributedDataParallel(model)
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.002)

    def run():
        for number in range(4):
            ddp.zero_grad()
            ddp(batch_of(rank, number)[0]).sum().backward()
            assert model[1].weight.grad.abs().max() == 0 < model[0].weight.grad.abs().max()
            for parameter in ddp.parameters():
                parameter.data -= 1e-6 * parameter.grad
    assert not warnings_of(run)
    attached.close()


def warnings_of(loop):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loop()
    return [str(each.message) for each in told]


def a_loop_that_throws_gradients_away_is_warned_once(rank, workers):
    import syncopate.torch

    def loop(make_step, algo="gtopk", **options):
        ddp = make_ddp()
        attached = syncopate.torch.attach(ddp, algo, **options)
        step = make_step(ddp, attached)

        def run():
            for number in range(6):
                ddp.zero_grad()
                ddp(batch_of(rank, number)[0]).square().mean().backward()
                step(number)
        told = warnings_of(run)
        attached.close()
        return told

    def with_sgd(ddp, _attached):
        sgd = torch.optim.SGD(ddp.parameters(), 0.01)
        return lambda _number: sgd.step()

    def by_hand(ddp, _attached):
        def step(_number):
            for parameter in ddp.parameters():
                parameter.data -= 0.01 * parameter.grad
        return step

    def never(_ddp, _attached):
        return lambda _number: None

    def dropping(_ddp, attached):
        return lambda _number: attached.drop()

    assert not loop(with_sgd, density=0.02) and not loop(by_hand, density=0.02)
    assert not loop(dropping, density=0.02)
    assert not loop(never, "ssgd"), "DDP's own way needs no warning"
    told = loop(never, density=0.02)
    assert len(told) == 1 and "attached.drop()" in told[0] and "no_sync()" in told[0], told


def all_scenes(rank, workers):
    for scene in (a_guard_skips_as_often_as_with_ddp, a_dropped_step_leaves_no_trace,
                  what_cannot_be_dropped_is_told, a_weight_far_behind_is_seen_to_change, a_loop_that_throws_gradients_away_is_warned_once):
        scene(rank, workers)
        dist.barrier()


def test_gradients_that_are_thrown_away():
    cluster.run(__file__, all_scenes, 2)


if __name__ == "__main__":
    cluster.main(globals())
