"""What else PyTorch has that splits or rebuilds a model, together with attach() and Outer: they work, or are refused with
the reason."""
import importlib.util
import os
import shutil

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
    adamw = ZeroRedundancyOptimizer(ddp.parameters(), optimizer_class=torch.optim.AdamW, lr=0.01)
    with pytest.raises(syncopate.OptionError, match="ZeroRedundancyOptimizer"):
        syncopate.torch.attach(ddp, optimizer=adamw)


def test_optimizers_that_are_sharded_get_the_same_gradients():
    run(__file__, zero, 2)


class Own(nn.Module):
    """A model with a class of its own: a plain Sequential inside a DistributedDataParallel is not compiled."""

    def __init__(self):
        super().__init__()
        self.layers = model_of()

    def forward(self, inputs):
        return self.layers(inputs)


def attach_to(ddp, **options):
    return syncopate.torch.attach(ddp, "gtopk", density=0.2, **options)


def through_ddp(compiles_before, compiles_after, **options):
    """A way to train with attach(): (what is called, the optimizer, what to close)."""
    def make(model):
        ddp = DistributedDataParallel(compiles_before(model))
        sgd = torch.optim.SGD(ddp.parameters(), 0.05)
        return compiles_after(ddp), sgd, attach_to(ddp, **options)
    return make


def through_outer(compiles_before, compiles_after):
    def make(model):
        called = compiles_before(model)
        adamw = torch.optim.AdamW(called.parameters(), 0.01)
        outer = syncopate.torch.Outer(called, adamw, every=2)
        return compiles_after(called), adamw, outer
    return make


def through_optimizer(compiles_before, compiles_after):
    def make(model):
        called = compiles_before(model)
        optimizer = syncopate.torch.Optimizer(called, "ssgd", optimizer="adamw", lr=0.01)
        return compiles_after(called), optimizer, optimizer
    return make


def compiled(rank, workers, backend):
    def compiles(model):
        return torch.compile(model, backend=backend)

    def leaves(model):
        return model

    from torch._dynamo.utils import counters
    ways = (through_ddp, through_outer, through_optimizer, lambda *both: through_ddp(*both, bucket_bytes=256))
    for way in ways[:2 if backend == "inductor" else None]:  # it takes its time
        finals = []
        for both in ((leaves, leaves), (compiles, leaves), (leaves, compiles)):
            torch._dynamo.reset()
            counters.clear()
            model = Own()
            called, optimizer, ours = way(*both)(model)
            for number in range(4):
                step(called, optimizer, 10 * number + rank)
            assert ours.steps == 4
            assert (counters["stats"]["unique_graphs"] > 0) == (both != (leaves, leaves)), counters["stats"]
            check_alike(model)
            finals.append(weights_of(model))
            ours.close()
        for other in finals[1:]:
            torch.testing.assert_close(other, finals[0], rtol=1e-5, atol=1e-6)


def can_build():
    """Inductor builds C++ that includes PyTorch's headers, and finds the compiler through setuptools."""
    if not hasattr(torch, "compile") or not shutil.which("g++") or not importlib.util.find_spec("setuptools"):
        return False
    from torch.utils.cpp_extension import include_paths
    return any(os.path.exists(os.path.join(path, "ATen", "NumericUtils.h")) for path in (*include_paths(), "/usr/include"))


@needs_compile
@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.skipif(
    not can_build(), reason="inductor needs g++, setuptools and libtorch-dev"))])
def test_models_may_be_compiled_before_and_after_and_train_the_same(backend):
    run(__file__, compiled, 2, backend, fresh=True)


