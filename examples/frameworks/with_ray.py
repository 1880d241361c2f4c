#!/usr/bin/python3
"""Ray Train: every worker's function creates its own Outer.

    python3 examples/frameworks/with_ray.py

Not run by us: Debian has no Ray package. The tests run it if it is installed.
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
    outer = syncopate.torch.Outer(model, optimizer, every=5)  # prepare_model() is not needed, but does no harm
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
