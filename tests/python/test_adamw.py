"""The core's AdamW is PyTorch's: the same gradients, the same weights."""
import pytest
import torch

import syncopate.torch
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


def test_an_optimizer_makes_its_steps_under_a_schedule():
    syncopate.torch.init()
    finals = []
    for is_ours in (True, False):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
        optimizer = syncopate.torch.Optimizer(model, "ssgd", optimizer="adamw", lr=0.01, weight_decay=0.1) \
            if is_ours else torch.optim.AdamW(model.parameters(), 0.01, weight_decay=0.1)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50)
        for step in range(50):
            optimizer.zero_grad()
            inputs = torch.randn(4, 6, generator=torch.Generator().manual_seed(step))
            model(inputs).square().sum().backward()
            optimizer.step()
            schedule.step()
        finals.append(flat(model.parameters()).clone())
        if is_ours:
            optimizer.close()
    torch.testing.assert_close(*finals, rtol=1e-6, atol=1e-6)
