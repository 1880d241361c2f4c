#!/usr/bin/python3
"""Ray Train: every worker's function makes an Outer of its own.

    python3 examples/frameworks/with_ray.py

Not run: Debian has no package of Ray. The tests run it where it is installed.
"""
import ray.train.torch
import torch
from ray.train import ScalingConfig
from torch import nn

import syncopate.torch


def train(_settings):
    torch.manual_seed(1)
    model = nn.Linear(8, 2)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    outer = syncopate.torch.Outer(model, optimizer, every=5)  # prepare_model() is not needed, and may be there
    for _ in range(20):
        optimizer.zero_grad()
        inputs = torch.randn(16, 8)
        nn.functional.cross_entropy(model(inputs), (inputs.sum(1) > 0).long()).backward()
        optimizer.step()
    ray.train.report({"exchanges": outer.stats()["exchanges"]})
    outer.close()


def main():
    trainer = ray.train.torch.TorchTrainer(train, scaling_config=ScalingConfig(num_workers=2),
                                           torch_config=ray.train.torch.TorchConfig(backend="gloo"))
    print(trainer.fit().metrics["exchanges"], "exchanges", flush=True)


if __name__ == "__main__":
    main()
