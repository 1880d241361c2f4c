"""What else PyTorch has that splits or rebuilds a model, together with attach() and Outer: they work, or are refused with
the reason."""
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

import syncopate
import syncopate.torch
from workers import main, run

needs_compile = pytest.mark.skipif(not hasattr(torch, "compile"), reason="PyTorch 2 has torch.compile")


def model_of():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def step(model, optimizer, seed):
    generator = torch.Generator().manual_seed(seed)
    optimizer.zero_grad()
    model(torch.randn(4, 6, generator=generator)).square().sum().backward()
    optimizer.step()


def weights_of(model):
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def check_alike(model):
    mine = weights_of(model)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    assert all(torch.equal(each, mine) for each in everyone)


def zero(rank, workers):
    plain, sharded = model_of(), model_of()
    finals = []
    for model, make in ((plain, lambda parameters: torch.optim.SGD(parameters, 0.05, momentum=0.9)),
                        (sharded, lambda parameters: ZeroRedundancyOptimizer(
                            parameters, optimizer_class=torch.optim.SGD, lr=0.05, momentum=0.9))):
        ddp = DistributedDataParallel(model)
        optimizer = make(ddp.parameters())
        attached = syncopate.torch.attach(ddp, "gtopk", density=0.2)
        for number in range(4):
            step(ddp, optimizer, 10 * number + rank)
        check_alike(model)
        finals.append(weights_of(model))
        attached.close()
    assert torch.equal(*finals)
    with pytest.raises(syncopate.OptionError, match="ZeroRedundancyOptimizer"):
        syncopate.torch.Outer(sharded, optimizer)


def test_optimizers_that_are_sharded_get_the_same_gradients():
    run(__file__, zero, 2)


def compiled(rank, workers):
    for make in (lambda model: DistributedDataParallel(torch.compile(model, backend="eager")),
                 DistributedDataParallel):
        model = model_of()
        ddp = make(model)
        sgd = torch.optim.SGD(ddp.parameters(), 0.05)
        attached = syncopate.torch.attach(ddp, "gtopk", density=0.2)
        called = ddp if make is not DistributedDataParallel else torch.compile(ddp, backend="eager")
        for number in range(3):
            step(called, sgd, 10 * number + rank)
        assert attached.steps == 3
        check_alike(model)
        attached.close()


@needs_compile
def test_models_may_be_compiled_before_and_after_ddp():
    run(__file__, compiled, 2)


def fully_sharded(rank, workers):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    model = model_of()
    fully_shard(model, mesh=init_device_mesh("cpu", (workers,)))
    adamw = torch.optim.AdamW(model.parameters(), 0.01)
    with pytest.raises(syncopate.OptionError, match='"0.weight" is sharded: no two workers hold the same part'):
        syncopate.torch.Outer(model, adamw)
    with pytest.raises(syncopate.OptionError, match="shards the weights"):
        syncopate.torch.attach(model, optimizer=adamw)
    with pytest.raises(syncopate.OptionError, match="shards the weights"):
        syncopate.torch.Optimizer(model, lr=0.1)


def has_fully_shard():
    try:
        from torch.distributed.fsdp import fully_shard
    except (ImportError, ValueError):  # 1.13 cannot import it under Python 3.11
        return False
    return fully_shard is not None


@pytest.mark.skipif(not has_fully_shard(), reason="this PyTorch has no fully_shard()")
def test_sharded_weights_are_refused():
    run(__file__, fully_sharded, 2)


if __name__ == "__main__":
    main({each.__name__: each for each in (zero, compiled, fully_sharded)})
    dist.destroy_process_group()  # PyTorch 2.6 may abort at its end if one of its threads still runs
