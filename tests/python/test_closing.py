"""The end: what is closed raises, and a model that is detached is DDP's again."""
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import syncopate
import syncopate.torch
import workers as cluster
from test_optimizer import flat, make_model, train


@pytest.fixture(scope="module", autouse=True)
def alone():
    syncopate.torch.init()


def test_what_was_attached_raises_after_close_and_close_is_harmless():
    ddp = DistributedDataParallel(nn.Linear(3, 2))
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.5)
    ddp(torch.ones(1, 3)).sum().backward()
    saved = attached.state_dict()
    attached.close()
    attached.close()
    for call in (attached.stats, attached.residual, attached.state_dict, attached.drop,
                 lambda: attached.load_state_dict(saved), lambda: attached.gather([1])):
        with pytest.raises(syncopate.ClosedError, match="closed"):
            call()
    for _ in range(2):  # DDP itself stays whole
        with pytest.raises(RuntimeError, match="closed and takes no further steps"):
            ddp(torch.ones(1, 3)).sum().backward()
    attached.detach()
    attached.detach()
    ddp.zero_grad()
    ddp(torch.ones(1, 3)).sum().backward()
    assert ddp.module.bias.grad.tolist() == [1, 1]


def test_an_optimizer_raises_after_close_and_close_is_harmless():
    model = nn.Linear(3, 2)
    optimizer = syncopate.torch.Optimizer(model, "ssd-sgd", lr=0.1, momentum=0.9)
    optimizer.zero_grad()
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    saved = optimizer.state_dict()
    optimizer.close()
    optimizer.close()
    for call in (optimizer.step, optimizer.settle, optimizer.stats, optimizer.residual,
                 optimizer.state_dict, lambda: optimizer.load_state_dict(saved),
                 lambda: optimizer.steps, lambda: optimizer.totals, lambda: optimizer.gather([1])):
        with pytest.raises(syncopate.ClosedError, match="closed"):
            call()


def test_the_librarys_own_objects_raise_after_close():
    from syncopate.core import Group, Layout, Reducer, ReducerOptions
    layout, group = Layout([("a", 3)]), Group.of_threads(1)[0]
    reducer = Reducer(group, layout, ReducerOptions("topk"))
    for each in (reducer, group, layout):
        each.close()
        each.close()
        assert each.is_closed
        with pytest.raises(syncopate.ClosedError, match=f"this {type(each).__name__.lower()} is closed"):
            each.handle
    with pytest.raises(syncopate.ClosedError):
        reducer.save()


def detached_models_train_as_ddp_does(rank, workers):
    plain, ours = (DistributedDataParallel(make_model(), broadcast_buffers=False) for _ in range(2))
    attached = syncopate.torch.attach(ours, "gtopk", density=0.01)
    sgd = torch.optim.SGD(ours.parameters(), 0.1)
    train(ours, sgd, rank, 3)
    assert not torch.equal(flat(ours), flat(plain))
    attached.detach()
    plain.load_state_dict(ours.state_dict())
    train(ours, torch.optim.SGD(ours.parameters(), 0.1, momentum=0.9), rank, 5, first=3)
    train(plain, torch.optim.SGD(plain.parameters(), 0.1, momentum=0.9), rank, 5, first=3)
    assert torch.equal(flat(ours), flat(plain)), (flat(ours) - flat(plain)).abs().max()
    again = syncopate.torch.attach(ours, "topk", density=0.01)  # and it can be attached once more
    train(ours, torch.optim.SGD(ours.parameters(), 0.1), rank, 2)
    assert again.stats()["steps"] == 2
    again.close()


def servers_can_close_too(rank, workers):
    optimizer = syncopate.torch.Optimizer(make_model(), "asgd", lr=0.02, servers=1)
    if optimizer.is_server:
        for call in (optimizer.step, optimizer.stats, optimizer.settle):
            try:
                call()
                raise AssertionError("a server made a step")
            except syncopate.ClosedError as error:
                assert "parameter server" in str(error)
    optimizer.close()
    optimizer.close()


def all_scenes(rank, workers):
    for scene in (detached_models_train_as_ddp_does, servers_can_close_too):
        scene(rank, workers)
        dist.barrier()


def test_a_detached_model_trains_as_with_ddp_alone():
    cluster.run(__file__, all_scenes, 2)


if __name__ == "__main__":
    cluster.main(globals())
