"""Syncopate for PyTorch. Gradients only, with DDP and an optimizer of your own:

    ddp = torch.nn.parallel.DistributedDataParallel(model)
    syncopate.torch.attach(ddp, algo="gtopk", density=0.001)
"""
from .hook import Attached, attach
from .launch import init, join
from .state import load, save

__all__ = ["Attached", "attach", "init", "join", "load", "save"]
