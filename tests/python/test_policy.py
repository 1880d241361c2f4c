"""Policies of single tensors: what the library does with them is tested there; here, that each reaches its tensor."""
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

import workers as cluster


def make_model():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(20, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))


def loss_of(model, rank, step):
    torch.manual_seed(1000 * step + rank)
    x = torch.randn(8, 20)
    return F.cross_entropy(model(x), x[:, :4].argmax(1))


def own_gradients(rank, step):
    model = make_model()
    loss_of(model, rank, step).backward()
    return [each.grad for each in model.parameters()]


def attach_sends_dense_tensors_whole_and_others_by_their_share(rank, workers):
    import syncopate.torch
    ddp = DistributedDataParallel(make_model(), broadcast_buffers=False)
    attached = syncopate.torch.attach(ddp, "gtopk", density=0.01, values="f32",
                                      policy={"*": 0.25, "1.*": "dense", ddp.module[3].weight: 0.5, "*.bias": "dense"})
    loss_of(ddp, rank, 0).backward()
    expected = own_gradients(rank, 0)
    for (name, parameter), mine in zip(ddp.module.named_parameters(), expected):
        dist.all_reduce(mine)
        sent = int((parameter.grad != 0).sum())
        if name in ("0.weight", "3.weight"):
            assert sent == {"0.weight": 80, "3.weight": 32}[name], (name, sent)
        else:
            assert torch.allclose(parameter.grad, mine / workers, atol=1e-7), name
    attached.close()


def an_optimizer_leaves_frozen_tensors_as_they_are(rank, workers):
    import syncopate.torch
    for algo, options in (("ssgd", {}), ("topk", {"density": 0.5}), ("ssd-sgd", {})):
        model = make_model()
        before = [each.detach().clone() for each in model.parameters()]
        optimizer = syncopate.torch.Optimizer(model, algo, lr=0.05, momentum=0.9, weight_decay=0.01,
                                              policy={"0.*": "frozen"}, **options)
        for step in range(6):
            optimizer.zero_grad()
            loss_of(model, rank, step).backward()
            optimizer.step()
        optimizer.settle()
        for (name, parameter), was in zip(model.named_parameters(), before):
            assert torch.equal(parameter, was) == name.startswith("0."), (algo, name)
        optimizer.close()


def a_frozen_run_resumes_to_the_same_bits(rank, workers):
    import syncopate.torch
    ends = []
    saved = None
    for first in (0, 3):
        model = make_model()
        optimizer = syncopate.torch.Optimizer(model, "gtopk", lr=0.05, density=0.1, momentum=0.9,
                                              policy={"0.*": "frozen", "*.bias": "dense"})
        if first:
            optimizer.load_state_dict(saved)
        for step in range(first, 6):
            if step == 3 and not first:
                saved = optimizer.state_dict()
            optimizer.zero_grad()
            model.eval()
            loss_of(model, rank, step).backward()
            optimizer.step()
        ends.append([each.detach().clone() for each in model.parameters()])
        optimizer.close()
    assert all(torch.equal(one, other) for one, other in zip(*ends))


def outer_takes_policies(rank, workers):
    import syncopate.torch
    model = make_model()
    sgd = torch.optim.SGD(model.parameters(), 0.05)
    outer = syncopate.torch.Outer(model, sgd, every=2, density=0.01, values="f32", policy={"3.*": "dense"})
    for step in range(2):
        sgd.zero_grad()
        loss_of(model, rank, step).backward()
        sgd.step()
    residual = outer.residual().split(outer.layout.counts)
    kept = {name: int((part != 0).sum()) for name, part in zip(outer.layout.names, residual)}
    assert kept["3.weight"] == kept["3.bias"] == 0 and kept["0.weight"] > 100, kept
    outer.close()


def bad_policies_are_refused(rank, workers):
    import syncopate.torch
    from syncopate.errors import OptionError
    cases = {
        "head.*": ({"head.*": "dense"}, 'policy: "head.*" fits none of the model\'s parameters'),
        "word": ({"0.bias": "sparse"}, "policy: 'sparse' for \"0.bias\" is not valid; expected \"dense\", \"frozen\""),
        "range": ({"0.bias": 1.5}, "policy: 1.5 for \"0.bias\" is not valid"),
        "kind": (["0.bias"], "policy: ['0.bias'] is not valid; expected a dictionary"),
        "stranger": ({nn.Parameter(torch.zeros(2)): "dense"}, "policy: a Parameter fits none"),
    }
    for policy, words in cases.values():
        with pytest.raises(OptionError) as caught:
            syncopate.torch.Optimizer(make_model(), "topk", lr=0.1, policy=policy)
        assert words in str(caught.value), str(caught.value)
    with pytest.raises(OptionError) as caught:
        syncopate.torch.attach(DistributedDataParallel(make_model()), "topk", policy={"0.bias": "frozen"})
    assert 'policy: "0.bias" can be frozen only in an Optimizer' in str(caught.value)


def all_scenes(rank, workers):
    for scene in (attach_sends_dense_tensors_whole_and_others_by_their_share,
                  an_optimizer_leaves_frozen_tensors_as_they_are, a_frozen_run_resumes_to_the_same_bits,
                  outer_takes_policies, bad_policies_are_refused):
        scene(rank, workers)
        dist.barrier()


def test_policies_with_three_workers():
    cluster.run(__file__, all_scenes, 3)


if __name__ == "__main__":
    cluster.main(globals())
