"""What lies on a device is staged through host memory, in one copy each way. The device here is none: the package is
told that host memory is far away. No GPU has run this."""
import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import syncopate.torch
from syncopate.torch import flat


class Stage(torch.Tensor):
    """Pinned memory that counts the copies to and from it."""

    copies = []

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        if function in (torch.Tensor.copy_, torch.Tensor.to):
            into_stage = function is torch.Tensor.copy_ and isinstance(arguments[0], Stage)
            cls.copies.append("in" if into_stage else "out")
        with torch._C.DisableTorchFunction():
            return function(*arguments, **(named or {}))


@pytest.fixture(name="far")
def far_fixture(monkeypatch):
    monkeypatch.setattr(flat, "is_in_host_memory", lambda tensor: False)
    monkeypatch.setattr(flat, "pinned", lambda count, dtype=torch.float32:
                        torch.empty(count, dtype=dtype).as_subclass(Stage))
    Stage.copies = []


def test_weights_take_one_copy_each_way(far):
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2).bfloat16())
    whole = flat.Flat(list(model.parameters()))
    found = torch.empty(14)
    whole.read(found)
    assert Stage.copies == ["in", "out"]  # from the device, and on within host memory
    assert torch.equal(found, torch.cat([each.detach().float().flatten() for each in model.parameters()]))
    Stage.copies = []
    whole.write(torch.arange(14.0))
    assert Stage.copies == ["in", "out"]
    assert torch.equal(torch.cat([each.detach().float().flatten() for each in model.parameters()]), torch.arange(14.0))


@pytest.mark.parametrize("algo, density", [("gtopk", 0.5), ("ssgd", None)])
def test_a_bucket_takes_one_copy_each_way_and_arrives(far, algo, density):
    syncopate.torch.init()
    model = nn.Linear(3, 2)
    ddp = DistributedDataParallel(model)
    attached = syncopate.torch.attach(ddp, algo, density=density)
    Stage.copies = []
    ddp(torch.ones(1, 3)).sum().backward()
    assert Stage.copies.count("in") == 1
    found = torch.cat([each.grad.flatten() for each in (model.weight, model.bias)])
    assert found.count_nonzero() == (4 if algo == "gtopk" else 8) and set(found.tolist()) <= {0.0, 1.0}
    attached.close()


def test_a_device_that_is_no_gpu_is_refused():
    syncopate.torch.init()
    model = nn.Linear(3, 2, device="meta")
    with pytest.raises(syncopate.OptionError, match='"weight" is on meta; expected a model on cpu or cuda'):
        syncopate.torch.Outer(model, torch.optim.SGD(model.parameters(), 0.1))