def compiled_step(rank, workers):
    finals = []
    for is_compiled in (False, True):
        model = model_of()
        adamw = torch.optim.AdamW(model.parameters(), 0.01)
        outer = syncopate.torch.Outer(model, adamw, every=2)
        make_step = torch.compile(lambda adamw=adamw: adamw.step(), backend="eager") if is_compiled else adamw.step
        for number in range(4):
            adamw.zero_grad()
            model(torch.randn(4, 6, generator=torch.Generator().manual_seed(10 * number + rank))).sum().backward()
            make_step()
        assert (outer.steps, outer.exchanges) == (4, 2)
        check_alike(model)
        finals.append(weights_of(model))
        outer.close()
    torch.testing.assert_close(*finals, rtol=1e-5, atol=1e-6)


@needs_compile
def test_the_steps_of_an_optimizer_may_be_compiled_under_an_outer():
    run(__file__, compiled_step, 2, fresh=True)


def refuse_all(model, optimizer, text):
    """All three calls."""
    def refused(call, *arguments, **options):
        with pytest.raises(syncopate.OptionError, match=text):
            call(*arguments, **options)

    refused(syncopate.torch.Outer, model, optimizer)
    refused(syncopate.torch.Optimizer, model, lr=0.1)
    refused(syncopate.torch.attach, model, optimizer=optimizer)


def wrapped_in_fsdp(rank, workers):
    from torch.distributed.fsdp import FullyShardedDataParallel
    own = {"device_id": torch.device("cpu")}
    whole = FullyShardedDataParallel(model_of(), **own)
    refuse_all(whole, torch.optim.AdamW(whole.parameters(), 0.01), "FullyShardedDataParallel shards the weights")
    for options in ({}, {"use_orig_params": True}):
        part = model_of()
        part[0] = FullyShardedDataParallel(part[0], **own, **options)
        adamw = torch.optim.AdamW(part.parameters(), 0.01)
        with pytest.raises(syncopate.OptionError, match="FullyShardedDataParallel shards the weights"):
            syncopate.torch.Outer(part, adamw)
        with pytest.raises(syncopate.OptionError, match="FullyShardedDataParallel shards the weights"):
            syncopate.torch.Optimizer(part, lr=0.1)
    model = DistributedDataParallel(model_of())
    model.module[0] = FullyShardedDataParallel(model.module[0], **own)
    with pytest.raises(syncopate.OptionError, match="whole inside its DistributedDataParallel"):
        syncopate.torch.attach(model)


def synchronised(rank, workers):
    """PyTorch computes batch statistics of SyncBatchNorm on GPUs only, and says so; PyTorch 2 fixed ones everywhere."""
    def make():
        torch.manual_seed(1)
        return nn.SyncBatchNorm.convert_sync_batchnorm(
            nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)))

    for way in (through_outer, through_optimizer):
        model = make()
        called, optimizer, ours = way(lambda model: model, lambda model: model)(model)
        with pytest.raises(ValueError, match="GPU"):
            step(called, optimizer, rank)
        model[1].eval()
        for number in range(4 if hasattr(torch, "compile") else 0):
            step(called, optimizer, 10 * number + rank)
        check_alike(model)
        ours.close()
    with pytest.raises(ValueError, match="GPU"):
        DistributedDataParallel(make())


def test_synchronised_batch_norm_works_where_pytorch_can_compute_it():
    run(__file__, synchronised, 2)


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


def has_fsdp(name):
    try:
        import torch.distributed.fsdp
    except (ImportError, ValueError):  # 1.13 cannot import it under Python 3.11
        return False
    return hasattr(torch.distributed.fsdp, name)


@pytest.mark.skipif(not has_fsdp("fully_shard"), reason="this PyTorch has no fully_shard()")
def test_sharded_weights_are_refused():
    run(__file__, fully_sharded, 2)


@pytest.mark.skipif(not has_fsdp("FullyShardedDataParallel"), reason="this PyTorch has no FullyShardedDataParallel")
def test_weights_in_fsdp_are_refused_also_if_only_a_part_of_the_model_is():
    run(__file__, wrapped_in_fsdp, 2)


if __name__ == "__main__":
    main({each.__name__: each for each in (zero, compiled, compiled_step, wrapped_in_fsdp, synchronised, fully_sharded)},
         together=True)
