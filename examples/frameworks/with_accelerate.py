#!/usr/bin/python3
"""Accelerate: its prepare() wraps the model as usual, and Outer accepts the result.

    accelerate launch --num_processes 4 --cpu examples/frameworks/with_accelerate.py

Not run by us: Debian has no Accelerate package. The tests run it if it is installed.
"""
import torch
from accelerate import Accelerator
from torch import nn

import syncopate.torch


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(1)
    model = nn.Linear(8, 2)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), 1e-2))
    syncopate.torch.init()  # harmless if Accelerate has done it, which it does not with a single process
    outer = syncopate.torch.Outer(model, optimizer, every=5)  # or attach(model, optimizer=optimizer)
    for _ in range(20):
        optimizer.zero_grad()
        inputs = torch.randn(16, 8)
        accelerator.backward(nn.functional.cross_entropy(model(inputs), (inputs.sum(1) > 0).long()))
        optimizer.step()
    print(outer.stats()["exchanges"], "exchanges", flush=True)
    outer.close()


if __name__ == "__main__":
    main()
