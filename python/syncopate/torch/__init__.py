"""Syncopate for PyTorch.

Gradients only, with DistributedDataParallel and an optimizer of your own:

    ddp = torch.nn.parallel.DistributedDataParallel(model)
    syncopate.torch.attach(ddp, algo="gtopk", density_warmup=1000)

Also weights, for methods that delay them:

    optimizer = syncopate.torch.Optimizer(model, algo="ssd-sgd", delay=4, lr=0.05)

Local steps of any optimizer, such as AdamW, with an occasional exchange:

    outer = syncopate.torch.Outer(model, optimizer, every=30)
"""
from .hook import Attached, attach
from .launch import init, join
from .metrics import Metrics
from .optimizer import Optimizer
from .outer import Outer
from .state import load, save

__all__ = ["Attached", "Metrics", "Optimizer", "Outer", "attach", "init", "join", "load", "save"]
