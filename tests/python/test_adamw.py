"""The core's AdamW is PyTorch's: the same gradients, the same weights."""
import pytest
import torch

from syncopate.core import Group, Layout, Worker
from syncopate.options import WorkerOptions

SHAPES = [(7, 5), (5,), (1,), (300,)]


def flat(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


@pytest.mark.parametrize("settings", [{}, {"beta1": 0.8, "beta2": 0.95, "eps": 1e-3},
                                      {"weight_decay": 0.1}])
def test_a_hundred_steps_are_those_of_pytorch(settings):
    torch.manual_seed(1)
    parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    betas = (settings.get("beta1", 0.9), settings.get("beta2", 0.999))
    theirs = torch.optim.AdamW(parameters, betas=betas, eps=settings.get("eps", 1e-8),
                               weight_decay=settings.get("weight_decay", 0))
    layout = Layout([(f"t{i}", tensor.numel()) for i, tensor in enumerate(parameters)])
    weights = flat(parameters).clone()
    options = WorkerOptions("ssgd")
    options.set_all({"optimizer": "adamw", **settings})
    worker = Worker(Group.of_threads(1)[0], layout, options, weights.data_ptr())
    for step in range(100):
        lr = 1e-2 / (1 + step / 50)
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter) * (1 + parameter.detach())
        theirs.param_groups[0]["lr"] = lr
        gradient = flat([parameter.grad for parameter in parameters]).clone()
        theirs.step()
        worker.step(gradient.data_ptr(), lr, 0.0, weights.data_ptr())
        torch.testing.assert_close(weights, flat(parameters), rtol=1e-6, atol=1e-6)
    worker.close()
